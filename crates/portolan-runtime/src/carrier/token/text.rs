//! The outer form of a token: `v1.gzB64.` and base64. Each sequence of bytes has exactly one text. The fault of any
//! other text names the most likely cause. Knows nothing of the meaning of the bytes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::fault::{Code, TokenFault};

/// The prefix of every token.
pub(super) const PREFIX: &str = "v1.gzB64.";
const VERSION: &str = "v1";
const ENCODING: &str = "gzB64";

/// The maximum length of a token. A longer text is not even decoded.
pub(super) const MAX_CHARS: usize = 64 * 1024;

/// Returns the text of these bytes.
pub(super) fn write(bytes: &[u8]) -> Result<String, TokenFault> {
    let chars = PREFIX.len() + bytes.len().div_ceil(3) * 4;
    if chars > MAX_CHARS {
        return Err(too_large(format_args!("a token of {chars} characters"), format_args!("{MAX_CHARS} characters")));
    }
    let mut text = String::with_capacity(chars);
    text.push_str(PREFIX);
    BASE64.encode_string(bytes, &mut text);
    Ok(text)
}

/// Returns the bytes of a text.
pub(super) fn read(text: &str) -> Result<Vec<u8>, TokenFault> {
    if text.len() > MAX_CHARS {
        let bytes = text.len();
        return Err(TokenFault::damaged(format_args!("has {bytes} bytes, but a token has at most {MAX_CHARS}")));
    }
    if text.is_empty() {
        return Err(TokenFault::damaged("is empty"));
    }
    if let Some(at) = text.chars().position(char::is_whitespace) {
        return Err(TokenFault::damaged(format_args!("has a space or a line break at character {}", at + 1)));
    }
    let payload = text.strip_prefix(PREFIX).ok_or_else(|| misbegun(text))?;
    alphabet(payload)?;
    padding(payload)?;
    BASE64
        .decode(payload)
        .map_err(|_| TokenFault::damaged("ends in a character that no token can end in: it was changed"))
}

pub(super) fn too_large(is: impl fmt::Display, limit: impl fmt::Display) -> TokenFault {
    let help = "keep the run in the store and refer to it by its handle, or keep less in its state";
    TokenFault::new(Code::TooLarge, format!("the run's state needs {is}, but a token is limited to {limit}"), help)
}

/// Returns the fault of a text without the prefix.
fn misbegun(text: &str) -> TokenFault {
    let mut parts = text.splitn(3, '.');
    let (version, encoding, rest) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    if version != VERSION && is_version(version) && encoding.is_some() {
        return TokenFault::unsupported(format_args!("has version `{version}`, but this release reads `{VERSION}`"));
    }
    match (version, encoding, rest) {
        (VERSION, Some(word), Some(_)) if word != ENCODING && is_word(word) => {
            TokenFault::unsupported(format_args!("is encoded as `{word}`, but this release reads `{ENCODING}`"))
        }
        _ if PREFIX.starts_with(text) => TokenFault::damaged("is cut off within its prefix"),
        _ => TokenFault::damaged(format_args!("does not begin with `{PREFIX}`")),
    }
}

/// Checks for `v` and a number of few digits.
fn is_version(text: &str) -> bool {
    let digits = text.strip_prefix('v').unwrap_or_default();
    (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0')
}

fn is_word(text: &str) -> bool {
    (1..=16).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Checks that every character is standard base64, with padding only at the end.
fn alphabet(payload: &str) -> Result<(), TokenFault> {
    let body = payload.trim_end_matches('=');
    let is_ours = |letter: char| letter.is_ascii_alphanumeric() || letter == '+' || letter == '/';
    let Some((at, letter)) = body.chars().enumerate().find(|(_, letter)| !is_ours(*letter)) else { return Ok(()) };
    let at = PREFIX.len() + at + 1;
    Err(match letter {
        '-' | '_' => TokenFault::damaged(format_args!(
            "has `{letter}` at character {at}, which belongs to the URL-safe alphabet: it was re-encoded"
        )),
        '=' => TokenFault::damaged(format_args!(
            "has `=` at character {at} with more text after it: something was appended"
        )),
        '.' => TokenFault::damaged(format_args!("has another `.` at character {at}")),
        _ => {
            TokenFault::damaged(format_args!("has `{}` at character {at}, which is not base64", letter.escape_debug()))
        }
    })
}

/// Checks that the padding fills the last group of four exactly.
fn padding(payload: &str) -> Result<(), TokenFault> {
    let letters = payload.trim_end_matches('=').len();
    let is = payload.len() - letters;
    match (letters % 4, is) {
        (0, 0) if letters == 0 => Err(TokenFault::damaged(format_args!("ends behind `{PREFIX}`"))),
        (0, 0) | (2, 2) | (3, 1) => Ok(()),
        (1, _) => Err(TokenFault::damaged("has a length that is impossible in base64: it was cut off or changed")),
        (0, 1..) | (2, 3..) | (3, 2..) => Err(TokenFault::damaged("has too many `=` at its end")),
        _ => Err(TokenFault::damaged("lacks `=` at its end: it was cut off, or its padding was removed")),
    }
}
