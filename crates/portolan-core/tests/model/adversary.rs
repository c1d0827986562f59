//! An adversary: it does what is offered, for without that it would not come far, and everything else besides. Stale and
//! forged calls, values that are none, starts elsewhere, and definitions that are edited under the run.
//!
//! `PORTOLAN_MOVES=1000000` makes as many attempts as it says; `PORTOLAN_SEED` draws others.

use std::collections::BTreeMap;
use std::sync::Arc;

use portolan_core::engine::{fits, migrate, open};
use portolan_core::graph::{VariableKind, VariableOwner, Workflow};
use portolan_core::run::{
    Branches, EffectId, EffectPart, EffectResult, Event, EventKind, FramePath, Human, Opening, Place, Rules, Run,
    Verdict, WaitingFor,
};
use portolan_core::value::{NodeId, Outcome, WorkflowId};
use proptest::prelude::Rng;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

use crate::generate::Files;
use crate::promises::{Shown, knows_how_to_go_on};
use crate::walk::{Walk, broken, by_agent, by_person, repaired, reported, workflow};
use crate::{WORDS, activities, current, generate};

/// How many attempts are made on one run.
const ATTEMPTS: usize = 150;
/// How many runs of one definition are attacked. To draw one and to prove it sound takes longer than all attempts.
const RUNS: usize = 4;

/// What is attempted, and how often of so many times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Attempt {
    Offered,
    Verdict,
    NotOffered,
    Stale,
    Forged,
    Repeated,
    BadValues,
    Elsewhere,
    Edited,
}

const SHARES: &[(Attempt, u32)] = &[
    (Attempt::Offered, 30),
    (Attempt::Verdict, 20),
    (Attempt::NotOffered, 10),
    (Attempt::Stale, 8),
    (Attempt::Forged, 10),
    (Attempt::Repeated, 6),
    (Attempt::BadValues, 6),
    (Attempt::Elsewhere, 5),
    (Attempt::Edited, 5),
];

/// How often something was attempted, was let happen, and changed something.
#[derive(Clone, Copy, Default)]
struct Count {
    made: u64,
    accepted: u64,
    changed: u64,
}

struct Adversary {
    runner: TestRunner,
    counts: BTreeMap<Attempt, Count>,
    /// Runs that were begun, and those that came to their end.
    runs: u64,
    ended: u64,
}

#[test]
#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "how much is tried is said by who runs it, and told"
)]
fn whatever_is_tried_the_promises_hold() {
    let number = |name: &str, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (moves, seed): (u64, u64) = (number("PORTOLAN_MOVES", 50_000), number("PORTOLAN_SEED", 1));
    let mut adversary = Adversary::of(seed);
    while adversary.made() < moves {
        adversary.attack();
    }
    let table = adversary.table();
    println!("{table}");
    for (attempt, share) in SHARES {
        let count = adversary.counts.get(attempt).copied().unwrap_or_default();
        let least = moves * u64::from(*share) / 400;
        assert!(count.made >= least, "{attempt:?} was tried less than {least} times:\n{table}");
    }
    let of = |attempt| adversary.counts[&attempt];
    assert_eq!(of(Attempt::Offered).made, of(Attempt::Offered).accepted, "what is offered is accepted");
    assert_eq!(of(Attempt::NotOffered).accepted + of(Attempt::Stale).accepted, 0, "and nothing else is");
    assert_eq!(of(Attempt::Forged).changed, 0, "nothing that is forged changes anything");
    assert!(of(Attempt::Edited).accepted * 20 > of(Attempt::Edited).made, "some runs are carried over:\n{table}");
    assert!(adversary.ended * 4 > adversary.runs, "many runs come to their end:\n{table}");
}

#[test]
fn a_run_is_not_carried_over_to_where_no_way_leads() {
    let file = |first: &str| {
        let nodes = json!({ "start": { "type": "start" }, "work": { "type": "task" }, "done": { "type": "end" } });
        let edges = json!([{ "from": "start", "to": first }, { "from": "work", "to": "done" }]);
        json!({ "id": "flow0", "nodes": nodes, "edges": edges })
    };
    let (then, now) = (repaired(&[file("work")]).expect("it runs"), repaired(&[file("done")]).expect("it runs"));
    let mut walk = Walk::open(&then, Rules::default());
    walk.happen(&by_agent(EventKind::Begun { revision: None })).expect("it begins");
    assert_eq!(migrate(&then, &now, &walk.run), Err("`work` can no longer be reached from the start".to_owned()));
}

impl Adversary {
    fn of(seed: u64) -> Adversary {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let runner = TestRunner::new_with_rng(Config::default(), rng);
        Adversary { runner, counts: BTreeMap::new(), runs: 0, ended: 0 }
    }

    fn made(&self) -> u64 {
        self.counts.values().map(|count| count.made).sum()
    }

    fn table(&self) -> String {
        let line = |(attempt, count): (&Attempt, &Count)| {
            format!(
                "{:<11} {:>8} made {:>8} accepted {:>8} changed",
                format!("{attempt:?}"),
                count.made,
                count.accepted,
                count.changed
            )
        };
        let lines: Vec<String> = self.counts.iter().map(line).collect();
        format!("{}\n{} runs, {} of them ended", lines.join("\n"), self.runs, self.ended)
    }

    fn below(&mut self, choices: usize) -> usize {
        self.runner.rng().next_u32() as usize % choices.max(1)
    }

    fn pick<'c, T>(&mut self, from: &'c [T]) -> &'c T {
        &from[self.below(from.len())]
    }

    fn files(&mut self) -> Files {
        match self.below(7) {
            0..=2 => current(&generate::files(), &mut self.runner),
            3..=5 => current(&activities::files(), &mut self.runner),
            _ => current(&activities::phases(), &mut self.runner),
        }
    }

    /// Everything that is tried on the runs of one definition.
    fn attack(&mut self) {
        let files = self.files();
        let Some(workflow) = workflow(&files.0) else { return };
        (0..RUNS).for_each(|_| self.attack_run(&files, &workflow));
    }

    fn attack_run(&mut self, files: &Files, workflow: &Workflow) {
        let rules = Rules {
            human: *self.pick(&[Human::Attested, Human::Verified]),
            branches: *self.pick(&[Branches::Inside, Branches::Inside, Branches::Outside]),
            is_branch: false,
        };
        let opening = Opening { rules, input: Some(Arc::new(input(workflow))), ..Opening::of(workflow.id().clone()) };
        let mut walk = Walk::opened(workflow, &opening);
        let mut shown = Shown::default();
        let mut past = Vec::new();
        self.runs += 1;
        for _ in 0..ATTEMPTS {
            if walk.run.is_over() {
                self.ended += 1;
                break;
            }
            let attempt = self.attempt();
            match attempt {
                Attempt::Elsewhere => self.begin_elsewhere(workflow, &opening),
                Attempt::Edited => self.edit(files, &walk, &shown),
                _ => {
                    if let Some(event) = self.event(attempt, &walk, &past) {
                        self.make(attempt, &event, &mut walk, &mut shown);
                        past.push(event);
                    }
                }
            }
        }
        assert_eq!(Run::fold(&walk.journal).as_ref(), Some(&walk.run), "the run is the fold of its journal");
    }

    fn attempt(&mut self) -> Attempt {
        let all: u32 = SHARES.iter().map(|(_, share)| share).sum();
        let mut at = self.below(all as usize) as u32;
        let found = SHARES.iter().find(|(_, share)| match at.checked_sub(*share) {
            Some(rest) => {
                at = rest;
                false
            }
            None => true,
        });
        found.map_or(Attempt::Offered, |(attempt, _)| *attempt)
    }

    fn make(&mut self, attempt: Attempt, event: &Event, walk: &mut Walk<'_>, shown: &mut Shown) {
        let before = walk.run.clone();
        let decided = walk.take(event);
        let changed = decided.as_ref().is_ok_and(|changes| !changes.is_empty());
        if changed {
            shown.take(&before, event, walk);
            knows_how_to_go_on(walk);
            assert_eq!(fits(walk.workflow, &walk.run), Ok(()), "the run fits its workflow");
        } else {
            assert_eq!(walk.run, before, "what is refused changes nothing");
        }
        if let (Attempt::Offered, Err(rejection)) = (attempt, &decided) {
            panic!("{event:?} was offered at {:?}: {rejection:?}", before.root);
        }
        self.count(attempt, decided.is_ok(), changed);
    }

    fn count(&mut self, attempt: Attempt, accepted: bool, changed: bool) {
        let count = self.counts.entry(attempt).or_default();
        count.made += 1;
        count.accepted += u64::from(accepted);
        count.changed += u64::from(changed);
    }

    /// Something to try; nothing where there is nothing of the kind.
    fn event(&mut self, attempt: Attempt, walk: &Walk<'_>, past: &[Event]) -> Option<Event> {
        match attempt {
            Attempt::Offered => self.offered(walk),
            Attempt::Verdict => {
                let pending = walk.pending();
                let effect = (!pending.is_empty()).then(|| self.pick(&pending).clone())?;
                let verdict = match self.below(8) {
                    0 | 1 => broken(),
                    2 => Verdict::ForPerson { reason: "nobody says how".to_owned() },
                    _ => Verdict::Held,
                };
                Some(by_agent(effect.settled(verdict, 0)))
            }
            Attempt::NotOffered => self.not_offered(walk),
            Attempt::Stale => {
                let mut event = self.offered(walk)?;
                let off = 1 + self.below(3) as u64;
                let (EventKind::Reported { revision, .. } | EventKind::Begun { revision }) = &mut event.what else {
                    return None;
                };
                *revision = revision.map(|revision| if off == 1 { revision + off } else { revision.wrapping_sub(off) });
                Some(event)
            }
            Attempt::Forged => Some(self.forged(walk)),
            Attempt::Repeated => (!past.is_empty()).then(|| self.pick(past).clone()),
            Attempt::BadValues => {
                let mut event = self.offered(walk)?;
                let EventKind::Reported { outputs, .. } = &mut event.what else { return None };
                let bad = [
                    json!([]),
                    json!({ "b": "text" }),
                    json!({ "nobody": 1 }),
                    json!({ "n": null }),
                    json!({ "list": { "a": 1 } }),
                ];
                *outputs = Some(Arc::new(self.pick(&bad).clone()));
                Some(event)
            }
            Attempt::Elsewhere | Attempt::Edited => None,
        }
    }

    /// One of the offers, as a person makes it, or where that counts as well an agent, with values that its step may give.
    fn offered(&mut self, walk: &Walk<'_>) -> Option<Event> {
        let offers = walk.offers();
        let (path, offer) = (!offers.is_empty()).then(|| self.pick(&offers).clone())?;
        let is_call_off = matches!(&offer.what, EventKind::Reported { outcome, .. } if outcome.as_str() == "cancelled");
        if is_call_off && self.below(20) > 0 {
            return None;
        }
        let mut event = offer;
        let frame = walk.run.frame(&path)?;
        let by_word = match &frame.place {
            Place::Waiting { on: WaitingFor::Unchecked, .. } => false,
            Place::Waiting { .. } => walk.run.opening.rules.human == Human::Attested,
            _ => true,
        };
        if by_word && self.below(2) == 0 {
            event = by_agent(event.what);
        }
        if let (EventKind::Reported { outputs, .. }, Place::Ready { node }) = (&mut event.what, &frame.place) {
            *outputs = given(walk.workflow, &frame.flow, node, &mut |choices| self.below(choices)).map(Arc::new);
        }
        Some(event)
    }

    fn not_offered(&mut self, walk: &Walk<'_>) -> Option<Event> {
        let (path, word) = (self.pick(&walk.run.positions()).0.clone(), *self.pick(WORDS));
        let is_offered = walk.offers().iter().any(|(at, event)| {
            *at == path && matches!(&event.what, EventKind::Reported { outcome, .. } if outcome.as_str() == word)
        });
        let what = reported(&path, &Outcome::from(word), None);
        (!is_offered).then(|| if self.below(2) == 0 { by_agent(what) } else { by_person(what) })
    }

    /// What only the engine, the clock or a person may say, or what names what is not there.
    fn forged(&mut self, walk: &Walk<'_>) -> Event {
        let nodes: Vec<NodeId> = walk.workflow.flows().flat_map(|(_, flow)| flow.steps.keys().cloned()).collect();
        let (path, frame) = self.pick(&walk.run.positions()).clone();
        let (node, since) = (self.pick(&nodes).clone(), frame.since);
        let forged = match self.below(6) {
            0 => EventKind::Opened(walk.run.opening.clone()),
            1 => {
                let pending = walk.pending();
                let late: Vec<&EffectId> = walk.asked.iter().filter(|id| !pending.contains(id)).collect();
                let made_up = EffectId { frame: path, node, since: since + 1, part: EffectPart::Check("c0".into()) };
                let effect = if late.is_empty() { made_up } else { (*self.pick(&late)).clone() };
                effect.settled(Verdict::Held, 0)
            }
            2 => {
                let part = EffectPart::Check("no such check".into());
                EffectId { frame: path, node, since, part }.settled(Verdict::Held, 0)
            }
            3 if walk.run.opening.rules.human == Human::Verified => {
                let waits = |place: &Place| matches!(place, Place::Waiting { .. });
                let offers = walk.offers();
                let answers =
                    offers.iter().filter(|(at, _)| walk.run.frame(at).is_some_and(|frame| waits(&frame.place)));
                match answers.map(|(_, event)| event.what.clone()).next() {
                    Some(answer) => answer,
                    None => reported(&FramePath(vec![node, "nowhere".into()]), &Outcome::passed(), None),
                }
            }
            4 if !matches!(walk.run.root.place, Place::Gathering { .. }) => {
                EventKind::Gathered { branches: vec![(node, Outcome::passed())] }
            }
            // Before it is due, or at what answers itself never.
            5 => {
                let node = frame.place.node().clone();
                EffectId { frame: path, node, since, part: EffectPart::Timer }.settled(EffectResult::Due, 0)
            }
            _ => {
                let nowhere = FramePath([path.0.as_slice(), &[node, "nowhere".into()]].concat());
                reported(&nowhere, &Outcome::passed(), None)
            }
        };
        by_agent(forged)
    }

    /// A run is begun where an agent may begin one: nothing that asks for anything may be behind it.
    fn begin_elsewhere(&mut self, workflow: &Workflow, opening: &Opening) {
        let nodes: Vec<&NodeId> = workflow.root().steps.keys().collect();
        let at = (*self.pick(&nodes)).clone();
        let may = workflow.root().step(&at).node.kind.can_begin() && workflow.passed_over(&at).is_none();
        if may {
            Shown::default().begins_behind_nothing(workflow, &at);
        }
        let opening = Opening { at: Some(at), ..opening.clone() };
        let opened = open(workflow, &opening);
        if opened.is_ok() {
            crate::promises::is_not_stranded(&Walk::opened(workflow, &opening));
        }
        self.count(Attempt::Elsewhere, may && opened.is_ok(), opened.is_ok());
    }

    /// The definition is edited, and the run is to go on by it.
    fn edit(&mut self, files: &Files, walk: &Walk<'_>, shown: &Shown) {
        let mut edited = files.clone();
        for _ in 0..1 + self.below(2) {
            let at = self.below(edited.0.len());
            self.wound(&mut edited.0[at]);
        }
        let migrated = workflow(&edited.0).map(|now| (migrate(walk.workflow, &now, &walk.run), now));
        let carried = matches!(migrated, Some((Ok(_), _)));
        if let Some((Ok(run), now)) = migrated {
            shown.under_another().is_behind_nothing_unshown(&now, &run);
            crate::promises::is_not_stranded(&Walk { workflow: &now, run, journal: Vec::new(), asked: Vec::new() });
        }
        self.count(Attempt::Edited, carried, carried);
    }

    /// Changes something at a random place: most of all what stands in an agent's way.
    fn wound(&mut self, file: &mut Value) {
        let mut places = Vec::new();
        collect(file, String::new(), &mut places);
        let Some(place) = (!places.is_empty()).then(|| self.pick(&places).clone()) else { return };
        let choice = self.below(5);
        let key = place.rsplit('/').next().unwrap_or_default().to_owned();
        let Some(value) = file.pointer_mut(&place) else { return };
        match (key.as_str(), choice) {
            ("accept", 0) => {
                value.as_array_mut().map(|checks| checks.push(json!({ "id": "c9", "file": "y" }))).unwrap_or_default()
            }
            ("accept", 1) => value[0]["file"] = json!("y"),
            ("type", _) if value == "gate" => *value = json!("task"),
            ("type", _) if value == "task" => *value = json!("gate"),
            ("title" | "message" | "label", _) => *value = json!("Other words"),
            ("to", _) => *value = json!(*self.pick(&["a0", "a1", "done", "w1", "w2"])),
            _ => remove(file, &place),
        }
    }
}

/// The places of a file that say something about what is asked for, and where it leads.
fn collect(value: &Value, at: String, places: &mut Vec<String>) {
    const SAY: &[&str] = &[
        "accept",
        "type",
        "to",
        "when",
        "required",
        "title",
        "message",
        "label",
        "outputs",
        "on",
        "transitions",
        "back",
        "effect",
        "maxRetries",
    ];
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let place = format!("{at}/{key}");
                if SAY.contains(&key.as_str()) {
                    places.push(place.clone());
                }
                collect(value, place, places);
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(nth, item)| collect(item, format!("{at}/{nth}"), places))
        }
        _ => {}
    }
}

fn remove(file: &mut Value, place: &str) {
    let Some((parent, key)) = place.rsplit_once('/') else { return };
    if let Some(members) = file.pointer_mut(parent).and_then(Value::as_object_mut) {
        members.remove(key);
    }
}

/// A value for each variable that a run must begin with.
pub(crate) fn input(workflow: &Workflow) -> Value {
    let required = workflow.root().variables.iter().filter(|variable| variable.required);
    let value = |kind: VariableKind| activities::value(kind.word(), 1);
    Value::Object(required.map(|variable| (variable.name.value.clone(), value(variable.kind))).collect())
}

/// Some of the values that an agent may give with what it has done at a node.
pub(crate) fn given(
    workflow: &Workflow,
    flow: &WorkflowId,
    node: &NodeId,
    below: &mut impl FnMut(usize) -> usize,
) -> Option<Value> {
    let flow = workflow.flow(flow);
    let reports = flow.step(node).node.seat.as_ref().and_then(|seat| seat.reports.clone());
    let mut values = Map::new();
    for variable in &flow.variables {
        let name = &variable.name.value;
        let may = match &reports {
            Some(reports) => reports.contains(name),
            None => {
                variable.keeper == VariableOwner::Anyone && variable.only_at.as_ref().is_none_or(|at| at.contains(node))
            }
        };
        if may && below(3) > 0 {
            values.insert(name.clone(), activities::value(variable.kind.word(), below(6)));
        }
    }
    (!values.is_empty()).then_some(Value::Object(values))
}
