//! The statements of the Insert Benchmark in each dialect.

use basecase_model::{Engine, TABLE_MARK};

use super::{NAME, ROWS_PER_QUERY, SEQUENCE_CACHE};
use crate::{Dialect, Preparation, SetUp};

/// A secondary index: the suffix of its name, and its columns.
pub(super) const INDEXES: [(&str, &str); 3] = [
    ("marketsegment", "productid, customerid, price"),
    ("registersegment", "cashregisterid, customerid, price"),
    ("pdc", "price, dateandtime, customerid"),
];

/// Drops the table if it exists and creates it with its primary key only.
pub(super) fn create_table(dialect: Dialect, table: &str) -> Vec<Preparation> {
    let statements = match dialect {
        Dialect::Postgres => vec![
            format!(
                "create table {table} (transactionid bigserial not null primary key, \
                 dateandtime timestamp without time zone, cashregisterid int not null, customerid int not null, \
                 productid int not null, price int not null, data varchar(4000))"
            ),
            format!("alter sequence {table}_transactionid_seq cache {SEQUENCE_CACHE}"),
            // Marks the table as one that a later run may drop.
            format!("comment on table {table} is '{TABLE_MARK}{NAME}'"),
        ],
        Dialect::Mysql(engine) => vec![format!(
            "create table {table} (transactionid bigint not null auto_increment primary key, \
                 dateandtime datetime, cashregisterid int not null, customerid int not null, \
                 productid int not null, price int not null, data varchar(4000)) \
                 engine = {engine} comment = '{TABLE_MARK}{NAME}'"
        )],
        // `autoincrement` never reuses an id, like a sequence.
        Dialect::Sqlite => vec![format!(
            "create table {table} (transactionid integer primary key autoincrement, dateandtime datetime, \
                 cashregisterid int not null, customerid int not null, productid int not null, \
                 price int not null, data varchar(4000))"
        )],
    };
    Preparation::anew(table.to_owned(), statements)
}

/// Creates the three secondary indexes: in one statement if the engine then reads the table only once, otherwise in one each.
pub(super) fn create_indexes(dialect: Dialect, table: &str) -> Vec<String> {
    let added = INDEXES.map(|(name, columns)| format!("add index {table}_{name} ({columns})"));
    match dialect {
        Dialect::Postgres | Dialect::Sqlite => INDEXES
            .iter()
            .map(|(name, columns)| format!("create index {table}_{name} on {table} ({columns})"))
            .collect(),
        Dialect::Mysql(Engine::Innodb) => vec![format!("alter table {table} {}", added.join(", "))],
        // A single statement used too much of the server's memory.
        Dialect::Mysql(Engine::Rocksdb) => {
            added.iter().map(|added| format!("alter table {table} {added}")).collect()
        }
    }
}

/// Appends the statement that deletes the `rows` oldest rows, given an id that is never above the real minimum.
pub(super) fn push_delete(text: &mut String, dialect: Dialect, table: &str, from_id: i64, rows: u64) {
    let mut digits = itoa::Buffer::new();
    text.push_str("delete from ");
    text.push_str(table);
    text.push_str(" where transactionid ");
    let is_nested = match dialect {
        Dialect::Postgres | Dialect::Sqlite => true,
        Dialect::Mysql(_) => false,
    };
    if is_nested {
        text.push_str("in (select transactionid from ");
        text.push_str(table);
        text.push_str(" where transactionid ");
    }
    text.push_str(">= ");
    text.push_str(digits.format(from_id));
    text.push_str(" order by transactionid asc limit ");
    text.push_str(digits.format(rows));
    if is_nested {
        text.push(')');
    }
}

pub(super) fn push_min_id(text: &mut String, table: &str) {
    text.push_str("select min(transactionid) from ");
    text.push_str(table);
}

pub(super) fn push_max_id(text: &mut String, table: &str) {
    text.push_str("select max(transactionid) from ");
    text.push_str(table);
}

/// How one execution of a query is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// As the text `execute NAME (v1, v2, …)`.
    Name(&'static str),
    /// By its number among the session's prepared statements.
    Number(usize),
    /// As text, with the values between these pieces.
    Pieces(Vec<String>),
}

/// A query with its parameters written as `$1` ….
pub(super) struct Query {
    name: &'static str,
    types: String,
    sql: String,
    /// The index that MySQL is forced to use.
    index: Option<String>,
    table: String,
}

impl Query {
    /// The three range queries in the order of their indexes.
    pub(super) fn ranges(table: &str) -> [Query; 3] {
        let range = |name, number: usize, condition: &str| {
            let (index, columns) = INDEXES[number];
            Query {
                name,
                types: "int".to_owned(),
                sql: format!(
                    "select {columns} from {table} where {condition} order by {columns} limit {ROWS_PER_QUERY}"
                ),
                index: Some(format!("{table}_{index}")),
                table: table.to_owned(),
            }
        };
        [
            range("market", 0, "productid >= $1"),
            range("register", 1, "cashregisterid > $1"),
            range("pdc", 2, "price >= $1"),
        ]
    }

    /// The point query. Its parameters are `bigint`: the reference's `int` fails for ids above 2^31 − 1.
    pub(super) fn point(table: &str) -> Query {
        let list = |item: fn(u64) -> String| (1..=ROWS_PER_QUERY).map(item).collect::<Vec<_>>().join(", ");
        Query {
            name: "point",
            types: list(|_| "bigint".to_owned()),
            sql: format!(
                "select transactionid, productid, data from {table} where transactionid in ({})",
                list(|number| format!("${number}"))
            ),
            index: None,
            table: table.to_owned(),
        }
    }

    /// How a session prepares it: Postgres by SQL, as in the reference; SQLite through its own interface; MySQL not at all.
    pub(super) fn set_up(&self, dialect: Dialect) -> Option<SetUp> {
        match dialect {
            Dialect::Postgres => {
                Some(SetUp::Text(format!("prepare {} ({}) as {}", self.name, self.types, self.sql)))
            }
            Dialect::Mysql(_) => None,
            Dialect::Sqlite => Some(SetUp::Prepare { sql: self.sql.replace('$', "?"), types: Vec::new() }),
        }
    }

    /// How it is sent; `number` is its index among the queries that its session prepares.
    pub(super) fn form(&self, dialect: Dialect, number: usize) -> Form {
        match dialect {
            Dialect::Postgres => Form::Name(self.name),
            Dialect::Mysql(_) => Form::Pieces(
                self.text(dialect)
                    .split('$')
                    .map(|piece| piece.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned())
                    .collect(),
            ),
            Dialect::Sqlite => Form::Number(number),
        }
    }

    /// Its text with parameters, for people and for [`Query::form`].
    pub(super) fn text(&self, dialect: Dialect) -> String {
        match (&self.index, dialect) {
            (Some(index), Dialect::Mysql(_)) => {
                let table = format!(" from {} ", self.table);
                self.sql.replacen(&table, &format!("{table}force index ({index}) "), 1)
            }
            (_, Dialect::Postgres | Dialect::Mysql(_) | Dialect::Sqlite) => self.sql.clone(),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mysql_gets_hints_values_in_the_text_and_its_own_delete() {
        let dialect = Dialect::Mysql(Engine::Innodb);
        let [market, _, _] = Query::ranges("pi1");
        assert_eq!(
            market.form(dialect, 0),
            Form::Pieces(vec![
                "select productid, customerid, price from pi1 force index (pi1_marketsegment) where productid >= ".into(),
                " order by productid, customerid, price limit 10".into()
            ])
        );
        assert_eq!(market.set_up(dialect), None);
        let Form::Pieces(pieces) = Query::point("pi1").form(dialect, 0) else { panic!("not in pieces") };
        assert_eq!((pieces.len(), pieces[9].as_str(), pieces[10].as_str()), (11, ", ", ")"));
        let mut delete = String::new();
        push_delete(&mut delete, dialect, "pi1", 7, 50);
        assert_eq!(delete, "delete from pi1 where transactionid >= 7 order by transactionid asc limit 50");
    }

    #[test]
    fn innodb_builds_all_indexes_at_once_and_rocksdb_one_by_one() {
        let statements = |engine| create_indexes(Dialect::Mysql(engine), "pi1");
        assert_eq!(statements(Engine::Innodb).len(), 1);
        assert_eq!(statements(Engine::Innodb)[0].matches("add index").count(), 3);
        assert_eq!(
            statements(Engine::Rocksdb)[2],
            "alter table pi1 add index pi1_pdc (price, dateandtime, customerid)"
        );
    }
}
