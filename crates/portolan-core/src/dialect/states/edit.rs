//! Edits workflows of agents' states piece by piece: states are the members of an object, and their transitions are in
//! another object under the same names.
//!
//! A run ends after a state without a transition, so such a state has an edge to the end. The outcome of an edge is the
//! name of a branch; `failed` is the target of `on_failure`.

mod delete;
mod kinds;
mod leads;
mod names;
mod nodes;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::dialect::editing::{EditError, Editing, Edits, Operation, Page, Pen, Place};
use crate::dialect::states::ways::DEFAULT;
use crate::graph::{Edge, Kind, Node, State};
use crate::source::{PathStep, Tree, TreeKind};
use crate::value::PASSED;

pub(super) const EDITING: Editing =
    Editing { begun: Some(nodes::of_kind), ..Editing::of(kinds::KINDS, kinds::OWN, edits) };

/// The definition that is edited.
struct Sheet<'s> {
    page: &'s Page<'s>,
    states: Place,
    transitions: Place,
}

/// The transition of a state as written.
enum Way<'w> {
    /// None: a run ends there.
    Missing,
    /// None, because the state is final.
    Final,
    /// The end, written as `null`.
    End,
    /// One state.
    To(&'w str),
    /// An object of branches.
    Branches,
    /// An expression that chooses.
    Choose,
}

/// The form in which an edge is written.
enum Spot {
    /// As the initial state.
    Begin,
    /// As the whole transition of a state, present or missing.
    Whole,
    /// As a branch of a transition, with its name.
    Branch(String),
    /// As a branch of a fork, with the number of branches.
    Fork(usize),
    /// As `go_to`, with the place of the object that contains it.
    GoTo(Place),
    /// As a result of an expression.
    Chosen,
}

impl<'s> Sheet<'s> {
    fn of(page: &'s Page<'s>) -> Sheet<'s> {
        Sheet { page, states: page.own().with("states"), transitions: page.own().with("transitions") }
    }

    fn is_taken(&self, id: &str) -> bool {
        self.page.tree(&self.states.with(id)).is_some()
    }

    /// Returns a state that has text of its own; the start, the end and choosers have none.
    fn written(&self, id: &str) -> Result<&'s Node, EditError> {
        let node = self.page.node(id)?;
        self.page.place_of(node).map(|_| node)
    }

    fn state(&self, id: &str) -> Place {
        self.states.with(id)
    }

    fn transition(&self, id: &str) -> Place {
        self.transitions.with(id)
    }

    fn is_final(&self, id: &str) -> bool {
        let flag = self.page.tree(&self.state(id).with("is_final"));
        flag.is_some_and(|flag| matches!(flag.kind, TreeKind::Bool(true)))
    }

    fn way(&self, id: &str) -> Way<'s> {
        if self.is_final(id) {
            return Way::Final;
        }
        let Some(tree) = self.page.tree(&self.transition(id)) else { return Way::Missing };
        match &tree.kind {
            TreeKind::String(to) => Way::To(to),
            TreeKind::Object(_) if is_choice(tree) => Way::Choose,
            TreeKind::Object(_) => Way::Branches,
            _ => Way::End,
        }
    }

    /// Returns the state that a place belongs to.
    fn owner<'p>(&self, place: &'p Place) -> &'p str {
        match place.at.get(1) {
            Some(PathStep::Key(id)) => id,
            _ => "",
        }
    }

    fn spot(&self, edge: &Edge) -> Result<(Place, Spot), EditError> {
        let place = self.page.written(edge.span, "the edge")?;
        let chooses = self.page.node(edge.to.value.as_str()).is_ok_and(State::is_chooser);
        let from = self.page.node(edge.from.value.as_str())?;
        let spot = match place.at.as_slice() {
            _ if from.kind == Kind::Start => Spot::Begin,
            _ if chooses => Spot::Chosen,
            [PathStep::Key(_), PathStep::Key(id), ..] if place.at[0] == PathStep::from("transitions") => match self
                .way(id)
            {
                Way::Choose => Spot::Chosen,
                _ => place.at.get(2).map_or(Spot::Whole, |_| Spot::Branch(place.key().unwrap_or_default().to_owned())),
            },
            [_, _, _, PathStep::Key(_)] => {
                Spot::GoTo(place.clone().parted().map_or(place.clone(), |(holder, _)| holder))
            }
            [_, _, _, PathStep::Item(_)] => {
                let list = place.clone().parted().map(|(list, _)| self.page.items(&list).len());
                Spot::Fork(list.unwrap_or_default())
            }
            _ => Spot::Whole,
        };
        Ok((place, spot))
    }

    /// Returns whether several answers to a question share the edge, which is written once.
    fn is_shared(&self, edge: &Edge) -> bool {
        self.page
            .graph
            .edges
            .iter()
            .filter(|other| other.span == edge.span && other.from.value == edge.from.value)
            .count()
            > 1
    }

    /// Returns the value that is written for an edge to a node: `null` for the end.
    fn target(&self, to: &str) -> Result<Value, EditError> {
        let node = self.page.node(to)?;
        match node.kind {
            Kind::End { .. } => Ok(Value::Null),
            Kind::Start => {
                Err(EditError::new("no edge can lead to the start of a run", "connect it to the first state instead"))
            }
            _ => self.written(to).map(|_| to.into()),
        }
    }

    /// Returns the value for an edge that must lead to a state.
    fn target_state(&self, to: &str) -> Result<Value, EditError> {
        let value = self.target(to)?;
        if value.is_null() {
            return Err(EditError::new("a run cannot end there", "connect it to a state that ends the run"));
        }
        Ok(value)
    }

    /// Returns the place of a node's `on_failure`; that of a join is in its fork.
    fn failing(&self, node: &Node) -> Result<Place, EditError> {
        let id = match &node.kind {
            Kind::Join { fork, .. } => &fork.value,
            Kind::Checkpoint { .. } => {
                let message = format!("the question `{}` cannot fail", node.id);
                return Err(EditError::new(message, "add the edge from one of its answers"));
            }
            _ => &node.id,
        };
        Ok(self.state(id.as_str()).with("on_failure"))
    }

    /// Returns the initial state, and whether it is marked as such.
    fn initial(&self) -> Option<(&'s str, bool)> {
        let start = self.page.graph.nodes.iter().find(|node| node.kind == Kind::Start)?;
        let first = self.page.graph.edges_from(&start.id).next()?.to.value.as_str();
        Some((first, self.page.tree(&self.state(first).with("is_initial")).is_some()))
    }

    fn ids(&self) -> impl Iterator<Item = &'s str> {
        let entries = self.page.tree(&self.states).and_then(Tree::entries).unwrap_or_default();
        entries.iter().map(|entry| entry.key.value.as_str())
    }
}

/// Returns whether an expression chooses the target. A branch called `choose` has a text instead of an object.
fn is_choice(transition: &Tree) -> bool {
    transition.get("choose").is_some_and(|choose| choose.entries().is_some())
}

/// Returns the name of the branch for an outcome; `None` for the default.
fn word(on: Option<&str>) -> Option<&str> {
    on.filter(|on| ![PASSED, DEFAULT].contains(on))
}

fn edits(page: &Page<'_>, operation: &Operation) -> Edits {
    let sheet = Sheet::of(page);
    match operation {
        Operation::Add { kind, id, after, on, edge, values } => {
            let lead = nodes::Lead { after: after.as_deref(), on: word(on.as_deref()), edge: *edge };
            nodes::add(&sheet, kind, id.as_deref(), &lead, values.as_ref())
        }
        Operation::Connect { from, to, on } => leads::connect(&sheet, from, to, word(on.as_deref())),
        Operation::Disconnect { edge } => leads::disconnect(&sheet, page.edge(*edge)?),
        Operation::Reconnect { edge, to } => leads::reconnect(&sheet, page.edge(*edge)?, to),
        Operation::Outcome { edge, on } => leads::outcome(&sheet, page.edge(*edge)?, word(on.as_deref())),
        Operation::Rename { node, to } => names::rename(&sheet, node, to),
        Operation::Delete { nodes } => delete::delete(&sheet, nodes),
        Operation::Duplicate { node } => nodes::duplicate(&sheet, node),
        Operation::Wrap { node, id, values, .. } => nodes::wrap(&sheet, node, id.as_deref(), values.as_ref()),
        Operation::Move { .. } => Err(EditError::not_here("a state is moved")),
        Operation::Label { .. } => unreachable!("its edges have no labels"),
        Operation::Set { .. } | Operation::Kind { .. } => unreachable!("all formats set fields alike"),
    }
}

/// Makes a state the initial one.
fn begin(sheet: &Sheet<'_>, pen: &mut Pen, id: &str) {
    for other in sheet.ids().filter(|other| *other != id) {
        let flag = sheet.state(other).with("is_initial");
        if sheet.page.tree(&flag).is_some() {
            pen.remove(&flag);
        }
    }
    pen.set(&sheet.state(id).with("is_initial"), true);
}

fn chosen() -> EditError {
    EditError::new("an expression chooses the target there", "change `choose`, and the states in its `to`")
}
