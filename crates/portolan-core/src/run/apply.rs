//! The fold: a run and a change give the next run. It is total and makes no decisions.

use std::sync::Arc;

use serde_json::Value;

use super::model_state::ModelStateChange;
use super::{
    BranchState, Change, Data, Form, Frame, FramePath, GateRetries, Item, Place, Run, Spend, StateUsage, Tallies,
    Verdict,
};
use crate::value::{ANSWERED, CheckId, NodeId};

impl Run {
    /// Folds the changes of a journal into a run; `None` unless the first one opens it.
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
        let mut run = Run { form: Form::One, revision: 1, opening: opening.clone(), executed: 0, tallies: None, root };
        for change in changes {
            run.apply(change);
        }
        Some(run)
    }

    /// Applies one change.
    ///
    /// A change that does not fit, such as one of a frame that is not under way, only increments the revision, so that
    /// a journal is never refused half-way.
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
                frame.spent.push(GateRetries { gate: gate.clone(), used: *used });
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
                    if let Some(data) = frame.known_data_mut() {
                        data.outputs.record_met(node, output, met);
                    }
                });
            }
            Change::Altered { frame, node, output } => {
                self.data(frame, |data| data.outputs.alter(node, output.clone()))
            }
            // An answer that no longer holds is removed entirely: there may be very many.
            Change::Set { frame, name, value } if value.is_null() && name.starts_with(ANSWERED) => {
                self.data(frame, |data| drop(data.variables.remove(name)));
            }
            Change::Set { frame, name, value } => self.flow_data(frame, |data| {
                data.variables.insert(name.clone(), value.clone());
            }),
            Change::Skipped { frame, activities } => {
                self.flow_data(frame, |data| data.skipped.extend(activities.iter().cloned()));
            }
            Change::Raised { frame, question } => self.at(frame, |frame| frame.raised.clone_from(question)),
            Change::Led { .. } | Change::Looped { .. } => {}
            Change::Visited { frame, flow, node } => {
                let tallies = self.tallies.get_or_insert_default();
                tallies.run.visits = tallies.run.visits.saturating_add(1);
                let tally = tallies.states.entry(Tallies::key(flow, node)).or_default();
                tally.visits = tally.visits.saturating_add(1);
                self.budgets(frame, |tally| tally.visits = tally.visits.saturating_add(1));
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

    fn talk(&mut self, path: &FramePath, change: &ModelStateChange) {
        match change {
            ModelStateChange::Spent(spend) => self.spend(path, *spend),
            ModelStateChange::Granted { of, of_run } => self.grant(path, of, *of_run),
            _ => {}
        }
        let (revision, mut before) = (self.revision, None);
        self.at(path, |frame| {
            let Place::Conversing { talk, .. } = &mut frame.place else { return };
            before = (*change == ModelStateChange::Undone).then(|| talk.variables_before());
            talk.apply(change);
            if let (ModelStateChange::WorkflowBegun { .. }, Some(item)) = (change, talk.open_mut().last_mut()) {
                stamp(&mut item.frame, revision);
            }
        });
        if let Some(before) = before {
            let owner = self.owner(path);
            self.flow_data(&owner, |data| data.variables = before);
        }
    }

    /// Takes over the outputs of the branches in the order of the branches, not in the order in which they ended, which
    /// may differ in every run. Also takes over the variables that a branch without a fault has changed.
    fn join(&mut self, path: &FramePath) {
        let mut branches: Vec<Data> = Vec::new();
        self.at(path, |frame| {
            if let Place::Forked { branches: done, .. } = &mut frame.place {
                branches.extend(done.iter_mut().filter_map(|branch| branch.data.take()).map(Arc::unwrap_or_clone));
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
        let known = self.root.known_data_mut().into_iter().flat_map(|data| &mut data.bypasses);
        known.filter(|known| known.id == id).for_each(|known| known.used = true);
    }

    /// Changes the data of a frame, and creates it if it has none.
    fn flow_data(&mut self, path: &FramePath, change: impl FnOnce(&mut Data)) {
        self.at(path, |frame| change(frame.data_mut()));
    }

    fn data(&mut self, path: &FramePath, change: impl FnOnce(&mut Data)) {
        self.at(path, |frame| {
            if let Some(data) = frame.known_data_mut() {
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
        *begun = index.saturating_add(1);
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

impl Run {
    /// Counts the usage of a state for the run, for the state, and for everything around it: workflows with limits of
    /// their own, and states whose models use these as tools.
    fn spend(&mut self, path: &FramePath, spend: Spend) {
        let is_state = |frame: &&Frame| matches!(frame.place, Place::Conversing { .. });
        let key = |frame: &Frame| Tallies::key(&frame.flow, frame.place.node());
        let keys: Vec<String> = self.way(path).filter(is_state).map(key).collect();
        let tallies = self.tallies.get_or_insert_default();
        tallies.run.spend = tallies.run.spend.and(spend);
        for key in keys {
            let tally = tallies.states.entry(key).or_default();
            tally.spend = tally.spend.and(spend);
        }
        self.budgets(path, |tally| tally.spend = tally.spend.and(spend));
    }

    fn grant(&mut self, path: &FramePath, of: &str, of_run: bool) {
        let Some(frame) = self.frame_mut(path) else { return };
        let key = Tallies::key(&frame.flow, frame.place.node());
        let budget = frame.known_data_mut().and_then(|data| data.budget.as_mut()).filter(|_| of_run);
        let tally = match budget {
            Some(budget) => &mut budget.tally,
            None if of_run => &mut self.tallies.get_or_insert_default().run,
            None => self.tallies.get_or_insert_default().states.entry(key).or_default(),
        };
        let granted = tally.granted.entry(of.to_owned()).or_default();
        *granted = granted.saturating_add(1);
    }

    /// Applies `count` to every workflow around a position that has limits of its own.
    fn budgets(&mut self, path: &FramePath, count: impl Fn(&mut StateUsage)) {
        let mut frame = &mut self.root;
        for name in &path.0 {
            let Some(inner) = frame.inner_mut(name) else { return };
            frame = inner;
            if let Some(budget) = frame.known_data_mut().and_then(|data| data.budget.as_mut()) {
                count(&mut budget.tally);
            }
        }
    }
}

/// Sets the revision of a new frame to that of the change that opened it.
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
