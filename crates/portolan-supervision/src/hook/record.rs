//! The log entries of a call: the judgement of each guard, the bypasses, and the use of a tool. A line with the call's
//! ID is its receipt.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use portolan_core::expr::Jsonata;
use portolan_core::run::BypassSource;
use portolan_core::value::Timestamp;
use portolan_gates::plugins::{ResultFilter, result_amount, tool_names};
use portolan_gates::{Decision, Intent, Judgement, Tool};
use portolan_runtime::audit::{AuditError, Durability, Kind, Line, Log, LogEntry};
use portolan_runtime::clock::Clock;
use portolan_runtime::digest::Digest;
use portolan_runtime::project_folder;
use portolan_runtime::service::{DecidingRun, Gate};
use serde_json::{Map, Value, json};

use super::Answerable;
use super::extra_guards::Counted;

/// The field of a call with the other runs that decided about it, each with its step.
pub(super) const OTHER_RUNS: &str = "otherRuns";
/// The field of a call with the arguments that guards add up, with their values.
pub(super) const AMOUNTS: &str = "amounts";
/// The field of a call with the steps for which it may have been made, by run, where that is not the run's first step.
pub(super) const CALL_STEPS: &str = "callSteps";
/// The field of a call's end with the numbers that guards take from its result, by their expressions.
pub(super) const RESULTS: &str = "resultAmounts";
/// The maximum number of argument names that are recorded.
const MAX_NAMES: usize = 64;

/// Appends entries to the log.
pub(super) fn append(
    project: &Path,
    clock: &Clock,
    entries: &[LogEntry],
    durability: Durability,
) -> Result<(), AuditError> {
    if entries.is_empty() {
        return Ok(());
    }
    hide_from_git(project);
    Log::of_project(project)?.with_clock(clock.clone()).append(entries, durability).map(|_| ())
}

/// Makes git ignore the folder of the log.
pub(super) fn hide_from_git(project: &Path) {
    let folder = project.join(".portolan");
    if folder.is_dir() && !folder.join(".gitignore").exists() {
        // Without a `.gitignore`, adding all files would commit the log. If this fails, the log cannot be written
        // either.
        let _unknown_to_git = project_folder::make(&folder);
    }
}

/// Appends all entries or none: none if a line since then matches `is_said`. No other process writes between the read
/// and the write. Returns whether they were appended.
pub(super) fn append_unless(
    project: &Path,
    clock: &Clock,
    entries: &[LogEntry],
    since: Timestamp,
    is_said: impl Fn(&Line) -> bool,
) -> Result<bool, AuditError> {
    let log = Log::of_project(project)?.with_clock(clock.clone());
    let lines = log.append_missing(
        entries,
        Durability::Synced,
        |line| is_said(line) || line.at < since,
        |_, newest| !newest.is_some_and(&is_said),
    )?;
    Ok(!lines.is_empty())
}

/// The context of a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    host: String,
    session: Option<String>,
    run: Option<String>,
    task: Option<String>,
    phase: Option<String>,
    /// The step of the run, with the revision at which the run reached it.
    step: Option<String>,
    /// The other runs that decide about the call, with their steps.
    others: Vec<(String, Option<String>)>,
    /// The steps for which the call may be made, by run, where that is not the run's first step alone.
    call_steps: BTreeMap<String, Vec<String>>,
    /// What guards count.
    counted: Arc<Counted>,
    /// The filters of its result that the definitions of these runs carry.
    filters: Arc<[ResultFilter]>,
}

impl Record {
    pub(super) fn new(host: &str, session: Option<&str>, gate: Option<&Gate>) -> Record {
        let flow = gate.and_then(|gate| gate.flow.as_ref());
        let mut runs = gate.into_iter().flat_map(Gate::stored);
        let mut runs = runs.by_ref().map(|(run, step)| (run.to_string(), step.map(str::to_owned)));
        let is_told = |run: &&DecidingRun| run.call_steps.iter().ne(&run.step);
        let call_steps = gate.into_iter().flat_map(|gate| &gate.runs).filter(is_told);
        let call_steps = call_steps.filter_map(|run| Some((run.id()?.to_string(), run.call_steps.clone())));
        let (run, step) = runs.next().map_or((None, None), |(run, step)| (Some(run), step));
        Record {
            host: host.to_owned(),
            session: session.map(str::to_owned),
            run,
            task: flow.map(|flow| flow.task.clone()),
            phase: flow.map(|flow| flow.phase.clone()),
            step,
            others: runs.collect(),
            call_steps: call_steps.collect(),
            counted: Arc::default(),
            filters: gate.into_iter().flat_map(|gate| &gate.runs).flat_map(|run| run.rules.results.clone()).collect(),
        }
    }

    /// Returns the context with what guards count.
    pub(super) fn with(self, counted: Counted) -> Record {
        Record { counted: Arc::new(counted), ..self }
    }

    /// Returns the context of a later entry about a call of this run.
    pub(super) fn of_run(self, run: Option<String>) -> Record {
        Record { run, ..self }
    }

    /// Returns the filters of the call's result that the definitions of its runs carry.
    pub(super) fn filters(&self) -> &[ResultFilter] {
        &self.filters
    }

    /// Checks whether a guard adds up a number that it takes from the result.
    pub(crate) fn reads_result(&self) -> bool {
        !self.counted.results.is_empty()
    }

    /// Adds the numbers that guards take from the result to the data about the call's end. A call without a result adds
    /// nothing up, and a result from which an expression takes no number is not on record.
    pub(crate) fn add_result_amounts(&self, result: Option<&Value>, data: &mut Value) {
        let amount = |expression: &Jsonata| result.map_or(Some(0.0), |result| result_amount(expression, result));
        let amounts = self.counted.results.iter();
        let amounts = amounts.filter_map(|expression| Some((expression.text().to_owned(), amount(expression)?)));
        if self.reads_result() {
            data[RESULTS] = json!(amounts.collect::<BTreeMap<String, f64>>());
        }
    }

    /// Returns the run that the entries belong to.
    pub(super) fn run(&self) -> Option<&str> {
        self.run.as_deref()
    }

    /// Returns an entry about the call, with its context.
    pub(crate) fn entry(&self, kind: Kind, intent: Option<&Intent>, data: Value) -> LogEntry {
        let mut all = match data {
            Value::Object(data) => data,
            other => Map::from_iter([("what".to_owned(), other)]),
        };
        all.insert("host".to_owned(), json!(self.host));
        let details = [
            ("session", self.session.as_ref()),
            ("call", intent.and_then(|intent| intent.call.as_ref())),
            ("agent", intent.and_then(|intent| intent.agent.as_ref())),
        ];
        for (name, value) in details {
            if let Some(value) = value {
                all.insert(name.to_owned(), json!(value));
            }
        }
        LogEntry {
            kind,
            phase: self.phase.clone(),
            task: self.task.clone(),
            run: self.run.clone(),
            data: Value::Object(all),
        }
    }

    /// Returns the entries that are recorded before a call is answered.
    pub(super) fn of_call(&self, intent: &Intent, input: &Digest, answer: &Answerable) -> Vec<LogEntry> {
        let mut entries = self.judgements(intent, &answer.judgements);
        let is_refused = answer.decision != Decision::Allow;
        if is_refused && answer.judgements.iter().all(|judgement| judgement.decision < answer.decision) {
            entries.push(self.refusal("gates", &answer.reason, Some(intent)));
        }
        if !matches!(intent.tool, Tool::Reads) {
            let names: Vec<&String> = intent.arguments.iter().take(MAX_NAMES).collect();
            let mut data = json!({ "toolName": intent.name, "toolInputKeys": names, "inputDigest": input.as_str(),
                "decision": answer.decision });
            if self.step.is_some() || self.counted.is_of_day {
                data["toolKinds"] = json!(&tool_names(intent)[1..]);
            }
            if let Some(step) = &self.step {
                data["step"] = json!(step);
            }
            if !self.others.is_empty() {
                data[OTHER_RUNS] = json!(self.others.iter().cloned().collect::<BTreeMap<_, _>>());
            }
            if !self.call_steps.is_empty() {
                data[CALL_STEPS] = json!(self.call_steps);
            }
            if !self.counted.amounts.is_empty() {
                data[AMOUNTS] = json!(self.counted.amounts);
            }
            entries.push(self.entry(Kind::ToolInvoked, Some(intent), data));
        }
        entries
    }

    /// Returns the entries of judgements. A bypass has two entries: the bypass itself, and the guard's judgement.
    pub(super) fn judgements(&self, intent: &Intent, judgements: &[Judgement]) -> Vec<LogEntry> {
        let mut entries = Vec::new();
        for judgement in judgements {
            let mut data = json!({ "guardId": judgement.guard, "invariant": judgement.invariant,
                "reason": judgement.reason });
            if let Some(origin) = &judgement.origin {
                data["definedAt"] = json!(origin);
            }
            let kind = match (&judgement.bypassed_by, judgement.decision) {
                (Some(bypass), _) => {
                    let caller = || intent.agent.as_deref().or(intent.session.as_deref()).unwrap_or("agent");
                    let by = if bypass.source == BypassSource::Env { caller() } else { "flow" };
                    data["bypass"] = json!(bypass.id);
                    let past = json!({ "source": bypass.source, "identifier": bypass.identifier,
                        "invariant": bypass.invariant, "phase": bypass.node, "reason": bypass.reason,
                        "by": by, "stage": "applied" });
                    entries.push(self.entry(Kind::Bypass, Some(intent), past));
                    Kind::GuardBypass
                }
                (None, Decision::Allow) => Kind::GuardAllow,
                (None, Decision::Ask | Decision::Block) => {
                    data["decision"] = json!(judgement.decision);
                    Kind::GuardBlock
                }
            };
            entries.push(self.entry(kind, Some(intent), data));
        }
        entries
    }

    /// Returns the entry of a refusal that no guard made.
    pub(super) fn refusal(&self, guard: &str, reason: &str, intent: Option<&Intent>) -> LogEntry {
        self.entry(Kind::GuardBlock, intent, json!({ "guardId": guard, "reason": reason }))
    }
}
