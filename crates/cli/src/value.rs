//! Parsers of option values.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::str::FromStr;

use basecase_lab::{AskedSetting, CandidateError, CandidateSpec, may_hold_password};
use basecase_model::{Dbms, Engine, ProfileKind};
use basecase_repository::Range;
use clap::Arg;
use clap::builder::TypedValueParser;

/// Several words in one argument, split as a shell would.
#[derive(Clone)]
pub(crate) struct ShellWords(pub(crate) Vec<String>);

/// Parses a candidate. An invalid one that looks like a URL is not quoted, because clap would show its password.
#[derive(Clone)]
pub(crate) struct CandidateParser;

/// A candidate, or behind a repository the range of its commits that is meant.
#[derive(Debug, Clone)]
pub(crate) enum CandidateArgument {
    Candidate(Box<CandidateSpec>),
    Range(String),
}

impl FromStr for CandidateArgument {
    type Err = CandidateError;

    fn from_str(text: &str) -> Result<Self, CandidateError> {
        if Range::is_one(text) {
            return Ok(CandidateArgument::Range(text.to_owned()));
        }
        Ok(CandidateArgument::Candidate(Box::new(text.parse()?)))
    }
}

/// Reads `A..B=FILE.patch`.
pub(crate) fn fix(text: &str) -> Result<(String, PathBuf), String> {
    match text.rsplit_once('=') {
        Some((range, file)) if Range::is_one(range) && !file.is_empty() => {
            Ok((range.to_owned(), PathBuf::from(file)))
        }
        _ => Err("write A..B=FILE.patch".to_owned()),
    }
}

impl TypedValueParser for CandidateParser {
    type Value = CandidateArgument;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<CandidateArgument, clap::Error> {
        match value.to_str().map(CandidateArgument::from_str) {
            Some(Err(error)) if may_hold_password(&value.to_string_lossy()) => {
                let name = argument.map(ToString::to_string).unwrap_or_default();
                let message = format!("invalid value for '{name}': {error}\n");
                Err(clap::Error::raw(clap::error::ErrorKind::ValueValidation, message).with_cmd(command))
            }
            _ => CandidateArgument::from_str.parse_ref(command, argument, value),
        }
    }
}

pub(crate) fn profile_kind(text: &str) -> Result<ProfileKind, String> {
    text.parse()
        .map_err(|()| format!("the choices are {}", ProfileKind::ALL.map(ProfileKind::as_str).join(", ")))
}

pub(crate) fn percentile(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|percent| *percent > 0.0 && *percent <= 100.0);
    number.ok_or_else(|| "give a number above 0 and at most 100".to_owned())
}

/// An address that stands in pages and Markdown.
pub(crate) fn link(text: &str) -> Result<String, String> {
    let is_odd = |letter: char| letter.is_control() || ['<', '>'].contains(&letter);
    let is_script = text.trim_start().to_ascii_lowercase().starts_with("javascript:");
    match text.is_empty() || is_script || text.contains(is_odd) {
        true => Err("name a folder or a URL, such as ../history or https://example.org/history".to_owned()),
        false => Ok(text.to_owned()),
    }
}

pub(crate) fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.trim().to_lowercase(), value.trim().to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

pub(crate) fn tried_setting(text: &str) -> Result<AskedSetting, String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.trim().to_owned())),
        None => (text, None),
    };
    match name.trim() {
        "" => Err("write SETTING or SETTING=VALUE".to_owned()),
        name => Ok(AskedSetting { name: name.to_owned(), value }),
    }
}

pub(crate) fn shell_words(text: &str) -> Result<ShellWords, String> {
    shlex::split(text).map(ShellWords).ok_or_else(|| "unclosed quotation mark".to_owned())
}

pub(crate) fn engine(text: &str) -> Result<Engine, String> {
    text.parse().map_err(|()| format!("the choices are {}", Engine::ALL.map(Engine::as_str).join(", ")))
}

pub(crate) fn dbms(text: &str) -> Result<Dbms, String> {
    text.parse().map_err(|()| format!("the choices are {}", Dbms::ALL.map(Dbms::as_str).join(", ")))
}
