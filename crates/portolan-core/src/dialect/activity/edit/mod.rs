//! Edits activities piece by piece: steps are items of lists, in order; edges lead from activity to activity.
//!
//! Derived nodes (conditions, ends of passes, exits) are edited through these.

mod add;
mod carry;
mod conditions;
mod decisions;
mod files;
mod forms;
mod names;
mod take;
#[cfg(test)]
mod tests;
mod ways;

use crate::dialect::editing::{Conditions, EditError, Editing, Edits, Operation, Page, Place};
use crate::graph::{Kind, Node};
use crate::source::fields::FaultList;
use crate::source::{PathStep, Source, Span, Spanned};

use super::reader::Reader;

pub(super) const EDITING: Editing = Editing {
    kind_field: Some("kind"),
    conditions: Some(Conditions { field: forms::CONDITION, of: conditions::of }),
    ..Editing::of(forms::KINDS, forms::OWN, edits)
};

fn edits(page: &Page<'_>, operation: &Operation) -> Edits {
    match operation {
        Operation::Add { kind, id, after, on, edge, values } => {
            let (id, after, on) = (id.as_deref(), after.as_deref(), on.as_deref());
            add::add(page, &add::Addition { kind, id, after, on, edge: *edge, values: values.as_ref() })
        }
        Operation::Connect { from, to, on } => ways::connect(page, from, to, on.as_deref()),
        Operation::Disconnect { edge } => ways::disconnect(page, *edge),
        Operation::Reconnect { edge, to } => ways::reconnect(page, *edge, to),
        Operation::Outcome { edge, on } => conditions::change(page, page.edge(*edge)?, on.as_deref()),
        Operation::Rename { node, to } => take::rename(page, node, to),
        Operation::Delete { nodes } => take::delete(page, nodes),
        Operation::Duplicate { node } => add::duplicate(page, node),
        Operation::Wrap { node, id, values, .. } => carry::wrap(page, node, id.as_deref(), values.as_ref()),
        Operation::Move { node, after } => carry::moved(page, node, after),
        Operation::Label { .. } => unreachable!("its edges have no labels"),
        Operation::Set { .. } | Operation::Kind { .. } => unreachable!("all formats set fields alike"),
    }
}

/// A node that has text of its own, and its place.
struct WrittenNode<'p> {
    node: &'p Node,
    place: Place,
    /// The activity that it is or is in.
    activity: Place,
}

impl WrittenNode<'_> {
    fn is_activity(&self) -> bool {
        self.node.kind == Kind::Activity
    }

    /// Returns the id prefix of the nodes beside it, or, for an activity, of the nodes in it.
    fn prefix(&self) -> &str {
        let id = self.node.id.as_str();
        match id.rsplit_once('.') {
            Some((prefix, _)) if !self.is_activity() => prefix,
            _ => id,
        }
    }

    /// Returns the written part of its id.
    fn id(&self) -> &str {
        let id = self.node.id.as_str();
        id.rsplit_once('.').map_or(id, |(_, own)| own)
    }

    /// Returns the list that contains it, and its index there.
    fn listed(&self) -> Option<(Place, usize)> {
        match self.place.at.last() {
            Some(PathStep::Item(nth)) => Some((self.place.parent()?, *nth)),
            _ => None,
        }
    }
}

fn written<'p>(page: &Page<'p>, id: &str) -> Result<WrittenNode<'p>, EditError> {
    let node = page.node(id)?;
    let place = page.place_of(node)?;
    let activity = match place.file {
        0 => Place { file: 0, at: place.at.iter().take(2).cloned().collect() },
        file => Place { file, at: Vec::new() },
    };
    Ok(WrittenNode { node, place, activity })
}

/// Refuses an invalid id.
fn sound(id: &str, whose: &str) -> Result<(), EditError> {
    let mut faults = FaultList::default();
    Reader::new(&Source::new("", ""), &mut faults)
        .is_id(&Spanned { value: id.to_owned(), span: Span::default() }, whose);
    faults.0.first().map_or(Ok(()), |fault| Err(EditError::of(fault)))
}

fn taken(what: &str, id: &str) -> EditError {
    EditError::new(format!("there is already {what} `{id}`"), "give it another identifier")
}
