//! Edits phases piece by piece: the items of a list, whose order of execution is what matters.
//!
//! An operation determines the wanted order. The simplest change of the text is tried first; if an `after` prevents the
//! wanted order, the list is rewritten in that order instead.

use serde_json::{Map, Value, json};

use super::{lower, syntax};
use crate::diagnostic::Diagnostic;
use crate::dialect::Strictness;
use crate::dialect::editing::{
    Changes, DefaultPosition, EditError, Editing, Edits, FieldKind, FormField, GUARDS, NodeForm, Operation,
    OperationResult, Page, Place, RESULTS, field, filled, form, fresh, text_of,
};
use crate::graph::{Edge, Graph, Kind};
use crate::source::fields::FaultList;
use crate::source::{self, Edit, Source, Span, Spanned, Tree};
use crate::value::{FAILED, PASSED};

pub(super) const EDITING: Editing = Editing::of(KINDS, OWN, edits);

const OWN: &[FormField] = &[
    field("title", "Title", FieldKind::Text, "The display name of the workflow."),
    field("description", "Description", FieldKind::Long, "What it is for, and when to use it."),
    field("version", "Version", FieldKind::Text, "The version of this definition, for people."),
    field("iterationCap", "Ways back", FieldKind::Number, "How many times a task can go back to an earlier phase.")
        .by_default(super::lower::DEFAULT_CAP),
    field(
        "fields",
        "Claims",
        FieldKind::Json,
        "What a task claims, and from which phase until which phase it can be given.",
    ),
    GUARDS,
    RESULTS,
];

const KINDS: &[NodeForm] = &[form(
    "phase",
    "Phase",
    "A part of the work; a task leaves it when its checks hold.",
    &[
        field("title", "Title", FieldKind::Text, "The display name of the phase."),
        field("description", "Description", FieldKind::Long, "What it is for, in one sentence."),
        field("prompt", "Prompt", FieldKind::Long, "What the agent is told to do in it."),
        field(
            "accept",
            "Checks",
            FieldKind::Json,
            "What must hold when it is left: gates, commands, files. A check that fails keeps the task in the phase.",
        ),
        field("allow", "Tools allowed", FieldKind::List, "The only tools allowed in this phase."),
        field("deny", "Tools denied", FieldKind::List, "Tools not allowed in this phase."),
        GUARDS,
        RESULTS,
    ],
)
.with_outcomes()
.without_position(DefaultPosition::Last)];

fn edits(page: &Page<'_>, operation: &Operation) -> Edits {
    match operation {
        Operation::Add { id, after, on, edge, values, .. } => {
            let behind = match edge {
                Some(edge) => Some(onward(page.edge(*edge)?)?.from.value.as_str()),
                None => after.as_deref(),
            };
            only_onward(on.as_deref())?;
            add(page, id.as_deref(), behind, values.as_ref())
        }
        Operation::Connect { from, to, on } => connect(page, from, to, on.as_deref()),
        Operation::Disconnect { edge } => {
            let edge = page.edge(*edge)?;
            if !is_back(edge) {
                return Err(EditError::not_here("nothing follows a phase"));
            }
            let mut changes = Changes::default();
            changes.take(phase(page, edge.from.value.as_str())?.with("back"));
            Ok(changes.done(page))
        }
        Operation::Reconnect { edge, to } => {
            let edge = page.edge(*edge)?;
            let from = edge.from.value.as_str();
            if is_back(edge) { go_back(page, from, to) } else { follow(page, from, to) }
        }
        Operation::Outcome { edge, on } => {
            let own = if is_back(page.edge(*edge)?) { FAILED } else { PASSED };
            if on.as_deref().unwrap_or(PASSED) == own {
                return Ok(OperationResult::default());
            }
            Err(EditError::not_here("the edge onward or back is taken on another outcome"))
        }
        Operation::Rename { node, to } => rename(page, node, to),
        Operation::Delete { nodes } => delete(page, nodes),
        Operation::Duplicate { node } => duplicate(page, node),
        Operation::Kind { .. } => Err(EditError::not_here("a node is of another kind")),
        Operation::Move { .. } => Err(EditError::not_here("a node is moved")),
        Operation::Label { .. } => unreachable!("its edges have no labels"),
        Operation::Wrap { .. } => unreachable!("none of its nodes contains others"),
        Operation::Set { .. } => unreachable!("all formats set fields alike"),
    }
}

fn list() -> Place {
    Place { file: 0, at: vec!["phases".into()] }
}

/// Returns the place of a phase; refuses the start and the end, which are not written.
fn phase(page: &Page<'_>, id: &str) -> Result<Place, EditError> {
    page.place_of(page.node(id)?)
}

/// Returns the phases in the order of execution.
fn row(graph: &Graph) -> Vec<&str> {
    let phases = graph.nodes.iter().filter(|node| node.phase.is_some());
    phases.map(|node| node.id.as_str()).collect()
}

fn is_back(edge: &Edge) -> bool {
    edge.on.outcome().is_some_and(|on| on.as_str() == FAILED)
}

fn onward(edge: &Edge) -> Result<&Edge, EditError> {
    if is_back(edge) {
        return Err(EditError::not_here("something is added on the edge back to a phase"));
    }
    Ok(edge)
}

fn only_onward(on: Option<&str>) -> Result<(), EditError> {
    match on {
        None | Some(PASSED) => Ok(()),
        Some(_) => Err(EditError::not_here("a phase follows another on an outcome other than `passed`")),
    }
}

/// Returns the phase after which something is inserted that should follow `behind`; `None` for the beginning.
fn anchor<'p>(page: &Page<'p>, behind: Option<&str>) -> Result<Option<&'p str>, EditError> {
    let row = row(page.graph);
    let Some(behind) = behind else { return Ok(row.last().copied()) };
    let node = page.node(behind)?;
    if node.phase.is_some() {
        return Ok(Some(node.id.as_str()));
    }
    if page.graph.edges.iter().any(|edge| edge.from.value == node.id) {
        return Ok(None);
    }
    let message = format!("nothing can follow `{behind}`: the work ends there");
    Err(EditError::new(message, "put it after a phase"))
}

fn is_taken(page: &Page<'_>, id: &str) -> bool {
    page.items(&list()).iter().any(|item| text_of(item, "id") == Some(id))
}

/// Returns the id if it is valid for a phase and free.
fn free(page: &Page<'_>, id: &str) -> Result<String, EditError> {
    let mut faults = FaultList::default();
    syntax::is_id(&Spanned { value: id.to_owned(), span: Span::default() }, "a phase", &mut faults);
    if let Some(fault) = faults.0.first() {
        return Err(EditError::of(fault));
    }
    if is_taken(page, id) {
        return Err(EditError::new(format!("the phase `{id}` already exists"), "give it another identifier"));
    }
    Ok(id.to_owned())
}

fn add(page: &Page<'_>, id: Option<&str>, behind: Option<&str>, values: Option<&Map<String, Value>>) -> Edits {
    let id = match id {
        Some(id) => free(page, id)?,
        None => fresh("phase", &|id| is_taken(page, id)),
    };
    let behind = anchor(page, behind)?;
    insert(page, &id, behind, filled(Map::from_iter([("id".to_owned(), json!(id))]), values))
}

/// Inserts a phase into the list after another, or first. Phases whose `after` named the other one follow the new one.
fn insert(page: &Page<'_>, id: &str, behind: Option<&str>, value: Value) -> Edits {
    let mut changes = Changes::default();
    for (nth, _) in naming(page, "after", behind) {
        changes.set(list().with(nth).with("after"), id);
    }
    let at = behind.and_then(|behind| nth_of(page, behind)).map_or(0, |nth| nth + 1);
    changes.put(page, &list(), at, value);
    let mut wanted = row(page.graph);
    let place = behind.and_then(|behind| wanted.iter().position(|phase| *phase == behind)).map_or(0, |at| at + 1);
    wanted.insert(place, id);
    Ok(as_wanted(page, changes.done(page), &wanted)?.selecting(id))
}

fn nth_of(page: &Page<'_>, id: &str) -> Option<usize> {
    page.items(&list()).iter().position(|item| text_of(item, "id") == Some(id))
}

/// Returns the phases in which a field names the given phase.
fn naming<'p>(page: &'p Page<'_>, field: &'p str, named: Option<&'p str>) -> impl Iterator<Item = (usize, &'p Tree)> {
    let names = move |item: &Tree| named.is_some() && text_of(item, field) == named;
    page.items(&list()).iter().enumerate().filter(move |(_, item)| names(item))
}

fn connect(page: &Page<'_>, from: &str, to: &str, on: Option<&str>) -> Edits {
    let row = row(page.graph);
    let place = |id: &str| row.iter().position(|phase| *phase == id);
    let is_earlier = place(from).zip(place(to)).is_some_and(|(from, to)| to < from);
    match on {
        Some(FAILED) => connect_back(page, from, to),
        None if is_earlier => connect_back(page, from, to),
        _ => only_onward(on).and_then(|()| follow(page, from, to)),
    }
}

fn connect_back(page: &Page<'_>, from: &str, to: &str) -> Edits {
    let place = phase(page, from)?.with("back");
    if let Some(back) = page.tree(&place).and_then(Tree::as_str) {
        let message = format!("`{from}` already goes back to `{back}`");
        return Err(EditError::new(
            message,
            "change the target of that edge instead: a phase can have only one edge back",
        ));
    }
    go_back(page, from, to)
}

fn go_back(page: &Page<'_>, from: &str, to: &str) -> Edits {
    let (place, _) = (phase(page, from)?.with("back"), phase(page, to)?);
    let row = row(page.graph);
    let earlier = row.iter().take_while(|phase| **phase != from);
    if !earlier.into_iter().any(|phase| *phase == to) {
        let message = format!("`{to}` does not come before `{from}`, so no edge can go back to it");
        return Err(EditError::new(message, "name an earlier phase"));
    }
    let mut changes = Changes::default();
    changes.set(place, to);
    Ok(changes.done(page))
}

/// Moves the second phase directly after the first. If the second is the end, moves the first instead.
fn follow(page: &Page<'_>, from: &str, to: &str) -> Edits {
    let mut wanted = row(page.graph);
    let (moved, behind) = match page.node(to)?.phase {
        Some(_) => (to, anchor(page, Some(from))?),
        None if page.node(to)?.kind == Kind::Start => {
            return Err(EditError::new(format!("no edge can lead to `{to}`: the work begins there"), "name a phase"));
        }
        None => (from, wanted.iter().rfind(|phase| **phase != from).copied()),
    };
    let place = phase(page, moved)?.with("after");
    if behind == Some(moved) || page.graph.edges.iter().any(|edge| is_way(edge, from, to)) {
        return Err(EditError::new(format!("`{to}` follows `{from}` already"), "name another phase"));
    }
    wanted.retain(|phase| *phase != moved);
    let at = behind.and_then(|behind| wanted.iter().position(|phase| *phase == behind)).map_or(0, |at| at + 1);
    wanted.insert(at, moved);
    let mut changes = Changes::default();
    if let Some(behind) = behind {
        changes.set(place, behind);
    }
    as_wanted(page, changes.done(page), &wanted)
}

fn is_way(edge: &Edge, from: &str, to: &str) -> bool {
    !is_back(edge) && edge.from.value.as_str() == from && edge.to.value.as_str() == to
}

/// Returns the edits if they give the wanted order, otherwise with the list rewritten in that order. Refuses an order
/// that causes new errors.
fn as_wanted(page: &Page<'_>, plain: OperationResult, wanted: &[&str]) -> Edits {
    let read = |done: &OperationResult| read(page, done);
    let done = match read(&plain) {
        Some((graph, _)) if row(&graph) == wanted => plain,
        _ => in_order(page, plain, wanted)?,
    };
    let (_, faults) = read(&done).ok_or_else(|| EditError::not_here("the phases follow each other in this order"))?;
    let before = read(&OperationResult::default()).map(|(_, faults)| faults).unwrap_or_default();
    let is_new = |fault: &&Diagnostic| fault.is_error() && !before.iter().any(|known| known.message == fault.message);
    match faults.iter().find(is_new) {
        Some(fault) => Err(EditError::of(fault)),
        None => Ok(done),
    }
}

fn source_after(page: &Page<'_>, done: &OperationResult) -> Option<Source> {
    let (name, text) = page.texts().into_iter().next()?;
    let edits: Vec<Edit> = done.edits.iter().map(|(_, edit)| edit.clone()).collect();
    let text = source::edited(&Source::new(&*name, text), &edits).ok()?;
    Some(Source::new(&*name, text))
}

/// Returns the graph and the diagnostics of the text after edits.
fn read(page: &Page<'_>, done: &OperationResult) -> Option<(Graph, Vec<Diagnostic>)> {
    let source = source_after(page, done)?;
    let (graph, faults) = lower::lower(&source, &source::parse(&source).0?, Strictness::Strict).first();
    Some((graph?, faults))
}

/// Returns the edits followed by those that write the phases in order, which makes every `after` redundant.
fn in_order(page: &Page<'_>, mut done: OperationResult, wanted: &[&str]) -> Edits {
    let tree = source_after(page, &done).and_then(|source| source::parse(&source).0);
    let items = tree.as_ref().and_then(|tree| source::found(tree, &list().at)).map(|tree| &tree.kind);
    let Some(source::TreeKind::Array(items)) = items else {
        return Err(EditError::not_here("the phases follow each other in this order"));
    };
    let mut now: Vec<&str> = items.iter().filter_map(|item| text_of(item, "id")).collect();
    if now.len() != items.len() || now.len() != wanted.len() {
        return Err(EditError::new("some of its phases cannot be read", "fix them first"));
    }
    for (nth, item) in items.iter().enumerate().filter(|(_, item)| item.get("after").is_some()) {
        let at = list().with(nth).with("after").at;
        let place = wanted.iter().position(|phase| text_of(item, "id") == Some(phase));
        done.edits.push((
            0,
            match place.and_then(|place| place.checked_sub(1)) {
                Some(before) => Edit::Set { at, value: json!(wanted[before]) },
                None => Edit::Remove { at },
            },
        ));
    }
    for (to, id) in wanted.iter().enumerate() {
        let from = now.iter().position(|phase| phase == id).ok_or_else(|| EditError::unknown("phase", id))?;
        if from != to {
            done.edits.push((0, Edit::Move { at: list().with(from).at, to }));
            let moved = now.remove(from);
            now.insert(to, moved);
        }
    }
    Ok(done)
}

fn claims(page: &Page<'_>) -> Vec<Place> {
    let fields = Place { file: 0, at: vec!["fields".into()] };
    let entries = page.tree(&fields).and_then(Tree::entries).unwrap_or_default();
    entries.iter().map(|entry| fields.with(entry.key.value.as_str())).collect()
}

fn rename(page: &Page<'_>, node: &str, to: &str) -> Edits {
    let own = phase(page, node)?.with("id");
    if node == to {
        return Ok(OperationResult::default().selecting(to));
    }
    let to = free(page, to)?;
    let mut changes = Changes::default();
    changes.set(own, &*to);
    for field in ["after", "back"] {
        naming(page, field, Some(node)).for_each(|(nth, _)| changes.set(list().with(nth).with(field), &*to));
    }
    let ends = claims(page).into_iter().flat_map(|claim| [claim.with("from"), claim.with("until")]);
    for end in ends.filter(|end| page.tree(end).and_then(Tree::as_str) == Some(node)) {
        changes.set(end, &*to);
    }
    Ok(changes.done(page).selecting(to))
}

fn delete(page: &Page<'_>, gone: &[String]) -> Edits {
    let row = row(page.graph);
    let stays = |phase: &&str| !gone.iter().any(|id| id == phase);
    let wanted: Vec<&str> = row.iter().copied().filter(stays).collect();
    if wanted.is_empty() {
        return Err(EditError::new("no phase would be left", "keep one: a workflow needs a phase"));
    }
    let mut changes = Changes::default();
    for id in gone {
        changes.take(phase(page, id)?);
        let at = row.iter().position(|phase| phase == id).unwrap_or_default();
        let before = row[..at].iter().rfind(|phase| stays(phase)).copied();
        for (nth, _) in naming(page, "after", Some(id)) {
            let after = list().with(nth).with("after");
            match before {
                Some(before) => changes.set(after, before),
                None => changes.take(after),
            }
        }
        naming(page, "back", Some(id)).for_each(|(nth, _)| changes.take(list().with(nth).with("back")));
    }
    claims(page).iter().for_each(|claim| narrow(page, claim, &row, gone, &mut changes));
    as_wanted(page, changes.done(page), &wanted)
}

/// Moves the bounds of a claim from deleted phases to remaining ones in its range, or else to the next or previous
/// phase.
fn narrow(page: &Page<'_>, claim: &Place, row: &[&str], gone: &[String], changes: &mut Changes) {
    let place = |end: &Place| row.iter().position(|phase| page.tree(end).and_then(Tree::as_str) == Some(phase));
    let (from, until) = (claim.with("from"), claim.with("until"));
    let (first, last) = (place(&from), place(&until));
    let stays = |at: &usize| !gone.iter().any(|id| id == row[*at]);
    let (begin, end) = (first.unwrap_or(0), last.unwrap_or(row.len() - 1));
    let within = || (begin..=end.min(row.len() - 1)).filter(stays);
    let beyond = || (end..row.len()).find(stays).or_else(|| (0..begin).rfind(stays));
    for (end, at, stands) in [(&from, first, within().next()), (&until, last, within().next_back())] {
        let gone = at.filter(|at| !stays(at));
        if let Some(other) = gone.and_then(|_| stands.or_else(beyond)) {
            changes.set(end.clone(), row[other]);
        }
    }
}

/// Inserts a copy after the phase, without its `back`.
fn duplicate(page: &Page<'_>, node: &str) -> Edits {
    let mut value = page.value(&phase(page, node)?).ok_or_else(|| EditError::unknown("phase", node))?;
    let id = fresh(node, &|id| is_taken(page, id));
    if let Some(fields) = value.as_object_mut() {
        fields.insert("id".to_owned(), json!(id));
        ["after", "back"].iter().for_each(|field| drop(fields.shift_remove(*field)));
    }
    insert(page, &id, Some(node), value)
}

#[cfg(test)]
mod tests;
