//! An index of places by span, so that looking up each node of a large definition does not read all of its text.

use std::collections::BTreeMap;

use super::page::Place;
use crate::source::{PathStep, Span, Tree, TreeKind};

/// The places in all files of a definition. The first occurrence of an aliased value counts.
#[derive(Default)]
pub(super) struct Index {
    spots: Vec<Spot>,
    /// The values that have their name at a span: their key, or a text in them.
    named: BTreeMap<Span, usize>,
    /// The values at a span: a scalar, or the value of a key.
    standing: BTreeMap<Span, usize>,
}

/// One step of a path, and its predecessor.
struct Spot {
    file: usize,
    before: Option<usize>,
    /// The index of the entry or item.
    nth: usize,
}

impl Index {
    pub(super) fn of(trees: &[Option<Tree>]) -> Index {
        let mut index = Index::default();
        for (file, tree) in trees.iter().enumerate().filter_map(|(file, tree)| Some((file, tree.as_ref()?))) {
            let root = index.spot(file, None, 0);
            index.note(tree, root);
        }
        index
    }

    fn spot(&mut self, file: usize, before: Option<usize>, nth: usize) -> usize {
        self.spots.push(Spot { file, before, nth });
        self.spots.len() - 1
    }

    fn note(&mut self, tree: &Tree, here: usize) {
        let file = self.spots[here].file;
        match &tree.kind {
            TreeKind::Object(entries) => {
                for text in entries.iter().map(|entry| &entry.value).filter(|value| value.as_str().is_some()) {
                    self.named.entry(text.span).or_insert(here);
                }
                for (nth, entry) in entries.iter().enumerate() {
                    let inside = self.spot(file, Some(here), nth);
                    self.named.entry(entry.key.span).or_insert(inside);
                    self.standing.entry(entry.key.span).or_insert(inside);
                    self.note(&entry.value, inside);
                }
            }
            TreeKind::Array(items) => {
                for (nth, item) in items.iter().enumerate() {
                    let inside = self.spot(file, Some(here), nth);
                    self.note(item, inside);
                }
            }
            TreeKind::Null | TreeKind::Bool(_) | TreeKind::Number(_) | TreeKind::String(_) => {
                self.standing.entry(tree.span).or_insert(here);
            }
        }
    }

    /// Returns the place and the value that have their name at a span.
    pub(super) fn named<'t>(&self, span: Span, trees: &'t [Option<Tree>]) -> Option<(Place, &'t Tree)> {
        self.named.get(&span).and_then(|spot| self.place(*spot, trees))
    }

    /// Returns the place and the value at a span.
    pub(super) fn standing<'t>(&self, span: Span, trees: &'t [Option<Tree>]) -> Option<(Place, &'t Tree)> {
        self.standing.get(&span).and_then(|spot| self.place(*spot, trees))
    }

    fn place<'t>(&self, spot: usize, trees: &'t [Option<Tree>]) -> Option<(Place, &'t Tree)> {
        let way = std::iter::successors(self.spots.get(spot), |spot| self.spots.get(spot.before?));
        // The first spot is the file as a whole and no step.
        let mut steps: Vec<&Spot> = way.filter(|spot| spot.before.is_some()).collect();
        steps.reverse();
        let file = self.spots.get(spot)?.file;
        let (mut at, mut here) = (Vec::with_capacity(steps.len()), trees.get(file)?.as_ref()?);
        for Spot { nth, .. } in steps {
            match &here.kind {
                TreeKind::Object(entries) => {
                    let entry = entries.get(*nth)?;
                    at.push(PathStep::Key(entry.key.value.clone()));
                    here = &entry.value;
                }
                TreeKind::Array(items) => {
                    at.push(PathStep::Item(*nth));
                    here = items.get(*nth)?;
                }
                _ => return None,
            }
        }
        Some((Place { file, at }, here))
    }
}
