//! The query workers, and what their queries should return.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use basecase_model::{Expectation, Operation, Parameter, Reply};

use super::ROWS_PER_QUERY;
use super::statements::{Form, Query, push_max_id};
use crate::random::Stream;
use crate::{Dialect, Next, Script, SetUp};

/// Distinct search values of the three range queries, in their order.
const SEARCH_VALUES: [u64; 3] = [10_000, 1_000, 500];
/// Number of point queries between two readings of the largest id.
const QUERIES_PER_MAX_ID: u64 = 100;

/// The statements that every session running these queries prepares.
pub(super) fn set_up(dialect: Dialect, queries: &[Query]) -> Vec<SetUp> {
    queries.iter().filter_map(|query| query.set_up(dialect)).collect()
}

/// Makes `operation` execute a query with the parameters it holds.
#[inline]
fn fill_execution(operation: &mut Operation, form: &Form) {
    operation.items = 1;
    operation.expectation = Expectation::FetchedAtMost(ROWS_PER_QUERY);
    let Operation { text, parameters, .. } = operation;
    let mut digits = itoa::Buffer::new();
    let integer = |parameter: &Parameter| match parameter {
        Parameter::Integer(integer) => *integer,
        Parameter::Text { .. } => 0,
    };
    match form {
        Form::Name(name) => {
            text.push_str("execute ");
            text.push_str(name);
            for (index, value) in parameters.iter().enumerate() {
                text.push_str(if index == 0 { " (" } else { ", " });
                text.push_str(digits.format(integer(value)));
            }
            text.push(')');
        }
        Form::Number(number) => operation.prepared = Some(*number),
        Form::Pieces(pieces) => {
            let mut values = parameters.iter();
            for piece in pieces {
                text.push_str(piece);
                if let Some(value) = values.next() {
                    text.push_str(digits.format(integer(value)));
                }
            }
        }
    }
}

/// Range queries: one of the three types, each with a uniform search value.
pub(super) struct RangeQueries {
    pub(super) stream: Stream,
    pub(super) forms: [Form; 3],
}

impl Script for RangeQueries {
    #[inline]
    fn next(&mut self, operation: &mut Operation) -> Next {
        let number = self.stream.below(3) as usize;
        let value = self.stream.below(SEARCH_VALUES[number]) as i64;
        operation.parameters.push(Parameter::Integer(value));
        fill_execution(operation, &self.forms[number]);
        Next::Execute
    }

    fn answer(&mut self, _reply: &Reply) {}
}

/// Point queries: ten ids, each uniform between the deleter's guess and the largest id.
pub(super) struct PointQueries {
    pub(super) form: Form,
    pub(super) stream: Stream,
    pub(super) table: String,
    /// The deleter's guess; 0 until it has deleted something.
    pub(super) low: Arc<AtomicI64>,
    /// The largest id as last read.
    pub(super) high: i64,
    /// Number of queries so far.
    pub(super) queries: u64,
    /// Whether a reading of the largest id is pending.
    pub(super) asked: bool,
}

impl Script for PointQueries {
    #[inline]
    fn next(&mut self, operation: &mut Operation) -> Next {
        if self.queries.is_multiple_of(QUERIES_PER_MAX_ID) && !self.asked {
            self.asked = true;
            push_max_id(&mut operation.text, &self.table);
            return Next::Aside("max_id");
        }
        self.asked = false;
        self.queries += 1;
        let low = self.low.load(Ordering::Relaxed);
        let width = self.high.saturating_sub(low).max(1) as u64;
        for _ in 0..ROWS_PER_QUERY {
            operation.parameters.push(Parameter::Integer(low + self.stream.below(width) as i64));
        }
        fill_execution(operation, &self.form);
        Next::Execute
    }

    fn answer(&mut self, reply: &Reply) {
        if let (true, Some(max_id)) = (self.asked, reply.first) {
            self.high = max_id;
        }
    }
}

/// Mean number of rows that a range query returns, for a table of `rows` rows whose columns are uniform.
///
/// The number of rows above a search value is binomial, here approximated as Poisson; the query returns up to ten of them. The mean is
/// close to 10 × (1 − 1/3000) for large tables, where only the largest value of the register query finds nothing.
pub fn expected_rows_per_range_query(rows: u64) -> f64 {
    let mean = |values: u64, strictly_above: bool| {
        let sum: f64 = (0..values)
            .map(|value| {
                let above = values - value - u64::from(strictly_above);
                mean_up_to_limit(rows as f64 * above as f64 / values as f64)
            })
            .sum();
        sum / values as f64
    };
    (mean(SEARCH_VALUES[0], false) + mean(SEARCH_VALUES[1], true) + mean(SEARCH_VALUES[2], false)) / 3.0
}

/// The mean of min(10, X) for X Poisson with this mean: the sum of P(X > j) for j below 10.
fn mean_up_to_limit(mean: f64) -> f64 {
    let mut probability = (-mean).exp();
    let mut at_most = 0.0;
    let mut expected = 0.0;
    for count in 0..ROWS_PER_QUERY {
        at_most += probability;
        expected += 1.0 - at_most;
        probability *= mean / (count + 1) as f64;
    }
    expected
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::random::stream;

    /// The parameters of a statement that has no texts.
    pub(in super::super) fn integers(operation: &Operation) -> Vec<i64> {
        let integer = |parameter: &Parameter| match parameter {
            Parameter::Integer(integer) => *integer,
            Parameter::Text { .. } => panic!("{operation:?}"),
        };
        operation.parameters.iter().map(integer).collect()
    }

    #[test]
    fn large_tables_return_nearly_ten_rows() {
        let mean = expected_rows_per_range_query(100_000_000);
        assert!((mean - 10.0 * (1.0 - 1.0 / 3000.0)).abs() < 1e-4, "{mean}");
        assert!(expected_rows_per_range_query(1) < 1.0);
    }

    #[test]
    fn point_queries_read_the_largest_id_every_hundred_queries() {
        let mut script = PointQueries {
            form: Form::Name("point"),
            stream: stream(1, "qp100", 1, "querier"),
            table: "pi1".into(),
            low: Arc::new(AtomicI64::new(90)),
            high: 0,
            queries: 0,
            asked: false,
        };
        let mut asides = 0;
        for turn in 0..303 {
            let mut operation = Operation::default();
            match script.next(&mut operation) {
                Next::Aside("max_id") => {
                    asides += 1;
                    script.answer(&Reply { first: Some(100), ..Reply::default() });
                }
                Next::Execute => {
                    assert!(integers(&operation).iter().all(|id| (90..100).contains(id)), "turn {turn}");
                    assert!(operation.text.starts_with("execute point (9"), "{}", operation.text);
                    script.answer(&Reply { first: Some(95), ..Reply::default() });
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(asides, 3);
    }

    #[test]
    fn range_queries_draw_each_type_alike() {
        let mut script =
            RangeQueries { stream: stream(1, "qr100", 1, "querier"), forms: [0, 1, 2].map(Form::Number) };
        let mut counts = [0u32; 3];
        for _ in 0..30_000 {
            let mut operation = Operation::default();
            assert_eq!(script.next(&mut operation), Next::Execute);
            let number = operation.prepared.unwrap();
            assert!((integers(&operation)[0] as u64) < SEARCH_VALUES[number]);
            counts[number] += 1;
        }
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 410), "{counts:?}");
    }
}
