//! Tests of what the documentation says of the command line: its commands can be given, and its reference is the program's own.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, Command, CommandFactory as _};

use crate::arguments::{Arguments, COMMIT_HISTORY, shown};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    found
}

/// The commands of a page: indented lines and cells of tables that begin with the program's name, with the lines that they go on in.
fn commands(markdown: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = markdown.lines();
    while let Some(line) = lines.next() {
        let cell = line.split_once("| `basecase ").and_then(|(_, rest)| rest.split_once('`'));
        if let Some((words, _)) = cell {
            found.push(words.to_owned());
        }
        let begins = ["    basecase ", "    $ basecase ", "    cargo run --release -- "];
        let Some(words) = begins.iter().find_map(|begin| line.strip_prefix(begin)) else { continue };
        let mut command = words.to_owned();
        while let Some(begun) = command.strip_suffix('\\').map(str::to_owned) {
            command = begun + lines.next().unwrap_or_default();
        }
        found.push(command);
    }
    found
}

/// The words of a command without what only a shell reads: comments, redirections and what comes after a pipe.
fn words(command: &str) -> Vec<String> {
    let words = shlex::split(command).unwrap_or_else(|| panic!("an open quotation mark: {command}"));
    let ends = |word: &str| ["|", "&&", ";"].contains(&word) || word.starts_with('>');
    words.into_iter().take_while(|word| !ends(word)).collect()
}

/// A repository with what SQLite's source is known by.
fn repository_of_a_dbms() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("sqlite3.c"), "").unwrap();
    fs::write(folder.path().join("sqlite3.h"), "#define SQLITE_VERSION \"3.45.0\"\n").unwrap();
    for words in ["init -q", "add .", "-c user.name=a -c user.email=a@b commit -q -m a"] {
        let mut git = std::process::Command::new("git");
        assert!(git.arg("-C").arg(folder.path()).args(words.split(' ')).status().unwrap().success());
    }
    folder
}

#[test]
fn every_command_of_the_documentation_can_be_given() {
    let mut all = pages(&repository().join("docs"));
    all.extend(["README.md", "CONTRIBUTING.md"].map(|name| repository().join(name)));
    let dbms = repository_of_a_dbms();
    let mut count = 0;
    for page in all {
        for command in commands(&fs::read_to_string(&page).unwrap()) {
            // What stands for something else is no command.
            if command.contains('…') || command.contains("PATH A..B") {
                continue;
            }
            let mut words = words(&command);
            if words.first().is_some_and(|word| word == "history")
                && words.get(1).is_some_and(|word| word.starts_with("git:"))
            {
                words[0] = COMMIT_HISTORY.to_owned();
            }
            // The repositories of examples are not here.
            let here = format!("git:{}", dbms.path().display());
            words.iter_mut().filter(|word| word.starts_with("git:")).for_each(|word| word.clone_from(&here));
            let parsed = Arguments::command()
                .try_get_matches_from(std::iter::once("basecase".to_owned()).chain(words));
            let is_help = |error: &clap::Error| error.exit_code() == 0;
            if let Err(error) = parsed.map(drop)
                && !is_help(&error)
            {
                panic!("{}: basecase {command}\n{error}", page.display());
            }
            count += 1;
        }
    }
    assert!(count > 150, "{count} commands");
}

/// The variable with which the test writes the reference instead of comparing it.
const WRITE: &str = "BASECASE_WRITE_REFERENCE";

#[test]
fn the_reference_of_commands_is_what_the_program_says() {
    let page = repository().join("docs/reference/commands.md");
    let wanted = reference();
    if std::env::var_os(WRITE).is_some() {
        fs::write(&page, &wanted).unwrap();
    }
    let found = fs::read_to_string(&page).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/reference/commands.md is old\nhint: {WRITE}=1 cargo test -p basecase the_reference"
    );
}

/// All commands with their options, by heading. Options that are those of `compare` stand there.
fn reference() -> String {
    let mut program = Arguments::command();
    program.build();
    let mut text = format!(
        "# Commands and options\n\nThis page is written by a test from what the program says of itself: `{WRITE}=1 cargo test -p basecase the_reference`.\n\n"
    );
    let all: Vec<&Command> = commands_of(&program).collect();
    for command in &all {
        let name = command.get_name();
        writeln!(text, "* [`basecase {name}`](#basecase-{name}): {}", about(command)).unwrap();
    }
    let compare = all.iter().find(|command| command.get_name() == "compare").unwrap();
    for command in &all {
        describe(&mut text, command, compare);
        for inner in commands_of(command) {
            describe(&mut text, inner, compare);
        }
    }
    text
}

/// The commands below one that people see, without the help that each has.
fn commands_of(command: &Command) -> impl Iterator<Item = &Command> {
    shown(command).filter(|one| one.get_name() != "help")
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

fn describe(text: &mut String, command: &Command, compare: &Command) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let level = if name.split_whitespace().count() > 2 { "###" } else { "##" };
    writeln!(text, "\n{level} {name}\n\n{}.\n", about(command)).unwrap();
    for argument in command.get_positionals() {
        writeln!(text, "* `{}`: {}", argument.get_id().as_str().to_uppercase(), help(argument)).unwrap();
    }
    let is_of_compare = |option: &Arg| {
        command.get_name() != "compare"
            && compare
                .get_opts()
                .any(|other| other.get_long() == option.get_long() && help(other) == help(option))
    };
    let is_shown = |option: &&Arg| !option.is_hide_set() && option.get_long().is_some();
    let (shared, own): (Vec<&Arg>, Vec<&Arg>) =
        command.get_opts().filter(is_shown).partition(|option| is_of_compare(option));
    let mut headings: Vec<&str> = Vec::new();
    for option in &own {
        let heading = option.get_help_heading().unwrap_or("Options");
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for heading in headings {
        writeln!(text, "\n**{heading}**\n").unwrap();
        for option in own.iter().filter(|option| option.get_help_heading().unwrap_or("Options") == heading) {
            writeln!(text, "* {}: {}", typed(option), help(option)).unwrap();
        }
    }
    // Few are more easily read here than looked up there.
    if !shared.is_empty() {
        let names: Vec<String> =
            shared.iter().filter_map(|option| Some(format!("`--{}`", option.get_long()?))).collect();
        writeln!(text, "\nAs for [`compare`](#basecase-compare): {}.", names.join(", ")).unwrap();
    }
}

/// E.g. `--budget TIME`.
fn typed(option: &Arg) -> String {
    let names: Vec<&str> =
        option.get_value_names().into_iter().flatten().map(clap::builder::Str::as_str).collect();
    let takes_value = option.get_action().takes_values();
    let values =
        if takes_value && !names.is_empty() { format!(" {}", names.join(" ")) } else { String::new() };
    let aliases: String =
        option.get_visible_aliases().into_iter().flatten().map(|alias| format!(", `--{alias}`")).collect();
    format!("`--{}{values}`{aliases}", option.get_long().unwrap_or_default())
}

/// The whole help of an argument, with its default and its choices, as one paragraph.
fn help(argument: &Arg) -> String {
    let long =
        argument.get_long_help().or_else(|| argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let paragraphs = long.split("\n\n").map(|one| one.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut text = paragraphs.collect::<Vec<_>>().join(". ");
    let choices: Vec<String> = match argument.get_action().takes_values() {
        true => argument
            .get_possible_values()
            .iter()
            .filter(|one| !one.is_hide_set())
            .map(|one| one.get_name().to_owned())
            .collect(),
        false => Vec::new(),
    };
    if !choices.is_empty() && !argument.is_hide_possible_values_set() {
        write!(text, " [{}]", choices.join(", ")).unwrap();
    }
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && argument.get_action().takes_values() {
        write!(text, " [default: {}]", defaults.join(", ")).unwrap();
    }
    text.replace('|', "\\|").replace('<', "\\<")
}
