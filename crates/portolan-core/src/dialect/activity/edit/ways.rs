//! Edges from one activity to the next: their places in the text, and how to redirect them.

use serde_json::json;

use super::{conditions, decisions, names, written};
use crate::dialect::editing::{Changes, EditError, Edits, Page, Place, text_of};
use crate::graph::{Edge, Kind, Node, Trigger};
use crate::source::{Span, Tree, TreeKind};
use crate::value::SKIPPED;

/// The place of an edge in the text.
pub(super) enum Way {
    /// The beginning of the workflow.
    Initial,
    Transition(Place),
    /// A branch of a decision.
    Branch(Place),
    /// An answer of a checkpoint.
    Answer(Place),
    /// The override of a mode.
    Override(Place),
    /// None: the activity has no edge, so the work is done there.
    Nothing(Place),
}

impl Way {
    /// Redirects the edge to an activity.
    pub(super) fn lead(&self, page: &Page<'_>, to: &str, changes: &mut Changes) {
        let place = match self {
            Way::Initial => page.own().with("initialActivity"),
            Way::Transition(place) => place.with("to"),
            Way::Branch(place) => place.with("transitionTo"),
            Way::Answer(place) => place.with("effect").with("transitionTo"),
            Way::Override(place) => place.with("transitionOverride"),
            Way::Nothing(activity) => {
                let list = activity.with("transitions");
                let last = page.items(&list).len();
                return changes.put(page, &list, last, json!({ "to": to }));
            }
        };
        changes.set(place, to);
    }
}

/// Returns the activity that contains a node, outside of the loops that go through it.
pub(super) fn owner(page: &Page<'_>, node: &Node) -> Result<Place, EditError> {
    let id = node.id.as_str().split('.').next().unwrap_or_default();
    names::activity(page, id).ok_or_else(|| EditError::unknown("activity", id))
}

/// Returns whether a node is the entry of an activity outside of loops.
fn begins_one(node: &Node) -> bool {
    node.kind == Kind::Activity && !node.id.as_str().contains('.')
}

/// Returns the place of an edge in the text.
pub(super) fn way_of(page: &Page<'_>, edge: &Edge) -> Result<Way, EditError> {
    let (from, to) = (page.node(edge.from.value.as_str())?, page.node(edge.to.value.as_str())?);
    if from.kind == Kind::Start {
        return Ok(Way::Initial);
    }
    let follows = || {
        let message = format!("`{}` comes after `{}` because of their order in the list", to.id, from.id);
        EditError::new(message, "add the step elsewhere and remove this one, or edit the text")
    };
    let is_out = begins_one(to) || matches!(to.kind, Kind::End { .. });
    let is_past = from.kind == Kind::Activity && edge.on.outcome().is_some_and(|on| on.as_str() == SKIPPED);
    if !is_out || is_past || from.seat.is_none() {
        return Err(follows());
    }
    let activity = owner(page, from)?;
    if matches!(from.kind, Kind::Checkpoint { .. }) {
        let options = page.place_of(from)?.with("options");
        let answer = page.item_at(&options, edge.span).map(|nth| options.with(nth));
        if let Some(answer) = answer.filter(|answer| page.tree(&answer.with("effect").with("transitionTo")).is_some()) {
            return Ok(Way::Answer(answer));
        }
        if page.tree(&options).is_none() {
            return Err(EditError::new("its answers are those of a shared checkpoint", "edit the `fragments`"));
        }
    }
    if let Some(way) = at_span(page, &activity, edge.span) {
        return Ok(way);
    }
    match edge.on {
        Trigger::When(_) => Err(follows()),
        _ => Ok(open(page, &activity).unwrap_or(Way::Nothing(activity))),
    }
}

/// Returns the edge out of an activity at a span.
fn at_span(page: &Page<'_>, activity: &Place, span: Span) -> Option<Way> {
    let transitions = activity.with("transitions");
    if let Some(nth) = page.item_at(&transitions, span) {
        return Some(Way::Transition(transitions.with(nth)));
    }
    let decisions = activity.with("decisions");
    if let Some(nth) = page.item_at(&decisions, span) {
        let branches = decisions.with(nth).with("branches");
        return Some(Way::Branch(branches.with(page.item_at(&branches, span)?)));
    }
    let overrides = activity.with("modeOverrides");
    let entries = page.tree(&overrides).and_then(Tree::entries).unwrap_or_default();
    let over = entries.iter().find(|entry| entry.key.span == span)?;
    Some(Way::Override(overrides.with(over.key.value.as_str())))
}

/// Returns whether a branch or a transition is taken if no condition holds.
pub(super) fn is_default(tree: &Tree) -> bool {
    matches!(tree.get("isDefault").map(|tree| &tree.kind), Some(TreeKind::Bool(true)))
}

/// Returns the edge out of an activity that is taken if no condition holds.
pub(super) fn open(page: &Page<'_>, activity: &Place) -> Option<Way> {
    let has_condition = |tree: &Tree| ["when", "condition"].iter().any(|key| tree.get(key).is_some());
    let decisions = activity.with("decisions");
    for decision in (0..page.items(&decisions).len()).map(|nth| decisions.with(nth).with("branches")) {
        if let Some(nth) = page.items(&decision).iter().position(is_default) {
            return Some(Way::Branch(decision.with(nth)));
        }
    }
    let list = activity.with("transitions");
    let items = page.items(&list);
    let always = items.iter().position(|item| !has_condition(item) && !is_default(item));
    always.or_else(|| items.iter().position(is_default)).map(|nth| Way::Transition(list.with(nth)))
}

/// Returns whether a node has an edge out of its activity.
pub(super) fn is_last(page: &Page<'_>, node: &Node) -> bool {
    let leads_out = |edge: &&Edge| {
        let to = page.graph.node(&edge.to.value);
        let is_out = |to: &Node| begins_one(to) || matches!(to.kind, Kind::End { .. } | Kind::Switch);
        to.is_some_and(|to| is_out(to) && !edge.to.value.as_str().ends_with(".when"))
    };
    node.seat.is_some()
        && page.graph.edges.iter().filter(|edge| edge.from.value == node.id).any(|edge| leads_out(&edge))
}

/// Refuses a target that is no activity.
fn target(page: &Page<'_>, to: &str) -> Result<(), EditError> {
    let node = page.node(to)?;
    if begins_one(node) {
        return Ok(());
    }
    let help = "name an activity: if no transition leaves one, the work is done";
    Err(EditError::new(format!("`{to}` is not an activity, and transitions lead to activities"), help))
}

fn is_end(page: &Page<'_>, node: &str) -> Result<bool, EditError> {
    Ok(matches!(page.node(node)?.kind, Kind::End { .. }))
}

pub(super) fn connect(page: &Page<'_>, from: &str, to: &str, on: Option<&str>) -> Edits {
    let node = page.node(from)?;
    if is_end(page, to)? && !matches!(node.kind, Kind::Checkpoint { .. } | Kind::Start) {
        return decisions::finish(page, &leaving(page, node)?, from, on);
    }
    target(page, to)?;
    let mut changes = Changes::default();
    if matches!(node.kind, Kind::Checkpoint { .. }) && on.is_some() {
        answer(page, node, on.unwrap_or_default())?.lead(page, to, &mut changes);
        return Ok(changes.done(page));
    }
    let activity = leaving(page, node)?;
    if let Some(condition) = on {
        return conditional(page, &activity, to, condition);
    }
    if let Some(way) = open(page, &activity) {
        return Err(already_open(page, from, &way));
    }
    Way::Nothing(activity).lead(page, to, &mut changes);
    Ok(changes.done(page))
}

pub(super) fn already_open(page: &Page<'_>, from: &str, way: &Way) -> EditError {
    let message = format!("`{from}` already has a transition that is always open{}", leads_to(page, way));
    let help = "change the target of that transition, give it a condition first, or give the new one a condition";
    EditError::new(message, help)
}

/// Adds a transition with a condition, before the one that is always open. Without one, the activity leads to the end of
/// the work, and only a decision keeps that.
fn conditional(page: &Page<'_>, activity: &Place, to: &str, condition: &str) -> Edits {
    let list = activity.with("transitions");
    if decisions::has_one(page, activity) || page.items(&list).is_empty() {
        return decisions::add_branch(page, activity, Some(to), Some(condition));
    }
    let (key, value) = conditions::read(condition)?;
    let nth = match open(page, activity) {
        Some(Way::Transition(place)) => place.number().unwrap_or_default(),
        _ => page.items(&list).len(),
    };
    let mut changes = Changes::default();
    changes.put(page, &list, nth, json!({ "to": to, key: value }));
    Ok(changes.done(page))
}

pub(super) fn leads_to(page: &Page<'_>, way: &Way) -> String {
    let (Way::Transition(place) | Way::Branch(place)) = way else { return String::new() };
    let to = page.tree(place).and_then(|tree| text_of(tree, "to").or_else(|| text_of(tree, "transitionTo")));
    to.map_or(String::new(), |to| format!(": to `{to}`"))
}

/// Returns the activity that is left at a node.
pub(super) fn leaving(page: &Page<'_>, node: &Node) -> Result<Place, EditError> {
    if begins_one(node) || (node.seat.is_some() && (node.id.as_str().ends_with(".leave") || is_last(page, node))) {
        return owner(page, node);
    }
    let message = match node.kind {
        Kind::Start => "the work begins at one activity".to_owned(),
        Kind::End { .. } => format!("nothing can follow `{}`: the work ends there", node.id),
        _ => {
            let message = format!("`{}` leads to the next item of its list, and cannot lead elsewhere", node.id);
            let help = "put a checkpoint after it, whose answers lead to any activity; or a loop, which repeats its \
                        steps; or give its activity a transition with a condition in the text";
            return Err(EditError::new(message, help));
        }
    };
    Err(EditError::new(message, "connect activities"))
}

/// Returns an answer of a checkpoint that has no target yet.
fn answer(page: &Page<'_>, node: &Node, on: &str) -> Result<Way, EditError> {
    let options = written(page, node.id.as_str())?.place.with("options");
    let nth = page.items(&options).iter().position(|option| text_of(option, "id") == Some(on));
    let answer = options.with(nth.ok_or_else(|| EditError::unknown("answer", on))?);
    if page.tree(&answer.with("effect").with("transitionTo")).is_some() {
        let message = format!("the answer `{on}` already leads to an activity");
        return Err(EditError::new(message, "change the target of that edge"));
    }
    Ok(Way::Answer(answer))
}

pub(super) fn reconnect(page: &Page<'_>, edge: usize, to: &str) -> Edits {
    let edge = page.edge(edge)?;
    let way = match answered(page, edge)? {
        Some(answer) => Way::Answer(answer),
        None => way_of(page, edge)?,
    };
    if is_end(page, to)? {
        return decisions::end_at(page, &way);
    }
    target(page, to)?;
    let mut changes = Changes::default();
    way.lead(page, to, &mut changes);
    Ok(changes.done(page))
}

/// Returns the answer of a checkpoint that an edge belongs to. It may share where it leads with others, which must not
/// be led elsewhere with it.
fn answered(page: &Page<'_>, edge: &Edge) -> Result<Option<Place>, EditError> {
    let from = page.node(edge.from.value.as_str())?;
    if !matches!(from.kind, Kind::Checkpoint { .. }) || from.seat.is_none() {
        return Ok(None);
    }
    let options = page.place_of(from)?.with("options");
    Ok(page.item_at(&options, edge.span).map(|nth| options.with(nth)))
}

pub(super) fn disconnect(page: &Page<'_>, edge: usize) -> Edits {
    let mut changes = Changes::default();
    match way_of(page, page.edge(edge)?)? {
        Way::Initial => return Err(EditError::not_here("the work begins nowhere")),
        Way::Nothing(_) => {
            let message = "no transition is written there: without one, the work is done";
            return Err(EditError::new(message, "connect the activity with another one"));
        }
        Way::Branch(branch) => {
            let others = branch.parent().map_or(0, |list| page.items(&list).len());
            if others < 3 {
                return Err(two_branches());
            }
            changes.take(branch);
        }
        Way::Transition(place) => changes.take(place),
        Way::Answer(place) => changes.take(place.with("effect").with("transitionTo")),
        Way::Override(place) => changes.take(place.with("transitionOverride")),
    }
    Ok(changes.done(page))
}

pub(super) fn two_branches() -> EditError {
    EditError::new("a decision has at least two branches", "change the target of the branch, or edit the text")
}
