//! The trials of experiments that share a base case, each as far as it was measured together with something it is compared with.
//!
//! Hundreds of nights with one base case all have the cells of it. If each was given all trials of its cells, they would together have the
//! square of what was measured.

use std::collections::{BTreeSet, HashMap};

use basecase_model::Trial;
use rayon::prelude::*;
use rusqlite::Connection;

use crate::{Problem, trial};

/// Which experiments measured what.
struct Measured {
    /// The cells and the ids of the trials that each experiment measured.
    by_experiment: HashMap<String, Vec<(String, String)>>,
    /// The experiments that measured each cell.
    by_cell: HashMap<String, BTreeSet<String>>,
}

impl Measured {
    fn read(connection: &Connection) -> Result<Self, Problem> {
        let mut statement = connection.prepare_cached("SELECT experiment, cell, id FROM trial")?;
        let mut rows = statement.query([])?;
        let mut measured = Measured { by_experiment: HashMap::new(), by_cell: HashMap::new() };
        while let Some(row) = rows.next()? {
            let (experiment, cell, id): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            measured.by_cell.entry(cell.clone()).or_default().insert(experiment.clone());
            measured.by_experiment.entry(experiment).or_default().push((cell, id));
        }
        Ok(measured)
    }

    /// The ids of the trials of an experiment's cells that were measured by it, or by another that measured one of the contenders' cells.
    fn ids(&self, experiment: &str, base: &str, names: &HashMap<String, String>) -> Vec<&str> {
        let of_contenders = names.iter().filter(|(_, candidate)| *candidate != base);
        let others = of_contenders.filter_map(|(cell, _)| self.by_cell.get(cell)).flatten();
        let measured_by: BTreeSet<&str> = others.map(String::as_str).chain([experiment]).collect();
        let trials = measured_by.into_iter().filter_map(|experiment| self.by_experiment.get(experiment));
        let own = trials.flatten().filter(|(cell, _)| names.contains_key(cell));
        own.map(|(_, id)| id.as_str()).collect()
    }

    /// The trials of an experiment, given by id and the name of its base case.
    fn trials(
        &self,
        connection: &Connection,
        (experiment, base): &(&str, &str),
    ) -> Result<Vec<Trial>, Problem> {
        let names = names(connection, experiment)?;
        let mut trials = trial::select_judged(connection, &self.ids(experiment, base, &names))?;
        for trial in &mut trials {
            if let Some(name) = names.get(&trial.cell) {
                trial.candidate.clone_from(name);
            }
        }
        Ok(trials)
    }
}

/// What `make` makes of the trials of each of these experiments, given by id and the name of its base case; it is told which of them. Reading
/// them takes all processors where `connect` gives each a connection to the same file.
pub(crate) fn select<T: Send>(
    connection: &Connection,
    connect: impl Fn() -> Result<Option<Connection>, Problem> + Sync,
    experiments: &[(&str, &str)],
    make: impl Fn(usize, Vec<Trial>) -> T + Sync,
) -> Result<Vec<T>, Problem> {
    let measured = Measured::read(connection)?;
    let experiments: Vec<_> = experiments.iter().enumerate().collect();
    let all_of = |connection: &Connection, experiments: &[(usize, &(&str, &str))]| {
        let made = |(place, experiment): &(usize, &(&str, &str))| {
            Ok(make(*place, measured.trials(connection, experiment)?))
        };
        experiments.iter().map(made).collect::<Result<Vec<T>, Problem>>()
    };
    let share = experiments.len().div_ceil(rayon::current_num_threads()).max(1);
    let shares = experiments.par_chunks(share).map(|experiments| {
        let Some(connection) = connect()? else { return Ok(None) };
        all_of(&connection, experiments).map(Some)
    });
    let made: Option<Vec<_>> = shares.collect::<Result<_, Problem>>()?;
    made.map_or_else(|| all_of(connection, &experiments), |made| Ok(made.into_iter().flatten().collect()))
}

/// What an experiment calls the candidate of each of its cells.
fn names(connection: &Connection, experiment: &str) -> Result<HashMap<String, String>, Problem> {
    let mut statement =
        connection.prepare_cached("SELECT cell, candidate FROM experiment_cell WHERE experiment = ?1")?;
    let rows = statement.query_map([experiment], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
