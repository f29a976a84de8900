//! The Insert Benchmark: what the tables hold is known by arithmetic alone.

use anyhow::Result;
use basecase_load::StepOutcome;
use basecase_model::{Check, OperationClass, RoleRecord, State, names};
use basecase_workload::StepPlan;
use basecase_workload::insert_benchmark::{
    InsertBenchmark, InsertBenchmarkStep, Model, Purpose, ROWS_PER_QUERY, StepKind, TableModel,
    expected_rows_per_range_query,
};

use crate::checks::{Count, ServerCounts};
use crate::workload::{ExpectedTable, WorkloadState};

/// How far the mean of rows per query may lie from what is expected, as a share.
const ROWS_PER_QUERY_TOLERANCE: f64 = 0.03;
/// Queries below which their mean says little.
const QUERIES_FOR_A_MEAN: u64 = 1_000;

/// The Insert Benchmark on one candidate.
#[derive(Debug)]
pub(super) struct InsertBenchmarkState {
    benchmark: InsertBenchmark,
    /// Text behind CREATE TABLE.
    table_options: Option<String>,
    steps: Vec<InsertBenchmarkStep>,
    /// Before the last step, and after it.
    before: Model,
    model: Model,
}

impl InsertBenchmarkState {
    pub(super) fn new(benchmark: InsertBenchmark, table_options: Option<&str>) -> Self {
        let model = Model::new(&benchmark.parameters, benchmark.dialect);
        let steps = InsertBenchmarkStep::all(&benchmark.parameters);
        let table_options = table_options.map(str::to_owned);
        InsertBenchmarkState { benchmark, table_options, steps, before: model.clone(), model }
    }

    fn apply(&mut self, step: usize) {
        self.before = self.model.clone();
        self.model.apply(&self.steps[step]);
    }

    /// Compares the mean of rows per query with what the columns' distributions and the gaps between ids lead to.
    fn rows_per_query(&self, step: &InsertBenchmarkStep, role: &RoleRecord, name: String) -> Check {
        let actual = role.fetched as f64 / role.statements as f64;
        let models = [&self.before, &self.model];
        let tables = models.map(|model| model.tables().nth(role.client as usize - 1).map(|(_, table)| table));
        let rows = tables[0].map_or(0, TableModel::rows);
        let (low, high) = match step.kind {
            StepKind::PointQueries => {
                // Ten independent draws: the share that repeats an earlier one is about 4.5 / rows. Ids are drawn from a range that
                // moves over gaps while the step runs. Its end is a hundred queries old, and deletes may run ahead of inserts.
                let density = tables.into_iter().flatten().map(TableModel::density).fold(1.0, f64::min);
                let deleted = step.inserted_rows() as f64 / rows.max(1) as f64;
                let least = (density - 0.1 - deleted).max(0.0);
                (ROWS_PER_QUERY as f64 * least * 0.98, ROWS_PER_QUERY as f64)
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
}

impl WorkloadState for InsertBenchmarkState {
    fn plan(&self, step: usize, purpose: Purpose) -> Result<StepPlan> {
        let plan = self.benchmark.plan(&self.steps[step], purpose);
        Ok(plan.with_table_options(self.table_options.as_deref()))
    }

    fn reload(&self, _: usize) -> Result<Option<StepPlan>> {
        Ok(None)
    }

    fn reset(&mut self) {}

    fn past(&self, step: usize) -> Vec<usize> {
        (0..step).collect()
    }

    fn advance(&mut self, step: usize, _: &StepOutcome) {
        self.apply(step);
    }

    fn resume(&mut self, step: usize, _: &State) {
        self.model = Model::new(&self.benchmark.parameters, self.benchmark.dialect);
        (0..step).for_each(|earlier| self.apply(earlier));
    }

    fn check_roles(&self, step: usize, outcome: &StepOutcome) -> Vec<Check> {
        let step = &self.steps[step];
        let mut checks = Vec::new();
        for role in &outcome.roles {
            let name = |what: &str| format!("{} {} {what}", role.role, role.client);
            match role.class {
                OperationClass::Insert | OperationClass::Delete => {
                    checks.push(Check::equal(name("statements"), &step.rounds(), &role.statements));
                    checks.push(Check::equal(name("rows affected"), &step.inserted_rows(), &role.affected));
                }
                OperationClass::Query if role.statements > 0 => {
                    checks.push(Check::equal(name("unexpected replies"), &0, &role.mismatches));
                    if role.statements >= QUERIES_FOR_A_MEAN {
                        checks.push(self.rows_per_query(step, role, name("rows per query")));
                    }
                }
                OperationClass::Query | OperationClass::Build => {}
            }
        }
        checks
    }

    fn check_server(&self, _: usize, server: ServerCounts<'_>, outcome: &StepOutcome) -> Vec<Check> {
        let sum = |class: OperationClass, of: fn(&RoleRecord) -> u64| {
            Count::exactly(outcome.roles.iter().filter(|role| role.class == class).map(of).sum())
        };
        let statements = |class| sum(class, |role| role.statements);
        let affected = |class| sum(class, |role| role.affected);
        server.check([
            (names::SERVER_CONNECTIONS, Count::exactly(outcome.connections)),
            (names::SERVER_INSERT_STATEMENTS, statements(OperationClass::Insert)),
            (names::SERVER_DELETE_STATEMENTS, statements(OperationClass::Delete)),
            (names::SERVER_ROWS_INSERTED, affected(OperationClass::Insert)),
            (names::SERVER_ROWS_DELETED, affected(OperationClass::Delete)),
        ])
    }

    fn tables(&self) -> Vec<ExpectedTable> {
        let table = |(name, model): (String, &TableModel)| ExpectedTable {
            name,
            key: Some("transactionid".to_owned()),
            least_id: model.min_id().unwrap_or(i64::MIN),
            has_last_value: true,
            secondary_indexes: model.secondary_indexes(),
        };
        self.model.tables().map(table).collect()
    }

    fn check_state(&mut self, state: &State) -> Vec<Check> {
        let show = |value: Option<i64>| value.map_or_else(|| "none".to_owned(), |value| value.to_string());
        let mut checks = Vec::new();
        for ((name, expected), actual) in self.model.tables().zip(&state.tables) {
            if let Some(rows) = actual.rows {
                checks.push(Check::equal(format!("{name} rows"), &expected.rows(), &rows));
            }
            checks.push(Check::equal(
                format!("{name} min id"),
                &show(expected.min_id()),
                &show(actual.min_id),
            ));
            checks.push(Check::equal(
                format!("{name} max id"),
                &show(expected.max_id()),
                &show(actual.max_id),
            ));
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::failures;
    use basecase_model::TableState;
    use basecase_workload::Dialect;
    use basecase_workload::insert_benchmark::{InsertBenchmarkParameters, PRESETS};

    #[test]
    fn a_table_that_differs_is_named() {
        let parameters = InsertBenchmarkParameters { rows: 1_000, ..PRESETS[0].parameters() };
        let benchmark = InsertBenchmark { parameters, dialect: Dialect::Postgres };
        let mut state = InsertBenchmarkState::new(benchmark, None);
        state.apply(0);
        let table = |rows| TableState {
            table: "pi1".into(),
            rows: Some(rows),
            min_id: Some(1),
            max_id: Some(1_000),
            last_value: Some(1_000),
        };
        let checks = state.check_state(&State { tables: vec![table(1_000)] });
        assert!(failures(&checks).is_empty(), "{checks:?}");
        let checks = state.check_state(&State { tables: vec![table(999)] });
        assert_eq!(failures(&checks), ["pi1 rows: expected 1000, found 999"]);
    }
}
