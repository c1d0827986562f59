//! Locates a syntax fault. The library does not report its place, so the text is parsed again up to each of its tokens.
//! The fault is at the first token after which no continuation can fix it.

use jsonata_core::parser::{ParserError, parse};

use super::fault::split;

/// Returns the byte offset of the fault in a text.
pub(super) fn place(text: &str, error: &ParserError) -> usize {
    let tokens = tokens(text);
    if is_unfinished(error) {
        return match tokens.last() {
            Some(last) if !last.closed => last.start,
            _ => text.trim_end().len(),
        };
    }
    // If a prefix cannot be fixed, no longer prefix can. So a binary search finds the first.
    let mendable = |end: usize| parse(&text[..end]).map_or_else(|error| is_unfinished(&error), |_| true);
    let wrong = tokens.partition_point(|token| mendable(token.end));
    tokens.get(wrong).map_or(text.trim_end().len(), |token| token.start)
}

/// Returns the first token of a text.
pub(super) fn first_token(text: &str) -> &str {
    tokens(text).first().map_or("", |token| &text[token.start..token.end])
}

/// Checks whether the text may only be incomplete.
fn is_unfinished(error: &ParserError) -> bool {
    match error {
        ParserError::UnexpectedEnd
        | ParserError::UnclosedString
        | ParserError::UnclosedComment
        | ParserError::UnclosedBacktick => true,
        ParserError::UnexpectedToken(found) | ParserError::Expected { found, .. } => found == "Eof",
        _ => matches!(split(&error.to_string()).0.as_deref(), Some("S0203" | "S0207" | "S0302")),
    }
}

struct Token {
    start: usize,
    end: usize,
    /// Whether a string, name or comment is closed.
    closed: bool,
}

/// Returns the tokens of a text, roughly: a regular expression is split into several, which is harmless.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        let rest = &text[start..];
        let (length, closed) = match first {
            '"' | '\'' => delimited(rest, first),
            '`' => until(rest, 1, "`"),
            '/' if rest.starts_with("/*") => until(rest, 2, "*/"),
            c if is_word(c) => (rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()), true),
            c => (operator(rest).unwrap_or(c.len_utf8()), true),
        };
        if !first.is_whitespace() {
            tokens.push(Token { start, end: start + length, closed });
        }
        start += length;
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || "_$".contains(c)
}

fn operator(rest: &str) -> Option<usize> {
    let operators = ["..", ":=", "!=", ">=", "<=", "**", "~>", "?:", "??"];
    operators.iter().find(|operator| rest.starts_with(**operator)).map(|operator| operator.len())
}

fn delimited(rest: &str, quote: char) -> (usize, bool) {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return (at + 1, true),
            _ => {}
        }
    }
    (rest.len(), false)
}

fn until(rest: &str, from: usize, end: &str) -> (usize, bool) {
    rest[from..].find(end).map_or((rest.len(), false), |at| (from + at + end.len(), true))
}

#[cfg(test)]
mod tests {
    use crate::expr::Jsonata;

    /// Returns the text with `^` at the fault.
    fn marked(text: &str) -> String {
        let fault = Jsonata::parse(text).expect_err(text);
        let offset = fault.offset.expect("a place");
        format!("{}^{}", &text[..offset], &text[offset..])
    }

    #[test]
    fn a_fault_has_its_place() {
        for wanted in [
            "$sum(items.(price * ^))",
            "a +^ ",
            "a ^) + b",
            "[1, 2^",
            "{\"a\" ^1}",
            "orders[price > ^]",
            "é & ^\"open",
            "$x := 1 ^2",
            "a.^`name",
            "a ^/* open",
            "(1; 2^",
            "1 ~> * ^2",
        ] {
            assert_eq!(marked(&wanted.replace('^', "")), wanted);
        }
    }
}
