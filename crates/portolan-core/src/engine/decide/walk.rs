//! The walk along the graph that ends every decision: leave a node with an outcome, and enter the next. Each automatic
//! node is executed by an event of its own: see `advance`. For forks and joins see `branches`.

use super::scope::{Now, fault};
use crate::graph::{EndResult, FailureHandling, Kind, MAX_DEPTH, Node, Step, Workflow};
use crate::run::{Change, Feedback, Frame, FramePath, Human, Place, Run, WaitingFor};
use crate::value::{NodeId, Outcome, PASSED, WorkflowId};

/// The maximum number of automatic nodes in a row before a person is asked, in a run without other limits. Only a
/// leniently read workflow can come near it.
pub(super) const MAX_AUTOMATIC_MOVES: u32 = 1_000;

/// A decision under construction: the changes so far, the run after them, and the steps to follow.
pub(super) struct Draft<'w> {
    pub(super) workflow: &'w Workflow,
    /// The run before the decision.
    pub(super) before: &'w Run,
    /// Time and seed, from the event.
    pub(super) now: Now,
    /// How many automatic nodes were executed in a row before the next node.
    pub(super) passed: u32,
    changes: Vec<Change>,
    /// The run after the first `applied` changes. Most decisions do not read their own changes and need no copy of the
    /// run.
    after: Option<Run>,
    applied: usize,
    /// The steps to follow, the next one last. A list instead of recursion, because the stack is limited and a workflow
    /// may be long.
    pub(super) next: Vec<Next>,
    joins: u32,
}

/// A step that follows from the changes so far.
pub(super) enum Next {
    /// Enters a node of the frame's flow, after an outcome.
    Enter { path: FramePath, flow: WorkflowId, node: NodeId, by: Outcome, feedback: Option<Feedback> },
    /// Opens as many branches as the limit of a fork allows.
    Fill { path: FramePath, fork: NodeId },
}

impl<'w> Draft<'w> {
    pub(super) fn of(workflow: &'w Workflow, before: &'w Run, now: Now) -> Draft<'w> {
        let (changes, next) = (Vec::new(), Vec::new());
        Draft { workflow, before, now, passed: 0, changes, after: None, applied: 0, next, joins: 0 }
    }

    /// Performs the steps that follow, and returns all changes of the decision.
    pub(super) fn concluded(mut self) -> Vec<Change> {
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

    /// Returns the changes so far.
    pub(super) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Returns the run after the changes so far.
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

    /// Returns a frame after the changes so far, except that its data and inner frames may be outdated. This spares
    /// most decisions a copy of the run.
    pub(super) fn standing(&mut self, path: &FramePath) -> Option<&Frame> {
        if self.is_moved(path) { self.frame(path) } else { self.before.frame(path) }
    }

    /// Returns the path of the frame that owns the variables at `path`, after the changes so far.
    pub(super) fn owner(&mut self, path: &FramePath) -> FramePath {
        if self.is_moved(path) { self.run().owner(path) } else { self.before.owner(path) }
    }

    fn is_moved(&self, path: &FramePath) -> bool {
        self.changes.iter().any(|change| moves(change, path))
    }

    /// Returns a frame after the changes so far.
    pub(super) fn frame(&mut self, path: &FramePath) -> Option<&Frame> {
        self.run().frame(path)
    }

    /// Leaves `node` with `outcome`.
    pub(super) fn leave(&mut self, path: &FramePath, node: &NodeId, outcome: &Outcome, feedback: Option<Feedback>) {
        let workflow = self.workflow;
        let Some(frame) = self.standing(path) else { return };
        let flow = frame.flow.clone();
        let step = workflow.flow(&flow).step(node);
        let used = frame.used(counted_at(&step.node));
        let exits = &step.exits;
        if outcome.is_failed() {
            return self.fail(path, flow, &step.node, (&exits.failing, used), feedback);
        }
        // Only the gate's own success resets its budget, not an intermediate step or an outcome that sends work back.
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
        (failing, used): (&FailureHandling, u32),
        feedback: Option<Feedback>,
    ) {
        let failed = Outcome::failed();
        match failing {
            FailureHandling::Stays => self.moved(path, Place::Ready { node: node.id.clone() }, feedback),
            FailureHandling::Leads(to) => self.enter(path, flow, to, &failed, feedback),
            FailureHandling::Caught(_) | FailureHandling::Ends => {
                let note = feedback.and_then(|feedback| feedback.note);
                let note = note.unwrap_or_else(|| format!("`{}` failed", node.id));
                self.broke(path, &node.id, fault(&node.id, "failed", note, ""));
            }
            FailureHandling::Retries { to, budget, .. } if used < *budget => {
                let (frame, gate) = (path.clone(), counted_at(node).clone());
                self.emit(Change::Retried { frame, gate, used: used + 1, budget: *budget });
                self.enter(path, flow, to, &failed, feedback);
            }
            FailureHandling::Retries { exhausted: Some(to), .. } => self.enter(path, flow, to, &failed, feedback),
            FailureHandling::Retries { exhausted: None, .. } => {
                self.moved(path, Place::Waiting { node: node.id.clone(), on: WaitingFor::Budget, due: None }, feedback);
            }
        }
    }

    /// Schedules the entry of `node` of `flow` after an outcome.
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

    /// Returns the frame in which a node is entered. Leaving a loop ends its pass.
    fn home(&mut self, path: &FramePath, flow: &WorkflowId, node: &NodeId) -> FramePath {
        if !self.workflow.has_activities() {
            return path.clone();
        }
        let flow = self.workflow.flow(flow);
        let depth = self.owner(path).0.len() + flow.loops(node).len();
        FramePath(path.0.iter().take(depth).cloned().collect())
    }

    fn come_to(&mut self, path: &FramePath, flow: &WorkflowId, node: NodeId, by: &Outcome, feedback: Option<Feedback>) {
        match &self.step(flow, &node).node.kind {
            Kind::Work { .. } => self.moved(path, Place::Ready { node }, feedback),
            // A question that was answered before is passed like an automatic node.
            Kind::Checkpoint { .. } if self.is_answered_before(path, flow, &node) => {
                self.moved(path, Place::Passing { node, passed: self.passed }, feedback)
            }
            Kind::Checkpoint { question, .. } => {
                // A timeout is not a person's own answer.
                let counts = self.before.opening.rules.human == Human::Attested;
                let fallback = question.as_ref().filter(|_| counts).and_then(|question| question.fallback.as_ref());
                let due = fallback.map(|fallback| self.now.at.after_ms(fallback.after_ms));
                self.moved(path, Place::Waiting { node, on: WaitingFor::Answer, due }, feedback);
            }
            // Only a cycle in a leniently read workflow has so many joins in one decision.
            Kind::Join { .. } if self.joins < MAX_AUTOMATIC_MOVES => {
                self.joins += 1;
                self.arrive(path, &node, by, feedback);
            }
            Kind::Join { .. } => {
                self.moved(path, Place::Waiting { node, on: WaitingFor::Progress, due: None }, feedback)
            }
            _ => self.moved(path, Place::Passing { node, passed: self.passed }, feedback),
        }
    }

    /// Ends a frame and continues the frame that waits for it.
    pub(super) fn end(&mut self, path: &FramePath, node: &NodeId, result: EndResult) {
        self.finish(path, node, result, None);
    }

    /// Ends the run at its present node, with everything inside it.
    pub(super) fn cancel(&mut self) {
        let node = self.run().root.place.node().clone();
        self.end(&FramePath::default(), &node, EndResult::Cancelled);
    }

    /// Gives up on a node: its branch or subflow fails; at the root, the run fails. Giving up on a pass of a loop fails
    /// the flow around the loop.
    pub(super) fn give_up(&mut self, path: &FramePath, node: &NodeId) {
        let (path, node) = &self.around_loops(path, node);
        if path.0.is_empty() && self.before.opening.rules.is_branch {
            return self.moved(path, Place::Arrived { node: node.clone(), outcome: Outcome::failed() }, None);
        }
        self.end(path, node, EndResult::Failure);
    }

    /// Returns the frame of the flow around a node, outside of its loops, and the node itself or the outermost of these
    /// loops.
    pub(super) fn around_loops(&mut self, path: &FramePath, node: &NodeId) -> (FramePath, NodeId) {
        let (mut path, mut node) = (path.clone(), node.clone());
        while let Some((parent, _)) = path.split() {
            let Some(Place::Looping { node: looping, .. }) = self.frame(&parent).map(|frame| &frame.place) else {
                break;
            };
            (path, node) = (parent, looping.clone());
        }
        (path, node)
    }
}

/// Checks whether a change may affect a frame apart from its data and its inner frames.
fn moves(change: &Change, path: &FramePath) -> bool {
    match change {
        Change::Executed { .. } | Change::Finished { .. } | Change::Set { .. } | Change::Talked { .. } => false,
        Change::Altered { .. } | Change::Visited { .. } | Change::ItemBegun { .. } | Change::ItemDone { .. } => false,
        Change::Moved { frame, .. } => frame.0.len() <= path.0.len(),
        _ => true,
    }
}

/// Returns the error for nesting that is too deep.
pub(super) fn too_deep() -> String {
    format!("loops, branches, items and workflows are nested more than {MAX_DEPTH} levels deep")
}

/// Returns the node at which the retries of a node are counted. Phases may share it.
fn counted_at(node: &Node) -> &NodeId {
    node.phase.as_ref().map_or(&node.id, |phase| &phase.counted_at)
}
