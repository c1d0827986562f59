//! Parses the options of a subcommand as git does: bundles of short ones, attached or separate values, abbreviated and
//! negated long ones. An option that is not in the table is unclear; nothing is guessed.

use super::super::Word;

/// The options and operands of a call.
#[derive(Debug, Default)]
pub(super) struct CallOptions {
    /// The options by their long name (or by the letter if there is none), in order.
    pub(super) options: Vec<(String, Word)>,
    pub(super) operands: Vec<Word>,
    /// The number of operands before `--`, or of all operands without one.
    pub(super) before_dashes: usize,
    pub(super) has_dashes: bool,
    pub(super) unclear: Vec<String>,
}

impl CallOptions {
    /// Checks whether the switch is on. The last occurrence counts, and `no-` turns it off.
    pub(super) fn on(&self, name: &str) -> bool {
        let opposite = name.strip_prefix("no-").map_or_else(|| format!("no-{name}"), str::to_owned);
        self.options
            .iter()
            .rev()
            .find(|(given, _)| given == name || *given == opposite)
            .is_some_and(|(given, _)| given == name)
    }

    pub(super) fn any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.on(name))
    }

    /// Returns the last value of an option.
    pub(super) fn value(&self, name: &str) -> Option<&Word> {
        self.options.iter().rev().find(|(given, _)| given == name).map(|(_, value)| value)
    }

    pub(super) fn values(&self, name: &str) -> Vec<Word> {
        self.options.iter().filter(|(given, _)| given == name).map(|(_, value)| value.clone()).collect()
    }
}

/// An option of the table: `m,message=` takes a value, `S,gpg-sign?` may have one attached.
#[derive(Clone, Copy)]
struct Entry<'a> {
    short: Option<char>,
    long: &'a str,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Switch,
    Value,
    Attached,
}

fn entries(table: &str) -> Vec<Entry<'_>> {
    table.split_whitespace().map(entry).collect()
}

fn entry(text: &str) -> Entry<'_> {
    let (names, kind) = match text.as_bytes()[text.len() - 1] {
        b'=' => (&text[..text.len() - 1], Kind::Value),
        b'?' => (&text[..text.len() - 1], Kind::Attached),
        _ => (text, Kind::Switch),
    };
    match names.split_once(',') {
        Some((short, long)) => Entry { short: short.chars().next(), long, kind },
        None if names.chars().count() == 1 => Entry { short: names.chars().next(), long: names, kind },
        None => Entry { short: None, long: names, kind },
    }
}

/// Parses `arguments` by `table`, a list of options separated by blanks.
pub(super) fn read(table: &str, arguments: &[Word]) -> CallOptions {
    let table = entries(table);
    let mut given = CallOptions::default();
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        at += 1;
        let Some(text) = word.known() else {
            // This word could be an option.
            if !given.has_dashes {
                given.unclear.push("?".to_owned());
            }
            given.operands.push(word.clone());
            continue;
        };
        if given.has_dashes || text == "-" || !text.starts_with('-') {
            given.operands.push(word.clone());
        } else if text == "--" || text == "--end-of-options" {
            given.before_dashes = given.operands.len();
            given.has_dashes = true;
        } else if let Some(name) = text.strip_prefix("--") {
            at += long(&table, name, arguments.get(at), &mut given);
        } else {
            at += short(&table, &text[1..], arguments.get(at), &mut given);
        }
    }
    if !given.has_dashes {
        given.before_dashes = given.operands.len();
    }
    given
}

fn long(table: &[Entry<'_>], text: &str, next: Option<&Word>, given: &mut CallOptions) -> usize {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    let Some((full, kind)) = resolve(table, name) else {
        given.unclear.push(format!("--{name}"));
        return 0;
    };
    match (kind, value) {
        (_, Some(value)) => given.options.push((full, Word::from(value))),
        (Kind::Value, None) => {
            given.take(full, next);
            return 1;
        }
        (Kind::Switch | Kind::Attached, None) => given.options.push((full, Word::from(""))),
    }
    0
}

/// Returns the option that `name` selects: that option, its negation, or the only one with that prefix.
fn resolve(table: &[Entry<'_>], name: &str) -> Option<(String, Kind)> {
    let exact = |name: &str| table.iter().find(|entry| entry.long.len() > 1 && entry.long == name);
    if let Some(entry) = exact(name) {
        return Some((entry.long.to_owned(), entry.kind));
    }
    let all = table.iter().filter(|entry| entry.long.len() > 1).flat_map(|entry| {
        let opposite = entry.long.strip_prefix("no-").map_or_else(|| format!("no-{}", entry.long), str::to_owned);
        [(entry.long.to_owned(), entry.kind), (opposite, Kind::Switch)]
    });
    let mut fitting: Vec<(String, Kind)> = all.filter(|(full, _)| full.starts_with(name)).collect();
    fitting.sort_by(|one, other| one.0.cmp(&other.0));
    fitting.dedup_by(|one, other| one.0 == other.0);
    if let Some(same) = fitting.iter().find(|(full, _)| full == name) {
        return Some(same.clone());
    }
    match fitting.len() {
        1 => fitting.pop(),
        _ => None,
    }
}

fn short(table: &[Entry<'_>], text: &str, next: Option<&Word>, given: &mut CallOptions) -> usize {
    for (at, letter) in text.char_indices() {
        let Some(entry) = table.iter().find(|entry| entry.short == Some(letter)) else {
            given.unclear.push(format!("-{letter}"));
            return 0;
        };
        let attached = &text[at + letter.len_utf8()..];
        match entry.kind {
            Kind::Switch => given.options.push((entry.long.to_owned(), Word::from(""))),
            Kind::Attached => {
                given.options.push((entry.long.to_owned(), Word::from(attached)));
                return 0;
            }
            Kind::Value if !attached.is_empty() => {
                given.options.push((entry.long.to_owned(), Word::from(attached)));
                return 0;
            }
            Kind::Value => {
                given.take(entry.long.to_owned(), next);
                return 1;
            }
        }
    }
    0
}

impl CallOptions {
    fn take(&mut self, name: String, next: Option<&Word>) {
        // If it expands to several words, the first is the value, and the others may be options.
        if next.is_some_and(Word::is_several) {
            self.unclear.push("?".to_owned());
        }
        if next.is_none() {
            self.unclear.push(format!("--{name}"));
        }
        self.options.push((name, next.cloned().unwrap_or(Word::Dynamic)));
    }
}
