//! What a branch takes away.

use std::collections::BTreeMap;

use serde::Serialize;

use super::change::{Diff, FileChange, Text};
use super::facts::{Fact, Facts, facts};

/// What can be taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A file.
    File,
    /// A name that others may use.
    Symbol,
    /// A test, or that it runs.
    Test,
    /// Something that a test asserts.
    Assertion,
    /// Something that is done whenever the project is checked.
    Job,
    /// Something that is relied on.
    Dependency,
    /// A rule's strictness.
    Strictness,
}

/// Something that is taken away.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Removal {
    /// Where it was; where a rule is loosened, where it is.
    pub path: String,
    /// The line.
    pub line: u64,
    /// What sort of thing.
    pub what: What,
    /// Its name; of a file, its path; of assertions, that of their test.
    pub name: String,
    /// How many of that name.
    pub count: usize,
    /// It is not gone, but something was put there that takes its effect.
    pub is_muted: bool,
    /// What a file held.
    pub(super) held: Vec<Fact>,
}

impl Removal {
    /// What becomes of it, as a sentence tells it.
    pub fn told(&self) -> String {
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

/// How many there are of what, by what they are and are called.
pub(super) type Counts<'f> = BTreeMap<(What, &'f str), usize>;

/// What a branch takes away, in order, and what it puts somewhere that was not there.
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
    // The assertions of a test that is gone are gone with it.
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

/// What there is more of in `before` than in `after`.
fn lost(path: &str, before: &[Fact], after: &[Fact], is_muted: bool) -> Vec<Removal> {
    let removal = |((what, name), count): ((What, &str), usize)| {
        // The last of them: which one it was cannot be told.
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
