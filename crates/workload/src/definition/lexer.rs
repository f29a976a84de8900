//! The lexer of the small language inside placeholders and expressions.

use super::mistake::Mistake;

/// A piece of the file's text, with its byte position in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located<'a> {
    pub(crate) text: &'a str,
    /// The byte of the file at which the text begins.
    pub(crate) start: usize,
    /// Whether the text appears in the file literally, without escapes.
    pub(crate) is_verbatim: bool,
}

impl Located<'_> {
    /// The byte of the file for a byte of the text.
    pub(crate) fn at(&self, position: usize) -> usize {
        if self.is_verbatim { self.start + position } else { self.start }
    }
}

/// A word.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Word<'a> {
    Name(&'a str),
    Integer(i64),
    Number(f64),
    /// Text between single or double quotes.
    Quoted(&'a str),
    Range,
    Symbol(char),
    End,
}

impl Word<'_> {
    pub(crate) fn shown(&self) -> String {
        match self {
            Word::Name(name) => format!("`{name}`"),
            Word::Integer(integer) => format!("`{integer}`"),
            Word::Number(number) => format!("`{number}`"),
            Word::Quoted(text) => format!("the text `{text}`"),
            Word::Range => "`..`".to_owned(),
            Word::Symbol(symbol) => format!("`{symbol}`"),
            Word::End => "the end".to_owned(),
        }
    }
}

/// Reads words one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Lexer<'a> {
    pub(crate) located: Located<'a>,
    /// Where the next word, or the blanks before it, begin.
    pub(crate) position: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(located: Located<'a>) -> Self {
        Lexer { located, position: 0 }
    }

    /// The byte of the file at which the next word begins.
    pub(crate) fn at(&self) -> usize {
        let rest = self.rest();
        self.located.at(self.position + rest.len() - rest.trim_start().len())
    }

    fn rest(&self) -> &'a str {
        self.located.text.get(self.position..).unwrap_or_default()
    }

    /// Peeks at the next word.
    pub(crate) fn peek(&self) -> Result<Word<'a>, Mistake> {
        self.clone().next()
    }

    /// The next word.
    pub(crate) fn next(&mut self) -> Result<Word<'a>, Mistake> {
        let at = self.at();
        let rest = self.rest().trim_start();
        let (word, length) = word(rest).map_err(|problem| Mistake::new(at, problem))?;
        self.position = self.located.text.len() - rest.len() + length;
        Ok(word)
    }

    /// Consumes the next word if it is this symbol.
    pub(crate) fn accept(&mut self, symbol: char) -> Result<bool, Mistake> {
        let is_next = self.peek()? == Word::Symbol(symbol);
        if is_next {
            self.next()?;
        }
        Ok(is_next)
    }

    /// Consumes this symbol.
    pub(crate) fn expect(&mut self, symbol: char) -> Result<(), Mistake> {
        let at = self.at();
        match self.next()? {
            Word::Symbol(next) if next == symbol => Ok(()),
            other => Err(Mistake::new(at, format!("expected `{symbol}`, found {}", other.shown()))),
        }
    }

    /// Checks that nothing is left.
    pub(crate) fn finish(&mut self) -> Result<(), Mistake> {
        let at = self.at();
        match self.next()? {
            Word::End => Ok(()),
            other => Err(Mistake::new(at, format!("unexpected {}", other.shown()))),
        }
    }
}

fn word(rest: &str) -> Result<(Word<'_>, usize), String> {
    let Some(first) = rest.chars().next() else { return Ok((Word::End, 0)) };
    let length = |is_part: fn(char) -> bool| rest.find(|next| !is_part(next)).unwrap_or(rest.len());
    if first.is_ascii_alphabetic() || first == '_' {
        let length = length(|next| next.is_ascii_alphanumeric() || next == '_');
        return Ok((Word::Name(&rest[..length]), length));
    }
    if first.is_ascii_digit() {
        return number(rest, length(|next| next.is_ascii_digit() || next == '_'));
    }
    if first == '\'' || first == '"' {
        let text = &rest[1..];
        return match text.find(first) {
            Some(end) => Ok((Word::Quoted(&text[..end]), end + 2)),
            None => Err(format!("the text after {first} has no end")),
        };
    }
    if rest.starts_with("..") {
        return Ok((Word::Range, 2));
    }
    Ok((Word::Symbol(first), first.len_utf8()))
}

/// A number whose integer part has `length` bytes.
fn number(rest: &str, length: usize) -> Result<(Word<'_>, usize), String> {
    let fraction = rest[length..]
        .strip_prefix('.')
        .map_or(0, |fraction| fraction.find(|next: char| !next.is_ascii_digit()).unwrap_or(fraction.len()));
    if fraction > 0 {
        let length = length + 1 + fraction;
        let number = rest[..length].replace('_', "").parse();
        return Ok((Word::Number(number.map_err(|_| "this number cannot be read")?), length));
    }
    let integer = rest[..length].replace('_', "").parse();
    Ok((Word::Integer(integer.map_err(|_| "this number exceeds 64 bits")?), length))
}
