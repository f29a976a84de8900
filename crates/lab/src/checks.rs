//! Whether a step did what it should: the roles' own counts, the server's counters, and the tables against the model.

use basecase_model::{Check, Measures, OperationClass, RoleRecord, State, names};
use basecase_workload::insert_benchmark::{
    Model, ROWS_PER_QUERY, Step, StepKind, TableModel, expected_rows_per_range_query,
};

/// How far the mean of rows per query may lie from what is expected, as a share.
const ROWS_PER_QUERY_TOLERANCE: f64 = 0.03;
/// Queries below which their mean says little.
const QUERIES_FOR_A_MEAN: u64 = 1_000;

/// Compares the roles' counts with each other and with the plan.
pub(crate) fn of_roles(step: &Step, before: &Model, after: &Model, roles: &[RoleRecord]) -> Vec<Check> {
    let mut checks = Vec::new();
    for role in roles {
        let name = |what: &str| format!("{} {} {what}", role.role, role.client);
        match role.class {
            OperationClass::Insert | OperationClass::Delete => {
                checks.push(Check::equal(name("statements"), &step.rounds(), &role.statements));
                checks.push(Check::equal(name("rows affected"), &step.inserted_rows(), &role.affected));
            }
            OperationClass::Query if role.statements > 0 => {
                checks.push(Check::equal(name("unexpected replies"), &0, &role.mismatches));
                if role.statements >= QUERIES_FOR_A_MEAN {
                    checks.push(rows_per_query(step, [before, after], role, name("rows per query")));
                }
            }
            OperationClass::Query | OperationClass::Build => {}
        }
    }
    checks
}

/// Compares the mean of rows per query with what the columns' distributions and the gaps between ids lead to.
fn rows_per_query(step: &Step, models: [&Model; 2], role: &RoleRecord, name: String) -> Check {
    let actual = role.fetched as f64 / role.statements as f64;
    let tables = models.map(|model| model.tables().nth(role.client as usize - 1).map(|(_, table)| table));
    let rows = tables[0].map_or(0, TableModel::rows);
    let (low, high) = match step.kind {
        StepKind::PointQueries => {
            // Ten independent draws: the share that repeats an earlier one is about 4.5 / rows, and ids are drawn from a range
            // that moves while the step runs, over gaps and up to the rows of a hundred queries ago.
            let density = tables.into_iter().flatten().map(TableModel::density).fold(1.0, f64::min);
            (ROWS_PER_QUERY as f64 * (density - 0.1).max(0.0) * 0.98, ROWS_PER_QUERY as f64)
        }
        _ => {
            let expected = expected_rows_per_range_query(rows);
            (expected * (1.0 - ROWS_PER_QUERY_TOLERANCE), ROWS_PER_QUERY as f64)
        }
    };
    Check {
        name,
        expected: format!("{low:.3} to {high:.3}"),
        actual: format!("{actual:.3}"),
        passed: (low..=high).contains(&actual),
    }
}

/// Compares the server's own counters over the step with what the client did.
pub(crate) fn of_server(server: &Measures, roles: &[RoleRecord]) -> Vec<Check> {
    let affected = |class: OperationClass| -> u64 {
        roles.iter().filter(|role| role.class == class).map(|role| role.affected).sum()
    };
    let statements = |class: OperationClass| -> u64 {
        roles.iter().filter(|role| role.class == class).map(|role| role.statements).sum()
    };
    let expected = [
        (names::SERVER_CONNECTIONS, roles.len() as u64),
        (names::SERVER_INSERT_STATEMENTS, statements(OperationClass::Insert)),
        (names::SERVER_DELETE_STATEMENTS, statements(OperationClass::Delete)),
        (names::SERVER_ROWS_INSERTED, affected(OperationClass::Insert)),
        (names::SERVER_ROWS_DELETED, affected(OperationClass::Delete)),
    ];
    let actual = |name: &str| server.get(name).map(|value| value as u64);
    expected
        .into_iter()
        .filter_map(|(name, expected)| Some(Check::equal(name, &expected, &actual(name)?)))
        .collect()
}

/// Compares the tables with the model.
pub(crate) fn of_state(model: &Model, state: &State) -> Vec<Check> {
    let show = |value: Option<i64>| value.map_or_else(|| "none".to_owned(), |value| value.to_string());
    let mut checks = Vec::new();
    for ((name, expected), actual) in model.tables().zip(&state.tables) {
        if let Some(rows) = actual.rows {
            checks.push(Check::equal(format!("{name} rows"), &expected.rows(), &rows));
        }
        checks.push(Check::equal(format!("{name} min id"), &show(expected.min_id()), &show(actual.min_id)));
        checks.push(Check::equal(format!("{name} max id"), &show(expected.max_id()), &show(actual.max_id)));
        if actual.last_value.is_some() {
            checks.push(Check::equal(
                format!("{name} last value of the sequence"),
                &show(Some(expected.last_value())),
                &show(actual.last_value),
            ));
        }
    }
    checks
}

/// The checks that did not pass, in one line each.
pub(crate) fn failures(checks: &[Check]) -> Vec<String> {
    checks
        .iter()
        .filter(|check| !check.passed)
        .map(|check| format!("{}: expected {}, found {}", check.name, check.expected, check.actual))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use basecase_model::TableState;
    use basecase_workload::Dialect;
    use basecase_workload::insert_benchmark::{PRESETS, Parameters};

    #[test]
    fn a_table_that_differs_is_named() {
        let parameters = Parameters { rows: 1_000, ..PRESETS[0].parameters() };
        let mut model = Model::new(&parameters, Dialect::Postgres);
        model.apply(&Step::all(&parameters)[0]);
        let table = |rows| TableState {
            table: "pi1".into(),
            rows: Some(rows),
            min_id: Some(1),
            max_id: Some(1_000),
            last_value: Some(1_000),
        };
        let checks = of_state(&model, &State { tables: vec![table(1_000)] });
        assert!(failures(&checks).is_empty(), "{checks:?}");
        let checks = of_state(&model, &State { tables: vec![table(999)] });
        assert_eq!(failures(&checks), ["pi1 rows: expected 1000, found 999"]);
    }

    #[test]
    fn counters_that_the_server_lacks_are_not_compared() {
        assert!(of_server(&Measures::new(), &[]).is_empty());
        let mut server = Measures::new();
        server.set(names::SERVER_CONNECTIONS, 5.0);
        assert_eq!(failures(&of_server(&server, &[])), ["server.connections: expected 0, found 5"]);
    }
}
