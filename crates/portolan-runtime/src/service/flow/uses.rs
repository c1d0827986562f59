//! The uses of bypasses that count once. A tool call is not an event of the run, so only the log shows that a guard was
//! bypassed. This module combines log and run, so that such a bypass counts only once.

use std::path::Path;

use portolan_core::run::{Bypass, EventKind, Verdict};
use portolan_core::value::{NodeId, Timestamp};

use super::super::Caller;
use super::super::hold::HeldRun;
use super::hooks::Hooks;
use crate::audit::{self, AuditError, Kind, Line};
use crate::conflict::CommitError;

impl Hooks<'_> {
    /// Records in the run which bypasses at `node` tool calls have used, if a verdict may be excused.
    ///
    /// # Errors
    /// The log cannot be read, or the run has moved.
    pub(in crate::service) async fn before_verdict(
        &self,
        held: &mut HeldRun,
        node: &NodeId,
        verdict: &Verdict,
        engine: &Caller,
    ) -> Result<(), CommitError> {
        if !matches!(verdict, Verdict::Broken { .. } | Verdict::Unknown { .. } | Verdict::ForPerson { .. }) {
            return Ok(());
        }
        let task = held.run.opening.description.clone();
        let open = |bypass: &&Bypass| bypass.once && !bypass.used && bypass.node.as_ref() == Some(node);
        let open: Vec<Bypass> = held.run.bypasses().iter().filter(open).cloned().collect();
        for Bypass { id, at, .. } in open {
            let used = is_used(self.service.project(), (task.as_deref(), &id), at, |_| true);
            if used.map_err(|error| CommitError::Failed(error.into()))? {
                self.service.step(held, EventKind::Used { bypass: id }, engine).await?;
            }
        }
        Ok(())
    }
}

/// Checks whether a bypass was used for a guard since it was recorded, by a line of the log that `counts`.
///
/// # Errors
/// The log cannot be read.
pub fn is_used(
    project: &Path,
    (task, bypass): (Option<&str>, &str),
    since: Timestamp,
    counts: impl Fn(&Line) -> bool,
) -> Result<bool, AuditError> {
    let is_use = |line: &Line| is_use(line, (task, bypass)) && counts(line);
    let found = audit::latest(&audit::project_log(project), |line| is_use(line) || line.at < since)?;
    Ok(found.is_some_and(|line| is_use(&line)))
}

/// Checks whether a line of the log reports that a guard was bypassed by a bypass of a task.
pub fn is_use(line: &Line, (task, bypass): (Option<&str>, &str)) -> bool {
    line.kind == Kind::GuardBypass.name() && line.task.as_deref() == task && line.data["bypass"] == bypass
}
