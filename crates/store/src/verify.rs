//! Checks that a store's content is what basecase writes.

use basecase_model::{Cell, Experiment, Place, RoleRecord};
use rusqlite::{Connection, Row};

use crate::{Problem, experiment, progress, role, slice, step_count, trial};

/// All problems of the content, one line each.
pub(crate) fn problems(connection: &Connection) -> Result<Vec<String>, Problem> {
    let mut problems = Vec::new();
    let checks = [
        ("PRAGMA integrity_check", of_sqlite as Check),
        ("PRAGMA foreign_key_check", of_reference),
        ("SELECT * FROM experiment", of_experiment),
        ("SELECT * FROM cell", of_cell),
        ("SELECT trial.*, cell.facts FROM trial JOIN cell ON cell.key = trial.cell", of_trial),
        (
            "SELECT cell, round, count(*) AS trials FROM trial WHERE status = 'complete'
             GROUP BY experiment, cell, round, observation = 'profiled' HAVING trials > 1",
            of_repeated,
        ),
        (role::ALL, of_role),
        ("SELECT * FROM step_count", of_count),
        (
            "SELECT trial, slices, (SELECT json_group_array(items) FROM (SELECT sum(items) AS items FROM role
             WHERE role.trial = slices.trial GROUP BY class)) AS items FROM slices",
            of_slices,
        ),
    ];
    for (query, check) in checks {
        // A damaged page must not hide problems elsewhere.
        if let Err(problem) = check_rows(connection, query, check, &mut problems) {
            problems.push(format!("cannot complete `{query}`: {}", without_hint(&problem)));
        }
    }
    problems.extend(of_readers(connection));
    // Queries have several lines, and names from a damaged store may have.
    let one_line = |problem: String| problem.split(['\n', '\r']).map(str::trim).collect::<Vec<_>>().join(" ");
    Ok(problems.into_iter().map(one_line).collect())
}

/// The first problem that readers hit in what each experiment measured; much of the content has no check of its own.
fn of_readers(connection: &Connection) -> Vec<String> {
    let mut problems = Vec::new();
    if let Err(problem) = progress::select(connection) {
        problems.push(format!("cannot read which step is in flight: {}", without_hint(&problem)));
    }
    if let Err(problem) = experiment::select_all(connection) {
        problems.push(format!("cannot read the experiments: {}", without_hint(&problem)));
    }
    match trial::problems_by_experiment(connection) {
        Ok(unread) => problems.extend(unread.iter().map(|(id, problem)| {
            format!("experiment {id}: cannot read its trials: {}", without_hint(problem))
        })),
        Err(problem) => problems.push(format!("cannot read the trials: {}", without_hint(&problem))),
    }
    problems
}

/// The hint would send the reader to this very check.
fn without_hint(problem: &Problem) -> String {
    problem.to_string().lines().take_while(|line| !line.starts_with("hint: ")).collect::<Vec<_>>().join(" ")
}

/// The problems of one row.
type Check = fn(&Row<'_>) -> Result<Vec<String>, Problem>;

fn check_rows(
    connection: &Connection,
    query: &str,
    check: Check,
    problems: &mut Vec<String>,
) -> Result<(), Problem> {
    let mut statement = connection.prepare(query)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        problems.extend(check(row)?);
    }
    Ok(())
}

fn of_sqlite(row: &Row<'_>) -> Result<Vec<String>, Problem> {
    let text: String = row.get(0)?;
    // All problems of one tree come as one text of several lines.
    Ok(text.lines().filter(|line| *line != "ok").map(|line| format!("sqlite: {line}")).collect())
}

fn of_reference(row: &Row<'_>) -> Result<Vec<String>, Problem> {
    let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
    Ok(vec![format!("a row of table {table} refers to a missing row of table {parent}")])
}

fn of_experiment(row: &Row<'_>) -> Result<Vec<String>, Problem> {
    let (id, facts): (String, String) = (row.get("id")?, row.get("facts")?);
    Ok(match serde_json::from_str::<Experiment>(&facts) {
        Ok(experiment) if experiment.id == id => Vec::new(),
        Ok(experiment) => vec![format!("experiment {id}: its facts belong to experiment {}", experiment.id)],
        Err(error) => vec![format!("experiment {id}: cannot read its facts: {error}")],
    })
}

fn of_cell(row: &Row<'_>) -> Result<Vec<String>, Problem> {
    let (key, facts): (String, String) = (row.get("key")?, row.get("facts")?);
    Ok(match serde_json::from_str::<Cell>(&facts) {
        Ok(cell) if cell.key() == key => Vec::new(),
        Ok(cell) => vec![format!("cell {key}: its facts have the key {}", cell.key())],
        Err(error) => vec![format!("cell {key}: cannot read its facts: {error}")],
    })
}

fn of_trial(row: &Row<'_>) -> Result<Vec<String>, Problem> {
    let text = |name: &str| row.get::<_, String>(name);
    let id = text("id")?;
    let place = Place { round: row.get("round")?, pass: row.get("pass")?, position: row.get("position")? };
    let mut problems = Vec::new();
    let expected =
        trial::id_of(&text("experiment")?, &text("cell")?, &text("candidate")?, place, &text("started_at")?)?;
    if expected != id {
        problems.push(format!("trial {id}: its id should be {expected}"));
    }
    if let Err(error) = serde_json::from_str::<Vec<String>>(&text("warnings")?) {
        problems.push(format!("trial {id}: cannot read its warnings: {error}"));
    }
    let revision: u32 = row.get("protocol_revision")?;
    let step = text("step")?;
    // Unreadable facts are reported with the cell.
    let cell = serde_json::from_str::<Cell>(&text("facts")?).ok();
    if cell.is_some_and(|cell| cell.protocol_revision != revision || cell.step != step) {
        problems.push(format!("trial {id}: its step or protocol revision differs from its cell's"));
    }
    Ok(problems)
}

/// Cells with more than one complete trial of one experiment in one round.
fn of_repeated(row: &Row<'_>) -> Result<Vec<String>, Problem> {
    let (cell, round, trials): (String, u32, u64) = (row.get("cell")?, row.get("round")?, row.get("trials")?);
    Ok(vec![format!(
        "cell {cell}: one experiment has {trials} complete trials of it in round {}; the last one counts",
        round + 1
    )])
}

fn of_role(row: &Row<'_>) -> Result<Vec<String>, Problem> {
    let (trial, client, name): (String, u32, String) =
        (row.get("trial")?, row.get("client")?, row.get("role")?);
    let problems = match role::read(row) {
        Ok(record) => contradictions(&record),
        Err(Problem::Damaged(what)) => vec![what],
        Err(problem) => vec![problem.to_string()],
    };
    Ok(problems.iter().map(|problem| format!("trial {trial}, client {client}, {name}: {problem}")).collect())
}

/// A count whose content does not belong to its row, or that counted nothing and does not say why.
fn of_count(row: &Row<'_>) -> Result<Vec<String>, Problem> {
    let (cell, start): (String, u32) = (row.get("cell")?, row.get("start")?);
    let problem = match step_count::read(row) {
        Ok(count) if count.cell != cell || count.start != start => {
            "its content belongs to another".to_owned()
        }
        Ok(count) if count.is_complete() && count.windows.iter().all(|window| window.operations == 0) => {
            "it counted no operation".to_owned()
        }
        Ok(_) => return Ok(Vec::new()),
        Err(problem) => without_hint(&problem),
    };
    Ok(vec![format!("count of cell {cell}, start {}: {problem}", start + 1)])
}

/// Trials whose slices do not add up to the operations of any class of roles.
fn of_slices(row: &Row<'_>) -> Result<Vec<String>, Problem> {
    let (trial, items): (String, String) = (row.get("trial")?, row.get("items")?);
    let problem = match slice::read(row, 1) {
        Ok(slices) => {
            let operations = slices.iter().map(|slice| slice.operations).fold(0, u64::saturating_add);
            let of_classes: Vec<u64> = serde_json::from_str(&items)?;
            if of_classes.contains(&operations) {
                return Ok(Vec::new());
            }
            format!("its slices add up to {operations} operations, which no class of its roles has")
        }
        Err(problem) => without_hint(&problem),
    };
    Ok(vec![format!("trial {trial}: {problem}")])
}

fn contradictions(record: &RoleRecord) -> Vec<String> {
    let mut problems = Vec::new();
    let timed = record.service.count();
    if timed != record.events {
        problems.push(format!("{} events, but {timed} service times", record.events));
    }
    let sampled: u64 = record.series.samples.iter().map(|sample| u64::from(sample.items)).sum();
    if sampled != record.items && !record.series.samples.is_empty() {
        problems.push(format!("{} items, but {sampled} in the time series", record.items));
    }
    problems
}
