//! The condition language: `state == done && !(retries >= 3)`. It has no functions, arithmetic or loops.
//!
//! Fails closed: a missing value equals nothing, not even `null`, and is neither less nor greater than anything.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::jsonata::{MAX_EXPRESSION_BYTES, quoted};
use super::truth::{Comparison, Numbers, Side, Truth};
use super::{ParseFault, Scope};

/// The maximum nesting depth of parentheses and `!`.
const MAX_NESTING: usize = 100;

/// A condition. Cloning it is cheap.
///
/// ```
/// use portolan_core::expr::{Scope, When};
/// use serde_json::json;
///
/// let when = When::parse("review.state == approved && !(review.open_points > 0)").expect("it can be read");
/// assert!(when.eval(&Scope::of(&json!({"review": {"state": "approved", "open_points": 0}}))));
/// assert!(!when.eval(&Scope::of(&json!({}))));
/// ```
#[derive(Clone)]
pub struct When(Arc<ParsedCondition>);

struct ParsedCondition {
    text: String,
    truth: Truth,
}

impl When {
    /// Parses a condition.
    ///
    /// # Errors
    /// The first fault, with its place.
    pub fn parse(text: &str) -> Result<When, ParseFault> {
        if text.len() > MAX_EXPRESSION_BYTES {
            let message = format!("the condition has {} bytes, more than {MAX_EXPRESSION_BYTES}", text.len());
            return Err(fault(0, message, "split it"));
        }
        let mut reader = Reader { text, at: 0, nesting: 0 };
        let truth = reader.any()?;
        reader.blanks();
        if reader.at < text.len() {
            let rest = &text[reader.at..];
            let word: String = rest.chars().take_while(|c| !c.is_whitespace()).collect();
            let help = match rest.as_bytes() {
                [b'=', ..] => "write a comparison with `==`",
                [b'&', ..] => "both conditions: `&&`",
                [b'|', ..] => "either condition: `||`",
                _ => "join conditions with `&&` or `||`; write text with spaces in quotes",
            };
            return Err(fault(reader.at, format!("{} is not allowed here", quoted(&word)), help));
        }
        Ok(When(Arc::new(ParsedCondition { text: text.to_owned(), truth })))
    }

    /// Returns the condition as it was written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Checks whether the condition holds over the names of a scope.
    pub fn eval(&self, scope: &Scope<'_>) -> bool {
        self.0.truth.holds(scope, Numbers::OrText)
    }

    /// Returns the names that it reads from the scope, in alphabetical order; for a dotted path, the first segment.
    pub fn names(&self) -> Vec<&str> {
        self.0.truth.names()
    }

    pub(super) fn truth(&self) -> &Truth {
        &self.0.truth
    }
}

impl PartialEq for When {
    fn eq(&self, other: &When) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for When {}

impl fmt::Debug for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "When({:?})", self.0.text)
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    nesting: usize,
}

type ParseResult<T> = Result<T, ParseFault>;

impl<'t> Reader<'t> {
    fn blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn takes(&mut self, token: &str) -> bool {
        self.blanks();
        let found = self.text[self.at..].starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn any(&mut self) -> ParseResult<Truth> {
        let (first, mut mixed) = self.all()?;
        let mut parts = vec![first];
        loop {
            self.blanks();
            let at = self.at;
            if !self.takes("||") {
                break;
            }
            let (part, has_and) = self.all()?;
            mixed |= has_and;
            if mixed {
                return Err(fault(
                    at,
                    "`&&` and `||` are mixed without parentheses",
                    "group the conditions with parentheses",
                ));
            }
            parts.push(part);
        }
        Ok(single(parts, Truth::Any))
    }

    /// Reads conditions joined by `&&`, and returns whether there is more than one.
    fn all(&mut self) -> ParseResult<(Truth, bool)> {
        let mut parts = vec![self.unary()?];
        while self.takes("&&") {
            parts.push(self.unary()?);
        }
        let several = parts.len() > 1;
        Ok((single(parts, Truth::All), several))
    }

    fn unary(&mut self) -> ParseResult<Truth> {
        self.blanks();
        let at = self.at;
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(fault(at, format!("the condition nests deeper than {MAX_NESTING} levels"), "write it flatter"));
        }
        let condition = if self.takes("!") {
            Truth::Not(Box::new(self.unary()?))
        } else if self.takes("(") {
            let inner = self.any()?;
            if !self.takes(")") {
                return Err(fault(at, "the parenthesis is not closed", "write `)` at the end of the group"));
            }
            inner
        } else {
            self.comparison()?
        };
        self.nesting -= 1;
        Ok(condition)
    }

    fn comparison(&mut self) -> ParseResult<Truth> {
        let left = self.side("a name")?;
        let Some(comparison) = self.comparison_word() else { return Ok(Truth::Is(left)) };
        let right = match self.side("a value")? {
            // A word on the right side is text: `state == done`.
            Side::Path(segments) => Side::Literal(Value::String(segments.join("."))),
            literal @ Side::Literal(_) => literal,
        };
        Ok(Truth::Compare(left, comparison, right))
    }

    fn comparison_word(&mut self) -> Option<Comparison> {
        const WORDS: &[(&str, Comparison)] = &[
            ("==", Comparison::Equal),
            ("!=", Comparison::Unequal),
            (">=", Comparison::GreaterEqual),
            ("<=", Comparison::LessEqual),
            (">", Comparison::Greater),
            ("<", Comparison::Less),
        ];
        WORDS.iter().find(|(word, _)| self.takes(word)).map(|(_, comparison)| *comparison)
    }

    fn side(&mut self, wanted: &str) -> ParseResult<Side> {
        self.blanks();
        let at = self.at;
        let rest = &self.text[at..];
        match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => return self.quoted(quote),
            Some(first) if first.is_alphanumeric() || "_-+".contains(first) => {}
            found => {
                let found = found.map_or("the end".to_owned(), |found| format!("`{}`", found.escape_debug()));
                return Err(fault(
                    at,
                    format!("expected {wanted}, found {found}"),
                    "compare a name with a value, as in `state == done`",
                ));
            }
        }
        let length = rest.find(|c: char| !(c.is_alphanumeric() || "_-+.".contains(c))).unwrap_or(rest.len());
        let word = &rest[..length];
        self.at += length;
        let literal = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => match word.parse::<i64>() {
                Ok(number) => Value::from(number),
                Err(_) => return self.path(at, word),
            },
        };
        Ok(Side::Literal(literal))
    }

    fn path(&self, at: usize, word: &str) -> ParseResult<Side> {
        let segments: Vec<String> = word.split('.').map(str::to_owned).collect();
        let is_name = |segment: &String| segment.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
        if !segments.iter().all(is_name) {
            let help = "write a name with letters, digits, `_` and `-`, with dots between its parts; write other text in quotes";
            return Err(fault(at, format!("{} is neither a name nor a whole number", quoted(word)), help));
        }
        Ok(Side::Path(segments))
    }

    fn quoted(&mut self, quote: char) -> ParseResult<Side> {
        let open = self.at;
        let mut text = String::new();
        let mut escaped = false;
        for (offset, c) in self.text[open + 1..].char_indices() {
            match c {
                _ if escaped => {
                    text.push(c);
                    escaped = false;
                }
                '\\' => escaped = true,
                _ if c == quote => {
                    self.at = open + 1 + offset + c.len_utf8();
                    return Ok(Side::Literal(Value::String(text)));
                }
                _ => text.push(c),
            }
        }
        Err(fault(open, "the text is not closed", format!("write `{quote}` at its end")))
    }
}

fn single(mut parts: Vec<Truth>, join: impl Fn(Vec<Truth>) -> Truth) -> Truth {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            join(parts)
        }
    }
}

fn fault(at: usize, message: impl Into<String>, help: impl Into<String>) -> ParseFault {
    ParseFault { message: message.into(), help: Some(help.into()), offset: Some(at), code: None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn verdicts(data: &Value, conditions: &[&str]) -> Vec<bool> {
        let verdict =
            |text: &&str| When::parse(text).unwrap_or_else(|fault| panic!("{text}: {fault}")).eval(&Scope::of(data));
        conditions.iter().map(verdict).collect()
    }

    fn all(data: &Value, conditions: &[&str], expected: bool) {
        for (condition, verdict) in conditions.iter().zip(verdicts(data, conditions)) {
            assert_eq!(verdict, expected, "{condition}");
        }
    }

    #[test]
    fn what_holds_and_what_does_not() {
        let data = json!({"state": "done", "n": 3, "text": "7", "empty": "", "nil": null, "yes": true, "a": {"b": {"c": -1}}, "one": 1.0});
        let hold = [
            "state == done",
            "state == 'done'",
            "state == \"done\"",
            "state != open",
            "n == 3",
            "n >= 3 && n <= 3",
            "n > -1",
            "text > 6",
            "a.b.c == -1",
            "a.b.c < 0",
            "nil == null",
            "yes",
            "yes == true",
            "!empty",
            "!nil",
            "!missing",
            "(yes || missing) && n == 3",
            "!(n == 4)",
            "!!yes",
            "missing != null",
            "missing != anything",
            "one == 1",
            "yes||n==4",
            "a",
        ];
        all(&data, &hold, true);
        let fail = [
            "missing",
            "missing == null",
            "missing > 0",
            "missing < 0",
            "state == DONE",
            "n == '3'",
            "text == 7",
            "nil > -1",
            "empty >= 0",
            "state > 1",
            "a.b.c.d == -1",
            "a.x.c == -1",
            "yes == 'true'",
            "!yes",
            "n == 3 && yes && missing",
        ];
        all(&data, &fail, false);
    }

    #[test]
    fn a_word_on_the_right_is_no_name() {
        let names = |text: &str| When::parse(text).expect("it can be read").names().join(" ");
        assert_eq!(names("(b.c == open || !a) && b.d > 1 && true"), "a b");
        assert_eq!(names("true"), "");
    }

    #[test]
    fn a_fault_says_where_it_is() {
        let cases = [
            ("a && b || c", 7, "`&&` and `||` are mixed without parentheses"),
            ("a || b && c", 2, "`&&` and `||` are mixed without parentheses"),
            ("", 0, "expected a name, found the end"),
            ("a == ", 5, "expected a value, found the end"),
            ("a = b", 2, "`=` is not allowed here"),
            ("(a", 0, "the parenthesis is not closed"),
            ("é == 'x", 6, "the text is not closed"),
            ("a == b c", 7, "`c` is not allowed here"),
            ("a == 1.5", 5, "`1.5` is neither a name nor a whole number"),
            ("a..b", 0, "`a..b` is neither a name nor a whole number"),
            ("a && ~b", 5, "expected a name, found `~`"),
        ];
        for (text, offset, message) in cases {
            let fault = When::parse(text).expect_err(text);
            assert_eq!((fault.offset, fault.message.as_str()), (Some(offset), message), "{text}");
        }
        for text in ["(".repeat(MAX_EXPRESSION_BYTES), "!".repeat(2_000), "a".repeat(MAX_EXPRESSION_BYTES + 1)] {
            assert!(When::parse(&text).is_err());
        }
    }
}
