//! A run that agents are led through, as spans: one for each step, with its attempts, their checks, and the waits for a
//! person.
//!
//! They are made from the journal. Every process gives a run and its steps the same identifiers, so a run that many
//! processes have moved, for days, is one trace.

use std::collections::BTreeMap;

use portolan_core::graph::{EndResult, Kind, Workflow};
use portolan_core::present::way;
use portolan_core::run::{Change, EventKind, FramePath, Place, Run, Verdict, WaitingFor};
use portolan_core::value::{CheckId, NodeId, Outcome, Timestamp, WorkflowId};

use super::Telemetry;
use super::span::{OPERATION, Span, SpanKind, WORKFLOW};
use super::tracing::CANCELLED;
use crate::store::Record;
use crate::trace::{SpanId, TraceContext};

/// The code of an attempt that was sent back.
const SENT_BACK: &str = "sent_back";
/// The code of a check that does not hold.
const NOT_HELD: &str = "not_held";
/// The word for a question that the agent asked.
const RAISED: &str = "raised";

/// A run that agents are led through, and its journal.
pub(crate) struct LedRun<'r> {
    pub(crate) workflow: &'r Workflow,
    /// The name of its trace.
    pub(crate) name: &'r str,
    /// The handle, if the run is stored.
    pub(crate) handle: Option<&'r str>,
    pub(crate) records: &'r [Record],
}

impl Telemetry {
    /// Checks whether the trace of a run is recorded.
    pub(crate) fn follows(&self, name: &str) -> bool {
        self.0.shared.config.sampler.takes(&TraceContext::of_run(name))
    }

    /// Sends the spans of the steps that the last record has ended, and of the run if it is over.
    pub(crate) fn send_ended(&self, led: &LedRun<'_>) {
        let mut steps = Steps { workflow: led.workflow, run: None, open: BTreeMap::new(), ended: Vec::new() };
        for record in led.records {
            steps.take(record);
        }
        let (Some(first), Some(last)) = (led.records.first(), led.records.last()) else { return };
        let context = TraceContext::of_run(led.name);
        let mut spans: Vec<Span> = Vec::new();
        for step in &steps.ended {
            step.spans(led, &context, last.event.at, &mut spans);
        }
        if let Some(Place::Ended { result, .. }) = steps.run.as_ref().map(|run| &run.root.place) {
            let times = (nanoseconds(first.event.at), nanoseconds(last.event.at));
            let name = led.workflow.id().as_str();
            let span = Span::of(&context, context.root, format!("invoke_workflow {name}"), SpanKind::Internal, times)
                .text(OPERATION, "invoke_workflow")
                .text(WORKFLOW, name)
                .text("portolan.outcome", result.word())
                .error((*result != EndResult::Success).then(|| result.word()));
            spans.push(match led.handle {
                Some(run) => span.text("portolan.run", run),
                None => span,
            });
        }
        self.send(spans);
    }
}

/// A fold over the journal.
struct Steps<'w> {
    workflow: &'w Workflow,
    run: Option<Run>,
    open: BTreeMap<FramePath, Step>,
    /// The steps that the last record has ended.
    ended: Vec<Step>,
}

/// A visit of a node at which an agent or a person works.
struct Step {
    flow: WorkflowId,
    node: NodeId,
    /// The path to the node.
    at: String,
    seq: u64,
    began: Timestamp,
    attempts: Vec<Attempt>,
    waits: Vec<Wait>,
    /// Whether it ended by an event elsewhere, and had no outcome.
    is_cancelled: bool,
}

/// The work up to a report, and its checks.
struct Attempt {
    began: Timestamp,
    /// When it was sent back; `None` if it ended with the step.
    ended: Option<Timestamp>,
    reported: Option<(Timestamp, Outcome)>,
    checks: Vec<SettledCheck>,
}

struct SettledCheck {
    id: CheckId,
    began: Timestamp,
    ended: Timestamp,
    verdict: &'static str,
    holds: bool,
}

/// A wait for a person that the workflow does not plan.
struct Wait {
    began: Timestamp,
    ended: Option<Timestamp>,
    on: &'static str,
}

impl Steps<'_> {
    fn take(&mut self, record: &Record) {
        self.ended.clear();
        let at = record.event.at;
        if let EventKind::Reported { frame, outcome, .. } = &record.event.what
            && self.waits_at(frame) != Some(RAISED)
            && let Some(attempt) = self.open.get_mut(frame).and_then(|step| step.attempts.last_mut())
        {
            attempt.reported = Some((at, outcome.clone()));
        }
        for change in &record.changes {
            self.change(at, change);
            match &mut self.run {
                Some(run) => run.apply(change),
                None => self.run = Run::fold(std::slice::from_ref(change)),
            }
        }
        self.compare(record.seq, at, place_of(&record.event.what));
    }

    fn change(&mut self, at: Timestamp, change: &Change) {
        match change {
            Change::Settled { frame, check, verdict } => {
                let Some(attempt) = self.open.get_mut(frame).and_then(|step| step.attempts.last_mut()) else { return };
                let began = attempt.reported.as_ref().map_or(attempt.began, |(at, _)| *at);
                let (verdict, holds) = judged(verdict);
                attempt.checks.push(SettledCheck { id: check.clone(), began, ended: at, verdict, holds });
            }
            Change::Moved { frame, place, feedback } => self.moves(at, frame, place, feedback.is_some()),
            _ => {}
        }
    }

    fn moves(&mut self, at: Timestamp, path: &FramePath, place: &Place, sent_back: bool) {
        let waited = self.waits_at(path);
        let Some(step) = self.open.get_mut(path).filter(|step| step.node == *place.node()) else { return };
        if let Some(wait) = step.waits.last_mut().filter(|wait| waited.is_some() && wait.ended.is_none()) {
            wait.ended = Some(at);
        }
        match (place, unplanned(place)) {
            (_, Some(on)) => step.waits.push(Wait { began: at, ended: None, on }),
            // The work goes on with the answer.
            (Place::Ready { .. }, None) if waited == Some(RAISED) => {}
            (Place::Ready { .. }, None) if sent_back || waited.is_some() => {
                if let Some(attempt) = step.attempts.last_mut() {
                    attempt.ended = Some(at);
                }
                step.attempts.push(Attempt::of(at));
            }
            // The work was left, and led to itself.
            (Place::Ready { .. }, None) => self.ended.extend(self.open.remove(path)),
            _ => {}
        }
    }

    /// Returns why a frame waits for a person, if the workflow does not ask there.
    fn waits_at(&self, path: &FramePath) -> Option<&'static str> {
        self.run.as_ref().and_then(|run| run.frame(path)).and_then(|frame| unplanned(&frame.place))
    }

    /// Ends the steps that were left, and begins those that were reached.
    fn compare(&mut self, seq: u64, at: Timestamp, moved: Option<FramePath>) {
        let Some(run) = &self.run else { return };
        let mut here: BTreeMap<FramePath, (&WorkflowId, &NodeId)> = BTreeMap::new();
        for (path, frame) in run.positions() {
            let place = &frame.place;
            let is_step = match place {
                Place::Ready { node } => {
                    let step = self.workflow.find(frame.flow.as_str()).and_then(|flow| flow.steps.get(node));
                    step.is_none_or(|step| !matches!(step.node.kind, Kind::Start))
                }
                Place::Checking { .. } | Place::Waiting { .. } | Place::Gathering { .. } => true,
                _ => false,
            };
            if is_step && !run.is_over() {
                here.insert(path, (&frame.flow, place.node()));
            }
        }
        let left = |path: &FramePath, step: &Step| here.get(path).is_none_or(|(_, node)| **node != step.node);
        let gone: Vec<FramePath> =
            self.open.iter().filter(|(path, step)| left(path, step)).map(|(path, _)| path.clone()).collect();
        for path in gone {
            let Some(mut step) = self.open.remove(&path) else { continue };
            let has_outcome = step.attempts.last().is_some_and(|attempt| attempt.reported.is_some());
            step.is_cancelled = !has_outcome && moved.as_ref() != Some(&path);
            self.ended.push(step);
        }
        for (path, (flow, node)) in here {
            self.open.entry(path.clone()).or_insert_with(|| Step {
                flow: flow.clone(),
                node: node.clone(),
                at: way(&path, node),
                seq,
                began: at,
                attempts: vec![Attempt::of(at)],
                waits: Vec::new(),
                is_cancelled: false,
            });
        }
    }
}

impl Attempt {
    fn of(began: Timestamp) -> Attempt {
        Attempt { began, ended: None, reported: None, checks: Vec::new() }
    }
}

impl Step {
    fn spans(&self, led: &LedRun<'_>, context: &TraceContext, ended: Timestamp, spans: &mut Vec<Span>) {
        let seq = self.seq.to_string();
        let id = |more: &[&str]| SpanId::named(&[&["step", led.name, &self.at, &seq], more].concat());
        let span = |id: SpanId, name: String, parent: SpanId, times: (Timestamp, Timestamp)| {
            let times = (nanoseconds(times.0), nanoseconds(times.1));
            Span::of(context, id, name, SpanKind::Internal, times).within(parent)
        };
        let step = id(&[]);
        for (number, attempt) in (1..).zip(&self.attempts) {
            let number_text = u64::to_string(&number);
            let mut parent = step;
            if self.attempts.len() > 1 {
                parent = id(&["attempt", &number_text]);
                let made = span(parent, "attempt".to_owned(), step, (attempt.began, attempt.ended.unwrap_or(ended)))
                    .number("portolan.attempt", number)
                    .error(attempt.ended.map(|_| SENT_BACK));
                spans.push(with_outcome(made, attempt));
            }
            for check in &attempt.checks {
                let of_check = id(&["check", &number_text, check.id.as_str()]);
                spans.push(
                    span(of_check, format!("check {}", check.id), parent, (check.began, check.ended))
                        .text("portolan.verdict", check.verdict)
                        .error((!check.holds).then_some(NOT_HELD)),
                );
            }
        }
        for (number, wait) in (1..).zip(&self.waits) {
            let of_wait = id(&["wait", &u64::to_string(&number)]);
            let times = (wait.began, wait.ended.unwrap_or(ended));
            spans.push(span(of_wait, "wait".to_owned(), step, times).text("portolan.waits_for", wait.on));
        }
        let step = span(step, self.node.to_string(), context.root, (self.began, ended));
        spans.push(self.described(step, led.workflow));
    }

    fn described(&self, mut span: Span, workflow: &Workflow) -> Span {
        let found = workflow.find(self.flow.as_str()).and_then(|flow| flow.steps.get(&self.node));
        if let Some(found) = found {
            span = span.text("portolan.node.kind", found.node.kind.word());
        }
        span = span.text("portolan.flow", self.flow.as_str());
        if self.at != self.node.as_str() {
            let around = self.at.strip_suffix(self.node.as_str()).unwrap_or(&self.at);
            span = span.text("portolan.path", around.trim_end_matches('/'));
        }
        if self.attempts.len() > 1 {
            span = span.number("portolan.attempts", self.attempts.len() as u64);
        }
        let Some(last) = self.attempts.last() else { return span };
        let holds = last.checks.iter().all(|check| check.holds);
        let cancelled = self.is_cancelled.then_some(CANCELLED);
        with_outcome(span, last).error(cancelled.or((!holds).then_some(NOT_HELD)))
    }
}

/// Returns the frame that an event is about. Branches that are tasks of their own are gathered at the root.
fn place_of(event: &EventKind) -> Option<FramePath> {
    match event {
        EventKind::Reported { frame, .. } => Some(frame.clone()),
        EventKind::Settled { effect, .. } => Some(effect.frame.clone()),
        EventKind::Gathered { .. } => Some(FramePath::default()),
        _ => None,
    }
}

fn with_outcome(span: Span, attempt: &Attempt) -> Span {
    match &attempt.reported {
        Some((_, outcome)) => span.text("portolan.outcome", outcome.to_string()),
        None => span,
    }
}

/// Returns why a place waits for a person, unless the workflow asks there.
fn unplanned(place: &Place) -> Option<&'static str> {
    match place {
        Place::Waiting { on: WaitingFor::Budget, .. } => Some("budget"),
        Place::Waiting { on: WaitingFor::Progress, .. } => Some("progress"),
        Place::Waiting { on: WaitingFor::Raised, .. } => Some(RAISED),
        Place::Waiting { on: WaitingFor::Unchecked, .. } => Some("unchecked"),
        _ => None,
    }
}

/// Returns the word for a verdict, and whether the check holds.
fn judged(verdict: &Verdict) -> (&'static str, bool) {
    match verdict {
        Verdict::Held | Verdict::Shown { .. } => ("held", true),
        Verdict::Excused { .. } => ("excused", true),
        Verdict::Broken { .. } => ("broken", false),
        Verdict::ForPerson { .. } => ("for_person", false),
        Verdict::Unknown { .. } => ("unknown", false),
    }
}

/// Converts a time to nanoseconds since 1970.
fn nanoseconds(at: Timestamp) -> u64 {
    u64::try_from(at.0).unwrap_or_default().saturating_mul(1_000_000)
}
