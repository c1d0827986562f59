//! Splits the text of an expression into names, literals and signs with their places.

use super::fault;
use super::number::without_underscores;
use super::parse::ParseResult;
use super::value::Val;
use crate::expr::jsonata::quoted;

/// What a token is; its text is at its place.
pub(super) enum Kind {
    Name,
    Literal(Val),
    Sign,
    End,
}

/// A token and its byte range.
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: usize,
    pub(super) end: usize,
}

/// The signs of more than one character, the longest first.
const LONG_SIGNS: &[&str] = &["...", "**", "//", "==", "!=", "<=", ">=", ":=", "<<", ">>", "->"];
/// The signs of one character.
const SHORT_SIGNS: &str = "+-*/%()[]{},:.<>=@&|^~;";

/// The letters that a string can have before its quote.
const PREFIXES: &[&str] = &["", "r", "u", "b", "br", "rb", "f", "fr", "rf", "t", "tr", "rt"];

/// Returns the tokens of a text; the last is [`Kind::End`].
pub(super) fn tokens(text: &str) -> ParseResult<Vec<Token>> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        at += blanks(&text[at..]);
        let (kind, length) = next(text, at)?;
        let is_last = matches!(kind, Kind::End);
        found.push(Token { kind, at, end: at + length });
        at += length;
        if is_last {
            return Ok(found);
        }
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

/// Reads the token at `at`, and returns its length in bytes.
fn next(text: &str, at: usize) -> ParseResult<(Kind, usize)> {
    let rest = &text[at..];
    let Some(first) = rest.chars().next() else { return Ok((Kind::End, 0)) };
    if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
        return number(rest, at);
    }
    let name = name(rest);
    if rest[name..].starts_with(['\'', '"']) && PREFIXES.contains(&rest[..name].to_ascii_lowercase().as_str()) {
        return string(text, at, name);
    }
    match &rest[..name] {
        "" => {}
        "None" => return Ok((Kind::Literal(Val::None), name)),
        "True" => return Ok((Kind::Literal(Val::Bool(true)), name)),
        "False" => return Ok((Kind::Literal(Val::Bool(false)), name)),
        _ => return Ok((Kind::Name, name)),
    }
    if let Some(sign) = LONG_SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        return Ok((Kind::Sign, sign.len()));
    }
    if SHORT_SIGNS.contains(first) {
        return Ok((Kind::Sign, 1));
    }
    let help = match first {
        '!' => "write `not` for the opposite and `!=` for unequal",
        '$' => "write the name without `$`: `output`",
        '“' | '”' | '‘' | '’' => "write text in straight quotes",
        _ => "write a Python expression",
    };
    Err(fault(at, format!("{} is not a valid character in Python", quoted(&first.to_string())), help))
}

/// Returns the length of the run of letters, digits and `_`.
fn name(rest: &str) -> usize {
    rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())
}

/// Reads the string at `at`, after a prefix of this length.
fn string(text: &str, at: usize, prefix: usize) -> ParseResult<(Kind, usize)> {
    let open = at + prefix;
    let letters = text[at..open].to_ascii_lowercase();
    if letters.contains('b') {
        return Err(fault(at, "bytes are not supported", "JSON has no bytes: write plain text"));
    }
    if letters.contains(['f', 't']) {
        let message = format!("text with embedded values is not supported: `{letters}'…'`");
        return Err(fault(at, message, "join the parts with `+`, with `str(…)` around what is not text"));
    }
    let is_raw = letters == "r";
    let quotes = ["'''", "\"\"\"", "'", "\""];
    let quote = quotes.into_iter().find(|quote| text[open..].starts_with(quote)).unwrap_or("'");
    let mut read = String::new();
    let mut here = open + quote.len();
    loop {
        let rest = &text[here..];
        if rest.starts_with(quote) {
            return Ok((Kind::Literal(Val::text(read)), here + quote.len() - at));
        }
        here += match rest.chars().next() {
            None => return Err(unclosed(at, quote)),
            Some('\n') if quote.len() == 1 => return Err(unclosed(at, quote)),
            // A quote after the backslash does not close the string, and both characters belong to it.
            Some('\\') if is_raw => {
                let length = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                read.push_str(&rest[..length]);
                length
            }
            Some('\\') => escape(rest, here, &mut read)?,
            Some(c) => {
                read.push(c);
                c.len_utf8()
            }
        }
    }
}

fn unclosed(at: usize, quote: &str) -> super::ParseFault {
    fault(at, "the text is not closed", format!("write `{quote}` at its end"))
}

/// Reads an escape at the beginning of `rest`, and returns its length in bytes.
fn escape(rest: &str, at: usize, read: &mut String) -> ParseResult<usize> {
    let Some(letter) = rest[1..].chars().next() else { return Ok(1) };
    let plain = match letter {
        '\n' => return Ok(2),
        '\\' | '\'' | '"' => letter,
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'x' => return character(rest, at, 2, read),
        'u' => return character(rest, at, 4, read),
        'U' => return character(rest, at, 8, read),
        other => {
            let help = match other {
                'a' | 'b' | 'f' | 'v' | 'N' | '0'..='7' => "write it as in `\\x1f` or `\\u2028`".to_owned(),
                _ => format!("write `\\\\{other}` for a backslash, or `r'…'` around all of the text"),
            };
            return Err(fault(at, format!("`\\{}` is not a supported escape", other.escape_debug()), help));
        }
    };
    read.push(plain);
    Ok(2)
}

/// Reads a character that is written as `wanted` hexadecimal digits.
fn character(rest: &str, at: usize, wanted: usize, read: &mut String) -> ParseResult<usize> {
    let length = 2 + rest[2..].bytes().take(wanted).take_while(u8::is_ascii_hexdigit).count();
    let (shown, digits) = (quoted(&rest[..length]), &rest[2..length]);
    if digits.len() < wanted {
        return Err(fault(at, format!("{shown} has too few digits"), format!("write {wanted} digits")));
    }
    match u32::from_str_radix(digits, 16).ok().and_then(char::from_u32) {
        Some(c) => read.push(c),
        None => return Err(fault(at, format!("{shown} is not a character"), "write the character itself")),
    }
    Ok(length)
}

/// Reads the decimal number at `at`, and returns its length in bytes.
fn number(rest: &str, at: usize) -> ParseResult<(Kind, usize)> {
    let run = |from: usize| {
        let rest = &rest[from..];
        from + rest.find(|c: char| !(c.is_alphanumeric() || "_.".contains(c))).unwrap_or(rest.len())
    };
    let mut end = run(0);
    if rest[..end].ends_with(['e', 'E']) && rest[end..].starts_with(['+', '-']) {
        end = run(end + 1);
    }
    let shown = &rest[..end];
    let ill = |why: &str| Err(fault(at, format!("{} is not a number", quoted(shown)), why));
    let Some(digits) = without_underscores(shown) else { return ill("write `_` only between digits") };
    if !digits.bytes().all(|b| b.is_ascii_digit() || b".eE+-".contains(&b)) {
        return ill("write a decimal number, and a blank between it and a name");
    }
    if digits.contains(['.', 'e', 'E']) {
        return match digits.parse() {
            Ok(float) => Ok((Kind::Literal(Val::Float(float)), end)),
            Err(_) => ill("write it as in `1.5e3`"),
        };
    }
    if digits.starts_with('0') && digits.contains(|c| c != '0') {
        return ill("leave out the leading zeros");
    }
    match digits.parse() {
        Ok(int) => Ok((Kind::Literal(Val::Int(int)), end)),
        Err(_) => ill("it is too large for a whole number: write it as a float, as in `1e40`"),
    }
}
