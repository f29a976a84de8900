//! Which kinds of statements an event has, and how each is counted.

use basecase_model::StatementClass;

use crate::definition::{Count, Event, Expression, Piece, Repeat, Value};
use crate::parameters::Scope;
use crate::{Dialect, StatementKind};

/// How a statement counts, by its first word.
pub(crate) fn class_of(pieces: &[Piece]) -> StatementClass {
    let Some(Piece::Text(text)) = pieces.first() else { return StatementClass::Other };
    let word: String = text.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    match word.to_ascii_uppercase().as_str() {
        "SELECT" | "WITH" | "VALUES" | "TABLE" | "SHOW" | "EXPLAIN" => StatementClass::Read,
        "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "MERGE" => StatementClass::Write,
        _ => StatementClass::Other,
    }
}

/// Shows every expression of a statement to `visit`.
pub(crate) fn visit_expressions(pieces: &[Piece], visit: &mut impl FnMut(&Expression)) {
    for piece in pieces {
        match piece {
            Piece::Text(_) | Piece::Table | Piece::Number => {}
            Piece::Repeat(Repeat { count: Count::Times(count) | Count::Bytes(count), pieces, .. }) => {
                visit(count);
                visit_expressions(pieces, visit);
            }
            Piece::Value(placeholder) => match &placeholder.value {
                Value::Text(_) => {}
                Value::Expression(expression) => visit(expression),
                Value::Draw { low, high, .. } => {
                    visit(low);
                    visit(high);
                }
            },
        }
    }
}

/// The kinds of statements of an event, in the order in which operations number them.
pub(crate) fn kinds(scope: &Scope<'_>, event: &Event, dialect: Dialect) -> Vec<StatementKind> {
    let mut kinds: Vec<StatementKind> = Vec::new();
    let mut add = |name: &str, class| {
        if !kinds.iter().any(|kind| kind.name == name) {
            kinds.push(StatementKind { name: name.to_owned(), class });
        }
    };
    if event.transaction.as_ref().is_some_and(|condition| scope.holds(condition)) {
        add("begin", StatementClass::Other);
        add("commit", StatementClass::Other);
    }
    for (name, _) in event.lines.iter().flat_map(|line| &line.statements) {
        if let Some(statement) = scope.workload.statement(name) {
            add(name, class_of(statement.sql.of(dialect)));
        }
    }
    kinds
}
