//! Lowers the syntax tree of a Navigator file to the graph.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use super::super::checks;
use super::syntax::{self, NodeType, Work};
use crate::diagnostic::{Diagnostic, clip};
use crate::dialect::{File, Strictness};
use crate::graph::{Brief, Edge, EndResult, Escalation, Graph, Kind, Node, Trigger};
use crate::source::fields::FaultList;
use crate::source::{Source, Span, Spanned, Tree};
use crate::value::{NodeId, Outcome};

/// Lowers a parsed Navigator file.
///
/// Returns a graph whenever `nodes` and `edges` could be read, with faults or without.
pub(super) fn lower(source: &Source, tree: &Tree, strictness: Strictness) -> File {
    let mut faults = FaultList::default();
    let graph = syntax::read(tree, &mut faults).map(|file| lower_file(source, file, &mut faults));
    File::of(graph, strictness.weigh(faults))
}

fn lower_file(source: &Source, file: syntax::File, faults: &mut FaultList) -> Graph {
    let id = workflow_id(source, &file, faults);
    let leaving: BTreeSet<String> = file.edges.iter().map(|edge| edge.from.value.clone()).collect();
    let mut edges: Vec<Edge> = file.edges.into_iter().map(|edge| lower_edge(edge, faults)).collect();
    edges.extend(edges_of_branches(&file.nodes, &edges));
    let mut unread: BTreeSet<NodeId> = file.unread.into_iter().map(NodeId::from).collect();
    let mut nodes = Vec::new();
    for node in file.nodes {
        let id = NodeId::from(node.id.value.as_str());
        match lower_node(node, &leaving, faults) {
            Some(node) => nodes.push(node),
            None => {
                unread.insert(id);
            }
        }
    }
    let graph = Graph {
        name: file.name.map_or_else(|| id.value.clone(), |name| name.value),
        description: file.description.map(|text| text.value).unwrap_or_default(),
        nodes,
        edges,
        unread,
        call_rules: file.call_rules,
        ..Graph::new(id)
    };
    checks::declared(graph, faults)
}

/// Returns the id that the file gives. It must be the name of the file, by which `Init` finds it.
fn workflow_id(source: &Source, file: &syntax::File, faults: &mut FaultList) -> Spanned<String> {
    let stem = source.stem().map(str::to_owned);
    match (&file.id, stem) {
        (Some(id), Some(stem)) if id.value != stem => {
            faults.push(
                Diagnostic::error(
                    "id-file-name",
                    format!("the workflow has the id `{}`, but its file is called `{}`", clip(&id.value), clip(&stem)),
                )
                .at(id.span)
                .help("use the same name for both: a workflow is found by the name of its file")
                .repaired("the name of the file is used"),
            );
            Spanned { value: stem, span: id.span }
        }
        (Some(id), _) => id.clone(),
        (None, stem) => Spanned { value: stem.unwrap_or_else(|| "workflow".to_owned()), span: Span::default() },
    }
}

fn lower_edge(edge: syntax::Edge, faults: &mut FaultList) -> Edge {
    if let Some(condition) = &edge.condition {
        faults.push(
            Diagnostic::warning(
                "inert-field",
                "`condition` of an edge is for readers: this format does not evaluate it",
            )
            .at(condition.span)
            .help("declare `outputs` at the node, and set `on` of the edge to the outcome that it is for"),
        );
    }
    Edge {
        from: node_id(edge.from),
        to: node_id(edge.to),
        on: match edge.on {
            Some(on) => Trigger::Outcome(Spanned { value: Outcome::from(on.value), span: on.span }),
            None => Trigger::Done,
        },
        label: edge.label.map(|label| label.value),
        span: edge.span,
    }
}

/// Returns the edges of branches that a fork lists instead of drawing an edge to each.
fn edges_of_branches(nodes: &[syntax::Node], drawn: &[Edge]) -> Vec<Edge> {
    let drawn: BTreeSet<(&str, &str)> =
        drawn.iter().map(|edge| (edge.from.value.as_str(), edge.to.value.as_str())).collect();
    let mut edges = Vec::new();
    for node in nodes {
        let NodeType::Fork { branches, .. } = &node.kind else { continue };
        for branch in branches {
            if !drawn.contains(&(node.id.value.as_str(), branch.entry_step.value.as_str())) {
                edges.push(Edge {
                    from: node_id(node.id.clone()),
                    to: node_id(branch.entry_step.clone()),
                    on: Trigger::Done,
                    label: branch.description.as_ref().map(|text| text.value.clone()),
                    span: branch.entry_step.span,
                });
            }
        }
    }
    edges
}

fn lower_node(node: syntax::Node, leaving: &BTreeSet<String>, faults: &mut FaultList) -> Option<Node> {
    let mut brief = Brief { description: node.description.map(|text| text.value), ..Brief::default() };
    let mut accept = Vec::new();
    let (mut max_retries, mut tools, mut call_rules) = (None, None, None);
    let kind = match node.kind {
        NodeType::Start => Kind::Start,
        NodeType::End { result, escalation } => lower_end(&node.id, result, escalation, leaving, faults),
        NodeType::Fork { join, max_concurrency, .. } => Kind::Fork {
            join: node_id(join?),
            max_concurrency: max_concurrency.and_then(|count| NonZeroU32::new(count.value)),
        },
        NodeType::Join { fork, strategy, max_retries: retries } => {
            max_retries = retries;
            Kind::Join { fork: node_id(fork?), strategy: strategy.unwrap_or_default() }
        }
        NodeType::Work(mut work) => {
            accept = std::mem::take(&mut work.accept);
            tools = work.tools.take();
            call_rules = work.call_rules.take();
            max_retries = work.max_retries.take();
            let outputs = std::mem::take(&mut work.outputs).into_iter().map(spanned).collect();
            let gate = work.gate;
            tell(&mut brief, *work);
            Kind::Work { gate, outputs }
        }
        NodeType::Subflow { workflow, mut work } => {
            max_retries = work.max_retries.take();
            call_rules = work.call_rules.take();
            refuse_on_subflow(node.id.span, &work, faults);
            tell(&mut brief, *work);
            match workflow {
                Some(workflow) => Kind::Subflow { workflow, args: None, context: Vec::new() },
                None => Kind::Work { gate: false, outputs: Vec::new() },
            }
        }
    };
    Some(Node {
        name: node.name.map_or_else(|| node.id.value.clone(), |name| name.value),
        brief,
        accept,
        max_retries,
        tools,
        call_rules,
        ..Node::new(node.id.value, node.id.span, kind)
    })
}

/// Lowers an end. One with the escalation `hitl` and an outgoing edge is a question; on other ends an outgoing edge is
/// a fault.
fn lower_end(
    id: &Spanned<String>,
    result: Option<EndResult>,
    escalation: Option<Escalation>,
    leaving: &BTreeSet<String>,
    faults: &mut FaultList,
) -> Kind {
    let goes_on = leaving.contains(&id.value);
    if goes_on && escalation != Some(Escalation::Hitl) {
        faults.push(
            Diagnostic::error("edge-from-end", format!("an edge starts at `{}`, which is an end", clip(&id.value)))
                .at(id.span)
                .help("remove the edge, or make the node an end with `\"escalation\": \"hitl\"`, which asks a person and continues")
                .repaired("it asks a person and continues"),
        );
    }
    if goes_on {
        return Kind::Checkpoint { escalation, question: None };
    }
    if result.is_none() {
        faults.push(
            Diagnostic::error("missing-field", format!("node `{}` is an end without a `result`", clip(&id.value)))
                .at(id.span)
                .help("write `\"result\": \"success\"`, or `failure`, `blocked` or `cancelled`")
                .repaired("it counts as a failure"),
        );
    }
    Kind::End { result: result.unwrap_or(EndResult::Failure), escalation }
}

fn tell(brief: &mut Brief, work: Work) {
    brief.instructions = work.instructions.map(|text| text.value);
    brief.agent = work.agent.map(|text| text.value);
    brief.stage = work.stage.map(|text| text.value);
    brief.emoji = work.emoji.map(|text| text.value);
    brief.context_files = work.context_files.into_iter().map(|file| file.value).collect();
}

fn refuse_on_subflow(at: Span, work: &Work, faults: &mut FaultList) {
    if let Some(check) = work.accept.first() {
        faults.push(
            Diagnostic::error("unknown-field", "a subflow has no `accept`: its own nodes carry the checks")
                .at(check.span)
                .help("move the checks to the last task or gate of the workflow that it runs"),
        );
    }
    if work.tools.is_some() {
        faults.push(
            Diagnostic::error(
                "unknown-field",
                "a subflow has no `allow` and no `deny`: its own nodes say what is allowed",
            )
            .at(at)
            .help("move them to the nodes of the workflow that it runs, or write `guards` on the subflow"),
        );
    }
    if let Some(output) = work.outputs.first() {
        faults.push(
            Diagnostic::error(
                "unknown-field",
                "a subflow has no `outputs`: it passes or fails with the workflow that it runs",
            )
            .at(output.span)
            .repaired("it is ignored"),
        );
    }
}

fn node_id(text: Spanned<String>) -> Spanned<NodeId> {
    spanned(text)
}

fn spanned<T: From<String>>(text: Spanned<String>) -> Spanned<T> {
    Spanned { value: T::from(text.value), span: text.span }
}
