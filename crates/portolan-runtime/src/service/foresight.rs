//! What the answers to a question lead to. Each is decided on a copy of the run: nothing is performed, and nothing stored.
//! Nodes that compute are not passed, since whoever lists questions must not wait for expressions.

use std::collections::BTreeMap;

use portolan_core::engine;
use portolan_core::present::{Act, Situation};
use portolan_core::run::{Actor, EffectResult, Event, EventKind, Frame, FramePath, Run};
use portolan_core::value::{Outcome, Timestamp};

use super::report::passing;
use crate::definition::Definition;

/// The maximum number of automatic nodes that are passed after an answer.
const MOST_PASSED: usize = 200;

/// What follows an answer, as far as it needs nothing from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// The run continues at the nodes with these names.
    Continues(Vec<String>),
    /// The run ends at the node with this name.
    Ends(String),
}

/// Returns what follows each answer to the question at a position. An answer that the engine refuses as it is, because
/// it needs values, has none.
pub(super) fn consequences(
    definition: &Definition,
    run: &Run,
    path: &FramePath,
    (situation, by, now): (&Situation, &Actor, Timestamp),
) -> BTreeMap<Outcome, Consequence> {
    let answers = situation.offers.iter().filter(|offer| matches!(offer.act, Act::Answer { .. }));
    let outcomes = answers.filter_map(|offer| offer.outcome());
    let foreseen = outcomes.filter_map(|outcome| {
        let what = EventKind::Reported {
            frame: path.clone(),
            outcome: outcome.clone(),
            revision: None,
            note: None,
            outputs: None,
        };
        let event = Event { at: now, by: by.clone(), what };
        Some((outcome.clone(), consequence(definition, run, event)?))
    });
    foreseen.collect()
}

fn consequence(definition: &Definition, before: &Run, answer: Event) -> Option<Consequence> {
    let workflow = &definition.workflow;
    let (mut run, mut event) = (before.clone(), answer);
    for _ in 0..MOST_PASSED {
        let changes = engine::decide(workflow, &run, &event).ok()?;
        changes.iter().for_each(|change| run.apply(change));
        let Some(effect) = passing(definition, &run) else { return reached(definition, before, &run) };
        event = Event { at: event.at, by: Actor::Engine, what: effect.settled(EffectResult::Due, 0) };
    }
    None
}

/// Returns the nodes at which a run is now and was not before.
fn reached(definition: &Definition, before: &Run, run: &Run) -> Option<Consequence> {
    let name = |frame: &Frame| {
        let node = &definition.workflow.flow(&frame.flow).step(frame.place.node()).node;
        if node.name.is_empty() { node.id.to_string() } else { node.name.clone() }
    };
    if run.is_over() {
        return Some(Consequence::Ends(name(&run.root)));
    }
    let is_new = |path: &FramePath, since: u64| before.frame(path).is_none_or(|frame| frame.since != since);
    let positions = run.positions().into_iter().filter(|(path, frame)| is_new(path, frame.since));
    let names: Vec<String> = positions.map(|(_, frame)| name(frame)).collect();
    (!names.is_empty()).then_some(Consequence::Continues(names))
}
