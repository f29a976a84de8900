//! Chooses the cells to explain: those that the user names, or those that changed.

use basecase_model::{Cell, StepFacts};

use crate::error::Error;
use crate::findings::Finding;
use crate::results::Results;
use crate::thresholds::Thresholds;

/// A step and a candidate, by number.
pub type CellNumbers = (usize, usize);

/// The least number of digits for a word to be taken for a key.
const LEAST_DIGITS: usize = 6;

/// The cells that `wanted` selects: a step, `CANDIDATE/STEP`, or the key of a cell or its beginning. Without it, those that changed, whose
/// work did before the others.
///
/// # Errors
/// When there is no such thing, or nothing to compare it with.
pub fn cells(
    results: &Results<'_>,
    wanted: Option<&str>,
    thresholds: Thresholds,
) -> Result<Vec<CellNumbers>, Error> {
    let candidates = 1..results.experiment.candidates.len();
    if candidates.is_empty() {
        return Err(Error::Alone);
    }
    let Some(wanted) = wanted else { return Ok(changed_in_any(results, thresholds)) };
    let steps = StepFacts::named(&results.experiment.steps, wanted);
    if !steps.is_empty() {
        let of_step = |step| candidates.clone().map(move |candidate| (step, candidate));
        return Ok(steps.into_iter().flat_map(of_step).collect());
    }
    if let Some((candidate, step)) = wanted.split_once('/') {
        let candidate = candidate_named(results, candidate)?;
        return Ok(known_steps(results, step)?.into_iter().map(|step| (step, candidate)).collect());
    }
    if wanted.len() >= LEAST_DIGITS && wanted.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return cell_with_key(results, wanted).map(|cell| vec![cell]);
    }
    Err(unknown_step(results, wanted))
}

/// The steps of this name or label, by number.
///
/// # Errors
/// When there is none.
pub(crate) fn known_steps(results: &Results<'_>, name: &str) -> Result<Vec<usize>, Error> {
    let steps = StepFacts::named(&results.experiment.steps, name);
    if steps.is_empty() { Err(unknown_step(results, name)) } else { Ok(steps) }
}

fn unknown_step(results: &Results<'_>, name: &str) -> Error {
    let known = results.steps().map(|(_, facts)| facts.label.clone());
    Error::Unknown { what: "step", name: name.to_owned(), known: known.collect() }
}

fn candidate_named(results: &Results<'_>, name: &str) -> Result<usize, Error> {
    let place = results.candidates().find(|(_, facts)| facts.name.0 == name);
    match place {
        Some((candidate, _)) => not_base(results, candidate),
        None => Err(Error::Unknown { what: "candidate", name: name.to_owned(), known: others(results) }),
    }
}

fn cell_with_key(results: &Results<'_>, beginning: &str) -> Result<CellNumbers, Error> {
    let beginning = beginning.to_ascii_lowercase();
    let keys = |step: usize, candidate: usize| {
        let of_trial = results.trial(step, candidate).map(|trial| trial.cell.as_str());
        let of_count = results.counts.and_then(|counts| counts.cell(step, candidate)?.key());
        [of_trial, of_count].into_iter().flatten()
    };
    let of_step = |(step, _)| {
        let of_cell = move |(candidate, _)| keys(step, candidate).map(move |key| ((step, candidate), key));
        results.candidates().flat_map(of_cell)
    };
    let all = results.steps().flat_map(of_step);
    let found: Vec<(CellNumbers, &str)> = all.filter(|(_, key)| key.starts_with(&beginning)).collect();
    match found.as_slice() {
        [] => Err(Error::UnknownKey(beginning)),
        [((step, candidate), _)] => Ok((*step, not_base(results, *candidate)?)),
        several => {
            let place = |((step, candidate), key): &(CellNumbers, &str)| {
                let digits = Cell::SHOWN_DIGITS;
                let step = results.experiment.steps.get(*step).map_or("", |facts| &facts.name);
                let candidate =
                    results.experiment.candidates.get(*candidate).map_or("", |facts| &facts.name.0);
                format!("{key:.digits$} ({candidate}/{step})")
            };
            Err(Error::AmbiguousKey { beginning, known: several.iter().map(place).collect() })
        }
    }
}

/// The candidate, unless it is the base case.
fn not_base(results: &Results<'_>, candidate: usize) -> Result<usize, Error> {
    match results.experiment.candidates.get(candidate) {
        Some(base) if candidate == 0 => {
            Err(Error::BaseCase { name: base.name.0.clone(), others: others(results) })
        }
        _ => Ok(candidate),
    }
}

/// The names of the candidates that are compared with the base case.
fn others(results: &Results<'_>) -> Vec<String> {
    results.candidates().skip(1).map(|(_, facts)| facts.name.0.clone()).collect()
}

/// The cells whose work changed, and then the others that changed.
fn changed_in_any(results: &Results<'_>, thresholds: Thresholds) -> Vec<CellNumbers> {
    let changes = results.counts.map(|counts| counts.changes()).unwrap_or_default();
    let mut cells: Vec<CellNumbers> = changes.into_iter().map(|work| (work.step, work.candidate)).collect();
    let others = if results.has_counts_only() { Vec::new() } else { changed(results, thresholds) };
    cells.extend(others.into_iter().filter(|cell| !cells.contains(cell)).collect::<Vec<_>>());
    cells
}

/// The cells that changed, the slowest first: in rounds those decided to have changed, otherwise those beyond the thresholds. Cells whose
/// writers missed their rate are not compared.
pub fn changed(results: &Results<'_>, thresholds: Thresholds) -> Vec<CellNumbers> {
    if results.rounds.is_some() {
        return results.changes().iter().map(|judged| (judged.step, judged.candidate)).collect();
    }
    let families = results.families();
    let findings = families.iter().flat_map(|family| Finding::all(results, family));
    let mut found: Vec<(f64, CellNumbers)> = findings
        .flat_map(|Finding { candidate, ratios }| {
            ratios.into_iter().map(move |(step, ratio)| (ratio, (step, candidate)))
        })
        .filter(|(ratio, _)| thresholds.direction(*ratio).is_some())
        .collect();
    found.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    found.into_iter().map(|(_, cell)| cell).collect()
}

#[cfg(test)]
mod tests {
    use basecase_model::{Experiment, Trial};

    use super::*;
    use crate::fixture;
    use crate::thresholds::Preset;

    fn meant(experiment: &Experiment, trials: &[Trial], wanted: &str) -> Result<Vec<CellNumbers>, String> {
        let results = Results::new(experiment, trials);
        cells(&results, Some(wanted), Preset::default().thresholds()).map_err(|error| error.to_string())
    }

    #[test]
    fn steps_have_the_short_names_that_a_list_takes() {
        let (experiment, trials) = fixture::in_rounds();
        let step = experiment.steps.iter().position(|step| step.name == "read-only-count_range=1000");
        let step = step.unwrap();
        assert_eq!(meant(&experiment, &trials, "read-only-count"), Ok(vec![(step, 1), (step, 2)]));
    }

    #[test]
    fn a_step_a_candidate_on_it_and_a_key_name_cells() {
        let (experiment, mut trials) = fixture::sample();
        for (number, trial) in trials.iter_mut().enumerate() {
            trial.cell = format!("{:032x}", (number as u128 + 1) << 104);
        }
        let meant = |wanted: &str| meant(&experiment, &trials, wanted);
        assert_eq!(meant("l.i1"), Ok(vec![(2, 1), (2, 2), (2, 3)]));
        assert_eq!(meant("qp100.L2"), Ok(vec![(5, 1), (5, 2), (5, 3)]));
        assert_eq!(meant("pg181.x10a/l.i1"), Ok(vec![(2, 2)]));
        // The second candidate comes after ten steps of the first.
        assert_eq!(meant("00000C"), Ok(vec![(1, 1)]));
        assert_eq!(meant(&trials[11].cell), Ok(vec![(1, 1)]));
        let refused = |wanted: &str| meant(wanted).unwrap_err();
        assert!(refused("000001").contains("pg1711.x10a is the base case"), "{}", refused("000001"));
        assert!(
            refused("pg1711.x10a/l.i1")
                .contains("hint: name one of the others: pg1711.x10b_sync_off, pg181.x10a")
        );
        assert!(refused("abcdef").contains("no cell whose key begins with abcdef"));
        assert!(refused("00000").contains("no step `00000`"));
        assert!(refused("l.il").contains("hint: did you mean `l.i"), "{}", refused("l.il"));
        assert!(
            refused("pg18.x10a/l.i1")
                .contains("no candidate `pg18.x10a`\nhint: did you mean `pg181.x10a`? There are ")
        );
    }

    #[test]
    fn a_beginning_of_several_keys_is_refused_with_them() {
        let (experiment, mut trials) = fixture::sample();
        for (number, trial) in trials.iter_mut().enumerate() {
            trial.cell = format!("abcdef{number:026x}");
        }
        let refusal = meant(&experiment, &trials, "abcdef").unwrap_err();
        assert!(refusal.contains("the keys of 39 cells begin with abcdef"), "{refusal}");
        assert!(refusal.contains("hint: give more digits: abcdef000000 (pg1711.x10a/l.i0), "), "{refusal}");
    }

    #[test]
    fn a_missed_rate_is_not_beyond_the_thresholds() {
        let (experiment, trials) = fixture::sample();
        let results = Results::new(&experiment, &trials);
        assert!(results.missed_sla(9, 2) && !results.missed_sla(9, 1));
        let changed = changed(&results, Preset::default().thresholds());
        assert!(changed.contains(&(5, 2)) && !changed.contains(&(9, 2)), "{changed:?}");
    }
}
