//! Steps of a workload, and ordered lists of them.

use super::expression::{Condition, Expression};
use super::mistake::Mistake;
use super::option::Setting;
use super::placeholder::{DistributionUse, parse_distribution};
use super::reader::{Entry, Fields, Value};
use crate::timing::StepDuration;

/// A step, as the file defines it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepDefinition {
    pub(crate) name: String,
    pub(crate) at: usize,
    pub(crate) about: String,
    /// The options that this step sets; several values make several steps.
    pub(crate) set: Vec<(String, usize, Vec<Setting>)>,
    pub(crate) body: StepBody,
    /// What differs in clean mode.
    pub(crate) clean: StepBody,
}

/// What can be set for both modes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct StepBody {
    pub(crate) event: Option<(String, usize)>,
    pub(crate) distribution: Option<DistributionUse>,
    pub(crate) duration: Option<StepDuration>,
    pub(crate) threads: Option<Expression>,
    /// Rows that an event reads from one end of a table to the other.
    pub(crate) scans: Option<Expression>,
    /// Whether its tables are created but left empty.
    pub(crate) empty_tables: Option<Condition>,
    /// Whether the tables have to be reloaded before it.
    pub(crate) reload_before: Option<bool>,
    /// Whether the tables have to be reloaded after it.
    pub(crate) reload_after: Option<bool>,
}

impl StepDefinition {
    pub(crate) fn read(value: &Value<'_>) -> Result<Self, Mistake> {
        let fields = value.fields()?;
        let name = fields.need("name")?;
        let body = StepBody::read(&fields)?;
        if body.event.is_none() {
            fields.need("event")?;
        }
        let step = StepDefinition {
            name: name.string()?,
            at: name.at(),
            about: fields.optional("about", Value::string)?.unwrap_or_default(),
            set: fields.optional("set", read_set)?.unwrap_or_default(),
            body,
            clean: match fields.get("clean") {
                None => StepBody::default(),
                Some(clean) => {
                    let fields = clean.fields()?;
                    let body = StepBody::read(&fields)?;
                    fields.finish()?;
                    body
                }
            },
        };
        fields.finish()?;
        Ok(step)
    }
}

fn read_set(value: &Value<'_>) -> Result<Vec<(String, usize, Vec<Setting>)>, Mistake> {
    let entry = |entry: Entry<'_>| {
        let settings: Result<Vec<_>, _> = entry.value.one_or_more()?.iter().map(Setting::read).collect();
        Ok((entry.name.to_owned(), entry.at, settings?))
    };
    value.fields()?.entries().into_iter().map(entry).collect()
}

impl StepBody {
    fn read(fields: &Fields<'_>) -> Result<Self, Mistake> {
        Ok(StepBody {
            event: fields.optional("event", |event| Ok((event.string()?, event.at())))?,
            distribution: fields
                .optional("distribution", |distribution| parse_distribution(distribution.text()?))?,
            duration: fields.optional("duration", read_duration)?,
            threads: fields.optional("threads", Value::expression)?,
            scans: fields.optional("scans", Value::expression)?,
            empty_tables: fields.optional("empty_tables", Value::condition)?,
            reload_before: fields.optional("reload_before", Value::boolean)?,
            reload_after: fields.optional("reload_after", Value::boolean)?,
        })
    }

    /// This body, with `other` filling what it leaves unset.
    pub(crate) fn or(&self, other: &StepBody) -> StepBody {
        let (first, second) = (self.clone(), other.clone());
        StepBody {
            event: first.event.or(second.event),
            distribution: first.distribution.or(second.distribution),
            duration: first.duration.or(second.duration),
            threads: first.threads.or(second.threads),
            scans: first.scans.or(second.scans),
            empty_tables: first.empty_tables.or(second.empty_tables),
            reload_before: first.reload_before.or(second.reload_before),
            reload_after: first.reload_after.or(second.reload_after),
        }
    }
}

fn read_duration(value: &Value<'_>) -> Result<StepDuration, Mistake> {
    match value.text().map(|located| located.text) {
        Ok("read") => Ok(StepDuration::Read),
        Ok("write") => Ok(StepDuration::Write),
        Ok(other) => Err(Mistake::unknown(value.at(), "duration", other, ["read", "write"])),
        Err(_) => match u32::try_from(value.integer()?) {
            Ok(seconds) if seconds > 0 => Ok(StepDuration::Seconds(seconds)),
            _ => Err(Mistake::new(value.at(), "a step takes 1 to 4294967295 seconds")),
        },
    }
}

/// Steps in an order, and the groups in which their results are shown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct List {
    pub(crate) name: String,
    pub(crate) at: usize,
    pub(crate) about: String,
    pub(crate) order: Vec<ListedStep>,
    pub(crate) groups: Vec<Group>,
}

/// One entry of a list: a step, and what is special about it there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListedStep {
    pub(crate) at: usize,
    /// `NAME` or `NAME=VALUE`, with a suffix such as `NAME.pre=VALUE` if it runs a second time.
    pub(crate) step: String,
    pub(crate) duration: Option<StepDuration>,
    pub(crate) threads: Option<Expression>,
    /// Whether maintenance follows.
    pub(crate) maintenance: bool,
}

/// A group of steps whose results are shown together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) steps: Vec<(String, usize)>,
}

impl List {
    pub(crate) fn read(entry: &Entry<'_>) -> Result<Self, Mistake> {
        let fields = entry.value.fields()?;
        let list = List {
            name: entry.name.to_owned(),
            at: entry.at,
            about: fields.optional("about", Value::string)?.unwrap_or_default(),
            order: fields.need("order")?.list()?.iter().map(ListedStep::read).collect::<Result<_, _>>()?,
            groups: fields
                .optional("groups", |groups| groups.list()?.iter().map(Group::read).collect())?
                .unwrap_or_default(),
        };
        fields.finish()?;
        Ok(list)
    }
}

impl ListedStep {
    fn read(value: &Value<'_>) -> Result<Self, Mistake> {
        let plain = |step: &Value<'_>| {
            let (at, step) = (step.at(), step.string()?);
            Ok(ListedStep { at, step, duration: None, threads: None, maintenance: false })
        };
        if !value.is_table() {
            return plain(value);
        }
        let fields = value.fields()?;
        let place = ListedStep {
            duration: fields.optional("duration", read_duration)?,
            threads: fields.optional("threads", Value::expression)?,
            maintenance: fields.optional("maintenance", Value::boolean)?.unwrap_or(false),
            ..plain(&fields.need("step")?)?
        };
        fields.finish()?;
        Ok(place)
    }
}

impl Group {
    fn read(value: &Value<'_>) -> Result<Self, Mistake> {
        let fields = value.fields()?;
        let steps = fields.need("steps")?.list()?;
        let group = Group {
            name: fields.need("name")?.string()?,
            steps: steps.iter().map(|step| Ok((step.string()?, step.at()))).collect::<Result<_, _>>()?,
        };
        fields.finish()?;
        Ok(group)
    }
}
