//! The removals of a branch.

use std::collections::BTreeMap;

use serde::Serialize;

use super::change::{Diff, FileChange, Text};
use super::facts::{Fact, Facts, facts};

/// The kind of a removed thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A file.
    File,
    /// A public name.
    Symbol,
    /// A test, or its execution.
    Test,
    /// An assertion of a test.
    Assertion,
    /// A job that runs whenever the project is checked.
    Job,
    /// A dependency.
    Dependency,
    /// The strictness of a rule.
    Strictness,
}

/// A removal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Removal {
    /// Its path before the change; the present one if something was added that loosens a rule or skips a test.
    pub path: String,
    /// The line.
    pub line: u64,
    /// Its kind.
    pub what: What,
    /// Its name: for a file the path, for assertions the name of their test.
    pub name: String,
    /// The number of things of that name.
    pub count: usize,
    /// Whether it still exists, but something was added that disables it.
    pub is_muted: bool,
    /// The parts that a file contained.
    pub(super) held: Vec<Fact>,
}

impl Removal {
    /// Returns the removal as a clause of a sentence.
    pub fn description(&self) -> String {
        let Removal { name, count, .. } = self;
        match (self.what, self.is_muted) {
            (What::File, _) => format!("`{name}` is deleted"),
            (What::Symbol, _) => format!("the public name `{name}` is removed"),
            (What::Test, true) => format!("the test `{name}` is skipped"),
            (What::Test, false) => format!("the test `{name}` is removed"),
            (What::Assertion, _) => format!("{count} of the assertions of the test `{name}` are removed"),
            (What::Job, _) => format!("the job `{name}` is removed"),
            (What::Dependency, _) => format!("the dependency `{name}` is removed"),
            (What::Strictness, true) => format!("a rule is loosened with `{name}`"),
            (What::Strictness, false) => format!("the rule `{name}` is removed"),
        }
    }
}

/// The number of things, by kind and name.
pub(super) type Counts<'f> = BTreeMap<(What, &'f str), usize>;

/// Returns the removals of a branch, in order, and the things that it adds.
pub(super) fn removals(diff: &Diff) -> (Vec<Removal>, BTreeMap<(What, String), usize>) {
    let (mut removals, mut gained) = (Vec::new(), BTreeMap::new());
    for change in &diff.files {
        let before = facts(change.old_path(), change.before.as_str());
        let after = facts(&change.path, change.after.as_str());
        if change.is_deleted() {
            removals.push(of_file(change, before));
            continue;
        }
        if change.before == Text::Unread || change.after == Text::Unread {
            continue;
        }
        removals.extend(lost(change.old_path(), &before.held, &after.held, false));
        removals.extend(lost(&change.path, &after.loose, &before.loose, true));
        for ((what, name), count) in surplus(&after.held, &before.held) {
            *gained.entry((what, name.to_owned())).or_insert(0) += count;
        }
    }
    removals.sort();
    // The removal of a test includes its assertions.
    let tests: Vec<(String, String)> = removals
        .iter()
        .filter(|removal| removal.what == What::Test && !removal.is_muted)
        .map(|removal| (removal.path.clone(), removal.name.clone()))
        .collect();
    let with_test = |removal: &Removal| {
        removal.what == What::Assertion
            && tests.iter().any(|(path, name)| *path == removal.path && *name == removal.name)
    };
    removals.retain(|removal| !with_test(removal));
    (removals, gained)
}

fn of_file(change: &FileChange, facts: Facts) -> Removal {
    let (path, name) = (change.path.clone(), change.path.clone());
    Removal { path, line: 1, what: What::File, name, count: 1, is_muted: false, held: facts.held }
}

/// Returns the things that `before` has more of than `after`.
fn lost(path: &str, before: &[Fact], after: &[Fact], is_muted: bool) -> Vec<Removal> {
    let removal = |((what, name), count): ((What, &str), usize)| {
        // The last of them, because it is unknown which one was removed.
        let line = before.iter().rfind(|fact| fact.what == what && fact.name == name).map_or(1, |fact| fact.line);
        Removal { path: path.to_owned(), line, what, name: name.to_owned(), count, is_muted, held: Vec::new() }
    };
    surplus(before, after).into_iter().map(removal).collect()
}

fn surplus<'f>(more: &'f [Fact], less: &'f [Fact]) -> Counts<'f> {
    let mut counts = counted(more);
    for (key, count) in counted(less) {
        if let Some(more) = counts.get_mut(&key) {
            *more = more.saturating_sub(count);
        }
    }
    counts.retain(|_, count| *count > 0);
    counts
}

pub(super) fn counted(facts: &[Fact]) -> Counts<'_> {
    let mut counts = Counts::new();
    for fact in facts {
        *counts.entry((fact.what, fact.name.as_str())).or_insert(0) += 1;
    }
    counts
}
