//! The digest of a workflow of phases, which a person agrees to as a whole: what its checks leave out matters as much as
//! what they ask for, so that every text of it counts.

use portolan_core::graph::Workflow;

use crate::digest::Digest;

/// The digest of the phases of `workflow`, whose texts have the digest `texts`; nothing where it has none.
///
/// It is never that of commands: who allows what a workflow runs has not agreed to its phases.
pub fn phases_digest(workflow: &Workflow, texts: &Digest) -> Option<Digest> {
    let has_phases = workflow.root().steps.values().any(|step| step.node.phase.is_some() && step.node.seat.is_none());
    has_phases.then(|| Digest::of_parts(["portolan phases 1".as_bytes(), texts.as_str().as_bytes()]))
}
