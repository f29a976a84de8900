//! Plans the roles that run a workload file's steps.

use std::collections::BTreeSet;
use std::sync::Arc;

use basecase_model::OperationClass;

use crate::compilation::{CompiledEvent, Compiler, Samplers, Slot};
use crate::definition::{Mistake, Table, WorkloadError};
use crate::event_script::{EventScript, State};
use crate::file_parameters::{FileParameters, Mode, Scope};
use crate::file_steps::FileStep;
use crate::generator::Generator;
use crate::load_script::{Cell, LoadScript, Origin, Rows, TableLoad};
use crate::statement_kind::kinds;
use crate::{Dialect, RolePlan, StatementKind, StepPlan, Window, Work, Workload};

/// The name of the step that loads the tables.
pub const LOAD: &str = "load";

/// Rows of a table that an outline generates: more than it shows.
const OUTLINED_ROWS: u64 = 1_000;
/// The maximum number of rows of all tables together.
const MOST_ROWS: u64 = 1_000_000_000_000_000;

/// A table as the load leaves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedTable {
    /// Its name.
    pub name: String,
    /// The column of its primary key, if it is a single one.
    pub key: Option<String>,
    /// Its rows.
    pub rows: u64,
    /// Its indexes besides the primary key.
    pub secondary_indexes: u64,
}

impl Workload {
    /// The tables that these steps need, as the load leaves them.
    ///
    /// # Errors
    /// What does not fit together with these options.
    pub fn loaded_tables(
        &self,
        parameters: &FileParameters,
        steps: &[FileStep],
    ) -> Result<Vec<LoadedTable>, WorkloadError> {
        let scope = Scope::new(self, parameters);
        let mut loaded = Vec::new();
        let mut all = 0_u64;
        for (table, is_empty) in self.tables_of(parameters, steps) {
            let of_kind = || -> Result<_, Mistake> {
                Ok((table.names(&scope)?, self.rows_of(table, is_empty, &scope)?))
            };
            let (names, rows) = of_kind().map_err(|mistake| self.located(mistake))?;
            all = rows
                .checked_mul(names.len() as u64)
                .and_then(|more| more.checked_add(all))
                .unwrap_or(u64::MAX);
            if all > MOST_ROWS {
                let problem = format!("{} tables of {rows} rows are too many rows", names.len());
                let mistake = Mistake::new(table.at, problem);
                return Err(self.located(
                    mistake.with_hint(format!("all tables together can have at most {MOST_ROWS} rows")),
                ));
            }
            let key = table.primary_key.as_ref().filter(|key| scope.holds(&key.when));
            let key = key.and_then(|key| match key.columns.as_slice() {
                [only] => Some(only),
                _ => None,
            });
            let secondary_indexes = table.count_indexes(&scope);
            loaded.extend(names.into_iter().map(|name| LoadedTable {
                name,
                key: key.cloned(),
                rows,
                secondary_indexes,
            }));
        }
        Ok(loaded)
    }

    /// Rows that the load puts into each table of a kind.
    fn rows_of(&self, table: &Table, is_empty: bool, scope: &Scope<'_>) -> Result<u64, Mistake> {
        if is_empty || !table.columns_in(scope).any(|column| column.content.is_some()) {
            return Ok(0);
        }
        let rows = scope.evaluate(&table.rows)?;
        u64::try_from(rows).map_err(|_| Mistake::new(table.at, format!("a table cannot have {rows} rows")))
    }

    /// The roles of a step: one for each thread, named `client`, which runs until the step is stopped.
    ///
    /// # Errors
    /// What does not fit together with these options: an empty range, an event that does nothing.
    pub fn plan(
        &self,
        parameters: &FileParameters,
        step: &FileStep,
        dialect: Dialect,
    ) -> Result<StepPlan, WorkloadError> {
        self.plan_step(parameters, step, dialect, step.threads).map_err(|mistake| self.located(mistake))
    }

    /// The first thread of a step, for people.
    pub(crate) fn outline(
        &self,
        parameters: &FileParameters,
        step: &FileStep,
        dialect: Dialect,
    ) -> Result<StepPlan, WorkloadError> {
        self.plan_step(parameters, step, dialect, 1).map_err(|mistake| self.located(mistake))
    }

    /// The step limited to the first `threads` of its threads.
    fn plan_step(
        &self,
        parameters: &FileParameters,
        step: &FileStep,
        dialect: Dialect,
        threads: u32,
    ) -> Result<StepPlan, Mistake> {
        let mut samplers = Samplers::new();
        let mut roles = Vec::new();
        for thread in 0..threads {
            let (compiled, tables) = self.compile(parameters, step, dialect, thread, &mut samplers)?;
            let state = State {
                generator: Generator::of(parameters.seed, &step.label, thread),
                numbers: vec![0; compiled.numbers],
                texts: vec![String::new(); compiled.texts],
                table: 0,
            };
            let script = EventScript::new(state, tables, compiled.lines, compiled.is_transaction);
            let work = Work::Script(Box::new(script));
            roles.push(RolePlan {
                set_up: compiled.set_up,
                ..RolePlan::new(thread + 1, "client", OperationClass::Query, work)
            });
        }
        let kinds = self.step_kinds(parameters, step, dialect)?;
        let window = parameters.timing.window(step.duration);
        Ok(StepPlan {
            name: step.label.clone(),
            before: Vec::new(),
            roles,
            statement_queues: 0,
            flags: 0,
            kinds,
            window,
            chunk: None,
        })
    }

    /// The kinds of statements of a step, in the order in which operations number them.
    ///
    /// # Errors
    /// When a line of its event cannot be repeated as often as these options say.
    pub fn kinds(
        &self,
        parameters: &FileParameters,
        step: &FileStep,
        dialect: Dialect,
    ) -> Result<Vec<StatementKind>, WorkloadError> {
        self.step_kinds(parameters, step, dialect).map_err(|mistake| self.located(mistake))
    }

    fn step_kinds(
        &self,
        parameters: &FileParameters,
        step: &FileStep,
        dialect: Dialect,
    ) -> Result<Vec<StatementKind>, Mistake> {
        let scope = Scope::new(self, parameters).with(&step.settings).with_threads(step.threads);
        self.event_of(&step.body).map_or(Ok(Vec::new()), |event| kinds(&scope, event, dialect))
    }

    /// What one thread of a step executes, and the tables it chooses from.
    pub(crate) fn compile(
        &self,
        parameters: &FileParameters,
        step: &FileStep,
        dialect: Dialect,
        thread: u32,
        samplers: &mut Samplers,
    ) -> Result<(CompiledEvent, Arc<[String]>), Mistake> {
        let event = self.event_of(&step.body).ok_or_else(|| Mistake::new(0, "a step has no event"))?;
        let mut scope = Scope::new(self, parameters).with(&step.settings).with_threads(step.threads);
        scope.thread = Some(thread);
        let tables: Arc<[String]> = match self.table_of(step) {
            Some(table) => table.names(&scope)?.into(),
            None => Arc::default(),
        };
        let kinds = self.step_kinds(parameters, step, dialect)?;
        let distribution = step.body.distribution.as_ref().or(self.distribution.as_ref());
        let mut compiler = Compiler::new(scope, dialect, parameters, distribution, &tables, samplers);
        compiler.rows = step.rows;
        Ok((compiler.event(event, &kinds)?, Arc::clone(&tables)))
    }

    /// The kind of tables that a step works on.
    fn table_of(&self, step: &FileStep) -> Option<&Table> {
        match &self.event_of(&step.body)?.table {
            Some((kind, _)) => self.tables.iter().find(|table| table.kind == *kind),
            None => self.tables.first(),
        }
    }

    /// The load of the tables that these steps need: tables are created before the clock starts; then thread `t` of `loaders` fills tables
    /// `t`, `t + loaders`, … and creates their indexes. The content does not depend on the number of loaders.
    ///
    /// In compatible mode the rows equal those of `sysbench prepare` (1.0.20) with one thread, for the same number of tables and rows.
    ///
    /// # Errors
    /// What does not fit together with these options.
    pub fn load_plan(
        &self,
        parameters: &FileParameters,
        steps: &[FileStep],
        dialect: Dialect,
        loaders: u32,
    ) -> Result<StepPlan, WorkloadError> {
        self.plan_load(parameters, steps, dialect, loaders.max(1), Rows::All)
            .map_err(|mistake| self.located(mistake))
    }

    /// The load by one thread, limited to the first rows of each table, for people.
    pub(crate) fn load_outline(
        &self,
        parameters: &FileParameters,
        steps: &[FileStep],
        dialect: Dialect,
    ) -> Result<StepPlan, WorkloadError> {
        self.plan_load(parameters, steps, dialect, 1, Rows::First(OUTLINED_ROWS))
            .map_err(|mistake| self.located(mistake))
    }

    /// The kinds of tables that steps need, each with whether it stays empty.
    pub(crate) fn tables_of(&self, parameters: &FileParameters, steps: &[FileStep]) -> Vec<(&Table, bool)> {
        let scope = Scope::new(self, parameters);
        let needed = |table: &&Table| {
            let users: Vec<&FileStep> = steps
                .iter()
                .filter(|step| self.table_of(step).is_some_and(|used| used.kind == table.kind))
                .collect();
            let is_empty = |step: &&FileStep| {
                step.body.empty_tables.as_ref().is_some_and(|condition| scope.holds(condition))
            };
            (!users.is_empty()).then(|| users.iter().any(is_empty))
        };
        self.tables.iter().filter_map(|table| Some((table, needed(&table)?))).collect()
    }

    fn plan_load(
        &self,
        parameters: &FileParameters,
        steps: &[FileStep],
        dialect: Dialect,
        loaders: u32,
        made: Rows,
    ) -> Result<StepPlan, Mistake> {
        let scope = Scope::new(self, parameters);
        let mut before = Vec::new();
        let mut roles = Vec::new();
        let mut created = BTreeSet::new();
        for (table, is_empty) in self.tables_of(parameters, steps) {
            let names = table.names(&scope)?;
            table.check_ids(&scope, dialect)?;
            if let Some(name) = names.iter().find(|name| !created.insert((*name).clone())) {
                let problem = format!("the steps need different tables named {name}");
                return Err(Mistake::new(table.at, problem)
                    .with_hint("run the steps of each kind of table separately"));
            }
            for number in 1..=names.len() {
                before.extend(table.create(&scope, dialect, number));
            }
            let rows = self.rows_of(table, is_empty, &scope)?;
            let (cells, columns) = self.cells(table, parameters, dialect, &names)?;
            let load = |(number, name): (usize, &String)| TableLoad {
                table: number,
                head: format!("INSERT INTO {name}({}) VALUES", columns.join(", ")),
                indexes: table.create_indexes(&scope, number + 1),
            };
            let loads: Vec<TableLoad> = names.iter().enumerate().map(load).collect();
            roles.extend(loader_roles(&loads, loaders, (rows, made), &cells, parameters));
        }
        Ok(StepPlan {
            name: LOAD.to_owned(),
            before,
            roles,
            statement_queues: 0,
            flags: 0,
            kinds: Vec::new(),
            window: Window::default(),
            chunk: None,
        })
    }

    /// The columns that the load fills, with their names.
    fn cells(
        &self,
        table: &Table,
        parameters: &FileParameters,
        dialect: Dialect,
        names: &[String],
    ) -> Result<(Vec<Cell>, Vec<String>), Mistake> {
        let scope = Scope::new(self, parameters);
        let columns: Vec<_> = table.columns_in(&scope).filter(|column| column.content.is_some()).collect();
        let mut samplers = Samplers::new();
        let distribution = self.load_distribution.as_ref().or(self.distribution.as_ref());
        let mut compiler =
            Compiler::new(scope.clone(), dialect, parameters, distribution, names, &mut samplers);
        compiler.slots.push(("row".to_owned(), Slot::Number(0)));
        compiler.numbers = 1;
        let mut cells = Vec::new();
        for (index, column) in columns.iter().enumerate() {
            let Some(content) = &column.content else { continue };
            let named = table.draws.iter().position(|(name, _)| *name == column.name);
            let draw = named.unwrap_or(table.draws.len() + index);
            cells.push(Cell { source: compiler.source(content, None)?, draw });
        }
        Ok((cells, columns.iter().map(|column| column.name.clone()).collect()))
    }
}

/// The roles that load the tables of one kind: each takes every `loaders`th table.
fn loader_roles<'a>(
    loads: &'a [TableLoad],
    loaders: u32,
    (rows, made): (u64, Rows),
    cells: &'a [Cell],
    parameters: &'a FileParameters,
) -> impl Iterator<Item = RolePlan> + 'a {
    (0..loaders.min(loads.len() as u32)).map(move |loader| {
        let own: Vec<TableLoad> =
            loads.iter().skip(loader as usize).step_by(loaders as usize).cloned().collect();
        let origin = match parameters.mode {
            Mode::Compatible => Origin::Sysbench,
            Mode::Clean => Origin::Seed(parameters.seed),
        };
        let planned = rows.saturating_mul(own.len() as u64);
        let state = State {
            generator: Generator::of_sysbench_prepare(),
            numbers: vec![0],
            texts: Vec::new(),
            table: 0,
        };
        let script = LoadScript::new(own, (rows, made), cells.to_vec(), origin, state);
        let work = Work::Script(Box::new(script));
        RolePlan {
            planned_items: Some(planned),
            ..RolePlan::new(loader + 1, "loader", OperationClass::Insert, work)
        }
    })
}
