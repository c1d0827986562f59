//! Deletes states. Edges to a deleted state lead on to its successor if that is unambiguous, and are deleted otherwise.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Sheet, Way, begin, is_choice};
use crate::dialect::editing::{EditError, Edits, Pen, Place};
use crate::dialect::states::ways::DEFAULT;
use crate::graph::Kind;
use crate::source::Tree;

pub(super) fn delete(sheet: &Sheet<'_>, nodes: &[String]) -> Edits {
    let mut gone = BTreeSet::new();
    for id in nodes {
        gone.insert(id.as_str());
        // A fork and its join are deleted together.
        match &sheet.written(id)?.kind {
            Kind::Fork { join: other, .. } | Kind::Join { fork: other, .. } => gone.insert(other.value.as_str()),
            _ => false,
        };
    }
    if sheet.ids().all(|id| gone.contains(id)) {
        return Err(EditError::new("no state would be left", "keep one, and change it"));
    }
    let mut deletion = Deletion { sheet, gone: &gone, pen: Pen::default() };
    deletion.states();
    deletion.transitions();
    deletion.beginning();
    Ok(deletion.pen.done())
}

struct Deletion<'d> {
    sheet: &'d Sheet<'d>,
    gone: &'d BTreeSet<&'d str>,
    pen: Pen,
}

impl Deletion<'_> {
    /// Returns the target for edges to a deleted state, `null` for the end; `None` if it is ambiguous.
    fn onward(&self, id: &str) -> Option<Value> {
        let (mut here, mut visited) = (id.to_owned(), BTreeSet::new());
        while self.gone.contains(here.as_str()) {
            if !visited.insert(here.clone()) {
                return None;
            }
            if let Ok(Kind::Fork { join, .. }) = self.sheet.page.node(&here).map(|node| &node.kind) {
                here = join.value.to_string();
                continue;
            }
            let to = match self.sheet.way(&here) {
                Way::Missing | Way::Final | Way::End => Value::Null,
                Way::To(to) => to.into(),
                Way::Branches => self.sheet.page.value(&self.sheet.transition(&here).with(DEFAULT))?,
                Way::Choose => return None,
            };
            match to {
                Value::String(to) => here = to,
                to => return Some(to),
            }
        }
        Some(here.into())
    }

    /// Returns the name at a place, if it is that of a deleted state.
    fn named(&self, place: &Place) -> Option<String> {
        self.sheet.page.text(place).filter(|id| self.gone.contains(id)).map(str::to_owned)
    }

    fn states(&mut self) {
        for id in self.sheet.ids() {
            let state = self.sheet.state(id);
            let layout = self.sheet.page.own().with("graph_layout").with(id);
            if self.gone.contains(id) {
                self.pen.remove(&state);
                if self.sheet.page.tree(&layout).is_some() {
                    self.pen.remove(&layout);
                }
                continue;
            }
            // The target of a failure is not replaced by its successor.
            if self.named(&state.with("on_failure").with("go_to")).is_some() {
                self.pen.remove(&state.with("on_failure"));
            }
            let Some(join) = self.sheet.page.text(&state.with("join")) else { continue };
            let mut pen = std::mem::take(&mut self.pen);
            let onward = |id: &str| self.onward(id).and_then(|to| to.as_str().map(str::to_owned));
            pen.branches(self.sheet.page, &state.with("parallel"), join, self.gone, &onward);
            self.pen = pen;
        }
    }

    fn transitions(&mut self) {
        for entry in self.sheet.page.tree(&self.sheet.transitions).and_then(Tree::entries).unwrap_or_default() {
            let id = entry.key.value.as_str();
            if self.gone.contains(id) {
                self.pen.remove(&self.sheet.transition(id));
            } else {
                self.transition(id, &entry.value);
            }
        }
    }

    /// Updates a transition, and removes it if none of its targets remain.
    fn transition(&mut self, id: &str, tree: &Tree) {
        let place = self.sheet.transition(id);
        let parts: Vec<Place> = match tree.entries() {
            None => vec![place.clone()],
            Some(_) if is_choice(tree) => {
                let to = place.with("to");
                (0..self.sheet.page.items(&to).len()).map(|nth| to.with(nth)).collect()
            }
            Some(branches) => branches.iter().map(|branch| place.with(branch.key.value.as_str())).collect(),
        };
        let named = parts.into_iter().map(|part| (self.named(&part), part));
        let led = named.map(|(name, part)| {
            // A target of `choose` is not replaced, because the expression does not return the new name. A state that
            // would lead to itself would loop forever.
            let onward = |name: &str| self.onward(name).filter(|to| !is_choice(tree) && to.as_str() != Some(id));
            (part, name.map(|name| onward(&name)))
        });
        let led: Vec<(Place, Option<Option<Value>>)> = led.collect();
        if !led.is_empty() && led.iter().all(|(_, onward)| matches!(onward, Some(None))) {
            return self.pen.remove(&place);
        }
        for (part, onward) in led {
            match onward {
                Some(Some(to)) => self.pen.set(&part, to),
                Some(None) => self.pen.remove(&part),
                None => {}
            }
        }
    }

    /// Moves the beginning from a deleted initial state to its successor.
    fn beginning(&mut self) {
        let Some((first, _)) = self.sheet.initial().filter(|(first, _)| self.gone.contains(first)) else { return };
        let Some(Value::String(next)) = self.onward(first) else { return };
        if !self.sheet.is_taken(&next) {
            return;
        }
        let mut left = self.sheet.ids().filter(|id| !self.gone.contains(id));
        let is_said = |id: &str| self.sheet.page.tree(&self.sheet.state(id).with("is_initial")).is_some();
        let others_say = self.sheet.ids().any(|id| !self.gone.contains(id) && is_said(id));
        if !others_say && left.next() != Some(next.as_str()) {
            self.pen.set(&self.sheet.state(&next).with("is_initial"), true);
        } else if others_say && !is_said(&next) {
            let mut pen = std::mem::take(&mut self.pen);
            begin(self.sheet, &mut pen, &next);
            self.pen = pen;
        }
    }
}
