//! Splits the text of an expression into names, numbers, strings and signs with their places.

use super::fault;
use super::literal;
use crate::expr::ParseFault;
use crate::expr::jsonata::quoted;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'t> {
    Name(&'t str),
    Int(i128),
    Float(f64),
    Text(String),
    Sign(&'static str),
    End,
}

/// A token and its byte range.
#[derive(Clone, Debug)]
pub(super) struct PlacedToken<'t> {
    pub(super) token: Token<'t>,
    pub(super) at: usize,
    pub(super) end: usize,
}

/// The longest first, so that `**` does not become two tokens.
const SIGNS: &[&str] = &[
    "...", "**", "//", "==", "!=", "<=", ">=", ":=", "<<", ">>", "->", "+", "-", "*", "/", "%", "(", ")", "[", "]",
    "{", "}", ",", ":", ".", "<", ">", "=", "@", "&", "|", "^", "~", ";",
];

/// Returns the tokens of a text; the last is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<PlacedToken<'_>>, ParseFault> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        at += blanks(&text[at..]);
        let (token, length) = next(text, at)?;
        found.push(PlacedToken { token, at, end: at + length });
        if length == 0 {
            return Ok(found);
        }
        at += length;
    }
}

/// Returns the length of leading blanks and comments. A line may end anywhere, since files may fold expressions.
fn blanks(rest: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = &rest[at..];
        at += match rest.as_bytes() {
            [b' ' | b'\t' | b'\n' | b'\r' | b'\x0c', ..] => 1,
            [b'\\', b'\n', ..] => 2,
            [b'\\', b'\r', b'\n', ..] => 3,
            [b'#', ..] => rest.find('\n').unwrap_or(rest.len()),
            _ => return at,
        };
    }
}

fn next(text: &str, at: usize) -> Result<(Token<'_>, usize), ParseFault> {
    let rest = &text[at..];
    let Some(first) = rest.chars().next() else { return Ok((Token::End, 0)) };
    if let Some(opening) = literal::opening(rest) {
        return literal::text(text, at, opening).map(|(text, length)| (Token::Text(text), length));
    }
    if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
        return literal::number(text, at);
    }
    if is_name_start(first) {
        let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        return Ok((Token::Name(&rest[..length]), length));
    }
    match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        Some(sign) => Ok((Token::Sign(sign), sign.len())),
        None => {
            let help = match first {
                '!' => "write `not` for the opposite and `!=` for unequal",
                '$' => "write the name without `$`: `output`",
                '“' | '”' | '‘' | '’' => "write text in straight quotes",
                _ => "write a Python expression",
            };
            Err(fault(at, format!("{} is not a valid character in Python", quoted(&first.to_string())), help))
        }
    }
}

/// Checks whether a name can begin with the character.
fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Checks whether a name can contain the character.
pub(super) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl Token<'_> {
    /// Formats the token for a message.
    pub(super) fn shown(&self, text: &str, place: &PlacedToken<'_>) -> String {
        match self {
            Token::End => "the end".to_owned(),
            _ => quoted(&text[place.at..place.end]),
        }
    }
}
