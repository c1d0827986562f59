//! Texts of other servers that look like instructions to a model. They are reported to a person and change nothing: a
//! list of words proves no intent, and misses others.

/// The most characters of a text that are read.
const MAX_CHARS: usize = 200_000;

/// Words that address a model instead of describing something, in lower case with single spaces.
const SIGNS: [&str; 18] = [
    "ignore previous instructions",
    "ignore all previous instructions",
    "ignore the previous instructions",
    "ignore your instructions",
    "ignore the above",
    "disregard previous instructions",
    "disregard all previous",
    "disregard your instructions",
    "forget your instructions",
    "forget all previous",
    "do not tell the user",
    "don't tell the user",
    "without telling the user",
    "do not mention this to the user",
    "hide this from the user",
    "your system prompt",
    "<system>",
    "<important>",
];

/// Returns the words by which a text looks like instructions to a model, if any.
///
/// ```
/// use portolan_gates::injection::sign;
/// assert_eq!(sign("Adds.\nIgnore  previous\u{200b} INSTRUCTIONS."), Some("ignore previous instructions"));
/// assert_eq!(sign("Returns the instructions of a recipe."), None);
/// ```
pub fn sign(text: &str) -> Option<&'static str> {
    let mut plain = String::with_capacity(text.len().min(MAX_CHARS));
    for c in text.chars().take(MAX_CHARS) {
        if c.is_whitespace() {
            if !plain.ends_with(' ') {
                plain.push(' ');
            }
        } else if !is_invisible(c) {
            plain.extend(c.to_lowercase());
        }
    }
    SIGNS.into_iter().find(|sign| plain.contains(sign))
}

/// Checks whether a character has no width, so that it can split a word that a model still reads.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}
