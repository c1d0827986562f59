//! Reads the fields of an object and reports missing, mistyped, repeated and unknown ones.
//!
//! The reader of a file declares its fields; the wording of the diagnostics is the same for all readers.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::{Entry, Span, Spanned, Tree, TreeKind};
use crate::diagnostic::{Diagnostic, clip, list};

/// The number of faults after which no suggestions are searched: a text with so many is not full of typing errors.
pub const MAX_GUESSES: usize = 500;

/// The diagnostics found so far, in the order found.
#[derive(Default)]
pub struct FaultList(pub Vec<Diagnostic>);

impl FaultList {
    /// Adds a diagnostic.
    pub fn push(&mut self, fault: Diagnostic) {
        self.0.push(fault);
    }
}

/// An object while its fields are read.
pub struct Fields<'t> {
    /// A description of the object for messages: ``node `verify` ``.
    what: String,
    head: Span,
    entries: &'t [Entry],
    known: Vec<&'static str>,
}

impl<'t> Fields<'t> {
    /// Returns the fields of `tree`. If it is no object, reports that and returns `None`.
    pub fn of(tree: &'t Tree, what: impl Into<String>, faults: &mut FaultList) -> Option<Fields<'t>> {
        let what = what.into();
        let Some(entries) = tree.entries() else {
            faults.push(not_an_object(tree, &what));
            return None;
        };
        distinct(entries, &what, faults);
        Some(Fields { what, head: tree.head(), entries, known: Vec::new() })
    }

    /// Returns the value of `key`, the last if it is repeated. JSON's `null` counts as absent.
    pub fn optional(&mut self, key: &'static str) -> Option<&'t Tree> {
        self.knows(key);
        let entry = self.entries.iter().rfind(|entry| entry.key.value == key)?;
        (!matches!(entry.value.kind, TreeKind::Null)).then_some(&entry.value)
    }

    /// Returns the value of `key` and reports if it is absent.
    pub fn required(&mut self, key: &'static str, faults: &mut FaultList) -> Option<&'t Tree> {
        let value = self.optional(key);
        if value.is_none() {
            faults.push(self.missing(key));
        }
        value
    }

    /// Reads a string and reports if it is absent.
    pub fn required_string(&mut self, key: &'static str, faults: &mut FaultList) -> Option<Spanned<String>> {
        if self.has(key) {
            return self.string(key, faults);
        }
        self.required(key, faults);
        None
    }

    /// Reads a string that lenient reading can do without.
    pub fn expected_string(
        &mut self,
        key: &'static str,
        repair: &'static str,
        faults: &mut FaultList,
    ) -> Option<Spanned<String>> {
        if !self.has(key) {
            faults.push(self.missing(key).repaired(repair));
        }
        self.string(key, faults)
    }

    /// Returns whether `key` is present with a value other than `null`.
    pub fn has(&self, key: &str) -> bool {
        let entry = self.entries.iter().rfind(|entry| entry.key.value == key);
        entry.is_some_and(|entry| !matches!(entry.value.kind, TreeKind::Null))
    }

    /// Returns the span of the object's beginning.
    pub fn head(&self) -> Span {
        self.head
    }

    fn missing(&self, key: &str) -> Diagnostic {
        Diagnostic::error("missing-field", format!("{} has no `{key}`", self.what)).at(self.head)
    }

    /// Reads an optional string.
    pub fn string(&mut self, key: &'static str, faults: &mut FaultList) -> Option<Spanned<String>> {
        let tree = self.optional(key)?;
        match &tree.kind {
            TreeKind::String(text) => Some(Spanned { value: text.clone(), span: tree.span }),
            _ => self.wrong(key, "a string", tree, faults),
        }
    }

    /// Reads an optional boolean.
    pub fn flag(&mut self, key: &'static str, faults: &mut FaultList) -> Option<Spanned<bool>> {
        let tree = self.optional(key)?;
        match &tree.kind {
            TreeKind::Bool(value) => Some(Spanned { value: *value, span: tree.span }),
            _ => self.wrong(key, "`true` or `false`", tree, faults),
        }
    }

    /// Reads an optional duration in milliseconds: a number of them, or a text such as `500ms`, `2s`, `1m` or `1h`.
    pub fn duration_ms(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
        faults: &mut FaultList,
    ) -> Option<Spanned<u64>> {
        let tree = self.optional(key)?;
        let time = match &tree.kind {
            TreeKind::Number(text) => text.parse::<u64>().ok(),
            TreeKind::String(text) => milliseconds(text),
            _ => None,
        };
        match time.filter(|time| range.contains(time)) {
            Some(value) => Some(Spanned { value, span: tree.span }),
            None => {
                let written = tree.as_str().map_or_else(|| shown(tree), |text| format!("`{}`", clip(text)));
                let message = format!("`{key}` of {} is {written}, which is not a valid duration", self.what);
                faults.push(
                    Diagnostic::error("bad-duration", message)
                        .at(tree.span)
                        .help(format!(
                            "write a number of milliseconds, or a text such as `500ms`, `2s` or `1m`; from {} to {} ms",
                            range.start(),
                            range.end()
                        ))
                        .repaired("it counts as absent"),
                );
                None
            }
        }
    }

    /// Reads an optional object of strings, in the order written. Absent and empty are the same.
    pub fn texts(&mut self, key: &'static str, faults: &mut FaultList) -> Vec<(Spanned<String>, &'t Tree)> {
        let Some(tree) = self.optional(key) else { return Vec::new() };
        let Some(entries) = tree.entries() else {
            return self.wrong(key, "an object of strings", tree, faults).unwrap_or_default();
        };
        let entries = distinct(entries, &format!("`{key}` of {}", self.what), faults);
        let texts = entries.into_iter().filter_map(|entry| match &entry.value.kind {
            TreeKind::String(_) => Some((entry.key.clone(), &entry.value)),
            _ => self.wrong(key, "an object of strings", &entry.value, faults),
        });
        texts.collect()
    }

    /// Reads an optional whole number.
    pub fn count(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u32>,
        faults: &mut FaultList,
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

    /// Reads an optional array of strings. Absent and empty are the same.
    pub fn strings(&mut self, key: &'static str, faults: &mut FaultList) -> Vec<Spanned<String>> {
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

    /// Reads an optional word out of a fixed set.
    pub fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
        faults: &mut FaultList,
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

    /// Accepts fields without reading them: their content is the author's own.
    pub fn ignored(&mut self, keys: &[&'static str]) {
        keys.iter().for_each(|key| self.knows(key));
    }

    fn knows(&mut self, key: &'static str) {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
    }

    /// Reports the fields that were not read.
    pub fn finish(self, faults: &mut FaultList) {
        for entry in self.entries {
            let key = &entry.key.value;
            if !self.known.contains(&key.as_str()) {
                let message = format!("{} has a field `{}`, which has no meaning here", self.what, clip(key));
                let fault = Diagnostic::error("unknown-field", message)
                    .at(entry.key.span)
                    .help(format!("the fields here are {}", list(&self.known)))
                    .repaired("it is ignored");
                let guessed = faults.0.len() < MAX_GUESSES;
                faults.push(if guessed { fault.did_you_mean(key, self.known.iter().copied()) } else { fault });
            }
        }
    }

    /// Reports a value of the wrong type and returns `None`.
    pub fn wrong<T>(&self, key: &str, wanted: &str, found: &Tree, faults: &mut FaultList) -> Option<T> {
        let message = format!("`{key}` of {} must be {wanted}, but is {}", self.what, shown(found));
        let fault = Diagnostic::error("wrong-type", message).at(found.span).repaired("it counts as absent");
        let word = match &found.kind {
            TreeKind::Number(text) if wanted.contains("string") => Some(text.as_str()),
            TreeKind::Bool(value) if wanted.contains("string") => Some(if *value { "true" } else { "false" }),
            _ => None,
        };
        faults.push(match word {
            Some(word) => fault.help(format!("put it in quotes: `\"{}\"`", clip(word))),
            None => fault,
        });
        None
    }
}

/// Returns the entries of an object, only the last of a repeated key, and reports each repetition.
pub fn distinct<'t>(entries: &'t [Entry], what: &str, faults: &mut FaultList) -> Vec<&'t Entry> {
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        let key = entry.key.value.as_str();
        if last.insert(key, at).is_some() {
            faults.push(
                Diagnostic::error("duplicate-key", format!("{what} has `{}` twice", clip(key)))
                    .at(entry.key.span)
                    .help("keep one of the two: readers disagree on which one counts")
                    .repaired("the last one counts"),
            );
        }
    }
    let kept = entries.iter().enumerate().filter(|(at, entry)| last.get(entry.key.value.as_str()) == Some(at));
    kept.map(|(_, entry)| entry).collect()
}

/// Parses `500ms`, `2s`, `1m`, `1h`, also `1.5s`, into milliseconds.
fn milliseconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let factor = match &text[unit..] {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    let number = text[..unit].trim_end();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.len() <= 15 && text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || fraction.len() > 3 || !digits(fraction) {
        return None;
    }
    let thousandths: u64 = format!("{fraction:0<3}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(factor)?.checked_add(thousandths * factor / 1_000)
}

/// Returns the diagnostic for a value that should be an object.
pub fn not_an_object(tree: &Tree, what: &str) -> Diagnostic {
    Diagnostic::error("wrong-type", format!("{what} must be an object, but is {}", tree.describe())).at(tree.span)
}

/// Returns a value for a message: a number as its text, any other value as its type.
fn shown(tree: &Tree) -> String {
    match &tree.kind {
        TreeKind::Number(text) => format!("`{}`", clip(text)),
        _ => tree.describe().to_owned(),
    }
}
