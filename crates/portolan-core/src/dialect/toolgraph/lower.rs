//! Lowers the syntax tree of a file to graphs, one for each tool.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::lints;
use super::nodes::{Condition, Node, NodeType, Target};
use super::syntax::{File, Tool};
use crate::diagnostic::{Diagnostic, clip};
use crate::dialect::nodes::{Joins, unpaired};
use crate::graph::{
    self, Brief, Edge, EndResult, FileSettings, Graph, Interface, Kind, RunLimits, Server, State, Trigger,
};
use crate::source::fields::FaultList;
use crate::source::{Span, Spanned};
use crate::value::{NodeId, Outcome};

/// The maximum number of shared nodes, or of servers, counted once for each tool.
const MAX_SHARED: usize = 1_000_000;

pub(super) fn graphs(file: File, faults: &mut FaultList) -> Vec<Graph> {
    let File { face, servers, unread_servers, limits, redact, tools, shared, broken } = file;
    let names: Vec<String> = tools.iter().map(|tool| tool.name.value.clone()).collect();
    let common = Common { face, servers, unread_servers, limits, redact, beside: shared.is_some(), names, broken };
    let shared = shared.unwrap_or_default();
    // Each tool gets its own copy of what it shares with the others.
    if tools.len().saturating_mul(shared.len().max(common.servers.len())) > MAX_SHARED {
        let message = format!("{} tools share too many nodes or servers", tools.len());
        faults.push(Diagnostic::error("too-large", message).help("put some of the tools into files of their own"));
        return Vec::new();
    }
    tools.into_iter().map(|tool| common.graph(tool, &shared, faults)).collect()
}

/// The data that all tools of a file share.
struct Common {
    face: graph::Face,
    servers: Vec<Server>,
    unread_servers: BTreeSet<String>,
    limits: RunLimits,
    redact: Vec<String>,
    beside: bool,
    names: Vec<String>,
    broken: Option<String>,
}

impl Common {
    fn graph(&self, tool: Tool, shared: &[Node], faults: &mut FaultList) -> Graph {
        let before = faults.0.len();
        let nodes: Vec<&Node> = if self.beside { own(&tool, shared, faults) } else { tool.nodes.iter().collect() };
        if tool.broken.is_none() && faults.0.len() == before {
            ends(&tool, &nodes, faults);
        }
        self.lint(&tool, &nodes, faults);
        let joins = joins(&nodes);
        let ids: BTreeSet<&str> = nodes.iter().map(|node| node.id.value.as_str()).collect();
        let doubtful = nodes.iter().any(|node| node.kind.is_none()) || joins.names().any(|id| !ids.contains(id));
        let mut drawing =
            Drawing { common: self, purpose: &tool.description, doubtful, joins, edges: Vec::new(), faults };
        let mut unread = BTreeSet::new();
        let mut drawn = Vec::new();
        for node in &nodes {
            if node.is_open {
                unread.insert(node_id(&node.id));
            }
            match drawing.node(node) {
                Some(node) => drawn.push(node),
                None => drop(unread.insert(node_id(&node.id))),
            }
        }
        let edges = drawing.edges;
        let found = faults.0[before..].iter().find(|fault| fault.is_error()).map(|fault| fault.message.clone());
        let interface = Interface {
            title: tool.title.clone(),
            input: tool.input,
            output: tool.output,
            annotations: tool.annotations,
            limits: self.limits,
            ..Interface::default()
        };
        let settings = FileSettings {
            model: None,
            servers: self.servers.clone(),
            unread_servers: self.unread_servers.clone(),
            face: self.face.clone(),
            redact: self.redact.clone(),
            text_first: self.beside,
            names_input: self.beside,
        };
        Graph {
            name: tool.title.unwrap_or_else(|| tool.name.value.clone()),
            description: tool.description,
            nodes: drawn,
            edges,
            unread,
            interface: Some(Arc::new(interface)),
            settings: Arc::new(settings),
            broken: tool.broken.or(found).or_else(|| self.broken.clone()),
            ..Graph::new(tool.name)
        }
    }

    /// Reports content that loads, but does something other than it seems to.
    fn lint(&self, tool: &Tool, nodes: &[&Node], faults: &mut FaultList) {
        let mut known: BTreeSet<&str> = nodes.iter().map(|node| node.id.value.as_str()).collect();
        if self.beside {
            known.insert("input");
        }
        // The variables that states set.
        if nodes.iter().any(|node| matches!(node.kind, Some(NodeType::State(_)))) {
            known.insert("shared");
        }
        let mentions = nodes.iter().flat_map(|node| &node.mentions);
        lints::unknown_names(&tool.name.value, mentions, &known, faults);
        let exits = nodes.iter().filter(|node| matches!(node.kind, Some(NodeType::Exit)));
        let exits: BTreeSet<&str> = exits.map(|node| node.id.value.as_str()).collect();
        for node in nodes.iter().filter(|node| matches!(node.kind, Some(NodeType::Switch(_)))) {
            let Some(to) = ways(node).into_iter().find(|to| exits.contains(to.value.as_str())) else { continue };
            let message = format!(
                "the switch `{}` leads to the exit, so the result is the text `{}`",
                clip(&node.id.value),
                clip(&to.value)
            );
            let fault = Diagnostic::warning("switch-result", message).at(to.span);
            faults.push(fault.help(
                "put a `transform` between them that makes the result: the output of a switch is the id that it chose",
            ));
        }
    }
}

/// Returns the nodes beside the tools that belong to a tool: those reachable from its entry, its exit and the nodes
/// that name it.
fn own<'n>(tool: &'n Tool, shared: &'n [Node], faults: &mut FaultList) -> Vec<&'n Node> {
    let by_id: BTreeMap<&str, &Node> = shared.iter().map(|node| (node.id.value.as_str(), node)).collect();
    let belongs = |node: &&Node| node.tool.as_ref().is_some_and(|of| of.value == tool.name.value);
    let mut named = |key: &str, end: &'n Spanned<String>| {
        let found = by_id.get(end.value.as_str()).copied();
        if found.is_none() {
            let message = format!(
                "`{key}` of tool `{}` names `{}`, which is not defined",
                clip(&tool.name.value),
                clip(&end.value)
            );
            let fault = Diagnostic::error("unknown-node", message).at(end.span);
            let fault = fault.help("name one of the nodes beside the tools");
            faults.push(fault.did_you_mean(&end.value, by_id.keys().copied()));
        }
        found
    };
    let entry = match &tool.entry {
        Some(end) => named("entryNode", end),
        None => shared.iter().find(|node| belongs(node) && matches!(node.kind, Some(NodeType::Entry))),
    };
    let exit = tool.exit.as_ref().and_then(|end| named("exitNode", end));
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    let mut waiting: Vec<&str> = entry.map(|node| node.id.value.as_str()).into_iter().collect();
    waiting.extend(exit.into_iter().chain(shared.iter().filter(belongs)).map(|node| node.id.value.as_str()));
    while let Some(id) = waiting.pop() {
        let Some(node) = by_id.get(id) else { continue };
        if reached.insert(node.id.value.as_str()) {
            waiting.extend(leads_to(node));
        }
    }
    shared.iter().filter(|node| reached.contains(node.id.value.as_str())).collect()
}

/// Returns every node that a node names.
fn leads_to(node: &Node) -> Vec<&str> {
    let mut names = ways(node);
    names.extend(&node.on_error);
    if let Some(NodeType::Parallel(fork)) = &node.kind {
        names.extend(fork.branches.iter().chain([&fork.join]));
    }
    names.into_iter().map(|name| name.value.as_str()).collect()
}

/// Returns the targets of a node's success.
fn ways(node: &Node) -> Vec<&Spanned<String>> {
    let mut ways: Vec<&Spanned<String>> = node.next.iter().collect();
    if let Some(NodeType::Switch(conditions)) = &node.kind {
        ways.extend(conditions.iter().map(|condition| &condition.next));
    }
    ways
}

/// Reports a missing or a second entry or exit.
fn ends(tool: &Tool, nodes: &[&Node], faults: &mut FaultList) {
    for (word, wanted) in [("entry", true), ("exit", false)] {
        let is_one = |node: &&&Node| match &node.kind {
            Some(NodeType::Entry) => wanted,
            Some(NodeType::Exit) => !wanted,
            _ => false,
        };
        let mut found = nodes.iter().filter(is_one);
        let Some(first) = found.next() else {
            let (code, does) = if wanted { ("no-entry", "begins") } else { ("no-exit", "ends") };
            let message = format!("tool `{}` has no node of the type `{word}`", tool.name.value);
            let fault = Diagnostic::error(code, message).at(tool.name.span);
            faults.push(fault.help(format!("add the node at which it {does}: `{{ id: {word}, type: {word} … }}`")));
            continue;
        };
        for other in found {
            let code = if wanted { "several-entries" } else { "several-exits" };
            let message = format!("`{}` is a second {word}; the first is `{}`", other.id.value, first.id.value);
            faults.push(Diagnostic::error(code, message).at(other.id.span).help("keep one of them"));
        }
    }
}

/// Returns the `parallel` of each join.
fn joins(nodes: &[&Node]) -> Joins {
    Joins::of(nodes.iter().filter_map(|node| match &node.kind {
        Some(NodeType::Parallel(fork)) => Some((&node.id, fork)),
        _ => None,
    }))
}

fn node_id(id: &Spanned<String>) -> NodeId {
    NodeId::from(id.value.as_str())
}

/// The graph of one tool while it is built.
struct Drawing<'d> {
    common: &'d Common,
    /// The purpose of the tool.
    purpose: &'d str,
    /// Whether a `parallel` could not be read, or names no node as its join: then any join may be the one it means.
    doubtful: bool,
    joins: Joins,
    edges: Vec<Edge>,
    faults: &'d mut FaultList,
}

impl Drawing<'_> {
    fn node(&mut self, node: &Node) -> Option<graph::Node> {
        let kind = self.kind(node, node.kind.as_ref()?)?;
        // The failure edge of a `parallel` leaves its join, which collects its branches.
        let failing = match &node.kind {
            Some(NodeType::Parallel(fork)) => node_id(&fork.join),
            _ => node_id(&node.id),
        };
        if let Some(to) = &node.on_error {
            let failed = Spanned { value: Outcome::failed(), span: to.span };
            self.edge(&failing, node.id.span, to, Trigger::Outcome(failed));
        }
        if let Some(to) = node.next.as_ref().filter(|_| !matches!(node.kind, Some(NodeType::Exit))) {
            self.edge(&node_id(&node.id), node.id.span, to, Trigger::Done);
        }
        Some(graph::Node {
            name: node.name.clone().unwrap_or_else(|| node.id.value.clone()),
            brief: Brief { description: node.description.clone(), ..Brief::default() },
            ..graph::Node::new(node_id(&node.id), node.id.span, kind)
        })
    }

    fn kind(&mut self, node: &Node, kind: &NodeType) -> Option<Kind> {
        Some(match kind {
            NodeType::Entry => Kind::Start,
            NodeType::Exit => Kind::End { result: EndResult::Success, escalation: None },
            NodeType::Transform(expr) => Kind::Compute(expr.clone()),
            NodeType::Mcp(call) => Kind::Call(call.clone()),
            NodeType::State(state) => {
                Kind::State(Box::new(State { purpose: self.purpose.to_owned(), ..(**state).clone() }))
            }
            NodeType::Switch(conditions) => {
                self.guards(node, conditions);
                Kind::Switch
            }
            NodeType::Parallel(fork) => {
                for branch in &fork.branches {
                    self.edge(&node_id(&node.id), node.id.span, branch, Trigger::Done);
                }
                let join = Spanned { value: node_id(&fork.join), span: fork.join.span };
                Kind::Fork { join, max_concurrency: fork.max_concurrency }
            }
            NodeType::Join(strategy) => {
                let joined = self.joins.join(&node.id, *strategy);
                if joined.is_none() && !self.doubtful {
                    self.faults.push(unpaired(&node.id, "`parallel` node", "`parallel`"));
                }
                joined?
            }
            NodeType::Each { each, target } => Kind::Each(Box::new(graph::Each {
                items: each.items.clone(),
                workflow: self.target(node, target)?,
                args: each.args.clone(),
                concurrency: each.concurrency,
            })),
            NodeType::Call { target, args } => {
                Kind::Subflow { workflow: self.target(node, target)?, args: args.clone(), context: Vec::new() }
            }
        })
    }

    /// Returns the called workflow. Whether another workflow exists is checked later, because it may be in any file.
    fn target(&mut self, node: &Node, target: &Target) -> Option<Spanned<String>> {
        match target {
            Target::Workflow(name) => Some(name.clone()),
            Target::Tool(name) if self.common.names.contains(&name.value) => Some(name.clone()),
            Target::Tool(name) => {
                let message = format!(
                    "`{}` calls the tool `{}`, which this file does not have",
                    node.id.value,
                    clip(&name.value)
                );
                let fault = Diagnostic::error("unknown-tool", message).at(name.span);
                let fault = fault.help("name a tool of this file, or a workflow of another one with `workflow`");
                self.faults.push(fault.did_you_mean(&name.value, self.common.names.iter().map(String::as_str)));
                None
            }
        }
    }

    fn guards(&mut self, node: &Node, conditions: &[Condition]) {
        for condition in conditions {
            let guard = Trigger::When(condition.rule.clone());
            self.edge(&node_id(&node.id), condition.span, &condition.next, guard);
        }
    }

    fn edge(&mut self, from: &NodeId, span: Span, to: &Spanned<String>, on: Trigger) {
        let from = Spanned { value: from.clone(), span };
        let to = Spanned { value: node_id(to), span: to.span };
        let span = to.span;
        self.edges.push(Edge { from, to, on, label: None, span });
    }
}
