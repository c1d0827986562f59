//! Moves a step to another place, and puts it into a loop.

use serde_json::{Map, Value, json};

use super::add::{self, Spot};
use super::take::{self, names_steps, naming_loops};
use super::{WrittenNode, names, taken, written};
use crate::dialect::editing::{Changes, EditError, Edits, OperationResult, Page, Place};
use crate::source::Edit;

/// Puts a step into a loop that takes its place. What names the step still does: its id does not change.
pub(super) fn wrap(page: &Page<'_>, node: &str, id: Option<&str>, values: Option<&Map<String, Value>>) -> Edits {
    let written = step(page, node)?;
    let Some((list, nth)) = written.listed() else { return Err(EditError::unknown("step", node)) };
    let id = add::step_id(page, &written.activity, "loop", id)?;
    let value = carried(page, &written)?;
    let spot =
        Spot { list, nth, activity: written.activity.clone(), prefix: written.prefix().to_owned(), behind: None };
    let mut around = add::filled_loop(page, add::made(page, "loop", &id, &spot), values)?;
    around["steps"] = json!([value]);
    // The item is emptied first, so that its fields stand in the order of the new one, and what is written above it stays.
    let at = written.place.at.clone();
    let edits = [Edit::Set { at: at.clone(), value: Value::Null }, Edit::Set { at, value: around }];
    let edits = edits.into_iter().map(|edit| (written.place.file, edit)).collect();
    Ok(OperationResult::of(edits).selecting(format!("{}.{id}", written.prefix())))
}

/// Moves a step behind another one, or to the beginning of an activity.
pub(super) fn moved(page: &Page<'_>, node: &str, after: &str) -> Edits {
    let written = step(page, node)?;
    let Some((list, nth)) = written.listed() else { return Err(EditError::unknown("step", node)) };
    let spot = add::behind(page, after)?;
    if spot.list.file == written.place.file && spot.list.at.starts_with(&written.place.at) {
        let message = format!("`{node}` cannot be moved into itself");
        return Err(EditError::new(message, "move it behind a step outside of it"));
    }
    let shown = format!("{}.{}", spot.prefix, written.id());
    if spot.list == list {
        // Its own removal shifts what stands behind it.
        let to = spot.nth - usize::from(spot.nth > nth);
        let edit = Edit::Move { at: written.place.at.clone(), to };
        let edits = if to == nth { Vec::new() } else { vec![(list.file, edit)] };
        return Ok(OperationResult::of(edits).selecting(shown));
    }
    if spot.activity != written.activity && names::is_taken(page, &spot.activity, written.id()) {
        return Err(taken("a step", written.id()));
    }
    if page.line_above(&written.place).is_some_and(|line| line.trim_start().starts_with('#')) {
        return Err(lost(&written));
    }
    let value = carried(page, &written)?;
    let mut changes = Changes::default();
    if spot.activity != written.activity {
        take::forget_all(page, &written, &mut changes);
    }
    changes.take(written.place.clone());
    take::is_whole(page, &changes)?;
    changes.put(page, &spot.list, spot.nth, value);
    Ok(changes.done(page).selecting(shown))
}

/// Returns a step that can be moved: its text is in a list of steps, and nothing beside it says which steps it repeats.
fn step<'p>(page: &Page<'p>, node: &str) -> Result<WrittenNode<'p>, EditError> {
    let written = written(page, node)?;
    if written.is_activity() {
        let message = format!("`{node}` is an activity, and those follow their transitions");
        return Err(EditError::new(message, "change the transitions that lead to it"));
    }
    if page.tree(&written.place).is_some_and(names_steps) {
        let message = format!("`{node}` repeats steps that are defined beside it");
        return Err(EditError::new(message, "define the steps inside the loop first"));
    }
    if !naming_loops(page, &written.activity, written.id()).is_empty() {
        let message = format!("a loop beside the steps names `{node}`");
        return Err(EditError::new(message, "remove it from that loop first"));
    }
    match written.listed().and_then(|(list, _)| list.key().map(|key| key == "steps")) {
        Some(true) => Ok(written),
        _ => {
            let message = format!("`{node}` is in a list of its own, beside the steps");
            Err(EditError::new(message, "edit the text"))
        }
    }
}

/// Returns whether the text of a place has a comment, which would be lost if the value were written anew.
pub(super) fn has_comment(page: &Page<'_>, place: &Place) -> bool {
    let is_one = |line: &str| line.trim_start().starts_with('#') || line.contains(" #") || line.contains("\t#");
    page.lines(place).is_some_and(|lines| lines.lines().any(is_one))
}

/// Returns the value of a step that is written anew elsewhere. Refuses a text with a comment, which would be lost, or
/// with what may be one: JSON has none, and in YAML one begins a line or follows a space.
fn carried(page: &Page<'_>, written: &WrittenNode<'_>) -> Result<Value, EditError> {
    if has_comment(page, &written.place) {
        return Err(lost(written));
    }
    page.value(&written.place).ok_or_else(|| EditError::unknown("step", written.node.id.as_str()))
}

fn lost(written: &WrittenNode<'_>) -> EditError {
    let message = format!("a comment of `{}` would be lost", written.node.id);
    EditError::new(message, "cut its text, and paste it where it belongs")
}
