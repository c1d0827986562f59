//! The fold: a run and a change make the next run. Total, and without any choice.

use std::sync::Arc;

use serde_json::Value;

use super::{BranchState, Change, Data, Frame, FramePath, Item, Place, Run, Spent, Verdict};
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
        let mut run = Run { revision: 1, opening: opening.clone(), executed: 0, root };
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
                self.data(frame, |data| data.outputs.record(node, output));
            }
            Change::Set { frame, name, value } => self.flow_data(frame, |data| {
                data.variables.insert(name.clone(), value.clone());
            }),
            Change::Skipped { frame, activities } => {
                self.flow_data(frame, |data| data.skipped.extend(activities.iter().cloned()));
            }
            Change::Raised { frame, question } => self.at(frame, |frame| frame.raised.clone_from(question)),
            Change::Led { .. } | Change::Looped { .. } => {}
            Change::Given { frame, data } => self.at(frame, |frame| frame.data = Some(data.clone())),
            Change::Joined { frame } => self.at(frame, join),
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

/// What the branches came to becomes part of the flow, in the order of the branches: not in that of their ends, which
/// may be another one in every run.
fn join(frame: &mut Frame) {
    if let (Place::Forked { branches, .. }, Some(data)) = (&mut frame.place, &mut frame.data) {
        for branch in branches {
            if let Some(branch) = branch.data.take() {
                data.outputs.absorb(&branch.outputs);
            }
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
