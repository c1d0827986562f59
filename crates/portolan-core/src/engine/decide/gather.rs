//! The branches that run outside this run have outcomes: the join takes the outcome that follows from them.

use super::branches::{feedback, join_of, strategy_outcome};
use super::walk::Draft;
use super::{Rejection, RejectionReason};
use crate::diagnostic::list;
use crate::run::{FramePath, Place};
use crate::value::{NodeId, Outcome};

pub(super) fn decide(draft: &mut Draft<'_>, branches: &[(NodeId, Outcome)]) -> Result<(), Rejection> {
    let root = &draft.before.root;
    let Place::Gathering { node } = &root.place else {
        return Err(Rejection::new(
            RejectionReason::OutOfPlace,
            "the run is not waiting for branches",
            "continue from the present situation",
        ));
    };
    let Some((join, strategy)) = join_of(draft.workflow, &root.flow, node) else { return Ok(()) };
    let outcome_of =
        |name: &NodeId| branches.iter().find(|(branch, _)| branch == name).map(|(_, outcome)| outcome.clone());
    let names = &draft.step(&root.flow, node).exits.branches;
    let known: Vec<Option<Outcome>> = names.iter().map(outcome_of).collect();
    let Some(outcome) = strategy_outcome(strategy, &known) else {
        let missing = names.iter().zip(&known).filter(|(_, outcome)| outcome.is_none());
        let missing: Vec<&str> = missing.map(|(name, _)| name.as_str()).collect();
        return Err(Rejection::new(
            RejectionReason::BranchesOpen,
            format!("`{node}` is waiting for its branches: {} have not reached `{join}`", list(&missing)),
            format!("bring the task of each of them to `{join}`, then call again"),
        ));
    };
    let failed = names.iter().zip(&known).filter(|(_, outcome)| outcome.as_ref().is_some_and(Outcome::is_failed));
    let feedback = feedback(join, &outcome, failed.map(|(name, _)| name));
    draft.leave(&FramePath::default(), join, &outcome, feedback);
    Ok(())
}
