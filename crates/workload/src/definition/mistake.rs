//! What is wrong in a workload file, and where.

use thiserror::Error;

/// Why a workload, or what was asked of it, was refused.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum WorkloadError {
    /// A mistake in the file.
    #[error("{file}, line {line}, column {column}: {problem}\nhint: {hint}")]
    File {
        /// The file, or the name of a built-in workload.
        file: String,
        /// Line of the mistake, counted from 1.
        line: usize,
        /// Column of the mistake in characters, counted from 1.
        column: usize,
        /// What is wrong.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// An option or a step that the workload does not have, or an invalid value of an option.
    #[error("workload {workload}: {problem}\nhint: {hint}")]
    Request {
        /// The workload.
        workload: String,
        /// What is wrong.
        problem: String,
        /// What to do.
        hint: String,
    },
}

/// A mistake at a byte of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) at: usize,
    pub(crate) problem: String,
    pub(crate) hint: String,
}

/// The document that describes every form of a workload file.
const MANUAL: &str = "docs/formats.md describes workload files";

impl Mistake {
    pub(crate) fn new(at: usize, problem: impl Into<String>) -> Self {
        Mistake { at, problem: problem.into(), hint: MANUAL.to_owned() }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Mistake { hint: hint.into(), ..self }
    }

    /// A name that is not known.
    pub(crate) fn unknown<'a>(
        at: usize,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Mistake::new(at, format!("unknown {what} `{name}`")).with_hint(suggestion(name, known))
    }

    /// The mistake with its position in `text`, the content of `file`.
    pub(crate) fn in_file(self, file: &str, text: &str) -> WorkloadError {
        let mut at = self.at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        WorkloadError::File {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            problem: self.problem,
            hint: self.hint,
        }
    }
}

/// The known name nearest to `name`, or all of them if none is near.
pub(crate) fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let distance = |candidate: &str| strsim::damerau_levenshtein(name, candidate);
    match known.iter().min_by_key(|candidate| distance(candidate)) {
        None => "there are none here".to_owned(),
        Some(nearest) if distance(nearest) <= 1 + name.chars().count() / 3 => {
            format!("did you mean `{nearest}`?")
        }
        Some(_) => format!("there are: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters() {
        let error = Mistake::new(8, "bad").in_file("mine.toml", "a\nÄö = x");
        let WorkloadError::File { line, column, .. } = &error else { panic!("{error}") };
        assert_eq!((*line, *column), (2, 5));
        assert!(error.to_string().starts_with("mine.toml, line 2, column 5: bad\nhint: "));
        Mistake::new(3, "inside a character").in_file("f", "a\nÄ");
        Mistake::new(99, "behind the end").in_file("f", "a");
    }

    #[test]
    fn the_nearest_name_or_all() {
        assert_eq!(suggestion("zipfan", ["uniform", "zipfian"]), "did you mean `zipfian`?");
        assert_eq!(suggestion("x", ["uniform", "zipfian"]), "there are: uniform, zipfian");
    }
}
