//! Edits graphs of tool calls piece by piece: nodes are the items of a list, and edges are fields of the nodes that
//! they leave.
//!
//! A node names all its targets: in `next`, `onError`, the conditions of a switch, and the branches of a `parallel`. So
//! an edge can be added if the field for it is free. On a switch, the outcome of an edge is its condition.

mod delete;
mod kinds;
mod names;
mod nodes;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::json;

use crate::dialect::editing::{
    Conditions, EditError, Editing, Edits, Operation, OperationResult, Page, Pen, Place, rule_of,
};
use crate::graph::{Edge, Kind, Node};
use crate::source::{PathStep, Tree};
use crate::value::{FAILED, PASSED};

pub(super) const EDITING: Editing = Editing {
    kind_field: Some("type"),
    own_place: Some(own_place),
    begun: Some(nodes::of_kind),
    conditions: Some(Conditions { field: kinds::CONDITION, of: written_condition }),
    old_kinds: &[("mcp_tool", "mcp")],
    ..Editing::of(kinds::KINDS, kinds::OWN, edits)
};

/// Returns the place of a field: the top of the file if all its tools share it, or else the tool.
fn own_place(page: &Page<'_>, field: &str) -> Place {
    let first = field.split('.').next().unwrap_or_default();
    let tool = || page.at(page.graph.id.span).and_then(Place::parted).map(|(tool, _)| tool);
    match kinds::OF_FILE.contains(&first) {
        true => page.own(),
        false => tool().unwrap_or_else(|| page.own()),
    }
}

/// The graph that is edited: one tool of the file.
struct Sheet<'s> {
    page: &'s Page<'s>,
    /// The list of its nodes.
    list: Place,
    /// The tool.
    tool: Place,
    /// Whether the nodes are beside the tools: then they belong to the tools that reach them.
    beside: bool,
}

impl<'s> Sheet<'s> {
    fn of(page: &'s Page<'s>) -> Result<Sheet<'s>, EditError> {
        let name = page.written(page.graph.id.span, "the tool")?;
        let (tool, _) = name.parted().ok_or_else(|| EditError::unknown("tool", page.graph.id.value.as_str()))?;
        let beside = page.tree(&page.own().with("nodes")).is_some();
        let list = if beside { page.own().with("nodes") } else { tool.with("nodes") };
        Ok(Sheet { page, list, tool, beside })
    }

    fn items(&self) -> &'s [Tree] {
        self.page.items(&self.list)
    }

    fn is_taken(&self, id: &str) -> bool {
        self.items().iter().any(|item| item.get("id").and_then(Tree::as_str) == Some(id))
    }

    fn place(&self, id: &str) -> Result<Place, EditError> {
        self.page.place_of(self.page.node(id)?)
    }

    /// Returns the place of a node's `onError`; that of a join is in its `parallel`.
    fn failing(&self, node: &Node) -> Result<Place, EditError> {
        match &node.kind {
            Kind::Join { fork, .. } => Ok(self.place(fork.value.as_str())?.with("onError")),
            Kind::Start | Kind::End { .. } => {
                Err(EditError::new(format!("`{}` cannot fail", node.id), "add the edge from the node that fails"))
            }
            _ => Ok(self.page.place_of(node)?.with("onError")),
        }
    }

    /// Returns the place of a node's unconditional target, present or not. In an old spelling it is a condition without
    /// a rule.
    fn onward(&self, node: &Node) -> Result<Place, EditError> {
        let place = self.page.place_of(node)?;
        let conditions = place.with("conditions");
        let plain = self.page.items(&conditions).iter().position(|item| item.get("rule").is_none());
        let next = place.with("next");
        Ok(match plain.filter(|_| node.kind == Kind::Switch && self.page.tree(&next).is_none()) {
            Some(nth) => conditions.with(nth).with(self.next_of(&conditions.with(nth))),
            None => next,
        })
    }

    /// Returns the name of a condition's target field.
    fn next_of(&self, condition: &Place) -> &'static str {
        if self.page.tree(&condition.with("target")).is_some() { "target" } else { "next" }
    }

    fn written(&self, edge: &Edge) -> Result<Place, EditError> {
        self.page.written(edge.span, "the edge")
    }

    /// Refuses a change or removal of an edge (`instead` is its new target) after which a node would belong to no tool.
    fn keeps_all(&self, number: usize, instead: Option<&str>) -> Result<(), EditError> {
        let graph = self.page.graph;
        let ends = graph.nodes.iter().filter(|node| matches!(node.kind, Kind::Start | Kind::End { .. }));
        let mut waiting: Vec<&str> = ends.map(|node| node.id.as_str()).collect();
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        while let Some(id) = waiting.pop().filter(|_| self.beside) {
            if !reached.insert(id) {
                continue;
            }
            let leaving = graph.edges.iter().enumerate().filter(|(_, edge)| edge.from.value.as_str() == id);
            waiting.extend(leaving.filter_map(|(nth, edge)| match nth == number {
                true => instead,
                false => Some(edge.to.value.as_str()),
            }));
            if let Some(Kind::Fork { join, .. }) = graph.node(&id.into()).map(|node| &node.kind) {
                waiting.push(join.value.as_str());
            }
        }
        match graph.nodes.iter().find(|node| self.beside && !reached.contains(node.id.as_str())) {
            Some(lost) => {
                let message = format!(
                    "`{}` would belong to no tool: nodes beside the tools belong to the tools that reach them",
                    lost.id
                );
                Err(EditError::new(message, "connect another node to it first"))
            }
            None => Ok(()),
        }
    }
}

fn edits(page: &Page<'_>, operation: &Operation) -> Edits {
    let sheet = Sheet::of(page)?;
    match operation {
        Operation::Add { kind, id, after, on, edge, values } => {
            let lead = nodes::Lead { after: after.as_deref(), on: on.as_deref(), edge: *edge };
            nodes::add(&sheet, kind, id.as_deref(), &lead, values.as_ref())
        }
        Operation::Connect { from, to, on } => connect(&sheet, from, to, on.as_deref()),
        Operation::Disconnect { edge } => disconnect(&sheet, *edge),
        Operation::Reconnect { edge, to } => {
            page.node(to)?;
            sheet.keeps_all(*edge, Some(to))?;
            let mut pen = Pen::default();
            pen.set(&sheet.written(page.edge(*edge)?)?, to.as_str());
            Ok(pen.done())
        }
        Operation::Outcome { edge, on } => outcome(&sheet, *edge, on.as_deref().filter(|on| *on != PASSED)),
        Operation::Rename { node, to } => names::rename(&sheet, node, to),
        Operation::Delete { nodes } => delete::delete(&sheet, nodes),
        Operation::Duplicate { node } => nodes::duplicate(&sheet, node),
        Operation::Wrap { node, id, values, .. } => nodes::wrap(&sheet, node, id.as_deref(), values.as_ref()),
        Operation::Move { .. } => Err(EditError::not_here("a node is moved")),
        Operation::Label { .. } => unreachable!("its edges have no labels"),
        Operation::Set { .. } | Operation::Kind { .. } => unreachable!("all formats set fields alike"),
    }
}

/// Refuses an outcome that nodes of tool graphs do not have.
fn no_such_outcome(on: &str) -> EditError {
    let message =
        format!("`{}` is not an outcome here: a node is either done or `{FAILED}`", crate::diagnostic::clip(on));
    EditError::new(message, "put a `switch`, whose edges have conditions, after the node")
}

fn connect(sheet: &Sheet<'_>, from: &str, to: &str, on: Option<&str>) -> Edits {
    let node = sheet.page.node(from)?;
    sheet.page.node(to)?;
    let mut pen = Pen::default();
    match (&node.kind, on.filter(|on| *on != PASSED)) {
        (Kind::End { .. }, _) => return Err(ends(from)),
        (_, Some(FAILED)) => pen.set(&free(sheet, sheet.failing(node)?, from)?, to),
        (Kind::Switch, Some(on)) => condition(sheet, &mut pen, node, on, to)?,
        (_, Some(on)) => return Err(no_such_outcome(on)),
        (Kind::Fork { .. }, None) => branch(sheet, &mut pen, node, to)?,
        (_, None) => pen.set(&free(sheet, sheet.onward(node)?, from)?, to),
    }
    Ok(pen.done())
}

fn ends(id: &str) -> EditError {
    EditError::new(format!("a run ends at `{id}`"), "add the edge from a node before it")
}

/// Returns the place for an edge if it is free.
fn free(sheet: &Sheet<'_>, place: Place, from: &str) -> Result<Place, EditError> {
    match sheet.page.text(&place) {
        Some(known) => {
            let message = format!("`{from}` already leads to `{known}` there");
            Err(EditError::new(message, "reconnect that edge, or put a `switch` or a `parallel` between them"))
        }
        None => Ok(place),
    }
}

/// Adds a condition to a switch, after its present ones.
fn condition(sheet: &Sheet<'_>, pen: &mut Pen, switch: &Node, on: &str, to: &str) -> Result<(), EditError> {
    let conditions = sheet.page.place_of(switch)?.with("conditions");
    let count = sheet.page.items(&conditions).len();
    pen.insert(&conditions.with(count), None, json!({ "rule": rule_of(on)?, "next": to }));
    Ok(())
}

/// Adds a branch to a `parallel`.
fn branch(sheet: &Sheet<'_>, pen: &mut Pen, fork: &Node, to: &str) -> Result<(), EditError> {
    let branches = sheet.page.place_of(fork)?.with("branches");
    let items = sheet.page.items(&branches);
    if items.iter().any(|item| item.as_str() == Some(to)) {
        return Err(EditError::new(format!("`{to}` already begins a branch of `{}`", fork.id), "connect another node"));
    }
    pen.insert(&branches.with(items.len()), None, to.into());
    Ok(())
}

/// The form of a field that contains an edge.
enum Spot {
    /// A condition of a switch.
    Condition(Place),
    /// A branch of a `parallel`, with the number of branches.
    Branch(usize),
    /// `go_to`, with the place of the object that contains it.
    GoTo(Place),
    /// The target of a failure.
    Failing,
    /// The unconditional target.
    Next,
}

fn spot(sheet: &Sheet<'_>, place: &Place) -> Spot {
    let Some((holder, last)) = place.clone().parted() else { return Spot::Next };
    match last {
        PathStep::Item(_) => Spot::Branch(sheet.page.items(&holder).len()),
        PathStep::Key(key) if key == "go_to" => Spot::GoTo(holder),
        PathStep::Key(key) if key == "onError" => Spot::Failing,
        PathStep::Key(_) if holder.number().is_some() && holder.at.len() > sheet.list.at.len() + 1 => {
            Spot::Condition(holder)
        }
        PathStep::Key(_) => Spot::Next,
    }
}

/// Returns the condition of an edge that leaves a switch: as JSONata if its rule is just that.
fn written_condition(page: &Page<'_>, edge: &Edge) -> Option<String> {
    let sheet = Sheet::of(page).ok()?;
    let holder = match spot(&sheet, &sheet.written(edge).ok()?) {
        Spot::Condition(holder) => holder,
        Spot::Next => return (page.node(edge.from.value.as_str()).ok()?.kind == Kind::Switch).then(String::new),
        Spot::Branch(_) | Spot::GoTo(_) | Spot::Failing => return None,
    };
    let Some(rule) = page.value(&holder.with("rule")) else { return Some(String::new()) };
    let expression = rule.as_object().filter(|rule| rule.len() == 1).and_then(|rule| rule.get("var")?.as_str());
    Some(expression.map_or_else(|| rule.to_string(), str::to_owned))
}

fn disconnect(sheet: &Sheet<'_>, number: usize) -> Edits {
    let edge = sheet.page.edge(number)?;
    sheet.keeps_all(number, None)?;
    let place = sheet.written(edge)?;
    let mut pen = Pen::default();
    match spot(sheet, &place) {
        Spot::Branch(1) => {
            let message = format!("`{}` has no other branch", edge.from.value);
            return Err(EditError::new(message, "connect another one first, or delete the node"));
        }
        Spot::Condition(holder) | Spot::GoTo(holder) => pen.remove(&holder),
        Spot::Branch(_) | Spot::Failing | Spot::Next => pen.remove(&place),
    }
    Ok(pen.done())
}

/// Moves an edge to the field of the other outcome, if that is free.
fn outcome(sheet: &Sheet<'_>, number: usize, on: Option<&str>) -> Edits {
    let edge = sheet.page.edge(number)?;
    let (place, from) = (sheet.written(edge)?, edge.from.value.as_str());
    let node = sheet.page.node(from)?;
    let mut pen = Pen::default();
    match (spot(sheet, &place), on) {
        (Spot::Next, None) | (Spot::Failing | Spot::GoTo(_), Some(FAILED)) => return Ok(OperationResult::default()),
        (Spot::Condition(holder), Some(on)) if on != FAILED => pen.set(&holder.with("rule"), rule_of(on)?),
        (Spot::Condition(holder), on) => {
            let field = if on.is_some() { sheet.failing(node)? } else { sheet.onward(node)? };
            pen.set(&free(sheet, field, from)?, edge.to.value.as_str());
            pen.remove(&holder);
        }
        // A failure of a join is written in its `parallel`.
        (Spot::Next, Some(FAILED)) if !matches!(node.kind, Kind::Join { .. }) => {
            free(sheet, sheet.failing(node)?, from)?;
            pen.rename(&place, "onError");
        }
        (Spot::Next, Some(on)) if node.kind == Kind::Switch => {
            condition(sheet, &mut pen, node, on, edge.to.value.as_str())?;
            pen.remove(&place);
        }
        (Spot::Failing, None) if !matches!(node.kind, Kind::Join { .. }) => {
            free(sheet, sheet.onward(node)?, from)?;
            pen.rename(&place, "next");
        }
        (_, Some(on)) => return Err(no_such_outcome(on)),
        (_, None) => return Err(EditError::not_here("this edge is taken on another outcome")),
    }
    Ok(pen.done())
}
