//! The ten steps.

use basecase_model::{Headline, StepFacts};

use super::InsertBenchmarkParameters;

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// Create the tables, and load them in primary key order.
    Load,
    /// Insert a little more, then create the secondary indexes.
    Index,
    /// Insert and delete as fast as possible.
    Write,
    /// Range queries alongside paced inserts and deletes.
    RangeQueries,
    /// Point queries alongside paced inserts and deletes.
    PointQueries,
}

/// One step with its sizes, per client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InsertBenchmarkStep {
    /// Name without position.
    pub name: &'static str,
    /// Name with position.
    pub label: &'static str,
    /// What it does.
    pub kind: StepKind,
    /// Rows requested; the step inserts whole statements of `rows_per_commit`.
    pub max_rows: u64,
    /// Rows per statement, and so per transaction: `K`.
    pub rows_per_commit: u64,
    /// Rows per second of the background writer: `R`. `None` means as fast as possible.
    pub rate: Option<u64>,
}

impl InsertBenchmarkStep {
    /// The ten steps in their order.
    pub fn all(parameters: &InsertBenchmarkParameters) -> Vec<InsertBenchmarkStep> {
        let fixed = |name, kind, max_rows, rows_per_commit| InsertBenchmarkStep {
            name,
            label: name,
            kind,
            max_rows,
            rows_per_commit,
            rate: None,
        };
        let mut steps = vec![
            fixed("l.i0", StepKind::Load, parameters.rows, 100),
            fixed("l.x", StepKind::Index, 100, 100),
            fixed("l.i1", StepKind::Write, parameters.li1_rows(), 50),
            fixed("l.i2", StepKind::Write, parameters.li2_rows(), 5),
        ];
        let read_write = [
            ("qr100", "qr100.L1", StepKind::RangeQueries, 100),
            ("qp100", "qp100.L2", StepKind::PointQueries, 100),
            ("qr500", "qr500.L3", StepKind::RangeQueries, 500),
            ("qp500", "qp500.L4", StepKind::PointQueries, 500),
            ("qr1000", "qr1000.L5", StepKind::RangeQueries, 1000),
            ("qp1000", "qp1000.L6", StepKind::PointQueries, 1000),
        ];
        steps.extend(read_write.map(|(name, label, kind, rate)| InsertBenchmarkStep {
            name,
            label,
            kind,
            max_rows: rate * parameters.seconds,
            rows_per_commit: rate.min(50),
            rate: Some(rate),
        }));
        steps
    }

    /// Insert statements of one client; in steps that delete there are as many deletes.
    pub fn rounds(&self) -> u64 {
        self.max_rows.div_ceil(self.rows_per_commit)
    }

    /// Rows that one client actually inserts: whole statements.
    pub fn inserted_rows(&self) -> u64 {
        self.rounds() * self.rows_per_commit
    }

    /// Whether every insert statement has a delete statement.
    pub fn deletes(&self) -> bool {
        !matches!(self.kind, StepKind::Load | StepKind::Index)
    }

    /// Whether debt is settled after this step, before the read-write steps.
    pub fn settles_after(&self) -> bool {
        self.name == "l.i2"
    }

    /// The step as stored and shown.
    pub fn facts(&self, parameters: &InsertBenchmarkParameters) -> StepFacts {
        let clients = parameters.clients;
        let title = match (self.kind, self.rate) {
            (StepKind::Load, _) => "load without secondary indexes".to_owned(),
            (StepKind::Index, _) => "create secondary indexes".to_owned(),
            (StepKind::RangeQueries, Some(rate)) => format!("range queries with {rate} insert/s per client"),
            (StepKind::PointQueries, Some(rate)) => format!("point queries with {rate} insert/s per client"),
            _ => format!(
                "continue load after secondary indexes created with {} inserts per transaction",
                self.rows_per_commit
            ),
        };
        StepFacts {
            name: self.name.to_owned(),
            label: self.label.to_owned(),
            title,
            headline: match self.kind {
                StepKind::Load | StepKind::Write => Headline::Inserts,
                StepKind::Index => Headline::Indexed,
                StepKind::RangeQueries | StepKind::PointQueries => Headline::Queries,
            },
            sla_target: self.rate.map(|rate| (rate * u64::from(clients)) as f64),
            headline_items: (self.kind == StepKind::Index)
                .then(|| parameters.loaded_rows() + 100 * u64::from(clients)),
            group: None,
            scanned_rows: None,
            threads: None,
            writes: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insert_benchmark::PRESETS;

    fn parameters(writes: u64, seconds: u64) -> InsertBenchmarkParameters {
        InsertBenchmarkParameters { writes, seconds, rows: 20_000, ..PRESETS[0].parameters() }
    }

    #[test]
    fn the_worked_example_has_its_rounds() {
        let steps = InsertBenchmarkStep::all(&parameters(10_000, 10));
        let rounds: Vec<u64> = steps.iter().map(InsertBenchmarkStep::rounds).collect();
        assert_eq!(rounds, [200, 1, 160, 400, 20, 20, 100, 100, 200, 200]);
        let names: Vec<&str> = steps.iter().map(|step| step.label).collect();
        assert_eq!(
            names.join(" "),
            "l.i0 l.x l.i1 l.i2 qr100.L1 qp100.L2 qr500.L3 qp500.L4 qr1000.L5 qp1000.L6"
        );
    }

    #[test]
    fn rows_are_rounded_up_to_whole_statements() {
        let step = InsertBenchmarkStep { max_rows: 1010, ..InsertBenchmarkStep::all(&parameters(10, 1))[0] };
        assert_eq!((step.rounds(), step.inserted_rows()), (11, 1100));
    }

    proptest::proptest! {
        #[test]
        fn l_i1_and_l_i2_split_the_writes(writes in 10u64..1_000_000_000) {
            let steps = InsertBenchmarkStep::all(&parameters(writes, 1));
            proptest::prop_assert_eq!(steps[2].max_rows + steps[3].max_rows, writes);
            proptest::prop_assert_eq!(steps[2].max_rows, writes * 4 / 5);
        }
    }
}
