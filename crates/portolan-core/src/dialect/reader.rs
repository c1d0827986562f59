//! Reads the fields of an object, reporting what is missing, of the wrong type, repeated or unknown.
//!
//! Dialects say which fields there are; the wording of the faults is the same for all of them.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::diagnostic::{Diagnostic, clip, list};
use crate::source::{Entry, Span, Spanned, Tree, TreeKind};

/// After how many faults nothing is guessed any more: what follows is no typing error.
const MAX_GUESSES: usize = 500;

/// The faults found so far, in the order found.
#[derive(Default)]
pub(crate) struct Faults(pub(crate) Vec<Diagnostic>);

impl Faults {
    pub(crate) fn push(&mut self, fault: Diagnostic) {
        self.0.push(fault);
    }
}

/// One object while its fields are taken out of it.
pub(crate) struct Fields<'t> {
    /// What the object is, for messages: ``node `verify` ``.
    what: String,
    span: Span,
    entries: &'t [Entry],
    known: Vec<&'static str>,
}

impl<'t> Fields<'t> {
    /// The fields of `tree`; a fault and nothing when it is no object.
    pub(crate) fn of(tree: &'t Tree, what: impl Into<String>, faults: &mut Faults) -> Option<Fields<'t>> {
        let what = what.into();
        let Some(entries) = tree.entries() else {
            faults.push(not_an_object(tree, &what));
            return None;
        };
        let mut seen = BTreeSet::new();
        for entry in entries {
            let key = &entry.key.value;
            if !seen.insert(key.as_str()) {
                faults.push(
                    Diagnostic::error("duplicate-key", format!("{what} has `{}` twice", clip(key)))
                        .at(entry.key.span)
                        .help("keep one of the two: readers of JSON disagree on which one counts")
                        .repaired("the last one counts"),
                );
            }
        }
        Some(Fields { what, span: tree.span, entries, known: Vec::new() })
    }

    /// The value of `key`, the last of several; JSON's `null` counts as absent.
    pub(crate) fn optional(&mut self, key: &'static str) -> Option<&'t Tree> {
        self.known.push(key);
        let entry = self.entries.iter().rfind(|entry| entry.key.value == key)?;
        (!matches!(entry.value.kind, TreeKind::Null)).then_some(&entry.value)
    }

    /// The value of `key`; a fault when it is absent.
    pub(crate) fn required(&mut self, key: &'static str, faults: &mut Faults) -> Option<&'t Tree> {
        let value = self.optional(key);
        if value.is_none() {
            faults.push(self.missing(key));
        }
        value
    }

    /// A string; a fault when it is absent.
    pub(crate) fn required_string(&mut self, key: &'static str, faults: &mut Faults) -> Option<Spanned<String>> {
        if self.has(key) {
            return self.string(key, faults);
        }
        self.required(key, faults);
        None
    }

    /// A string that lenient reading does without.
    pub(crate) fn expected_string(
        &mut self,
        key: &'static str,
        repair: &'static str,
        faults: &mut Faults,
    ) -> Option<Spanned<String>> {
        if !self.has(key) {
            faults.push(self.missing(key).repaired(repair));
        }
        self.string(key, faults)
    }

    /// Whether `key` is there with another value than `null`.
    pub(crate) fn has(&self, key: &str) -> bool {
        let entry = self.entries.iter().rfind(|entry| entry.key.value == key);
        entry.is_some_and(|entry| !matches!(entry.value.kind, TreeKind::Null))
    }

    /// Its place is the opening brace: the whole object would be a page of text.
    fn missing(&self, key: &str) -> Diagnostic {
        let brace = Span { start: self.span.start, end: self.span.start + 1 };
        Diagnostic::error("missing-field", format!("{} has no `{key}`", self.what)).at(brace)
    }

    /// An optional string.
    pub(crate) fn string(&mut self, key: &'static str, faults: &mut Faults) -> Option<Spanned<String>> {
        let tree = self.optional(key)?;
        match &tree.kind {
            TreeKind::String(text) => Some(Spanned { value: text.clone(), span: tree.span }),
            _ => self.wrong(key, "a string", tree, faults),
        }
    }

    /// An optional whole number.
    pub(crate) fn count(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u32>,
        faults: &mut Faults,
    ) -> Option<Spanned<u32>> {
        let tree = self.optional(key)?;
        let number = match &tree.kind {
            TreeKind::Number(text) => text.parse::<u32>().ok(),
            _ => None,
        };
        match number.filter(|number| range.contains(number)) {
            Some(value) => Some(Spanned { value, span: tree.span }),
            None => self.wrong(key, &format!("a whole number from {} to {}", range.start(), range.end()), tree, faults),
        }
    }

    /// An optional array of strings; absent and empty are the same.
    pub(crate) fn strings(&mut self, key: &'static str, faults: &mut Faults) -> Vec<Spanned<String>> {
        let Some(tree) = self.optional(key) else { return Vec::new() };
        let TreeKind::Array(items) = &tree.kind else {
            return self.wrong(key, "an array of strings", tree, faults).unwrap_or_default();
        };
        items
            .iter()
            .filter_map(|item| match &item.kind {
                TreeKind::String(text) => Some(Spanned { value: text.clone(), span: item.span }),
                _ => self.wrong(key, "an array of strings", item, faults),
            })
            .collect()
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
        faults: &mut Faults,
    ) -> Option<T> {
        let text = self.string(key, faults)?;
        let chosen = choices.iter().find(|(word, _)| *word == text.value).map(|(_, choice)| *choice);
        if chosen.is_none() {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            faults.push(
                Diagnostic::error(
                    "unknown-value",
                    format!("`{key}` of {} is `{}`, which is not one of its values", self.what, clip(&text.value)),
                )
                .at(text.span)
                .help(format!("write one of {}", list(&words)))
                .did_you_mean(&text.value, words)
                .repaired("it counts as absent"),
            );
        }
        chosen
    }

    /// Takes fields whose content is the author's own business.
    pub(crate) fn ignored(&mut self, keys: &[&'static str]) {
        self.known.extend_from_slice(keys);
    }

    /// Reports what was not asked for.
    pub(crate) fn finish(self, faults: &mut Faults) {
        for entry in self.entries {
            let key = &entry.key.value;
            if !self.known.contains(&key.as_str()) {
                let message = format!("{} has a field `{}`, which means nothing here", self.what, clip(key));
                let fault = Diagnostic::error("unknown-field", message)
                    .at(entry.key.span)
                    .help(format!("the fields here are {}", list(&self.known)))
                    .repaired("it is ignored");
                let guessed = faults.0.len() < MAX_GUESSES;
                faults.push(if guessed { fault.did_you_mean(key, self.known.iter().copied()) } else { fault });
            }
        }
    }

    fn wrong<T>(&self, key: &str, wanted: &str, found: &Tree, faults: &mut Faults) -> Option<T> {
        faults.push(
            Diagnostic::error(
                "wrong-type",
                format!("`{key}` of {} must be {wanted}, but is {}", self.what, shown(found)),
            )
            .at(found.span)
            .repaired("it counts as absent"),
        );
        None
    }
}

/// The fault of a value that should be an object.
pub(crate) fn not_an_object(tree: &Tree, what: &str) -> Diagnostic {
    Diagnostic::error("wrong-type", format!("{what} must be an object, but is {}", tree.describe())).at(tree.span)
}

/// A value as a message shows it: its own text where that is short and tells more than its type.
fn shown(tree: &Tree) -> String {
    match &tree.kind {
        TreeKind::Number(text) => format!("`{}`", clip(text)),
        _ => tree.describe().to_owned(),
    }
}
