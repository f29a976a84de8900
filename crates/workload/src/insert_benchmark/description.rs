//! The workload in words and statements, for people.

use std::fmt::Write as _;

use super::statements::{Query, create_indexes, create_table, push_delete, push_max_id, push_min_id};
use super::{InsertBenchmarkParameters, InsertBenchmarkStep, StepKind};
use crate::{Dialect, SetUp};

/// Steps with their sizes, and every statement as a dbms with this dialect sees it.
pub fn describe(parameters: &InsertBenchmarkParameters, dialect: Dialect) -> String {
    let mut text = String::from("step        rows per client  per statement  rows/s      work\n");
    for step in InsertBenchmarkStep::all(parameters) {
        let rate = step.rate.map_or("unlimited".to_owned(), |rate| rate.to_string());
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            text,
            "{:<10} {:>16} {:>14}  {rate:<10}  {}",
            step.label,
            step.inserted_rows(),
            step.rows_per_commit,
            match step.kind {
                StepKind::Load => "create the table, insert in primary key order",
                StepKind::Index => "insert, then create three secondary indexes",
                StepKind::Write => "insert at the high end and delete at the low end",
                StepKind::RangeQueries => "range queries alongside inserts and deletes",
                StepKind::PointQueries => "point queries alongside inserts and deletes",
            }
        );
    }
    for (title, statements) in all_statements(dialect) {
        let _ = write!(text, "\n{title}\n");
        for statement in statements {
            let _ = writeln!(text, "  {statement}");
        }
    }
    text
}

/// All statements as a dbms with this dialect sees them, by who executes them.
fn all_statements(dialect: Dialect) -> Vec<(&'static str, Vec<String>)> {
    let table = "pi1";
    let made = |push: fn(&mut String, &str)| {
        let mut text = String::new();
        push(&mut text, table);
        text
    };
    let mut delete = String::new();
    push_delete(&mut delete, dialect, table, 1, 50);
    let mut sections = vec![
        ("before l.i0", create_table(dialect, table).iter().map(ToString::to_string).collect()),
        (
            "inserter",
            vec![format!(
                "insert into {table} (dateandtime, cashregisterid, customerid, productid, price, data) values (row 1), … (row K)"
            )],
        ),
        ("l.x", create_indexes(dialect, table)),
        ("builder", vec![made(push_min_id)]),
        ("deleter", vec![delete]),
    ];
    let queries = |queries: &[Query]| {
        queries
            .iter()
            .map(|query| match query.set_up(dialect) {
                Some(SetUp::Text(sql)) => format!("{sql}\n  then: execute {} (…)", query.name()),
                Some(SetUp::Prepare { sql, .. }) => format!("prepared: {sql}"),
                None => format!("as text, with values for $1 …: {}", query.text(dialect)),
            })
            .collect::<Vec<_>>()
    };
    sections.push(("querier of qr steps", queries(&Query::ranges(table))));
    sections.push(("querier of qp steps", queries(&[Query::point(table)])));
    sections.push(("querier of qp steps, every 100 queries", vec![made(push_max_id)]));
    sections
}
