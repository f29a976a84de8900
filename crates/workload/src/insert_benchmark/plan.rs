//! Plans the roles that run a step.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use basecase_model::OperationClass;

use super::queries::{PointQueries, RangeQueries, set_up};
use super::rows::InsertBuilder;
use super::statements::{Query, create_table};
use super::writers::{Builder, DELETE_QUEUE, Deletes, INSERT_QUEUE, Indexer};
use super::{InsertBenchmarkParameters, InsertBenchmarkStep, Pace, StepKind, table_name};
use crate::random::stream;
use crate::{Chunk, Dialect, Flag, Pacing, RolePlan, StepPlan, Window, Work};

/// Why a step is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To measure it.
    Measure,
    /// To bring a database to the state after the step: the same rows, without queries and as fast as possible.
    Rebuild,
}

/// The Insert Benchmark at one size on one dbms.
#[derive(Debug, Clone)]
pub struct InsertBenchmark {
    /// Sizes and options.
    pub parameters: InsertBenchmarkParameters,
    /// The dbms's SQL.
    pub dialect: Dialect,
}

/// Number of statement queues of one client: inserts and deletes.
const QUEUES_PER_CLIENT: usize = 2;
/// Chunks of a step that inserts at full speed: each is one or two per cent of its rows.
const CHUNKS: u64 = 64;

impl InsertBenchmark {
    /// The roles of `step` for all clients.
    pub fn plan(&self, step: &InsertBenchmarkStep, purpose: Purpose) -> StepPlan {
        let clients = 1..=self.parameters.clients;
        let before = match step.kind {
            StepKind::Load => {
                clients.clone().flat_map(|client| create_table(self.dialect, &table_name(client))).collect()
            }
            _ => Vec::new(),
        };
        let roles = clients.flat_map(|client| self.roles(step, client, purpose)).collect();
        StepPlan {
            name: step.name.to_owned(),
            before,
            roles,
            statement_queues: self.parameters.clients as usize * QUEUES_PER_CLIENT,
            flags: self.parameters.clients as usize,
            kinds: Vec::new(),
            window: Window::default(),
            chunk: Some(self.chunk(step)),
        }
    }

    fn chunk(&self, step: &InsertBenchmarkStep) -> Chunk {
        match (step.kind, step.rate) {
            (StepKind::Index, _) => Chunk::Whole,
            (_, Some(_)) => Chunk::Time,
            (_, None) => {
                let rounds = step.rounds() * u64::from(self.parameters.clients);
                Chunk::Rounds(rounds.div_ceil(CHUNKS))
            }
        }
    }

    fn roles(&self, step: &InsertBenchmarkStep, client: u32, purpose: Purpose) -> Vec<RolePlan> {
        let table = table_name(client);
        let inserts = InsertBuilder::new(
            &table,
            step.rows_per_commit,
            stream(self.parameters.seed, step.name, client, "builder"),
        );
        if step.kind == StepKind::Index {
            let indexer = Indexer::new(self.dialect, &table, inserts, step.rows_per_commit);
            return vec![RolePlan {
                planned_items: Some(step.inserted_rows()),
                ..RolePlan::new(client, "indexer", OperationClass::Insert, Work::Script(Box::new(indexer)))
            }];
        }
        let index = client as usize - 1;
        let first_queue = index * QUEUES_PER_CLIENT;
        let writers_done = Flag(index);
        let guess = Arc::new(AtomicI64::new(0));
        let deletes = step.deletes().then(|| Deletes::new(self.dialect, Arc::clone(&guess)));
        let builder =
            Builder::new(table.clone(), inserts, step.rows_per_commit, step.rounds(), first_queue, deletes);
        let mut roles = vec![
            RolePlan {
                feeds: first_queue..first_queue + QUEUES_PER_CLIENT,
                pacing: self.pacing(step, purpose),
                ..RolePlan::new(client, "builder", OperationClass::Build, Work::Script(Box::new(builder)))
            },
            RolePlan {
                raises: Some(writers_done),
                planned_items: Some(step.inserted_rows()),
                ..RolePlan::new(
                    client,
                    "inserter",
                    OperationClass::Insert,
                    Work::Queue(first_queue + INSERT_QUEUE),
                )
            },
        ];
        if step.deletes() {
            roles.push(RolePlan {
                raises: Some(writers_done),
                planned_items: Some(step.inserted_rows()),
                ..RolePlan::new(
                    client,
                    "deleter",
                    OperationClass::Delete,
                    Work::Queue(first_queue + DELETE_QUEUE),
                )
            });
        }
        if purpose == Purpose::Measure {
            roles.extend(
                self.querier(step, client, &table, guess)
                    .map(|querier| RolePlan { until: Some(writers_done), ..querier }),
            );
        }
        roles
    }

    fn querier(
        &self,
        step: &InsertBenchmarkStep,
        client: u32,
        table: &str,
        guess: Arc<AtomicI64>,
    ) -> Option<RolePlan> {
        let stream = stream(self.parameters.seed, step.name, client, "querier");
        let dialect = self.dialect;
        let querier = |work, set_up| RolePlan {
            set_up,
            ..RolePlan::new(client, "querier", OperationClass::Query, Work::Script(work))
        };
        match step.kind {
            StepKind::RangeQueries => {
                let queries = Query::ranges(table);
                let forms = [0, 1, 2].map(|number| queries[number].form(dialect, number));
                Some(querier(Box::new(RangeQueries { stream, forms }), set_up(dialect, &queries)))
            }
            StepKind::PointQueries => {
                let query = Query::point(table);
                let script = PointQueries {
                    form: query.form(dialect, 0),
                    stream,
                    table: table.to_owned(),
                    low: guess,
                    high: 0,
                    queries: 0,
                    asked: false,
                };
                Some(querier(Box::new(script), set_up(dialect, &[query])))
            }
            _ => None,
        }
    }

    fn pacing(&self, step: &InsertBenchmarkStep, purpose: Purpose) -> Pacing {
        match (step.rate, purpose) {
            (Some(rate), Purpose::Measure) => {
                let rounds_per_second = rate.div_ceil(step.rows_per_commit) as u32;
                match self.parameters.pace {
                    Pace::Bursts => Pacing::Bursts { rounds_per_second },
                    Pace::Even => Pacing::Even { rounds_per_second },
                }
            }
            _ => Pacing::Closed,
        }
    }
}

#[cfg(test)]
mod tests {
    use basecase_model::{Operation, Reply};

    use super::*;
    use crate::Next;
    use crate::insert_benchmark::PRESETS;
    use crate::insert_benchmark::queries::tests::integers;

    #[test]
    fn roles_and_so_connections_of_each_step() {
        let parameters = InsertBenchmarkParameters { clients: 2, ..PRESETS[0].parameters() };
        let benchmark = InsertBenchmark { parameters, dialect: Dialect::Postgres };
        let roles = |name: &str, purpose| {
            let step = *InsertBenchmarkStep::all(&benchmark.parameters)
                .iter()
                .find(|step| step.name == name)
                .unwrap();
            let plan = benchmark.plan(&step, purpose);
            plan.roles
                .iter()
                .map(|role| format!("{}{}", role.name, role.client))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(roles("l.i0", Purpose::Measure), "builder1 inserter1 builder2 inserter2");
        assert_eq!(roles("l.x", Purpose::Measure), "indexer1 indexer2");
        assert_eq!(
            roles("l.i2", Purpose::Measure),
            "builder1 inserter1 deleter1 builder2 inserter2 deleter2"
        );
        assert_eq!(
            roles("qp500", Purpose::Measure),
            "builder1 inserter1 deleter1 querier1 builder2 inserter2 deleter2 querier2"
        );
        assert_eq!(
            roles("qp500", Purpose::Rebuild),
            "builder1 inserter1 deleter1 builder2 inserter2 deleter2"
        );
    }
    #[test]
    fn point_queries_draw_ids_from_where_the_deleter_is_once_it_has_deleted() {
        let parameters = InsertBenchmarkParameters { clients: 1, ..PRESETS[0].parameters() };
        let step = *InsertBenchmarkStep::all(&parameters).iter().find(|step| step.name == "qp100").unwrap();
        let plan = InsertBenchmark { parameters, dialect: Dialect::Postgres }.plan(&step, Purpose::Measure);
        let (mut builder, mut querier) = (None, None);
        for role in plan.roles {
            match (role.name, role.work) {
                ("builder", Work::Script(script)) => builder = Some(script),
                ("querier", Work::Script(script)) => querier = Some(script),
                _ => {}
            }
        }
        let (mut builder, mut querier) = (builder.unwrap(), querier.unwrap());
        let replied = |first: i64| Reply { first: Some(first), ..Reply::default() };
        let mut smallest_of_99_queries = |max_id: i64| -> i64 {
            let mut ids = Vec::new();
            while ids.len() < 990 {
                let mut operation = Operation::default();
                match querier.next(&mut operation) {
                    Next::Aside("max_id") => querier.answer(&replied(max_id)),
                    Next::Execute => ids.extend(integers(&operation)),
                    other => panic!("{other:?}"),
                }
            }
            ids.into_iter().min().unwrap()
        };
        assert!(smallest_of_99_queries(30_000) < 10_000, "nothing is deleted yet");
        loop {
            match builder.next(&mut Operation::default()) {
                Next::Aside("min_id") => builder.answer(&replied(10_000)),
                Next::RoundEnd => break,
                _ => {}
            }
        }
        let deleted_up_to = 10_000 + step.rows_per_commit as i64;
        assert!((deleted_up_to..12_000).contains(&smallest_of_99_queries(30_000)));
    }
}
