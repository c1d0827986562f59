//! The conditions of edges between activities: those of transitions and of the branches of decisions.

use serde_json::Value;

use super::ways::{self, Way};
use crate::dialect::editing::{Changes, EditError, Edits, OperationResult, Page, Place};
use crate::expr::When;
use crate::graph::Edge;

/// Returns the condition of an edge as it is written, empty if it has none; `None` if the edge cannot have one.
pub(super) fn of(page: &Page<'_>, edge: &Edge) -> Option<String> {
    let (Way::Transition(place) | Way::Branch(place)) = ways::way_of(page, edge).ok()? else { return None };
    let written = gate(page, &place).and_then(|gate| page.tree(&gate));
    Some(written.map_or_else(String::new, |tree| match tree.as_str() {
        Some(text) => text.to_owned(),
        None => tree.value().to_string(),
    }))
}

/// Returns the place of the condition of a transition or a branch.
fn gate(page: &Page<'_>, place: &Place) -> Option<Place> {
    ["when", "condition"].map(|key| place.with(key)).into_iter().find(|gate| page.tree(gate).is_some())
}

/// Changes the condition of an edge; `None` for an edge that is always open.
pub(super) fn change(page: &Page<'_>, edge: &Edge, to: Option<&str>) -> Edits {
    if edge.on.outcome().map(|outcome| outcome.as_str()) == to && to.is_some() {
        return Ok(OperationResult::default());
    }
    let place = match ways::way_of(page, edge)? {
        Way::Transition(place) | Way::Branch(place) => place,
        Way::Nothing(_) => {
            let message = "no transition is written there: without one, the work is done";
            return Err(EditError::new(message, "connect the activity with another one, on a condition"));
        }
        Way::Answer(_) => {
            let message = "the answers of a checkpoint lead on without a condition";
            let help = "give another answer that leads elsewhere, or give the checkpoint itself a condition";
            return Err(EditError::new(message, help));
        }
        Way::Initial | Way::Override(_) => return Err(EditError::not_here("this edge depends on a condition")),
    };
    let mut changes = Changes::default();
    match to.map(str::trim).filter(|to| !to.is_empty()) {
        Some(to) => set(page, &place, to, &mut changes)?,
        None => open(page, edge, &place, &mut changes)?,
    }
    Ok(changes.done(page))
}

fn set(page: &Page<'_>, place: &Place, to: &str, changes: &mut Changes) -> Result<(), EditError> {
    let (key, value) = read(to)?;
    let old = gate(page, place);
    match &old {
        // A text may stand under either key.
        Some(gate) if value.is_string() || gate.key() == Some(key) => changes.set(gate.clone(), value),
        _ => {
            old.into_iter().for_each(|gate| changes.take(gate));
            changes.set(place.with(key), value);
        }
    }
    if page.tree(&place.with("isDefault")).is_some() {
        changes.take(place.with("isDefault"));
    }
    Ok(())
}

/// Reads a condition: a text, or the JSON of an object. Returns it with its key.
pub(super) fn read(text: &str) -> Result<(&'static str, Value), EditError> {
    if text.starts_with('{') {
        let value = serde_json::from_str(text).map_err(|fault| {
            let help = "write it as `state == done`, or as a JSON object";
            EditError::new(format!("the condition is not valid JSON: {fault}"), help)
        })?;
        return Ok(("condition", value));
    }
    When::parse(text).map_err(|fault| {
        EditError::new(fault.message, fault.help.unwrap_or_else(|| "write it as `state == done`".into()))
    })?;
    Ok(("when", text.into()))
}

/// Removes the condition of a transition. Of several that are always open, only the first could be taken.
fn open(page: &Page<'_>, edge: &Edge, place: &Place, changes: &mut Changes) -> Result<(), EditError> {
    let Some(gate) = gate(page, place) else { return Ok(()) };
    let activity = ways::owner(page, page.node(edge.from.value.as_str())?)?;
    if let Some(other) = ways::open(page, &activity) {
        let message = format!("another edge is already always open{}", ways::leads_to(page, &other));
        return Err(EditError::new(message, "give that one a condition first"));
    }
    changes.take(gate);
    let list = place.parent().unwrap_or_else(|| place.clone());
    let is_last = place.number().is_some_and(|nth| nth + 1 == page.items(&list).len());
    // A branch without a condition must be the default one. After a transition without a condition none is taken, but a
    // default one may stand before others.
    if !is_last || list.key() == Some("branches") {
        changes.set(place.with("isDefault"), true);
    }
    Ok(())
}
