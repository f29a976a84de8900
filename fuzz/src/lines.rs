//! Texts of lines: of files that have sections, keys and values.

use arbitrary::{Result, Unstructured};

use crate::{integer, word};

/// Makes a whole text.
pub type Make = fn(&mut Unstructured<'_>) -> Result<String>;

/// A new text, or `input` with lines, sections, values or words of a new one.
pub fn mutate(input: &[u8], choices: &mut Unstructured<'_>, make: Make) -> Result<Vec<u8>> {
    let Ok(text) = std::str::from_utf8(input) else { return Ok(make(choices)?.into_bytes()) };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return Ok(make(choices)?.into_bytes());
    }
    for _ in 0..choices.int_in_range(1..=3)? {
        let at = choices.choose_index(lines.len().max(1))?.min(lines.len().saturating_sub(1));
        match choices.int_in_range(0..=10)? {
            0 => return Ok(make(choices)?.into_bytes()),
            1 if lines.len() > 1 => drop(lines.remove(at)),
            2 => lines.insert(at, lines[at].clone()),
            3 => {
                let other = choices.choose_index(lines.len())?;
                lines.swap(at, other);
            }
            4 => {
                let new = make(choices)?;
                let section = section(&new, choices)?;
                let place = if choices.arbitrary()? { lines.len() } else { at };
                lines.splice(place..place, section);
            }
            5 | 6 => {
                let new = make(choices)?;
                lines[at] = value_of(&lines[at], &new, choices)?;
            }
            7 => {
                let new = make(choices)?;
                let other: Vec<&str> = new.lines().collect();
                if !other.is_empty() {
                    lines.insert(at, (*choices.choose(&other)?).to_owned());
                }
            }
            8 | 9 => lines[at] = other_word(&lines[at], choices)?,
            _ => lines[at] = other_character(&lines[at], choices)?,
        }
        if lines.is_empty() {
            break;
        }
    }
    let mut text = lines.join("\n");
    text.push('\n');
    Ok(text.into_bytes())
}

/// One of the sections of a text: a header and what follows it.
fn section(text: &str, choices: &mut Unstructured<'_>) -> Result<Vec<String>> {
    let lines: Vec<&str> = text.lines().collect();
    let headers: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].starts_with('[')).collect();
    if headers.is_empty() {
        return Ok(lines.into_iter().take(1).map(str::to_owned).collect());
    }
    let start = *choices.choose(&headers)?;
    let end = headers.iter().copied().find(|next| *next > start).unwrap_or(lines.len());
    Ok(lines[start..end].iter().map(|line| (*line).to_owned()).collect())
}

/// The line with a value of another text, if need be of another key.
fn value_of(line: &str, other: &str, choices: &mut Unstructured<'_>) -> Result<String> {
    let Some((key, _)) = line.split_once('=') else { return Ok(line.to_owned()) };
    let values = |is_alike: bool| -> Vec<&str> {
        let pairs = other.lines().filter_map(|line| line.split_once('='));
        pairs.filter(|(name, _)| !is_alike || name.trim() == key.trim()).map(|(_, value)| value).collect()
    };
    let mut found = values(true);
    if found.is_empty() || choices.ratio(1, 8)? {
        found = values(false);
    }
    if found.is_empty() {
        return Ok(line.to_owned());
    }
    Ok(format!("{key}={}", choices.choose(&found)?))
}

/// The line with another number or name in one of its places.
fn other_word(line: &str, choices: &mut Unstructured<'_>) -> Result<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut starts = Vec::new();
    let mut before = ' ';
    for (at, letter) in line.char_indices() {
        if is_part(letter) && !is_part(before) {
            starts.push(at);
        }
        before = letter;
    }
    if starts.is_empty() {
        return Ok(line.to_owned());
    }
    let start = *choices.choose(&starts)?;
    let end = line[start..].find(|letter| !is_part(letter)).map_or(line.len(), |length| start + length);
    let is_number = line[start..end].starts_with(|letter: char| letter.is_ascii_digit());
    let new = if is_number || choices.ratio(1, 4)? {
        integer(choices)?
    } else {
        let words: Vec<&str> = starts
            .iter()
            .map(|start| {
                let end = line[*start..]
                    .find(|letter| !is_part(letter))
                    .map_or(line.len(), |length| start + length);
                &line[*start..end]
            })
            .collect();
        word(choices, &words)?.to_owned()
    };
    Ok(format!("{}{new}{}", &line[..start], &line[end..]))
}

/// The line with a character put in that means something somewhere.
fn other_character(line: &str, choices: &mut Unstructured<'_>) -> Result<String> {
    const LETTERS: [&str; 24] = [
        "\"", "'", "{", "}", "[", "]", "(", ")", "..", "=", "#", "@", ":", "/", "%", "\\", "\u{0}", "\u{1b}",
        "é", "\u{202e}", ",", "*", "-", "$",
    ];
    let places: Vec<usize> = line.char_indices().map(|(at, _)| at).chain([line.len()]).collect();
    let at = *choices.choose(&places)?;
    Ok(format!("{}{}{}", &line[..at], word(choices, &LETTERS)?, &line[at..]))
}
