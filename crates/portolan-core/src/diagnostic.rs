//! A finding about a definition, as data: code, severity, message, place, help. Faces render it.

use serde::Serialize;

use crate::source::Span;

/// Whether a definition with this finding can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It cannot be used.
    Error,
    /// It can be used, but a part of it does not do what it seems to.
    Warning,
}

/// A finding. All findings of a file are reported together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// A stable identifier such as `unknown-node`; `docs/diagnostics.md` has a paragraph for each.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// One lower-case sentence with the user's words in backticks.
    pub message: String,
    /// Its place; `None` if it concerns the whole file.
    pub span: Option<Span>,
    /// How to fix it.
    pub help: Option<String>,
    /// The repair in lenient mode; an error without one stays an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<&'static str>,
}

/// The documentation of a diagnostic code.
#[derive(Debug)]
pub struct Code {
    /// The code.
    pub code: &'static str,
    /// The problem, and why it matters.
    pub what: &'static str,
    /// How to fix it.
    pub fix: &'static str,
}

impl Diagnostic {
    /// Makes an error without place or help.
    pub fn error(code: &'static str, message: impl Into<String>) -> Diagnostic {
        let message = one_line(message.into());
        Diagnostic { code, severity: Severity::Error, message, span: None, help: None, repair: None }
    }

    /// Makes a warning without place or help.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, message) }
    }

    /// Sets the place.
    #[must_use]
    pub fn at(mut self, span: Span) -> Diagnostic {
        self.span = Some(span);
        self
    }

    /// Sets the help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(one_line(help.into()));
        self
    }

    /// Sets the repair in lenient mode.
    #[must_use]
    pub fn repaired(mut self, repair: &'static str) -> Diagnostic {
        self.repair = Some(repair);
        self
    }

    /// Converts it for lenient mode: an error with a repair becomes a warning.
    #[must_use]
    pub fn lenient(mut self) -> Diagnostic {
        if self.is_error()
            && let Some(repair) = self.repair
        {
            self.severity = Severity::Warning;
            self.help = Some(match self.help {
                Some(help) => format!("{help} (until then {repair})"),
                None => format!("mend it (until then {repair})"),
            });
        }
        self
    }

    /// Turns it into an error, for callers that deny this warning.
    #[must_use]
    pub fn denied(mut self) -> Diagnostic {
        self.severity = Severity::Error;
        self
    }

    /// Sets the help `did you mean …?` if one of `known` is close to `word`.
    #[must_use]
    pub fn did_you_mean<'a>(self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        match closest(word, known) {
            Some(near) => self.help(format!("did you mean `{near}`?")),
            None => self,
        }
    }

    /// Checks whether this is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The maximum length of a word for which a correction is guessed.
const MAX_GUESSED_BYTES: usize = 100;

/// Returns the word of `known` that is closest to `word`; `None` if none is close.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Comparing costs the product of the lengths, and a word of a megabyte is not a typing error.
    if word.len() > MAX_GUESSED_BYTES {
        return None;
    }
    let folded = fold(word);
    if folded.is_empty() {
        return None;
    }
    known
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_GUESSED_BYTES)
        .map(|candidate| (strsim::jaro_winkler(&folded, &fold(candidate)), candidate))
        .filter(|(likeness, _)| *likeness > 0.82)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// Folds a word, so that `lint-format`, `lint_format` and `lintFormat` are equal.
fn fold(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Lists words as `a`, `b` and `c`, each in backticks, up to a maximum number.
pub fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().take(MAX_LISTED).map(|word| format!("`{}`", clip(word))).collect();
    match quoted.split_last() {
        None => String::new(),
        Some(_) if words.len() > MAX_LISTED => format!("{} and {} more", quoted.join(", "), words.len() - MAX_LISTED),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// The maximum number of words in such a list.
const MAX_LISTED: usize = 16;

/// Cuts a word to 80 characters, so that a message stays a sentence whatever a file contains.
pub fn clip(text: &str) -> String {
    cut(text, 80)
}

/// Returns the text as one printable line, so that a definition cannot control a terminal through a message.
fn one_line(text: String) -> String {
    let text = if text.len() > 2_000 { cut(&text, 1_000) } else { text };
    if !text.contains(is_unseen) {
        return text;
    }
    text.chars().map(|c| if is_unseen(c) { c.escape_debug().to_string() } else { c.to_string() }).collect()
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Checks whether a character controls the display: controls, line separators, changes of direction.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::{Diagnostic, closest};

    #[test]
    fn spelling_variants_are_close_and_other_words_are_not() {
        assert_eq!(closest("lint-format", ["commit", "lint_format"]), Some("lint_format"));
        assert_eq!(closest("exitt", ["start", "exit"]), Some("exit"));
        assert_eq!(closest("banana", ["start", "exit"]), None);
        assert_eq!(closest("--", ["_", "exit"]), None);
    }

    #[test]
    fn a_message_is_one_line_that_steers_no_terminal() {
        let fault = Diagnostic::error("bad-id", "`a\u{1b}[31m\nb\u{202e}`").help("x".repeat(5_000));
        assert_eq!(fault.message, r"`a\u{1b}[31m\nb\u{202e}`");
        assert_eq!(fault.help.unwrap().chars().count(), 1_001);
    }
}
