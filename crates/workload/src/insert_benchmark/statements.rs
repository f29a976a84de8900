//! The statements of the Insert Benchmark in each dialect.

use super::{ROWS_PER_QUERY, SEQUENCE_CACHE};
use crate::{Dialect, SetUp};

/// A secondary index: suffix of its name and its columns.
pub(super) const INDEXES: [(&str, &str); 3] = [
    ("marketsegment", "productid, customerid, price"),
    ("registersegment", "cashregisterid, customerid, price"),
    ("pdc", "price, dateandtime, customerid"),
];

/// Drops the table if it exists and creates it with its primary key only.
pub(super) fn create_table(dialect: Dialect, table: &str) -> Vec<String> {
    let drop = format!("drop table if exists {table}");
    match dialect {
        Dialect::Postgres => vec![
            drop,
            format!(
                "create table {table} (transactionid bigserial not null primary key, \
                 dateandtime timestamp without time zone, cashregisterid int not null, customerid int not null, \
                 productid int not null, price int not null, data varchar(4000))"
            ),
            format!("alter sequence {table}_transactionid_seq cache {SEQUENCE_CACHE}"),
            // Marks the table as one that a later run may drop.
            format!("comment on table {table} is 'basecase: insert-benchmark'"),
        ],
        // `autoincrement` never gives an id twice, as a sequence does not.
        Dialect::Sqlite => vec![
            drop,
            format!(
                "create table {table} (transactionid integer primary key autoincrement, dateandtime datetime, \
                 cashregisterid int not null, customerid int not null, productid int not null, \
                 price int not null, data varchar(4000))"
            ),
        ],
    }
}

/// Creates the three secondary indexes, one statement each.
pub(super) fn create_indexes(table: &str) -> Vec<String> {
    INDEXES
        .iter()
        .map(|(name, columns)| format!("create index {table}_{name} on {table} ({columns})"))
        .collect()
}

/// Appends the delete of the `rows` oldest rows, given an id that is never above the real minimum.
pub(super) fn push_delete(text: &mut String, table: &str, from_id: i64, rows: u64) {
    let mut digits = itoa::Buffer::new();
    text.push_str("delete from ");
    text.push_str(table);
    text.push_str(" where transactionid in (select transactionid from ");
    text.push_str(table);
    text.push_str(" where transactionid >= ");
    text.push_str(digits.format(from_id));
    text.push_str(" order by transactionid asc limit ");
    text.push_str(digits.format(rows));
    text.push(')');
}

pub(super) fn push_min_id(text: &mut String, table: &str) {
    text.push_str("select min(transactionid) from ");
    text.push_str(table);
}

pub(super) fn push_max_id(text: &mut String, table: &str) {
    text.push_str("select max(transactionid) from ");
    text.push_str(table);
}

/// A query that is prepared before the clock starts: name, types of its parameters, text with `$1` ….
pub(super) struct PreparedQuery {
    pub(super) name: &'static str,
    types: String,
    sql: String,
}

impl PreparedQuery {
    /// The three range queries in the order of their indexes.
    pub(super) fn ranges(table: &str) -> [PreparedQuery; 3] {
        let range = |name, columns: &str, condition: &str| PreparedQuery {
            name,
            types: "int".to_owned(),
            sql: format!(
                "select {columns} from {table} where {condition} order by {columns} limit {ROWS_PER_QUERY}"
            ),
        };
        [
            range("market", INDEXES[0].1, "productid >= $1"),
            range("register", INDEXES[1].1, "cashregisterid > $1"),
            range("pdc", INDEXES[2].1, "price >= $1"),
        ]
    }

    /// The point query. Its parameters are `bigint`: the reference's `int` fails for ids above 2^31 − 1.
    pub(super) fn point(table: &str) -> PreparedQuery {
        let list = |item: fn(u64) -> String| (1..=ROWS_PER_QUERY).map(item).collect::<Vec<_>>().join(", ");
        PreparedQuery {
            name: "point",
            types: list(|_| "bigint".to_owned()),
            sql: format!(
                "select transactionid, productid, data from {table} where transactionid in ({})",
                list(|number| format!("${number}"))
            ),
        }
    }

    /// How a session prepares it: Postgres by SQL, as the reference does; SQLite by its own interface.
    pub(super) fn set_up(&self, dialect: Dialect) -> SetUp {
        match dialect {
            Dialect::Postgres => {
                SetUp::Text(format!("prepare {} ({}) as {}", self.name, self.types, self.sql))
            }
            Dialect::Sqlite => SetUp::Prepare(self.sql.replace('$', "?")),
        }
    }
}
