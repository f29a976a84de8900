//! The execution plans of a step's statements: one of each kind, requested after the step.

use std::collections::HashSet;

use anyhow::Result;
use basecase_model::{Operation, Parameter, Reply, StatementPlan};
use basecase_workload::{Next, SetUp, StepPlan, Work};

use crate::run::deployment::LiveDeployment;

/// How many operations of a role are searched for its kinds of statements.
const OPERATIONS: usize = 200;

/// The plans of the statements that read, update or delete, with the values of the step's first operations. A statement that the server
/// cannot explain has none.
///
/// # Errors
/// When the server cannot be reached.
pub(crate) fn plans(deployment: &mut LiveDeployment, step_plan: StepPlan) -> Result<Vec<StatementPlan>> {
    let kinds: Vec<String> = step_plan.kinds.iter().map(|kind| kind.name.clone()).collect();
    let mut plans = Vec::new();
    let mut known = HashSet::new();
    // Every client does the same to a table of its own.
    for role in step_plan.roles.into_iter().filter(|role| role.client == 1) {
        let Work::Script(mut script) = role.work else { continue };
        let mut session = None;
        for (statement, sql) in statements(script.as_mut(), &kinds, role.name, &role.set_up) {
            if !is_worth_it(&sql) || !known.insert(shape(&sql)) {
                continue;
            }
            // Statements that were prepared by SQL are known to one session only, and the control session keeps clean.
            let session = match &mut session {
                Some(session) => session,
                none => {
                    let mut opened = deployment.served.endpoint().connect()?;
                    for set_up in &role.set_up {
                        if let SetUp::Text(text) = set_up {
                            opened.query(text)?;
                        }
                    }
                    none.insert(opened)
                }
            };
            if let Ok(text) = deployment.served.explain(session.as_mut(), &sql) {
                plans.push(StatementPlan { statement, sql, text });
            }
        }
    }
    Ok(plans)
}

/// The first operations of a script, with the kinds' names and as text with their values.
fn statements(
    script: &mut dyn basecase_workload::Script,
    kinds: &[String],
    role: &str,
    set_up: &[SetUp],
) -> Vec<(String, String)> {
    let prepared: Vec<&str> = set_up
        .iter()
        .filter_map(|set_up| match set_up {
            SetUp::Prepare { sql, .. } => Some(sql.as_str()),
            SetUp::Text(_) => None,
        })
        .collect();
    let mut found = Vec::new();
    let mut operation = Operation::default();
    for _ in 0..OPERATIONS {
        operation.clear();
        let statement = match script.next(&mut operation) {
            Next::Execute | Next::Send(_) => {
                kinds.get(usize::from(operation.kind)).map_or(role, String::as_str)
            }
            Next::Aside(name) => name,
            Next::RoundEnd => continue,
            Next::Finish => break,
        };
        found.push((statement.to_owned(), text_of(&operation, &prepared)));
        script.answer(&Reply { fetched: 1, affected: 1, first: Some(1) });
    }
    found
}

/// The operation as one text: parameters in the places that the statement has for them.
fn text_of(operation: &Operation, prepared: &[&str]) -> String {
    let Some(sql) = operation.prepared.and_then(|number| prepared.get(number)) else {
        return operation.text.clone();
    };
    let literal = |parameter: &Parameter| match parameter {
        Parameter::Integer(integer) => integer.to_string(),
        Parameter::Text { .. } => format!("'{}'", operation.text_of(*parameter).replace('\'', "''")),
    };
    let mut text = String::with_capacity(sql.len() + 20);
    let mut rest = *sql;
    let mut next = 0;
    while let Some(place) = rest.find(['$', '?']) {
        let (before, after) = rest.split_at(place);
        text.push_str(before);
        let digits = after[1..].chars().take_while(char::is_ascii_digit).count();
        let number = after[1..1 + digits].parse().map_or(next, |number: usize| number.saturating_sub(1));
        text.push_str(&operation.parameters.get(number).map_or_else(|| "null".to_owned(), literal));
        next += 1;
        rest = &after[1 + digits..];
    }
    text + rest
}

/// Whether the server chooses how to execute it.
fn is_worth_it(sql: &str) -> bool {
    let word: String = sql.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    matches!(word.to_lowercase().as_str(), "select" | "update" | "delete" | "execute" | "with")
}

/// The statement without its values, by which two of one kind are the same.
fn shape(sql: &str) -> String {
    sql.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_stand_where_the_statement_has_them() {
        let operation = Operation {
            prepared: Some(1),
            text: "it's".into(),
            parameters: vec![Parameter::Integer(-7), Parameter::Text { start: 0, end: 4 }],
            ..Operation::default()
        };
        let prepared = ["begin", "update t set c = $2 where id = $1"];
        assert_eq!(text_of(&operation, &prepared), "update t set c = 'it''s' where id = -7");
        let prepared = ["begin", "select c from t where id between ? and ?"];
        assert_eq!(text_of(&operation, &prepared), "select c from t where id between -7 and 'it''s'");
        let plain = Operation { text: "select 1".into(), ..Operation::default() };
        assert_eq!(text_of(&plain, &prepared), "select 1");
    }

    #[test]
    fn only_what_has_a_choice_is_explained() {
        assert!(is_worth_it(" SELECT 1") && is_worth_it("execute q (3)") && is_worth_it("delete from t"));
        assert!(!is_worth_it("insert into t values (1)") && !is_worth_it("BEGIN"));
        assert_eq!(shape("select c from t1 where id=17"), shape("select c from t1 where id=3"));
    }
}
