//! The steps of a run of a workload file: selected, ordered, labelled and grouped.

use std::collections::BTreeSet;

use basecase_model::StatementClass;

use crate::definition::{
    Event, Expression, List, ListedStep, Setting, StepBody, StepDefinition, WorkloadError, suggestion,
};
use crate::file_parameters::{FileParameters, MOST_THREADS, Maintenance, Mode, Scope};
use crate::statement_kind::{class_of, visit_expressions};
use crate::timing::StepDuration;
use crate::{Change, Workload};

/// The group of steps that the user names and no list shows.
pub const UNLISTED: &str = "steps of no list";

/// One step of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct FileStep {
    /// Name with the suffix of a repeated run, e.g. `random-points.pre`.
    pub name: String,
    /// Name in results, e.g. `random-points.pre_range=10`. With several numbers of threads it ends with the number:
    /// `random-points_range=10.dop8`.
    pub label: String,
    /// A description for people.
    pub about: String,
    /// The group in which its result is shown; `None` if it is not shown.
    pub group: Option<String>,
    /// Whether its statements only read, or also write.
    pub class: StatementClass,
    /// How long it is measured.
    pub duration: StepDuration,
    /// Rows that an event reads from one end of a table to the other.
    pub scanned_rows: Option<u64>,
    /// Threads, each with a connection.
    pub threads: u32,
    /// Whether maintenance follows.
    pub maintenance_after: bool,
    /// Whether the tables have to be reloaded before it.
    pub reload_before: bool,
    /// Whether the tables have to be reloaded after it.
    pub reload_after: bool,
    /// Which loaded rows the steps before it left.
    pub(crate) rows: RowsLeft,
    /// The values of options that this step sets.
    pub(crate) settings: Vec<(String, Setting)>,
    pub(crate) body: StepBody,
}

/// Which loaded rows the steps before a step left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowsLeft {
    /// All of them, and no others.
    All,
    /// Some of them.
    Some,
    /// Some of them, and possibly others.
    Others,
}

impl FileStep {
    /// The label without the number of threads.
    pub fn base_label(&self) -> &str {
        let suffix = format!(".dop{}", self.threads);
        self.label.strip_suffix(&suffix).unwrap_or(&self.label)
    }

    /// Whether its statements change rows.
    pub fn writes(&self) -> bool {
        self.class == StatementClass::Write
    }
}

/// A step that is not in a list.
fn alone(step: &str) -> ListedStep {
    ListedStep { at: 0, step: step.to_owned(), duration: None, threads: None, maintenance: false }
}

impl Workload {
    /// The names and descriptions of lists, in the order of the file.
    pub fn lists(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lists.iter().map(|list| (list.name.as_str(), list.about.as_str()))
    }

    /// The groups of a list, in the order in which results are shown, each with the labels of its steps.
    pub fn groups(&self, list: &str) -> Vec<(String, Vec<String>)> {
        let Some(list) = self.lists.iter().find(|known| known.name == list) else { return Vec::new() };
        list.groups
            .iter()
            .map(|group| {
                let variants = group.steps.iter().flat_map(|(step, _)| self.variants(step));
                (group.name.clone(), variants.map(|variant| variant.label).collect())
            })
            .collect()
    }

    /// The steps that `words` select: names of lists, groups or steps, or labels. An empty selection means the first list, or every step if
    /// there is no list.
    ///
    /// # Errors
    /// A word that names nothing, with the nearest name; a step that is named twice; a number of threads below 1; an option of a
    /// step that is larger than the step allows, such as a range larger than the table.
    pub fn steps(&self, parameters: &FileParameters, words: &[&str]) -> Result<Vec<FileStep>, WorkloadError> {
        let mut steps = Vec::new();
        if words.is_empty() {
            match self.lists.first() {
                Some(list) => self.add_list(parameters, list, &mut steps)?,
                None => {
                    for definition in &self.steps {
                        self.add(parameters, self.lists.first(), &alone(&definition.name), &mut steps)?;
                    }
                }
            }
        }
        for word in words {
            self.add_word(parameters, word, &mut steps)?;
        }
        for step in &mut steps {
            step.maintenance_after = match parameters.maintenance {
                Maintenance::Listed => step.maintenance_after,
                Maintenance::Each => true,
                Maintenance::Off => false,
            };
        }
        self.note_rows_left(parameters, &mut steps)?;
        for (number, step) in steps.iter().enumerate() {
            if steps[..number].iter().any(|earlier| earlier.label == step.label) {
                return Err(self.refused(
                    format!("step {} is named twice", step.label),
                    format!("name it once, or add a suffix the second time: {}.again", step.name),
                ));
            }
        }
        Ok(steps)
    }

    /// Notes which steps find other rows than those loaded: with fewer or more rows, replies have other sizes.
    fn note_rows_left(
        &self,
        parameters: &FileParameters,
        steps: &mut [FileStep],
    ) -> Result<(), WorkloadError> {
        let mut left = RowsLeft::All;
        for step in steps {
            if step.reload_before {
                left = RowsLeft::All;
            }
            step.rows = left;
            let kinds = self.kinds(parameters, step, crate::Dialect::Postgres)?;
            let rows_with = |change| -> u64 {
                kinds.iter().filter(|kind| kind.change == Some(change)).map(|kind| kind.per_event).sum()
            };
            let (inserts, deletes) = (rows_with(Change::Insert), rows_with(Change::Delete));
            left = match left {
                _ if step.reload_after => RowsLeft::All,
                _ if inserts > deletes => RowsLeft::Others,
                RowsLeft::All if deletes > inserts => RowsLeft::Some,
                _ => left,
            };
        }
        Ok(())
    }

    fn add_word(
        &self,
        parameters: &FileParameters,
        word: &str,
        steps: &mut Vec<FileStep>,
    ) -> Result<(), WorkloadError> {
        if let Some(list) = self.lists.iter().find(|list| list.name == *word) {
            return self.add_list(parameters, list, steps);
        }
        for list in &self.lists {
            if let Some(group) = list.groups.iter().find(|group| group.name == *word) {
                let labels: BTreeSet<String> = group
                    .steps
                    .iter()
                    .flat_map(|(step, _)| self.variants(step))
                    .map(|variant| variant.label)
                    .collect();
                let mut all = Vec::new();
                self.add_list(parameters, list, &mut all)?;
                steps.extend(all.into_iter().filter(|step| labels.contains(&step.label)));
                return Ok(());
            }
        }
        if self.variants(word).is_empty() {
            let groups =
                self.lists.iter().flat_map(|list| list.groups.iter().map(|group| group.name.as_str()));
            let lists = self.lists.iter().map(|list| list.name.as_str());
            let known = self.steps.iter().map(|step| step.name.as_str()).chain(lists).chain(groups);
            return Err(
                self.refused(format!("unknown step, list or group `{word}`"), suggestion(word, known))
            );
        }
        let before = steps.len();
        self.add(parameters, self.lists.first(), &alone(word), steps)?;
        // Whoever names a step wants its result. A suffix, as in `point-query.warm`, is for what prepares others.
        for step in steps[before..].iter_mut().filter(|step| !step.name.contains('.')) {
            step.group.get_or_insert_with(|| UNLISTED.to_owned());
        }
        Ok(())
    }

    fn add_list(
        &self,
        parameters: &FileParameters,
        list: &List,
        steps: &mut Vec<FileStep>,
    ) -> Result<(), WorkloadError> {
        list.order.iter().try_for_each(|place| self.add(parameters, Some(list), place, steps))
    }

    fn add(
        &self,
        parameters: &FileParameters,
        list: Option<&List>,
        place: &ListedStep,
        steps: &mut Vec<FileStep>,
    ) -> Result<(), WorkloadError> {
        for variant in self.variants(&place.step) {
            let definition: &StepDefinition = variant.definition;
            let body = match parameters.mode {
                Mode::Compatible => definition.body.clone(),
                Mode::Clean => definition.clean.or(&definition.body),
            };
            let settings: Vec<(String, Setting)> =
                variant.settings.into_iter().map(|(name, setting)| (name.to_owned(), setting)).collect();
            let scope = Scope::new(self, parameters).with(&settings);
            let threads = match place.threads.as_ref().or(body.threads.as_ref()) {
                None => parameters.threads.clone(),
                Some(expression) => vec![self.threads_of(&variant.label, expression, &scope)?],
            };
            let is_sweep = threads.len() > 1;
            self.check_bounds(&scope, &body)?;
            let class = self.class_of(&body);
            let scanned_rows = body.scans.as_ref().map(|rows| scope.evaluate(rows)).transpose();
            let scanned_rows = scanned_rows.map_err(|mistake| self.located(mistake))?;
            let group = match list {
                None => Some(self.name.clone()),
                Some(list) => self.group_of(list, &variant.label),
            };
            let step = FileStep {
                name: variant.name,
                label: variant.label,
                about: definition.about.clone(),
                group,
                class,
                duration: place.duration.or(body.duration).unwrap_or(match class {
                    StatementClass::Write => StepDuration::Write,
                    StatementClass::Read | StatementClass::Other => StepDuration::Read,
                }),
                scanned_rows: scanned_rows.and_then(|rows| u64::try_from(rows).ok()),
                threads: 0,
                maintenance_after: false,
                reload_before: body.reload_before.unwrap_or(false),
                reload_after: body.reload_after.unwrap_or(false),
                rows: RowsLeft::All,
                settings,
                body,
            };
            let last = threads.last().copied();
            steps.extend(threads.into_iter().map(|threads| FileStep {
                threads,
                label: if is_sweep { format!("{}.dop{threads}", step.label) } else { step.label.clone() },
                maintenance_after: place.maintenance && Some(threads) == last,
                ..step.clone()
            }));
        }
        Ok(())
    }

    /// The number of threads that a step of this label sets for itself.
    fn threads_of(
        &self,
        label: &str,
        expression: &Expression,
        scope: &Scope<'_>,
    ) -> Result<u32, WorkloadError> {
        let threads = scope.evaluate(expression).map_err(|mistake| self.located(mistake))?;
        u32::try_from(threads).ok().filter(|threads| (1..=MOST_THREADS).contains(threads)).ok_or_else(|| {
            let problem = format!("step {label} would have {threads} threads");
            self.refused(problem, format!("a step has 1 to {MOST_THREADS} threads"))
        })
    }

    /// The group of a list that shows the result of the step with this label.
    fn group_of(&self, list: &List, label: &str) -> Option<String> {
        let has_label =
            |step: &(String, usize)| self.variants(&step.0).iter().any(|member| member.label == label);
        let group = list.groups.iter().find(|group| group.steps.iter().any(has_label));
        group.map(|group| group.name.clone())
    }

    /// The event of a step; every checked step has one.
    pub(crate) fn event_of(&self, body: &StepBody) -> Option<&Event> {
        let (name, _) = body.event.as_ref()?;
        self.events.iter().find(|event| event.name == *name)
    }

    /// Write, if any statement of its event writes.
    fn class_of(&self, body: &StepBody) -> StatementClass {
        let statements = self.event_of(body).into_iter().flat_map(|event| &event.lines);
        let mut classes = statements
            .flat_map(|line| &line.statements)
            .filter_map(|(name, _)| self.statement(name))
            .map(|statement| class_of(statement.sql.of(crate::Dialect::Postgres)));
        if classes.any(|class| class == StatementClass::Write) {
            StatementClass::Write
        } else {
            StatementClass::Read
        }
    }

    /// Checks the options that a step uses against bounds that depend on other options.
    fn check_bounds(&self, scope: &Scope<'_>, body: &StepBody) -> Result<(), WorkloadError> {
        let Some(event) = self.event_of(body) else { return Ok(()) };
        let mut used = BTreeSet::new();
        let mut note = |expression: &Expression| {
            let _ = expression.visit_names(&mut |name, _| {
                used.insert(name.to_owned());
                Ok::<(), ()>(())
            });
        };
        for line in event.lines.iter().filter(|line| scope.holds(&line.when)) {
            note(&line.times);
            for statement in line.statements.iter().filter_map(|(name, _)| self.statement(name)) {
                statement.sql.all().into_iter().for_each(|pieces| {
                    visit_expressions(pieces, &mut note);
                });
            }
        }
        self.options
            .iter()
            .filter(|option| used.contains(&option.name))
            .try_for_each(|option| scope.check_most(option))
    }
}
