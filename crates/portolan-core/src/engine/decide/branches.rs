//! Forks open branches, joins collect them.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::scope::fault;
use super::walk::{Draft, Next};
use crate::expr::Outputs;
use crate::graph::{FailureHandling, Kind, Strategy, Workflow};
use crate::run::{Branch, BranchState, Branches, Change, Data, Feedback, Frame, FramePath, Place, WaitingFor};
use crate::value::{NodeId, Outcome, WorkflowId};

impl Draft<'_> {
    pub(super) fn fork(&mut self, path: &FramePath, flow: &WorkflowId, node: NodeId, feedback: Option<Feedback>) {
        // The branches of a fork in a subflow always run inside this run: no task is created for them.
        if self.before.opening.rules.branches == Branches::Outside && path.0.is_empty() {
            return self.moved(path, Place::Gathering { node }, feedback);
        }
        let names = &self.step(flow, &node).exits.branches;
        let branches = names.iter().map(held).collect();
        self.moved(path, Place::Forked { node: node.clone(), branches }, feedback);
        self.next.push(Next::Fill { path: path.clone(), fork: node });
    }

    /// Opens the next branch that the fork's limit allows, if the fork is still under way, and schedules itself again.
    pub(super) fn fill(&mut self, path: FramePath, fork: NodeId) {
        let workflow = self.workflow;
        let Some(frame) = self.frame(&path) else { return };
        let Some(name) = next_to_open(workflow, frame, &fork).cloned() else { return };
        // The feedback on the fork is for its branches, which do the work.
        let (flow, feedback) = (frame.flow.clone(), frame.feedback.clone());
        let place = match self.step(&flow, &name).node.kind {
            Kind::Work { .. } | Kind::Checkpoint { .. } | Kind::Join { .. } => Place::Ready { node: name.clone() },
            _ => Place::Passing { node: name.clone(), passed: self.passed },
        };
        let is_there = matches!(place, Place::Passing { .. });
        let data = self.branch_data(&path, &flow);
        let inner = Frame { data, feedback: feedback.clone(), ..Frame::at(flow.clone(), place) };
        self.emit(Change::Branched { frame: path.clone(), branch: name.clone(), state: BranchState::Open(inner) });
        let within = path.join(&name);
        self.next.push(Next::Fill { path, fork });
        if !is_there && !matches!(self.step(&flow, &name).node.kind, Kind::Work { .. }) {
            self.enter(&within, flow, &name, &Outcome::passed(), feedback);
        }
    }

    /// Returns the data of a new branch. A branch sees the outputs of the flow before the fork and stores its own. It
    /// has a copy of the variables until the join, so that no branch sees or overwrites the values of another.
    fn branch_data(&self, path: &FramePath, flow: &WorkflowId) -> Option<Arc<Data>> {
        let flow = self.workflow.flow(flow);
        let owner = self.before.frame(&self.before.owner(path));
        let outer = owner.and_then(|frame| frame.data.as_deref()).filter(|_| flow.has_data())?;
        let (input, variables) = (outer.input.clone(), outer.variables.clone());
        Some(Arc::new(Data { input, variables, outputs: Outputs::new(flow.looks_back), ..Data::default() }))
    }

    /// Reaches a join: in a branch, which is then done, or in a run that a person's answer has led here past failed
    /// branches. Otherwise the outcome of the branches is unknown, and a person decides.
    pub(super) fn arrive(&mut self, path: &FramePath, join: &NodeId, by: &Outcome, feedback: Option<Feedback>) {
        let outcome = if by.is_failed() { Outcome::failed() } else { Outcome::passed() };
        let parent = path.split().and_then(|(parent, _)| self.frame(&parent).map(|frame| &frame.place));
        let in_branch = matches!(parent, Some(Place::Forked { .. }));
        if in_branch || (path.0.is_empty() && self.before.opening.rules.is_branch) {
            self.moved(path, Place::Arrived { node: join.clone(), outcome: outcome.clone() }, feedback);
            if let Some((parent, name)) = path.split().filter(|_| in_branch) {
                self.branch_done(&parent, name.clone(), &outcome);
            }
        } else if self.is_answered(path) {
            self.leave(path, join, &outcome, feedback);
        } else {
            self.come_alone(path, join);
        }
    }

    /// Checks whether the decision follows from a person's answer to a question of the workflow.
    fn is_answered(&self, path: &FramePath) -> bool {
        let place = self.before.frame(path).map(|frame| &frame.place);
        matches!(place, Some(Place::Waiting { on: WaitingFor::Answer, .. }))
    }

    /// Handles a join that is reached without branches. Only a workflow that is read leniently leads there.
    fn come_alone(&mut self, path: &FramePath, join: &NodeId) {
        let Some(flow) = self.frame(path).map(|frame| frame.flow.clone()) else { return };
        let Kind::Join { fork, .. } = &self.step(&flow, join).node.kind else { return };
        let why = format!("it collects the branches of `{}`, but none of them is running", fork.value);
        self.undecided(path, join, fault(join, "branches-failed", why, ""));
    }

    /// Records the outcome of a branch. The join is decided, or the next branch may open.
    pub(super) fn branch_done(&mut self, path: &FramePath, name: NodeId, outcome: &Outcome) {
        self.emit(Change::Branched { frame: path.clone(), branch: name, state: BranchState::Done(outcome.clone()) });
        let Some(frame) = self.frame(path) else { return };
        let (flow, Place::Forked { node, branches }) = (frame.flow.clone(), frame.place.clone()) else { return };
        let Some((join, strategy)) = join_of(self.workflow, &flow, &node) else { return };
        let known: Vec<Option<Outcome>> = branches.iter().map(|branch| outcome_of(&branch.state)).collect();
        // If nobody can fix a failed branch, the other branches would work in vain.
        let nobody = matches!(self.step(&flow, join).exits.failing, FailureHandling::Ends | FailureHandling::Caught(_));
        let lost = nobody && strategy == Strategy::AllPass && outcome.is_failed();
        let known = if lost { Some(Outcome::failed()) } else { strategy_outcome(strategy, &known) };
        match known {
            Some(outcome) => self.collect(path, (&flow, join), &branches, &outcome),
            None => self.next.push(Next::Fill { path: path.clone(), fork: node }),
        }
    }

    /// Takes over the outputs of the branches. The output of the join has the last output of each.
    fn collect(
        &mut self,
        path: &FramePath,
        (flow, join): (&WorkflowId, &NodeId),
        branches: &[Branch],
        outcome: &Outcome,
    ) {
        self.cancel_open(path, branches);
        if self.workflow.flow(flow).has_data() {
            self.emit(Change::Joined { frame: path.clone() });
        }
        if outcome.is_failed() {
            let failed = branches.iter().filter(|branch| branch.state == BranchState::Done(Outcome::failed()));
            let note = feedback(join, outcome, failed.map(|branch| &branch.name)).and_then(|feedback| feedback.note);
            let first = branches.iter().find_map(|branch| branch.data.as_ref()?.fault.clone());
            let lost = || fault(join, "branches-failed", "no branch reached its end", "");
            return self.failed(path, join, first.unwrap_or_else(lost), note.unwrap_or_default());
        }
        let done = branches.iter().filter_map(|branch| Some((&branch.name, branch.data.as_deref()?)));
        let passed = done.filter(|(_, data)| data.fault.is_none());
        let last = |data: &Data| data.outputs.last().map_or(Value::Null, |last| Value::clone(last));
        let output: Map<String, Value> = passed.map(|(name, data)| (name.to_string(), last(data))).collect();
        self.came_to(path, join, Some(Arc::new(Value::Object(output))));
    }

    fn cancel_open(&mut self, path: &FramePath, branches: &[Branch]) {
        for branch in branches {
            if matches!(branch.state, BranchState::Held | BranchState::Open(_)) {
                let (frame, branch) = (path.clone(), branch.name.clone());
                self.emit(Change::Branched { frame, branch, state: BranchState::Cancelled });
            }
        }
    }
}

fn held(name: &NodeId) -> Branch {
    Branch { name: name.clone(), state: BranchState::Held, data: None }
}

/// Returns the branch that a fork opens next: the first held one, if the limit allows it.
fn next_to_open<'f>(workflow: &Workflow, frame: &'f Frame, fork: &NodeId) -> Option<&'f NodeId> {
    let Place::Forked { node, branches } = &frame.place else { return None };
    let limit = match &workflow.flow(&frame.flow).step(node).node.kind {
        Kind::Fork { max_concurrency: Some(most), .. } => most.get() as usize,
        _ => usize::MAX,
    };
    let open = branches.iter().filter(|branch| matches!(branch.state, BranchState::Open(_))).count();
    let held = branches.iter().find(|branch| branch.state == BranchState::Held)?;
    (node == fork && open < limit).then_some(&held.name)
}

/// Returns the join of a fork, and its strategy.
pub(super) fn join_of<'w>(workflow: &'w Workflow, flow: &WorkflowId, fork: &NodeId) -> Option<(&'w NodeId, Strategy)> {
    let flow = workflow.flow(flow);
    let Kind::Fork { join, .. } = &flow.step(fork).node.kind else { return None };
    match &flow.step(&join.value).node.kind {
        Kind::Join { strategy, .. } => Some((&join.value, *strategy)),
        _ => Some((&join.value, Strategy::AllPass)),
    }
}

/// Returns the feedback of a failed join on its branches.
pub(super) fn feedback<'n>(
    join: &NodeId,
    outcome: &Outcome,
    failed: impl Iterator<Item = &'n NodeId>,
) -> Option<Feedback> {
    let failed: Vec<String> = failed.map(|name| format!("`{name}`")).collect();
    let note = format!("failed branches: {}", failed.join(", "));
    outcome.is_failed().then(|| Feedback { from: Some(join.clone()), failures: Vec::new(), note: Some(note) })
}

fn outcome_of(state: &BranchState) -> Option<Outcome> {
    match state {
        BranchState::Held | BranchState::Open(_) => None,
        BranchState::Done(outcome) => Some(outcome.clone()),
        BranchState::Cancelled => Some(Outcome::failed()),
    }
}

/// Returns the outcome of a join: with `all-pass` once all branches have one, with `any-pass` once the first has
/// passed.
pub(super) fn strategy_outcome(strategy: Strategy, branches: &[Option<Outcome>]) -> Option<Outcome> {
    let passed = |outcome: &Outcome| !outcome.is_failed();
    if strategy == Strategy::AnyPass && branches.iter().flatten().any(passed) {
        return Some(Outcome::passed());
    }
    let all: Option<Vec<&Outcome>> = branches.iter().map(Option::as_ref).collect();
    let holds = match strategy {
        Strategy::AllPass => all?.into_iter().all(passed),
        Strategy::AnyPass => all.map(|_| false)?,
    };
    Some(if holds { Outcome::passed() } else { Outcome::failed() })
}
