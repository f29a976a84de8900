//! A workload in words and statements, for people.

use std::fmt::Write as _;

use basecase_model::{Operation, Parameter, Reply};

use crate::definition::WorkloadError;
use crate::file_parameters::FileParameters;
use crate::file_steps::FileStep;
use crate::timing::StepDuration;
use crate::{Dialect, Next, Script, SetUp, StepPlan, Work, Workload};

/// The maximum number of characters shown of a statement or value.
const SHOWN: usize = 160;
/// Consecutive statements of one kind beyond this number are counted, not shown.
const MOST_STATEMENTS: usize = 10_000;

impl Workload {
    /// Options, tables and steps, with every statement as a dbms with this dialect sees it: the statements of one event of the first
    /// thread, with its first values.
    ///
    /// # Errors
    /// What does not fit together with these options.
    pub fn describe(
        &self,
        parameters: &FileParameters,
        steps: &[FileStep],
        dialect: Dialect,
    ) -> Result<String, WorkloadError> {
        // Writing to a String cannot fail, here and below.
        let mut text = format!("{}: {}\n\noptions\n", self.name, self.about);
        for ((name, value), option) in parameters.facts(self).iter().zip(&self.options) {
            let _ = writeln!(text, "  {:<28} {}", format!("{name} = {value}"), option.help);
        }
        if self.lists().next().is_some() {
            text.push_str("\nlists\n");
            for (name, about) in self.lists() {
                let _ = writeln!(text, "  {name:<28} {about}");
            }
        }
        self.loaded_tables(parameters, steps)?;
        let load = self.load_outline(parameters, steps, dialect)?;
        text.push_str("\nload\n");
        for statement in &load.before {
            let _ = writeln!(text, "  {statement}");
        }
        push_event(&mut text, load, "load");
        let mut shown: Vec<&str> = Vec::new();
        for step in steps.iter().filter(|step| {
            let is_new = !shown.contains(&step.label.as_str());
            shown.push(&step.label);
            is_new
        }) {
            let duration = match step.duration {
                StepDuration::Read => "read time".to_owned(),
                StepDuration::Write => "write time".to_owned(),
                StepDuration::Seconds(seconds) => format!("{seconds} s"),
            };
            let _ = writeln!(
                text,
                "\n{} — {}; {duration}, {} {}{}{}",
                step.label,
                step.about,
                step.threads,
                if step.threads == 1 { "thread" } else { "threads" },
                step.group.as_ref().map_or(", result not shown".to_owned(), |group| format!(", {group}")),
                if step.maintenance_after { ", maintenance after" } else { "" }
            );
            push_event(&mut text, self.outline(parameters, step, dialect)?, &step.label);
        }
        Ok(text)
    }
}

/// Appends the statements up to the end of the first event of the first role.
fn push_event(text: &mut String, plan: StepPlan, step: &str) {
    let Some(role) = plan.roles.into_iter().next() else { return };
    let Work::Script(mut script) = role.work else { return };
    let prepared: Vec<&str> = role
        .set_up
        .iter()
        .filter_map(|set_up| match set_up {
            SetUp::Prepare { sql, .. } => Some(sql.as_str()),
            SetUp::Text(_) => None,
        })
        .collect();
    let mut lines: Vec<(String, String, u32)> = Vec::new();
    for statement in statements(&mut *script, step == "load") {
        let (sql, values) = match statement.prepared {
            Some(number) => (
                format!("prepared: {}", shortened(prepared.get(number).copied().unwrap_or_default())),
                values(&statement),
            ),
            None => (shortened(&statement.text), String::new()),
        };
        match lines.last_mut().filter(|(last, _, _)| *last == sql) {
            Some((_, _, times)) => *times += 1,
            None => lines.push((sql, values, 1)),
        }
    }
    for (sql, values, times) in lines {
        let times = if times > 1 { format!("{times} × ") } else { String::new() };
        let _ = writeln!(text, "  {times}{sql}{values}");
    }
}

/// The statements of one event; for a load, its first statement and every further one that is not an insert.
fn statements(script: &mut dyn Script, is_load: bool) -> Vec<Operation> {
    let mut statements: Vec<Operation> = Vec::new();
    while statements.len() < MOST_STATEMENTS {
        let mut operation = Operation::default();
        match script.next(&mut operation) {
            Next::Finish => break,
            Next::Execute => script.answer(&Reply::default()),
            _ => {}
        }
        let is_end = operation.ends_event && !is_load;
        if !is_load || statements.last().is_none_or(|last| last.items == 0 || operation.items == 0) {
            statements.push(operation);
        }
        if is_end {
            break;
        }
    }
    statements
}

/// The values of a prepared statement's parameters.
fn values(operation: &Operation) -> String {
    if operation.parameters.is_empty() {
        return String::new();
    }
    let value = |parameter: &Parameter| match parameter {
        Parameter::Integer(integer) => integer.to_string(),
        Parameter::Text { .. } => format!("'{}'", operation.text_of(*parameter)),
    };
    let values: Vec<String> = operation.parameters.iter().map(value).collect();
    format!("\n      with {}", shortened(&values.join(", ")))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}
