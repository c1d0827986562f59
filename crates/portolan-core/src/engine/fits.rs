//! Checks whether a run from outside belongs to a workflow: every node that it names must exist there.

use crate::graph::{Kind, Workflow};
use crate::run::{BranchState, Frame, Place, Run};
use crate::value::{NodeId, WorkflowId};

/// A node that a run names and its workflow does not have, or has with another kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The flow that lacks it.
    pub flow: WorkflowId,
    /// The node.
    pub node: NodeId,
}

/// Checks that `run` can be a run of `workflow`. The rest of this module relies on it.
///
/// # Errors
/// The first node that does not fit.
pub fn fits(workflow: &Workflow, run: &Run) -> Result<(), Misfit> {
    if run.opening.workflow != *workflow.id() {
        return Err(Misfit { flow: run.opening.workflow.clone(), node: run.root.place.node().clone() });
    }
    frame_fits(workflow, &run.root, &[])
}

/// `loops` are the loops in its flow of which the frame is a pass.
fn frame_fits(workflow: &Workflow, frame: &Frame, loops: &[NodeId]) -> Result<(), Misfit> {
    let node = frame.place.node();
    let misfit = |node: &NodeId| Misfit { flow: frame.flow.clone(), node: node.clone() };
    if !workflow.contains(&frame.flow, node) {
        return Err(misfit(node));
    }
    // Otherwise a pass would end in a loop that it does not belong to.
    if workflow.has_activities() && workflow.flow(&frame.flow).loops(node) != loops {
        return Err(misfit(node));
    }
    let kind = &workflow.flow(&frame.flow).step(node).node.kind;
    let possible = match &frame.place {
        Place::Ready { .. } => matches!(kind, Kind::Start | Kind::Work { .. }),
        Place::Checking { .. } => matches!(kind, Kind::Work { .. }),
        Place::Forked { .. } | Place::Gathering { .. } => matches!(kind, Kind::Fork { .. }),
        Place::Within { .. } => matches!(kind, Kind::Subflow { .. }),
        Place::Calling { .. } => matches!(kind, Kind::Call(_)),
        Place::Each { .. } => matches!(kind, Kind::Each(_)),
        Place::Conversing { .. } => matches!(kind, Kind::State(_)),
        Place::Looping { .. } => matches!(kind, Kind::Loop(_)),
        Place::Passing { .. } | Place::Waiting { .. } | Place::Arrived { .. } | Place::Ended { .. } => true,
    };
    if !possible {
        return Err(misfit(node));
    }
    if let Some(spent) = frame.spent.iter().find(|spent| !workflow.contains(&frame.flow, &spent.gate)) {
        return Err(misfit(&spent.gate));
    }
    if let Place::Forked { branches, .. } = &frame.place {
        for branch in branches {
            if let BranchState::Held | BranchState::Open(_) = branch.state
                && !workflow.contains(&frame.flow, &branch.name)
            {
                return Err(misfit(&branch.name));
            }
        }
    }
    let within: Vec<NodeId> = match &frame.place {
        Place::Looping { .. } => loops.iter().chain([node]).cloned().collect(),
        Place::Forked { .. } => loops.to_vec(),
        _ => Vec::new(),
    };
    frame.inner().try_for_each(|(_, inner)| frame_fits(workflow, inner, &within))
}
