//! Requests of agents to bypass a rule that only a person is allowed to bypass.
//!
//! A request changes nothing: it is a line of the event log. It stands until the rule is bypassed in its phase, or the
//! phase is left.

use portolan_core::value::Timestamp;
use serde_json::json;

use super::events::{EventSubject, who};
use super::{Flow, Override, check_reason, is_rule};
use crate::audit::{self, Durability, Kind, Line};
use crate::error::ServiceError;
use crate::service::Caller;

/// A request to bypass a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BypassRequest {
    /// The task.
    pub task: String,
    /// The rule: `I-3`.
    pub invariant: String,
    /// The phase, which is the present one.
    pub phase: String,
    /// The reason that the agent gave.
    pub reason: String,
    /// The agent.
    pub by: String,
    /// When it asked.
    pub at: Timestamp,
}

impl Flow<'_> {
    /// Puts a request on record for a person. A request that already stands is not repeated.
    ///
    /// # Errors
    /// There is no task, the rule is unknown, or the log cannot be written.
    pub async fn request(&self, wanted: &Override, caller: &Caller) -> Result<(), ServiceError> {
        let reason = check_reason(&wanted.reason)?;
        let (active, held) = self.needed(caller).await?;
        is_rule(&held.definition.workflow, &wanted.invariant)?;
        let about = EventSubject::of(&held, &active.run);
        if wanted.phase.as_deref().is_some_and(|phase| phase != about.phase()) {
            return Ok(());
        }
        let data = json!({ "invariant": wanted.invariant, "reason": reason, "by": who(&caller.by) });
        let entry = about.present(Kind::OverrideRequested, data);
        let scope = Scope { task: Some(about.task()), phase: about.phase() };
        let same = |line: &Line| scope.has(line) && line.data["invariant"] == wanted.invariant.as_str();
        let stands = |line: &Line| same(line) && line.kind == Kind::OverrideRequested.name();
        let log = self.service.log()?;
        log.append_missing(
            std::slice::from_ref(&entry),
            Durability::Written,
            |line| same(line) || scope.begins(line),
            |_, newest| !newest.is_some_and(stands),
        )?;
        Ok(())
    }

    /// Returns the requests that stand, the newest first.
    ///
    /// # Errors
    /// The note of the task or the log cannot be read.
    pub async fn requests(&self) -> Result<Vec<BypassRequest>, ServiceError> {
        let Some((active, held)) = self.active_run().await? else { return Ok(Vec::new()) };
        let about = EventSubject::of(&held, &active.run);
        let scope = Scope { task: Some(about.task()), phase: about.phase() };
        let mut newest: Vec<Line> = Vec::new();
        audit::latest(&audit::project_log(self.service.project()), |line| {
            let is_newer = |known: &Line| known.data["invariant"] == line.data["invariant"];
            if scope.has(line) && !newest.iter().any(is_newer) {
                newest.push(line.clone());
            }
            scope.begins(line)
        })?;
        let requested = newest.into_iter().filter(|line| line.kind == Kind::OverrideRequested.name());
        Ok(requested.map(|line| request(&active.task, line)).collect())
    }
}

/// A task in a phase.
struct Scope<'s> {
    task: Option<&'s str>,
    phase: &'s str,
}

impl Scope<'_> {
    /// Checks whether a line is a request, or a bypass, in the phase.
    fn has(&self, line: &Line) -> bool {
        let phase = match line.kind.as_str() {
            kind if kind == Kind::OverrideRequested.name() => line.phase.as_deref(),
            kind if kind == Kind::Bypass.name() => line.data["phase"].as_str(),
            _ => return false,
        };
        line.task.as_deref() == self.task && phase == Some(self.phase)
    }

    /// Checks whether the task came to the phase with a line, so that no older one is about this visit.
    fn begins(&self, line: &Line) -> bool {
        let comes = match line.kind.as_str() {
            kind if kind == Kind::Transition.name() => line.data["to"] == self.phase,
            kind => kind == Kind::Boot.name(),
        };
        comes && line.task.as_deref() == self.task
    }
}

fn request(task: &str, line: Line) -> BypassRequest {
    let text = |name: &str| line.data[name].as_str().unwrap_or_default().to_owned();
    BypassRequest {
        task: task.to_owned(),
        invariant: text("invariant"),
        reason: text("reason"),
        by: text("by"),
        at: line.at,
        phase: line.phase.unwrap_or_default(),
    }
}
