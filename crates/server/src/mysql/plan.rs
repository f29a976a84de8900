//! Query plans of MySQL and MariaDB.

use basecase_client::{Error, Kind, Session};
use basecase_model::Value;

/// The columns of `EXPLAIN` that describe the plan, without those that estimate amounts. From 5.7 on, MySQL has two more
/// columns than MariaDB and older versions: `partitions` as the fourth and `filtered` as the second last.
const COLUMNS: [(&str, usize, usize); 6] =
    [("table", 2, 2), ("type", 3, 4), ("key", 5, 6), ("key_len", 6, 7), ("ref", 7, 8), ("extra", 9, 11)];

/// The plan: a line for each table, comparable between all versions, and if the version can print one for the statement, an
/// empty line and the tree.
pub(super) fn explain(session: &mut dyn Session, sql: &str, draws_trees: bool) -> Result<String, Error> {
    let rows = session.query(&format!("explain {sql}"))?;
    let mut text = rows.iter().map(|row| line(row)).collect::<Vec<_>>().join("\n");
    if draws_trees && let Some(tree) = tree(session, sql)? {
        text.push_str("\n\n");
        text.push_str(tree.trim_end());
    }
    Ok(text)
}

/// The tree, if there is one for the statement: single-table updates and deletes have none in 8.0.
fn tree(session: &mut dyn Session, sql: &str) -> Result<Option<String>, Error> {
    let rows = match session.query(&format!("explain format=tree {sql}")) {
        Err(error) if error.kind() == Kind::Refused => return Ok(None),
        rows => rows?,
    };
    Ok(match rows.into_iter().next().and_then(|row| row.into_iter().next()) {
        Some(Value::Text(tree)) if !tree.contains("not executable") => Some(tree),
        _ => None,
    })
}

/// One row as `name=value` pairs, without estimates.
fn line(row: &[Value]) -> String {
    let place = |short: usize, long: usize| if row.len() >= 12 { long } else { short };
    let pair = |(name, short, long): (&str, usize, usize)| match row.get(place(short, long))? {
        Value::Text(text) if !text.is_empty() => Some(format!("{name}={text}")),
        Value::Integer(integer) => Some(format!("{name}={integer}")),
        _ => None,
    };
    COLUMNS.into_iter().filter_map(pair).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_old_and_new_servers() {
        let text = |text: &str| Value::Text(text.to_owned());
        let old = [
            Value::Integer(1),
            text("SIMPLE"),
            text("pi1"),
            text("range"),
            text("PRIMARY"),
            text("PRIMARY"),
            text("8"),
            Value::Null,
            Value::Integer(50),
            text("Using where"),
        ];
        let mut new = old.to_vec();
        new.insert(3, Value::Null);
        new.insert(10, text("100.00"));
        let expected = "table=pi1 type=range key=PRIMARY key_len=8 extra=Using where";
        assert_eq!(line(&old), expected);
        assert_eq!(line(&new), expected);
    }
}
