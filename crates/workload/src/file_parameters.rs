//! The values of a workload file's options in one run, and the evaluation of expressions with them.

use crate::Workload;
use crate::definition::{Condition, DistributionUse, Expression, Mistake, Parameter, Setting, suggestion};
use crate::definition::{OptionDefinition, WorkloadError};
use crate::distribution::Distribution;
use crate::timing::{self, Timing};

/// How closely a published benchmark is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// With every peculiarity that affects published numbers.
    #[default]
    Compatible,
    /// Without the biases of the published method.
    Clean,
}

impl Mode {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Compatible => "compatible",
            Mode::Clean => "clean",
        }
    }
}

/// After which steps debt is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Maintenance {
    /// After the steps for which the workload says so.
    #[default]
    Listed,
    /// After every step.
    Each,
    /// After none.
    Off,
}

impl Maintenance {
    const ALL: [(&'static str, Maintenance); 3] =
        [("listed", Maintenance::Listed), ("each", Maintenance::Each), ("off", Maintenance::Off)];

    fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, known)| *known == self).map_or("listed", |(name, _)| name)
    }
}

/// The checked values of a workload file's options in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct FileParameters {
    /// The settings, in the order of the workload's options.
    pub(crate) settings: Vec<Setting>,
    /// Numbers of threads, each with a connection. With several numbers, every step runs once with each.
    pub threads: Vec<u32>,
    /// Seed of every random stream.
    pub seed: u64,
    /// How closely a published benchmark is followed.
    pub mode: Mode,
    /// Whether statements are prepared where the workload says so; otherwise all are sent as text.
    pub is_prepared: bool,
    /// How long steps are measured.
    pub timing: Timing,
    /// After which steps debt is settled.
    pub maintenance: Maintenance,
}

/// The maximum number of threads of a step.
pub(crate) const MOST_THREADS: u32 = 100_000;

/// Options that every workload has.
const COMMON: [&str; 5] = ["threads", "seed", "mode", "prepared", "maintenance"];

impl Workload {
    /// Checks the values that a user gives to options; the others have their defaults. `-` in a name stands for `_`.
    ///
    /// Besides the workload's own options there are `threads` (one number, or several as in `8,16,32`), `seed`, `mode` (`compatible` or
    /// `clean`), `prepared` (`on` or `off`), `maintenance` (`listed`, `each` or `off`), `seconds` (or `time`), `write_seconds`,
    /// `warm_up_seconds`, `events` and `rate`.
    ///
    /// # Errors
    /// An unknown option, with the nearest known one, or a value that the option cannot have.
    pub fn options(&self, given: &[(&str, &str)]) -> Result<FileParameters, WorkloadError> {
        let mut parameters = FileParameters {
            settings: self.options.iter().map(|option| option.default.clone()).collect(),
            threads: vec![1],
            seed: crate::insert_benchmark::DEFAULT_SEED,
            mode: Mode::default(),
            is_prepared: true,
            timing: Timing::new(self.warm_up_seconds),
            maintenance: Maintenance::default(),
        };
        for (name, value) in given {
            self.set(&mut parameters, &name.replace('-', "_"), value)?;
        }
        let scope = Scope::new(self, &parameters);
        // Bounds that depend on other options are checked for the steps that use the option.
        for option in
            self.options.iter().filter(|option| matches!(option.most, Some(Expression::Constant(_))))
        {
            scope.check_most(option)?;
        }
        Ok(parameters)
    }

    /// Gives one option its value.
    fn set(&self, parameters: &mut FileParameters, name: &str, value: &str) -> Result<(), WorkloadError> {
        let wrong = |wanted: &str| self.refused(format!("{name} is `{value}`"), format!("give {wanted}"));
        if let Some(result) = parameters.timing.set(name, value) {
            return result.map_err(|wanted| wrong(&wanted));
        }
        match name {
            "threads" => {
                parameters.threads = thread_counts(value).ok_or_else(|| {
                    wrong(&format!(
                        "a number of threads from 1 to {MOST_THREADS}, or several different ones: 8,16,32"
                    ))
                })?;
            }
            "seed" => parameters.seed = value.parse().map_err(|_| wrong("an integer of 0 or more"))?,
            "mode" => {
                parameters.mode = match value {
                    "compatible" => Mode::Compatible,
                    "clean" => Mode::Clean,
                    _ => return Err(wrong("`compatible` or `clean`")),
                }
            }
            "maintenance" => {
                let known = Maintenance::ALL.into_iter().find(|(known, _)| *known == value);
                parameters.maintenance = known
                    .map(|(_, maintenance)| maintenance)
                    .ok_or_else(|| wrong("`listed`, `each` or `off`"))?;
            }
            "prepared" => match Setting::Boolean(true).read_alike(value) {
                Ok(setting) => parameters.is_prepared = setting == Setting::Boolean(true),
                Err(wanted) => return Err(wrong(&wanted)),
            },
            _ => {
                let Some(index) = self.options.iter().position(|option| option.name == name) else {
                    let known = self.option_names().chain(COMMON).chain(timing::NAMES);
                    return Err(self.refused(format!("unknown option `{name}`"), suggestion(name, known)));
                };
                let option = &self.options[index];
                let setting = option.default.read_alike(value).map_err(|wanted| wrong(&wanted))?;
                option.check(&setting).map_err(|(problem, hint)| self.refused(problem, hint))?;
                parameters.settings[index] = setting;
            }
        }
        Ok(())
    }
}

impl FileParameters {
    /// Names and values in the order of the file, followed by those that every workload has.
    pub fn facts(&self, workload: &Workload) -> Vec<(String, String)> {
        let own = workload.options.iter().zip(&self.settings);
        let threads: Vec<String> = self.threads.iter().map(u32::to_string).collect();
        own.map(|(option, setting)| (option.name.clone(), setting.to_string()))
            .chain([
                ("threads".to_owned(), threads.join(",")),
                ("seed".to_owned(), self.seed.to_string()),
                ("mode".to_owned(), self.mode.as_str().to_owned()),
                ("prepared".to_owned(), Setting::Boolean(self.is_prepared).to_string()),
            ])
            .chain([("maintenance".to_owned(), self.maintenance.as_str().to_owned())])
            .chain(self.timing.facts())
            .collect()
    }

    /// The largest number of threads.
    pub fn most_threads(&self) -> u32 {
        self.threads.iter().copied().max().unwrap_or(1)
    }
}

/// Reads `8` or `8,16,32`; `None` if one is not a number, out of range, or repeated.
fn thread_counts(text: &str) -> Option<Vec<u32>> {
    let mut counts = Vec::new();
    for word in text.split(',') {
        let count = word
            .trim()
            .parse()
            .ok()
            .filter(|count| (1..=MOST_THREADS).contains(count) && !counts.contains(count))?;
        counts.push(count);
    }
    Some(counts)
}

/// The names that expressions know, with their values.
#[derive(Debug, Clone)]
pub(crate) struct Scope<'a> {
    pub(crate) workload: &'a Workload,
    settings: Vec<Setting>,
    threads: u32,
    /// The index of the thread, if there is one.
    pub(crate) thread: Option<u32>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(workload: &'a Workload, parameters: &FileParameters) -> Self {
        let settings = parameters.settings.clone();
        Scope { workload, settings, threads: parameters.most_threads(), thread: None }
    }

    /// The scope of a step, in which some options have other values.
    pub(crate) fn with(mut self, settings: &[(String, Setting)]) -> Self {
        for (name, setting) in settings {
            if let Some(index) = self.workload.options.iter().position(|option| option.name == *name) {
                self.settings[index] = setting.clone();
            }
        }
        self
    }

    pub(crate) fn with_threads(self, threads: u32) -> Self {
        Scope { threads, ..self }
    }

    fn setting(&self, name: &str) -> Option<&Setting> {
        let index = self.workload.options.iter().position(|option| option.name == name)?;
        self.settings.get(index)
    }

    /// The value of a name, if it is a number.
    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        match (name, self.setting(name)) {
            ("threads", _) => Some(i64::from(self.threads)),
            ("thread", _) => self.thread.map(i64::from),
            (_, Some(Setting::Integer(integer))) => Some(*integer),
            _ => None,
        }
    }

    pub(crate) fn evaluate(&self, expression: &Expression) -> Result<i64, Mistake> {
        expression.evaluate(&|name| self.integer(name))
    }

    pub(crate) fn holds(&self, condition: &Condition) -> bool {
        condition.holds(&|name| self.setting(name) == Some(&Setting::Boolean(true)))
    }

    /// Replaces `{option}` in a text that is otherwise sent unchanged.
    pub(crate) fn substitute(&self, text: &str) -> String {
        let mut made = text.to_owned();
        for (option, setting) in self.workload.options.iter().zip(&self.settings) {
            made = made.replace(&format!("{{{}}}", option.name), &setting.to_string());
        }
        made
    }

    /// The distribution to use, with its parameters.
    pub(crate) fn distribution(&self, used: Option<&DistributionUse>) -> Result<Distribution, Mistake> {
        let Some(used) = used else { return Ok(Distribution::Uniform) };
        let name = match self.setting(&used.name) {
            Some(Setting::Text(chosen)) => chosen,
            _ => &used.name,
        };
        let usual = self.workload.parameters.iter().find(|(known, _)| known == name);
        let parameters = match usual {
            Some((_, usual)) if used.parameters.is_empty() => usual,
            _ => &used.parameters,
        };
        let number = |parameter: &Parameter| match parameter {
            Parameter::Number(number) => *number,
            Parameter::Option { name, .. } => match self.setting(name) {
                Some(Setting::Integer(integer)) => *integer as f64,
                Some(Setting::Number(number)) => *number,
                _ => f64::NAN,
            },
        };
        let numbers: Vec<f64> = parameters.iter().map(number).collect();
        Distribution::named(name, &numbers).map_err(|problem| Mistake::new(used.at, problem))
    }

    /// Checks an option against its maximum.
    pub(crate) fn check_most(&self, option: &OptionDefinition) -> Result<(), WorkloadError> {
        let (Some(most), Some(value)) = (&option.most, self.integer(&option.name)) else { return Ok(()) };
        let limit = self.evaluate(most).map_err(|mistake| self.workload.located(mistake))?;
        if value <= limit {
            return Ok(());
        }
        let reason = match most {
            Expression::Name { name, .. } => format!("above {name}, which is {limit}"),
            _ => format!("above {limit}"),
        };
        let problem = format!("{} is {value}, which is {reason}", option.name);
        Err(self.workload.refused(problem, format!("give {limit} or less")))
    }
}
