//! Parses number and string literals.

use super::fault;
use super::token::{Token, is_name};
use crate::expr::ParseFault;
use crate::expr::jsonata::quoted;

/// The beginning of a string literal.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    /// The number of letters before the quote.
    prefix: usize,
    /// `'`, `"`, `'''` or `"""`.
    quote: &'static str,
    raw: bool,
    /// The letter of a literal that is not a plain string: `b`, `f` or `t`.
    kind: Option<char>,
}

/// Returns the beginning of a string literal if `rest` starts with one.
pub(super) fn opening(rest: &str) -> Option<Opening> {
    let prefix = rest.bytes().take(2).take_while(u8::is_ascii_alphabetic).count();
    let letters = rest[..prefix].to_ascii_lowercase();
    if !matches!(letters.as_str(), "" | "r" | "u" | "b" | "f" | "t" | "br" | "rb" | "fr" | "rf" | "tr" | "rt") {
        return None;
    }
    let quote = ["'''", "\"\"\"", "'", "\""].into_iter().find(|quote| rest[prefix..].starts_with(quote))?;
    let kind = letters.chars().find(|letter| "bft".contains(*letter));
    Some(Opening { prefix, quote, raw: letters.contains('r'), kind })
}

/// Reads the string at `at`, and returns its length in bytes with its quotes.
pub(super) fn text(text: &str, at: usize, opening: Opening) -> Result<(String, usize), ParseFault> {
    match opening.kind {
        Some('b') => return Err(fault(at, "bytes are not supported", "JSON has no bytes: write plain text")),
        Some(letter) => {
            let help = "join the parts with `+`, with `str(…)` around what is not text";
            return Err(fault(at, format!("text with embedded values is not supported: `{letter}'…'`"), help));
        }
        None => {}
    }
    let open = at + opening.prefix + opening.quote.len();
    let mut read = String::new();
    let mut here = open;
    loop {
        let rest = &text[here..];
        if rest.starts_with(opening.quote) {
            return Ok((read, here + opening.quote.len() - at));
        }
        let single = opening.quote.len() == 1;
        match rest.chars().next() {
            None => return Err(unclosed(at, opening.quote)),
            Some('\n') if single => return Err(unclosed(at, opening.quote)),
            Some('\\') if opening.raw => {
                // A quote after the backslash does not close the string, and both characters belong to it.
                let length = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                read.push_str(&rest[..length]);
                here += length;
            }
            Some('\\') => here += escape(rest, here, &mut read)?,
            Some(c) => {
                read.push(c);
                here += c.len_utf8();
            }
        }
    }
}

fn unclosed(at: usize, quote: &str) -> ParseFault {
    fault(at, "the text is not closed", format!("write `{quote}` at its end"))
}

/// Reads an escape at the beginning of `rest`, and returns its length in bytes.
fn escape(rest: &str, at: usize, read: &mut String) -> Result<usize, ParseFault> {
    let Some(letter) = rest[1..].chars().next() else { return Ok(1) };
    let plain = match letter {
        '\n' => return Ok(2),
        '\\' | '\'' | '"' => letter,
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        '0'..='7' => return octal(rest, at, read),
        'x' => return hexadecimal(rest, at, 2, read),
        'u' => return hexadecimal(rest, at, 4, read),
        'U' => return hexadecimal(rest, at, 8, read),
        'N' => {
            return Err(fault(at, "characters by name are not supported", "write the character itself"));
        }
        // Python keeps the backslash of an unknown escape, and warns.
        other => {
            let help = format!("write `\\\\{other}` for a backslash, or `r'…'` around all of the text");
            return Err(fault(at, format!("`\\{}` is not an escape", other.escape_debug()), help));
        }
    };
    read.push(plain);
    Ok(2)
}

fn octal(rest: &str, at: usize, read: &mut String) -> Result<usize, ParseFault> {
    let digits = rest[1..].bytes().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
    character(&rest[1..=digits], 8, at, read)?;
    Ok(1 + digits)
}

fn hexadecimal(rest: &str, at: usize, wanted: usize, read: &mut String) -> Result<usize, ParseFault> {
    let digits = rest[2..].bytes().take(wanted).take_while(u8::is_ascii_hexdigit).count();
    if digits < wanted {
        let shown = quoted(&rest[..2 + digits]);
        return Err(fault(at, format!("{shown} has too few digits"), format!("write {wanted} digits")));
    }
    character(&rest[2..2 + digits], 16, at, read)?;
    Ok(2 + digits)
}

fn character(digits: &str, radix: u32, at: usize, read: &mut String) -> Result<(), ParseFault> {
    match u32::from_str_radix(digits, radix).ok().and_then(char::from_u32) {
        Some(c) => {
            read.push(c);
            Ok(())
        }
        None => Err(fault(at, format!("`{digits}` is not the number of a character"), "write the character itself")),
    }
}

/// Reads the number at `at`, and returns its length in bytes.
pub(super) fn number(text: &str, at: usize) -> Result<(Token<'static>, usize), ParseFault> {
    let rest = &text[at..];
    let radix = match rest.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => 10,
    };
    let (length, is_float) = if radix == 10 { extent(rest) } else { (word(rest), false) };
    let shown = &rest[..length];
    let ill = |why: &str| fault(at, format!("{} is not a number", quoted(shown)), why.to_owned());
    if rest[length..].starts_with(is_name) {
        let whole = &rest[..length + word(&rest[length..])];
        let help = if whole.ends_with(['j', 'J']) { "JSON has no imaginary numbers" } else { "put a space after it" };
        return Err(fault(at, format!("{} is not a number", quoted(whole)), help));
    }
    let digits = if radix == 10 { shown } else { &shown[2..] };
    if !is_separated(digits, radix) {
        return Err(ill("write `_` only between digits"));
    }
    let digits: String = digits.chars().filter(|c| *c != '_').collect();
    if is_float {
        return digits.parse().map(|float| (Token::Float(float), length)).map_err(|_| ill("write it as in `1.5e3`"));
    }
    if radix == 10 && digits.starts_with('0') && digits.contains(|c| c != '0') {
        return Err(ill("leave out the leading zeros"));
    }
    match i128::from_str_radix(&digits, radix) {
        Ok(int) => Ok((Token::Int(int), length)),
        Err(_) if digits.bytes().all(|b| char::from(b).is_digit(radix)) && !digits.is_empty() => {
            let message = format!("{} is too large for a whole number", quoted(shown));
            Err(fault(at, message, "write it as a float, as in `1e40`"))
        }
        Err(_) => Err(ill("write digits")),
    }
}

/// Returns the length of the run of letters, digits and `_`.
fn word(rest: &str) -> usize {
    rest.find(|c| !is_name(c)).unwrap_or(rest.len())
}

/// Returns the length of a decimal number, and whether it has a point or an exponent.
fn extent(rest: &str) -> (usize, bool) {
    let digits = |from: usize| {
        let rest = &rest[from..];
        from + rest.find(|c: char| !(c.is_ascii_digit() || c == '_')).unwrap_or(rest.len())
    };
    let whole = digits(0);
    let mut end = whole;
    if rest[end..].starts_with('.') {
        end = digits(end + 1);
    }
    if rest[end..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
        let from = end + 1 + sign;
        if rest[from..].starts_with(|c: char| c.is_ascii_digit()) {
            end = digits(from);
        }
    }
    (end, end > whole)
}

/// Checks that each `_` is between two digits; after `0x` and the like it may come first.
fn is_separated(digits: &str, radix: u32) -> bool {
    let bytes = digits.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_hexdigit);
    let between = |at: usize| is_digit(Some(at + 1)) && (is_digit(at.checked_sub(1)) || (at == 0 && radix != 10));
    bytes.iter().enumerate().all(|(at, byte)| *byte != b'_' || between(at))
}
