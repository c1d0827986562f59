//! The guards that a project adds to Portolan's own.

use std::path::Path;

use portolan_core::gates::guards::{Head, Scene};
use portolan_core::gates::plugins::Around;
use portolan_core::gates::{Intent, Judgement};

use crate::plugins;
use crate::service::{Gate, ServiceError};

/// The branch that is checked out where the call would happen.
pub(super) fn branch(scene: &Scene) -> Option<String> {
    scene.places.values().filter_map(|place| place.worktree.as_ref()).find_map(|worktree| match &worktree.head {
        Head::Branch(branch) | Head::Unborn(branch) => Some(branch.clone()),
        Head::Detached(_) | Head::Unknown => None,
    })
}

/// What the project's guards say of a call, beside what was said already. One that is called like a guard of Portolan's
/// own stands in its place, which the project's file has to allow by name.
///
/// # Errors
/// The file of the guards has faults: guards that nobody understands are not none.
pub(super) fn judge(
    project: Option<&Path>,
    intent: &Intent,
    (branch, gate, strict): (Option<&str>, &Gate, bool),
    judgements: &mut Vec<Judgement>,
) -> Result<(), ServiceError> {
    let Some(project) = project else { return Ok(()) };
    let guards = plugins::guards(project)?;
    if guards.is_empty() {
        return Ok(());
    }
    let root = project.to_string_lossy();
    let phase = gate.flow.as_ref().map(|flow| flow.phase.as_str());
    let around = Around { root: &root, branch, phase, strict };
    judgements.retain(|judgement| !guards.iter().any(|guard| guard.id == judgement.guard));
    judgements.extend(guards.iter().filter_map(|guard| guard.judge(intent, &around)));
    Ok(())
}
