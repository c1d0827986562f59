//! Work, questions, calls, states, transforms, loops, forks, items and other workflows in one definition: whoever began
//! the run, each is executed, and the run survives a restart at every event.

mod generated;
mod pairs;
mod reference;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::states::answer;
use super::{json as reread, reading, step};
use crate::chat::{Arguments, Finish, ToolUse};
use crate::engine::{Effect, EffectKind, open};
use crate::graph::Workflow;
use crate::run::{
    Actor, Change, Channel, EffectResult, Event, EventKind, Fault, FramePath, Opening, Place, Reply, Run,
    ToolCallResult, WaitingFor,
};
use crate::value::{NodeId, Outcome, Timestamp};

/// The actions in each frame, in order, and the end of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Told {
    done: BTreeMap<String, Vec<String>>,
    all: Vec<String>,
    ended: String,
}

/// Settles everything that a run may wait for: work passes, questions are answered `yes`, models return the name of
/// their state, and each tool fails as often as `failures` says.
struct World<'w> {
    workflow: &'w Workflow,
    failures: BTreeMap<String, u32>,
}

impl World<'_> {
    /// Runs a definition to its end. `pick` chooses among the pending effects; `restart` returns the run that a
    /// restarted process has.
    fn run(&mut self, pick: &mut dyn FnMut(usize) -> usize, restart: impl Fn(Run, &Vec<Change>) -> Run) -> Told {
        let opening = Opening { since: Some(Timestamp(0)), ..Opening::of(self.workflow.id().clone()) };
        let mut journal = open(self.workflow, &opening).expect("it opens");
        let mut run = Run::fold(&journal).expect("it is open");
        let mut told = Told::default();
        for _ in 0..2_000 {
            run = restart(run, &journal);
            let pending = run.pending(self.workflow);
            assert_eq!(run.continues_at(), by_itself(&run, &pending), "{:?}", run.root);
            if pending.is_empty() {
                told.ended = ended(&run);
                return told;
            }
            let effect = &pending[pick(pending.len())];
            let (event, word) = self.answer(&run, effect);
            if let Some(word) = word {
                told.all.push(word.clone());
                told.done.entry(effect.id.frame.text()).or_default().push(word);
            }
            let changes =
                step(self.workflow, &mut run, &mut journal, &reread(&event)).expect("what is pending is accepted");
            assert!(!changes.is_empty(), "what is pending leads on: {event:?}");
            if let EventKind::Settled { .. } = event.what {
                let again = step(self.workflow, &mut run, &mut journal, &event).expect("it is no error");
                assert_eq!(again, [], "it is settled once");
            }
        }
        panic!("it does not end: {:?}", run.root)
    }

    /// Returns the event that settles an effect, and its text.
    fn answer(&mut self, run: &Run, effect: &Effect) -> (Event, Option<String>) {
        let node = effect.id.node.to_string();
        let settled = |result: EffectResult| by(Actor::Engine, effect.id.clone().settled(result, 0));
        match &effect.what {
            EffectKind::Advance => (settled(EffectResult::Due), None),
            EffectKind::Instruct if run.root.place == start(self.workflow) => {
                (by(agent(), EventKind::Begun { revision: None }), None)
            }
            EffectKind::Instruct => {
                (by(agent(), reported(run, &effect.id.frame, "passed")), Some(format!("do {node}")))
            }
            EffectKind::Ask => {
                let asked = run.frame(&effect.id.frame).map(|frame| &frame.place);
                let (word, said) = match asked {
                    Some(Place::Waiting { on: WaitingFor::Answer, .. }) => ("yes", format!("answer {node}")),
                    // A failed tool is retried; a node that always fails is given up.
                    _ if node.contains("bad") => ("failed", format!("give up {node}")),
                    _ => ("passed", format!("again {node}")),
                };
                let person = Actor::Person { name: "ada".to_owned(), via: Channel::CommandLine };
                (by(person, reported(run, &effect.id.frame, word)), Some(said))
            }
            EffectKind::Call(call) => {
                let left = self.failures.entry(call.tool.clone()).or_default();
                let fails = *left > 0;
                *left = left.saturating_sub(1);
                let reply = if fails {
                    let (code, message) = ("tool-error".to_owned(), "it fails".to_owned());
                    Reply::Failed(Fault { node: node.clone(), code, message, detail: String::new() })
                } else {
                    Reply::Output(Some(json!(node).into()))
                };
                (settled(reply.into()), Some(format!("call {node}")))
            }
            EffectKind::Complete(asked) => {
                // If it has tools, it uses all of them at once.
                let uses = asked.request.messages.len() == 2;
                let (arguments, tools) =
                    (Arguments::Json(Arc::new(json!({}))), asked.request.tools.iter().filter(|_| uses));
                let name = |tool: &String| tool.replace([':', '/'], "_");
                let call =
                    |tool| ToolUse { id: "x".to_owned(), name: name(tool), arguments: arguments.clone(), extra: None };
                let answered = answer(&node, tools.map(call).collect(), Finish::Stop);
                (settled(answered.into()), Some(format!("ask model for {node}")))
            }
            EffectKind::UseTool(used) => {
                let done = ToolCallResult::Output(Arc::new(json!("found")));
                (settled(EffectResult::Tool { done }), Some(format!("use {} for {node}", used.tool)))
            }
            other => panic!("nobody performs {other:?}"),
        }
    }
}

fn start(workflow: &Workflow) -> Place {
    Place::Ready { node: workflow.root().start.clone() }
}

fn agent() -> Actor {
    Actor::Agent("agent".to_owned())
}

fn by(by: Actor, what: EventKind) -> Event {
    Event { at: Timestamp(1), by, what }
}

fn reported(run: &Run, frame: &FramePath, outcome: &str) -> EventKind {
    let revision = run.frame(frame).map(|frame| frame.since);
    EventKind::Reported { frame: frame.clone(), outcome: Outcome::from(outcome), revision, note: None, outputs: None }
}

fn ended(run: &Run) -> String {
    let Place::Ended { node, result } = &run.root.place else { return format!("waits at {:?}", run.root.place) };
    let data = run.root.data.as_deref();
    let fault = data.and_then(|data| data.fault.as_ref()).map(|fault| format!(": {} {}", fault.node, fault.code));
    let output = data.and_then(|data| data.output.as_ref()).map(|output| format!(" with {output}"));
    let came = fault.or(output).unwrap_or_default();
    format!("{} at {}{came}", result.word(), NodeId::as_str(node))
}

/// Picks the first pending effect.
fn first(_: usize) -> usize {
    0
}

/// Runs a definition three times, twice with a restart before every event, and checks that the results are equal.
fn run_with_restarts(workflow: &Workflow, failures: &BTreeMap<String, u32>) -> Told {
    let world = || World { workflow, failures: failures.clone() };
    let straight = world().run(&mut first, |run, _| run);
    let read = world().run(&mut first, |run, _| reread(&run));
    let folded = world().run(&mut first, reading());
    assert_eq!(straight, read, "a run read back from JSON goes on as it would have");
    assert_eq!(straight, folded, "a run folded from its journal goes on as it would have");
    straight
}

/// Returns the time from which a run continues without an agent and without a person, by its pending effects.
fn by_itself(run: &Run, pending: &[Effect]) -> Option<Timestamp> {
    let is_claimed = |effect: &&Effect| {
        let place = run.frame(&effect.id.frame).map(|frame| &frame.place);
        !matches!(place, Some(Place::Checking { .. }))
    };
    let is_left = |effect: &&Effect| !matches!(effect.what, EffectKind::Instruct | EffectKind::Ask);
    let times = pending.iter().filter(is_left).filter(is_claimed);
    times.map(|effect| effect.not_before.unwrap_or(Timestamp(i64::MIN))).min_by_key(|time| time.0)
}
