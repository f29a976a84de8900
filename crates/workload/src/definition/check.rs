//! Checks across a workload file: every name must be known and of the right kind.

use std::collections::BTreeSet;

use super::placeholder::{DistributionUse, Parameter, Piece, Placeholder, Value};
use super::{Condition, Count, Event, Expression, Line, Mistake, Setting, Statement, StepBody, Workload};
use crate::distribution::Distribution;
use crate::timing;

/// Names that a file must not define.
const RESERVED: [&str; 17] = [
    "table",
    "number",
    "repeat",
    "end",
    "bytes",
    "index",
    "thread",
    "threads",
    "row",
    "and",
    "not",
    "min",
    "max",
    "seed",
    "mode",
    "prepared",
    "maintenance",
];

/// Names besides options that stand for numbers.
pub(crate) const RUN_NAMES: [&str; 1] = ["threads"];
const STATEMENT_NAMES: [&str; 3] = ["threads", "thread", "index"];
const ROW_NAMES: [&str; 2] = ["threads", "row"];

type Checked = Result<(), Mistake>;

impl Workload {
    /// Checks everything that does not depend on the values of options.
    pub(super) fn check(&self) -> Checked {
        self.check_names()?;
        for option in &self.options {
            option.most.iter().try_for_each(|most| self.check_expression(most, &RUN_NAMES))?;
        }
        for (_, parameters) in &self.parameters {
            self.check_parameters(parameters)?;
        }
        for distribution in self.distribution.iter().chain(&self.load_distribution) {
            self.check_distribution(distribution)?;
        }
        if let Some((name, at)) = &self.label {
            self.need_option(name, *at)?;
        }
        self.check_tables()?;
        self.check_statements()?;
        self.events.iter().try_for_each(|event| self.check_event(event))?;
        self.check_steps()?;
        self.check_lists()
    }

    fn check_names(&self) -> Checked {
        let mut seen: BTreeSet<&str> = RESERVED.into_iter().chain(timing::NAMES).collect();
        for option in &self.options {
            if !seen.insert(&option.name) {
                let problem = format!("`{}` is reserved", option.name);
                return Err(Mistake::new(option.at, problem).with_hint("choose another name"));
            }
        }
        for (name, at, _) in &self.templates {
            if !seen.insert(name) {
                let problem = format!("`{name}` is also an option, or reserved");
                return Err(Mistake::new(*at, problem).with_hint("choose another name"));
            }
        }
        Ok(())
    }

    pub(crate) fn option_names(&self) -> impl Iterator<Item = &str> {
        self.options.iter().map(|option| option.name.as_str())
    }

    fn need_option(&self, name: &str, at: usize) -> Result<&Setting, Mistake> {
        match self.options.iter().find(|option| option.name == name) {
            Some(option) => Ok(&option.default),
            None => Err(Mistake::unknown(at, "option", name, self.option_names())),
        }
    }

    /// A name that must be a number: an integer option, or one of `more`.
    fn check_number(&self, name: &str, at: usize, more: &[&str]) -> Checked {
        if more.contains(&name) {
            return Ok(());
        }
        match self.options.iter().find(|option| option.name == name) {
            Some(option) if matches!(option.default, Setting::Integer(_)) => Ok(()),
            Some(_) => Err(Mistake::new(at, format!("option `{name}` is not an integer"))),
            None => Err(Mistake::unknown(at, "name", name, self.option_names().chain(more.iter().copied()))),
        }
    }

    fn check_expression(&self, expression: &Expression, more: &[&str]) -> Checked {
        expression.visit_names(&mut |name, at| self.check_number(name, at, more))
    }

    fn check_condition(&self, condition: &Condition) -> Checked {
        condition.0.iter().try_for_each(|term| match self.need_option(&term.name, term.at)? {
            Setting::Boolean(_) => Ok(()),
            _ => Err(Mistake::new(term.at, format!("option `{}` is not on or off", term.name))),
        })
    }

    fn check_parameters(&self, parameters: &[Parameter]) -> Checked {
        parameters.iter().try_for_each(|parameter| match parameter {
            Parameter::Number(_) => Ok(()),
            Parameter::Option { name, at } => match self.need_option(name, *at)? {
                Setting::Integer(_) | Setting::Number(_) => Ok(()),
                _ => Err(Mistake::new(*at, format!("option `{name}` is not a number"))),
            },
        })
    }

    fn check_distribution(&self, used: &DistributionUse) -> Checked {
        self.check_parameters(&used.parameters)?;
        if let Some(known) = Distribution::parameters(&used.name) {
            return if used.parameters.len() <= known.len() {
                Ok(())
            } else {
                let problem = format!("`{}` takes at most {} parameters", used.name, known.len());
                Err(Mistake::new(used.at, problem))
            };
        }
        let Some(option) = self.options.iter().find(|option| option.name == used.name) else {
            return Err(Mistake::unknown(used.at, "distribution", &used.name, Distribution::names()));
        };
        let choices = || option.choices.iter().map(String::as_str);
        match choices().find(|choice| Distribution::parameters(choice).is_none()) {
            Some(choice) => Err(Mistake::unknown(option.at, "distribution", choice, Distribution::names())),
            None if option.choices.is_empty() => {
                let problem = format!("option `{}` needs distributions as its choices", option.name);
                Err(Mistake::new(option.at, problem))
            }
            None => Ok(()),
        }
    }

    fn check_tables(&self) -> Checked {
        for table in &self.tables {
            self.check_expression(&table.count, &RUN_NAMES)?;
            self.check_expression(&table.rows, &RUN_NAMES)?;
            table.primary_key.iter().try_for_each(|key| self.check_condition(&key.when))?;
            table.indexes.iter().try_for_each(|index| self.check_condition(&index.when))?;
            for column in &table.columns {
                self.check_condition(&column.when)?;
                if let Some(content) = &column.content {
                    self.check_placeholder(content, &BTreeSet::new(), &ROW_NAMES)?;
                }
            }
            for suffix in table.suffix.all() {
                let mut rest = suffix.as_str();
                while let Some((_, tail)) = rest.split_once('{') {
                    let (name, tail) = tail.split_once('}').ok_or_else(|| {
                        Mistake::new(table.at, format!("`{{` without `}}` in the suffix of `{}`", table.kind))
                    })?;
                    self.need_option(name, table.at)?;
                    rest = tail;
                }
            }
        }
        Ok(())
    }

    fn check_statements(&self) -> Checked {
        if let Some(statement) =
            self.statements.iter().find(|known| ["begin", "commit"].contains(&known.name.as_str()))
        {
            let problem =
                format!("`{}` is reserved for the beginning and the end of a transaction", statement.name);
            return Err(Mistake::new(statement.at, problem).with_hint("choose another name"));
        }
        // Names that an earlier statement of some event defines; which ones is checked for each event.
        let mut given = BTreeSet::new();
        for pieces in self.statements.iter().flat_map(|statement| statement.sql.all()) {
            visit_placeholders(pieces, &mut |placeholder| {
                given.extend(placeholder.name.as_deref());
                Ok(())
            })?;
        }
        let known_elsewhere = |name: &str| {
            RESERVED.contains(&name)
                || self.option_names().any(|option| option == name)
                || self.templates.iter().any(|(template, _, _)| template == name)
        };
        let all = || {
            self.statements.iter().flat_map(|statement| statement.sql.all().map(|pieces| (statement, pieces)))
        };
        for (_, pieces) in all() {
            visit_placeholders(pieces, &mut |placeholder| match &placeholder.name {
                Some(name) if known_elsewhere(name) => {
                    let problem = format!("`{name}` is also an option or a template, or reserved");
                    Err(Mistake::new(placeholder.at, problem).with_hint("choose another name"))
                }
                _ => Ok(()),
            })?;
        }
        all().try_for_each(|(statement, pieces)| self.check_statement(statement, pieces, &mut given.clone()))
    }

    /// Checks one statement, given the known names `given`; adds the names that it defines.
    fn check_statement<'a>(
        &'a self,
        statement: &'a Statement,
        pieces: &'a [Piece],
        given: &mut BTreeSet<&'a str>,
    ) -> Checked {
        let is_plain = |piece: &&Piece| !matches!(piece, Piece::Text(_) | Piece::Repeat(_) | Piece::Number);
        if self.tables.is_empty() && pieces.iter().filter(is_plain).any(|piece| *piece == Piece::Table) {
            let problem = format!("statement `{}` needs a table, but the file defines none", statement.name);
            return Err(Mistake::new(statement.at, problem).with_hint("add `[tables.NAME]` with its columns"));
        }
        for (index, piece) in pieces.iter().enumerate() {
            let Piece::Repeat(repeat) = piece else { continue };
            let (Count::Times(expression) | Count::Bytes(expression)) = &repeat.count;
            self.check_expression(expression, &RUN_NAMES)?;
            let is_last = index + 1 == pieces.len();
            if matches!(repeat.count, Count::Bytes(_)) && (statement.is_prepared || !is_last) {
                let problem = "`{repeat bytes …}` must be at the end of a statement with `prepared = false`";
                return Err(Mistake::new(repeat.at, problem));
            }
        }
        visit_placeholders(pieces, &mut |placeholder| {
            self.check_placeholder(placeholder, given, &STATEMENT_NAMES)?;
            given.extend(placeholder.name.as_deref());
            Ok(())
        })?;
        if let Some(expected) = &statement.expected {
            let more: Vec<&str> = given.iter().copied().chain(STATEMENT_NAMES).collect();
            self.check_expression(&expected.rows, &more)?;
        }
        Ok(())
    }

    fn check_placeholder(&self, placeholder: &Placeholder, given: &BTreeSet<&str>, more: &[&str]) -> Checked {
        let numbers: Vec<&str> = given.iter().copied().chain(more.iter().copied()).collect();
        match &placeholder.value {
            Value::Text(_) => Ok(()),
            Value::Draw { low, high, distribution } => {
                self.check_expression(low, more)?;
                self.check_expression(high, more)?;
                distribution.iter().try_for_each(|distribution| self.check_distribution(distribution))
            }
            Value::Expression(Expression::Name { name, .. })
                if self.templates.iter().any(|(template, _, _)| template == name) =>
            {
                Ok(())
            }
            Value::Expression(Expression::Name { name, at }) if !numbers.contains(&name.as_str()) => {
                let templates = self.templates.iter().map(|(template, _, _)| template.as_str());
                let known: Vec<&str> = numbers.iter().copied().chain(templates).chain(["table"]).collect();
                self.check_number(name, *at, &[]).map_err(|mistake| match self.need_option(name, *at) {
                    Ok(_) => mistake,
                    Err(_) => {
                        let known = known.iter().copied().chain(self.option_names());
                        Mistake::unknown(*at, "placeholder", name, known)
                    }
                })
            }
            Value::Expression(expression) => self.check_expression(expression, &numbers),
        }
    }

    fn check_event(&self, event: &Event) -> Checked {
        event.transaction.iter().try_for_each(|condition| self.check_condition(condition))?;
        if let Some((name, at)) = &event.table
            && !self.tables.iter().any(|table| table.kind == *name)
        {
            let known = self.tables.iter().map(|table| table.kind.as_str());
            return Err(Mistake::unknown(*at, "table", name, known));
        }
        event.lines.iter().try_for_each(|line| self.check_line(line))
    }

    fn check_line(&self, line: &Line) -> Checked {
        self.check_condition(&line.when)?;
        self.check_expression(&line.times, &RUN_NAMES)?;
        if line.statements.is_empty() {
            return Err(Mistake::new(line.at, "a line must execute at least one statement"));
        }
        let mut given = [BTreeSet::new(), BTreeSet::new(), BTreeSet::new()];
        for (name, at) in &line.statements {
            let statement = self.statement(name).ok_or_else(|| {
                let known = self.statements.iter().map(|statement| statement.name.as_str());
                Mistake::unknown(*at, "statement", name, known)
            })?;
            for (pieces, given) in statement.sql.all().into_iter().zip(&mut given) {
                self.check_statement(statement, pieces, given)?;
            }
        }
        Ok(())
    }

    pub(crate) fn statement(&self, name: &str) -> Option<&Statement> {
        self.statements.iter().find(|statement| statement.name == name)
    }

    fn check_steps(&self) -> Checked {
        let mut names = BTreeSet::new();
        for step in &self.steps {
            if !names.insert(&step.name) {
                return Err(Mistake::new(step.at, format!("step `{}` is already defined above", step.name)));
            }
            self.check_body(&step.body)?;
            self.check_body(&step.clean)?;
            for (name, at, settings) in &step.set {
                let default = self.need_option(name, *at)?;
                let is_alike = |setting| std::mem::discriminant(setting) == std::mem::discriminant(default);
                if settings.is_empty() || !settings.iter().all(is_alike) {
                    let problem =
                        format!("`{name}` needs a value of the same kind as its default, {default}");
                    return Err(Mistake::new(*at, problem));
                }
                if settings.len() > 1 && self.label.as_ref().is_none_or(|(label, _)| label != name) {
                    let problem =
                        format!("several values of `{name}` would give several steps the same label");
                    let hint = format!("name the option in the file's `label`: label = \"{name}\"");
                    return Err(Mistake::new(*at, problem).with_hint(hint));
                }
            }
        }
        if self.steps.is_empty() {
            return Err(
                Mistake::new(self.text.len(), "the file defines no step").with_hint("add `[[steps]]`")
            );
        }
        Ok(())
    }

    fn check_body(&self, body: &StepBody) -> Checked {
        if let Some((name, at)) = &body.event
            && !self.events.iter().any(|event| event.name == *name)
        {
            let statements = self.statements.iter().map(|statement| statement.name.as_str());
            let known = self.events.iter().map(|event| event.name.as_str()).chain(statements);
            return Err(Mistake::unknown(*at, "event", name, known));
        }
        body.distribution.iter().try_for_each(|distribution| self.check_distribution(distribution))?;
        body.threads.iter().try_for_each(|threads| self.check_expression(threads, &RUN_NAMES))?;
        body.scans.iter().try_for_each(|rows| self.check_expression(rows, &RUN_NAMES))?;
        body.empty_tables.iter().try_for_each(|condition| self.check_condition(condition))
    }

    fn check_lists(&self) -> Checked {
        for list in &self.lists {
            let mut labels = BTreeSet::new();
            for place in &list.order {
                let found = self.variants(&place.step);
                if found.is_empty() {
                    return Err(self.unknown_step(&place.step, place.at));
                }
                labels.extend(found.into_iter().map(|variant| variant.label));
                place.threads.iter().try_for_each(|threads| self.check_expression(threads, &RUN_NAMES))?;
            }
            for (name, at) in list.groups.iter().flat_map(|group| &group.steps) {
                let found = self.variants(name);
                if found.is_empty() {
                    return Err(self.unknown_step(name, *at));
                }
                if let Some(variant) = found.iter().find(|variant| !labels.contains(&variant.label)) {
                    let problem =
                        format!("step `{}` is not in the order of list `{}`", variant.label, list.name);
                    return Err(Mistake::new(*at, problem));
                }
            }
        }
        Ok(())
    }

    fn unknown_step(&self, name: &str, at: usize) -> Mistake {
        Mistake::unknown(at, "step", name, self.steps.iter().map(|step| step.name.as_str()))
    }
}

/// Calls `visit` for every placeholder of `pieces`, in their order.
pub(crate) fn visit_placeholders<'a>(
    pieces: &'a [Piece],
    visit: &mut impl FnMut(&'a Placeholder) -> Checked,
) -> Checked {
    pieces.iter().try_for_each(|piece| match piece {
        Piece::Value(placeholder) => visit(placeholder),
        Piece::Repeat(repeat) => visit_placeholders(&repeat.pieces, visit),
        Piece::Text(_) | Piece::Table | Piece::Number => Ok(()),
    })
}
