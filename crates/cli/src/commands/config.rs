//! `config`: which defaults options have, and from which file.

use anyhow::{Result, bail};
use clap::{Arg, CommandFactory as _};

use crate::arguments::{Arguments, ConfigCommand, shown};
use crate::configuration::{Configuration, Setting, default_option};
use crate::output;

/// What stands below the files.
const ORDER: &str = "
A file in this folder goes before the user's, and a command's own table before
the rest of its file. `basecase config show COMMAND` lists all options of a
command with their defaults.
";

pub(crate) fn run(command: &ConfigCommand, configuration: &Configuration) -> Result<()> {
    let ConfigCommand::Show { of } = command;
    output::print(&match of {
        Some(command) => defaults(command, configuration)?,
        None => files(configuration),
    })
}

/// Every file that is looked for, and what stands in it.
fn files(configuration: &Configuration) -> String {
    let mut text = String::new();
    for file in &configuration.files {
        let path = file.path.display();
        match file.settings.len() {
            _ if !file.is_there => text.push_str(&format!("{path}: not there\n")),
            0 => text.push_str(&format!("{path}: no defaults\n")),
            _ => text.push_str(&format!("{path}:\n")),
        }
        for setting in &file.settings {
            let of = setting.command.as_ref().map_or_else(|| "every command".to_owned(), Clone::clone);
            text.push_str(&format!("  {:<14} {} = {}\n", of, setting.option, values(setting)));
        }
    }
    if configuration.files.is_empty() {
        text.push_str("no file is read: --no-config was given\n");
    }
    text.push_str(ORDER);
    text
}

/// All options of a command with their defaults, and where each is from.
fn defaults(name: &str, configuration: &Configuration) -> Result<String> {
    let program = Arguments::command();
    let Some(command) = shown(&program).find(|one| one.get_name() == name) else {
        bail!("there is no command {name}\nhint: basecase --help lists them");
    };
    let options: Vec<(&Arg, &str)> =
        command.get_arguments().filter_map(|option| Some((option, default_option(option)?))).collect();
    let width = options.iter().map(|(_, option)| option.len()).max().unwrap_or(0);
    let mut text = format!("Defaults of basecase {name}\n\n");
    for (argument, option) in options {
        let (value, from) = match configuration.default_of(name, option) {
            Some(found) => (values(found.setting), found.file.place(found.setting)),
            None => (built_in(argument), "built in".to_owned()),
        };
        text.push_str(&format!("--{option:<width$}  {value:<24}  {from}\n"));
    }
    Ok(text)
}

/// The default of an option without any file; a dash if there is none.
fn built_in(option: &Arg) -> String {
    let values: Vec<_> = option.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if values.is_empty() { "-".to_owned() } else { values.join(", ") }
}

fn values(setting: &Setting) -> String {
    setting.values.join(", ")
}
