//! What must hold of every run, whoever leads it and however its definition is written: looked at from outside, by what the
//! definition says and what has happened.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use portolan_core::expr::Expr;
use portolan_core::graph::{Check, EndResult, Flow, Kind, Node, Workflow};
use portolan_core::run::{
    Actor, BranchState, EffectPart, EffectResult, Event, EventKind, Frame, FramePath, Place, Run, Verdict, WaitingFor,
};
use portolan_core::value::{CheckId, NodeId, Outcome, SKIPPED, WorkflowId};

use crate::walk::Walk;

/// The nodes of a flow that a run must have been let past before it can be at another.
type Required = BTreeMap<(WorkflowId, NodeId), Vec<NodeId>>;

/// What a run has shown so far, by the events alone.
#[derive(Clone, Default)]
pub(crate) struct Shown {
    /// The checks that held together, with the node that they let the run past; and the questions that were answered.
    past: BTreeMap<(WorkflowId, NodeId), BTreeSet<String>>,
    required: RefCell<Required>,
}

impl Shown {
    /// Takes note of an event that was accepted, and looks at what it has made of the positions.
    pub(crate) fn take(&mut self, before: &Run, event: &Event, walk: &Walk<'_>) {
        for (path, frame) in before.positions() {
            let node = &walk.workflow.flow(&frame.flow).step(frame.place.node()).node;
            match &frame.place {
                Place::Ready { .. } => claimed(&path, node, event, &walk.run),
                Place::Checking { outcome, settled, .. }
                    if self.checked(&path, (node, outcome), settled, event, &walk.run) =>
                {
                    self.note(&frame.flow, node);
                }
                Place::Waiting { on: WaitingFor::Answer, .. } if is_at(&path, event) => self.note(&frame.flow, node),
                Place::Waiting { on: WaitingFor::Unchecked, .. } if is_at(&path, event) => {
                    assert!(matches!(event.by, Actor::Person { .. }), "`{}` took the word of {:?}", node.id, event.by);
                    let failed = matches!(&event.what, EventKind::Reported { outcome, .. } if outcome.is_failed());
                    if !failed {
                        self.note(&frame.flow, node);
                    }
                }
                _ => {}
            }
        }
        self.is_behind_nothing_unshown(walk.workflow, &walk.run);
        is_not_stranded(walk);
        is_done_once(walk);
    }

    fn note(&mut self, flow: &WorkflowId, node: &Node) {
        self.past.insert((flow.clone(), node.id.clone()), demands(node));
    }

    /// Whether the checks of a node have let the run past, when it has left the node.
    fn checked(
        &self,
        path: &FramePath,
        (node, outcome): (&Node, &Outcome),
        settled: &[(portolan_core::value::CheckId, Verdict)],
        event: &Event,
        after: &Run,
    ) -> bool {
        let stays = |place: &Place| matches!(place, Place::Checking { node: now, .. } if *now == node.id);
        if after.frame(path).is_some_and(|frame| stays(&frame.place)) {
            return false;
        }
        let EventKind::Settled { effect, result: EffectResult::Verdict(verdict), .. } = &event.what else {
            return false;
        };
        if effect.frame != *path || effect.node != node.id {
            return false;
        }
        let mut held: BTreeSet<&str> =
            settled.iter().filter(|(_, verdict)| *verdict == Verdict::Held).map(|(check, _)| check.as_str()).collect();
        if *verdict == Verdict::Held {
            held.extend(effect.check().map(CheckId::as_str));
        }
        let all = node.accept.iter().all(|check| held.contains(check.id.as_str()));
        let bypassed = !after.bypasses().is_empty();
        let back = node.phase.as_ref().and_then(|phase| phase.back.as_ref());
        let comes_to = after.frame(path).map(|frame| frame.place.node());
        let stays = comes_to == Some(&node.id) || (back.is_some() && comes_to == back);
        let leaves_by_failure = node.seat.is_none() && node.phase.is_none();
        assert!(
            all || bypassed || stays || leaves_by_failure,
            "`{}` was left as `{outcome}` unchecked: {after:?}",
            node.id
        );
        all
    }

    /// No position is behind a check, or a question, that did not let the run past.
    pub(crate) fn is_behind_nothing_unshown(&self, workflow: &Workflow, run: &Run) {
        if run.opening.at.is_some() || !run.bypasses().is_empty() {
            return;
        }
        for (_, frame) in run.positions() {
            let at = (frame.flow.clone(), frame.place.node().clone());
            let flow = workflow.flow(&at.0);
            let mut required = self.required.borrow_mut();
            let required = required.entry(at.clone()).or_insert_with(|| required_for(flow, &at.1));
            for node in required {
                let shown = self.past.get(&(at.0.clone(), node.clone()));
                let demanded = demands(&flow.step(node).node);
                assert!(
                    shown == Some(&demanded),
                    "`{}` is reached, and `{node}` has shown {shown:?} of {demanded:?}",
                    at.1
                );
            }
        }
    }

    /// Where an agent may begin a run, nothing that it would have had to show is behind it.
    pub(crate) fn begins_behind_nothing(&self, workflow: &Workflow, at: &NodeId) {
        let required = required_for(workflow.root(), at);
        assert!(required.is_empty(), "a run may begin at `{at}`, behind {required:?}");
    }

    /// The same for another definition.
    pub(crate) fn under_another(&self) -> Shown {
        Shown { past: self.past.clone(), required: RefCell::default() }
    }
}

/// A claim that has checks does not leave its node.
fn claimed(path: &FramePath, node: &Node, event: &Event, after: &Run) {
    let EventKind::Reported { frame, outcome, .. } = &event.what else { return };
    let may_skip = node.seat.is_some() && outcome.as_str() == SKIPPED;
    if frame != path || node.accept.is_empty() || outcome.is_failed() || may_skip {
        return;
    }
    let place = after.frame(path).map(|frame| &frame.place);
    let checking = matches!(place, Some(Place::Checking { node: now, .. }) if *now == node.id);
    assert!(checking, "`{}` was left as `{outcome}` without its checks: {place:?}", node.id);
}

fn is_at(path: &FramePath, event: &Event) -> bool {
    match &event.what {
        EventKind::Reported { frame, .. } => frame == path,
        EventKind::Settled { effect, .. } => effect.part == EffectPart::Timer && effect.frame == *path,
        _ => false,
    }
}

/// What a node asks for before it lets a run past.
fn demands(node: &Node) -> BTreeSet<String> {
    let check = |check: &Check| format!("{} by {:?}", check.id, check.by);
    match node.kind {
        Kind::Checkpoint { .. } => BTreeSet::from([format!("{:?}", node.kind)]),
        _ => node.accept.iter().map(check).collect(),
    }
}

/// The nodes without whose checks, or answers, `at` cannot be reached from the start.
fn required_for(flow: &Flow, at: &NodeId) -> Vec<NodeId> {
    let asks = |node: &Node| !node.accept.is_empty() || matches!(node.kind, Kind::Checkpoint { .. });
    let asking =
        flow.steps.values().filter(|step| asks(&step.node) && step.node.id != *at).map(|step| step.node.id.clone());
    asking.filter(|node| !reached_without(flow, node).contains(at)).collect()
}

/// What can be reached from the start without being let past a node: its failures, and that it is skipped, are open.
fn reached_without<'f>(flow: &'f Flow, without: &NodeId) -> BTreeSet<&'f NodeId> {
    let skipped: BTreeSet<&NodeId> = flow.steps.values().flat_map(|step| step.node.skips()).collect();
    let mut reached = BTreeSet::new();
    let mut waiting = vec![&flow.start];
    while let Some(id) = waiting.pop() {
        if !reached.insert(id) {
            continue;
        }
        let step = flow.step(id);
        if id == without {
            let skipped = step.node.seat.is_some().then(|| step.exits.target(&SKIPPED.into())).flatten();
            let is_question = matches!(step.node.kind, Kind::Checkpoint { .. });
            waiting.extend(skipped.filter(|_| !is_question));
            waiting.extend(failing(&step.exits.failing).filter(|_| !is_question));
        } else if step.node.kind == Kind::Activity && !skipped.contains(id) {
            waiting.extend(step.exits.passed());
        } else {
            waiting.extend(step.exits.targets());
            if let Kind::Fork { join, .. } = &step.node.kind {
                waiting.push(&join.value);
            }
        }
    }
    reached
}

fn failing(failing: &portolan_core::graph::FailureHandling) -> impl Iterator<Item = &NodeId> {
    use portolan_core::graph::FailureHandling;
    let (one, other) = match failing {
        FailureHandling::Stays | FailureHandling::Ends => (None, None),
        FailureHandling::Leads(to) | FailureHandling::Caught(to) => (Some(to), None),
        FailureHandling::Retries { to, exhausted, .. } => (Some(to), exhausted.as_ref()),
    };
    one.into_iter().chain(other)
}

/// Somebody can do something, or something is under way, or the run is over.
pub(crate) fn is_not_stranded(walk: &Walk<'_>) {
    let gathers = matches!(walk.run.root.place, Place::Gathering { .. });
    let goes_on = walk.run.is_over() || gathers || !walk.pending().is_empty() || !walk.offers().is_empty();
    assert!(goes_on, "nobody can do anything at {:?}", walk.run.root);
}

/// Nothing is done twice because two branches of a fork come to it. A question is asked in each.
pub(crate) fn is_done_once(walk: &Walk<'_>) {
    fn look(workflow: &Workflow, frame: &Frame) {
        if let Place::Forked { branches, .. } = &frame.place {
            let open = branches.iter().filter_map(|branch| match &branch.state {
                BranchState::Open(frame) if !frame.place.is_over() => Some(frame.place.node()),
                _ => None,
            });
            let mut at = BTreeSet::new();
            let is_work =
                |node: &&NodeId| !matches!(workflow.flow(&frame.flow).step(node).node.kind, Kind::Checkpoint { .. });
            open.filter(is_work).for_each(|node| assert!(at.insert(node), "two branches are at `{node}`"));
        }
        frame.inner().for_each(|(_, inner)| look(workflow, inner));
    }
    look(walk.workflow, &walk.run.root);
}

/// Each workflow that an agent is led into can come to a success: what runs it would not get past it.
pub(crate) fn can_succeed(workflow: &Workflow) {
    for (id, flow) in workflow.flows().filter(|(id, _)| *id != workflow.id()) {
        let succeeds =
            |node: &NodeId| matches!(flow.step(node).node.kind, Kind::End { result: EndResult::Success, .. });
        assert!(flow.steps.keys().any(succeeds), "`{id}` cannot succeed");
    }
}

/// The variables that decide where a flow leads.
fn read_in(flow: &Flow) -> BTreeSet<&str> {
    let guards = flow.steps.values().flat_map(|step| &step.exits.guards).map(|(guard, _)| guard);
    let loops = flow.steps.values().filter_map(|step| match &step.node.kind {
        Kind::Loop(looping) => Some(looping.condition()),
        _ => None,
    });
    guards.chain(loops).flat_map(names).collect()
}

/// The names that a condition reads.
pub(crate) fn names(expr: &Expr) -> Vec<&str> {
    match expr {
        Expr::When(when) => when.names(),
        Expr::Condition(condition) => condition.names(),
        _ => Vec::new(),
    }
}

/// In a workflow that is accepted as it is, nobody has to be asked because the definition does not say how to go on; but
/// for the items of a loop that nobody has given, and for conditions whose values are given elsewhere and were not.
pub(crate) fn knows_how_to_go_on(walk: &Walk<'_>) {
    for (path, frame) in walk.run.positions() {
        let Place::Waiting { node, on: WaitingFor::Progress, .. } = &frame.place else { continue };
        let flow = walk.workflow.flow(&frame.flow);
        let read = read_in(flow);
        let given = |node: &Node| node.gives_all() || node.gives().iter().any(|name| read.contains(name));
        let given = flow.steps.values().any(|step| given(&step.node));
        // Whichever of the nodes on the way round the engine has stopped at.
        let goes_by_values = matches!(
            flow.step(node).node.kind,
            Kind::Loop(_) | Kind::Repeat { .. } | Kind::Switch | Kind::Activity | Kind::Subflow { .. }
        );
        let why = frame.feedback.as_ref().and_then(|feedback| feedback.note.clone()).unwrap_or_default();
        let too_deep = why.contains("deep");
        assert!(goes_by_values && given && !too_deep, "{path:?}: nothing says how to go on from `{node}`: {why}");
    }
}
