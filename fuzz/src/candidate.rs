//! Words that name candidates.

use arbitrary::{Result, Unstructured};
use basecase_corpus::SECRET;

use crate::word;

/// One to three words, one on each line.
pub fn file(choices: &mut Unstructured<'_>) -> Result<String> {
    let mut text = String::new();
    for _ in 0..choices.int_in_range(1..=3)? {
        text += &if choices.ratio(3, 5)? { url(choices)? } else { build(choices)? };
        text.push('\n');
    }
    Ok(text)
}

/// A version of a dbms, with what may follow.
pub fn build(choices: &mut Unstructured<'_>) -> Result<String> {
    let dbms = word(choices, &["postgres", "mysql", "mariadb", "sqlite", "path", "Postgres", "oracle", ""])?;
    let version = word(
        choices,
        &[
            "18.6",
            "17.11",
            "8.0.x",
            "8.0.33",
            "10.11.18",
            "5.6.51",
            "x",
            "18",
            "99.1",
            "",
            "/opt/pg",
            "8..0",
            "-1",
            "18446744073709551616.1",
        ],
    )?;
    let provider = word(choices, &["", "", ":pypi", ":maven", ":debian", ":", ":a:b"])?;
    let engine = word(choices, &["", "", "", "#innodb", "#rocksdb", "#myisam", "#"])?;
    let config = word(choices, &["", "", "@x10a", "@default", "@", "@a@b", "@./my.conf"])?;
    let colon = word(choices, &[":", ":", ":", ""])?;
    Ok(format!("{dbms}{colon}{version}{provider}{engine}{config}"))
}

/// A URL with a password.
pub fn url(choices: &mut Unstructured<'_>) -> Result<String> {
    let prefix = word(choices, &["url:", "url:", "url:", "", "URL:"])?;
    let scheme = word(
        choices,
        &["postgres://", "postgresql://", "mysql://", "mariadb://", "oracle://", "postgres:/", "//"],
    )?;
    let user = word(choices, &["me", "", "me%40", "user%3A", "ü"])?;
    let between = word(choices, &[":", ":", "%3A", "", "::", ":123/"])?;
    let before =
        word(choices, &["", "", "a/", "1/", "#", "@", "%2", "%zz", "?", "[", "\\", " ", "\u{1b}[31m"])?;
    let after = word(choices, &["", "", "/", "#", "#innodb", "@", "%", ":1", "?x=1", "]", "\u{202e}"])?;
    let host = word(
        choices,
        &[
            "localhost",
            "",
            "127.0.0.1",
            "[::1]",
            "%2Frun%2Fpg",
            "h:5432",
            "h:0",
            "h:99999",
            "h:",
            "[::1]:5432",
            "h h",
            "[",
            "h%00",
        ],
    )?;
    let database = word(
        choices,
        &["", "/ib", "/ib?sslmode=require", "/a%2Fb", "/ib#rocksdb", "/ib#x", "/a/b", "/ib@x10a", "/%"],
    )?;
    let at = word(choices, &["@", "@", "@", "", "%40"])?;
    Ok(format!("{prefix}{scheme}{user}{between}{before}{SECRET}{after}{at}{host}{database}"))
}
