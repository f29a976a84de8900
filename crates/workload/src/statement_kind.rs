//! The kinds of statements of an event, and how each is counted.

use basecase_model::StatementClass;

use crate::definition::{Count, Event, Expression, Mistake, Piece, Repeat, Value};
use crate::file_parameters::Scope;
use crate::{Change, Dialect, StatementKind};

/// The first word, in capitals.
fn first_word(pieces: &[Piece]) -> String {
    let Some(Piece::Text(text)) = pieces.first() else { return String::new() };
    let word: String = text.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    word.to_ascii_uppercase()
}

/// How a statement is counted, judging by its first word.
pub(crate) fn class_of(pieces: &[Piece]) -> StatementClass {
    match first_word(pieces).as_str() {
        "SELECT" | "WITH" | "VALUES" | "TABLE" | "SHOW" | "EXPLAIN" => StatementClass::Read,
        "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "MERGE" => StatementClass::Write,
        _ => StatementClass::Other,
    }
}

/// What a statement does to rows, if its first word tells for sure.
pub(crate) fn change_of(pieces: &[Piece]) -> Option<Change> {
    match first_word(pieces).as_str() {
        "INSERT" => Some(Change::Insert),
        "UPDATE" => Some(Change::Update),
        "DELETE" => Some(Change::Delete),
        _ => None,
    }
}

/// Calls `visit` for every expression of a statement.
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
pub(crate) fn kinds(
    scope: &Scope<'_>,
    event: &Event,
    dialect: Dialect,
) -> Result<Vec<StatementKind>, Mistake> {
    let mut kinds: Vec<StatementKind> = Vec::new();
    if event.transaction.as_ref().is_some_and(|condition| scope.holds(condition)) {
        kinds.extend(["begin", "commit"].map(|name| StatementKind {
            name: name.to_owned(),
            class: StatementClass::Other,
            change: None,
            per_event: 1,
        }));
    }
    for line in event.lines.iter().filter(|line| scope.holds(&line.when)) {
        let times = u64::try_from(scope.evaluate(&line.times)?).unwrap_or(0);
        if times == 0 {
            continue;
        }
        for statement in line.statements.iter().filter_map(|(name, _)| scope.workload.statement(name)) {
            let sql = statement.sql.of(dialect);
            match kinds.iter_mut().find(|kind| kind.name == statement.name) {
                Some(kind) => kind.per_event += times,
                None => kinds.push(StatementKind {
                    name: statement.name.clone(),
                    class: class_of(sql),
                    change: change_of(sql),
                    per_event: times,
                }),
            }
        }
    }
    Ok(kinds)
}
