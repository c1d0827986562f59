//! Deletes nodes. Edges to a deleted node lead on to its successor if that is unambiguous, and are deleted otherwise.

use std::collections::BTreeSet;

use super::Sheet;
use super::nodes::way;
use crate::dialect::editing::{EditError, Edits, Pen, Place};
use crate::graph::Kind;
use crate::source::Tree;

pub(super) fn delete(sheet: &Sheet<'_>, nodes: &[String]) -> Edits {
    let gone = with_pairs(sheet, nodes)?;
    ends_stay(sheet, &gone)?;
    let mut deletion = Deletion { sheet, gone: &gone, pen: Pen::default() };
    for (nth, item) in sheet.items().iter().enumerate() {
        let place = sheet.list.with(nth);
        match item.get("id").and_then(Tree::as_str).filter(|id| gone.contains(id)) {
            Some(_) => deletion.pen.remove(&place),
            None => deletion.led_on(&place, item.get("id").and_then(Tree::as_str).unwrap_or_default()),
        }
    }
    for key in ["entryNode", "exitNode"] {
        deletion.taken(&sheet.tool.with(key));
    }
    Ok(deletion.pen.done())
}

/// Adds the join of each deleted fork, and the fork of each deleted join.
fn with_pairs<'n>(sheet: &Sheet<'n>, nodes: &'n [String]) -> Result<BTreeSet<&'n str>, EditError> {
    let mut gone = BTreeSet::new();
    for id in nodes {
        gone.insert(id.as_str());
        match &sheet.page.node(id)?.kind {
            Kind::Fork { join: other, .. } | Kind::Join { fork: other, .. } => gone.insert(other.value.as_str()),
            _ => false,
        };
    }
    Ok(gone)
}

/// Refuses to delete the last entry or the last exit of a tool.
fn ends_stay(sheet: &Sheet<'_>, gone: &BTreeSet<&str>) -> Result<(), EditError> {
    let is_start = |kind: &Kind| matches!(kind, Kind::Start);
    let is_end = |kind: &Kind| matches!(kind, Kind::End { .. });
    for (is, word) in [(&is_start as &dyn Fn(&Kind) -> bool, "entry"), (&is_end, "exit")] {
        let mut those = sheet.page.graph.nodes.iter().filter(|node| is(&node.kind)).peekable();
        if those.peek().is_some() && those.all(|node| gone.contains(node.id.as_str())) {
            let message = format!("a tool needs an {word}, and none would be left");
            return Err(EditError::new(message, format!("keep the {word}, and change the edges to or from it")));
        }
    }
    Ok(())
}

struct Deletion<'d> {
    sheet: &'d Sheet<'d>,
    gone: &'d BTreeSet<&'d str>,
    pen: Pen,
}

impl Deletion<'_> {
    /// Returns the first remaining node after a deleted one.
    fn onward(&self, id: &str) -> Option<String> {
        let (mut here, mut visited) = (id.to_owned(), BTreeSet::new());
        while self.gone.contains(here.as_str()) && visited.insert(here.clone()) {
            here = way(self.sheet, self.sheet.page.node(&here).ok()?)?;
        }
        (!self.gone.contains(here.as_str())).then_some(here)
    }

    /// Returns the name at a place, if it is that of a deleted node.
    fn named(&self, place: &Place) -> Option<String> {
        self.sheet.page.text(place).filter(|id| self.gone.contains(id)).map(str::to_owned)
    }

    /// Removes the name of a deleted node.
    fn taken(&mut self, place: &Place) {
        if self.named(place).is_some() {
            self.pen.remove(place);
        }
    }

    fn led_on(&mut self, node: &Place, own: &str) {
        self.led(&node.with("next"), &node.with("next"), own);
        // The target of a failure is not replaced by its successor.
        self.taken(&node.with("onError"));
        if self.named(&node.with("on_failure").with("go_to")).is_some() {
            self.pen.remove(&node.with("on_failure"));
        }
        let conditions = node.with("conditions");
        for nth in 0..self.sheet.page.items(&conditions).len() {
            let condition = conditions.with(nth);
            let next = condition.with(self.sheet.next_of(&condition));
            self.led(&next, &condition, own);
        }
        if let Some(join) = self.sheet.page.text(&node.with("join")) {
            let mut pen = std::mem::take(&mut self.pen);
            pen.branches(self.sheet.page, &node.with("branches"), join, self.gone, &|id| self.onward(id));
            self.pen = pen;
        }
    }

    /// Replaces the target at a place by its successor, or removes the holder of the edge.
    fn led(&mut self, place: &Place, holder: &Place, own: &str) {
        let Some(id) = self.named(place) else { return };
        // A node that would lead to itself would loop forever.
        match self.onward(&id).filter(|to| to != own) {
            Some(to) => self.pen.set(place, to),
            None => self.pen.remove(holder),
        }
    }
}
