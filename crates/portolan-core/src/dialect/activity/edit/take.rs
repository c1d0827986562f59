//! Renames and deletes elements, with every reference to them.

use super::names::{self, Reference, references};
use super::ways::two_branches;
use super::{WrittenNode, sound, taken, written};
use crate::dialect::editing::{Changes, EditError, Edits, OperationResult, Page, Place, text_of};
use crate::source::{Edit, PathStep, Tree};

pub(super) fn rename(page: &Page<'_>, node: &str, to: &str) -> Edits {
    let written = written(page, node)?;
    // A person may write the displayed id, which begins with the activity.
    let own = to.rsplit_once('.').filter(|(before, _)| !written.is_activity() && *before == written.prefix());
    let to = own.map_or(to, |(_, own)| own);
    let shown = match written.is_activity() {
        true => to.to_owned(),
        false => format!("{}.{to}", written.prefix()),
    };
    if written.id() == to {
        return Ok(OperationResult::default().selecting(shown));
    }
    sound(to, if written.is_activity() { "an activity" } else { "a step" })?;
    if written.is_activity() && names::activity(page, to).is_some() {
        return Err(taken("an activity", to));
    }
    if !written.is_activity() && names::is_taken(page, &written.activity, to) {
        return Err(taken("a step", to));
    }
    let mut changes = Changes::default();
    for reference in references(page).into_iter().filter(|reference| is_named(&written, reference)) {
        changes.set(reference.place, to);
    }
    let own = written.place.with("id");
    if page.tree(&own).is_some() {
        changes.set(own, to);
        return Ok(changes.done(page).selecting(shown));
    }
    // A technique has no `id` of its own yet, so insert one.
    let before = names::members(page, &written.place).first().and_then(|place| place.at.last().cloned());
    let before = before.and_then(|step| match step {
        PathStep::Key(key) => Some(key),
        PathStep::Item(_) => None,
    });
    let mut done = changes.done(page);
    done.edits.push((own.file, Edit::Insert { at: own.at, before, value: to.into() }));
    Ok(done.selecting(shown))
}

fn is_named(written: &WrittenNode<'_>, reference: &Reference) -> bool {
    let within = (!written.is_activity()).then_some(&written.activity);
    reference.within.as_ref() == within && reference.names == written.id()
}

pub(super) fn delete(page: &Page<'_>, gone: &[String]) -> Edits {
    let mut changes = Changes::default();
    let mut all = Vec::new();
    for node in gone {
        let written = written(page, node)?;
        changes.take(written.place.clone());
        all.push(written);
    }
    if names::activities(page).iter().all(|activity| changes.takes(activity)) {
        return Err(EditError::new("no activity would be left", "keep one: a workflow needs an activity"));
    }
    all.iter().for_each(|written| forget_all(page, written, &mut changes));
    is_whole(page, &changes)?;
    Ok(changes.done(page))
}

/// Removes the references to an element that is deleted, or moved to where they do not reach.
pub(super) fn forget_all(page: &Page<'_>, written: &WrittenNode<'_>, changes: &mut Changes) {
    for reference in references(page).into_iter().filter(|reference| is_named(written, reference)) {
        forget(page, written, reference.place, changes);
    }
}

/// Removes a reference to a deleted element.
fn forget(page: &Page<'_>, written: &WrittenNode<'_>, place: Place, changes: &mut Changes) {
    let key = match place.at.last() {
        Some(PathStep::Key(key)) => key.clone(),
        _ => return changes.take(place),
    };
    match key.as_str() {
        "to" => place.parent().into_iter().for_each(|transition| changes.take(transition)),
        "transitionTo" => {
            let owner = place.parent();
            let is_branch = owner.as_ref().is_some_and(|owner| matches!(owner.at.last(), Some(PathStep::Item(_))));
            changes.take(owner.filter(|_| is_branch).unwrap_or(place));
        }
        "before" | "after" => anchor(page, written, place, key == "after", changes),
        _ => changes.take(place),
    }
}

/// Moves an anchor from a deleted step to the adjacent one, or to the entry or exit if there is none.
fn anchor(page: &Page<'_>, written: &WrittenNode<'_>, place: Place, is_after: bool, changes: &mut Changes) {
    let Some((list, nth)) = written.listed() else { return changes.take(place) };
    let stays = |at: &usize| !changes.takes(&list.with(*at));
    let other = match is_after {
        true => (0..nth).rfind(stays),
        false => (nth + 1..page.items(&list).len()).find(stays),
    };
    let id = other.and_then(|at| page.items(&list).get(at)).and_then(names::id_of);
    match (id, place.parent()) {
        (Some(id), _) => changes.set(place, id),
        (None, Some(owner)) => {
            changes.set(owner.with("at"), if is_after { "entry" } else { "exit" });
            changes.take(place);
        }
        (None, None) => changes.take(place),
    }
}

/// Refuses to leave a loop without steps, or a decision without two branches.
pub(super) fn is_whole(page: &Page<'_>, changes: &Changes) -> Result<(), EditError> {
    let left = |list: &Place| (0..page.items(list).len()).filter(|nth| !changes.takes(&list.with(*nth))).count();
    for activity in names::activities(page).iter().filter(|activity| !changes.takes(activity)) {
        for place in names::inside(page, activity).iter().filter(|place| !changes.takes(place)) {
            let body = ["steps", "activities"].map(|key| place.with(key));
            if body.iter().any(|list| !page.items(list).is_empty() && left(list) == 0) {
                let name = page.tree(place).and_then(names::id_of).unwrap_or_default();
                let message = format!("the loop `{name}` would have nothing to repeat");
                return Err(EditError::new(message, "remove the loop as well, or add another step to it first"));
            }
        }
        let decisions = activity.with("decisions");
        let branches = (0..page.items(&decisions).len()).map(|nth| decisions.with(nth).with("branches"));
        if branches.into_iter().any(|list| left(&list) < page.items(&list).len() && left(&list) < 2) {
            return Err(two_branches());
        }
    }
    Ok(())
}

/// Returns the lists of loops beside the steps that name a step, with the index of the name.
pub(super) fn naming_loops(page: &Page<'_>, activity: &Place, step: &str) -> Vec<(Place, usize)> {
    let loops = activity.with("loops");
    let lists =
        (0..page.items(&loops).len()).flat_map(|nth| ["steps", "activities"].map(|key| loops.with(nth).with(key)));
    let named = |list: Place| {
        let nth = page.items(&list).iter().position(|item: &Tree| item.as_str() == Some(step))?;
        Some((list, nth))
    };
    lists.into_iter().filter_map(named).collect()
}

/// Returns whether a loop names the steps that it repeats.
pub(super) fn names_steps(tree: &Tree) -> bool {
    let first = tree.get("steps").map(|steps| &steps.kind);
    let is_text = |items: &[Tree]| items.first().is_some_and(|item| item.as_str().is_some());
    matches!(first, Some(crate::source::TreeKind::Array(items)) if is_text(items)) && text_of(tree, "id").is_some()
}
