//! A run that refutes a property: events for the engine, and a description in words.
//!
//! The analysis leaves unread values open and counts nothing. The counterexample fills this in: the agent reports the
//! values that are read later, and work whose retries are spent is attempted that often. The engine then confirms
//! whether the run gets there.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::explore::{Exploration, sample};
use super::model::{MISSING, Mask, Model, is_copied, sets};
use super::picks::{PassKind, Pick};
use super::pump::pumped;
use super::state::is_covered;
use super::steps::{Act, Step, failure, steps};
use crate::engine::{EffectKind, decide, open};
use crate::graph::{Kind, Node, Workflow};
use crate::run::{
    Actor, Channel, EffectPart, EffectResult, Event, EventKind, FramePath, Opening, Place, Reply, Run, Verdict,
};
use crate::value::{NodeId, Outcome, Timestamp, WorkflowId};

/// A run that refutes a property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counterexample {
    /// The opening of the run.
    pub opening: Opening,
    /// Its events in order.
    pub events: Vec<Event>,
    /// The same in words.
    pub lines: Vec<Line>,
    /// Further assumptions that the events cannot bring about: conditions on the results of tools and models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumes: Vec<String>,
    /// Whether the engine gets there by these events.
    pub is_replayed: bool,
}

/// An event at one node of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The node.
    pub node: NodeId,
    /// The actor and the action.
    pub what: String,
}

/// The result of an exploration, with its workflow and model.
pub(super) struct Story<'s> {
    pub(super) workflow: &'s Workflow,
    pub(super) model: &'s Model,
    pub(super) found: &'s Exploration,
}

/// A variable that must be in one of these cells later.
struct WantedValue<'s> {
    flow: &'s WorkflowId,
    frame: &'s FramePath,
    name: usize,
    cells: Mask,
    /// Its number of items, if a loop iterates over them.
    items: Option<usize>,
    /// Whether an external result sets it on the way, so that earlier reads do not restrict it.
    is_later: bool,
}

/// The maximum number of attempts of a call in a counterexample: a definition may allow thousands of retries.
const MAX_ATTEMPTS: usize = 100;

/// The values of variables by step number; those of the opening are at 0.
type StepValues = BTreeMap<usize, Map<String, Value>>;

impl Story<'_> {
    /// Returns the run that ends with a step.
    pub(super) fn counterexample(&self, edge: u32, out_of_time: &mut dyn FnMut() -> bool) -> Counterexample {
        let built = self.built(edge);
        // Conditions that no event brings about are not found by a search either.
        let is_done = built.is_replayed || !built.assumes.is_empty() || out_of_time();
        let searched = if is_done { None } else { self.searched(edge, out_of_time) };
        searched.unwrap_or(built)
    }

    /// Builds the run from the steps of the analysis that lead there.
    fn built(&self, edge: u32) -> Counterexample {
        let mut way = vec![edge];
        let mut state = self.found.edges[edge as usize].from;
        while let Some(edge) = self.found.reached_by[state as usize] {
            way.push(edge);
            state = self.found.edges[edge as usize].from;
        }
        way.reverse();
        let pumped = pumped(self.model, self.found, &way);
        let is_whole = pumped.is_some();
        let steps: Vec<&Step> =
            pumped.as_ref().unwrap_or(&way).iter().map(|edge| &*self.found.edges[*edge as usize].step).collect();
        let given = self.given(&steps);
        let mut assumes: Vec<String> = steps.iter().flat_map(|step| self.assumed(step)).collect();
        assumes.extend(steps.iter().flat_map(|step| self.unmade(step).into_iter().chain(self.copied(step))));
        assumes.dedup();
        let mut counterexample = Counterexample {
            opening: self.opening(given.get(&0)),
            events: Vec::new(),
            lines: Vec::new(),
            assumes,
            is_replayed: false,
        };
        let came = self.played(&steps, &given, &mut counterexample);
        counterexample.is_replayed = is_whole && came.is_some_and(|run| self.is_there(run, &way));
        counterexample
    }

    /// Checks whether a run is where the abstract one on the same path is.
    fn is_there(&self, run: Run, way: &[u32]) -> bool {
        self.abstractly(way).is_some_and(|wanted| is_covered(self.model, run, &wanted))
    }

    /// Returns the abstract run at the end of a path.
    fn abstractly(&self, way: &[u32]) -> Option<Run> {
        let mut run = self.found.first.clone();
        for edge in way {
            let wanted = &self.found.edges[*edge as usize].step;
            run = steps(self.model, &run)?.into_iter().find(|taken| taken.step == *wanted)?.run;
        }
        Some(run)
    }

    /// Returns the values to set on the way: those that are read later.
    fn given(&self, steps: &[&Step]) -> StepValues {
        let mut given = StepValues::new();
        let mut wanted: Vec<WantedValue<'_>> = Vec::new();
        let mut passes: BTreeMap<FramePath, usize> = BTreeMap::new();
        for (at, step) in steps.iter().enumerate().rev() {
            let site = self.model.site(&step.flow, &step.node);
            let gives = site.map_or(&[][..], |site| if step.helps { &site.helps } else { &site.gives });
            if matches!(step.act, Act::Report(_)) || step.helps {
                wanted.retain(|wanted| {
                    let may = gives.iter().find(|(name, _)| *name == wanted.name).map_or(0, |(_, mask)| *mask);
                    let is_here = step.flow == *wanted.flow && step.frame.0.starts_with(&wanted.frame.0);
                    let Some(value) = self.value(wanted, may).filter(|_| is_here) else { return true };
                    given.entry(at + 1).or_default().insert(self.model.text(wanted.name).to_owned(), value);
                    false
                });
            }
            let learns = gives.iter().chain(site.map_or(&[][..], |site| &site.copies));
            let learns = |wanted: &WantedValue<'_>| learns.clone().any(|(name, _)| *name == wanted.name);
            if !matches!(step.act, Act::Report(_)) {
                wanted.iter_mut().filter(|wanted| learns(wanted)).for_each(|wanted| wanted.is_later = true);
            }
            for pick in &step.picks {
                match pick {
                    Pick::Pass(pass) => {
                        let count = passes.entry(step.frame.clone()).or_default();
                        *count = match pass {
                            PassKind::Another | PassKind::AnotherCounted => *count + 1,
                            PassKind::Last | PassKind::LastCounted => 1,
                            PassKind::Most => 2,
                        };
                    }
                    Pick::In { frame, name, cells } => {
                        let is_same = |wanted: &WantedValue<'_>| *wanted.frame == *frame && wanted.name == *name;
                        let known = wanted.iter_mut().find(|wanted| is_same(wanted) && !wanted.is_later);
                        let items = self.items(step, &passes);
                        match known {
                            Some(wanted) => {
                                wanted.cells &= cells;
                                wanted.items = wanted.items.or(items);
                            }
                            None => {
                                let (flow, name, cells) = (&step.flow, *name, *cells);
                                wanted.push(WantedValue { flow, frame, name, cells, items, is_later: false });
                            }
                        }
                    }
                    Pick::Free { .. } | Pick::Spent { .. } => {}
                }
            }
        }
        for wanted in wanted.iter().filter(|wanted| wanted.frame.0.is_empty()) {
            let begins_with = self.workflow.root().variable(self.model.text(wanted.name));
            let begins_with = begins_with.and_then(|variable| variable.default.as_ref());
            let known = begins_with.map_or(MISSING, |value| self.model.mask_of(wanted.name, value));
            let value = if wanted.cells & known == 0 { self.value(wanted, Mask::MAX) } else { None };
            if let Some(value) = value {
                given.entry(0).or_default().insert(self.model.text(wanted.name).to_owned(), value);
            }
        }
        given
    }

    /// Returns a wanted value among those that may be set.
    fn value(&self, wanted: &WantedValue<'_>, may: Mask) -> Option<Value> {
        let cells = wanted.cells & may & !MISSING;
        let value = self.model.value(wanted.name, cells.trailing_zeros())?.clone();
        match (value, wanted.items) {
            (Value::Array(items), Some(count)) if items.len() == 1 => Some(Value::Array(vec![items[0].clone(); count])),
            (value, _) => Some(value),
        }
    }

    /// Returns the number of items of the loop that a step begins.
    fn items(&self, step: &Step, passes: &BTreeMap<FramePath, usize>) -> Option<usize> {
        let is_loop = matches!(self.workflow.flow(&step.flow).step(&step.node).node.kind, Kind::Loop(_));
        is_loop.then(|| passes.get(&step.frame.join(&step.node)).copied().unwrap_or(1))
    }

    pub(super) fn opening(&self, given: Option<&Map<String, Value>>) -> Opening {
        let flow = self.workflow.root();
        let mut opening = self.found.opening.clone();
        let mut input: Map<String, Value> = Map::new();
        for variable in flow.variables.iter().filter(|variable| variable.required && variable.default.is_none()) {
            input.insert(variable.name.value.clone(), sample(self.model, variable));
        }
        for (name, value) in given.into_iter().flatten() {
            let differs = flow.variable(name).is_some_and(|variable| variable.default.as_ref() != Some(value));
            if differs {
                input.insert(name.clone(), value.clone());
            }
        }
        if flow.interface.is_none() {
            opening.input = (!input.is_empty()).then(|| Arc::new(Value::Object(input)));
        }
        opening
    }

    /// Returns the assumptions of a step about conditions.
    fn assumed(&self, step: &Step) -> Vec<String> {
        let of = self.workflow.flow(&step.flow).step(&step.node);
        let is_free = |expr: &crate::expr::Expr| crate::expr::condition_names(expr).is_none() && !expr.is_constant();
        let free: Vec<String> =
            of.exits.guards.iter().filter(|(guard, _)| is_free(guard)).map(|(guard, _)| guard.text()).collect();
        let text = |pick: &Pick| match pick {
            Pick::Free { at, holds } => {
                let what = free.get(*at).map_or("its condition", String::as_str);
                let not = if *holds { "" } else { "not " };
                Some(format!("`{}`: {not}`{what}`", step.node))
            }
            _ => None,
        };
        // The run does not contain what a model, a function or an item answers.
        let is_opaque = matches!(of.node.kind, Kind::State(_) | Kind::Each(_));
        let result = match &step.act {
            Act::Report(outcome) => Some(outcome.as_str()),
            Act::Return(true) => Some("passed"),
            Act::Return(false) => Some("failed"),
            _ => None,
        };
        let result = result.filter(|_| is_opaque).map(|result| format!("`{}` ends with `{result}`", step.node));
        step.picks.iter().filter_map(text).chain(result).collect()
    }

    /// Describes the assignments of a step from other variables, whose values are not tracked.
    fn copied(&self, step: &Step) -> Vec<String> {
        let node = &self.workflow.flow(&step.flow).step(&step.node).node;
        let copied = sets(node).filter(|(_, value)| is_copied(value));
        copied.map(|(name, value)| format!("`{name}` has the value that `{}` sets: {value}", node.id)).collect()
    }

    /// Describes the values that a report must have and for which no sample is found.
    fn unmade(&self, step: &Step) -> Vec<String> {
        if !matches!(step.act, Act::Report(_)) {
            return Vec::new();
        }
        let node = &self.workflow.flow(&step.flow).step(&step.node).node;
        let unmade = wanted(node).filter(|(_, schema)| crate::schema::sample(schema).is_none());
        unmade.map(|(name, _)| format!("`{name}` of `{}` is given a value that fits its schema", node.id)).collect()
    }

    /// Replays the path in the engine; `None` if it does not follow.
    fn played(&self, steps: &[&Step], given: &StepValues, counterexample: &mut Counterexample) -> Option<Run> {
        let mut run = Run::fold(&open(self.workflow, &counterexample.opening).ok()?)?;
        for (at, step) in steps.iter().enumerate() {
            let given = given.get(&(at + 1));
            counterexample.lines.push(Line { node: step.node.clone(), what: words(step, given) });
            counterexample.events.extend(self.performed(&mut run, step, given)?);
        }
        Some(run)
    }

    /// Takes a step in the engine and returns its events; `None` if the engine refuses one. A call that fails for good
    /// is repeated as often as its retries allow, up to a limit.
    pub(super) fn performed(
        &self,
        run: &mut Run,
        step: &Step,
        given: Option<&Map<String, Value>>,
    ) -> Option<Vec<Event>> {
        let mut events = Vec::new();
        loop {
            for event in self.events(run, step, given)? {
                let changes = decide(self.workflow, run, &event).ok()?;
                changes.iter().for_each(|change| run.apply(change));
                events.push(event);
            }
            let place = run.frame(&step.frame).map(|frame| &frame.place);
            let is_retried = matches!(place, Some(Place::Calling { node, .. }) if *node == step.node);
            if step.act != Act::Return(false) || !is_retried {
                return Some(events);
            }
            if events.len() >= MAX_ATTEMPTS {
                return None;
            }
        }
    }

    /// Returns the events of a step in the current run.
    fn events(&self, run: &Run, step: &Step, given: Option<&Map<String, Value>>) -> Option<Vec<Event>> {
        let frame = run.frame(&step.frame)?;
        let by = |by: Actor, what: EventKind| Event { at: Timestamp(0), by, what };
        let agent = || Actor::Agent("agent".to_owned());
        let outputs = || given.map(|given| Arc::new(Value::Object(given.clone())));
        let reported = |outcome: &Outcome, outputs| EventKind::Reported {
            frame: step.frame.clone(),
            outcome: outcome.clone(),
            revision: None,
            note: None,
            outputs,
        };
        Some(match &step.act {
            Act::Begin => vec![by(agent(), EventKind::Begun { revision: None })],
            Act::Report(outcome) => vec![by(agent(), reported(outcome, self.with_wanted(step, outcome, given)))],
            Act::Answer(outcome) => {
                let person = Actor::Person { name: "person".to_owned(), via: Channel::CommandLine };
                vec![by(person, reported(outcome, outputs()))]
            }
            Act::TimeOut => {
                let Place::Waiting { due: Some(due), .. } = &frame.place else { return None };
                let event = self.effect(run, step, EffectPart::Timer, EffectResult::Due);
                vec![Event { at: *due, ..by(Actor::Engine, event?) }]
            }
            Act::Checks(hold) => {
                let pending = run.pending(self.workflow);
                let checks = pending.into_iter().filter(|effect| effect.id.frame == step.frame);
                let checks = checks.filter(|effect| matches!(effect.what, EffectKind::Check(_)));
                let verdict = |at: usize| match *hold || at > 0 {
                    true => Verdict::Held,
                    false => Verdict::Broken { reason: "it does not hold".to_owned(), output: String::new() },
                };
                checks.enumerate().map(|(at, check)| by(Actor::Engine, check.id.settled(verdict(at), 0))).collect()
            }
            Act::Advance | Act::Return(_) => {
                let at = match &frame.place {
                    Place::Calling { not_before: Some(at), .. } => *at,
                    _ => Timestamp(0),
                };
                let event = |what| Event { at, ..by(Actor::Engine, what) };
                self.engine_events(run, step)?.into_iter().map(event).collect()
            }
        })
    }

    /// Returns the reported values, with those that the checks of the step require.
    fn with_wanted(&self, step: &Step, outcome: &Outcome, given: Option<&Map<String, Value>>) -> Option<Arc<Value>> {
        let mut outputs = given.cloned().unwrap_or_default();
        let node = &self.workflow.flow(&step.flow).step(&step.node).node;
        if node.is_checked_on(outcome) {
            for (name, schema) in wanted(node) {
                if !outputs.contains_key(name) {
                    outputs.insert(name.to_owned(), crate::schema::sample(schema).unwrap_or_default());
                }
            }
        }
        (!outputs.is_empty()).then(|| Arc::new(Value::Object(outputs)))
    }

    fn engine_events(&self, run: &Run, step: &Step) -> Option<Vec<EventKind>> {
        let kind = &self.workflow.flow(&step.flow).step(&step.node).node.kind;
        let due = || self.effect(run, step, EffectPart::Node, EffectResult::Due);
        Some(match (&step.act, kind) {
            // A computation is one step of the engine, without an event for its beginning.
            (Act::Advance, Kind::Compute(_)) => Vec::new(),
            (Act::Advance, Kind::State(_) | Kind::Each(_)) => return None,
            (Act::Advance, _) => vec![due()?],
            (Act::Return(_), Kind::Compute(_)) => vec![due()?],
            (Act::Return(ok), Kind::Call(_)) => {
                let reply = match ok {
                    true => Reply::Output(None),
                    false => Reply::Failed(failure(&step.node)),
                };
                vec![self.effect(run, step, EffectPart::Node, EffectResult::Reply(reply))?]
            }
            _ => return None,
        })
    }

    fn effect(&self, run: &Run, step: &Step, part: EffectPart, result: EffectResult) -> Option<EventKind> {
        let frame = run.frame(&step.frame)?;
        let (node, since) = (step.node.clone(), frame.since);
        let id = crate::run::EffectId { frame: step.frame.clone(), node, since, part };
        Some(id.settled(result, 0))
    }
}

/// Returns the values that a report must have, with their schemas.
fn wanted(node: &Node) -> impl Iterator<Item = (&str, &Value)> {
    node.accept.iter().filter_map(|check| check.by.evidence()?.fact.output())
}

/// Describes the actor and the action in words.
pub(super) fn words(step: &Step, given: Option<&Map<String, Value>>) -> String {
    let with = given.map_or_else(String::new, |given| {
        let values: Vec<String> = given.iter().map(|(name, value)| format!("`{name}` = {value}")).collect();
        format!(", with {}", values.join(", "))
    });
    let spent = step.picks.iter().any(|pick| matches!(pick, Pick::Spent { .. }));
    let spent = if spent { ", and no retry is left" } else { "" };
    let what = match &step.act {
        Act::Begin => "the work begins".to_owned(),
        Act::Report(outcome) => format!("the agent reports `{outcome}`{with}"),
        Act::Answer(outcome) => format!("a person answers `{outcome}`{with}"),
        Act::TimeOut => "no answer is given in time".to_owned(),
        Act::Checks(true) => "its checks hold".to_owned(),
        Act::Checks(false) => "a check does not hold".to_owned(),
        Act::Advance => "passed".to_owned(),
        Act::Return(true) => "it succeeds".to_owned(),
        Act::Return(false) => "it fails".to_owned(),
    };
    format!("{what}{spent}")
}
