//! The fold: a run and a change make the next run. Total, and without any choice.

use std::sync::Arc;

use serde_json::Value;

use super::talk::Said;
use super::{BranchState, Change, Data, Frame, FramePath, Item, Place, Run, Spent, Tallies, Verdict};
use crate::value::{CheckId, NodeId};

impl Run {
    /// The run that a journal's changes come to; nothing unless the first one opens it.
    ///
    /// ```
    /// use portolan_core::run::Run;
    /// assert_eq!(Run::fold(&[]), None);
    /// ```
    pub fn fold<'c>(changes: impl IntoIterator<Item = &'c Change>) -> Option<Run> {
        let mut changes = changes.into_iter();
        let Change::Opened { opening, place } = changes.next()? else { return None };
        let flow = opening.workflow.clone();
        let root = Frame { since: 1, ..Frame::at(flow, place.clone()) };
        let mut run = Run { revision: 1, opening: opening.clone(), executed: 0, tallies: None, root };
        for change in changes {
            run.apply(change);
        }
        Some(run)
    }

    /// Makes one change true.
    ///
    /// A change that does not fit (a frame that is not under way) only counts: a journal is never refused half-way.
    pub fn apply(&mut self, change: &Change) {
        self.revision += 1;
        let revision = self.revision;
        match change {
            Change::Opened { .. } => {}
            Change::Moved { frame, place, feedback } => {
                self.at(frame, |frame| {
                    frame.since = revision;
                    frame.place = stamped(place.clone(), revision);
                    frame.feedback.clone_from(feedback);
                });
            }
            Change::Bypassed { bypass } => {
                self.flow_data(&FramePath::default(), |data| data.bypasses.push(bypass.clone()));
            }
            Change::Used { bypass } => self.use_bypass(bypass),
            Change::Settled { frame, check, verdict } => self.settle(frame, check, verdict),
            Change::Retried { frame, gate, used, .. } => self.at(frame, |frame| {
                frame.spent.retain(|spent| spent.gate != *gate);
                frame.spent.push(Spent { gate: gate.clone(), used: *used });
            }),
            Change::Refilled { frame, gate } => self.at(frame, |frame| {
                frame.spent.retain(|spent| gate.as_ref().is_some_and(|gate| spent.gate != *gate));
            }),
            Change::Branched { frame, branch, state } => self.at(frame, |frame| {
                if let Place::Forked { branches, .. } = &mut frame.place
                    && let Some(found) = branches.iter_mut().find(|found| found.name == *branch)
                {
                    if let (BranchState::Open(frame), BranchState::Done(_)) = (&mut found.state, state) {
                        found.data = frame.data.take();
                    }
                    found.state = state.clone();
                    if let BranchState::Open(frame) = &mut found.state {
                        stamp(frame, revision);
                    }
                }
            }),
            Change::Executed { frame, node, output, fault } => {
                self.executed += 1;
                let output = fault.as_ref().map(|fault| Arc::new(fault.as_output())).or_else(|| output.clone());
                self.at(frame, |frame| {
                    let met = match &frame.place {
                        Place::Conversing { talk, .. } => talk.met.clone(),
                        _ => None,
                    };
                    if let Some(data) = &mut frame.data {
                        data.outputs.record_met(node, output, met);
                    }
                });
            }
            Change::Set { frame, name, value } => self.flow_data(frame, |data| {
                data.variables.insert(name.clone(), value.clone());
            }),
            Change::Skipped { frame, activities } => {
                self.flow_data(frame, |data| data.skipped.extend(activities.iter().cloned()));
            }
            Change::Raised { frame, question } => self.at(frame, |frame| frame.raised.clone_from(question)),
            Change::Led { .. } | Change::Looped { .. } => {}
            Change::Visited { flow, node } => {
                let tallies = self.tallies.get_or_insert_default();
                tallies.run.visits = tallies.run.visits.saturating_add(1);
                let tally = tallies.states.entry(Tallies::key(flow, node)).or_default();
                tally.visits = tally.visits.saturating_add(1);
            }
            Change::Talked { frame, said } => self.talk(frame, said),
            Change::Given { frame, data } => self.at(frame, |frame| frame.data = Some(data.clone())),
            Change::Joined { frame } => self.join(frame),
            Change::Finished { frame, output, fault } => self.data(frame, |data| {
                data.output.clone_from(output);
                data.fault.clone_from(fault);
            }),
            Change::ItemBegun { frame, index, item } => {
                self.at(frame, |frame| begin_item(frame, *index, item, revision))
            }
            Change::ItemDone { frame, index, output } => {
                self.at(frame, |frame| finish_item(frame, *index, output.as_ref()));
            }
        }
    }

    fn talk(&mut self, path: &FramePath, said: &Said) {
        let key = self.frame(path).map(|frame| Tallies::key(&frame.flow, frame.place.node()));
        match (said, key) {
            (Said::Spent(spend), Some(key)) => {
                let tallies = self.tallies.get_or_insert_default();
                tallies.run.spend = tallies.run.spend.and(*spend);
                let tally = tallies.states.entry(key).or_default();
                tally.spend = tally.spend.and(*spend);
            }
            (Said::Granted { of, of_run }, Some(key)) => {
                let tallies = self.tallies.get_or_insert_default();
                let tally = if *of_run { &mut tallies.run } else { tallies.states.entry(key).or_default() };
                let granted = tally.granted.entry(of.clone()).or_default();
                *granted = granted.saturating_add(1);
            }
            _ => {}
        }
        let mut before = None;
        self.at(path, |frame| {
            let Place::Conversing { talk, .. } = &mut frame.place else { return };
            before = (*said == Said::Undone).then(|| talk.variables_before());
            talk.apply(said);
        });
        if let Some(before) = before {
            let owner = self.owner(path);
            self.flow_data(&owner, |data| data.variables = before);
        }
    }

    /// What the branches came to becomes part of the flow, in the order of the branches: not in that of their ends, which
    /// may be another one in every run. Of the variables, those that a branch has set and that came to its end.
    fn join(&mut self, path: &FramePath) {
        let mut branches: Vec<Data> = Vec::new();
        self.at(path, |frame| {
            if let Place::Forked { branches: done, .. } = &mut frame.place {
                branches.extend(done.iter_mut().filter_map(|branch| branch.data.take()).map(|data| *data));
            }
        });
        let owner = self.owner(path);
        self.data(&owner, |data| {
            let mut variables = data.variables.clone();
            for branch in branches {
                data.outputs.absorb(&branch.outputs);
                if branch.fault.is_none() {
                    let set =
                        branch.variables.into_iter().filter(|(name, value)| data.variables.get(name) != Some(value));
                    variables.extend(set);
                }
            }
            data.variables = variables;
        });
    }

    fn settle(&mut self, path: &FramePath, check: &CheckId, verdict: &Verdict) {
        if let Verdict::Excused { bypass, .. } = verdict {
            self.use_bypass(bypass);
        }
        self.at(path, |frame| {
            if let Place::Checking { settled, .. } = &mut frame.place {
                settled.push((check.clone(), verdict.clone()));
            }
        });
    }

    fn use_bypass(&mut self, id: &str) {
        let known = self.root.data.iter_mut().flat_map(|data| &mut data.bypasses);
        known.filter(|known| known.id == id).for_each(|known| known.used = true);
    }

    /// The data of a flow that is walked; it has none before it is told something.
    fn flow_data(&mut self, path: &FramePath, change: impl FnOnce(&mut Data)) {
        self.at(path, |frame| change(frame.data.get_or_insert_default()));
    }

    fn data(&mut self, path: &FramePath, change: impl FnOnce(&mut Data)) {
        self.at(path, |frame| {
            if let Some(data) = &mut frame.data {
                change(data);
            }
        });
    }

    fn at(&mut self, path: &FramePath, change: impl FnOnce(&mut Frame)) {
        if let Some(frame) = self.frame_mut(path) {
            change(frame);
        }
    }
}

fn begin_item(frame: &mut Frame, index: u32, item: &Frame, revision: u64) {
    if let Place::Each { begun, open, .. } = &mut frame.place {
        let mut item = item.clone();
        stamp(&mut item, revision);
        *begun = index + 1;
        open.push(Item { name: NodeId::from(index.to_string()), index, frame: item });
    }
}

fn finish_item(frame: &mut Frame, index: u32, output: Option<&Arc<Value>>) {
    if let Place::Each { open, done, .. } = &mut frame.place {
        open.retain(|item| item.index != index);
        if let Some(place) = Arc::make_mut(done).get_mut(index as usize) {
            *place = output.cloned();
        }
    }
}

/// A new frame is as old as the change that opened it.
fn stamp(frame: &mut Frame, revision: u64) {
    frame.since = revision;
    if let Place::Within { frame: inner, .. } | Place::Looping { frame: inner, .. } = &mut frame.place {
        stamp(inner, revision);
    }
}

fn stamped(mut place: Place, revision: u64) -> Place {
    match &mut place {
        Place::Within { frame, .. } | Place::Looping { frame, .. } => stamp(frame, revision),
        Place::Forked { branches, .. } => {
            for branch in branches {
                if let BranchState::Open(frame) = &mut branch.state {
                    stamp(frame, revision);
                }
            }
        }
        _ => {}
    }
    place
}
