//! Telling a story: the graph is YAML, the answers are one line each, and what happened is text.

use std::collections::BTreeMap;
use std::sync::Arc;

use expect_test::Expect;
use portolan_core::dialect::{self, Strictness};
use portolan_core::engine::{Effect, EffectKind, ToolCall, decide, fits, open};
use portolan_core::graph::{Graph, Workflow};
use portolan_core::run::{Actor, Change, EffectResult, Event, Fault, Opening, Place, Reply, Run};
use portolan_core::source::Source;
use portolan_core::validate;
use portolan_core::value::{NodeId, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// How long an answer takes, in milliseconds.
const ANSWER_MS: i64 = 10;

/// A story: `answers` has a line `node: JSON` for each answer, several for a node that is called more often; `node! text`
/// is a failure. A call for which nothing is left answers with its own arguments.
#[track_caller]
pub(crate) fn story(graph: &str, input: Value, answers: &str, told: Expect) {
    let straight = tell(graph, &input, answers, &mut |_| 0, |run, _| run);
    let reread = tell(graph, &input, answers, &mut |_| 0, |run, _| json(&run));
    let folded = tell(graph, &input, answers, &mut |_| 0, |_, journal| {
        Run::fold(&json(journal)).expect("a journal begins with `Opened`")
    });
    assert_eq!(straight, reread, "a run read back from JSON goes on as it would have");
    assert_eq!(straight, folded, "a run folded from its journal goes on as it would have");
    told.assert_eq(&straight);
    let end = |told: &str| told.lines().last().map(str::to_owned);
    for seed in 1..20_u64 {
        let mut chance = seed;
        let mut pick = |count: usize| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(chance >> 33).unwrap_or(0) % count
        };
        let shuffled = tell(graph, &input, answers, &mut pick, |run, _| run);
        assert_eq!(end(&straight), end(&shuffled), "the order of events changed the end:\n{shuffled}");
    }
}

/// The workflow of the first tool of a file, and those of the others for it to call.
pub(crate) fn workflow(text: &str) -> Workflow {
    let source = Source::new("story.yaml", text);
    let dialect::File { graphs, faults } = dialect::parse(&source, Strictness::Strict);
    assert!(faults.iter().all(|fault| !fault.is_error()), "the story's graph has faults: {faults:#?}");
    let library = |id: &str| -> Option<&Graph> { graphs.iter().find(|graph| graph.id.value == id) };
    let (workflow, faults) = validate::validate(&graphs[0], &library, Strictness::Strict);
    workflow.unwrap_or_else(|| panic!("the story's graph has faults: {faults:#?}"))
}

fn json<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).expect("it is JSON")).expect("it reads back")
}

struct Answers(BTreeMap<String, Vec<Reply>>);

impl Answers {
    fn read(text: &str) -> Answers {
        let mut answers: BTreeMap<String, Vec<Reply>> = BTreeMap::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let at = line.find([':', '!']).expect("a line is `node: JSON` or `node! text`");
            let (node, rest) = (line[..at].trim(), line[at + 1..].trim());
            let reply = if line.as_bytes()[at] == b'!' {
                let (node, code) = (node.to_owned(), "tool-error".to_owned());
                Reply::Failed(Fault { node, code, message: rest.to_owned(), detail: String::new() })
            } else {
                Reply::Output(Some(Arc::new(serde_json::from_str(rest).expect("an answer is JSON"))))
            };
            answers.entry(node.to_owned()).or_default().insert(0, reply);
        }
        Answers(answers)
    }

    fn to(&mut self, node: &NodeId, call: &ToolCall) -> Reply {
        let written = self.0.get_mut(node.as_str()).and_then(Vec::pop);
        written.unwrap_or_else(|| Reply::Output(Some(call.arguments.clone())))
    }
}

/// One telling. `pick` chooses among what could happen next; `restart` is what a process that comes up again has.
fn tell(
    graph: &str,
    input: &Value,
    answers: &str,
    pick: &mut dyn FnMut(usize) -> usize,
    restart: impl Fn(Run, &Vec<Change>) -> Run,
) -> String {
    let workflow = workflow(graph);
    let mut answers = Answers::read(answers);
    let since = Some(Timestamp(0));
    let opening = Opening { input: Some(Arc::new(input.clone())), since, ..Opening::of(workflow.id().clone()) };
    let mut journal = match open(&workflow, &opening) {
        Ok(changes) => changes,
        Err(rejection) => return format!("refused {}: {rejection}\n", rejection.why.code()),
    };
    let mut run = Run::fold(&journal).expect("opening a run opens it");
    let mut told = String::new();
    let mut clock = 0;
    for _ in 0..20_000 {
        run = restart(run, &journal);
        fits(&workflow, &run).expect("a run fits its workflow");
        let pending = run.pending(&workflow);
        if pending.is_empty() || run.is_over() {
            told.push_str(&ending(&run));
            return told;
        }
        let effect = &pending[pick(pending.len())];
        let what = match effect {
            Effect { id, what: EffectKind::Advance, .. } => id.clone().settled(EffectResult::Due, 0),
            Effect { id, what: EffectKind::Call(call), not_before, .. } => {
                clock = clock.max(not_before.map_or(0, |time| time.0)) + ANSWER_MS;
                let reply = answers.to(effect.node(), call);
                told.push_str(&format!("  {}.{} {}\n", call.server, call.tool, call.arguments));
                id.clone().settled(reply, 0)
            }
            other => return format!("{told}waits: {other:?}\n"),
        };
        let event: Event = json(&Event { at: Timestamp(clock), by: Actor::Engine, what });
        let changes = decide(&workflow, &run, &event).expect("what is pending is accepted");
        assert!(!changes.is_empty(), "what is pending leads on: {event:?}");
        let again = decide(&workflow, &run, &event).expect("what is pending is accepted");
        assert_eq!(changes, again, "the same event decides the same");
        for change in &changes {
            told.push_str(&line(change, clock));
            run.apply(change);
        }
        // A late answer to the same call, and a second passage of the same node, change nothing.
        assert_eq!(decide(&workflow, &run, &event).expect("a late event is no error"), [], "settled once");
        journal.extend(changes);
    }
    panic!("the story does not end:\n{told}");
}

fn line(change: &Change, clock: i64) -> String {
    let at = |frame: &portolan_core::run::FramePath| match frame.text() {
        path if path.is_empty() => String::new(),
        path => format!("{path}/"),
    };
    match change {
        Change::Executed { frame, node, fault: Some(fault), .. } => {
            format!("{}{node} ! {} {}\n", at(frame), fault.code, fault.message)
        }
        Change::Executed { frame, node, output, .. } => {
            let output = output.as_ref().map_or_else(|| "undefined".to_owned(), |output| output.to_string());
            format!("{}{node} = {output}\n", at(frame))
        }
        Change::Moved { place: Place::Calling { node, retries, not_before: Some(until), .. }, .. } => {
            format!("  {node} retry {retries} after {} ms\n", until.0 - clock)
        }
        _ => String::new(),
    }
}

fn ending(run: &Run) -> String {
    let data = run.root.data.as_ref().expect("a function has data");
    match (&run.root.place, &data.fault) {
        (Place::Ended { .. }, Some(fault)) => format!("failed {}\n", json!(fault)),
        (Place::Ended { result, .. }, None) => {
            let output = data.output.as_ref().map_or_else(|| "undefined".to_owned(), |output| output.to_string());
            format!("{} {output}\n", result.word())
        }
        (place, _) => format!("stopped at {place:?}\n"),
    }
}
