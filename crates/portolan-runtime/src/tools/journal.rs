//! What the calls of a run were answered with, read from its journal: so that the same run can be made again without its
//! servers, also when nobody recorded it.

use std::collections::BTreeMap;

use portolan_core::graph::{Kind, Workflow};
use portolan_core::run::{Change, EffectResult, EventKind, FramePath, Place, Reply, Run};
use portolan_core::value::NodeId;

use super::recorder::{answered, dropped};
use super::written::ScriptedAnswer;
use crate::store::Record;

/// What a run was answered with.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// By `function.node`, in the order in which the calls began.
    pub answers: BTreeMap<String, Vec<ScriptedAnswer>>,
    /// What was changed by hand and is no answer of a call, by its name.
    pub by_hand: Vec<String>,
}

/// A call: its frame, and when it came there.
type Call = (FramePath, u64);

/// Reads a journal from its first record on. An answer that was changed by hand counts as it was changed.
pub fn recorded(workflow: &Workflow, records: &[Record]) -> Recorded {
    let mut told =
        JournalWalk { workflow, run: None, calls: BTreeMap::new(), latest: BTreeMap::new(), answers: BTreeMap::new() };
    let mut by_hand = Vec::new();
    for record in records {
        told.answers(&record.event.what);
        for change in &record.changes {
            by_hand.extend(told.altered(&record.event.what, change));
            told.takes(change);
        }
    }
    let answers = told.answers.into_iter();
    let whole =
        |answers: Vec<Option<ScriptedAnswer>>| answers.into_iter().map(|it| it.unwrap_or_else(dropped)).collect();
    Recorded { answers: answers.map(|(name, answers)| (name, whole(answers))).collect(), by_hand }
}

struct JournalWalk<'w> {
    workflow: &'w Workflow,
    run: Option<Run>,
    /// The name and the turn of each call that was begun.
    calls: BTreeMap<Call, (String, usize)>,
    /// The last call of each node that was answered, by the frame that its output lies in.
    latest: BTreeMap<(FramePath, NodeId), (String, usize)>,
    answers: BTreeMap<String, Vec<Option<ScriptedAnswer>>>,
}

impl JournalWalk<'_> {
    fn answers(&mut self, what: &EventKind) {
        let EventKind::Settled { effect, result: EffectResult::Reply(reply), .. } = what else { return };
        let Some(place) = self.calls.get(&(effect.frame.clone(), effect.since)).cloned() else { return };
        if let Some(slot) = self.answers.get_mut(&place.0).and_then(|answers| answers.get_mut(place.1)) {
            // What nobody waited for any more is not in the journal twice: the first counts.
            slot.get_or_insert_with(|| answered(reply));
        }
        if let (Some(run), Reply::Output(_)) = (&self.run, reply) {
            self.latest.insert((run.owner(&effect.frame), effect.node.clone()), place);
        }
    }

    /// What a change by hand is about that no answer can say.
    fn altered(&mut self, what: &EventKind, change: &Change) -> Option<String> {
        match change {
            Change::Altered { frame, node, output } => {
                let place = self.latest.get(&(frame.clone(), node.clone())).filter(|_| self.is_bare(frame, node));
                let slot = place.and_then(|(name, turn)| self.answers.get_mut(name)?.get_mut(*turn));
                match slot {
                    Some(slot) => *slot = Some(ScriptedAnswer::Output((**output).clone())),
                    None => return Some(node.to_string()),
                }
                None
            }
            Change::Set { name, .. } if matches!(what, EventKind::Noted { .. }) => Some(name.clone()),
            _ => None,
        }
    }

    /// Whether a node's output is the answer of its call as it came.
    fn is_bare(&self, frame: &FramePath, node: &NodeId) -> bool {
        let flow = self.run.as_ref().and_then(|run| run.frame(frame)).map(|frame| &frame.flow);
        let step = flow.and_then(|flow| self.workflow.find(flow.as_str())).and_then(|flow| flow.steps.get(node));
        step.is_some_and(|step| matches!(&step.node.kind, Kind::Call(call) if call.post.is_none()))
    }

    fn takes(&mut self, change: &Change) {
        match &mut self.run {
            Some(run) => run.apply(change),
            None => self.run = Run::fold(std::slice::from_ref(change)),
        }
        let Change::Moved { frame, place: Place::Calling { node, .. }, .. } = change else { return };
        let Some(at) = self.run.as_ref().and_then(|run| run.frame(frame)) else { return };
        let name = format!("{}.{node}", at.flow);
        let turns = self.answers.entry(name.clone()).or_default();
        self.calls.insert((frame.clone(), at.since), (name, turns.len()));
        turns.push(None);
    }
}
