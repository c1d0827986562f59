//! A run that continues at random through every possible event.

use std::sync::Arc;

use fastrand::Rng;
use portolan_core::engine::{Effect, EffectKind, decide, open};
use portolan_core::graph::{VariableKind, Workflow};
use portolan_core::run::{
    Actor, Channel, EffectResult, Event, EventKind, Fault, FramePath, Move, Opening, RaisedQuestion, Reply, Run,
    Verdict, moves,
};
use portolan_core::value::Timestamp;
use serde_json::{Map, Value, json};

/// Checks of both kinds, a gate, and a small budget.
pub(super) const CHECKED: &str = r#"{
  "nodes": {
    "start": {"type": "start"},
    "work": {"type": "task", "accept": [{"id": "tests", "run": ["true"]}, {"id": "notes", "file": "notes.md"}]},
    "judge": {"type": "gate", "maxRetries": 2},
    "done": {"type": "end", "result": "success"}
  },
  "edges": [
    {"from": "start", "to": "work"},
    {"from": "work", "to": "judge"},
    {"from": "judge", "to": "done", "on": "passed"},
    {"from": "judge", "to": "work", "on": "failed"}
  ]
}"#;

pub(super) struct Walk<'w> {
    workflow: &'w Workflow,
    pub(super) run: Run,
}

impl<'w> Walk<'w> {
    pub(super) fn open(workflow: &'w Workflow, opening: &Opening) -> Walk<'w> {
        let changes = open(workflow, opening).expect("it can be opened");
        Walk { workflow, run: Run::fold(&changes).expect("it is open") }
    }

    /// Applies a random event. Returns false if no event is possible.
    pub(super) fn goes_on(&mut self, random: &mut Rng) -> bool {
        let possible = self.possible(random);
        if possible.is_empty() {
            return false;
        }
        // A refused event (a budget, an output that no step takes) is replaced by another.
        for _ in 0..20 {
            let what = possible[random.usize(..possible.len())].clone();
            if self.happen(what).is_ok() {
                return true;
            }
        }
        false
    }

    pub(super) fn happen(&mut self, what: EventKind) -> Result<(), String> {
        let by = match what {
            EventKind::Settled { .. } => Actor::Engine,
            _ => Actor::Person { name: "ada".to_owned(), via: Channel::Attested },
        };
        let event = Event { at: Timestamp(1_780_000_000_000), by, what };
        let changes = decide(self.workflow, &self.run, &event).map_err(|rejection| rejection.to_string())?;
        changes.iter().for_each(|change| self.run.apply(change));
        Ok(())
    }

    fn possible(&self, random: &mut Rng) -> Vec<EventKind> {
        let mut possible = Vec::new();
        for (path, frame) in self.run.positions() {
            let revision = Some(frame.since);
            for offer in moves(self.workflow, frame) {
                let what = self.moved(&path, &offer, revision, random);
                possible.extend([what.clone(), what]);
            }
            let options = vec!["this".into(), "jeneš".into()];
            let question = RaisedQuestion { question: "Which — \"this\"?".to_owned(), options };
            possible.push(EventKind::Raised { frame: path, revision, question });
        }
        for effect in self.run.pending(self.workflow) {
            possible.extend(performed(effect, random));
        }
        possible
    }

    fn moved(&self, path: &FramePath, offer: &Move, revision: Option<u64>, random: &mut Rng) -> EventKind {
        let Some(outcome) = offer.outcome().cloned() else { return EventKind::Begun { revision } };
        let note = random.bool().then(|| "said so".to_owned());
        // An answer has no values.
        let gives = matches!(offer, Move::Report(_)) && random.bool();
        let outputs = gives.then(|| self.outputs(random)).filter(|outputs| outputs != &json!({}));
        EventKind::Reported { frame: path.clone(), outcome, revision, note, outputs: outputs.map(Arc::new) }
    }

    /// Returns values for some of the variables.
    fn outputs(&self, random: &mut Rng) -> Value {
        let variables = self.workflow.root().variables.iter().filter(|_| random.bool());
        let variables: Vec<_> = variables.map(|variable| (variable.name.value.clone(), variable.kind)).collect();
        let values: Map<String, Value> =
            variables.into_iter().map(|(name, kind)| (name, value(kind, random))).collect();
        Value::Object(values)
    }
}

fn value(kind: VariableKind, random: &mut Rng) -> Value {
    let values = match kind {
        VariableKind::String => [json!("github"), json!(""), json!("größer: 🦀")],
        VariableKind::Number => [json!(random.i64(-3..300)), json!(random.f64()), json!(-0.0)],
        VariableKind::Boolean => [json!(true), json!(false), json!(true)],
        VariableKind::Array => [json!([]), json!(["one", 2, [3.5, null]]), json!([{"z": 1, "a": {"deep": [[]]}}])],
        VariableKind::Any => [json!("x"), json!(1), json!({})],
        VariableKind::Object => [json!({}), json!({"b": 1, "a": "yes"}), json!({"": {"": []}})],
    };
    values[random.usize(..values.len())].clone()
}

fn performed(effect: Effect, random: &mut Rng) -> Option<EventKind> {
    let reason = "exit status 1 — früh".to_owned();
    let fault = || Fault { node: "n".into(), code: "tool-error".into(), message: "no".into(), detail: String::new() };
    let (id, result) = (effect.id, effect.what);
    let result: EffectResult = match result {
        EffectKind::Check(_) => {
            let verdicts = [
                Verdict::Held,
                Verdict::Broken { reason: reason.clone(), output: "✗".into() },
                Verdict::Unknown { reason },
            ];
            verdicts[random.usize(..3)].clone().into()
        }
        EffectKind::Advance => EffectResult::Due,
        EffectKind::Call(_) => {
            let files = json!({"content": "[FILE] a\n[FILE] b\n[FILE] c\nsize: 7\n"});
            let failed = random.u8(..8) == 0;
            if failed { Reply::Failed(fault()).into() } else { Reply::Output(Some(Arc::new(files))).into() }
        }
        EffectKind::Instruct | EffectKind::Ask | EffectKind::TimeOut => return None,
        // No catalogue workflow has states.
        EffectKind::Complete(_) | EffectKind::UseTool(_) | EffectKind::Work(_) => return None,
    };
    Some(id.settled(result, random.u64(..)))
}
