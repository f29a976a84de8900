//! The syntax of configs: `name = value` lines, `include` lines, and headers that name versions.

use thiserror::Error;

use super::versions::Versions;

/// One line of a config as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// `name = value`.
    Setting {
        /// The setting's name, in lower case.
        name: String,
        /// Its value without quotes.
        value: String,
        /// The versions that it applies to.
        versions: Versions,
        /// Its line number, from 1.
        number: u32,
    },
    /// `include NAME`: the settings of another config come first, and those that follow override them.
    Include {
        /// The other config's name or file.
        name: String,
        /// Its line number, from 1.
        number: u32,
    },
}

/// A line of a config that cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "{file}:{line}: {reason}\nhint: write one `name = value` per line, comments after #, and quote values with spaces as 'a b'; `include NAME` starts from another config, and the lines after [8.0..] apply to these versions only"
)]
pub struct SyntaxError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// What is wrong.
    pub reason: String,
}

/// Reads the lines of a config, in order.
///
/// # Errors
/// At the first line that cannot be read, or that sets a name a second time for the same version.
pub(crate) fn parse(file: &str, text: &str) -> Result<Vec<Line>, SyntaxError> {
    let mut lines: Vec<Line> = Vec::new();
    let mut versions = Versions::all();
    for (number, raw) in (1_u32..).zip(text.lines()) {
        let wrong = |reason: String| SyntaxError { file: file.to_owned(), line: number, reason };
        let raw = raw.trim();
        if raw.is_empty() || raw.starts_with('#') {
            continue;
        }
        if let Some(header) = raw.strip_prefix('[') {
            let range = header.split('#').next().unwrap_or_default().trim().strip_suffix(']');
            versions = range.and_then(|range| range.parse().ok()).ok_or_else(|| {
                wrong(format!("{raw:?} is not a header such as [8.0..], [..5.7], [5.7..8.0] or [all]"))
            })?;
            continue;
        }
        if let Some(name) = raw.strip_prefix("include ") {
            let name = name.split('#').next().unwrap_or_default().trim().to_owned();
            if name.is_empty() || !lines.is_empty() || versions != Versions::all() {
                return Err(wrong("`include NAME` must come before every setting and header".into()));
            }
            lines.push(Line::Include { name, number });
            continue;
        }
        let (name, rest) = raw.split_once('=').ok_or_else(|| wrong(format!("no `=` in {raw:?}")))?;
        let name = name.trim().to_lowercase();
        if !is_name(&name) {
            return Err(wrong(format!("{name:?} is not the name of a setting")));
        }
        let value = value(rest.trim()).map_err(|reason| wrong(format!("{name}: {reason}")))?;
        let earlier = lines.iter().find_map(|line| match line {
            Line::Setting { name: other, versions: others, number, .. }
                if *other == name && others.overlaps(&versions) =>
            {
                Some(*number)
            }
            _ => None,
        });
        if let Some(first) = earlier {
            return Err(wrong(format!("{name} is set a second time, after line {first}")));
        }
        lines.push(Line::Setting { name, value, versions: versions.clone(), number });
    }
    Ok(lines)
}

/// Whether `name` can name a setting: letters, digits, `_`, `-` and `.`, starting with a letter or `_`.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| matches!(c, '_' | '-' | '.') || c.is_ascii_alphanumeric())
}

/// `value` in quotes, as Postgres reads it from a file.
pub(crate) fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

fn value(text: &str) -> Result<String, String> {
    let Some(quoted) = text.strip_prefix('\'') else {
        // Sized values may contain spaces within their braces.
        let bare = text.split('#').next().unwrap_or_default().trim();
        return match bare {
            "" => Err("no value".into()),
            _ if bare.contains('\'') => Err(format!("a quote inside of {bare:?}")),
            _ if !bare.starts_with('{') && bare.contains(char::is_whitespace) => {
                Err(format!("more than one word in {bare:?}"))
            }
            _ => Ok(bare.to_owned()),
        };
    };
    let mut out = String::new();
    let mut rest = quoted;
    loop {
        let Some((part, after)) = rest.split_once('\'') else { return Err("the quote is not closed".into()) };
        out.push_str(part);
        match after.strip_prefix('\'') {
            Some(more) => {
                out.push('\'');
                rest = more;
            }
            None => {
                let after = after.trim();
                return if after.is_empty() || after.starts_with('#') {
                    Ok(out)
                } else {
                    Err(format!("{after:?} after the closing quote"))
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_have_names_values_and_comments() {
        let text =
            "# head\n\nwork_mem = 4MB # each\nApp.Name='it''s # here' # c\nx = {memory:25%, 1MB..2MB}\n";
        let lines = parse("f", text).unwrap();
        let pairs: Vec<_> = lines
            .iter()
            .map(|line| match line {
                Line::Setting { name, value, number, .. } => (name.as_str(), value.as_str(), *number),
                Line::Include { name, number } => ("include", name.as_str(), *number),
            })
            .collect();
        assert_eq!(
            pairs,
            [("work_mem", "4MB", 3), ("app.name", "it's # here", 4), ("x", "{memory:25%, 1MB..2MB}", 5)]
        );
    }

    #[test]
    fn headers_name_versions_and_includes_come_first() {
        let lines =
            parse("f", "include x10a # c\n[..8.0.30] # old\na = 1\n[8.0.30..]\na = 2\n[all]\nb = 3").unwrap();
        assert_eq!(lines[0], Line::Include { name: "x10a".into(), number: 1 });
        let values = |version: &str| {
            let version = version.parse().unwrap();
            lines
                .iter()
                .filter_map(|line| match line {
                    Line::Setting { value, versions, .. } if versions.contains(&version) => {
                        Some(value.as_str())
                    }
                    _ => None,
                })
                .collect::<String>()
        };
        assert_eq!(
            (values("8.0.29"), values("8.0.30"), values("9.7")),
            ("13".into(), "23".into(), "23".into())
        );
    }

    #[test]
    fn mistakes_name_file_and_line() {
        let cases = [
            ("a = 1\nwork_mem 4MB", 2, "no `=`"),
            ("1a = 1", 1, "is not the name"),
            ("a =", 1, "no value"),
            ("a = 'x", 1, "not closed"),
            ("a = 'x' y", 1, "after the closing quote"),
            ("a = 1 MB", 1, "more than one word"),
            ("a = 1\n\nA = 2", 3, "a second time, after line 1"),
            ("[8.0..]\na = 1\n[8.4..9.0]\na = 2", 4, "a second time, after line 2"),
            ("[8.0", 1, "is not a header"),
            ("[9.0..8.0]", 1, "is not a header"),
            ("a = 1\ninclude b", 2, "must come before"),
        ];
        for (text, line, reason) in cases {
            let error = parse("f.conf", text).unwrap_err();
            assert_eq!(error.line, line, "{text}");
            assert!(error.reason.contains(reason), "{text}: {error}");
            assert!(error.to_string().starts_with(&format!("f.conf:{line}: ")));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_with_a_line(text in "(?s).{0,200}") {
            if let Err(error) = parse("f", &text) {
                prop_assert!(error.line as usize <= text.lines().count());
            }
        }

        #[test]
        fn any_quoted_value_comes_back(name in "[a-z_][a-z0-9_]{0,12}", value in "[^\\r\\n\\\\]{0,40}", space in " {0,3}") {
            let text = format!("{space}{name}{space}={space}{}{space}# c", quoted(&value));
            let lines = parse("f", &text).unwrap();
            let Line::Setting { name: read_name, value: read_value, .. } = &lines[0] else { panic!("{lines:?}") };
            prop_assert_eq!(read_name, &name);
            prop_assert_eq!(read_value, &value);
        }
    }
}
