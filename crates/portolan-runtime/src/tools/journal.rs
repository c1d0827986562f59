//! Reads the answers to a run's calls from its journal, so that the run can be repeated without its servers even if it
//! was not recorded.

use std::collections::BTreeMap;

use portolan_core::graph::{Kind, Workflow};
use portolan_core::run::{Change, EffectResult, EventKind, FramePath, Place, Reply, Run};
use portolan_core::value::NodeId;

use super::recorded_answers::ScriptedAnswer;
use super::recorder::{answered, dropped};
use crate::store::Record;

/// The recorded answers of a run.
#[derive(Clone, Debug, Default)]
pub struct JournalAnswers {
    /// The answers by `function.node`, in the order in which the calls began.
    pub answers: BTreeMap<String, Vec<ScriptedAnswer>>,
    /// The names of manual changes that are no answers of calls.
    pub by_hand: Vec<String>,
}

/// A call: its frame, and the revision at which the frame reached it.
type Call = (FramePath, u64);

/// Reads a journal from its first record. A manually changed answer counts as changed.
pub fn recorded(workflow: &Workflow, records: &[Record]) -> JournalAnswers {
    let mut walk =
        JournalWalk { workflow, run: None, calls: BTreeMap::new(), latest: BTreeMap::new(), answers: BTreeMap::new() };
    let mut by_hand = Vec::new();
    for record in records {
        walk.answers(&record.event.what);
        for change in &record.changes {
            by_hand.extend(walk.altered(&record.event.what, change));
            walk.takes(change);
        }
    }
    let answers = walk.answers.into_iter();
    let whole =
        |answers: Vec<Option<ScriptedAnswer>>| answers.into_iter().map(|it| it.unwrap_or_else(dropped)).collect();
    JournalAnswers { answers: answers.map(|(name, answers)| (name, whole(answers))).collect(), by_hand }
}

struct JournalWalk<'w> {
    workflow: &'w Workflow,
    run: Option<Run>,
    /// The name and the turn of each call that was begun.
    calls: BTreeMap<Call, (String, usize)>,
    /// The last answered call of each node, by the frame of its output.
    latest: BTreeMap<(FramePath, NodeId), (String, usize)>,
    answers: BTreeMap<String, Vec<Option<ScriptedAnswer>>>,
}

impl JournalWalk<'_> {
    fn answers(&mut self, what: &EventKind) {
        let EventKind::Settled { effect, result: EffectResult::Reply(reply), .. } = what else { return };
        let Some(place) = self.calls.get(&(effect.frame.clone(), effect.since)).cloned() else { return };
        if let Some(slot) = self.answers.get_mut(&place.0).and_then(|answers| answers.get_mut(place.1)) {
            // The first answer of a call counts.
            slot.get_or_insert_with(|| answered(reply));
        }
        if let (Some(run), Reply::Output(_)) = (&self.run, reply) {
            self.latest.insert((run.owner(&effect.frame), effect.node.clone()), place);
        }
    }

    /// Takes in a manual change. Returns its name if no answer can express it.
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

    /// Checks whether a node's output is the unprocessed answer of its call.
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
