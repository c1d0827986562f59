//! A diagnostic about a definition, as data: code, severity, message, span, help. User interfaces render it.

use serde::Serialize;

use crate::source::Span;

/// The severity of a diagnostic: whether the definition can still be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The definition cannot be used.
    Error,
    /// The definition can be used, but part of it does not do what it seems to do.
    Warning,
}

/// One diagnostic. All diagnostics of a file are reported together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// A stable identifier such as `unknown-node`; `docs/diagnostics.md` has a paragraph for each.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// One lower-case sentence with the user's words in backticks.
    pub message: String,
    /// The location; `None` if the diagnostic concerns the whole file.
    pub span: Option<Span>,
    /// The suggested fix.
    pub help: Option<String>,
    /// How lenient reading repairs it. An error without a repair stays an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<&'static str>,
}

/// The meaning of a diagnostic code.
#[derive(Debug)]
pub struct Code {
    /// The code.
    pub code: &'static str,
    /// The problem and why it matters.
    pub what: &'static str,
    /// How to fix it.
    pub fix: &'static str,
}

impl Diagnostic {
    /// Creates an error without span or help.
    pub fn error(code: &'static str, message: impl Into<String>) -> Diagnostic {
        let message = one_line(message.into());
        Diagnostic { code, severity: Severity::Error, message, span: None, help: None, repair: None }
    }

    /// Creates a warning without span or help.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, message) }
    }

    /// Sets the span.
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

    /// Sets the repair that lenient reading applies.
    #[must_use]
    pub fn repaired(mut self, repair: &'static str) -> Diagnostic {
        self.repair = Some(repair);
        self
    }

    /// Returns the diagnostic as lenient reading reports it: an error that has a repair becomes a warning.
    #[must_use]
    pub fn lenient(mut self) -> Diagnostic {
        if self.is_error()
            && let Some(repair) = self.repair
        {
            self.severity = Severity::Warning;
            self.help = Some(match self.help {
                Some(help) => format!("{help} (until then {repair})"),
                None => format!("fix it (until then {repair})"),
            });
        }
        self
    }

    /// Turns the diagnostic into an error, for callers that do not accept this warning.
    #[must_use]
    pub fn denied(mut self) -> Diagnostic {
        self.severity = Severity::Error;
        self
    }

    /// Adds the help `did you mean …?` if one of `known` is close to `word`.
    #[must_use]
    pub fn did_you_mean<'a>(self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        match closest(word, known) {
            Some(near) => self.help(format!("did you mean `{near}`?")),
            None => self,
        }
    }

    /// Returns whether this is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The longest word, in bytes, for which a suggestion is searched.
const MAX_GUESSED_BYTES: usize = 100;

/// Returns the word of `known` that `word` most likely stands for; `None` if none is similar enough.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The cost of a comparison is the product of the lengths; a word of a megabyte is no typing error.
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

/// Folds case and separators, so that `lint-format`, `lint_format` and `lintFormat` are equal.
fn fold(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Lists words as `a`, `b` and `c`, each in backticks; lists at most 16 and counts the rest.
pub fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().take(MAX_LISTED).map(|word| format!("`{}`", clip(word))).collect();
    match quoted.split_last() {
        None => String::new(),
        Some(_) if words.len() > MAX_LISTED => format!("{} and {} more", quoted.join(", "), words.len() - MAX_LISTED),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// The maximum number of words that a message lists.
const MAX_LISTED: usize = 16;

/// Cuts a text to 80 characters, so that a message stays one readable sentence for any input.
pub fn clip(text: &str) -> String {
    cut(text, 80)
}

/// Returns the text as one printable line: a definition must not control a terminal through a message.
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

/// Returns whether a character controls the display instead of being visible: control characters, line separators,
/// direction marks.
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
