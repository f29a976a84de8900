//! Defaults of options that users keep in `basecase.toml`.

mod file;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::error::ErrorKind::{
    InvalidValue, TooFewValues, TooManyValues, ValueValidation, WrongNumberOfValues,
};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

pub(crate) use self::file::{ConfigFile, Setting};
use crate::arguments::{self, COMMIT_HISTORY};

/// The name of a file with defaults.
pub(crate) const FILE: &str = "basecase.toml";

/// The variable that names the user's file, if it is elsewhere than in the config folder.
const OF_USER: &str = "BASECASE_CONFIG";

/// The option that leaves the files out.
pub(crate) const LEFT_OUT: &str = "--no-config";

/// Defaults of options from the files of this folder and of the user, in which a nearer file goes before a farther one and a command's own
/// table before what stands above all tables.
#[derive(Default)]
pub(crate) struct Configuration {
    /// The nearest first.
    pub(crate) files: Vec<ConfigFile>,
}

/// A default with the file that it is from.
#[derive(Clone, Copy)]
pub(crate) struct FoundDefault<'a> {
    pub(crate) file: &'a ConfigFile,
    pub(crate) setting: &'a Setting,
}

impl Configuration {
    /// Reads the files that are there.
    ///
    /// # Errors
    /// A file that cannot be read or is no TOML.
    pub(crate) fn read() -> Result<Configuration> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let of_user = variable(OF_USER).or_else(|| {
            let folder = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")))?;
            Some(folder.join("basecase").join(FILE))
        });
        let files = std::iter::once(PathBuf::from(FILE)).chain(of_user);
        Ok(Configuration { files: files.map(ConfigFile::read).collect::<Result<_>>()? })
    }

    /// The default of an option of a command, both as they are typed; `None` if no file has one.
    pub(crate) fn default_of(&self, command: &str, option: &str) -> Option<FoundDefault<'_>> {
        let command = if command == COMMIT_HISTORY { "history" } else { command };
        self.files.iter().find_map(|file| {
            let of_table = |table: Option<&str>| {
                let mut settings = file.settings.iter();
                settings.find(|one| one.option == option && one.command.as_deref() == table)
            };
            let setting = of_table(Some(command)).or_else(|| of_table(None))?;
            Some(FoundDefault { file, setting })
        })
    }

    /// The commands with these defaults.
    ///
    /// # Errors
    /// A command or an option that does not exist, or a value that the option does not take: with file, line and what is near.
    pub(crate) fn apply(&self, mut program: Command) -> Result<Command> {
        for file in &self.files {
            file.settings.iter().try_for_each(|setting| check(&program, file, setting))?;
        }
        if self.files.iter().all(|file| file.settings.is_empty()) {
            return Ok(program);
        }
        let names: Vec<String> =
            program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        for name in names {
            program = program.mut_subcommand(&name, |command| {
                command.mut_args(|option| {
                    match default_option(&option).map(|option| self.default_of(&name, option)) {
                        Some(Some(found)) => with_default(option, found.setting),
                        _ => option,
                    }
                })
            });
        }
        Ok(program)
    }

    /// The options of a parsed command line that are as a file has them, as words that would say the same.
    pub(crate) fn words(&self, command: &Command, matches: &ArgMatches) -> Vec<String> {
        let is_taken =
            |option: &&Arg| matches.value_source(option.get_id().as_str()) == Some(ValueSource::DefaultValue);
        let typed = |option: &Arg| {
            let found = self.default_of(command.get_name(), default_option(option)?)?;
            Some(words(option, found.setting))
        };
        command.get_arguments().filter(is_taken).filter_map(typed).flatten().collect()
    }
}

/// The name of an option that may have a default in a file: one that the help of its command shows.
pub(crate) fn default_option(option: &Arg) -> Option<&str> {
    let is_question = matches!(
        option.get_action(),
        ArgAction::Help | ArgAction::HelpLong | ArgAction::HelpShort | ArgAction::Version
    );
    option.get_long().filter(|_| !option.is_hide_set() && !is_question && !option.is_global_set())
}

/// Whether an option is on or off, and has no value.
fn is_switch(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::SetTrue)
}

/// The words of a command line that say the same.
fn words(option: &Arg, setting: &Setting) -> Vec<String> {
    let name = &setting.option;
    match (is_switch(option), &setting.values[..]) {
        (true, [value]) if value == "true" => vec![format!("--{name}")],
        (true, _) => Vec::new(),
        (false, values) => values.iter().map(|value| format!("--{name}={value}")).collect(),
    }
}

fn with_default(option: Arg, setting: &Setting) -> Arg {
    let values = setting.values.clone();
    match is_switch(&option) {
        true if values == ["false"] => option,
        _ => option.default_values(values),
    }
}

/// Checks a setting against the commands that it is for.
fn check(program: &Command, file: &ConfigFile, setting: &Setting) -> Result<()> {
    let place = file.place(setting);
    let shown = || arguments::shown(program);
    let commands: Vec<&Command> = match &setting.command {
        None => shown().collect(),
        Some(name) => {
            let found: Vec<&Command> = shown().filter(|command| command.get_name() == name).collect();
            if found.is_empty() {
                bail!(
                    "{place}: there is no command {name}\nhint: {}",
                    near(name, shown().map(Command::get_name))
                );
            }
            found
        }
    };
    let options = |command: &&Command| -> Vec<String> {
        command.get_arguments().filter_map(default_option).map(str::to_owned).collect()
    };
    let having: Vec<&Command> =
        commands.iter().copied().filter(|command| options(command).contains(&setting.option)).collect();
    if having.is_empty() {
        let all: Vec<String> = commands.iter().flat_map(options).collect();
        let of = setting.command.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
        let near = near(&setting.option, all.iter().map(String::as_str));
        bail!("{place}: there is no option {}{of}\nhint: {near}", setting.option);
    }
    having.into_iter().try_for_each(|command| check_value(command, &place, setting))
}

/// Checks that a command's option takes the values.
fn check_value(command: &Command, place: &str, setting: &Setting) -> Result<()> {
    let mut options = command.get_arguments();
    let Some(option) = options.find(|option| default_option(option) == Some(&*setting.option)) else {
        return Ok(());
    };
    if is_switch(option) && setting.values != ["true"] && setting.values != ["false"] {
        bail!("{place}: {} is on or off\nhint: write true or false", setting.option);
    }
    let words = std::iter::once(command.get_name().to_owned()).chain(words(option, setting));
    let alone = command.clone().mut_args(|argument| argument.required(false));
    match alone.try_get_matches_from(words) {
        Err(error)
            if matches!(
                error.kind(),
                InvalidValue | TooFewValues | TooManyValues | ValueValidation | WrongNumberOfValues
            ) =>
        {
            let text = error.to_string();
            let reason = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            bail!("{place}: {reason}\nhint: basecase {} --help says what it takes", command.get_name())
        }
        _ => Ok(()),
    }
}

/// What is near a name that does not exist.
fn near<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let mut near = basecase_builds::nearest(name, names);
    near.dedup();
    match near.is_empty() {
        true => "basecase --help lists commands, and --help of a command its options".to_owned(),
        false => format!("near are {}", near.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, FromArgMatches as _};

    use super::*;
    use crate::arguments::Arguments;

    fn configuration(folder: &str, user: &str) -> Configuration {
        let file = |name: &str, text: &str| ConfigFile::of(name.into(), text).unwrap();
        Configuration { files: vec![file("basecase.toml", folder), file("/u/basecase.toml", user)] }
    }

    /// The places of a command line, and the words that files added.
    fn parsed(configuration: &Configuration, words: &[&str]) -> (arguments::Compare, Vec<String>) {
        let mut program = configuration.apply(Arguments::command()).unwrap();
        let matches = program.try_get_matches_from_mut(["basecase"].iter().chain(words)).unwrap();
        let (name, of_command) = matches.subcommand().unwrap();
        let words = configuration.words(program.find_subcommand(name).unwrap(), of_command);
        match Arguments::from_arg_matches(&matches).unwrap().command {
            arguments::Command::Compare(compare) | arguments::Command::Count(compare) => (*compare, words),
            arguments::Command::Gate(gate) => (gate.compare, words),
            _ => panic!("another command"),
        }
    }

    #[test]
    fn the_nearer_file_and_the_table_of_the_command_go_first() {
        let files = configuration(
            "store = \"here.sqlite\"\nset = [\"a=1\", \"b=2\"]\n[gate]\nstore = \"gate.sqlite\"\ncounts = true\n",
            "store = \"user.sqlite\"\nthreads = 3\n[compare]\nstore = \"compare.sqlite\"\nbudget = \"5m\"\n",
        );
        let (compare, words) = parsed(&files, &["compare", "sqlite"]);
        assert_eq!(compare.places.store.to_str(), Some("here.sqlite"));
        assert_eq!(compare.places.budget, Some(std::time::Duration::from_secs(300)));
        assert_eq!(compare.settings.len(), 2);
        assert!(!compare.places.counts);
        for word in ["--store=here.sqlite", "--set=a=1", "--set=b=2", "--budget=5m", "--threads=3"] {
            assert!(words.contains(&word.to_owned()), "{word} of {words:?}");
        }
        let (gate, words) = parsed(&files, &["gate", "sqlite", "--store", "typed.sqlite"]);
        assert_eq!(gate.places.store.to_str(), Some("typed.sqlite"), "what is typed goes before all files");
        assert!(gate.places.counts && gate.places.budget.is_none());
        assert!(words.contains(&"--counts".to_owned()) && !words.iter().any(|word| word.contains("store")));
    }

    #[test]
    fn an_option_that_a_command_does_not_show_has_no_default_there() {
        let files = configuration("budget = \"5m\"\n", "");
        assert!(parsed(&files, &["compare", "sqlite"]).0.places.budget.is_some());
        assert!(parsed(&files, &["count", "sqlite"]).0.places.budget.is_none());
    }

    #[test]
    fn a_word_that_only_a_switch_could_have_is_the_value_of_another_option() {
        let (compare, words) = parsed(&configuration("out = \"true\"\n", ""), &["compare", "sqlite"]);
        assert_eq!(compare.places.out.to_str(), Some("true"));
        assert_eq!(words, ["--out=true"]);
    }

    #[test]
    fn a_switch_of_a_farther_file_is_off_in_a_nearer_one() {
        let (compare, words) =
            parsed(&configuration("counts = false\n", "counts = true\n"), &["compare", "sqlite"]);
        assert!(!compare.places.counts && words.is_empty(), "{words:?}");
    }

    #[test]
    fn mistakes_name_the_line_and_what_is_near() {
        let mistake = |text: &str| {
            let error = configuration(text, "").apply(Arguments::command()).map(drop).unwrap_err();
            format!("{error:#}")
        };
        let cases = [
            ("\nbudgets = \"5m\"\n", "basecase.toml:2: there is no option budgets", "budget"),
            ("[gates]\nbudget = \"5m\"\n", "basecase.toml:2: there is no command gates", "gate"),
            ("[gate]\n\nbudget = \"soon\"\n", "basecase.toml:3: ", "basecase gate --help"),
            ("counts = 3\n", "basecase.toml:1: counts is on or off", "true or false"),
            ("[report]\ncounts = true\n", "basecase.toml:2: there is no option counts of report", "hint: "),
        ];
        for (text, what, hint) in cases {
            let found = mistake(text);
            assert!(found.starts_with(what) && found.contains(hint), "{text}{found}");
        }
    }
}
