//! Adds and copies states, and changes their kind.

use serde_json::{Map, Value, json};

use super::leads::{at_its_join, branch, fails_to, leads_to, moved};
use super::{Sheet, Spot, Way, chosen, names};
use crate::dialect::editing::{EditError, Edits, Page, Pen, filled, fresh, identifier};
use crate::dialect::states::ways::DEFAULT;
use crate::graph::{Edge, Kind, Node};
use crate::value::FAILED;

/// The predecessor of a new state.
pub(super) struct Lead<'l> {
    pub(super) after: Option<&'l str>,
    pub(super) on: Option<&'l str>,
    pub(super) edge: Option<usize>,
}

/// The transition of a new state.
enum Onward {
    /// None.
    Unsaid,
    /// None, because it is final instead of the state before it.
    Final,
    /// The given value.
    To(Value),
}

pub(super) fn add(
    sheet: &Sheet<'_>,
    kind: &str,
    id: Option<&str>,
    lead: &Lead<'_>,
    values: Option<&Map<String, Value>>,
) -> Edits {
    let id = identifier(id, kind, &|id| sheet.is_taken(id))?;
    let mut pen = Pen::default();
    let (named, onward) = match (lead.edge.or_else(|| beginning(sheet, lead.after?)), lead.after) {
        (Some(edge), _) => between(sheet, &mut pen, sheet.page.edge(edge)?, &id)?,
        (None, Some(after)) => (Some(after.to_owned()), taken_over(sheet, &mut pen, after, lead.on, &id)?),
        (None, None) => (None, Onward::Unsaid),
    };
    let behind = |place| named.as_deref().and_then(|behind| sheet.page.key_behind(place, behind));
    let mut states = made(sheet, kind, &id, values);
    // A new member is never the first of its object, so it must be marked as initial.
    if let (None, Onward::To(_)) = (&named, &onward) {
        states[0].1["is_initial"] = true.into();
    }
    if let (Onward::Final, Some((_, last))) = (&onward, states.last_mut()) {
        last["is_final"] = true.into();
    }
    let last = states.last().map_or_else(|| id.clone(), |(last, _)| last.clone());
    for (id, state) in states {
        pen.insert(&sheet.state(&id), behind(&sheet.states), state);
    }
    if let Onward::To(to) = onward {
        pen.insert(&sheet.transition(&last), behind(&sheet.transitions), to);
    }
    Ok(pen.done().selecting(id))
}

/// Returns the edge to the initial state if `after` is the start.
fn beginning(sheet: &Sheet<'_>, after: &str) -> Option<usize> {
    let start = sheet.page.node(after).ok().filter(|node| node.kind == Kind::Start)?;
    sheet.page.graph.edges.iter().position(|edge| edge.from.value == start.id)
}

/// Returns a new state, with its join if it is a fork.
fn made(sheet: &Sheet<'_>, kind: &str, id: &str, values: Option<&Map<String, Value>>) -> Vec<(String, Value)> {
    let mut states = vec![(id.to_owned(), filled(begun(sheet, kind), values))];
    if kind == "parallel" {
        let join = fresh(&format!("{id}_join"), &|other| other == id || sheet.is_taken(other));
        states[0].1["parallel"] = json!([join]);
        states[0].1["join"] = json!(join);
        states.push((join, json!({ "join": "all" })));
    }
    states
}

/// Returns the initial content of a state of a kind, just enough to be readable. Required fields are empty, which is
/// reported.
fn begun(sheet: &Sheet<'_>, kind: &str) -> Value {
    match kind {
        "call" => {
            let servers = sheet.page.own().with("mcpServers");
            json!({ "call": { "server": sheet.page.first_key(&servers).unwrap_or("filesystem"), "tool": "" } })
        }
        "transform" => json!({ "transform": "{}" }),
        "run" => json!({ "run": "" }),
        "ask" => json!({ "ask": "" }),
        "parallel" => json!({}),
        _ => json!({ "objective": "" }),
    }
}

/// Redirects an edge to the new state; returns the state that it leaves, and its previous target.
fn between(sheet: &Sheet<'_>, pen: &mut Pen, edge: &Edge, id: &str) -> Result<(Option<String>, Onward), EditError> {
    let (place, spot) = sheet.spot(edge)?;
    let owner = sheet.owner(&place).to_owned();
    let to = || sheet.target(edge.to.value.as_str()).map(Onward::To);
    let onward = match spot {
        Spot::Chosen => return Err(chosen()),
        Spot::Begin => {
            let flag = sheet.state(edge.to.value.as_str()).with("is_initial");
            if sheet.page.tree(&flag).is_some() {
                pen.remove(&flag);
            }
            return Ok((None, to()?));
        }
        Spot::Fork(_) | Spot::GoTo(_) => {
            pen.set(&place, id);
            to()?
        }
        Spot::Whole | Spot::Branch(_) => {
            moved(sheet, pen, edge, &place, id.into())?;
            match sheet.way(&owner) {
                Way::Missing => Onward::Unsaid,
                Way::Final => Onward::Final,
                _ => to()?,
            }
        }
    };
    Ok((Some(owner), onward))
}

/// Redirects `after` to the new state, which takes over its previous target.
fn taken_over(sheet: &Sheet<'_>, pen: &mut Pen, after: &str, on: Option<&str>, id: &str) -> Result<Onward, EditError> {
    let node = sheet.page.node(after)?;
    if matches!(node.kind, Kind::End { .. }) {
        return Err(EditError::new("a run ends there", "add it after a state"));
    }
    let node = sheet.written(after)?;
    let value = |place| sheet.page.value(&place).map_or(Onward::Unsaid, Onward::To);
    let rest = || match sheet.way(after) {
        Way::To(to) => Onward::To(to.into()),
        Way::Branches => value(sheet.transition(after).with(DEFAULT)),
        _ => Onward::Unsaid,
    };
    Ok(match (&node.kind, on) {
        (_, Some(FAILED)) => {
            let place = sheet.failing(node)?.with("go_to");
            match sheet.page.tree(&place) {
                Some(_) => {
                    pen.set(&place, id);
                    value(place)
                }
                None => {
                    fails_to(sheet, pen, node, id.into())?;
                    rest()
                }
            }
        }
        (Kind::Fork { join, .. }, None) => {
            branch(sheet, pen, after, id)?;
            Onward::To(join.value.as_str().into())
        }
        (Kind::Fork { .. }, Some(_)) => return Err(at_its_join(after)),
        (_, on) => match (sheet.way(after), on) {
            (Way::To(to), None) => {
                pen.set(&sheet.transition(after), id);
                Onward::To(to.into())
            }
            (Way::Branches, on) if sheet.page.tree(&sheet.transition(after).with(on.unwrap_or(DEFAULT))).is_some() => {
                let place = sheet.transition(after).with(on.unwrap_or(DEFAULT));
                pen.set(&place, id);
                value(place)
            }
            (way, on) => {
                leads_to(sheet, pen, node, on, id.into())?;
                match (way, on) {
                    (Way::Final, None) => Onward::Final,
                    (Way::End, None) => Onward::To(Value::Null),
                    _ => rest(),
                }
            }
        },
    })
}

/// Puts a state between a new one that opens branches and its join. What led to the state leads to the new one, and the
/// join leads on.
pub(super) fn wrap(sheet: &Sheet<'_>, id: &str, fork: Option<&str>, values: Option<&Map<String, Value>>) -> Edits {
    let node = sheet.written(id)?;
    let way = sheet.way(id);
    if matches!(node.kind, Kind::Fork { .. } | Kind::Join { .. }) || matches!(way, Way::Branches | Way::Choose) {
        let message = format!("`{id}` cannot be a branch: it leads on in several ways");
        return Err(EditError::new(message, "wrap a state with one transition"));
    }
    if sheet.page.tree(&sheet.state(id).with("on_failure").with("go_to")).is_some() {
        let message = format!("the edge of `{id}` on `{FAILED}` would leave its branch");
        return Err(EditError::new(message, "remove that edge first, and add it to the new state afterwards"));
    }
    let fork = identifier(fork, "parallel", &|id| sheet.is_taken(id))?;
    let join = fresh(&format!("{fork}_join"), &|other| other == fork || sheet.is_taken(other));
    let mut pen = Pen::default();
    let (mut opens, mut collects) = (json!({ "parallel": [id], "join": join }), json!({ "join": "all" }));
    let begins = sheet.initial().is_some_and(|(first, _)| first == id);
    for (flag, owner, moves) in [("is_initial", &mut opens, begins), ("is_final", &mut collects, sheet.is_final(id))] {
        if moves {
            // A new member is never the first of its object, so it must be marked.
            owner[flag] = true.into();
        }
        if sheet.page.tree(&sheet.state(id).with(flag)).is_some() {
            pen.remove(&sheet.state(id).with(flag));
        }
    }
    let leaves = sheet.transition(id);
    let onward = sheet.page.value(&leaves).map(|to| if to == id { fork.as_str().into() } else { to });
    names::named(sheet, id).iter().filter(|led| **led != leaves).for_each(|led| pen.set(led, fork.as_str()));
    pen.set(&leaves, join.as_str());
    let behind = sheet.page.key_behind(&sheet.states, id);
    pen.insert(&sheet.state(&fork), behind.clone(), filled(opens, values));
    pen.insert(&sheet.state(&join), behind, collects);
    if let Some(onward) = onward {
        pen.insert(&sheet.transition(&join), sheet.page.key_behind(&sheet.transitions, id), onward);
    }
    Ok(pen.done().selecting(fork))
}

pub(super) fn duplicate(sheet: &Sheet<'_>, id: &str) -> Edits {
    let node = sheet.written(id)?;
    let before = sheet.page.key_behind(&sheet.states, id);
    let copy = fresh(id, &|id| sheet.is_taken(id));
    let mut pen = Pen::default();
    let mut state = without_edges(sheet, id)?;
    match &node.kind {
        Kind::Join { .. } => {
            let message = format!("`{id}` collects the branches of one state");
            return Err(EditError::new(message, "duplicate the state that opens them: its join is copied with it"));
        }
        Kind::Fork { join, .. } => {
            let name = fresh(join.value.as_str(), &|id| id == copy || sheet.is_taken(id));
            state["parallel"] = json!([name]);
            state["join"] = json!(name);
            pen.insert(&sheet.state(&copy), before.clone(), state);
            pen.insert(&sheet.state(&name), before, without_edges(sheet, join.value.as_str())?);
        }
        _ => pen.insert(&sheet.state(&copy), before, state),
    }
    Ok(pen.done().selecting(copy))
}

fn without_edges(sheet: &Sheet<'_>, id: &str) -> Result<Value, EditError> {
    let mut state = sheet.page.value(&sheet.state(id)).ok_or_else(|| EditError::unknown("state", id))?;
    if let Some(fields) = state.as_object_mut() {
        fields.shift_remove("is_initial");
        fields.shift_remove("is_final");
        if fields.get("on_failure").is_some_and(Value::is_object) {
            fields.shift_remove("on_failure");
        }
    }
    Ok(state)
}

/// Returns what a state of another kind begins with.
pub(super) fn of_kind(page: &Page<'_>, node: &Node, kind: &str) -> Result<Value, EditError> {
    if matches!(node.kind, Kind::Fork { .. } | Kind::Join { .. }) || kind == "parallel" {
        let message = "a state that opens branches and its join belong together";
        return Err(EditError::new(message, "add a new one, and remove this one"));
    }
    Ok(begun(&Sheet::of(page), kind))
}
