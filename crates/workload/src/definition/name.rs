//! Names of tables, columns and indexes. Statements use them unquoted, so they must need no quotes on any dbms.

use basecase_model::{NAME_CHARACTERS, is_plain_name};

use super::mistake::Mistake;
use super::reader::Value;

/// Reserved words of Postgres, MySQL, MariaDB and SQLite, from their manuals.
const RESERVED_WORDS: &str = include_str!("reserved_words.txt");
/// Prefixes that Postgres and SQLite reserve for their own tables.
const RESERVED_BEGINNINGS: [&str; 2] = ["pg_", "sqlite_"];
/// Stands for a table's number in a name.
const NUMBER: &str = "{number}";
/// The maximum number of tables of one kind.
pub(crate) const MOST_TABLES: i64 = 1_000_000;

/// A name that may hold a table's number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NumberedName {
    before: String,
    /// What follows the number; `None` without one.
    after: Option<String>,
}

impl NumberedName {
    /// The name of a table or an index.
    pub(crate) fn read(value: &Value<'_>, what: &str) -> Result<Self, Mistake> {
        Self::parse(&value.string()?, value.at(), what)
    }

    /// The name in `text`, which is at byte `at` of the file.
    pub(crate) fn parse(text: &str, at: usize, what: &str) -> Result<Self, Mistake> {
        let (before, after) = match text.split_once(NUMBER) {
            Some((before, after)) => (before, Some(after)),
            None => (text, None),
        };
        let name = NumberedName { before: before.to_owned(), after: after.map(str::to_owned) };
        let longest = name.of(MOST_TABLES as usize);
        let is_word = |word: &str| match after {
            None => word == before,
            Some(after) => {
                let number = word.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
                number.is_some_and(|number| {
                    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
                })
            }
        };
        check(text, at, what, &longest, is_word)?;
        Ok(name)
    }

    /// The name of the table with this number, counted from 1.
    pub(crate) fn of(&self, number: usize) -> String {
        match &self.after {
            None => self.before.clone(),
            Some(after) => format!("{}{number}{after}", self.before),
        }
    }
}

/// The name of a column.
pub(crate) fn read_column(value: &Value<'_>) -> Result<String, Mistake> {
    let name = value.string()?;
    check(&name, value.at(), "column", &name, |word| word == name)?;
    Ok(name)
}

/// Refuses the name `text` of a table, column or index, whose longest form is `longest`.
fn check(
    text: &str,
    at: usize,
    what: &str,
    longest: &str,
    is_word: impl Fn(&str) -> bool,
) -> Result<(), Mistake> {
    let article = if what.starts_with('i') { "an" } else { "a" };
    let refused =
        |reason: &str| Mistake::new(at, format!("`{text}` cannot be the name of {article} {what}{reason}"));
    if !is_plain_name(longest) {
        return Err(refused("").with_hint(format!(
            "use a-z, 0-9 and _, no leading digit, and at most {NAME_CHARACTERS} characters, counting {NUMBER} as seven: \
             statements name it without quotes and without a schema"
        )));
    }
    let is_reserved = RESERVED_WORDS.split_whitespace().any(is_word)
        || RESERVED_BEGINNINGS.iter().any(|beginning| longest.starts_with(beginning));
    if is_reserved {
        return Err(refused(": a dbms reserves it").with_hint("choose another name"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        NumberedName::parse(text, 7, "table").map_or_else(|mistake| mistake.problem, |_| String::new())
    }

    #[test]
    fn defect_01_names_of_others_tables_are_refused() {
        for name in
            ["victim.orders", "`orders`", "orders/**/", " orders", "Orders", "{number}", "t{x}", "1t", ""]
        {
            assert_eq!(problem(name), format!("`{name}` cannot be the name of a table"), "{name}");
        }
        for name in ["select", "order", "pg_class", "sqlite_master", "int{number}", "float{number}"] {
            assert!(problem(name).ends_with("a dbms reserves it"), "{name}: {}", problem(name));
        }
        for name in ["orders", "sbtest{number}", "t{number}_x", "_", "key{number}"] {
            assert_eq!(problem(name), "", "{name}");
        }
    }

    #[test]
    fn defect_01_names_stay_within_the_limit_with_the_largest_number() {
        assert_eq!(problem(&"a".repeat(63)), "");
        assert_ne!(problem(&"a".repeat(64)), "");
        assert_eq!(problem(&format!("{}{{number}}", "a".repeat(56))), "");
        assert_ne!(problem(&format!("{}{{number}}", "a".repeat(57))), "");
        assert_eq!(NumberedName::parse("a{number}b", 0, "index").unwrap().of(12), "a12b");
    }

    #[test]
    fn reserved_words_are_sorted_and_plain() {
        let words: Vec<&str> = RESERVED_WORDS.split_whitespace().collect();
        assert!(words.is_sorted() && words.iter().all(|word| is_plain_name(word)));
    }

    proptest::proptest! {
        #[test]
        fn a_name_that_is_taken_is_plain_with_every_number(text in "[a-z_{}A-Z0-9.` ]{0,12}(\\{number\\})?[a-z_]{0,3}", number in 1..=MOST_TABLES) {
            if let Ok(name) = NumberedName::parse(&text, 0, "table") {
                proptest::prop_assert!(is_plain_name(&name.of(number as usize)));
            }
        }
    }
}
