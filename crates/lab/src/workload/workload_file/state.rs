//! Steps of a workload file: what the tables hold follows from the load and from the rows that statements affected.

use anyhow::Result;
use basecase_load::StepOutcome;
use basecase_model::{Check, OperationClass, State, StatementClass, StatementRecord, TableState, names};
use basecase_workload::insert_benchmark::Purpose;
use basecase_workload::{Change, Dialect, StatementKind, StepPlan};

use super::WorkloadFile;
use crate::checks::{Count, ServerCounts};
use crate::workload::{ExpectedTable, Workload as _, WorkloadState};

/// A workload file on one candidate. FileStep 0 is the load.
#[derive(Debug)]
pub(super) struct WorkloadFileState {
    file: WorkloadFile,
    dialect: Dialect,
    /// Text behind CREATE TABLE.
    table_options: Option<String>,
    /// Of each step after the load.
    kinds: Vec<Vec<StatementKind>>,
    /// Rows of all tables together; `None` before the load.
    rows: Option<u64>,
    /// The state of the tables when last inspected, if nothing has changed them since.
    known: Option<State>,
}

/// Statements of one change: how many, and the rows that they affected.
#[derive(Debug, Clone, Copy, Default)]
struct Changed {
    statements: u64,
    affected: u64,
    /// Affected rows whose change was not rolled back.
    kept: u64,
}

impl WorkloadFileState {
    pub(super) fn new(file: &WorkloadFile, dialect: Dialect, table_options: Option<&str>) -> Result<Self> {
        let of_step = |step| file.definition.kinds(&file.parameters, step, dialect);
        let kinds = file.steps.iter().map(of_step).collect::<Result<_, _>>()?;
        let table_options = table_options.map(str::to_owned);
        Ok(WorkloadFileState { file: file.clone(), dialect, table_options, kinds, rows: None, known: None })
    }

    fn load(&self) -> Result<StepPlan> {
        Ok(self.file.load(self.dialect)?.with_table_options(self.table_options.as_deref()))
    }

    /// What the statements of one change did, in the whole step.
    fn changed(&self, step: usize, change: Change, records: &[StatementRecord]) -> Changed {
        let kinds = &self.kinds[step - 1];
        let is_of = |record: &&StatementRecord| {
            kinds.iter().any(|kind| kind.name == record.name && kind.change == Some(change))
        };
        let mut changed = Changed::default();
        for whole in records.iter().filter(is_of).map(StatementRecord::whole) {
            changed.statements += whole.executed;
            changed.affected += whole.affected;
            changed.kept += whole.affected - whole.undone;
        }
        changed
    }

    fn check_load(&self, outcome: &StepOutcome) -> Vec<Check> {
        let affected = outcome.roles.iter().map(|role| role.affected).sum();
        let mismatches = outcome.roles.iter().map(|role| role.mismatches).sum();
        vec![
            Check::equal("rows loaded", &self.file.loaded_rows(), &affected),
            Check::equal("unexpected replies", &0, &mismatches),
        ]
    }
}

impl WorkloadState for WorkloadFileState {
    fn plan(&self, step: usize, _: Purpose) -> Result<StepPlan> {
        Ok(match step.checked_sub(1) {
            None => self.load()?,
            Some(step) => self.file.plan(&self.file.steps[step], self.dialect)?,
        })
    }

    fn reload(&self, step: usize) -> Result<Option<StepPlan>> {
        let Some(number) = step.checked_sub(1) else { return Ok(None) };
        let steps = &self.file.steps;
        // Right after the load nothing has changed yet.
        let is_due = number > 0 && (steps[number].reload_before || steps[number - 1].reload_after);
        Ok(if is_due { Some(self.load()?) } else { None })
    }

    fn reset(&mut self) {
        self.rows = Some(self.file.loaded_rows());
        self.known = None;
    }

    fn past(&self, step: usize) -> Vec<usize> {
        // Steps that only read leave no trace, and a reload erases all before it.
        let begins_anew = |later: &usize| self.reload(*later).is_ok_and(|load| load.is_some());
        let from = (1..=step).rev().find(begins_anew).unwrap_or(1);
        let wrote = |earlier: &usize| self.file.steps[earlier - 1].writes();
        std::iter::once(0).filter(|_| step > 0).chain((from..step).filter(wrote)).collect()
    }

    fn advance(&mut self, step: usize, outcome: &StepOutcome) {
        if step == 0 {
            self.reset();
            return;
        }
        let kept = |change| self.changed(step, change, &outcome.statements).kept;
        let (inserted, deleted) = (kept(Change::Insert), kept(Change::Delete));
        // The count of a REPLACE or a MERGE does not say how many rows it added.
        let is_known = self.kinds[step - 1]
            .iter()
            .all(|kind| kind.class != StatementClass::Write || kind.change.is_some());
        self.rows = self.rows.filter(|_| is_known).map(|rows| (rows + inserted).saturating_sub(deleted));
        if self.file.steps[step - 1].writes() {
            self.known = None;
        }
    }

    fn resume(&mut self, step: usize, left: &State) {
        self.known = (step > 0).then(|| left.clone());
        self.rows = left.tables.iter().map(|table| table.rows).sum();
    }

    fn check_roles(&self, step: usize, outcome: &StepOutcome) -> Vec<Check> {
        let Some(number) = step.checked_sub(1) else { return self.check_load(outcome) };
        let in_window: u64 = outcome.roles.iter().map(|role| role.events).sum();
        let events = in_window + outcome.warm_up_events;
        let is_exact = is_exact(outcome);
        let mut checks = Vec::new();
        for (record, kind) in outcome.statements.iter().zip(&self.kinds[number]) {
            let whole = record.whole();
            let name = &record.name;
            let expected = Count::of(events * kind.per_event, is_exact);
            checks.push(expected.check(format!("{name} statements"), whole.executed));
            checks.push(Check::equal(format!("{name} unexpected replies"), &0, &whole.mismatches));
        }
        checks
    }

    fn check_server(&self, step: usize, server: ServerCounts<'_>, outcome: &StepOutcome) -> Vec<Check> {
        let connections = (names::SERVER_CONNECTIONS, Count::exactly(outcome.connections));
        if step == 0 {
            let loaders = || outcome.roles.iter().filter(|role| role.class == OperationClass::Insert);
            let statements = Count::exactly(loaders().map(|role| role.statements).sum());
            let rows = Count::exactly(loaders().map(|role| role.affected).sum());
            let inserts =
                [(names::SERVER_INSERT_STATEMENTS, statements), (names::SERVER_ROWS_INSERTED, rows)];
            return server.check(std::iter::once(connections).chain(inserts));
        }
        // The server counts failed statements too.
        let is_exact = is_exact(outcome);
        let changed = |change| self.changed(step, change, &outcome.statements);
        let statements = |change| Count::of(changed(change).statements, is_exact);
        let affected = |change| Count::of(changed(change).affected, is_exact);
        server.check([
            connections,
            (names::SERVER_INSERT_STATEMENTS, statements(Change::Insert)),
            (names::SERVER_UPDATE_STATEMENTS, statements(Change::Update)),
            (names::SERVER_DELETE_STATEMENTS, statements(Change::Delete)),
            (names::SERVER_ROWS_INSERTED, affected(Change::Insert)),
            (names::SERVER_ROWS_UPDATED, affected(Change::Update)),
            (names::SERVER_ROWS_DELETED, affected(Change::Delete)),
        ])
    }

    fn tables(&self) -> Vec<ExpectedTable> {
        let table = |table: &basecase_workload::LoadedTable| ExpectedTable {
            name: table.name.clone(),
            key: table.key.clone(),
            least_id: i64::MIN,
            has_last_value: false,
            secondary_indexes: table.secondary_indexes,
        };
        self.file.tables.iter().map(table).collect()
    }

    fn check_state(&mut self, state: &State) -> Vec<Check> {
        let mut checks = Vec::new();
        let rows: Option<u64> = state.tables.iter().map(|table| table.rows).sum();
        if let (Some(expected), Some(actual)) = (self.rows, rows) {
            checks.push(Check::equal("rows of all tables", &expected, &actual));
        }
        if let Some(known) = &self.known {
            for (before, after) in known.tables.iter().zip(&state.tables) {
                checks.push(Check::equal(
                    format!("{} as it was", after.table),
                    &describe(before, after),
                    &describe(after, before),
                ));
            }
        }
        self.known = Some(state.clone());
        checks
    }
}

/// Whether every event that began was executed once, and whole.
fn is_exact(outcome: &StepOutcome) -> bool {
    outcome.broken_off == 0 && outcome.roles.iter().all(|role| role.retries == 0)
}

/// A table in words, with its rows when they are known of `other` as well.
fn describe(table: &TableState, other: &TableState) -> String {
    let id = |id: Option<i64>| id.map_or_else(|| "none".to_owned(), |id| id.to_string());
    let rows = table.rows.filter(|_| other.rows.is_some()).map(|rows| format!("{rows} rows, "));
    format!("{}ids {} to {}", rows.unwrap_or_default(), id(table.min_id), id(table.max_id))
}
