//! Text from others, without characters that would control a terminal or deceive a reader.

use std::borrow::Cow;
use std::fmt::Write as _;

/// `text` with every character spelled out that has an effect instead of a shape, e.g. `[U+001B]`. Line breaks stay, and a tab becomes a
/// space. A format's own escapes are applied afterwards.
pub fn printable(text: &str) -> Cow<'_, str> {
    replaced(text, |letter, out| match letter {
        '\t' => out.push(' '),
        _ => {
            let _ = write!(out, "[U+{:04X}]", u32::from(letter));
        }
    })
}

/// The text of a JSON document with the same characters written as escapes, so that a JSON reader gets them unchanged.
pub fn printable_json(document: &str) -> Cow<'_, str> {
    replaced(document, |letter, out| match letter {
        // JSON has it only between values.
        '\t' => out.push('\t'),
        _ => {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    })
}

fn replaced(text: &str, replace: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_hidden(letter) { replace(letter, &mut out) } else { out.push(letter) }
    }
    Cow::Owned(out)
}

/// Whether a character is invisible: control characters, characters that change the direction of text, zero-width characters and
/// noncharacters.
fn is_hidden(letter: char) -> bool {
    match letter {
        '\n' => false,
        // Soft hyphen, Arabic letter mark, Mongolian vowel separator.
        '\u{ad}' | '\u{61c}' | '\u{180e}'
        // Zero-width spaces and joiners, marks of direction.
        | '\u{200b}'..='\u{200f}'
        // Separators of lines and paragraphs, embeddings and overrides of direction.
        | '\u{2028}'..='\u{202e}'
        // Invisible operators, isolates, deprecated controls.
        | '\u{2060}'..='\u{206f}'
        // Byte order mark, interlinear annotation, noncharacters.
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}'
        // Tags.
        | '\u{e0000}'..='\u{e007f}' => true,
        _ => letter.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defect_06_what_would_steer_a_terminal_is_spelt_out() {
        assert_eq!(printable("plain – text ± 3 %\nnext"), "plain – text ± 3 %\nnext");
        assert_eq!(printable("\u{1b}]0;title\u{7}\r\u{9b}2J"), "[U+001B]]0;title[U+0007][U+000D][U+009B]2J");
        assert_eq!(printable("a\tb\u{202e}c\u{200b}\u{feff}"), "a b[U+202E]c[U+200B][U+FEFF]");
        assert!(matches!(printable("ß"), Cow::Borrowed(_)));
    }

    #[test]
    fn defect_06_a_json_document_says_the_same_as_before() {
        let said = "\u{1b}[2J\u{9b}\u{202e}\u{e0001} ß\n";
        let document = serde_json::to_string(said).unwrap();
        let printable = printable_json(&document);
        assert!(!printable.contains(is_hidden), "{printable:?}");
        assert_eq!(serde_json::from_str::<String>(&printable).unwrap(), said);
    }
}
