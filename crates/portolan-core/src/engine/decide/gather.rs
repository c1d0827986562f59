//! The branches that live outside this run have come to outcomes: the join takes the one that they earned.

use super::walk::{Draft, strategy_outcome};
use super::{Rejection, Why};
use crate::diagnostic::list;
use crate::graph::{Kind, Strategy};
use crate::run::{FramePath, Place};
use crate::value::{NodeId, Outcome};

pub(super) fn decide(draft: &mut Draft<'_>, branches: &[(NodeId, Outcome)]) -> Result<(), Rejection> {
    let flow = draft.run.root.flow.clone();
    let Place::Gathering { node } = draft.run.root.place.clone() else {
        return Err(Rejection::new(
            Why::OutOfPlace,
            "the run waits for no branches",
            "go on from the present situation",
        ));
    };
    let step = draft.step(&flow, &node);
    let Kind::Fork { join, .. } = &step.node.kind else { return Ok(()) };
    let join = join.value.clone();
    let strategy = match &draft.step(&flow, &join).node.kind {
        Kind::Join { strategy, .. } => *strategy,
        _ => Strategy::AllPass,
    };
    let outcome_of =
        |name: &NodeId| branches.iter().find(|(branch, _)| branch == name).map(|(_, outcome)| outcome.clone());
    let known: Vec<Option<Outcome>> = draft.step(&flow, &node).exits.branches.iter().map(outcome_of).collect();
    let Some(outcome) = strategy_outcome(strategy, &known) else {
        let missing: Vec<&str> =
            step.exits.branches.iter().filter(|name| outcome_of(name).is_none()).map(NodeId::as_str).collect();
        return Err(Rejection::new(
            Why::BranchesOpen,
            format!("`{node}` waits for its branches: {} have not come to `{join}`", list(&missing)),
            format!("lead the task of each of them to `{join}`; then call again"),
        ));
    };
    let failed: Vec<(NodeId, Outcome)> = branches.iter().filter(|(_, outcome)| outcome.is_failed()).cloned().collect();
    let feedback = draft.branch_feedback(&join, &outcome, failed.into_iter().map(|(name, _)| name));
    draft.leave(&FramePath::default(), &join, &outcome, feedback);
    Ok(())
}
