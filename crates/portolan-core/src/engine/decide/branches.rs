//! Forks open branches, joins collect them.

use super::walk::{Draft, Next};
use crate::graph::{Kind, Strategy, Workflow};
use crate::run::{Branch, BranchState, Branches, Change, Feedback, Frame, FramePath, Place};
use crate::value::{NodeId, Outcome, WorkflowId};

impl Draft<'_> {
    pub(super) fn fork(&mut self, path: &FramePath, flow: &WorkflowId, node: NodeId, feedback: Option<Feedback>) {
        // The branches of a subflow's fork have no task of their own to live in, wherever those of the root live.
        if self.before.opening.rules.branches == Branches::Outside && path.0.is_empty() {
            return self.moved(path, Place::Gathering { node }, feedback);
        }
        let names = &self.step(flow, &node).exits.branches;
        let branches = names.iter().map(|name| Branch { name: name.clone(), state: BranchState::Held }).collect();
        self.moved(path, Place::Forked { node: node.clone(), branches }, feedback);
        self.next.push(Next::Fill { path: path.clone(), fork: node });
    }

    /// Opens the next branch that the fork's limit lets open, if the fork is still under way, and comes back for more.
    pub(super) fn fill(&mut self, path: FramePath, fork: NodeId) {
        let workflow = self.workflow;
        let Some(frame) = self.frame(&path) else { return };
        let Some(name) = next_to_open(workflow, frame, &fork).cloned() else { return };
        // Why the fork was sent round is for those who do its work.
        let (flow, feedback) = (frame.flow.clone(), frame.feedback.clone());
        let place = Place::Ready { node: name.clone() };
        let inner = Frame { flow: flow.clone(), since: 0, place, spent: Vec::new(), feedback: feedback.clone() };
        self.emit(Change::Branched { frame: path.clone(), branch: name.clone(), state: BranchState::Open(inner) });
        let within = path.join(&name);
        self.next.push(Next::Fill { path, fork });
        if !matches!(self.step(&flow, &name).node.kind, Kind::Work { .. }) {
            self.enter(&within, flow, &name, &Outcome::passed(), feedback);
        }
    }

    /// A join is reached: by a branch, which is done with that, or by a run that a person led here.
    pub(super) fn arrive(&mut self, path: &FramePath, join: &NodeId, by: &Outcome, feedback: Option<Feedback>) {
        let outcome = if by.is_failed() { Outcome::failed() } else { Outcome::passed() };
        let parent = path.split().and_then(|(parent, _)| self.frame(&parent).map(|frame| &frame.place));
        let in_branch = matches!(parent, Some(Place::Forked { .. }));
        if in_branch || (path.0.is_empty() && self.before.opening.rules.is_branch) {
            self.moved(path, Place::Arrived { node: join.clone(), outcome: outcome.clone() }, feedback);
            self.tell_parent(path, &outcome, outcome.as_str());
        } else {
            self.leave(path, join, &outcome, feedback);
        }
    }

    /// A branch has come to an outcome: the join may know its own by that, and else the next branch may open.
    pub(super) fn branch_done(&mut self, path: &FramePath, name: NodeId, outcome: &Outcome) {
        self.emit(Change::Branched { frame: path.clone(), branch: name, state: BranchState::Done(outcome.clone()) });
        let Some(frame) = self.frame(path) else { return };
        let (flow, Place::Forked { node, branches }) = (frame.flow.clone(), frame.place.clone()) else { return };
        let Some((join, strategy)) = join_of(self.workflow, &flow, &node) else { return };
        let known: Vec<Option<Outcome>> = branches.iter().map(|branch| outcome_of(&branch.state)).collect();
        match strategy_outcome(strategy, &known) {
            Some(outcome) => self.collect(path, join, &branches, &outcome),
            None => self.next.push(Next::Fill { path: path.clone(), fork: node }),
        }
    }

    fn collect(&mut self, path: &FramePath, join: &NodeId, branches: &[Branch], outcome: &Outcome) {
        for branch in branches {
            if matches!(branch.state, BranchState::Held | BranchState::Open(_)) {
                let (frame, branch) = (path.clone(), branch.name.clone());
                self.emit(Change::Branched { frame, branch, state: BranchState::Cancelled });
            }
        }
        let failed = branches.iter().filter(|branch| branch.state == BranchState::Done(Outcome::failed()));
        self.leave(path, join, outcome, feedback(join, outcome, failed.map(|branch| &branch.name)));
    }
}

/// The branch that a fork opens next: the first that is held back, while the limit lets it.
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

/// The join of a fork, and how it counts.
pub(super) fn join_of<'w>(workflow: &'w Workflow, flow: &WorkflowId, fork: &NodeId) -> Option<(&'w NodeId, Strategy)> {
    let flow = workflow.flow(flow);
    let Kind::Fork { join, .. } = &flow.step(fork).node.kind else { return None };
    match &flow.step(&join.value).node.kind {
        Kind::Join { strategy, .. } => Some((&join.value, *strategy)),
        _ => Some((&join.value, Strategy::AllPass)),
    }
}

/// What a failed join says of its branches.
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

/// What branches come to: `all-pass` is known when all of them are, `any-pass` with the first that passed.
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
