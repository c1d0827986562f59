//! The log entries for the records of a run. They depend on nothing else, so that a later write gives the same entries.

use portolan_core::graph::{Kind as NodeKind, Node};
use portolan_core::run::{Actor, Change, EffectResult, Event, EventKind, Place, Run, Verdict, WaitingFor};
use portolan_core::value::{CheckId, NodeId};
use portolan_gates::acceptance::Violation;
use serde_json::{Value, json};

use super::super::hold::HeldRun;
use super::log::{MORE, has_phases, numbered};
use crate::audit::{Kind, LogEntry};
use crate::definition::Definition;
use crate::store::{Record, RunId};

/// The run that log entries are about.
pub(super) struct EventSubject<'a> {
    definition: &'a Definition,
    id: &'a RunId,
    /// The name in the log: the task's name, if the run is one.
    task: String,
    /// The phase of the run.
    phase: String,
}

impl<'a> EventSubject<'a> {
    pub(super) fn of(held: &'a HeldRun, id: &'a RunId) -> EventSubject<'a> {
        let opening = &held.run.opening;
        let task = opening.description.clone().filter(|text| super::is_task(text).is_ok());
        EventSubject {
            definition: &held.definition,
            id,
            task: task.unwrap_or_else(|| id.to_string()),
            phase: super::phase(&held.run),
        }
    }

    fn entry(&self, kind: Kind, phase: &str, data: Value) -> LogEntry {
        let phase = Some(phase.to_owned());
        LogEntry { kind, phase, task: Some(self.task.clone()), run: Some(self.id.to_string()), data }
    }

    /// Returns an entry of the present phase that belongs to no record.
    pub(super) fn present(&self, kind: Kind, data: Value) -> LogEntry {
        self.entry(kind, &self.phase, data)
    }

    pub(super) fn task(&self) -> &str {
        &self.task
    }

    pub(super) fn phase(&self) -> &str {
        &self.phase
    }

    fn node(&self, id: &NodeId) -> &Node {
        &self.definition.workflow.root().step(id).node
    }
}

/// Returns the entry for a bypass, before the bypass is stored.
pub(super) fn recorded(about: &EventSubject<'_>, event: &Event) -> LogEntry {
    let EventKind::Bypassed { invariant, node, reason, source, identifier, expires_at, once } = &event.what else {
        unreachable!("only bypasses are put on record before they are kept")
    };
    let mut data = json!({
        "source": source,
        "identifier": identifier,
        "invariant": invariant,
        "phase": node,
        "reason": reason,
        "by": who(&event.by),
        "stage": "recorded",
    });
    if let Some(end) = expires_at {
        data["expiresAt"] = json!(crate::clock::rfc3339(*end));
    }
    if *once {
        data["uses"] = json!("once");
    }
    about.entry(Kind::Bypass, &about.phase, data)
}

/// Returns the entries for the opening of a run.
pub(super) fn opened(about: &EventSubject<'_>, record: &Record) -> Vec<LogEntry> {
    let data = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "workflow": about.definition.workflow.id(),
        "definition": about.definition.digest,
    });
    vec![about.entry(Kind::Boot, "idle", numbered(data, record))]
}

/// Returns the entries for a record, in the order of its changes.
pub(super) fn entries(about: &EventSubject<'_>, before: &Run, record: &Record) -> Vec<LogEntry> {
    let phase = super::phase(before);
    let mut entries = Vec::new();
    let mut reason = None;
    for change in &record.changes {
        match change {
            Change::Settled { check, verdict, .. } => {
                settled(about, (before, record), &phase, (check, verdict), &mut entries);
                reason = Some(verdict_reason(check, verdict));
            }
            Change::Moved { frame, place, .. } if frame.0.is_empty() => {
                moved(about, (before, record), place, reason.take(), &mut entries);
            }
            _ => {}
        }
    }
    with_what_follows(&mut entries);
    entries
}

/// Adds to each entry how many of the same record follow it: a writer that is killed may omit some of them.
fn with_what_follows(entries: &mut [LogEntry]) {
    for (entry, more) in entries.iter_mut().rev().zip(0_u64..).skip(1) {
        if let Some(data) = entry.data.as_object_mut() {
            data.insert(MORE.to_owned(), json!(more));
        }
    }
}

/// Returns the entry for a commit with a fault that a gate found.
pub(super) fn violation(about: &EventSubject<'_>, found: &Violation) -> LogEntry {
    let data = json!({ "sha": found.sha, "subject": found.subject, "expected": found.expected });
    about.entry(Kind::CommitFormatViolation, &about.phase, data)
}

fn settled(
    about: &EventSubject<'_>,
    (before, record): (&Run, &Record),
    phase: &str,
    (check, verdict): (&CheckId, &Verdict),
    entries: &mut Vec<LogEntry>,
) {
    let Place::Checking { node, .. } = &before.root.place else { return };
    let checks = &about.node(node).accept;
    let invariant = checks.iter().find(|known| known.id == *check).and_then(|check| check.invariant.as_deref());
    let mut data = json!({ "invariant": invariant, "checkId": check, "reason": verdict_reason(check, verdict) });
    let kind = match verdict {
        Verdict::Held | Verdict::Shown { .. } => Kind::AcceptancePassed,
        Verdict::Broken { .. } => Kind::AcceptanceFailed,
        Verdict::ForPerson { .. } => {
            data["code"] = json!("for_a_person");
            Kind::AcceptanceFailed
        }
        Verdict::Unknown { .. } => {
            data["code"] = json!("cannot_verify");
            Kind::AcceptanceFailed
        }
        Verdict::Excused { bypass, reason } => {
            let by = before.bypasses().iter().find(|known| known.id == *bypass);
            data["bypassedBy"] = json!(by);
            let applied = json!({
                "source": by.map(|by| &by.source),
                "identifier": by.map(|by| &by.identifier),
                "invariant": invariant,
                "phase": phase,
                "reason": by.map(|by| &by.reason),
                "checkId": check,
                "found": reason,
                "stage": "applied",
            });
            entries.push(about.entry(Kind::Bypass, phase, numbered(applied, record)));
            Kind::AcceptancePassed
        }
    };
    entries.push(about.entry(kind, phase, numbered(data, record)));
}

/// Returns the description of a check's verdict: never empty.
pub(super) fn verdict_reason(check: &CheckId, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Held => format!("`{check}` holds"),
        Verdict::Shown { reason, .. }
        | Verdict::Broken { reason, .. }
        | Verdict::Unknown { reason }
        | Verdict::ForPerson { reason }
        | Verdict::Excused { reason, .. } => reason.clone(),
    }
}

fn moved(
    about: &EventSubject<'_>,
    (before, record): (&Run, &Record),
    place: &Place,
    reason: Option<String>,
    entries: &mut Vec<LogEntry>,
) {
    let from = before.root.place.node();
    let phase = super::phase(before);
    match place {
        Place::Ready { node } if node != from && has_phases(&about.definition.workflow) => {
            let is_begun = about.node(from).phase.is_some();
            if is_begun {
                entries.push(transition(about, record, (from, node.as_str()), reason));
            }
        }
        Place::Waiting { on: WaitingFor::Budget, node, .. } => {
            let limits = about.node(node).phase.as_ref();
            let used = limits.map_or(0, |limits| before.root.used(&limits.counted_at));
            let data = json!({ "iterations": used, "cap": limits.map_or(0, |limits| limits.cap) });
            entries.push(about.entry(Kind::IterationCapHit, &phase, numbered(data, record)));
        }
        // The last phase leads to the end, which is passed by an event of its own.
        Place::Passing { node, .. } if matches!(about.node(node).kind, NodeKind::End { .. }) => {
            ended(about, (before, record), from, reason, entries);
        }
        Place::Ended { .. } if !matches!(before.root.place, Place::Passing { .. }) => {
            ended(about, (before, record), from, reason, entries);
        }
        _ => {}
    }
}

fn transition(
    about: &EventSubject<'_>,
    record: &Record,
    (from, to): (&NodeId, &str),
    reason: Option<String>,
) -> LogEntry {
    let counted_here = about.node(from).phase.as_ref().is_some_and(|phase| phase.counted_at == *from);
    let (kind, explanation) = match &record.event.what {
        EventKind::Reported { outcome, note, .. } if outcome.is_failed() => {
            (if counted_here { "iterate" } else { "rework" }, note.clone())
        }
        EventKind::Cancelled { reason, .. } => ("abort", Some(reason.clone())),
        EventKind::Reported { .. } | EventKind::Settled { result: EffectResult::Verdict(_), .. } => ("forward", reason),
        _ => ("other", reason),
    };
    let explanation = explanation.unwrap_or_else(|| format!("No acceptance checks for phase \"{from}\"."));
    let data = json!({ "from": from, "to": to, "reason": explanation, "kind": kind });
    about.entry(Kind::Transition, from.as_str(), numbered(data, record))
}

fn ended(
    about: &EventSubject<'_>,
    (before, record): (&Run, &Record),
    from: &NodeId,
    reason: Option<String>,
    entries: &mut Vec<LogEntry>,
) {
    if !has_phases(&about.definition.workflow) {
        return;
    }
    entries.push(transition(about, record, (from, "idle"), reason));
    let (kind, summary) = match &record.event.what {
        EventKind::Cancelled { reason, outcome } => {
            let scoped_down = outcome.as_deref() == Some("scoped-down");
            (if scoped_down { Kind::TaskScopedDown } else { Kind::TaskEscalated }, reason.clone())
        }
        _ => (Kind::TaskCompleted, format!("`{}` is done", about.task)),
    };
    let data = json!({ "summary": summary, "iterations": iterations(before) });
    entries.push(about.entry(kind, from.as_str(), numbered(data, record)));
}

/// Returns how many times a run has gone back.
pub(super) fn iterations(run: &Run) -> u32 {
    run.root.spent.iter().map(|spent| spent.used).sum()
}

pub(in crate::service) fn who(by: &Actor) -> &str {
    match by {
        Actor::Agent(name) | Actor::Person { name, .. } => name,
        Actor::Engine => "portolan",
    }
}
