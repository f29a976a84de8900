//! The execution plans of a step's statements: one of each kind, requested after the step, and which kinds of plans its sessions used.

use std::collections::{HashMap, HashSet};

use anyhow::Result;
use basecase_client::Session;
use basecase_load::SessionPlanUses;
use basecase_model::{
    Operation, Parameter, PlanKind, PlanUses, Reply, StatementPlan, Trial, name_in_execute,
};
use basecase_workload::{Next, RolePlan, SetUp, StepPlan, Work};

use crate::run::deployment::LiveDeployment;

/// How many operations of a role are searched for its kinds of statements.
const OPERATIONS: usize = 200;

/// The plans of the statements that read, update or delete, with the values of the step's first operations: of the kind that the trial's
/// sessions used, where that is known. A statement that the server cannot explain has none.
///
/// # Errors
/// When the server cannot be reached.
pub(crate) fn plans(
    deployment: &mut LiveDeployment,
    step_plan: StepPlan,
    trial: &Trial,
) -> Result<Vec<StatementPlan>> {
    let kinds = kinds(&step_plan);
    let knows_uses = !PlanUses::all(&trial.counters).is_empty();
    let mut plans = Vec::new();
    let mut known = HashSet::new();
    for mut role in first_client(step_plan) {
        let mut session = None;
        for statement in statements(&mut role, &kinds) {
            if !is_worth_it(&statement.sql) || !known.insert(shape(&statement.sql)) {
                continue;
            }
            let session = match &mut session {
                Some(session) => session,
                none => none.insert(explaining_session(deployment, &role.set_up, knows_uses)?),
            };
            let Statement { name, sql, prepared } = statement;
            let mut plan = StatementPlan { statement: name, sql, text: String::new() };
            let usual = PlanUses::of(&trial.counters, plan.counted_as()).map(PlanUses::usual);
            if let Ok(text) = explain(deployment, session.as_mut(), &plan.sql, prepared, usual) {
                plan.text = text;
                plans.push(plan);
            }
        }
    }
    Ok(plans)
}

/// Counts with which kinds of plans the trial's sessions executed the step's statements, over all of them and by session.
pub(crate) fn count_plan_uses(trial: &mut Trial, told: &[SessionPlanUses], step_plan: StepPlan) {
    let kinds = kinds(&step_plan);
    let mut names: HashMap<String, String> = HashMap::new();
    for mut role in first_client(step_plan) {
        for Statement { name, sql, prepared } in statements(&mut role, &kinds) {
            if let Some(prepared) = prepared {
                names.insert(prepared.sql, name);
            } else if let Some(name) = name_in_execute(&sql) {
                names.insert(name.to_owned(), name.to_owned());
            }
        }
    }
    for SessionPlanUses { session, statement, uses } in told {
        // What sessions executed before the step's own statements is nobody's concern.
        let Some(name) = names.get(statement) else { continue };
        uses.add_to(&mut trial.counters, name);
        if let Some(record) = trial.sessions.iter_mut().find(|record| record.number == *session) {
            uses.add_to(&mut record.counters, name);
        }
    }
}

fn kinds(step_plan: &StepPlan) -> Vec<String> {
    step_plan.kinds.iter().map(|kind| kind.name.clone()).collect()
}

/// The roles of the first client. Every client does the same to a table of its own.
fn first_client(step_plan: StepPlan) -> impl Iterator<Item = RolePlan> {
    step_plan.roles.into_iter().filter(|role| role.client == 1)
}

/// A session of its own, because statements that were prepared by SQL are known to one session only, and the control session keeps clean.
fn explaining_session(
    deployment: &LiveDeployment,
    all: &[SetUp],
    prepares: bool,
) -> Result<Box<dyn Session>> {
    let mut session = deployment.served.endpoint().connect()?;
    for set_up in all {
        match set_up {
            SetUp::Text(text) => session.query(text).map(drop)?,
            SetUp::Prepare { sql, types } if prepares => session.prepare_with_types(sql, types).map(drop)?,
            SetUp::Prepare { .. } => {}
        }
    }
    Ok(session)
}

/// The plan of one statement: where the kind is known that was used, that of the prepared statement itself.
fn explain(
    deployment: &LiveDeployment,
    session: &mut dyn Session,
    sql: &str,
    prepared: Option<PreparedStatement>,
    usual: Option<PlanKind>,
) -> Result<String, basecase_client::Error> {
    let execution = prepared
        .filter(|_| usual.is_some())
        .and_then(|prepared| session.execution_text(prepared.number, &prepared.literals));
    deployment.served.explain(session, execution.as_deref().unwrap_or(sql), usual)
}

/// A statement of a role.
struct Statement {
    /// The name of its kind.
    name: String,
    /// Its text with its values.
    sql: String,
    prepared: Option<PreparedStatement>,
}

/// A prepared statement and the values of one execution.
struct PreparedStatement {
    number: usize,
    sql: String,
    literals: Vec<String>,
}

/// The first operations of a role that follows a script.
fn statements(role: &mut RolePlan, kinds: &[String]) -> Vec<Statement> {
    let prepared: Vec<&str> = role
        .set_up
        .iter()
        .filter_map(|set_up| match set_up {
            SetUp::Prepare { sql, .. } => Some(sql.as_str()),
            SetUp::Text(_) => None,
        })
        .collect();
    let Work::Script(script) = &mut role.work else { return Vec::new() };
    let mut found = Vec::new();
    let mut operation = Operation::default();
    for _ in 0..OPERATIONS {
        operation.clear();
        let statement = match script.next(&mut operation) {
            Next::Execute | Next::Send(_) => {
                kinds.get(usize::from(operation.kind)).map_or(role.name, String::as_str)
            }
            Next::Aside(name) => name,
            Next::RoundEnd => continue,
            Next::Finish => break,
        };
        let of_number = |number: usize| {
            let sql = (*prepared.get(number)?).to_owned();
            Some(PreparedStatement { number, sql, literals: literals(&operation) })
        };
        found.push(Statement {
            name: statement.to_owned(),
            sql: text_of(&operation, &prepared),
            prepared: operation.prepared.and_then(of_number),
        });
        script.answer(&Reply { fetched: 1, affected: 1, first: Some(1) });
    }
    found
}

/// The operation's parameters as SQL.
fn literals(operation: &Operation) -> Vec<String> {
    let literal = |parameter: &Parameter| match parameter {
        Parameter::Integer(integer) => integer.to_string(),
        Parameter::Text { .. } => format!("'{}'", operation.text_of(*parameter).replace('\'', "''")),
    };
    operation.parameters.iter().map(literal).collect()
}

/// The operation as one text: parameters in the places that the statement has for them.
fn text_of(operation: &Operation, prepared: &[&str]) -> String {
    let Some(sql) = operation.prepared.and_then(|number| prepared.get(number)) else {
        return operation.text.clone();
    };
    let literals = literals(operation);
    let mut text = String::with_capacity(sql.len() + 20);
    let mut rest = *sql;
    let mut next = 0;
    while let Some(place) = rest.find(['$', '?']) {
        let (before, after) = rest.split_at(place);
        text.push_str(before);
        let digits = after[1..].chars().take_while(char::is_ascii_digit).count();
        let number = after[1..1 + digits].parse().map_or(next, |number: usize| number.saturating_sub(1));
        text.push_str(literals.get(number).map_or("null", String::as_str));
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
