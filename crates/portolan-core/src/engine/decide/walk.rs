//! The walk along the graph that every decision ends in: leave a node with an outcome, enter the next, and go on
//! through the nodes that need nobody. Forks and joins are walked in `branches`.

use serde_json::Value;

use crate::graph::{EndResult, Failing, Kind, MAX_DEPTH, Node, Step, Workflow};
use crate::run::{Change, Feedback, Frame, FramePath, Human, Place, Run, WaitingFor};
use crate::value::{NodeId, Outcome, PASSED, Timestamp, WorkflowId};

/// How many nodes that need nobody are passed in one decision before a person is asked. Only a leniently read
/// workflow can come near it.
const MAX_AUTOMATIC_MOVES: u32 = 1_000;

/// A decision in the making: the changes so far, the run as it is after them, and what still follows from them.
pub(super) struct Draft<'w> {
    pub(super) workflow: &'w Workflow,
    /// The run as it was.
    pub(super) before: &'w Run,
    /// When it is made.
    pub(super) at: Timestamp,
    changes: Vec<Change>,
    /// The run after the first `applied` of the changes. Most decisions are made without looking at what they changed,
    /// and are spared the copy.
    after: Option<Run>,
    applied: usize,
    /// The latest last. A list and not the call stack: a workflow may be long, the stack is not.
    pub(super) next: Vec<Next>,
    fuel: u32,
}

/// What follows from the changes so far.
pub(super) enum Next {
    /// A frame comes to a node of the flow that it walks, by an outcome.
    Enter { path: FramePath, flow: WorkflowId, node: NodeId, by: Outcome, feedback: Option<Feedback> },
    /// A fork opens as many branches as its limit allows.
    Fill { path: FramePath, fork: NodeId },
}

impl<'w> Draft<'w> {
    pub(super) fn of(workflow: &'w Workflow, before: &'w Run, at: Timestamp) -> Draft<'w> {
        let fuel = MAX_AUTOMATIC_MOVES;
        Draft { workflow, before, at, changes: Vec::new(), after: None, applied: 0, next: Vec::new(), fuel }
    }

    /// Everything that the decision makes true: goes on from the changes so far while nobody is needed.
    pub(super) fn finish(mut self) -> Vec<Change> {
        while let Some(next) = self.next.pop() {
            match next {
                Next::Enter { path, flow, node, by, feedback } => self.come_to(&path, &flow, node, &by, feedback),
                Next::Fill { path, fork } => self.fill(path, fork),
            }
        }
        self.changes
    }

    pub(super) fn step(&self, flow: &WorkflowId, node: &NodeId) -> &'w Step {
        self.workflow.flow(flow).step(node)
    }

    pub(super) fn emit(&mut self, change: Change) {
        self.changes.push(change);
    }

    pub(super) fn moved(&mut self, path: &FramePath, place: Place, feedback: Option<Feedback>) {
        self.emit(Change::Moved { frame: path.clone(), place, feedback });
    }

    /// What the decision makes true so far.
    pub(super) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The run after the changes so far.
    pub(super) fn run(&mut self) -> &Run {
        if self.applied < self.changes.len() {
            let run = self.after.get_or_insert_with(|| self.before.clone());
            for change in &self.changes[self.applied..] {
                run.apply(change);
            }
            self.applied = self.changes.len();
        }
        self.after.as_ref().unwrap_or(self.before)
    }

    /// A frame of the run after the changes so far.
    pub(super) fn frame(&mut self, path: &FramePath) -> Option<&Frame> {
        self.run().frame(path)
    }

    /// Leaves `node` with `outcome`.
    pub(super) fn leave(&mut self, path: &FramePath, node: &NodeId, outcome: &Outcome, feedback: Option<Feedback>) {
        let workflow = self.workflow;
        let Some(frame) = self.frame(path) else { return };
        let flow = frame.flow.clone();
        let step = workflow.flow(&flow).step(node);
        let used = frame.used(counted_at(&step.node));
        let exits = &step.exits;
        if outcome.is_failed() {
            return self.fail(path, flow, &step.node, (&exits.failing, used), feedback);
        }
        // Only the gate's own success renews its budget: neither an intermediate step nor an outcome that sends work back.
        if used > 0 && step.node.phase.is_none() && exits.success() == Some(outcome) {
            self.emit(Change::Refilled { frame: path.clone(), gate: Some(node.clone()) });
        }
        if outcome.as_str() == PASSED {
            self.set_all(path, &step.node.sets);
        }
        match exits.target(outcome) {
            Some(to) => self.enter(path, flow, to, outcome, feedback),
            None => {
                self.moved(path, Place::Waiting { node: node.clone(), on: WaitingFor::Progress, due: None }, feedback)
            }
        }
    }

    fn fail(
        &mut self,
        path: &FramePath,
        flow: WorkflowId,
        node: &Node,
        (failing, used): (&Failing, u32),
        feedback: Option<Feedback>,
    ) {
        let failed = Outcome::failed();
        match failing {
            Failing::Stays => self.moved(path, Place::Ready { node: node.id.clone() }, feedback),
            Failing::Leads(to) => self.enter(path, flow, to, &failed, feedback),
            Failing::Retries { to, budget, .. } if used < *budget => {
                let (frame, gate) = (path.clone(), counted_at(node).clone());
                self.emit(Change::Retried { frame, gate, used: used + 1, budget: *budget });
                self.enter(path, flow, to, &failed, feedback);
            }
            Failing::Retries { exhausted: Some(to), .. } => self.enter(path, flow, to, &failed, feedback),
            Failing::Retries { exhausted: None, .. } => {
                self.moved(path, Place::Waiting { node: node.id.clone(), on: WaitingFor::Budget, due: None }, feedback);
            }
        }
    }

    /// Enters `node` of `flow`, reached by an outcome.
    pub(super) fn enter(
        &mut self,
        path: &FramePath,
        flow: WorkflowId,
        node: &NodeId,
        by: &Outcome,
        feedback: Option<Feedback>,
    ) {
        let path = self.home(path, &flow, node);
        self.next.push(Next::Enter { path, flow, node: node.clone(), by: by.clone(), feedback });
    }

    /// The frame in which a node is walked: a way out of loops ends their passes.
    fn home(&mut self, path: &FramePath, flow: &WorkflowId, node: &NodeId) -> FramePath {
        if !self.workflow.has_activities() {
            return path.clone();
        }
        let flow = self.workflow.flow(flow);
        let depth = self.run().owner(path).0.len() + flow.loops(node).len();
        FramePath(path.0.iter().take(depth).cloned().collect())
    }

    fn come_to(&mut self, path: &FramePath, flow: &WorkflowId, node: NodeId, by: &Outcome, feedback: Option<Feedback>) {
        // What was to follow in a branch or an item that another one has ended meanwhile.
        if !path.0.is_empty() && !self.is_function(flow) && self.frame(path).is_none() {
            return;
        }
        let kind = &self.step(flow, &node).node.kind;
        if self.fuel == 0 {
            return self.moved(path, Place::Waiting { node, on: WaitingFor::Progress, due: None }, feedback);
        }
        self.fuel -= 1;
        if self.is_function(flow) && !matches!(kind, Kind::Work { .. } | Kind::Checkpoint { .. } | Kind::Join { .. }) {
            return self.moved(path, Place::Passing { node }, None);
        }
        let deepens = matches!(kind, Kind::Fork { .. } | Kind::Subflow { .. } | Kind::Loop(_));
        if deepens && path.0.len() >= MAX_DEPTH {
            return self.stuck(path, node, too_deep());
        }
        match kind {
            Kind::Start => self.leave(path, &node, &Outcome::passed(), feedback),
            Kind::Work { .. } => self.moved(path, Place::Ready { node }, feedback),
            Kind::Checkpoint { question, .. } => {
                // Silence is no person's answer.
                let counts = self.before.opening.rules.human == Human::Attested;
                let fallback = question.as_ref().filter(|_| counts).and_then(|question| question.fallback.as_ref());
                let due = fallback.map(|fallback| self.at.after_ms(fallback.after_ms));
                self.moved(path, Place::Waiting { node, on: WaitingFor::Answer, due }, feedback);
            }
            Kind::End { result, .. } => self.end(path, &node, *result),
            Kind::Fork { .. } => self.fork(path, flow, node, feedback),
            Kind::Join { .. } => self.arrive(path, &node, by, feedback),
            Kind::Subflow { workflow, context, .. } => {
                let input = self.handed_on(path, context);
                self.descend(path, &node, WorkflowId::from(workflow.value.as_str()), (feedback, input));
            }
            Kind::Activity => self.begin_activity(path, flow, &node, feedback),
            Kind::Switch => self.choose_way(path, flow.clone(), node, feedback),
            Kind::Loop(looping) => self.begin_loop(path, (flow.clone(), node), looping, feedback),
            Kind::Repeat { of } => self.end_pass(path, flow.clone(), &of.value, feedback),
            // Only functions have these.
            Kind::Compute(_) | Kind::Call(_) | Kind::Each(_) | Kind::State(_) => {
                self.moved(path, Place::Passing { node }, None);
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
        let node = self.run().root.place.node().clone();
        self.end(&FramePath::default(), &node, EndResult::Cancelled);
    }

    /// A person gives up on a node: its branch or subflow failed; at the root, the run did. A pass of a loop is given up
    /// with the flow that it stands in.
    pub(super) fn give_up(&mut self, path: &FramePath, node: &NodeId) {
        let (mut path, mut node) = (path.clone(), node.clone());
        while let Some((parent, _)) = path.split() {
            let Some(Place::Looping { node: looping, .. }) = self.frame(&parent).map(|frame| &frame.place) else {
                break;
            };
            (path, node) = (parent, looping.clone());
        }
        let (path, node) = (&path, &node);
        if path.0.is_empty() && self.before.opening.rules.is_branch {
            return self.moved(path, Place::Arrived { node: node.clone(), outcome: Outcome::failed() }, None);
        }
        self.end(path, node, EndResult::Failure);
    }

    pub(super) fn tell_parent(&mut self, path: &FramePath, outcome: &Outcome, word: &str) {
        let Some((parent, name)) = path.split() else { return };
        let name = name.clone();
        let workflow = self.workflow;
        // As it is now, and not as it was: a workflow that needs nobody is over in the decision that begins it.
        let Some(outer) = self.frame(&parent) else { return };
        let is_function = workflow.flow(&outer.flow).program.is_some();
        let within = matches!(&outer.place, Place::Within { node, .. } if *node == name);
        if is_function && matches!(outer.place, Place::Within { .. } | Place::Each { .. }) {
            let outer = outer.clone();
            return self.led_to(&parent, &outer, &name, outcome, word);
        }
        match &outer.place {
            Place::Within { .. } if within => {
                if !outcome.is_failed() {
                    self.take_back(&parent, path, &name);
                }
                let note = outcome.is_failed().then(|| format!("the workflow that `{name}` runs ended as {word}"));
                let feedback =
                    note.map(|note| Feedback { from: Some(name.clone()), failures: Vec::new(), note: Some(note) });
                self.leave(&parent, &name, outcome, feedback);
            }
            Place::Forked { .. } => self.branch_done(&parent, name, outcome),
            _ => {}
        }
    }

    pub(super) fn descend(
        &mut self,
        path: &FramePath,
        node: &NodeId,
        workflow: WorkflowId,
        (feedback, input): (Option<Feedback>, Option<Value>),
    ) {
        let start = self.workflow.flow(&workflow).start.clone();
        if self.is_function(&workflow) {
            return match self.function_frame(&workflow, None) {
                Ok(inner) => self.moved(path, Place::Within { node: node.clone(), frame: Box::new(inner) }, None),
                Err(fault) => {
                    let (from, note) = (Some(node.clone()), Some(fault.message));
                    let feedback = Feedback { from, failures: Vec::new(), note };
                    self.leave(path, node, &Outcome::failed(), Some(feedback));
                }
            };
        }
        match self.agents_frame(&workflow, input) {
            Ok(inner) => {
                self.moved(path, Place::Within { node: node.clone(), frame: Box::new(inner) }, None);
                self.leave(&path.join(node), &start, &Outcome::passed(), feedback);
            }
            Err(why) => self.stuck(path, node.clone(), why),
        }
    }
}

/// Why nothing more is begun inside of a position.
pub(super) fn too_deep() -> String {
    format!("loops, branches, items and workflows stand more than {MAX_DEPTH} deep in one another")
}

/// Where the retries of a node are counted: phases may share them.
fn counted_at(node: &Node) -> &NodeId {
    node.phase.as_ref().map_or(&node.id, |phase| &phase.counted_at)
}
