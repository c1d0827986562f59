//! The state of a task, with each field under the name that hosts use.

use portolan_core::run::{BypassSource, Change, Place, Run, Verdict, WaitingFor};
use portolan_core::value::{CheckId, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value};

use super::super::hold::{Carrier, HeldRun};
use super::events::{iterations, verdict_reason, who};
use super::{Flow, phase};
use crate::audit::{self, Filter, Kind, Line, Types};
use crate::carrier::Address;
use crate::clock::rfc3339;
use crate::error::ServiceError;
use crate::rules::rules;
use crate::store::Record;

/// The number of latest events that are shown.
const RECENT: usize = 50;

/// The state of a project's task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlowState {
    /// The version of this layout.
    pub schema_version: u32,
    /// The root of the repository: an absolute path.
    pub cwd: String,
    /// The branch into which work is integrated.
    pub integration_branch: String,
    /// The phase: `idle` if there is no task.
    pub phase: String,
    /// The name of the task.
    pub task_id: Option<String>,
    /// The handle of its run.
    pub run_id: Option<String>,
    /// The revision that a change must name.
    pub revision: u64,
    /// The status of the task.
    pub status: TaskStatus,
    /// The claimed issue.
    pub issue_number: Option<u64>,
    /// The claimed branch.
    pub branch: Option<String>,
    /// The required prefix of the branch name.
    pub branch_prefix: Option<String>,
    /// The claimed specification.
    pub spec_path: Option<String>,
    /// The pull request: `None` until it is verified.
    pub pr_number: Option<u64>,
    /// Claims that are not verified yet, and the fields of a workflow of the project.
    pub claims: Map<String, Value>,
    /// The verified phases.
    pub verified: Vec<VerifiedPhase>,
    /// The usage of the task.
    pub metrics: Metrics,
    /// Every check that was performed, in order.
    pub acceptance_log: Vec<Acceptance>,
    /// The latest events of the log.
    pub recent_events: Vec<Value>,
    /// The bypasses.
    pub bypasses: Vec<BypassRecord>,
    /// Why the last tick did not advance the task.
    pub last_error: Option<String>,
    /// How many times the task went back to its work.
    pub iterations: u32,
    /// How many times it may go back.
    pub iteration_cap: u32,
    /// References for the reader. They are not interpreted.
    pub context_refs: Vec<Value>,
    /// The tokens of the questions for which the task waits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending_questions: Vec<String>,
}

/// The status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskStatus {
    /// There is no task.
    Idle,
    /// There is work to do.
    Active,
    /// A person is asked.
    WaitingForReply,
    /// A budget is used up.
    Halted,
    /// The task is done.
    Done,
    /// The task was called off.
    Failed,
}

/// The usage of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metrics {
    /// The start time.
    pub started_at: Option<String>,
    /// The end time.
    pub ended_at: Option<String>,
    /// The duration in milliseconds.
    pub duration_ms: u64,
    /// The turns of the agent. `None` if not reported.
    pub turns: Option<u64>,
    /// The cost in US dollars. `None` if not reported.
    pub cost_usd: Option<f64>,
    /// The input tokens of models. `None` if not reported.
    pub tokens_in: Option<u64>,
    /// The output tokens of models. `None` if not reported.
    pub tokens_out: Option<u64>,
}

/// A performed check.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Acceptance {
    /// The phase to be left.
    pub phase: String,
    /// The rule of the check.
    pub invariant: Option<String>,
    /// The check.
    pub check_id: String,
    /// Whether it counted as passed.
    pub pass: bool,
    /// The reason: never empty.
    pub reason: String,
    /// The time.
    pub at: String,
    /// The bypass that turned a failure into a pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bypassed_by: Option<String>,
}

/// A recorded bypass.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BypassRecord {
    /// Its id in the task.
    pub id: String,
    /// Its origin.
    pub source: BypassSource,
    /// The identifier that was used.
    pub identifier: String,
    /// The rule.
    pub invariant: String,
    /// The phase in which it counts.
    pub phase: String,
    /// The reason.
    pub reason: String,
    /// The time.
    pub at: String,
    /// The actor.
    pub by: String,
    /// The time after which it no longer counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Whether it counts only once.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// Whether it was used, at the exit of the phase or for a tool call.
    pub used: bool,
}

/// A phase that was left because all its checks passed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedPhase {
    /// The phase.
    pub phase: String,
    /// The time.
    pub at: String,
    /// The checks that passed.
    pub checks: Vec<String>,
}

/// The fields that only the engine sets.
const OWN: [&str; 14] = [
    "cwd",
    "integrationBranch",
    "phase",
    "taskId",
    "runId",
    "revision",
    "status",
    "metrics",
    "acceptanceLog",
    "recentEvents",
    "bypasses",
    "lastError",
    "iterations",
    "iterationCap",
];

pub(super) fn is_own(name: &str) -> bool {
    OWN.contains(&name)
}

impl Flow<'_> {
    /// Returns the state without a task.
    pub(super) async fn idle(&self) -> Result<FlowState, ServiceError> {
        Ok(FlowState {
            schema_version: 1,
            cwd: self.service.project().display().to_string(),
            integration_branch: self.integration_branch()?,
            phase: "idle".to_owned(),
            task_id: None,
            run_id: None,
            revision: 0,
            status: TaskStatus::Idle,
            issue_number: None,
            branch: None,
            branch_prefix: None,
            spec_path: None,
            pr_number: None,
            claims: Map::new(),
            verified: Vec::new(),
            metrics: Metrics::default(),
            acceptance_log: Vec::new(),
            recent_events: self.recent()?,
            bypasses: Vec::new(),
            last_error: None,
            iterations: 0,
            iteration_cap: 0,
            context_refs: Vec::new(),
            pending_questions: Vec::new(),
        })
    }

    pub(super) async fn state(&self, held: &HeldRun) -> Result<FlowState, ServiceError> {
        let Carrier::Stored(id) = &held.carrier else { return self.idle().await };
        let records = self.service.records(&Address::Stored(id.clone())).await?;
        let mut summary = JournalSummary::of(&records);
        self.used_by_guards(&mut summary.bypasses, held.run.opening.description.as_deref(), &records)?;
        let run = &held.run;
        let mut claims: Map<String, Value> = run.root.data.iter().flat_map(|data| data.variables.clone()).collect();
        let number = |claims: &mut Map<String, Value>, name: &str| claims.remove(name).and_then(|value| value.as_u64());
        let text = |claims: &mut Map<String, Value>, name: &str| match claims.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let is_shown = |field: &str| summary.has_left(field);
        let pr_claimed = claims.get("prNumber").cloned();
        let pr_number = number(&mut claims, "prNumber").filter(|_| is_shown("pr") || summary.verified_pull_request());
        if let (None, Some(claimed)) = (pr_number, pr_claimed) {
            claims.insert("prNumber".to_owned(), claimed);
        }
        let supervised = self.supervised(run).await?;
        let caps = held.definition.workflow.root().steps.values().filter_map(|step| step.node.phase.as_ref());
        Ok(FlowState {
            run_id: Some(id.to_string()),
            task_id: run.opening.description.clone(),
            phase: phase(run),
            revision: run.revision,
            status: supervised.status.unwrap_or_else(|| status(run)),
            pending_questions: supervised.questions,
            issue_number: number(&mut claims, "issueNumber"),
            branch: text(&mut claims, "branch"),
            branch_prefix: text(&mut claims, "branchPrefix"),
            spec_path: text(&mut claims, "specPath"),
            pr_number,
            context_refs: match claims.remove("contextRefs") {
                Some(Value::Array(refs)) => refs,
                _ => Vec::new(),
            },
            claims,
            metrics: Metrics {
                turns: supervised.spent.turns.sum,
                cost_usd: supervised.spent.cost_micros.sum.map(|micros| micros as f64 / 1e6),
                tokens_in: supervised.spent.tokens_in.sum,
                tokens_out: supervised.spent.tokens_out.sum,
                ..metrics(&records, run.is_over(), self.service.options.clock.now())
            },
            verified: summary.verified,
            acceptance_log: summary.log,
            bypasses: summary.bypasses,
            last_error: last_error(run),
            iterations: iterations(run),
            iteration_cap: caps.map(|phase| phase.cap).max().unwrap_or(0),
            ..self.idle().await?
        })
    }

    /// Marks the bypasses that allowed a tool call: only the log has these uses.
    fn used_by_guards(
        &self,
        bypasses: &mut [BypassRecord],
        task: Option<&str>,
        records: &[Record],
    ) -> Result<(), ServiceError> {
        let (Some(task), Some(first), true) = (task, records.first(), bypasses.iter().any(|known| !known.used)) else {
            return Ok(());
        };
        let filter = Filter {
            types: Some(Types::One(Kind::GuardBypass)),
            task: Some(task.to_owned()),
            since: Some(first.event.at),
            ..Filter::default()
        };
        for line in audit::read(&audit::project_log(self.service.project()), &filter)? {
            let line = line?;
            let used = bypasses.iter_mut().find(|known| line.data["bypass"] == known.id.as_str());
            if let Some(known) = used {
                known.used = true;
            }
        }
        Ok(())
    }

    fn recent(&self) -> Result<Vec<Value>, ServiceError> {
        let lines = audit::tail(&audit::project_log(self.service.project()), RECENT)?;
        let shown = |line: &Line| serde_json::from_str(&line.text).unwrap_or(Value::Null);
        Ok(lines.iter().map(shown).collect())
    }

    fn integration_branch(&self) -> Result<String, ServiceError> {
        Ok(rules(self.service.project())?.main().to_owned())
    }
}

/// What the records of a run contain about its task.
#[derive(Default)]
struct JournalSummary {
    log: Vec<Acceptance>,
    verified: Vec<VerifiedPhase>,
    bypasses: Vec<BypassRecord>,
}

impl JournalSummary {
    fn of(records: &[Record]) -> JournalSummary {
        let mut summary = JournalSummary::default();
        let mut run: Option<Run> = None;
        for record in records {
            if let Some(before) = &run {
                summary.take(before, record);
            }
            match &mut run {
                Some(run) => record.changes.iter().for_each(|change| run.apply(change)),
                None => run = Run::fold(&record.changes),
            }
        }
        for known in run.iter().flat_map(|run| run.bypasses()) {
            if let Some(bypass) = summary.bypasses.iter_mut().find(|bypass| bypass.id == known.id) {
                bypass.used = known.used;
            }
        }
        summary
    }

    fn take(&mut self, before: &Run, record: &Record) {
        let at = rfc3339(record.event.at);
        let phase = phase(before);
        for change in &record.changes {
            match change {
                Change::Settled { check, verdict, .. } => {
                    self.log.push(acceptance(&phase, check, verdict, at.clone()));
                }
                Change::Bypassed { bypass } => self.bypasses.push(BypassRecord {
                    id: bypass.id.clone(),
                    source: bypass.source,
                    identifier: bypass.identifier.clone(),
                    invariant: bypass.invariant.clone(),
                    phase: bypass.node.as_ref().map(ToString::to_string).unwrap_or_default(),
                    reason: bypass.reason.clone(),
                    at: at.clone(),
                    by: who(&record.event.by).to_owned(),
                    expires_at: bypass.expires_at.map(rfc3339),
                    once: bypass.once,
                    used: false,
                }),
                Change::Moved { place, frame, .. }
                    if frame.0.is_empty() && place.node() != before.root.place.node() =>
                {
                    self.left(before, &phase, &at);
                }
                _ => {}
            }
        }
    }

    /// Takes in that a phase was left. If it was being checked, all its checks passed.
    fn left(&mut self, before: &Run, phase: &str, at: &str) {
        let Place::Checking { settled, .. } = &before.root.place else { return };
        let mut checks: Vec<String> = settled.iter().map(|(check, _)| check.to_string()).collect();
        checks.extend(self.log.last().map(|last| last.check_id.clone()).filter(|last| !checks.contains(last)));
        self.verified.push(VerifiedPhase { phase: phase.to_owned(), at: at.to_owned(), checks });
    }

    fn has_left(&self, phase: &str) -> bool {
        self.verified.iter().any(|verified| verified.phase == phase)
    }

    fn verified_pull_request(&self) -> bool {
        self.log.iter().any(|check| check.pass && check.bypassed_by.is_none() && check.check_id == "prOpenedBeforeIdle")
    }
}

fn acceptance(phase: &str, check: &CheckId, verdict: &Verdict, at: String) -> Acceptance {
    let bypassed_by = match verdict {
        Verdict::Excused { bypass, .. } => Some(bypass.clone()),
        _ => None,
    };
    Acceptance {
        phase: phase.to_owned(),
        invariant: None,
        check_id: check.to_string(),
        pass: !matches!(verdict, Verdict::Broken { .. } | Verdict::Unknown { .. } | Verdict::ForPerson { .. }),
        reason: verdict_reason(check, verdict),
        at,
        bypassed_by,
    }
}

fn status(run: &Run) -> TaskStatus {
    match &run.root.place {
        Place::Waiting {
            on: WaitingFor::Budget | WaitingFor::Answer | WaitingFor::Raised | WaitingFor::Unchecked,
            ..
        } => TaskStatus::WaitingForReply,
        Place::Ended { result: portolan_core::graph::EndResult::Success, .. } => TaskStatus::Done,
        Place::Ended { .. } => TaskStatus::Failed,
        _ => TaskStatus::Active,
    }
}

fn last_error(run: &Run) -> Option<String> {
    let failures = run.root.feedback.iter().flat_map(|feedback| &feedback.failures);
    let reasons: Vec<&str> = failures.map(|failure| failure.reason.as_str()).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn metrics(records: &[Record], is_over: bool, now: Timestamp) -> Metrics {
    let Some((first, last)) = records.first().zip(records.last()) else { return Metrics::default() };
    let end = if is_over { last.event.at } else { now };
    Metrics {
        started_at: Some(rfc3339(first.event.at)),
        ended_at: is_over.then(|| rfc3339(end)),
        duration_ms: u64::try_from(end.0.saturating_sub(first.event.at.0)).unwrap_or(0),
        ..Metrics::default()
    }
}
