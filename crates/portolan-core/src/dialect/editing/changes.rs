//! Several edits that belong together, each with the path that its place has before any of them.

use std::cmp::Ordering;

use serde_json::Value;

use super::{OperationResult, Page, Place};
use crate::source::{Edit, PathStep, Tree, TreeKind};

/// Collects edits. Sets come first, then insertions, and removals last, from the end. A file whose whole content is
/// removed is deleted.
#[derive(Default)]
pub(crate) struct Changes {
    sets: Vec<(usize, Edit)>,
    put: Vec<(usize, Edit)>,
    gone: Vec<Place>,
    come: Vec<(String, String)>,
}

impl Changes {
    /// Adds a file.
    pub(crate) fn bring(&mut self, name: String, text: String) {
        self.come.push((name, text));
    }

    /// Sets the value of a place.
    pub(crate) fn set(&mut self, place: Place, value: impl Into<Value>) {
        self.sets.push((place.file, Edit::Set { at: place.at, value: value.into() }));
    }

    /// Inserts a value into a list, or creates the list with it. Insertions into one list must come in descending
    /// order.
    pub(crate) fn put(&mut self, page: &Page<'_>, list: &Place, nth: usize, value: Value) {
        let edit = match page.tree(list).map(|tree| &tree.kind) {
            Some(TreeKind::Array(_)) => Edit::Insert { at: list.with(nth).at, before: None, value },
            _ => Edit::Set { at: list.at.clone(), value: Value::Array(vec![value]) },
        };
        self.put.push((list.file, edit));
    }

    /// Removes a place.
    pub(crate) fn take(&mut self, place: Place) {
        if !self.gone.contains(&place) {
            self.gone.push(place);
        }
    }

    /// Returns whether a place is removed, by itself or with its parent.
    pub(crate) fn takes(&self, place: &Place) -> bool {
        self.gone.iter().any(|gone| gone.file == place.file && place.at.starts_with(&gone.at))
    }

    /// Returns the edits. A list or an object that becomes empty is removed with its key.
    pub(crate) fn done(mut self, page: &Page<'_>) -> OperationResult {
        while let Some(emptied) = self.gone.iter().find_map(|place| self.emptied(page, place)) {
            self.gone.push(emptied);
        }
        let all = std::mem::take(&mut self.gone);
        let is_inside = |place: &Place, other: &Place| {
            place.file == other.file && place.at.len() > other.at.len() && place.at.starts_with(&other.at)
        };
        let mut gone: Vec<Place> =
            all.iter().filter(|place| !all.iter().any(|other| is_inside(place, other))).cloned().collect();
        gone.sort_by(|one, other| later(&one.at, &other.at));
        let (whole, gone): (Vec<Place>, Vec<Place>) = gone.into_iter().partition(|place| place.at.is_empty());
        let taken = gone.into_iter().map(|place| (place.file, Edit::Remove { at: place.at }));
        OperationResult {
            edits: self.sets.into_iter().chain(self.put).chain(taken).collect(),
            come: self.come,
            gone: whole.into_iter().map(|place| place.file).collect(),
            select: None,
        }
    }

    /// Returns the parent of a place if everything in it is removed and the parent itself is not yet.
    fn emptied(&self, page: &Page<'_>, place: &Place) -> Option<Place> {
        let parent = place.parent()?;
        if !matches!(parent.at.last(), Some(PathStep::Key(_))) || self.takes(&parent) {
            return None;
        }
        let inside: Vec<Place> = match &page.tree(&parent)?.kind {
            TreeKind::Array(items) => (0..items.len()).map(|nth| parent.with(nth)).collect(),
            TreeKind::Object(entries) => entries.iter().map(|entry| parent.with(entry.key.value.as_str())).collect(),
            _ => return None,
        };
        inside.iter().all(|place| self.takes(place)).then_some(parent)
    }
}

/// The order of removals: of one list, the last item comes first.
fn later(one: &[PathStep], other: &[PathStep]) -> Ordering {
    let steps = one.iter().zip(other).map(|(one, other)| match (one, other) {
        (PathStep::Item(one), PathStep::Item(other)) => other.cmp(one),
        (PathStep::Key(one), PathStep::Key(other)) => other.cmp(one),
        (PathStep::Key(_), PathStep::Item(_)) | (PathStep::Item(_), PathStep::Key(_)) => Ordering::Equal,
    });
    steps.fold(Ordering::Equal, Ordering::then).then(other.len().cmp(&one.len()))
}

/// Returns the text under `key`, if there is one.
pub(crate) fn text_of<'t>(tree: &'t Tree, key: &str) -> Option<&'t str> {
    tree.get(key).and_then(Tree::as_str)
}
