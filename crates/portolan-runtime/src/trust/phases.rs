//! The digest of a workflow of phases, which a person accepts as a whole. Missing checks matter as much as present
//! ones, so the full text of every file counts.

use portolan_core::graph::Workflow;

use crate::digest::Digest;

/// Returns the digest of the phases of `workflow`, whose texts have the digest `texts`, or `None` if it has no phases.
///
/// It never equals a digest of commands: allowing a workflow's commands does not accept its phases.
pub fn phases_digest(workflow: &Workflow, texts: &Digest) -> Option<Digest> {
    let has_phases = workflow.root().steps.values().any(|step| step.node.phase.is_some() && step.node.seat.is_none());
    has_phases.then(|| Digest::of_parts(["portolan phases 1".as_bytes(), texts.as_str().as_bytes()]))
}
