//! Functions in one line a node: `id: kind what > next ! next on failure`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use portolan_core::dialect::Strictness;
use portolan_core::expr::Expr;
use portolan_core::graph::{Call, Each, Edge, EndResult, Graph, Interface, Kind, Node, Retry, Strategy, Trigger};
use portolan_core::source::{Span, Spanned};
use portolan_core::validate;
use portolan_core::value::{NodeId, Outcome};
use portolan_runtime::definition::{Bundle, Definition};
use serde_json::Value;

/// The first function of `text`, and the others for it to run. A line without indentation is a function's name.
pub(crate) fn definition(text: &str) -> Arc<Definition> {
    let mut graphs: Vec<Graph> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match line.trim().split_once(": ") {
            Some((id, rest)) => add(graphs.last_mut().expect("a function comes first"), id, rest),
            None => graphs.push(empty(line.trim())),
        }
    }
    let library = |id: &str| graphs.iter().find(|graph| graph.id.value == id);
    let (workflow, faults) = validate::validate(&graphs[0], &library, Strictness::Strict);
    let workflow = workflow.unwrap_or_else(|| panic!("the function has faults: {faults:#?}"));
    let root = graphs[0].id.value.clone();
    let workflows = BTreeMap::from([(root.clone(), text.to_owned())]);
    Arc::new(Definition::new(
        Bundle { root, workflows, activities: BTreeMap::new(), beside: BTreeMap::new(), attached: Vec::new() },
        workflow,
    ))
}

fn empty(name: &str) -> Graph {
    let interface = Interface::default();
    Graph { interface: Some(Arc::new(interface)), ..Graph::new(spanned(name.to_owned())) }
}

fn add(graph: &mut Graph, id: &str, rest: &str) {
    let (rest, failing) = rest.split_once(" ! ").map_or((rest, None), |(rest, to)| (rest, Some(to)));
    let (what, next) = rest.split_once(" > ").map_or((rest, ""), |(what, next)| (what, next));
    let id = NodeId::from(id);
    let to = next.split(' ').filter(|next| !next.is_empty()).map(|next| (next, Trigger::Done));
    let failed = failing.map(|to| (to, Trigger::Outcome(spanned(Outcome::failed()))));
    graph.edges.extend(to.chain(failed).map(|(to, on)| Edge {
        from: spanned(id.clone()),
        to: spanned(NodeId::from(to)),
        on,
        label: None,
        span: Span::default(),
    }));
    graph.nodes.push(Node::new(id, Span::default(), kind(what)));
}

fn kind(what: &str) -> Kind {
    let (word, rest) = what.split_once(' ').unwrap_or((what, ""));
    match word {
        "start" => Kind::Start,
        "end" => Kind::End { result: EndResult::Success, escalation: None },
        "value" => Kind::Compute(literal(rest)),
        "fork" => Kind::Fork { join: spanned(NodeId::from(rest)), max_concurrency: None },
        "join" => Kind::Join { fork: spanned(NodeId::from(rest)), strategy: Strategy::AllPass },
        "each" => {
            let (workflow, items) = rest.split_once(' ').expect("a workflow and its items");
            Kind::Each(Box::new(Each {
                items: literal(items),
                workflow: spanned(workflow.to_owned()),
                args: None,
                concurrency: NonZeroU32::MIN,
            }))
        }
        "run" => Kind::Subflow { workflow: spanned(rest.to_owned()), args: None, context: Vec::new() },
        "call" | "retry" => {
            let (tool, args) = rest.split_once(' ').expect("a tool and its arguments");
            Kind::Call(Box::new(Call {
                server: spanned("s".to_owned()),
                tool: spanned(tool.to_owned()),
                args: literal(args),
                post: None,
                retry: Retry { max: u32::from(word == "retry"), backoff_ms: 1, ..Retry::default() },
                timeout_ms: None,
                idempotent: false,
            }))
        }
        other => panic!("no kind `{other}`"),
    }
}

fn literal(text: &str) -> Expr {
    let value: Value = serde_json::from_str(text).expect("it is JSON");
    Expr::Literal(Arc::new(value))
}

fn spanned<T>(value: T) -> Spanned<T> {
    Spanned { value, span: Span::default() }
}
