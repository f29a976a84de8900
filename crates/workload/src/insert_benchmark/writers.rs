//! The builder that feeds inserter and deleter, and the role that creates the indexes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use basecase_model::{Expectation, Operation, Reply};

use super::rows::InsertBuilder;
use super::statements::{create_indexes, push_delete, push_min_id};
use crate::{Dialect, Next, Script};

/// Rounds between two readings of the smallest id: the reference's `resync_get_min` = 1000 further rounds.
const ROUNDS_PER_RESYNC: u64 = 1_001;

/// Index of the insert queue among a client's statement queues.
pub(super) const INSERT_QUEUE: usize = 0;
/// Index of the delete queue among a client's statement queues.
pub(super) const DELETE_QUEUE: usize = 1;

/// Makes one insert statement per round and, if rows are deleted, one delete statement for it.
pub(super) struct Builder {
    table: String,
    inserts: InsertBuilder,
    rows_per_commit: u64,
    rounds: u64,
    first_queue: usize,
    deletes: Option<Deletes>,
    round: u64,
    phase: Phase,
}

/// The state of the deletes.
pub(super) struct Deletes {
    dialect: Dialect,
    /// An id that is never above the real minimum: `g`.
    guess: i64,
    /// The guess as the point query worker sees it.
    published: Arc<AtomicI64>,
}

impl Deletes {
    pub(super) fn new(dialect: Dialect, published: Arc<AtomicI64>) -> Self {
        Deletes { dialect, guess: 0, published }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Insert,
    MinId,
    Delete,
    End,
}

impl Builder {
    /// The step's statement queues are numbered over all clients; this client's begin at `first_queue`.
    pub(super) fn new(
        table: String,
        inserts: InsertBuilder,
        rows_per_commit: u64,
        rounds: u64,
        first_queue: usize,
        deletes: Option<Deletes>,
    ) -> Self {
        Builder {
            table,
            inserts,
            rows_per_commit,
            rounds,
            first_queue,
            deletes,
            round: 0,
            phase: Phase::Insert,
        }
    }
}

impl Script for Builder {
    fn next(&mut self, operation: &mut Operation) -> Next {
        if self.phase == Phase::Insert {
            if self.round == self.rounds {
                return Next::Finish;
            }
            fill_insert(operation, &mut self.inserts, self.rows_per_commit);
            self.phase = if self.deletes.is_some() { Phase::MinId } else { Phase::End };
            return Next::Send(self.first_queue + INSERT_QUEUE);
        }
        if self.phase == Phase::MinId {
            self.phase = Phase::Delete;
            if self.round.is_multiple_of(ROUNDS_PER_RESYNC) {
                push_min_id(&mut operation.text, &self.table);
                return Next::Aside("min_id");
            }
        }
        if self.phase == Phase::Delete
            && let Some(deletes) = &mut self.deletes
        {
            self.phase = Phase::End;
            let (guess, rows) = (deletes.guess, self.rows_per_commit);
            push_delete(&mut operation.text, deletes.dialect, &self.table, guess, rows);
            operation.items = self.rows_per_commit as u32;
            operation.expectation = Expectation::Affected(self.rows_per_commit);
            deletes.guess += self.rows_per_commit as i64;
            deletes.published.store(deletes.guess, Ordering::Relaxed);
            return Next::Send(self.first_queue + DELETE_QUEUE);
        }
        self.phase = Phase::Insert;
        self.round += 1;
        Next::RoundEnd
    }

    fn answer(&mut self, reply: &Reply) {
        // An empty table has no smallest id; the guess stays where it is.
        if let (Some(deletes), Some(min_id)) = (&mut self.deletes, reply.first) {
            deletes.guess = min_id;
        }
    }
}

fn fill_insert(operation: &mut Operation, inserts: &mut InsertBuilder, rows: u64) {
    inserts.push(&mut operation.text);
    operation.items = rows as u32;
    operation.expectation = Expectation::Affected(rows);
}

/// Inserts one statement of rows, then creates the secondary indexes.
pub(super) struct Indexer {
    inserts: InsertBuilder,
    rows: u64,
    statements: std::vec::IntoIter<String>,
    inserted: bool,
}

impl Indexer {
    pub(super) fn new(dialect: Dialect, table: &str, inserts: InsertBuilder, rows: u64) -> Self {
        Indexer { inserts, rows, statements: create_indexes(dialect, table).into_iter(), inserted: false }
    }
}

impl Script for Indexer {
    fn next(&mut self, operation: &mut Operation) -> Next {
        if !self.inserted {
            self.inserted = true;
            fill_insert(operation, &mut self.inserts, self.rows);
            return Next::Execute;
        }
        match self.statements.next() {
            Some(statement) => {
                operation.text.push_str(&statement);
                Next::Aside("create_index")
            }
            None => Next::Finish,
        }
    }

    fn answer(&mut self, _reply: &Reply) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    fn builder(rounds: u64, deletes: bool) -> Builder {
        let inserts = InsertBuilder::new("pi1", 2, stream(1, "l.i1", 1, "builder"));
        let deletes = deletes.then(|| Deletes::new(Dialect::Postgres, Arc::default()));
        Builder::new("pi1".into(), inserts, 2, rounds, 0, deletes)
    }

    /// Runs a builder to its end; the smallest id is always `min_id`.
    fn trace(mut builder: Builder, min_id: i64) -> Vec<(Next, String)> {
        let mut steps = Vec::new();
        loop {
            let mut operation = Operation::default();
            let next = builder.next(&mut operation);
            if matches!(next, Next::Aside(_)) {
                builder.answer(&Reply { first: Some(min_id), fetched: 1, affected: 0 });
            }
            let done = next == Next::Finish;
            steps.push((next, operation.text));
            if done {
                return steps;
            }
        }
    }

    #[test]
    fn a_round_inserts_reads_the_minimum_deletes_and_ends() {
        let steps = trace(builder(2, true), 41);
        let order: Vec<Next> = steps.iter().map(|(next, _)| *next).collect();
        let (insert, delete) = (Next::Send(INSERT_QUEUE), Next::Send(DELETE_QUEUE));
        assert_eq!(
            order,
            [
                insert,
                Next::Aside("min_id"),
                delete,
                Next::RoundEnd,
                insert,
                delete,
                Next::RoundEnd,
                Next::Finish
            ]
        );
        assert!(
            steps[2].1.contains("transactionid >= 41 order by transactionid asc limit 2"),
            "{}",
            steps[2].1
        );
        assert!(steps[5].1.contains("transactionid >= 43 "), "{}", steps[5].1);
    }

    #[test]
    fn without_deletes_there_is_only_insert() {
        let order: Vec<Next> = trace(builder(1, false), 0).into_iter().map(|(next, _)| next).collect();
        assert_eq!(order, [Next::Send(INSERT_QUEUE), Next::RoundEnd, Next::Finish]);
    }

    #[test]
    fn the_minimum_is_read_again_after_a_thousand_further_rounds() {
        let reads = |rounds| {
            trace(builder(rounds, true), 1).iter().filter(|(next, _)| *next == Next::Aside("min_id")).count()
        };
        // The reference's counts for 400,000 rows at K = 50 and 100,000 rows at K = 5.
        assert_eq!((reads(1), reads(1_001), reads(1_002), reads(8_000), reads(20_000)), (1, 1, 2, 8, 20));
    }
}
