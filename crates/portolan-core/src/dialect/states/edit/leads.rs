//! Edits the edges of states.

use serde_json::{Map, Value};

use super::{Sheet, Spot, Way, begin, chosen};
use crate::dialect::editing::{EditError, Edits, OperationResult, Pen, Place};
use crate::dialect::states::ways::DEFAULT;
use crate::graph::{Edge, Kind, Node};
use crate::source::{Tree, TreeKind};
use crate::value::FAILED;

pub(super) fn connect(sheet: &Sheet<'_>, from: &str, to: &str, on: Option<&str>) -> Edits {
    let node = sheet.written(from)?;
    let mut pen = Pen::default();
    match (&node.kind, on) {
        (_, Some(FAILED)) => fails_to(sheet, &mut pen, node, sheet.target_state(to)?)?,
        (Kind::Fork { .. }, None) => {
            sheet.target_state(to)?;
            branch(sheet, &mut pen, from, to)?;
        }
        (Kind::Fork { .. }, Some(_)) => return Err(at_its_join(from)),
        _ => leads_to(sheet, &mut pen, node, on, sheet.target(to)?)?,
    }
    Ok(pen.done())
}

pub(super) fn at_its_join(id: &str) -> EditError {
    EditError::new(format!("`{id}` opens branches and continues at its join"), "add the edge from the join")
}

/// Adds a branch to a fork.
pub(super) fn branch(sheet: &Sheet<'_>, pen: &mut Pen, fork: &str, to: &str) -> Result<(), EditError> {
    let branches = sheet.state(fork).with("parallel");
    let items = sheet.page.items(&branches);
    if items.iter().any(|item| item.as_str() == Some(to)) {
        return Err(EditError::new(format!("`{to}` already begins a branch of `{fork}`"), "connect another state"));
    }
    pen.insert(&branches.with(items.len()), None, to.into());
    Ok(())
}

/// Sets the target of a failure, unless `on_failure` says something else.
pub(super) fn fails_to(sheet: &Sheet<'_>, pen: &mut Pen, node: &Node, to: Value) -> Result<(), EditError> {
    let place = sheet.failing(node)?;
    match sheet.page.tree(&place).map(|tree| tree.as_str()) {
        None | Some(Some("fail")) => pen.set(&place, Map::from_iter([("go_to".to_owned(), to)])),
        Some(_) => {
            let message = format!("`on_failure` of `{}` already sets what a failure leads to", node.id);
            return Err(EditError::new(message, "reconnect that edge, or set `on_failure` to `fail` first"));
        }
    }
    Ok(())
}

/// Sets the target of a state on a branch, or, without a branch, its default target.
pub(super) fn leads_to(
    sheet: &Sheet<'_>,
    pen: &mut Pen,
    node: &Node,
    on: Option<&str>,
    to: Value,
) -> Result<(), EditError> {
    let id = node.id.as_str();
    let place = sheet.transition(id);
    answered(sheet, node, on)?;
    let way = sheet.way(id);
    match (&way, on) {
        (Way::Choose, _) => return Err(chosen()),
        (Way::To(known), None) => {
            let message = format!("`{id}` already leads to `{known}`");
            return Err(EditError::new(
                message,
                "reconnect that edge, or name the branch that the new one is taken on",
            ));
        }
        (Way::Missing | Way::End | Way::Final, None) if to.is_null() => {
            return Err(EditError::new(format!("a run already ends at `{id}`"), "connect it to another state"));
        }
        (Way::Missing | Way::End | Way::Final, None) => pen.set(&place, to),
        (Way::Missing | Way::End | Way::Final, Some(on)) => pen.set(&place, split(on, to, Value::Null)),
        (Way::To(known), Some(on)) => pen.set(&place, split(on, to, (*known).into())),
        (Way::Branches, on) => branched(sheet, pen, id, on.unwrap_or(DEFAULT), to)?,
    }
    if matches!(way, Way::Final) {
        pen.remove(&sheet.state(id).with("is_final"));
    }
    Ok(())
}

/// Adds a branch to a transition, before the default one.
fn branched(sheet: &Sheet<'_>, pen: &mut Pen, id: &str, on: &str, to: Value) -> Result<(), EditError> {
    let place = sheet.transition(id);
    if sheet.page.tree(&place.with(on)).is_some() {
        return Err(EditError::new(format!("`{id}` already has a branch `{on}`"), "reconnect that edge"));
    }
    let before = sheet.page.tree(&place.with(DEFAULT)).map(|_| DEFAULT.to_owned());
    pen.insert(&place.with(on), before, to);
    Ok(())
}

/// Returns an object with a new branch, and the previous target as the default.
fn split(on: &str, to: Value, rest: Value) -> Value {
    Value::Object(Map::from_iter([(on.to_owned(), to), (DEFAULT.to_owned(), rest)]))
}

/// Refuses a branch of a question that is none of its answers.
fn answered(sheet: &Sheet<'_>, node: &Node, on: Option<&str>) -> Result<(), EditError> {
    if !matches!(node.kind, Kind::Checkpoint { .. }) {
        return Ok(());
    }
    let options = sheet.state(node.id.as_str()).with("options");
    let known = |on: &str| match sheet.page.tree(&options).map(|tree| &tree.kind) {
        Some(TreeKind::Object(entries)) => entries.iter().any(|entry| entry.key.value == on),
        Some(TreeKind::Array(items)) => items.iter().any(|item| item.as_str() == Some(on)),
        // Without options, the answers are those that have a branch.
        _ => matches!(sheet.way(node.id.as_str()), Way::Branches),
    };
    let has_options = sheet.page.tree(&options).is_some();
    match on {
        Some(on) if !known(on) => {
            let message = format!("`{}` is not an answer to the question `{}`", crate::diagnostic::clip(on), node.id);
            Err(EditError::new(message, "add it to the answers of the question first"))
        }
        None if !has_options && matches!(sheet.way(node.id.as_str()), Way::Branches) => {
            let message = format!("the question `{}` has a branch for each of its answers", node.id);
            Err(EditError::new(message, "name the answer, or list the answers as `options` first"))
        }
        _ => Ok(()),
    }
}

/// Returns whether a transition has at most one branch.
fn is_last(sheet: &Sheet<'_>, id: &str) -> bool {
    sheet.page.tree(&sheet.transition(id)).and_then(Tree::entries).is_some_and(|entries| entries.len() < 2)
}

pub(super) fn disconnect(sheet: &Sheet<'_>, edge: &Edge) -> Edits {
    let (place, spot) = sheet.spot(edge)?;
    let id = sheet.owner(&place);
    let mut pen = Pen::default();
    match spot {
        Spot::Begin => {
            return Err(EditError::new("a run must begin at a state", "reconnect the edge to another state"));
        }
        Spot::Chosen => return Err(chosen()),
        Spot::Whole | Spot::Branch(_) if sheet.is_shared(edge) => return Err(shared(id)),
        Spot::Whole if !matches!(sheet.way(id), Way::To(_)) => {
            let message = format!("a run ends at `{id}`, because no edge leads on from there");
            return Err(EditError::new(message, "connect it to another state"));
        }
        Spot::Branch(_) if is_last(sheet, id) => pen.remove(&sheet.transition(id)),
        Spot::Whole | Spot::Branch(_) => pen.remove(&place),
        Spot::Fork(1) => {
            let message = format!("`{id}` opens no other branch");
            return Err(EditError::new(message, "connect another one first, or delete the state"));
        }
        Spot::Fork(_) => pen.remove(&place),
        Spot::GoTo(holder) => pen.remove(&holder),
    }
    Ok(pen.done())
}

fn shared(id: &str) -> EditError {
    let message = format!("several answers to the question `{id}` share this edge");
    EditError::new(message, "give the answer a branch of its own first: reconnect its edge")
}

pub(super) fn reconnect(sheet: &Sheet<'_>, edge: &Edge, to: &str) -> Edits {
    let (place, spot) = sheet.spot(edge)?;
    let mut pen = Pen::default();
    match spot {
        Spot::Begin => {
            sheet.target_state(to)?;
            begin(sheet, &mut pen, to);
        }
        Spot::Chosen => return Err(chosen()),
        Spot::Fork(_) | Spot::GoTo(_) => pen.set(&place, sheet.target_state(to)?),
        Spot::Whole | Spot::Branch(_) => moved(sheet, &mut pen, edge, &place, sheet.target(to)?)?,
    }
    Ok(pen.done())
}

/// Changes the target of an edge in a transition. If several answers share the edge, the given answer gets a branch.
pub(super) fn moved(sheet: &Sheet<'_>, pen: &mut Pen, edge: &Edge, place: &Place, to: Value) -> Result<(), EditError> {
    let id = sheet.owner(place);
    let transition = sheet.transition(id);
    let way = sheet.way(id);
    match (edge.on.outcome().filter(|_| sheet.is_shared(edge)), &way) {
        (Some(answer), Way::Branches) => branched(sheet, pen, id, answer.as_str(), to)?,
        (Some(answer), way) => {
            let rest = if let Way::To(known) = way { (*known).into() } else { Value::Null };
            pen.set(&transition, split(answer.as_str(), to, rest));
        }
        (None, Way::Branches) => pen.set(place, to),
        (None, Way::Missing | Way::Final) if to.is_null() => return Ok(()),
        (None, _) => pen.set(&transition, to),
    }
    if matches!(way, Way::Final) {
        pen.remove(&sheet.state(id).with("is_final"));
    }
    Ok(())
}

pub(super) fn outcome(sheet: &Sheet<'_>, edge: &Edge, on: Option<&str>) -> Edits {
    let (place, spot) = sheet.spot(edge)?;
    let id = sheet.owner(&place);
    let node = sheet.page.node(edge.from.value.as_str())?;
    let mut pen = Pen::default();
    match (spot, on) {
        (Spot::Begin | Spot::Fork(_), None) | (Spot::GoTo(_), Some(FAILED)) => return Ok(OperationResult::default()),
        (Spot::Begin, _) => return Err(EditError::not_here("a run begins on an outcome")),
        (Spot::Fork(_), _) => return Err(at_its_join(id)),
        (Spot::Chosen, _) => return Err(chosen()),
        (Spot::GoTo(holder), on) => {
            leads_to(sheet, &mut pen, node, on, sheet.target(edge.to.value.as_str())?)?;
            pen.remove(&holder);
        }
        (Spot::Whole | Spot::Branch(_), _) if sheet.is_shared(edge) => return Err(shared(id)),
        (Spot::Branch(known), on) if known == on.unwrap_or(DEFAULT) => return Ok(OperationResult::default()),
        (Spot::Whole, None) => return Ok(OperationResult::default()),
        (Spot::Whole | Spot::Branch(_), Some(FAILED)) => {
            let to = sheet.target_state(edge.to.value.as_str())?;
            fails_to(sheet, &mut pen, sheet.page.node(id)?, to)?;
            pen.remove(&if is_last(sheet, id) { sheet.transition(id) } else { place.clone() });
        }
        (Spot::Branch(_), on) => named(sheet, &mut pen, sheet.page.node(id)?, &place, on)?,
        (Spot::Whole, Some(on)) => {
            let Way::To(to) = sheet.way(id) else {
                let message = format!("a run ends at `{id}` on every outcome");
                return Err(EditError::new(message, "connect it to another state first"));
            };
            answered(sheet, sheet.page.node(id)?, Some(on))?;
            pen.set(&place, Map::from_iter([(on.to_owned(), to.into())]));
        }
    }
    Ok(pen.done())
}

/// Renames a branch.
fn named(sheet: &Sheet<'_>, pen: &mut Pen, node: &Node, place: &Place, on: Option<&str>) -> Result<(), EditError> {
    answered(sheet, node, on)?;
    let on = on.unwrap_or(DEFAULT);
    if sheet.page.tree(&sheet.transition(node.id.as_str()).with(on)).is_some() {
        return Err(EditError::new(format!("`{}` already has a branch `{on}`", node.id), "disconnect that one first"));
    }
    pen.rename(place, on);
    Ok(())
}
