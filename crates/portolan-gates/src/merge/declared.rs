//! What a branch says of itself: what it means to take away, and what sort of change it is.

use std::collections::BTreeMap;

use super::glob;
use super::removal::{Removal, What, counted};
use super::shape::Shape;

/// What was said of a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// Its commits.
    pub commits: Vec<DeclaringCommit>,
    /// The pull request's title and body.
    pub request: Option<String>,
    /// Specifications: their paths and texts. What stands below a heading with `Removals` in it counts.
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

/// Something that is meant to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// A path, a glob, a name, or `path#name`.
    pub(super) text: String,
    /// Where it is said.
    pub(super) place: String,
    pub(super) line: u64,
}

/// What all of it comes to.
#[derive(Clone, Debug, Default)]
pub(super) struct Intent {
    pub(super) items: Vec<Item>,
    pub(super) shape: Option<Shape>,
    /// Something is announced to break.
    breaks: bool,
    /// Something is announced to be moved.
    refactors: bool,
    tests: bool,
}

impl Declared {
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
            let said = text.get(..8).filter(|word| word.eq_ignore_ascii_case("removes:")).map(|_| &text[8..]);
            for item in said.into_iter().flat_map(|said| said.split(',')) {
                self.add(item, place, line);
            }
        }
    }

    /// The list below a heading such as `## Removals`, up to the next heading of its level.
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

    /// Whether a removal was announced; says which items announced it.
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

    /// Whether what is gone from one place is in another, in a change that says that it only moves things.
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
            // What has moved once has not moved twice.
            wanted.into_iter().for_each(|(key, count)| *gained.entry(key).or_insert(count) -= count);
        }
        is_there
    }
}

impl Item {
    /// It would announce anything at all, and so it announces nothing.
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

/// The lines of a text, but for those in fences: examples announce nothing.
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
