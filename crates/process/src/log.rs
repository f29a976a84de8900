//! The end of a server's log.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// The last 64 KiB of a file.
///
/// # Errors
/// If it cannot be read.
pub fn end_of(mut file: File) -> io::Result<String> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(1 << 16)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last `count` lines of `text`.
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// `text` with consecutive lines that differ only in digits folded into one, such as those of all sessions of a server that
/// dies.
pub fn folded(text: &str) -> String {
    let without_digits = |line: &str| line.replace(|letter: char| letter.is_ascii_digit(), "");
    let mut told: Vec<String> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for alike in lines.chunk_by(|one, next| without_digits(one) == without_digits(next)) {
        match alike {
            [first, _, _, ..] => {
                told.push((*first).to_owned());
                told.push(format!("  … and {} more lines like it", alike.len() - 1));
            }
            few => told.extend(few.iter().map(|line| (*line).to_owned())),
        }
    }
    told.join("\n")
}

/// `text` with each line indented by two spaces.
pub fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("", 2), "");
        assert_eq!(indented("a\nb"), "  a\n  b");
    }

    #[test]
    fn what_every_session_says_is_told_once() {
        let text = "10:01 [1] ready\n10:02 [7] FATAL: gone\n10:02 [12] FATAL: gone\n10:03 [9] FATAL: gone\n10:03 [1] end";
        assert_eq!(
            folded(text),
            "10:01 [1] ready\n10:02 [7] FATAL: gone\n  … and 2 more lines like it\n10:03 [1] end"
        );
        let two = "a 1\na 2\nb";
        assert_eq!(folded(two), two);
        assert_eq!(folded(""), "");
    }
}
