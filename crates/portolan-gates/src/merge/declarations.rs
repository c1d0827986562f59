//! The declarations of a branch: what it means to remove, and which shape the change has.

use std::collections::BTreeMap;

use super::glob;
use super::removal::{Removal, What, counted};
use super::shape::Shape;

/// The texts in which a branch declares its intent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declarations {
    /// Its commits.
    pub commits: Vec<DeclaringCommit>,
    /// The title and body of the pull request.
    pub request: Option<String>,
    /// The paths and texts of specifications. The parts below a heading that contains `Removals` count.
    pub specs: Vec<(String, String)>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaringCommit {
    /// Its hash.
    pub id: String,
    /// Its whole message.
    pub message: String,
}

/// An announced removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// A path, a glob, a name, or `path#name`.
    pub(super) text: String,
    /// The commit, pull request or specification that announces it.
    pub(super) place: String,
    pub(super) line: u64,
}

/// The intent that the declarations add up to.
#[derive(Clone, Debug, Default)]
pub(super) struct Intent {
    pub(super) items: Vec<Item>,
    pub(super) shape: Option<Shape>,
    /// Whether a breaking change is announced.
    breaks: bool,
    /// Whether a refactoring is announced, which may move things.
    refactors: bool,
    tests: bool,
}

impl Declarations {
    pub(super) fn intent(&self) -> Intent {
        let mut intent = Intent::default();
        let mut shapes: Vec<Shape> = Vec::new();
        let commits = self.commits.iter().map(|commit| {
            let id = commit.id.get(..7).unwrap_or(&commit.id);
            (format!("commit {id}"), commit.message.as_str())
        });
        let request = self.request.iter().map(|text| ("pull request".to_owned(), text.as_str()));
        for (place, text) in commits.chain(request) {
            if let Some((shape, breaks)) = Shape::of_subject(text.lines().next().unwrap_or_default()) {
                shapes.push(shape);
                intent.breaks |= breaks;
            }
            intent.message(&place, text);
        }
        for (path, text) in &self.specs {
            intent.spec(path, text);
        }
        intent.shape = shapes.iter().min().copied();
        intent.refactors = shapes.contains(&Shape::Refactor);
        intent.tests = shapes.contains(&Shape::Test);
        intent
    }
}

impl Intent {
    fn message(&mut self, place: &str, text: &str) {
        for (line, text) in outside_of_code(text) {
            if ["BREAKING CHANGE:", "BREAKING-CHANGE:"].iter().any(|word| text.starts_with(word)) {
                self.breaks = true;
            }
            let removed = text.get(..8).filter(|word| word.eq_ignore_ascii_case("removes:")).map(|_| &text[8..]);
            for item in removed.into_iter().flat_map(|removed| removed.split(',')) {
                self.add(item, place, line);
            }
        }
    }

    /// Reads the list below a heading such as `## Removals`, up to the next heading of its level.
    fn spec(&mut self, path: &str, text: &str) {
        let mut within: Option<usize> = None;
        for (line, text) in outside_of_code(text) {
            let level = text.len() - text.trim_start_matches('#').len();
            if level > 0 {
                let opens = text.to_ascii_lowercase().contains("removals");
                within = if opens { Some(level) } else { within.filter(|open| level > *open) };
            } else if let Some(item) = text.trim_start().strip_prefix(['-', '*']).filter(|_| within.is_some()) {
                match item.split('`').nth(1) {
                    Some(quoted) => self.add(quoted, path, line),
                    None => self.add(item.split_whitespace().next().unwrap_or_default(), path, line),
                }
            }
        }
    }

    fn add(&mut self, text: &str, place: &str, line: u64) {
        let text = text.trim().trim_matches('`').trim();
        if !text.is_empty() {
            self.items.push(Item { text: text.to_owned(), place: place.to_owned(), line });
        }
    }

    /// Checks whether a removal was announced, and marks the items that announced it in `used`.
    pub(super) fn announces(
        &self,
        removal: &Removal,
        gained: &mut BTreeMap<(What, String), usize>,
        used: &mut [bool],
    ) -> bool {
        let mut announced = self.breaks && removal.what == What::Symbol;
        for (item, used) in self.items.iter().zip(used) {
            if item.means(removal) {
                *used = true;
                announced = true;
            }
        }
        announced || self.is_move(removal, gained)
    }

    /// Checks whether a removed thing is in another place, in a change that claims only to move things.
    fn is_move(&self, removal: &Removal, gained: &mut BTreeMap<(What, String), usize>) -> bool {
        let may_move = match removal.what {
            What::Test | What::Assertion => self.refactors || self.tests,
            What::File | What::Symbol | What::Job | What::Dependency | What::Strictness => self.refactors,
        };
        if !may_move || removal.is_muted {
            return false;
        }
        let mut wanted: BTreeMap<(What, String), usize> = BTreeMap::new();
        if removal.what == What::File {
            wanted.extend(
                counted(&removal.held).into_iter().map(|((what, name), count)| ((what, name.to_owned()), count)),
            );
        } else {
            wanted.insert((removal.what, removal.name.clone()), removal.count);
        }
        let is_there =
            !wanted.is_empty() && wanted.iter().all(|(key, count)| gained.get(key).is_some_and(|had| had >= count));
        if is_there {
            // A gained thing counts for one move only.
            wanted.into_iter().for_each(|(key, count)| *gained.entry(key).or_insert(count) -= count);
        }
        is_there
    }
}

impl Item {
    /// Checks whether the item matches everything. Such an item announces nothing.
    pub(super) fn is_blanket(&self) -> bool {
        glob::weight(&self.text) == 0
    }

    fn means(&self, removal: &Removal) -> bool {
        if self.is_blanket() {
            return false;
        }
        if removal.what == What::File {
            let folder = self.text.ends_with('/') && removal.path.starts_with(self.text.trim_start_matches("./"));
            return folder || glob::fits(&self.text, &removal.path);
        }
        match self.text.split_once('#') {
            Some((path, name)) => name == removal.name && glob::fits(path, &removal.path),
            None => self.text == removal.name,
        }
    }
}

/// Returns the lines of a text outside code fences. An example announces nothing.
fn outside_of_code(text: &str) -> Vec<(u64, &str)> {
    let mut fenced = false;
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| {
            let fence = line.trim_start().starts_with("```");
            fenced ^= fence;
            !fenced && !fence
        })
        .collect()
}
