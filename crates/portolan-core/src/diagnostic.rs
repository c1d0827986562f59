//! A finding about a definition, as data: code, severity, message, place, help. Faces draw it.

use serde::Serialize;

use crate::source::Span;

/// Whether a definition with this finding can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It cannot.
    Error,
    /// It can, but something in it does not do what it seems to.
    Warning,
}

/// One finding. All findings of a file are reported together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// A stable identifier such as `unknown-node`; `docs/diagnostics.md` has a paragraph for each.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// One lower-case sentence with the user's words in backticks.
    pub message: String,
    /// Where it stands; nothing when it concerns the whole file.
    pub span: Option<Span>,
    /// What to do about it.
    pub help: Option<String>,
    /// What lenient reading makes of it; an error without a repair stays one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<&'static str>,
}

/// What a diagnostic code means.
#[derive(Debug)]
pub struct Code {
    /// The code.
    pub code: &'static str,
    /// What is wrong, and why it matters.
    pub what: &'static str,
    /// How to mend it.
    pub fix: &'static str,
}

impl Diagnostic {
    /// An error without place or help.
    pub fn error(code: &'static str, message: impl Into<String>) -> Diagnostic {
        let message = one_line(message.into());
        Diagnostic { code, severity: Severity::Error, message, span: None, help: None, repair: None }
    }

    /// A warning without place or help.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, message) }
    }

    /// The same, at a place.
    #[must_use]
    pub fn at(mut self, span: Span) -> Diagnostic {
        self.span = Some(span);
        self
    }

    /// The same, with help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(one_line(help.into()));
        self
    }

    /// The same, with what lenient reading makes of it.
    #[must_use]
    pub fn repaired(mut self, repair: &'static str) -> Diagnostic {
        self.repair = Some(repair);
        self
    }

    /// As lenient reading reports it: an error that has a repair becomes a warning.
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

    /// The same as an error: somebody wants no such warning.
    #[must_use]
    pub fn denied(mut self) -> Diagnostic {
        self.severity = Severity::Error;
        self
    }

    /// The same, with `did you mean …?` as help when one of `known` is close to `word`.
    #[must_use]
    pub fn did_you_mean<'a>(self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        match closest(word, known) {
            Some(near) => self.help(format!("did you mean `{near}`?")),
            None => self,
        }
    }

    /// Whether this is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The longest word that a meant one is guessed for.
const MAX_GUESSED_BYTES: usize = 100;

/// The word of `known` that `word` was most likely meant to be; nothing when none is near.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Comparing costs the product of the lengths; a word of a megabyte is no typing error.
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

/// `lint-format`, `lint_format` and `lintFormat` are the same word to a person.
fn fold(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// `a`, `b` and `c`, each in backticks, and as many as fit a line.
pub fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().take(MAX_LISTED).map(|word| format!("`{}`", clip(word))).collect();
    match quoted.split_last() {
        None => String::new(),
        Some(_) if words.len() > MAX_LISTED => format!("{} and {} more", quoted.join(", "), words.len() - MAX_LISTED),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// The most words that a message lists.
const MAX_LISTED: usize = 16;

/// At most 80 characters of a word, so that a message stays a sentence whatever a file holds.
pub fn clip(text: &str) -> String {
    cut(text, 80)
}

/// The text as one line that can be shown anywhere: a definition must not steer a terminal through a message.
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

/// Whether a character steers the display instead of being seen: controls, line separators, changes of direction.
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
