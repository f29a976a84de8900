//! SQL with placeholders.

use super::expression::Expression;
use super::lexer::{Lexer, Located, Word};
use super::mistake::Mistake;

/// A part of a statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    /// SQL as it is.
    Text(String),
    /// `{table}`: name of the table that the event chose.
    Table,
    /// `{number}`: number of that table, counted from 1.
    Number,
    /// A value: a parameter of a prepared statement, a literal in a text.
    Value(Placeholder),
    /// `{repeat …}` … `{end}`.
    Repeat(Repeat),
}

/// A repeated part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Repeat {
    pub(crate) at: usize,
    pub(crate) count: Count,
    pub(crate) separator: String,
    pub(crate) pieces: Vec<Piece>,
}

/// How often a part is repeated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Count {
    /// So many times.
    Times(Expression),
    /// As often as fits into a statement of this many bytes.
    Bytes(Expression),
}

/// A value, and the name under which later statements of the event can reuse it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Placeholder {
    pub(crate) at: usize,
    pub(crate) name: Option<String>,
    pub(crate) value: Value,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// `low..high`, with a distribution or the step's default one.
    Draw { low: Expression, high: Expression, distribution: Option<DistributionUse> },
    /// A random text following this template.
    Text(String),
    /// A number; a single name may also refer to a template or an earlier text.
    Expression(Expression),
}

/// A distribution with parameters. The name may be that of an option.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DistributionUse {
    pub(crate) at: usize,
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
}

/// A parameter of a distribution.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Parameter {
    Number(f64),
    Option { name: String, at: usize },
}

/// Splits SQL at its placeholders.
pub(crate) fn parse(located: Located<'_>) -> Result<Vec<Piece>, Mistake> {
    let mut parser = Parser { lexer: Lexer::new(located), depth: 0 };
    parser.pieces()
}

/// The value in `located`, without the braces around it.
pub(crate) fn parse_value(located: Located<'_>) -> Result<Placeholder, Mistake> {
    let mut lexer = Lexer::new(located);
    let placeholder = read_placeholder(&mut lexer)?;
    lexer.finish()?;
    Ok(placeholder)
}

/// The distribution in `located`.
pub(crate) fn parse_distribution(located: Located<'_>) -> Result<DistributionUse, Mistake> {
    let mut lexer = Lexer::new(located);
    let at = lexer.at();
    let distribution = read_distribution(&mut lexer)?
        .ok_or_else(|| Mistake::new(at, "expected the name of a distribution"))?;
    lexer.finish()?;
    Ok(distribution)
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    depth: usize,
}

impl Parser<'_> {
    /// Pieces up to the end, or up to `{end}` within a repetition.
    fn pieces(&mut self) -> Result<Vec<Piece>, Mistake> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        loop {
            let located = self.lexer.located;
            let rest = located.text.get(self.lexer.position..).unwrap_or_default();
            let plain = rest.find(['{', '}']).unwrap_or(rest.len());
            text.push_str(&rest[..plain]);
            self.lexer.position += plain;
            let rest = &rest[plain..];
            if let Some(brace) = ["{{", "}}"].into_iter().find(|brace| rest.starts_with(brace)) {
                text.push_str(&brace[1..]);
                self.lexer.position += 2;
                continue;
            }
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            let at = located.at(self.lexer.position);
            if rest.is_empty() {
                return match self.depth {
                    0 => Ok(pieces),
                    _ => Err(Mistake::new(at, "`{repeat …}` without `{end}`")),
                };
            }
            self.lexer.position += 1;
            if rest.starts_with('}') {
                return Err(Mistake::new(at, "`}` without `{`").with_hint("write `}}` for a brace in SQL"));
            }
            match self.lexer.peek()? {
                Word::Name("end") => {
                    self.lexer.next()?;
                    self.lexer.expect('}')?;
                    return match self.depth {
                        0 => Err(Mistake::new(at, "`{end}` without `{repeat …}`")),
                        _ => Ok(pieces),
                    };
                }
                Word::Name("repeat") => pieces.push(self.repeat(at)?),
                _ => pieces.push(self.placeholder(at)?),
            }
        }
    }

    /// What follows `{`, if it is not a repetition.
    fn placeholder(&mut self, at: usize) -> Result<Piece, Mistake> {
        let placeholder = read_placeholder(&mut self.lexer)?;
        self.lexer.expect('}')?;
        let piece = match &placeholder.value {
            Value::Expression(Expression::Name { name, .. }) if name == "table" => Piece::Table,
            Value::Expression(Expression::Name { name, .. }) if name == "number" => Piece::Number,
            _ => Piece::Value(Placeholder { at, ..placeholder }),
        };
        let rest = self.lexer.located.text.get(self.lexer.position..).unwrap_or_default();
        if !rest.starts_with('*') {
            return Ok(piece);
        }
        self.lexer.position += 1;
        let count = Count::Times(Expression::read_factor(&mut self.lexer)?);
        Ok(Piece::Repeat(Repeat { at, count, separator: ", ".to_owned(), pieces: vec![piece] }))
    }

    /// `repeat COUNT [SEPARATOR]}` … `{end}`.
    fn repeat(&mut self, at: usize) -> Result<Piece, Mistake> {
        self.lexer.next()?;
        if self.depth > 0 {
            return Err(Mistake::new(at, "repetitions cannot be nested"));
        }
        let is_bytes = self.lexer.peek()? == Word::Name("bytes");
        if is_bytes {
            self.lexer.next()?;
        }
        let expression = Expression::read(&mut self.lexer)?;
        let count = if is_bytes { Count::Bytes(expression) } else { Count::Times(expression) };
        let separator = match self.lexer.peek()? {
            Word::Quoted(separator) => {
                self.lexer.next()?;
                separator.to_owned()
            }
            _ => ", ".to_owned(),
        };
        self.lexer.expect('}')?;
        self.depth += 1;
        let pieces = self.pieces()?;
        self.depth -= 1;
        Ok(Piece::Repeat(Repeat { at, count, separator, pieces }))
    }
}

/// `[NAME :] VALUE`.
fn read_placeholder(lexer: &mut Lexer<'_>) -> Result<Placeholder, Mistake> {
    let at = lexer.at();
    let mut name = None;
    if let Word::Name(first) = lexer.peek()? {
        let mut ahead = lexer.clone();
        ahead.next()?;
        if ahead.accept(':')? {
            name = Some(first.to_owned());
            *lexer = ahead;
        }
    }
    Ok(Placeholder { at, name, value: read_value(lexer)? })
}

fn read_value(lexer: &mut Lexer<'_>) -> Result<Value, Mistake> {
    if let Word::Quoted(template) = lexer.peek()? {
        lexer.next()?;
        return Ok(Value::Text(template.to_owned()));
    }
    let low = Expression::read(lexer)?;
    if lexer.peek()? != Word::Range {
        return Ok(Value::Expression(low));
    }
    lexer.next()?;
    let high = Expression::read(lexer)?;
    Ok(Value::Draw { low, high, distribution: read_distribution(lexer)? })
}

/// `NAME [(PARAMETER, …)]`, when a name comes next.
fn read_distribution(lexer: &mut Lexer<'_>) -> Result<Option<DistributionUse>, Mistake> {
    let at = lexer.at();
    let Word::Name(name) = lexer.peek()? else { return Ok(None) };
    lexer.next()?;
    let mut parameters = Vec::new();
    if lexer.accept('(')? {
        loop {
            let at = lexer.at();
            parameters.push(match lexer.next()? {
                Word::Integer(integer) => Parameter::Number(integer as f64),
                Word::Number(number) => Parameter::Number(number),
                Word::Name(name) => Parameter::Option { name: name.to_owned(), at },
                other => {
                    let problem = format!("expected a number or an option, found {}", other.shown());
                    return Err(Mistake::new(at, problem));
                }
            });
            if !lexer.accept(',')? {
                break;
            }
        }
        lexer.expect(')')?;
    }
    Ok(Some(DistributionUse { at, name: name.to_owned(), parameters }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<Piece>, Mistake> {
        parse(Located { text, start: 0, is_verbatim: true })
    }

    #[test]
    fn every_form() {
        let pieces = parsed(
            "SELECT '{{}}' FROM {table} WHERE id IN ({1..rows zipfian(0.9, h)}*10) AND k = {low: 1..rows} \
             OR {repeat n ' OR '}k < {low + 1}{end} {'##'} {repeat bytes 100}x{end}",
        )
        .unwrap();
        assert_eq!(pieces[0], Piece::Text("SELECT '{}' FROM ".into()));
        assert_eq!(pieces[1], Piece::Table);
        let Piece::Repeat(Repeat { count: Count::Times(Expression::Constant(10)), pieces: inner, .. }) =
            &pieces[3]
        else {
            panic!("{pieces:?}")
        };
        let Piece::Value(Placeholder { value: Value::Draw { distribution: Some(used), .. }, .. }) = &inner[0]
        else {
            panic!("{inner:?}")
        };
        assert_eq!((used.name.as_str(), used.parameters.len()), ("zipfian", 2));
        assert!(matches!(&pieces[5], Piece::Value(Placeholder { name: Some(name), .. }) if name == "low"));
        assert!(matches!(&pieces[7], Piece::Repeat(Repeat { separator, .. }) if separator == " OR "));
        assert!(
            matches!(&pieces[9], Piece::Value(Placeholder { value: Value::Text(text), .. }) if text == "##")
        );
        assert!(matches!(&pieces[11], Piece::Repeat(Repeat { count: Count::Bytes(_), .. })));
    }

    #[test]
    fn mistakes_have_their_place() {
        let mistakes = [
            ("a {1..}", 6),
            ("a }", 2),
            ("{end}", 0),
            ("{repeat 2}x", 11),
            ("x {", 3),
            ("{a b}", 3),
            ("{'#}", 1),
        ];
        for (text, at) in mistakes {
            assert_eq!(parsed(text).map_err(|mistake| mistake.at), Err(at), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[{}a-c0-9 .*'():,é]{0,40}") {
            if let Err(mistake) = parsed(&text) {
                proptest::prop_assert!(mistake.at <= text.len());
            }
        }
    }
}
