//! Begins the work: the start node is left.

use super::walk::Draft;
use super::{Rejection, RejectionReason, fresh};
use crate::graph::Kind;
use crate::run::{FramePath, Place};
use crate::value::Outcome;

pub(super) fn decide(draft: &mut Draft<'_>, revision: Option<u64>) -> Result<(), Rejection> {
    let root = &draft.before.root;
    fresh(root, revision)?;
    let node = root.place.node();
    let at_start = draft.step(&root.flow, node).node.kind == Kind::Start;
    if !at_start || !matches!(root.place, Place::Ready { .. }) {
        return Err(Rejection::new(
            RejectionReason::OutOfPlace,
            format!("the run has already begun and is at `{node}`"),
            "continue from the present situation",
        ));
    }
    draft.leave(&FramePath::default(), node, &Outcome::passed(), None);
    Ok(())
}
