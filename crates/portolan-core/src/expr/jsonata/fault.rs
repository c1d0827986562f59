//! Translates the library's errors to our messages, with the place of a syntax fault.

use jsonata_core::evaluator::EvaluatorError;
use jsonata_core::parser::ParserError;

use super::EvaluationLimits;
use super::place::{first_token, place};
use super::quoted;
use crate::expr::{EvalFault, ParseFault};

/// The prefix of the message of a limit of ours; no code of the library has it.
pub(super) const BOUND: &str = "BOUND: ";

pub(super) fn unreadable(text: &str, error: &ParserError) -> ParseFault {
    let raw = error.to_string();
    let (mut code, message) = split(&raw);
    if matches!(error, ParserError::UnclosedComment) {
        code = Some("S0106".to_owned());
    }
    let offset = place(text, error);
    let message = worded(error, code.as_deref(), text.get(offset..).unwrap_or_default())
        .unwrap_or_else(|| lower_first(message.trim_start_matches("Invalid syntax: ").trim_end_matches('.')));
    ParseFault { message, help: help(code.as_deref()), offset: Some(offset), code }
}

/// Replaces the library's names of tokens with the user's; `rest` begins at the fault.
fn worded(error: &ParserError, code: Option<&str>, rest: &str) -> Option<String> {
    let found = || quoted(first_token(rest));
    match (error, code) {
        (ParserError::Expected { expected, found, .. }, _) if found == "Eof" => {
            Some(format!("{} is missing at the end of the expression", symbol(expected)))
        }
        (ParserError::Expected { expected, .. }, _) => {
            Some(format!("found {}, expected {}", found(), symbol(expected)))
        }
        (ParserError::UnexpectedEnd, _) => Some("the expression ends too early".to_owned()),
        (_, Some("S0201")) => Some(format!("{} is not allowed here", found())),
        (_, Some("S0207")) => Some("the expression ends too early".to_owned()),
        (_, Some("S0211")) => Some(format!("found {}, expected a value", found())),
        _ => None,
    }
}

/// Returns a token as it is written.
fn symbol(name: &str) -> String {
    let symbol = match name {
        "LeftParen" => "(",
        "RightParen" => ")",
        "LeftBracket" => "[",
        "RightBracket" => "]",
        "LeftBrace" => "{",
        "RightBrace" => "}",
        "Colon" => ":",
        "Comma" => ",",
        "Semicolon" => ";",
        "Pipe" => "|",
        other => return lower_first(other),
    };
    format!("`{symbol}`")
}

fn help(code: Option<&str>) -> Option<String> {
    let help = match code? {
        "S0101" => "close the text with the quote that opened it",
        "S0105" => "close the name with a backtick",
        "S0106" => "close the comment with `*/`",
        "S0203" | "S0207" => "add what is missing at the end: a value, or a closing bracket",
        "S0213" => "a number or text is not allowed after a dot; write an index as `[0]`",
        _ => return None,
    };
    Some(help.to_owned())
}

/// Splits `T2001: message` into its code and the message; the code may be inside the text.
pub(super) fn split(text: &str) -> (Option<String>, &str) {
    let is_code = |word: &str| {
        let bytes = word.as_bytes();
        bytes.len() == 5 && b"SDTU".contains(&bytes[0]) && bytes[1..].iter().all(u8::is_ascii_digit)
    };
    for (at, _) in text.match_indices(": ") {
        if let Some(code) = text.get(at.saturating_sub(5)..at).filter(|code| is_code(code)) {
            return (Some(code.to_owned()), &text[at + 2..]);
        }
    }
    (None, text)
}

/// Makes the fault of a failed evaluation; `in_eval` is whether it failed inside the text of an `$eval`.
pub(super) fn failed(error: &EvaluatorError, expression: &str, limits: &EvaluationLimits, in_eval: bool) -> EvalFault {
    let raw = error.message();
    if let Some(message) = raw.strip_prefix(BOUND) {
        return EvalFault::bounds(message, expression);
    }
    let (code, message) = split(raw);
    if let Some((_, why)) = message.rsplit_once("\nerror: ") {
        return EvalFault::error(format!("a regular expression is not valid: {}", why.trim()), expression);
    }
    match code.as_deref() {
        Some("D1011" | "U1001") => {
            EvalFault::bounds(format!("it nests deeper than {} levels", limits.depth), expression)
        }
        Some("D1012") => EvalFault::bounds(format!("it takes longer than {} ms", limits.time_ms), expression),
        Some("D2014" | "D2015") => {
            EvalFault::bounds(format!("it makes a sequence of more than {} items", limits.items), expression)
        }
        // The author's own words.
        Some("D3137" | "D3141") | None => EvalFault::error(message, expression),
        Some("T1005" | "T1006") if in_eval => EvalFault::error(format!("{message} (D3121)"), expression),
        Some(code) => EvalFault::error(format!("{message} ({code})"), expression),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
