//! The decisions that lead out of activities. Only a decision can end the work on a condition: transitions lead to
//! activities, and a branch without a target ends the work.

use serde_json::{Map, Value, json};

use super::carry::has_comment;
use super::ways::{self, Way};
use super::{conditions, names};
use crate::dialect::editing::{Changes, EditError, Edits, Page, Place, fresh, text_of};
use crate::source::Tree;

/// Returns whether an activity is left by a decision.
pub(super) fn has_one(page: &Page<'_>, activity: &Place) -> bool {
    !page.items(&activity.with("decisions")).is_empty()
}

/// Adds a branch to the decision of an activity, or writes a decision in place of its transitions. `to` is `None` for the
/// end of the work, and `condition` for the branch that is taken if no condition holds.
pub(super) fn add_branch(page: &Page<'_>, activity: &Place, to: Option<&str>, condition: Option<&str>) -> Edits {
    let gate = condition.map(conditions::read).transpose()?;
    let mut changes = Changes::default();
    let decisions = activity.with("decisions");
    if has_one(page, activity) {
        let (list, nth) = next_branch(page, &decisions);
        let known: Vec<&str> = page.items(&list).iter().filter_map(|branch| text_of(branch, "id")).collect();
        changes.put(page, &list, nth, branch(page, activity, &known, to, gate));
        return Ok(changes.done(page));
    }
    let mut branches = converted(page, activity)?;
    let default = branches.iter().position(|branch| branch.get("isDefault").is_some());
    let new = branch(page, activity, &ids(&branches), to, gate);
    branches.insert(default.unwrap_or(branches.len()), new);
    if branches.len() < 2 {
        branches.push(branch(page, activity, &ids(&branches), None, None));
    }
    changes.put(page, &decisions, 0, json!({ "id": "next", "name": "What follows", "branches": branches }));
    let transitions = activity.with("transitions");
    if page.tree(&transitions).is_some() {
        changes.take(transitions);
    }
    Ok(changes.done(page))
}

/// Returns the position of a new branch: before the default one, or else at the end of the last decision.
fn next_branch(page: &Page<'_>, decisions: &Place) -> (Place, usize) {
    let lists: Vec<Place> = (0..page.items(decisions).len()).map(|nth| decisions.with(nth).with("branches")).collect();
    let default = |list: &Place| page.items(list).iter().position(ways::is_default);
    let found = lists.iter().find_map(|list| Some((list.clone(), default(list)?)));
    let last = || lists.last().map(|list| (list.clone(), page.items(list).len()));
    found.or_else(last).unwrap_or_else(|| (decisions.clone(), 0))
}

/// Returns the transitions of an activity as branches.
fn converted(page: &Page<'_>, activity: &Place) -> Result<Vec<Value>, EditError> {
    let mut branches: Vec<Value> = Vec::new();
    let list = activity.with("transitions");
    let is_under_one = |item: &Place| page.line_above(item).is_some_and(|line| line.trim_start().starts_with('#'));
    if has_comment(page, &list) || (0..page.items(&list).len()).any(|nth| is_under_one(&list.with(nth))) {
        let message = "a comment of the transitions would be lost, which become the branches of a decision";
        return Err(EditError::new(message, "write the `decisions` in the text"));
    }
    for transition in page.items(&list) {
        let gate = ["when", "condition"].into_iter().find_map(|key| Some((key, transition.get(key)?.value())));
        let is_default = ways::is_default(transition);
        if is_default && gate.is_some() || branches.iter().any(|branch| branch.get("isDefault").is_some()) {
            let message =
                "the transitions of the activity cannot become the branches of a decision: one is the default";
            return Err(EditError::new(message, "write the `decisions` in the text"));
        }
        let to = text_of(transition, "to");
        let new = branch(page, activity, &ids(&branches), to, gate);
        branches.push(new);
    }
    Ok(branches)
}

fn ids(branches: &[Value]) -> Vec<&str> {
    branches.iter().filter_map(|branch| branch.get("id")?.as_str()).collect()
}

/// Returns a branch with an id that the other branches do not have; it is the default one without a condition.
fn branch(
    page: &Page<'_>,
    activity: &Place,
    taken: &[&str],
    to: Option<&str>,
    gate: Option<(&'static str, Value)>,
) -> Value {
    let own = page.tree(activity).and_then(|tree| text_of(tree, "id"));
    let name = |id| page.tree(&names::activity(page, id)?).and_then(|tree: &Tree| text_of(tree, "name"));
    let (id, label) = match to {
        None => ("finished", "Finished"),
        Some(to) if own == Some(to) => ("again", "Again"),
        Some(to) => (to, name(to).unwrap_or(to)),
    };
    let id = fresh(id, &|id| taken.contains(&id));
    let mut branch = Map::from_iter([("id".to_owned(), json!(id)), ("label".to_owned(), json!(label))]);
    match gate {
        Some((key, condition)) => branch.insert(key.to_owned(), condition),
        None => branch.insert("isDefault".to_owned(), json!(true)),
    };
    if let Some(to) = to {
        branch.insert("transitionTo".to_owned(), json!(to));
    }
    Value::Object(branch)
}

/// Leads an activity to the end of the work, on a condition or if no condition holds.
pub(super) fn finish(page: &Page<'_>, activity: &Place, from: &str, condition: Option<&str>) -> Edits {
    if !has_one(page, activity) && page.items(&activity.with("transitions")).is_empty() {
        let message = format!("no transition leaves `{from}`, so the work ends there already");
        return Err(EditError::new(message, "connect it with an activity"));
    }
    if condition.is_none() {
        if let Some(way) = ways::open(page, activity) {
            return Err(ways::already_open(page, from, &way));
        }
        // A decision with a default branch is final: what stands behind it is not looked at.
        if has_one(page, activity) && !page.items(&activity.with("transitions")).is_empty() {
            let message = format!("the transitions of `{from}` would never be taken behind a default branch");
            return Err(EditError::new(message, "make them branches of the decision in the text"));
        }
    }
    add_branch(page, activity, None, condition)
}

/// Leads a way out of an activity to the end of the work.
pub(super) fn end_at(page: &Page<'_>, way: &Way) -> Edits {
    let mut changes = Changes::default();
    match way {
        Way::Branch(branch) => changes.take(branch.with("transitionTo")),
        Way::Nothing(_) => {}
        Way::Initial | Way::Transition(_) | Way::Answer(_) | Way::Override(_) => {
            let message = "only a branch of a decision can end the work, and the others lead to activities";
            return Err(EditError::new(message, "remove this edge, and connect the activity with the end"));
        }
    }
    Ok(changes.done(page))
}
