//! The possible next steps in an abstract state: each possible act, with each combination of unknown results, decided
//! by the engine.

use super::model::{MISSING, Model, Site};
use super::picks::{Draft, PassKind, Pick};
use super::state::{frame_mut, mark, marked, mask_in, normalise, set};
use crate::engine::decide;
use crate::graph::{self, Check, FailureHandling, Kind, Strategy};
use crate::run::{
    Actor, Branch, BranchState, Change, Channel, EffectId, EffectPart, EffectResult, Event, EventKind, Fault, Frame,
    FramePath, GateRetries, Move, Place, Reply, Run, Verdict, WaitingFor, moves,
};
use crate::value::{CANCELLED, NodeId, Outcome, Timestamp, WorkflowId};

/// An act of an agent, a person, the engine or an external system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// The work begins.
    Begin,
    /// The agent reports an outcome.
    Report(Outcome),
    /// A person answers a question.
    Answer(Outcome),
    /// A question times out.
    TimeOut,
    /// The checks of a report are performed: all hold, or one does not.
    Checks(bool),
    /// The engine continues by itself.
    Advance,
    /// External work succeeds or fails.
    Return(bool),
}

/// A step: an act at a node of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) frame: FramePath,
    pub(super) flow: WorkflowId,
    pub(super) node: NodeId,
    pub(super) act: Act,
    pub(super) picks: Vec<Pick>,
    /// The budgets that it uses.
    pub(super) retried: Vec<RetryUse>,
    /// The outer frame of a new frame that it begins: a pass, branches, a workflow.
    pub(super) begins: Option<FramePath>,
    /// The budgets that its success refills, each of a node in a frame.
    pub(super) refilled: Vec<(FramePath, NodeId)>,
    /// Whether it is the help of a person who was asked because the work could not continue.
    pub(super) helps: bool,
}

impl Step {
    /// Checks whether it begins another pass of the loop around it. A loop may also end before its last pass.
    pub(super) fn goes_round(&self) -> bool {
        let another = |pick: &Pick| matches!(pick, Pick::Pass(PassKind::Another | PassKind::AnotherCounted));
        self.begins.is_some() && self.picks.iter().any(another)
    }

    /// Checks whether it uses a budget that no state counts, so that it cannot repeat forever.
    pub(super) fn is_bounded(&self) -> bool {
        !self.retried.is_empty() || self.goes_round() && self.picks.contains(&Pick::Pass(PassKind::Another))
    }
}

/// A use of a retry budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RetryUse {
    pub(super) frame: FramePath,
    /// The node where it is counted.
    pub(super) gate: NodeId,
    /// The maximum number of retries.
    pub(super) budget: u32,
    /// Whether success of the gate renews the budget.
    pub(super) renews: bool,
}

/// The result of a step.
pub(super) struct StepResult {
    pub(super) step: Box<Step>,
    pub(super) run: Run,
    pub(super) changes: Vec<Change>,
}

/// Returns all possible next steps; `None` if there are too many.
pub(super) fn steps(model: &Model, run: &Run) -> Option<Vec<StepResult>> {
    let mut taken = Vec::new();
    for (path, frame) in chosen(model, run) {
        let step = model.workflow.flow(&frame.flow).step(frame.place.node());
        let site = model.site(&frame.flow, frame.place.node());
        for act in acts(model, frame, step) {
            let at = At { model, path: &path, frame, step, site, act };
            at.settled(run, &mut taken)?;
        }
    }
    Some(taken)
}

/// Returns the positions of the next steps. Branches share nothing before their join, so their order does not matter if
/// all of them must arrive. A branch that has moved continues alone, and any may be the first.
fn chosen<'r>(model: &Model, run: &'r Run) -> Vec<(FramePath, &'r Frame)> {
    let mut found = Vec::new();
    choose(model, FramePath::default(), &run.root, &mut found);
    found
}

fn choose<'r>(model: &Model, path: FramePath, frame: &'r Frame, found: &mut Vec<(FramePath, &'r Frame)>) {
    let inner: Vec<(&NodeId, &Frame)> = frame.inner().collect();
    if inner.is_empty() {
        found.push((path, frame));
        return;
    }
    let next = match &frame.place {
        Place::Forked { node, branches } if all_must_come(model, frame, node) => next_branch(branches, &inner),
        _ => None,
    };
    match next {
        Some((name, inner)) => choose(model, path.join(name), inner, found),
        None => inner.iter().for_each(|(name, inner)| choose(model, path.join(name), inner, found)),
    }
}

/// Checks whether a join waits for every branch in any case: if one never arrives, the join waits forever, and no other
/// branch can help.
fn all_must_come(model: &Model, frame: &Frame, fork: &NodeId) -> bool {
    let flow = model.workflow.flow(&frame.flow);
    let Kind::Fork { join, .. } = &flow.step(fork).node.kind else { return false };
    let join = flow.step(&join.value);
    let waits = matches!(join.node.kind, Kind::Join { strategy: Strategy::AllPass, .. });
    waits && !matches!(join.exits.failing, FailureHandling::Ends | FailureHandling::Caught(_))
}

/// Returns the branch that continues: the one that has begun, or else the last; `None` if any may. So each held branch
/// is reached as well, even if another branch never ends.
fn next_branch<'r>(branches: &[Branch], open: &[(&'r NodeId, &'r Frame)]) -> Option<(&'r NodeId, &'r Frame)> {
    let has_moved = |(name, inner): &&(&'r NodeId, &'r Frame)| {
        let begins = match &inner.place {
            Place::Ready { .. } | Place::Passing { .. } => true,
            Place::Waiting { on, .. } => *on == WaitingFor::Answer,
            _ => false,
        };
        !begins || inner.place.node() != *name
    };
    let any = |is: fn(&BranchState) -> bool| branches.iter().any(|branch| is(&branch.state));
    let is_any = any(|state| matches!(state, BranchState::Held)) || !any(|state| matches!(state, BranchState::Done(_)));
    let last = if is_any { None } else { open.last() };
    open.iter().find(has_moved).or(last).copied()
}

/// Returns the possible acts at a position.
fn acts(model: &Model, frame: &Frame, step: &graph::Step) -> Vec<Act> {
    match &frame.place {
        Place::Ready { .. } | Place::Waiting { .. } => {
            let leads = |outcome: &Outcome| step.exits.target(outcome).is_some();
            let counts = |act: &Act| match (&frame.place, act) {
                // Cancelling the run ends it anywhere, so it is not a way on.
                (Place::Waiting { on, .. }, Act::Answer(answer)) => {
                    answer.as_str() != CANCELLED || *on == WaitingFor::Answer && leads(answer)
                }
                _ => true,
            };
            let act = |wanted: Move| match wanted {
                Move::Begin => Act::Begin,
                Move::Report(outcome) => Act::Report(outcome),
                Move::Answer(outcome) => Act::Answer(outcome),
            };
            let times_out = matches!(frame.place, Place::Waiting { due: Some(_), .. }).then_some(Act::TimeOut);
            moves(&model.workflow, frame).into_iter().map(act).filter(counts).chain(times_out).collect()
        }
        Place::Checking { .. } => vec![Act::Checks(true), Act::Checks(false)],
        Place::Passing { .. } => vec![Act::Advance],
        Place::Calling { .. } => vec![Act::Return(true), Act::Return(false)],
        _ => Vec::new(),
    }
}

/// An act at a position.
pub(super) struct At<'s> {
    pub(super) model: &'s Model,
    pub(super) path: &'s FramePath,
    pub(super) frame: &'s Frame,
    /// The node of the frame, in the explored workflow.
    pub(super) step: &'s graph::Step,
    /// The facts about that node.
    pub(super) site: Option<&'s Site>,
    pub(super) act: Act,
}

impl At<'_> {
    pub(super) fn node(&self) -> &NodeId {
        self.frame.place.node()
    }

    /// Checks whether a person is asked because the work cannot continue: the obstacle may be the value of a variable.
    fn helps(&self) -> bool {
        matches!(self.frame.place, Place::Waiting { on: WaitingFor::Budget | WaitingFor::Progress, .. })
    }

    /// Gives the variables that the act may set their possible values.
    pub(super) fn give(&self, run: &mut Run) {
        let gives = self.site.map_or(&[][..], |site| match &self.act {
            Act::Answer(answer) if self.helps() && !answer.is_failed() => &site.helps,
            Act::Report(_) | Act::Return(_) | Act::Checks(_) => &site.gives,
            _ => &[],
        });
        let copies = self.site.map_or(&[][..], |site| &site.copies);
        if gives.is_empty() && copies.is_empty() {
            return;
        }
        let owner = run.owner(self.path);
        let Some(data) = frame_mut(run, &owner).and_then(Frame::known_data_mut) else { return };
        for (name, mask) in gives.iter().chain(copies) {
            let text = self.model.text(*name);
            let known = mask_in(data, text);
            set(data, text, mark(known | mask));
        }
    }

    /// Decides the act with all budgets left, and again for each used budget with that one spent.
    pub(super) fn decided(&self, draft: Draft, taken: &mut Vec<StepResult>) {
        let Draft { run: base, picks, read } = draft;
        let events = self.events();
        let mut base = Some(base);
        let mut waiting: Vec<Vec<(FramePath, NodeId)>> = vec![Vec::new()];
        while let (Some(spent), Some(before)) = (waiting.pop(), &base) {
            let without = (!spent.is_empty()).then(|| self.without(before, &spent));
            let Some((first, rest)) = events.split_first() else { return };
            let Some(mut changes) = self.decide(without.as_ref().unwrap_or(before), first) else { continue };
            let is_only = rest.is_empty() && !changes.iter().any(|change| matches!(change, Change::Retried { .. }));
            let run = match without {
                Some(run) => Some(run),
                // Most steps use no budget and can take the run.
                None if is_only => base.take(),
                None => base.clone(),
            };
            let Some(mut run) = run else { return };
            self.reopen(&mut run, &read);
            changes.iter().for_each(|change| run.apply(change));
            for event in rest {
                let Some(more) = self.decide(&run, event) else { break };
                more.iter().for_each(|change| run.apply(change));
                changes.extend(more);
            }
            // A person's answer renews budgets, so that this one is not spent.
            let is_spent = |change: &Change| match change {
                Change::Retried { frame, gate, .. } => spent.iter().any(|(at, of)| at == frame && of == gate),
                _ => false,
            };
            if changes.iter().any(is_spent) {
                continue;
            }
            let mut retried = Vec::new();
            for change in &changes {
                if let Change::Retried { frame, gate, .. } = change {
                    let (budget, renews) = run.frame(frame).map_or((0, true), |of| budget(self.model, &of.flow, gate));
                    retried.push(RetryUse { frame: frame.clone(), gate: gate.clone(), budget, renews });
                    waiting.push(spent.iter().cloned().chain([(frame.clone(), gate.clone())]).collect());
                }
            }
            let spent = spent.into_iter().map(|(frame, gate)| Pick::Spent { frame, gate });
            let picks: Vec<Pick> = picks.iter().cloned().chain(spent).collect();
            self.begun(&mut run, &changes);
            normalise(self.model, &mut run);
            let step = self.step(picks, retried, &changes);
            taken.push(StepResult { step, run, changes });
        }
    }

    /// Counts the budgets that the act may have refilled as used once: that of the node, and those of the nodes or
    /// joins of the outer frames.
    pub(super) fn count(&self, run: &mut Run) {
        for length in 0..=self.path.0.len() {
            let path = FramePath(self.path.0[..length].to_vec());
            let Some(frame) = run.frame(&path) else { return };
            let flow = self.model.workflow.flow(&frame.flow);
            let step = flow.step(frame.place.node());
            let step = match &step.node.kind {
                Kind::Fork { join, .. } if matches!(frame.place, Place::Forked { .. }) => flow.step(&join.value),
                _ => step,
            };
            let gate = step.node.id.clone();
            if step.exits.failing.budget() > 0
                && step.node.phase.is_none()
                && let Some(frame) = frame_mut(run, &path)
            {
                frame.spent.push(GateRetries { gate, used: 1 });
            }
        }
    }

    /// Returns the run with these budgets spent.
    fn without(&self, run: &Run, spent: &[(FramePath, NodeId)]) -> Run {
        let mut run = run.clone();
        spent.iter().for_each(|(frame, gate)| spend(self.model, &mut run, frame, gate));
        run
    }

    fn step(&self, picks: Vec<Pick>, retried: Vec<RetryUse>, changes: &[Change]) -> Box<Step> {
        let (frame, flow, node) = (self.path.clone(), self.frame.flow.clone(), self.node().clone());
        let helps = self.helps() && !matches!(&self.act, Act::Answer(answer) if answer.is_failed());
        let refilled = changes.iter().filter_map(|change| match change {
            Change::Refilled { frame, gate: Some(gate) } => Some((frame.clone(), gate.clone())),
            _ => None,
        });
        let refilled = refilled.collect();
        let begins = changes.iter().find_map(|change| match change {
            Change::Moved { frame, place, .. } if holds_frames(place) => Some(frame.clone()),
            _ => None,
        });
        let act = self.act.clone();
        Box::new(Step { frame, flow, node, act, picks, retried, begins, refilled, helps })
    }

    /// Marks unknown values of new frames: the item of a pass, or the computed input of a flow.
    fn begun(&self, run: &mut Run, changes: &[Change]) {
        let flow = self.model.workflow.flow(&self.frame.flow);
        let looping = match &self.step.node.kind {
            Kind::Loop(_) => Some((self.path.join(self.node()), self.node())),
            Kind::Repeat { of } => Some((self.path.clone(), &of.value)),
            _ => None,
        };
        let begins = |path: &FramePath| {
            changes.iter().any(|change| matches!(change, Change::Moved { frame, place: Place::Looping { .. }, .. } if Some(frame) == path.split().map(|(outer, _)| outer).as_ref()))
        };
        if let Some((path, of)) = looping.filter(|(path, _)| begins(path))
            && let Kind::Loop(looping) = &flow.step(of).node.kind
            && let Some(name) = looping.variable().and_then(|name| self.model.names.get_index_of(name))
            && let Some(data) = frame_mut(run, &path).and_then(Frame::known_data_mut)
        {
            set(data, self.model.text(name), mark(self.model.any_of(None, name)));
        }
        if self.site.is_some_and(|site| site.computes_input) {
            let path = self.path.join(self.node());
            let workflow = &self.model.workflow;
            let Some(frame) = frame_mut(run, &path) else { return };
            let inner = workflow.flow(&frame.flow);
            let data = frame.data_mut();
            for (at, name) in self.model.names.keys().enumerate() {
                let Some(variable) = inner.variable(name) else { continue };
                let known = data
                    .variables
                    .get(name)
                    .map_or(MISSING, |value| marked(value).unwrap_or_else(|| self.model.mask_of(at, value)));
                data.variables.insert(name.clone(), mark(known | self.model.any_of(Some(variable.kind), at)));
            }
        }
    }

    /// Returns the events of the act.
    fn events(&self) -> Vec<EventKind> {
        let node = || EffectPart::Node;
        match &self.act {
            Act::Begin => vec![EventKind::Begun { revision: None }],
            Act::Report(outcome) | Act::Answer(outcome) => vec![EventKind::Reported {
                frame: self.path.clone(),
                outcome: outcome.clone(),
                revision: None,
                note: None,
                outputs: None,
            }],
            Act::TimeOut => vec![self.effect(EffectPart::Timer, EffectResult::Due)],
            Act::Advance => vec![self.effect(node(), EffectResult::Due)],
            Act::Return(true) => vec![self.effect(node(), EffectResult::Reply(Reply::Output(None)))],
            Act::Return(false) => vec![self.effect(node(), EffectResult::Reply(Reply::Failed(failure(self.node()))))],
            Act::Checks(hold) => self.verdicts(*hold),
        }
    }

    /// Returns the engine's decision; `None` if it rejects the event.
    fn decide(&self, run: &Run, what: &EventKind) -> Option<Vec<Change>> {
        let by = match &self.act {
            Act::Answer(_) => Actor::Person { name: String::new(), via: Channel::CommandLine },
            Act::Begin | Act::Report(_) => Actor::Agent(String::new()),
            _ => Actor::Engine,
        };
        decide(&self.model.workflow, run, &Event { at: Timestamp(0), by, what: what.clone() }).ok()
    }

    fn effect(&self, part: EffectPart, result: EffectResult) -> EventKind {
        let id = EffectId { frame: self.path.clone(), node: self.node().clone(), since: self.frame.since, part };
        id.settled(result, 0)
    }

    /// Returns the verdicts of all checks: all hold, or the first does not.
    fn verdicts(&self, hold: bool) -> Vec<EventKind> {
        let checks = &self.step.node.accept;
        let verdict = |at: usize| match hold || at > 0 {
            true => Verdict::Held,
            false => Verdict::Broken { reason: "it does not hold".to_owned(), output: String::new() },
        };
        let settled = |(at, check): (usize, &Check)| {
            self.effect(EffectPart::Check(check.id.clone()), EffectResult::Verdict(verdict(at)))
        };
        checks.iter().enumerate().map(settled).collect()
    }
}

fn holds_frames(place: &Place) -> bool {
    matches!(place, Place::Looping { .. } | Place::Forked { .. } | Place::Within { .. })
}

/// Spends a budget.
fn spend(model: &Model, run: &mut Run, path: &FramePath, gate: &NodeId) {
    if let Some(frame) = frame_mut(run, path) {
        let used = budget(model, &frame.flow, gate).0.saturating_add(1);
        frame.spent.retain(|spent| spent.gate != *gate);
        frame.spent.push(GateRetries { gate: gate.clone(), used });
    }
}

/// Returns the number of retries of a gate, and whether its success renews them.
pub(super) fn budget(model: &Model, flow: &WorkflowId, gate: &NodeId) -> (u32, bool) {
    let flow = model.workflow.flow(flow);
    let budget = |step: &graph::Step| step.exits.failing.budget().saturating_sub(1);
    let counted_at = |step: &&graph::Step| step.node.phase.as_ref().is_some_and(|phase| phase.counted_at == *gate);
    match flow.steps.get(gate) {
        Some(step) if step.node.phase.is_none() => (budget(step), true),
        // Phases may share a budget, which is then spent for all of them.
        _ => (flow.steps.values().filter(counted_at).map(budget).max().unwrap_or(0), false),
    }
}

/// Returns the fault of failed external work.
pub(super) fn failure(node: &NodeId) -> Fault {
    Fault {
        node: node.to_string(),
        code: "failed".to_owned(),
        message: format!("`{node}` failed"),
        detail: String::new(),
    }
}
