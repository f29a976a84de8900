//! Integer expressions and conditions over options.

use super::lexer::{Lexer, Located, Word};
use super::mistake::Mistake;

/// An integer expression, as written in the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    Constant(i64),
    Name { name: String, at: usize },
    Binary { operator: Operator, at: usize, left: Box<Expression>, right: Box<Expression> },
}

/// A binary operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Min,
    Max,
}

impl Operator {
    /// The result; `None` if it exceeds 64 bits or divides by zero.
    #[inline]
    pub(crate) fn apply(self, left: i64, right: i64) -> Option<i64> {
        match self {
            Operator::Add => left.checked_add(right),
            Operator::Subtract => left.checked_sub(right),
            Operator::Multiply => left.checked_mul(right),
            Operator::Divide => left.checked_div(right),
            Operator::Min => Some(left.min(right)),
            Operator::Max => Some(left.max(right)),
        }
    }
}

/// The maximum nesting depth of parentheses and functions.
const DEPTH: usize = 32;
/// The maximum number of operands of one sum or product: each is nested in the next, and all of them are on the stack at once.
const TERMS: usize = 100;

impl Expression {
    /// Parses the whole text as one expression.
    pub(crate) fn parse(located: Located<'_>) -> Result<Self, Mistake> {
        let mut lexer = Lexer::new(located);
        let expression = Self::read(&mut lexer)?;
        lexer.finish()?;
        Ok(expression)
    }

    /// Parses the next expression.
    pub(crate) fn read(lexer: &mut Lexer<'_>) -> Result<Self, Mistake> {
        Self::sum(lexer, 0)
    }

    /// Parses the next number, name or parenthesis.
    pub(crate) fn read_factor(lexer: &mut Lexer<'_>) -> Result<Self, Mistake> {
        Self::term(lexer, 0)
    }

    fn sum(lexer: &mut Lexer<'_>, depth: usize) -> Result<Self, Mistake> {
        let mut left = Self::product(lexer, depth)?;
        for _ in 0..TERMS {
            let operator = match lexer.peek()? {
                Word::Symbol('+') => Operator::Add,
                Word::Symbol('-') => Operator::Subtract,
                _ => return Ok(left),
            };
            let at = lexer.at();
            lexer.next()?;
            let right = Self::product(lexer, depth)?;
            left = Expression::Binary { operator, at, left: Box::new(left), right: Box::new(right) };
        }
        Err(Mistake::new(lexer.at(), "too many numbers in one sum"))
    }

    fn product(lexer: &mut Lexer<'_>, depth: usize) -> Result<Self, Mistake> {
        let mut left = Self::term(lexer, depth)?;
        for _ in 0..TERMS {
            let operator = match lexer.peek()? {
                Word::Symbol('*') => Operator::Multiply,
                Word::Symbol('/') => Operator::Divide,
                _ => return Ok(left),
            };
            let at = lexer.at();
            lexer.next()?;
            let right = Self::term(lexer, depth)?;
            left = Expression::Binary { operator, at, left: Box::new(left), right: Box::new(right) };
        }
        Err(Mistake::new(lexer.at(), "too many numbers in one product"))
    }

    fn term(lexer: &mut Lexer<'_>, depth: usize) -> Result<Self, Mistake> {
        let at = lexer.at();
        if depth > DEPTH {
            return Err(Mistake::new(at, "parentheses are nested too deeply"));
        }
        match lexer.next()? {
            Word::Integer(integer) => Ok(Expression::Constant(integer)),
            Word::Symbol('-') => Ok(Expression::Binary {
                operator: Operator::Subtract,
                at,
                left: Box::new(Expression::Constant(0)),
                right: Box::new(Self::term(lexer, depth + 1)?),
            }),
            Word::Symbol('(') => {
                let inner = Self::sum(lexer, depth + 1)?;
                lexer.expect(')')?;
                Ok(inner)
            }
            Word::Name(name @ ("min" | "max")) if lexer.peek()? == Word::Symbol('(') => {
                let operator = if name == "min" { Operator::Min } else { Operator::Max };
                lexer.expect('(')?;
                let left = Box::new(Self::sum(lexer, depth + 1)?);
                lexer.expect(',')?;
                let right = Box::new(Self::sum(lexer, depth + 1)?);
                lexer.expect(')')?;
                Ok(Expression::Binary { operator, at, left, right })
            }
            Word::Name(name) => Ok(Expression::Name { name: name.to_owned(), at }),
            other => Err(Mistake::new(at, format!("expected a number or a name, found {}", other.shown()))),
        }
    }

    /// Calls `visit` for every name with its position.
    pub(crate) fn visit_names<E>(
        &self,
        visit: &mut impl FnMut(&str, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Expression::Constant(_) => Ok(()),
            Expression::Name { name, at } => visit(name, *at),
            Expression::Binary { left, right, .. } => {
                left.visit_names(visit)?;
                right.visit_names(visit)
            }
        }
    }

    /// The value, given a `value_of` that knows every name.
    pub(crate) fn evaluate(&self, value_of: &impl Fn(&str) -> Option<i64>) -> Result<i64, Mistake> {
        match self {
            Expression::Constant(constant) => Ok(*constant),
            Expression::Name { name, at } => {
                value_of(name).ok_or_else(|| Mistake::new(*at, format!("`{name}` has no numeric value here")))
            }
            Expression::Binary { operator, at, left, right } => operator
                .apply(left.evaluate(value_of)?, right.evaluate(value_of)?)
                .ok_or_else(|| Mistake::new(*at, "the result exceeds 64 bits, or divides by zero")),
        }
    }
}

/// A condition: names of options that are on or off, such as `range_selects and not skip_trx`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition(pub(crate) Vec<Term>);

/// One term of a condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Term {
    pub(crate) name: String,
    pub(crate) at: usize,
    pub(crate) is_negated: bool,
}

impl Condition {
    /// The condition that always holds.
    pub(crate) const ALWAYS: Condition = Condition(Vec::new());

    pub(crate) fn parse(located: Located<'_>) -> Result<Self, Mistake> {
        let mut lexer = Lexer::new(located);
        let mut terms = Vec::new();
        loop {
            let is_negated = lexer.peek()? == Word::Name("not");
            if is_negated {
                lexer.next()?;
            }
            let at = lexer.at();
            match lexer.next()? {
                Word::Name(name) => terms.push(Term { name: name.to_owned(), at, is_negated }),
                other => {
                    let problem = format!("expected the name of an option, found {}", other.shown());
                    return Err(Mistake::new(at, problem));
                }
            }
            if lexer.peek()? != Word::Name("and") {
                lexer.finish()?;
                return Ok(Condition(terms));
            }
            lexer.next()?;
        }
    }

    /// Whether it holds, given an `is_on` that knows every name.
    pub(crate) fn holds(&self, is_on: &impl Fn(&str) -> bool) -> bool {
        self.0.iter().all(|term| is_on(&term.name) != term.is_negated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(text: &str) -> Located<'_> {
        Located { text, start: 100, is_verbatim: true }
    }

    fn value(text: &str) -> Result<i64, Mistake> {
        Expression::parse(located(text))?.evaluate(&|name| (name == "rows").then_some(1_000))
    }

    #[test]
    fn arithmetic() {
        assert_eq!(value("rows / 2 + 1"), Ok(501));
        assert_eq!(value("2 + 3 * (4 - 1) - -1"), Ok(12));
        assert_eq!(value("min(rows, 10) + max(1, 2)"), Ok(12));
        assert_eq!(value("10_000"), Ok(10_000));
    }

    #[test]
    fn mistakes_have_their_place() {
        for (text, at) in
            [("1 +", 103), ("rows 2", 105), ("1 / 0", 102), ("(1", 102), ("5 + tables", 104), ("", 100)]
        {
            assert_eq!(value(text).map_err(|mistake| mistake.at), Err(at), "{text}");
        }
        assert!(value(&"(".repeat(10_000)).is_err());
        assert!(value("99999999999999999999").is_err());
    }

    #[test]
    fn defect_fuzz_a_long_sum_is_refused_before_it_fills_the_stack() {
        for joined in [" + 1", " * 1"] {
            let mistake = value(&format!("1{}", joined.repeat(300_000))).unwrap_err();
            assert!(mistake.problem.starts_with("too many numbers in one "), "{}", mistake.problem);
            assert!(value(&format!("1{}", joined.repeat(60))).is_ok());
        }
    }

    #[test]
    fn conditions() {
        let condition = Condition::parse(located("range_selects and not skip_trx")).unwrap();
        assert!(condition.holds(&|name| name == "range_selects"));
        assert!(!condition.holds(&|_| true));
        assert!(Condition::parse(located("a or b")).is_err());
        assert!(Condition::parse(located("not")).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String) {
            let _ = value(&text);
            let _ = Condition::parse(located(&text));
        }
    }
}
