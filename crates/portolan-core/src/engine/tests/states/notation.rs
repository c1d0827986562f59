//! A notation for states, one on each line: `name: part | part`, and edges: `a -> b`, `a -label-> b`. `end` is the end.
//!
//! Parts are `check NAME = JSONATA`, `judge NAME`, `file NAME`, `maybe NAME = JSONATA` (advisory), `tools A B`,
//! `breaking A`, `waiting B`, `retries N`, `votes N`, `turns N`, `calls N` (model calls), `visits N`, `ms N`,
//! `set NAME = JSONATA`, `function NAME`, `schema JSON`, `nobody`, `restart`, `best`, `ask`; or only `fork JOIN`,
//! `join FORK`, `any FORK`. A line `# few steps` limits the run to four nodes, `# calls N` to that many model calls. A
//! line `== NAME` begins another workflow, which `tools run:NAME` uses.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::dialect::Strictness;
use crate::expr::{Expr, Jsonata};
use crate::graph::RetryContext;
use crate::graph::{
    Bounds, CheckBy, Edge, EndResult, ExhaustionPolicy, Graph, Interface, Judge, KeyResult, KeyResultCheck, Kind, Node,
    RequestTemplate, RunLimits, State, Strategy, Trigger, Worker, Workflow,
};
use crate::schema::Schema;
use crate::source::{Span, Spanned};
use crate::validate;
use crate::value::{NodeId, Outcome};

fn spanned<T>(value: T) -> Spanned<T> {
    Spanned { value, span: Span::default() }
}

fn jsonata(text: &str) -> Expr {
    Expr::Jsonata(Jsonata::parse(text.trim()).expect("it can be read"))
}

pub(super) fn workflow(text: &str) -> Workflow {
    let mut parts = text.split("==");
    let root = graph("w", parts.next().unwrap_or_default());
    let others: Vec<Graph> = parts
        .map(|part| {
            let (name, text) = part.split_once('\n').expect("its states stand below");
            graph(name.trim(), text)
        })
        .collect();
    let library = |name: &str| others.iter().find(|graph| graph.id.value == name);
    let (workflow, faults) = validate::validate(&root, &library, Strictness::Strict);
    workflow.unwrap_or_else(|| panic!("{faults:?}"))
}

fn graph(id: &str, text: &str) -> Graph {
    let mut nodes = vec![node("start", Kind::Start)];
    let mut edges = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some((from, to)) = line.split_once("->") {
            let (from, label) = from.trim().split_once(" -").map_or((from.trim(), None), |(from, on)| (from, Some(on)));
            let on = label.map_or(Trigger::Done, |on| Trigger::Outcome(spanned(Outcome::from(on))));
            edges.push(edge(from, to.trim(), on));
            continue;
        }
        let (name, parts) = line.split_once(':').unwrap_or((line, ""));
        if nodes.len() == 1 {
            edges.push(edge("start", name, Trigger::Done));
        }
        let named = |name: &str| spanned(NodeId::from(name));
        let kind = match parts.trim().split_once(' ') {
            Some(("fork", join)) => Kind::Fork { join: named(join), max_concurrency: None },
            Some(("join", fork)) => Kind::Join { fork: named(fork), strategy: Strategy::AllPass },
            Some(("any", fork)) => Kind::Join { fork: named(fork), strategy: Strategy::AnyPass },
            _ => Kind::State(Box::new(state(parts))),
        };
        nodes.push(node(name, kind));
    }
    nodes.push(node("end", Kind::End { result: EndResult::Success, escalation: None }));
    let max_nodes = if text.contains("# few steps") { 4 } else { 1_000 };
    let calls = text.split_once("# calls ").and_then(|(_, rest)| rest.split_whitespace().next());
    let model_calls = calls.map(|calls| calls.parse().expect("a number"));
    let interface = Interface {
        limits: RunLimits { max_nodes, max_ms: u64::MAX >> 1 },
        bounds: Bounds { model_calls, ..Bounds::default() },
        waits_at_limits: true,
        ..Interface::default()
    };
    let interface = Some(Arc::new(interface));
    Graph { nodes, edges, interface, ..Graph::new(spanned(id.to_owned())) }
}

fn edge(from: &str, to: &str, on: Trigger) -> Edge {
    let span = Span::default();
    Edge { from: spanned(NodeId::from(from)), to: spanned(NodeId::from(to)), on, label: None, span }
}

fn node(id: &str, kind: Kind) -> Node {
    Node::new(id, Span::default(), kind)
}

fn state(parts: &str) -> State {
    let mut state = plain(Worker::Model(Box::default()));
    for part in parts.split('|').map(str::trim).filter(|part| !part.is_empty()) {
        read(&mut state, part);
    }
    state
}

pub(in crate::engine::tests) fn plain(work: Worker) -> State {
    State {
        objective: "do it".to_owned(),
        purpose: String::new(),
        key_results: Vec::new(),
        work,
        tools: Vec::new(),
        breaking: Vec::new(),
        waiting: Vec::new(),
        max_retries: 1,
        again: RetryContext::Continue,
        exhausted: ExhaustionPolicy::Fail,
        judge: Judge::default(),
        sets: Vec::new(),
        limits: Bounds::default(),
        way: None,
    }
}

fn read(state: &mut State, part: &str) {
    let (word, rest) = part.split_once(' ').unwrap_or((part, ""));
    let count = || rest.parse::<u32>().expect("a number");
    let some = || Some(u64::from(count()));
    let mut key_result = |name: &str, by, advisory| {
        let (name, description) = (spanned(name.trim().to_owned()), format!("it is {}", name.trim()));
        state.key_results.push(KeyResult { name, description, by, advisory, attached: false });
    };
    match word {
        "check" | "maybe" => {
            let (name, text) = rest.split_once('=').expect("a check has an expression");
            key_result(name, KeyResultCheck::Expr(jsonata(text)), word == "maybe");
        }
        "judge" => key_result(rest, KeyResultCheck::Judge, false),
        "file" => key_result(rest, KeyResultCheck::Check(CheckBy::File { path: rest.to_owned() }), false),
        "tools" => state.tools = rest.split(' ').map(|tool| spanned(tool.to_owned())).collect(),
        "retries" => state.max_retries = count(),
        "votes" => state.judge.votes = NonZeroU32::new(count()).expect("some"),
        "breaking" => state.breaking = rest.split(' ').map(|tool| spanned(tool.to_owned())).collect(),
        "waiting" => state.waiting = rest.split(' ').map(|tool| spanned(tool.to_owned())).collect(),
        "turns" => {
            state.work = Worker::Model(Box::new(RequestTemplate {
                max_turns: NonZeroU32::new(count()),
                ..RequestTemplate::default()
            }))
        }
        "calls" => state.limits.model_calls = some(),
        "visits" => state.limits.visits = some(),
        "ms" => state.limits.ms = some(),
        "set" => {
            let (name, text) = rest.split_once('=').expect("a variable has an expression");
            state.sets.push((spanned(name.trim().to_owned()), jsonata(text)));
        }
        "function" => state.work = Worker::Function(spanned(rest.to_owned())),
        "schema" => {
            let schema = Schema::compile(&serde_json::from_str(rest).expect("JSON")).expect("a schema");
            state.work =
                Worker::Model(Box::new(RequestTemplate { schema: Some(schema), ..RequestTemplate::default() }));
        }
        "nobody" => state.work = Worker::Nobody,
        "restart" => state.again = RetryContext::Restart,
        "best" => state.exhausted = ExhaustionPolicy::Best,
        "ask" => state.exhausted = ExhaustionPolicy::Ask,
        other => panic!("there is no part `{other}`"),
    }
}
