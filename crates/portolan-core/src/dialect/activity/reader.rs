//! Helpers for all parts of a file: ids, lists, and mutually exclusive fields.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::diagnostic::{Diagnostic, clip};
use crate::expr::Condition;
use crate::source::fields::{FaultList, Fields, distinct};
use crate::source::{Source, Spanned, Tree, TreeKind};

/// The maximum length of an id, in bytes.
const MAX_ID_BYTES: usize = 200;
/// The maximum number of items of a list.
const MAX_ITEMS: usize = 10_000;

/// A name and its value.
pub(super) type Entry = (Spanned<String>, Spanned<Value>);

/// A file while its parts are read.
pub(super) struct Reader<'f> {
    pub(super) source: &'f Source,
    pub(super) faults: &'f mut FaultList,
    /// The number of diagnostics before the file.
    earlier: usize,
    /// The ids of steps, checkpoints and loops in the current activity.
    pub(super) ids: BTreeSet<String>,
    /// The ids of the mode whose overrides are being read: two modes may add steps with the same id.
    pub(super) ids_of_mode: Option<BTreeSet<String>>,
    /// The ids of checkpoints including their instances, as written.
    pub(super) wholes: BTreeSet<String>,
    /// The ids of elements that could not be read.
    pub(super) unread: Vec<String>,
    /// Whether the current text belongs to another workflow, which reports its own faults.
    pub(super) is_elsewhere: bool,
    /// The number of loops around the current text.
    pub(super) nesting: usize,
}

/// The codes of faults whose part lenient reading leaves out, unless a better repair is known.
const LEFT_OUT: &[&str] = &[
    "wrong-type",
    "unknown-value",
    "bad-duration",
    "bad-version",
    "missing-field",
    "bad-id",
    "bad-path",
    "duplicate-id",
    "unknown-option",
];

impl<'f> Reader<'f> {
    pub(super) fn new(source: &'f Source, faults: &'f mut FaultList) -> Reader<'f> {
        let earlier = faults.0.len();
        Reader {
            source,
            faults,
            earlier,
            ids: BTreeSet::new(),
            ids_of_mode: None,
            wholes: BTreeSet::new(),
            unread: Vec::new(),
            is_elsewhere: false,
            nesting: 0,
        }
    }

    /// Completes the repair and the help of the diagnostics after everything was read.
    pub(super) fn settle(&mut self) {
        for fault in &mut self.faults.0[self.earlier..] {
            if fault.repair.is_none() && LEFT_OUT.contains(&fault.code) {
                fault.repair = Some("it is left out");
            }
            if fault.help.is_none() {
                fault.help = Some(match fault.code {
                    "missing-field" => format!("add `{}: …`", fault.message.rsplit('`').nth(1).unwrap_or("id")),
                    _ => shape(&fault.message).to_owned(),
                });
            }
        }
    }

    /// Returns whether an id is a plain word, and reports if not.
    pub(super) fn is_id(&mut self, id: &Spanned<String>, whose: &str) -> bool {
        let begins = id.value.chars().next().is_some_and(|c| c.is_alphanumeric() || c == '_');
        let sound = begins && is_word(&id.value);
        if !sound {
            let help =
                format!("an id has 1 to {MAX_ID_BYTES} bytes: letters, digits, `_` and `-`, not starting with `-`");
            self.bad_id(id, "id", whose, help);
        }
        sound
    }

    /// Returns the id if it is a plain word, or else a repaired one.
    pub(super) fn sound(&mut self, id: Spanned<String>, whose: &str) -> Spanned<String> {
        if self.is_id(&id, whose) {
            return id;
        }
        self.repaired("the parts not allowed in an id are removed or replaced");
        Spanned { value: plain(&id.value), span: id.span }
    }

    /// Sets the repair of the last diagnostic.
    pub(super) fn repaired(&mut self, repair: &'static str) {
        if let Some(fault) = self.faults.0.last_mut() {
            fault.repair = Some(repair);
        }
    }

    /// Returns whether a name is valid for a variable, so that conditions can contain it, and reports if not.
    pub(super) fn is_name(&mut self, name: &Spanned<String>, whose: &str) -> bool {
        let begins = name.value.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
        let sound = begins && is_word(&name.value);
        if !sound {
            let help = format!(
                "a name has 1 to {MAX_ID_BYTES} bytes: letters, digits, `_` and `-`, starting with a letter or `_`"
            );
            self.bad_id(name, "name", whose, help);
        }
        sound
    }

    fn bad_id(&mut self, id: &Spanned<String>, word: &str, whose: &str, help: String) {
        let message = format!("`{}` cannot be the {word} of {whose}", clip(&id.value));
        self.faults.push(Diagnostic::error("bad-id", message).at(id.span).help(help));
    }

    /// Returns whether a text is a path to a value: a variable, or a dotted path into one. Reports if not.
    pub(super) fn is_path(&mut self, path: &Spanned<String>, what: &str) -> bool {
        let Err(fault) = Condition::exists(&path.value) else { return true };
        let diagnostic = Diagnostic::error("bad-path", format!("{what} leads nowhere: {}", fault.message));
        let help = fault.help.unwrap_or_else(|| "name a variable".to_owned());
        self.faults.push(diagnostic.at(path.span).help(help));
        false
    }

    /// Reads the id of a part of an activity, which must be unique in it.
    pub(super) fn own_id(&mut self, fields: &mut Fields<'_>, whose: &str) -> Option<Spanned<String>> {
        let id = match fields.required_string("id", self.faults) {
            Some(id) => id,
            None => {
                self.repaired("an id is generated");
                Spanned { value: self.free("unnamed"), span: fields.head() }
            }
        };
        self.claim(id, whose)
    }

    /// Returns an id like this one that is free in the activity.
    pub(super) fn free(&self, wanted: &str) -> String {
        let mut others = (2..).map(|nth| format!("{wanted}-{nth}"));
        let free = if self.is_taken(wanted) { others.find(|id| !self.is_taken(id)) } else { None };
        free.unwrap_or_else(|| wanted.to_owned())
    }

    /// Registers an id, and repairs it if it is no plain word or is taken.
    pub(super) fn claim(&mut self, id: Spanned<String>, whose: &str) -> Option<Spanned<String>> {
        let mut id = self.sound(id, whose);
        if self.is_taken(&id.value) {
            let message = format!("the id `{}` is used twice in the activity", clip(&id.value));
            let help =
                "give one of them another id: the steps, checkpoints and loops of an activity share one set of ids";
            let fault = Diagnostic::error("duplicate-id", message).at(id.span).help(help);
            self.faults.push(fault.repaired("the later one gets another id"));
            id.value = self.free(&id.value);
        }
        self.ids_of_mode.as_mut().unwrap_or(&mut self.ids).insert(id.value.clone());
        Some(id)
    }

    /// Returns whether a part of the activity has this id.
    pub(super) fn is_taken(&self, id: &str) -> bool {
        self.ids.contains(id) || self.ids_of_mode.as_ref().is_some_and(|added| added.contains(id))
    }

    /// Returns the items without those that repeat an id, which it reports; `of` names their owner in messages.
    pub(super) fn distinct<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        kind: &str,
        of: Option<&str>,
        id: impl Fn(&T) -> &Spanned<String>,
    ) -> Vec<T> {
        let mut known_ids = BTreeSet::new();
        let mut kept = Vec::new();
        for item in items {
            let Spanned { value, span } = id(&item);
            if known_ids.insert(value.clone()) {
                kept.push(item);
                continue;
            }
            let of = of.map_or(String::new(), |of| format!(" of {of}"));
            let message = format!("the {kind} `{}`{of} is defined twice", clip(value));
            let fault = Diagnostic::error("duplicate-id", message).at(*span);
            self.faults.push(fault.help("give one of them another id").repaired("the first one counts"));
        }
        kept
    }

    /// Reads an optional array. Absent and empty are the same.
    pub(super) fn list<'t>(&mut self, fields: &mut Fields<'t>, key: &'static str) -> &'t [Tree] {
        let Some(tree) = fields.optional(key) else { return &[] };
        let TreeKind::Array(items) = &tree.kind else {
            return fields.wrong(key, "an array", tree, self.faults).unwrap_or_default();
        };
        if items.len() > MAX_ITEMS {
            let message = format!("`{key}` has {} items, more than the limit of {MAX_ITEMS}", items.len());
            let fault = Diagnostic::error("too-large", message).at(tree.head());
            self.faults.push(fault.help("move some of them into a workflow of their own"));
            return &[];
        }
        items
    }

    /// Reads an optional object of any values, in the order written.
    pub(super) fn entries(&mut self, fields: &mut Fields<'_>, key: &'static str, what: &str) -> Vec<Entry> {
        let Some(tree) = fields.optional(key) else { return Vec::new() };
        let Some(entries) = tree.entries() else {
            return fields.wrong(key, "an object", tree, self.faults).unwrap_or_default();
        };
        let entries = distinct(entries, &format!("`{key}` of {what}"), self.faults);
        entries.into_iter().map(|entry| (entry.key.clone(), valued(&entry.value))).collect()
    }

    /// Returns which of two fields is present, the first if neither is, and reports if both are.
    pub(super) fn either(
        &mut self,
        fields: &Fields<'_>,
        tree: &Tree,
        keys: [&'static str; 2],
        what: &str,
    ) -> &'static str {
        let [one, other] = keys;
        match (fields.has(one), fields.has(other)) {
            (true, true) => {
                self.exclude(tree, one, other, what);
                one
            }
            (false, true) => other,
            _ => one,
        }
    }

    /// Reports two mutually exclusive fields.
    pub(super) fn exclude(&mut self, tree: &Tree, one: &str, other: &str, what: &str) {
        let at = tree.entries().and_then(|entries| entries.iter().rfind(|entry| entry.key.value == other));
        let span = at.map_or_else(|| tree.head(), |entry| entry.key.span);
        let message = format!("{what} has both `{one}` and `{other}`");
        let fault = Diagnostic::error("either-or", message).at(span).help("keep one of the two");
        self.faults.push(fault.repaired("the first of the two counts"));
    }

    /// Records the id of an element that could not be read.
    pub(super) fn lose(&mut self, tree: &Tree) {
        self.unread.extend(tree.get("id").and_then(Tree::as_str).map(str::to_owned));
    }
}

/// Returns a valid id made from a text.
pub(super) fn plain(text: &str) -> String {
    let word: String = text.trim().chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let mut word = word.trim_matches('-').to_owned();
    let end = (0..=MAX_ID_BYTES.min(word.len())).rev().find(|end| word.is_char_boundary(*end)).unwrap_or(0);
    word.truncate(end);
    if word.is_empty() { "unnamed".to_owned() } else { word }
}

fn is_word(text: &str) -> bool {
    text.len() <= MAX_ID_BYTES && text.chars().all(|c| c.is_alphanumeric() || "_-".contains(c))
}

/// Returns help about the syntax of what a message asks for.
fn shape(message: &str) -> &'static str {
    let wanted = message.rsplit_once(" must be ").map_or("", |(_, wanted)| wanted);
    let is = |word: &str| wanted.starts_with(word);
    if is("an array") {
        "write each item after a `-`, or all of them as `[first, second]`"
    } else if is("an object") {
        "write its fields as `name: value`, each on a line of its own"
    } else if is("a whole number") {
        "write such a number without quotes"
    } else if is("`true`") || is("a number") {
        "write it without quotes"
    } else {
        "write it as a text"
    }
}

/// Returns the name of an element for messages, with its id if it has one.
pub(super) fn named(tree: &Tree, kind: &str) -> String {
    match tree.get("id").and_then(Tree::as_str) {
        Some(id) => format!("{kind} `{}`", clip(id)),
        None => format!("{} {kind}", if kind.starts_with(['a', 'o']) { "an" } else { "a" }),
    }
}

/// Returns a value with the span of its beginning.
pub(super) fn valued(tree: &Tree) -> Spanned<Value> {
    Spanned { value: tree.value(), span: tree.head() }
}

/// Reads a flag with a default.
pub(super) fn flag(fields: &mut Fields<'_>, key: &'static str, usual: bool, faults: &mut FaultList) -> bool {
    fields.flag(key, faults).map_or(usual, |flag| flag.value)
}
