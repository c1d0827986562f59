//! The walk along the graph that every decision ends in: leave a node with an outcome, enter the next, and go on
//! through the nodes that need nobody.

use crate::graph::{EndResult, Failing, Kind, Step, Strategy, Workflow};
use crate::run::{Branch, BranchState, Branches, Change, Feedback, Frame, FramePath, Place, Run, WaitingFor};
use crate::value::{NodeId, Outcome, WorkflowId};

/// How many nodes that need nobody are passed in one decision before a person is asked. Only a leniently read
/// workflow can come near it.
const MAX_AUTOMATIC_MOVES: u32 = 1_000;

/// A decision in the making: the changes so far, the run as it is after them, and what still follows from them.
pub(super) struct Draft<'w> {
    pub(super) workflow: &'w Workflow,
    pub(super) run: Run,
    pub(super) changes: Vec<Change>,
    /// The latest last. A list and not the call stack: a workflow may be long, the stack is not.
    next: Vec<Next>,
    fuel: u32,
}

/// What follows from the changes so far.
enum Next {
    /// A frame comes to a node, by an outcome.
    Enter { path: FramePath, node: NodeId, by: Outcome, feedback: Option<Feedback> },
    /// A fork opens as many branches as its limit allows.
    Fill { path: FramePath, fork: NodeId },
}

impl<'w> Draft<'w> {
    pub(super) fn of(workflow: &'w Workflow, run: &Run) -> Draft<'w> {
        Draft { workflow, run: run.clone(), changes: Vec::new(), next: Vec::new(), fuel: MAX_AUTOMATIC_MOVES }
    }

    /// Everything that the decision makes true: goes on from the changes so far while nobody is needed.
    pub(super) fn finish(mut self) -> Vec<Change> {
        while let Some(next) = self.next.pop() {
            match next {
                Next::Enter { path, node, by, feedback } => self.come_to(&path, node, &by, feedback),
                Next::Fill { path, fork } => self.fill(path, fork),
            }
        }
        self.changes
    }

    pub(super) fn step(&self, flow: &WorkflowId, node: &NodeId) -> &'w Step {
        self.workflow.flow(flow).step(node)
    }

    pub(super) fn emit(&mut self, change: Change) {
        self.run.apply(&change);
        self.changes.push(change);
    }

    fn moved(&mut self, path: &FramePath, place: Place, feedback: Option<Feedback>) {
        self.emit(Change::Moved { frame: path.clone(), place, feedback });
    }

    fn flow_of(&self, path: &FramePath) -> Option<WorkflowId> {
        self.run.frame(path).map(|frame| frame.flow.clone())
    }

    /// Leaves `node` with `outcome`.
    pub(super) fn leave(&mut self, path: &FramePath, node: &NodeId, outcome: &Outcome, feedback: Option<Feedback>) {
        let Some(flow) = self.flow_of(path) else { return };
        let step = self.step(&flow, node);
        if outcome.is_failed() {
            self.fail(path, node, &step.exits.failing, feedback);
            return;
        }
        // Only the gate itself renews its budget: an intermediate step must not.
        if self.run.frame(path).is_some_and(|frame| frame.used(node) > 0) {
            self.emit(Change::Refilled { frame: path.clone(), gate: Some(node.clone()) });
        }
        match step.exits.target(outcome) {
            Some(to) => self.enter(path, to, outcome, feedback),
            None => self.moved(path, Place::Waiting { node: node.clone(), on: WaitingFor::Progress }, feedback),
        }
    }

    fn fail(&mut self, path: &FramePath, node: &NodeId, failing: &Failing, feedback: Option<Feedback>) {
        let failed = Outcome::failed();
        match failing {
            Failing::Leads(to) => self.enter(path, to, &failed, feedback),
            Failing::Retries { to, budget, exhausted } => {
                let used = self.run.frame(path).map_or(0, |frame| frame.used(node));
                if used < *budget {
                    self.emit(Change::Retried {
                        frame: path.clone(),
                        gate: node.clone(),
                        used: used + 1,
                        budget: *budget,
                    });
                    self.enter(path, to, &failed, feedback);
                } else if let Some(exhausted) = exhausted {
                    self.enter(path, exhausted, &failed, feedback);
                } else {
                    self.moved(path, Place::Waiting { node: node.clone(), on: WaitingFor::Budget }, feedback);
                }
            }
        }
    }

    /// Enters `node`, reached by an outcome.
    pub(super) fn enter(&mut self, path: &FramePath, node: &NodeId, by: &Outcome, feedback: Option<Feedback>) {
        self.next.push(Next::Enter { path: path.clone(), node: node.clone(), by: by.clone(), feedback });
    }

    fn come_to(&mut self, path: &FramePath, node: NodeId, by: &Outcome, feedback: Option<Feedback>) {
        if self.fuel == 0 {
            return self.moved(path, Place::Waiting { node, on: WaitingFor::Progress }, feedback);
        }
        self.fuel -= 1;
        let Some(flow) = self.flow_of(path) else { return };
        match &self.step(&flow, &node).node.kind {
            Kind::Start => self.leave(path, &node, &Outcome::passed(), feedback),
            Kind::Work { .. } => self.moved(path, Place::Ready { node }, feedback),
            Kind::Checkpoint { .. } => self.moved(path, Place::Waiting { node, on: WaitingFor::Answer }, feedback),
            Kind::End { result, .. } => self.end(path, &node, *result),
            Kind::Fork { .. } => self.fork(path, &flow, node, feedback),
            Kind::Join { .. } => self.arrive(path, &node, by, feedback),
            Kind::Subflow { workflow } => {
                self.descend(path, &node, WorkflowId::from(workflow.value.as_str()), feedback)
            }
        }
    }

    /// Ends a frame, and with it whatever waits for it.
    pub(super) fn end(&mut self, path: &FramePath, node: &NodeId, result: EndResult) {
        self.moved(path, Place::Ended { node: node.clone(), result }, None);
        let outcome = if result == EndResult::Success { Outcome::passed() } else { Outcome::failed() };
        self.tell_parent(path, &outcome, result.word());
    }

    /// Ends the run where it is, and with it everything inside it.
    pub(super) fn cancel(&mut self) {
        let node = self.run.root.place.node().clone();
        self.end(&FramePath::default(), &node, EndResult::Cancelled);
    }

    /// A person gives up on a node: its branch or subflow failed; at the root, the run did.
    pub(super) fn give_up(&mut self, path: &FramePath, node: &NodeId) {
        if path.0.is_empty() && self.run.opening.rules.is_branch {
            return self.moved(path, Place::Arrived { node: node.clone(), outcome: Outcome::failed() }, None);
        }
        self.end(path, node, EndResult::Failure);
    }

    fn tell_parent(&mut self, path: &FramePath, outcome: &Outcome, word: &str) {
        let Some((parent, name)) = path.split() else { return };
        let name = name.clone();
        match self.run.frame(&parent).map(|frame| &frame.place) {
            Some(Place::Within { node, .. }) if *node == name => {
                let note = outcome.is_failed().then(|| format!("the workflow that `{name}` runs ended as {word}"));
                let feedback =
                    note.map(|note| Feedback { from: Some(name.clone()), failures: Vec::new(), note: Some(note) });
                self.leave(&parent, &name, outcome, feedback);
            }
            Some(Place::Forked { .. }) => self.branch_done(&parent, name, outcome),
            _ => {}
        }
    }

    fn descend(&mut self, path: &FramePath, node: &NodeId, workflow: WorkflowId, feedback: Option<Feedback>) {
        let start = self.workflow.flow(&workflow).start.clone();
        let inner = Frame {
            flow: workflow,
            since: 0,
            place: Place::Ready { node: start.clone() },
            spent: Vec::new(),
            feedback: None,
        };
        self.moved(path, Place::Within { node: node.clone(), frame: Box::new(inner) }, None);
        self.leave(&path.join(node), &start, &Outcome::passed(), feedback);
    }

    fn fork(&mut self, path: &FramePath, flow: &WorkflowId, node: NodeId, feedback: Option<Feedback>) {
        // The branches of a subflow's fork have no task of their own to live in, wherever those of the root live.
        if self.run.opening.rules.branches == Branches::Outside && path.0.is_empty() {
            return self.moved(path, Place::Gathering { node }, feedback);
        }
        let names = &self.step(flow, &node).exits.branches;
        let branches = names.iter().map(|name| Branch { name: name.clone(), state: BranchState::Held }).collect();
        self.moved(path, Place::Forked { node: node.clone(), branches }, feedback);
        self.next.push(Next::Fill { path: path.clone(), fork: node });
    }

    /// Opens the next branch that the fork's limit lets open, if the fork is still under way, and comes back for more.
    fn fill(&mut self, path: FramePath, fork: NodeId) {
        let Some(frame) = self.run.frame(&path) else { return };
        let Place::Forked { node, branches } = &frame.place else { return };
        let open = branches.iter().filter(|branch| matches!(branch.state, BranchState::Open(_))).count();
        let held = branches.iter().find(|branch| branch.state == BranchState::Held);
        let Some(name) = held.map(|held| held.name.clone()) else { return };
        if *node != fork || open >= self.limit(&frame.flow, &fork) {
            return;
        }
        let flow = frame.flow.clone();
        let works = matches!(self.step(&flow, &name).node.kind, Kind::Work { .. });
        let inner =
            Frame { flow, since: 0, place: Place::Ready { node: name.clone() }, spent: Vec::new(), feedback: None };
        self.emit(Change::Branched { frame: path.clone(), branch: name.clone(), state: BranchState::Open(inner) });
        let within = path.join(&name);
        self.next.push(Next::Fill { path, fork });
        if !works {
            self.enter(&within, &name, &Outcome::passed(), None);
        }
    }

    /// How many branches of `fork` may be open at once.
    fn limit(&self, flow: &WorkflowId, fork: &NodeId) -> usize {
        match &self.step(flow, fork).node.kind {
            Kind::Fork { max_concurrency: Some(most), .. } => most.get() as usize,
            _ => usize::MAX,
        }
    }

    /// A join is reached: by a branch, which is done with that, or by a run that a person led here.
    fn arrive(&mut self, path: &FramePath, join: &NodeId, by: &Outcome, feedback: Option<Feedback>) {
        let outcome = if by.is_failed() { Outcome::failed() } else { Outcome::passed() };
        let parent = path.split().and_then(|(parent, _)| self.run.frame(&parent).map(|frame| &frame.place));
        let in_branch = matches!(parent, Some(Place::Forked { .. }));
        if in_branch || (path.0.is_empty() && self.run.opening.rules.is_branch) {
            self.moved(path, Place::Arrived { node: join.clone(), outcome: outcome.clone() }, feedback);
            self.tell_parent(path, &outcome, outcome.as_str());
        } else {
            self.leave(path, join, &outcome, feedback);
        }
    }

    fn branch_done(&mut self, path: &FramePath, name: NodeId, outcome: &Outcome) {
        self.emit(Change::Branched { frame: path.clone(), branch: name, state: BranchState::Done(outcome.clone()) });
        let Some(frame) = self.run.frame(path) else { return };
        let (flow, Place::Forked { node, branches }) = (frame.flow.clone(), frame.place.clone()) else { return };
        let Kind::Fork { join, .. } = &self.step(&flow, &node).node.kind else { return };
        let strategy = match &self.step(&flow, &join.value).node.kind {
            Kind::Join { strategy, .. } => *strategy,
            _ => Strategy::AllPass,
        };
        let known: Vec<Option<Outcome>> = branches.iter().map(|branch| outcome_of(&branch.state)).collect();
        match strategy_outcome(strategy, &known) {
            Some(outcome) => self.join(path, &join.value, &branches, &outcome),
            None => self.next.push(Next::Fill { path: path.clone(), fork: node }),
        }
    }

    fn join(&mut self, path: &FramePath, join: &NodeId, branches: &[Branch], outcome: &Outcome) {
        for branch in branches {
            if matches!(branch.state, BranchState::Held | BranchState::Open(_)) {
                self.emit(Change::Branched {
                    frame: path.clone(),
                    branch: branch.name.clone(),
                    state: BranchState::Cancelled,
                });
            }
        }
        let failed = branches.iter().filter(|branch| branch.state == BranchState::Done(Outcome::failed()));
        let feedback = self.branch_feedback(join, outcome, failed.map(|branch| branch.name.clone()));
        self.leave(path, join, outcome, feedback);
    }

    /// What a failed join says of its branches.
    pub(super) fn branch_feedback(
        &self,
        join: &NodeId,
        outcome: &Outcome,
        failed: impl Iterator<Item = NodeId>,
    ) -> Option<Feedback> {
        let failed: Vec<String> = failed.map(|name| format!("`{name}`")).collect();
        let note = format!("failed branches: {}", failed.join(", "));
        outcome.is_failed().then(|| Feedback { from: Some(join.clone()), failures: Vec::new(), note: Some(note) })
    }
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
    let all = all?;
    let holds = match strategy {
        Strategy::AllPass => all.iter().all(|outcome| passed(outcome)),
        Strategy::AnyPass => false,
    };
    Some(if holds { Outcome::passed() } else { Outcome::failed() })
}
