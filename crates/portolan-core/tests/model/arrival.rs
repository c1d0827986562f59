//! An agent whose every step succeeds, and a person who answers as it comes: in a workflow that is accepted, and of which no
//! circle is told, they come to an end, whatever values the agent gives.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use portolan_core::graph::{Flow, Workflow};
use portolan_core::run::{EventKind, FramePath, Opening, Place, Verdict, WaitingFor};
use portolan_core::value::{NodeId, WorkflowId};
use proptest::prelude::Rng;
use proptest::test_runner::TestRunner;

use crate::adversary::{given, input};
use crate::promises::{can_succeed, knows_how_to_go_on, names};
use crate::walk::{Walk, by_agent, by_person, straight};
use crate::{activities, current, generate};

const WORKFLOWS: usize = 300;
/// How often each is walked: to draw one and to prove it sound takes longer.
const WALKS: usize = 3;
/// Loops within loops multiply: a walk that is longer is not followed to its end.
const MOST_EVENTS: usize = 3_000;
/// How often a step outside of loops may be reached in one visit of its workflow. Where a value that the agent draws leads
/// on, it is drawn after fewer.
const MOST_ARRIVALS: usize = 150;

#[test]
fn an_agent_whose_every_step_succeeds_arrives() {
    let mut runner = TestRunner::deterministic();
    let (mut arrived, mut asked, mut left) = (0, 0, 0);
    for nth in 0..WORKFLOWS {
        let files = match nth % 3 {
            0 => current(&generate::files(), &mut runner),
            _ => current(&activities::files(), &mut runner),
        };
        let Some(workflow) = straight(&files.0) else { continue };
        can_succeed(&workflow);
        for _ in 0..WALKS {
            match succeed(&workflow, &mut runner) {
                Comes::ToTheEnd => arrived += 1,
                Comes::ToAPerson => asked += 1,
                Comes::TooFar => left += 1,
                Comes::Round(flow, node) => panic!("`{node}` of `{flow}` is reached again and again: {:#?}", files.0),
            }
        }
    }
    assert!(arrived > 3 * (asked + left), "{arrived} arrive, for {asked} a person decides, {left} are very long");
}

enum Comes {
    ToTheEnd,
    /// Who decides how to go on: a limit is reached, or values are wanted that others give.
    ToAPerson,
    TooFar,
    Round(WorkflowId, NodeId),
}

fn succeed(workflow: &Workflow, runner: &mut TestRunner) -> Comes {
    let opening = Opening { input: Some(Arc::new(input(workflow))), ..Opening::of(workflow.id().clone()) };
    let mut walk = Walk::opened(workflow, &opening);
    let mut arrivals = Arrivals::default();
    for _ in 0..MOST_EVENTS {
        if walk.run.is_over() {
            return Comes::ToTheEnd;
        }
        if let Some((flow, node)) = arrivals.note(&walk) {
            return if may_change(workflow.flow(&flow), &node) { Comes::ToAPerson } else { Comes::Round(flow, node) };
        }
        let event = match walk.pending().first() {
            Some(effect) => by_agent(effect.clone().settled(Verdict::Held, 0)),
            None => match next(&walk, runner) {
                Some(event) => event,
                None => return Comes::ToAPerson,
            },
        };
        walk.take(&event).expect("what is offered is accepted");
        knows_how_to_go_on(&walk);
    }
    Comes::TooFar
}

/// The success of a step, with some values, or one of the answers to a question.
fn next(walk: &Walk<'_>, runner: &mut TestRunner) -> Option<portolan_core::run::Event> {
    let mut below = |choices: usize| runner.rng().next_u32() as usize % choices;
    let (path, frame) = walk.run.positions().into_iter().next()?;
    let offers: Vec<EventKind> =
        walk.offers().into_iter().filter(|(at, _)| *at == path).map(|(_, event)| event.what).collect();
    let nth = match &frame.place {
        Place::Waiting { on: WaitingFor::Answer, .. } => below(offers.len()),
        Place::Waiting { .. } => return None,
        _ => 0,
    };
    let mut what = offers.into_iter().nth(nth)?;
    if let (EventKind::Reported { outputs, .. }, Place::Ready { node }) = (&mut what, &frame.place) {
        *outputs = given(walk.workflow, &frame.flow, node, &mut below).map(Arc::new);
        return Some(by_agent(what));
    }
    Some(by_person(what))
}

/// How often each step outside of loops was reached: by its frame, with the revisions at which those around it came to
/// where they are.
#[derive(Default)]
struct Arrivals(BTreeMap<(FramePath, Vec<u64>, NodeId), BTreeSet<u64>>);

impl Arrivals {
    /// Takes note of where a run is. Gives the step that is reached too often.
    fn note(&mut self, walk: &Walk<'_>) -> Option<(WorkflowId, NodeId)> {
        for (path, _) in walk.run.positions() {
            let mut around = Vec::new();
            for depth in 0..=path.0.len() {
                let path = FramePath(path.0[..depth].to_vec());
                let Some(frame) = walk.run.frame(&path) else { continue };
                let node = frame.place.node();
                let seat = walk.workflow.flow(&frame.flow).step(node).node.seat.as_ref();
                if seat.is_none_or(|seat| seat.loops.is_empty()) {
                    let times = self.0.entry((path, around.clone(), node.clone())).or_default();
                    times.insert(frame.since);
                    if times.len() > MOST_ARRIVALS {
                        return Some((frame.flow.clone(), node.clone()));
                    }
                }
                around.push(frame.since);
            }
        }
        None
    }
}

/// Whether something on the ways round from a node back to it gives a value to what a condition there reads: conditions
/// that keep each other from being changed are only found where nobody changes what they read.
fn may_change(flow: &Flow, node: &NodeId) -> bool {
    let reach = |from: &NodeId| {
        let mut reached = BTreeSet::new();
        let mut waiting: Vec<NodeId> = flow.step(from).exits.targets().cloned().collect();
        while let Some(id) = waiting.pop() {
            if reached.insert(id.clone()) {
                waiting.extend(flow.step(&id).exits.targets().cloned());
            }
        }
        reached
    };
    let round: Vec<NodeId> = reach(node).into_iter().filter(|id| reach(id).contains(node)).collect();
    let read: BTreeSet<&str> =
        round.iter().flat_map(|id| &flow.step(id).exits.guards).flat_map(|(guard, _)| names(guard)).collect();
    let gives = |id: &NodeId| {
        let node = &flow.step(id).node;
        node.gives_all() || node.gives().iter().any(|name| read.contains(name))
    };
    round.iter().any(gives)
}
