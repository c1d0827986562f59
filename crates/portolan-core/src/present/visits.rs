//! The visits of one node of a drawing: input, messages, output.
//!
//! They are folded from the journal, for nodes of all kinds: those that an agent, the engine or a model works on.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::{CheckResult, Redaction, drawn_as, expression, way};
use crate::chat::{Arguments, Message, ToolUse};
use crate::graph::Workflow;
use crate::run::{
    Actor, BranchState, Change, Event, EventKind, Fault, Frame, FramePath, KeyResultOutcome, ModelStateChange, Place,
    Run, Spend,
};
use crate::value::{CheckId, NodeId, Timestamp};

/// A visit of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Visit {
    /// The path to the node, with its branches and items: `each/2/fetch`.
    pub at: String,
    /// The record at which it began.
    pub seq: u64,
    /// When it began, in milliseconds since 1970.
    pub began: i64,
    /// When it ended; `None` while it is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<i64>,
    /// The expression that it evaluates, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// Its input: arguments, items, the input of a workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The later replacements of its output, each with its author, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub altered: Vec<OutputChange>,
    /// The reason that it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    /// The number of repeated calls.
    pub retries: u32,
    /// The reported outcomes, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<OutcomeReport>,
    /// The results of its checks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckResult>,
    /// The checks of the node that were not run since the last report.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<CheckId>,
    /// The messages to and from a model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<ChatMessage>,
    /// The results for its key results, attempt by attempt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Vec<KeyResultOutcome>>,
    /// Its usage.
    #[serde(skip_serializing_if = "Spend::is_nothing")]
    pub spent: Spend,
}

/// A reported outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutcomeReport {
    /// The reporter.
    pub by: Actor,
    /// The outcome.
    pub outcome: String,
    /// The note with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The values in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Value>,
}

/// A manual change of an output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutputChange {
    /// The record of the change.
    pub seq: u64,
    /// The author.
    pub by: Actor,
    /// The new value.
    pub value: Value,
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChatMessage {
    /// The role of its author: `system`, `user`, `assistant`, `tool`.
    pub role: Value,
    /// The text.
    pub text: String,
    /// The requested tools, each with its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

/// Returns the visits of the drawn node `wanted` that begin in the records, in the order in which they began. `before`
/// is the run before the first record; `None` if that is the first of the journal.
pub fn visits<'r>(
    workflow: &Workflow,
    before: Option<&Run>,
    records: impl IntoIterator<Item = (u64, &'r Event, &'r [Change])>,
    wanted: &str,
    hidden: &Redaction,
) -> Vec<Visit> {
    let mut builder = VisitsBuilder {
        workflow,
        wanted,
        hidden,
        is_whole: before.is_none(),
        run: before.cloned(),
        open: BTreeMap::new(),
        visits: Vec::new(),
    };
    for (seq, event, changes) in records {
        builder.hears(event);
        for change in changes {
            builder.takes(seq, event.at, change);
            builder.is_altered(seq, &event.by, change);
            match &mut builder.run {
                Some(run) => run.apply(change),
                None => builder.run = Run::fold(std::slice::from_ref(change)),
            }
        }
    }
    builder.visits
}

struct VisitsBuilder<'t> {
    workflow: &'t Workflow,
    wanted: &'t str,
    hidden: &'t Redaction,
    /// Whether the records begin with the journal.
    is_whole: bool,
    run: Option<Run>,
    /// The open visits, by their frames.
    open: BTreeMap<FramePath, usize>,
    visits: Vec<Visit>,
}

impl VisitsBuilder<'_> {
    fn visit(&mut self, path: &FramePath) -> Option<&mut Visit> {
        let at = *self.open.get(path)?;
        self.visits.get_mut(at)
    }

    /// Records what the event contains beyond its changes.
    fn hears(&mut self, event: &Event) {
        let EventKind::Reported { frame, outcome, note, outputs, .. } = &event.what else { return };
        let (hidden, by) = (self.hidden, event.by.clone());
        let checks = self.checks_at(frame);
        let Some(visit) = self.visit(frame) else { return };
        visit.unchecked = checks;
        visit.reports.push(OutcomeReport {
            by,
            outcome: outcome.to_string(),
            note: note.as_ref().map(|note| hidden.text(note)),
            values: outputs.as_ref().map(|values| hidden.value(values)),
        });
    }

    /// Returns the checks of the node that a frame is at.
    fn checks_at(&self, path: &FramePath) -> Vec<CheckId> {
        let Some(frame) = self.run.as_ref().and_then(|run| run.frame(path)) else { return Vec::new() };
        let step = self.workflow.flow(&frame.flow).step(frame.place.node());
        step.node.accept.iter().map(|check| check.id.clone()).collect()
    }

    fn takes(&mut self, seq: u64, at: Timestamp, change: &Change) {
        match change {
            Change::Opened { place, .. } if place.node().as_str() == self.wanted => {
                self.begins(&FramePath::default(), place.node(), seq, at);
            }
            Change::Moved { frame, place, feedback } => self.moves(frame, place, feedback.is_some(), seq, at),
            Change::Branched { frame, branch, state } => match state {
                BranchState::Open(inner) => self.enters(frame, &frame.join(branch), inner, seq, at),
                BranchState::Cancelled | BranchState::Done(_) => self.ends(&frame.join(branch), at),
                BranchState::Held => {}
            },
            Change::ItemBegun { frame, index, item } => {
                let path = frame.join(&NodeId::from(index.to_string()));
                self.enters(frame, &path, item, seq, at);
            }
            Change::Executed { frame, output, fault, .. } => {
                let (hidden, path) = (self.hidden, frame.clone());
                let Some(visit) = self.visit(&path) else { return };
                visit.output = output.as_ref().map(|output| hidden.value(output));
                visit.error = fault.as_ref().map(|fault| hidden.fault(fault));
                visit.ended = Some(at.0);
            }
            Change::Settled { frame, check, verdict } => {
                let checked = CheckResult::of(check, verdict).redacted(self.hidden);
                let Some(visit) = self.visit(frame) else { return };
                visit.unchecked.retain(|open| open != check);
                visit.checks.push(checked);
            }
            Change::Talked { frame, said } => self.talks(frame, said),
            _ => {}
        }
    }

    /// Records a changed output at the last visit of the node.
    fn is_altered(&mut self, seq: u64, by: &Actor, change: &Change) {
        let (Change::Altered { frame, node, output }, Some(run)) = (change, &self.run) else { return };
        if drawn_as(run, frame, node) != self.wanted {
            return;
        }
        let at = way(frame, node);
        let (by, value) = (by.clone(), self.hidden.value(output));
        // In a loop pass, the visit is deeper than the place of its output.
        let is_within = |visit: &Visit| visit.at.split('/').count() > at.split('/').count();
        let last = self.visits.iter().rposition(|visit| visit.at == at).or_else(|| {
            // The output may also belong to a visit that began before the records.
            let last = self.visits.len().checked_sub(1)?;
            (self.is_whole || is_within(&self.visits[last])).then_some(last)
        });
        if let Some(visit) = last.and_then(|last| self.visits.get_mut(last)) {
            visit.altered.push(OutputChange { seq, by, value });
        }
    }

    fn moves(&mut self, path: &FramePath, place: &Place, again: bool, seq: u64, at: Timestamp) {
        let Some(run) = &self.run else { return };
        let Some(before) = run.frame(path).map(|frame| frame.place.node().clone()) else { return };
        let is_wanted = drawn_as(run, path, place.node()) == self.wanted;
        let again = again && matches!(place, Place::Ready { .. } | Place::Passing { .. });
        if before != *place.node() || again {
            self.ends(path, at);
            if is_wanted {
                self.begins(path, place.node(), seq, at);
            }
        }
        if is_wanted {
            self.is_given(path, place);
        }
        if place.is_over() {
            self.ends(path, at);
        }
        match place {
            Place::Within { node, frame } | Place::Looping { node, frame, .. } => {
                let prefix = matches!(place, Place::Within { .. });
                self.enters_within(path, node, frame, prefix, (seq, at));
            }
            Place::Forked { branches, .. } => {
                for branch in branches {
                    if let BranchState::Open(inner) = &branch.state {
                        self.enters(path, &path.join(&branch.name), inner, seq, at);
                    }
                }
            }
            _ => {}
        }
    }

    fn is_given(&mut self, path: &FramePath, place: &Place) {
        let (input, retries) = match place {
            Place::Calling { arguments, retries, .. } => (Some(Value::clone(arguments)), *retries),
            Place::Each { items, .. } => (Some(Value::Array(items.to_vec())), 0),
            Place::Within { frame, .. } => (frame.data.as_ref().map(|data| Value::clone(&data.input)), 0),
            Place::Conversing { talk, .. } => (Some(Value::clone(&talk.input)), 0),
            _ => return,
        };
        let hidden = self.hidden;
        let Some(visit) = self.visit(path) else { return };
        visit.input = input.filter(|input| !input.is_null()).map(|input| hidden.value(&input));
        visit.retries = retries;
    }

    /// Records that a frame begins beside others of its flow: a branch or an item.
    fn enters(&mut self, around: &FramePath, path: &FramePath, inner: &Frame, seq: u64, at: Timestamp) {
        let Some(run) = &self.run else { return };
        let beside = run.frame(around).map(|frame| drawn_as(run, around, frame.place.node()));
        let is_item = run.frame(around).is_some_and(|frame| matches!(frame.place, Place::Each { .. }));
        let node = inner.place.node();
        let name = match beside.filter(|_| is_item) {
            Some(each) => format!("{each}/{node}"),
            None => drawn_as(run, around, node),
        };
        if name == self.wanted {
            self.begins(path, &node.clone(), seq, at);
        }
    }

    fn enters_within(
        &mut self,
        around: &FramePath,
        holder: &NodeId,
        inner: &Frame,
        prefix: bool,
        (seq, at): (u64, Timestamp),
    ) {
        let Some(run) = &self.run else { return };
        let node = inner.place.node();
        let holder_name = drawn_as(run, around, holder);
        let name = if prefix { format!("{holder_name}/{node}") } else { drawn_as(run, around, node) };
        let path = around.join(holder);
        self.open.remove(&path);
        if name == self.wanted {
            self.begins(&path, &node.clone(), seq, at);
        }
    }

    fn begins(&mut self, path: &FramePath, node: &NodeId, seq: u64, at: Timestamp) {
        let kind = self.run.as_ref().and_then(|run| run.frame(path)).map(|frame| &frame.flow);
        let step = kind.and_then(|flow| self.workflow.find(flow.as_str())).and_then(|flow| flow.steps.get(node));
        let expression = step.and_then(|step| expression(&step.node.kind)).map(|text| self.hidden.text(&text));
        self.open.insert(path.clone(), self.visits.len());
        self.visits.push(Visit { at: way(path, node), seq, began: at.0, expression, ..Visit::default() });
    }

    /// Ends the visit of a frame and those of the frames inside it.
    fn ends(&mut self, path: &FramePath, at: Timestamp) {
        let inside = self.open.range(path.clone()..).take_while(|(inner, _)| inner.0.starts_with(&path.0));
        let ended: Vec<FramePath> = inside.map(|(inner, _)| inner.clone()).collect();
        for inner in ended {
            if let Some(visit) = self.visit(&inner) {
                visit.ended.get_or_insert(at.0);
            }
            self.open.remove(&inner);
        }
    }

    fn talks(&mut self, path: &FramePath, change: &ModelStateChange) {
        let hidden = self.hidden;
        let Some(visit) = self.visit(path) else { return };
        match change {
            ModelStateChange::Begun { afresh: Some(messages), .. } => {
                visit.messages.extend(messages.iter().map(|message| spoken(message, hidden)));
            }
            ModelStateChange::Message(message) => visit.messages.push(spoken(message, hidden)),
            ModelStateChange::Settled { check, verdict } => {
                visit.checks.push(CheckResult::of(check, verdict).redacted(hidden));
            }
            ModelStateChange::Failed(attempt) | ModelStateChange::Held(attempt) => {
                visit.attempts.push(attempt.found.iter().map(|found| judged(found, hidden)).collect());
            }
            ModelStateChange::Spent(spend) => visit.spent = visit.spent.and(*spend),
            _ => {}
        }
    }
}

/// A judge reads what is hidden, and quotes it.
fn judged(found: &KeyResultOutcome, hidden: &Redaction) -> KeyResultOutcome {
    let (reason, evidence) = (hidden.text(&found.reason), hidden.text(&found.evidence));
    KeyResultOutcome { reason, evidence, ..found.clone() }
}

fn spoken(message: &Arc<Message>, hidden: &Redaction) -> ChatMessage {
    let arguments = |arguments: &Arguments| match arguments {
        Arguments::Json(value) => value.to_string(),
        Arguments::Text(text) => text.clone(),
    };
    let call = |call: &ToolUse| hidden.text(&format!("{} {}", call.name, arguments(&call.arguments)));
    ChatMessage {
        role: serde_json::to_value(message.role).unwrap_or_default(),
        text: message.content.as_deref().map(|text| hidden.text(text)).unwrap_or_default(),
        tools: message.tool_calls.iter().map(call).collect(),
    }
}
