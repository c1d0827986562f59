//! The fold: a run and a change make the next run. Total, and without any choice.

use super::{BranchState, Change, Frame, FramePath, Place, Run, Spent};

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
        let root = Frame { flow, since: 1, place: place.clone(), spent: Vec::new(), feedback: None };
        let mut run = Run { revision: 1, opening: opening.clone(), root };
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
            Change::Settled { frame, check, verdict } => self.at(frame, |frame| {
                if let Place::Checking { settled, .. } = &mut frame.place {
                    settled.push((check.clone(), verdict.clone()));
                }
            }),
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
                    found.state = state.clone();
                    if let BranchState::Open(frame) = &mut found.state {
                        stamp(frame, revision);
                    }
                }
            }),
        }
    }

    fn at(&mut self, path: &FramePath, change: impl FnOnce(&mut Frame)) {
        if let Some(frame) = self.frame_mut(path) {
            change(frame);
        }
    }
}

/// A new frame is as old as the change that opened it.
fn stamp(frame: &mut Frame, revision: u64) {
    frame.since = revision;
    if let Place::Within { frame: inner, .. } = &mut frame.place {
        stamp(inner, revision);
    }
}

fn stamped(mut place: Place, revision: u64) -> Place {
    match &mut place {
        Place::Within { frame, .. } => stamp(frame, revision),
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
