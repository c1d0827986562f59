//! The stored run of a graph, as `portolan runs show` prints it: its result or its position, and the next command.

use portolan_core::graph::EndResult;
use portolan_core::present::{Redaction, saved, trace, way};
use portolan_core::run::{EventKind, Fault, Place, Run, WaitReason};
use portolan_core::value::Timestamp;
use portolan_runtime::carrier::Address;
use portolan_runtime::clock::rfc3339;
use portolan_runtime::definition::Definition;
use portolan_runtime::service::{History, Service, ServiceError};
use portolan_runtime::store::{Record, RunId};
use serde_json::{Value, json};

use super::Exit;
use super::check::counted;
use super::output::{Output, Paint, one_line, safe};
use super::run::{waterfall, width};
use crate::words::resume_options;

/// How much of a result is shown; `--format json` has all of it.
const MAX_RESULT: usize = 2_000;

/// The run of a graph, read from its journal.
pub(super) struct JournaledRun {
    id: RunId,
    workflow: String,
    run: Run,
    began: Timestamp,
    last: Timestamp,
    end: End,
    /// The context with which another run of these states can begin.
    saved: Option<Value>,
}

/// How a run ended, or why it has not.
enum End {
    /// It succeeded, with this output.
    Done(Value),
    /// It failed.
    Failed(Fault),
    /// It was cancelled, for this reason.
    CalledOff(String),
    /// It is at a node that the engine executes.
    UnderWay,
    /// States wait: the branch and the reason of each.
    Held(Vec<(String, WaitReason)>),
}

impl JournaledRun {
    /// Reads the run of a graph. Returns `None` if an agent follows the run, or the run waits for one. `whole` includes
    /// all data of `--format json`.
    pub(super) async fn of(
        service: &Service,
        address: &Address,
        whole: bool,
    ) -> Result<Option<JournaledRun>, ServiceError> {
        let Some(id) = address.handle() else { return Ok(None) };
        let History { records, hidden, definition } = service.history(address).await?;
        let is_called = |definition: &std::sync::Arc<Definition>| definition.workflow.root().interface.is_some();
        let Some(definition) = definition.filter(is_called) else { return Ok(None) };
        let journaled = JournaledRun::from_records(id, &definition, &records, &hidden);
        let saved = || context(&definition, &records).map(|context| hidden.value(&context));
        Ok(journaled.map(|journaled| JournaledRun { saved: whole.then(saved).flatten(), ..journaled }))
    }

    fn from_records(
        id: &RunId,
        definition: &Definition,
        records: &[Record],
        hidden: &Redaction,
    ) -> Option<JournaledRun> {
        let run = Run::fold(records.iter().flat_map(|record| &record.changes))?;
        let led = |flow| definition.workflow.flow(flow).interface.is_none();
        if !run.is_over() && run.positions().iter().any(|(_, frame)| led(&frame.flow)) {
            return None;
        }
        let (first, last) = (records.first()?, records.last()?);
        Some(JournaledRun {
            id: id.clone(),
            workflow: definition.workflow.id().to_string(),
            began: first.event.at,
            last: last.event.at,
            end: end(&run, last, hidden),
            saved: None,
            run,
        })
    }

    /// Prints the run: its position, its result, and the next command.
    pub(super) fn show(&self, output: Output, situation: Value) -> anyhow::Result<Exit> {
        if output.is_json() {
            output.json(&self.report(situation))?;
            return Ok(self.exit());
        }
        let at = self.run.positions().iter().map(|(path, frame)| way(path, frame.place.node())).collect::<Vec<_>>();
        let (paint, word) = match &self.end {
            End::Done(_) => (Paint::Good, "done"),
            End::Failed(_) => (Paint::Bad, "failed"),
            End::CalledOff(_) => (Paint::Strong, "called off"),
            End::UnderWay => (Paint::Warn, "under way"),
            End::Held(_) => (Paint::Warn, "waits"),
        };
        let head = format!("{} · {} · {} · ", self.id, self.workflow, at.join(", "));
        output.line(one_line(&head) + &output.paint(paint, word))?;
        output.line("")?;
        self.tell(output)?;
        output.line("")?;
        output.line(output.paint(Paint::Faint, &self.next()))?;
        Ok(self.exit())
    }

    fn exit(&self) -> Exit {
        if matches!(self.end, End::Held(_)) { Exit::Waiting } else { Exit::Done }
    }

    /// Prints the result, and the times.
    pub(super) fn tell(&self, output: Output) -> anyhow::Result<()> {
        match &self.end {
            End::Done(result) => output.line(one_line(&shortened(&result.to_string())))?,
            End::Failed(fault) => {
                output.line(one_line(&format!("`{}` failed ({}): {}", fault.node, fault.code, fault.message)))?;
                if !fault.detail.is_empty() {
                    output.line(safe(&fault.detail))?;
                }
            }
            End::CalledOff(reason) => output.line(one_line(&format!("it was cancelled: {reason}")))?,
            End::Held(all) => {
                for (branch, why) in all {
                    let place = if branch.is_empty() { "it".to_owned() } else { format!("`{branch}`") };
                    output.line(one_line(&format!("{place} waits: {}", why.text())))?;
                }
            }
            End::UnderWay => output.line("it has no result yet: it is running, or was interrupted")?,
        }
        let executed = counted(usize::try_from(self.run.executed).unwrap_or(usize::MAX), "node");
        let end = if matches!(self.end, End::UnderWay | End::Held(_)) { "last seen" } else { "ended" };
        output.line(format!("{executed} executed, began {}, {end} {}", rfc3339(self.began), rfc3339(self.last)))
    }

    /// Returns the next command, in one line.
    fn next(&self) -> String {
        let id = &self.id;
        match &self.end {
            End::Held(all) => {
                let mut flags: Vec<&str> = Vec::new();
                for flag in all.iter().flat_map(|(_, why)| resume_options(why)) {
                    if !flags.contains(flag) {
                        flags.push(flag);
                    }
                }
                let flags: Vec<String> = flags.iter().map(|flag| format!("`--{flag}`")).collect();
                let branch = if all.len() > 1 { ", and with `--branch`," } else { "" };
                format!("`portolan runs resume {id}` with one of {}{branch} continues it", flags.join(", "))
            }
            End::UnderWay => format!("unless another process drives it, `portolan runs resume {id}` continues it"),
            _ => format!("`portolan runs show --trace {id}` shows what each node did"),
        }
    }

    fn report(&self, mut situation: Value) -> Value {
        let (outcome, field, value) = match &self.end {
            End::Done(result) => ("done", "output", result.clone()),
            End::Failed(fault) => ("failed", "error", json!(fault)),
            End::CalledOff(reason) => ("cancelled", "reason", json!(reason)),
            End::Held(all) => ("waiting", "waits", waits(all)),
            End::UnderWay => ("under_way", "resume", json!(format!("portolan runs resume {}", self.id))),
        };
        situation["outcome"] = json!(outcome);
        if let Some(saved) = &self.saved {
            situation["context"] = saved.clone();
        }
        situation[field] = value;
        situation["executed"] = json!(self.run.executed);
        situation["beganAt"] = json!(rfc3339(self.began));
        situation["updatedAt"] = json!(rfc3339(self.last));
        situation
    }
}

fn context(definition: &Definition, records: &[Record]) -> Option<Value> {
    let has_states = definition.workflow.root().interface.as_ref().is_some_and(|interface| interface.waits_at_limits);
    has_states.then(|| saved(&definition.workflow, records.iter().flat_map(|record| &record.changes))).flatten()
}

/// Returns the first waiting state as JSON, with all of them if there are several.
fn waits(all: &[(String, WaitReason)]) -> Value {
    let one = |(branch, why): &(String, WaitReason)| {
        let mut object = json!({ "why": why.text(), "resume": resume_options(why) });
        if !branch.is_empty() {
            object["branch"] = json!(branch);
        }
        object
    };
    let mut answer = all.first().map(one).unwrap_or_default();
    if all.len() > 1 {
        answer["all"] = all.iter().map(one).collect();
    }
    answer
}

/// Returns the branches in which states wait, and the reasons.
fn held(run: &Run) -> Vec<(String, WaitReason)> {
    let held = run.positions().into_iter().filter_map(|(path, frame)| Some((path.text(), frame.place.held()?.clone())));
    held.collect()
}

fn end(run: &Run, last: &Record, hidden: &Redaction) -> End {
    let Place::Ended { result, .. } = &run.root.place else {
        let held = held(run);
        return if held.is_empty() { End::UnderWay } else { End::Held(held) };
    };
    let data = run.root.data.as_deref();
    match (data.and_then(|data| data.fault.as_ref()), result) {
        (Some(fault), _) => End::Failed(hidden.fault(fault)),
        (None, EndResult::Cancelled) => End::CalledOff(match &last.event.what {
            EventKind::Cancelled { reason, .. } | EventKind::Bypassed { reason, .. } => hidden.text(reason),
            _ => String::new(),
        }),
        (None, _) => {
            let output = data.and_then(|data| data.output.as_deref());
            End::Done(output.map_or(Value::Null, |output| hidden.value(output)))
        }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_RESULT) {
        Some((end, _)) => {
            format!("{}… (the first {MAX_RESULT} characters; `--format json` prints all of it)", &text[..end])
        }
        None => text.to_owned(),
    }
}

/// Prints what each node of a function did, and the run's result.
pub(super) async fn show_trace(output: Output, service: &Service, handle: RunId) -> anyhow::Result<Exit> {
    let History { records, hidden, definition } = service.history(&Address::Stored(handle.clone())).await?;
    let events = records.iter().map(|record| (&record.event, record.changes.as_slice()));
    let rows = definition.as_ref().map(|definition| trace(&definition.workflow, events, &hidden)).unwrap_or_default();
    if output.is_json() {
        output.json(&json!({ "run": handle.to_string(), "trace": rows }))?;
    } else if rows.is_empty() {
        output.remark("no node of a graph was executed in this run");
    } else {
        output.line(waterfall(&rows, width()).trim_end())?;
        let kept =
            definition.and_then(|definition| JournaledRun::from_records(&handle, &definition, &records, &hidden));
        kept.map_or(Ok(()), |kept| kept.tell(output))?;
    }
    Ok(Exit::Done)
}
