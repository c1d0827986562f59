//! What a bypass that counts once was used for. A tool call happens without its run hearing of it: that a guard was got
//! past stands in the log alone. Here the two are brought together, so that once is once.

use std::path::Path;

use portolan_core::engine::Work;
use portolan_core::run::{Bypass, EventKind, Verdict};
use portolan_core::value::Timestamp;

use super::super::hold::Held;
use super::super::{Service, ServiceError};
use crate::audit::{self, AuditError, Kind, Line};

impl Service {
    /// The use of a bypass at the node of `work` that a tool call has had and the run has not heard of. It is asked for
    /// where a verdict may be excused.
    ///
    /// # Errors
    /// The log cannot be read.
    pub(in crate::service) fn used_meanwhile(
        &self,
        held: &Held,
        work: &Work,
        verdict: &Verdict,
    ) -> Result<Option<EventKind>, ServiceError> {
        if !matches!(verdict, Verdict::Broken { .. } | Verdict::Unknown { .. }) {
            return Ok(None);
        }
        let task = held.run.opening.description.as_deref();
        let open = |bypass: &&Bypass| bypass.once && !bypass.used && bypass.node == work.id.node;
        for Bypass { id, at, .. } in held.run.bypasses().iter().filter(open) {
            if is_used(self.project(), (task, id), *at, |_| true)? {
                return Ok(Some(EventKind::Used { bypass: id.clone() }));
            }
        }
        Ok(None)
    }
}

/// Whether a guard was got past by a bypass, since it was put on record: by a line of the log that `counts`.
///
/// # Errors
/// The log cannot be read.
pub(crate) fn is_used(
    project: &Path,
    (task, bypass): (Option<&str>, &str),
    since: Timestamp,
    counts: impl Fn(&Line) -> bool,
) -> Result<bool, AuditError> {
    let is_use = |line: &Line| {
        let is_it = line.task.as_deref() == task && line.data["bypass"] == bypass;
        line.kind == Kind::GuardBypass.name() && is_it && counts(line)
    };
    let found = audit::latest(&audit::project_log(project), |line| is_use(line) || line.at < since)?;
    Ok(found.is_some_and(|line| is_use(&line)))
}
