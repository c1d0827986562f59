//! The exact syntax tree of a Navigator file: its fields and their types. Makes no decisions.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::{Diagnostic, clip, is_unseen, list};
use crate::dialect::checks;
use crate::graph::{CallRules, Check, EndResult, Escalation, Strategy, ToolRules};
use crate::source::fields::{FaultList, Fields, not_an_object};
use crate::source::{Span, Spanned, Tree, TreeKind};

/// The maximum number of nodes, and of edges.
const MAX_NODES: usize = 10_000;
const MAX_EDGES: usize = 50_000;
/// The maximum length of an id, in bytes.
const MAX_ID_BYTES: usize = 200;
/// The maximum number of retries, and of concurrent branches.
const MAX_COUNT: u32 = 1_000_000;
/// The maximum number of outcomes that a node may declare.
const MAX_OUTPUTS: usize = 100;

pub(super) struct File {
    pub(super) id: Option<Spanned<String>>,
    pub(super) name: Option<Spanned<String>>,
    pub(super) description: Option<Spanned<String>>,
    pub(super) nodes: Vec<Node>,
    /// The ids of nodes that could not be read.
    pub(super) unread: Vec<String>,
    pub(super) edges: Vec<Edge>,
    pub(super) call_rules: Option<Arc<CallRules>>,
}

pub(super) struct Node {
    pub(super) id: Spanned<String>,
    pub(super) name: Option<Spanned<String>>,
    pub(super) description: Option<Spanned<String>>,
    pub(super) kind: NodeType,
}

pub(super) enum NodeType {
    Start,
    End { result: Option<EndResult>, escalation: Option<Escalation> },
    Work(Box<Work>),
    Fork { join: Option<Spanned<String>>, max_concurrency: Option<Spanned<u32>>, branches: Vec<Branch> },
    Join { fork: Option<Spanned<String>>, strategy: Option<Strategy>, max_retries: Option<Spanned<u32>> },
    Subflow { workflow: Option<Spanned<String>>, work: Box<Work> },
}

#[derive(Default)]
pub(super) struct Work {
    pub(super) gate: bool,
    pub(super) instructions: Option<Spanned<String>>,
    pub(super) agent: Option<Spanned<String>>,
    pub(super) stage: Option<Spanned<String>>,
    pub(super) emoji: Option<Spanned<String>>,
    pub(super) context_files: Vec<Spanned<String>>,
    pub(super) outputs: Vec<Spanned<String>>,
    pub(super) max_retries: Option<Spanned<u32>>,
    pub(super) accept: Vec<Check>,
    pub(super) tools: Option<Box<ToolRules>>,
    pub(super) call_rules: Option<Arc<CallRules>>,
}

pub(super) struct Branch {
    pub(super) entry_step: Spanned<String>,
    pub(super) description: Option<Spanned<String>>,
}

pub(super) struct Edge {
    pub(super) span: Span,
    pub(super) from: Spanned<String>,
    pub(super) to: Spanned<String>,
    pub(super) on: Option<Spanned<String>>,
    pub(super) label: Option<Spanned<String>>,
    pub(super) condition: Option<Spanned<String>>,
}

/// Reads the syntax tree; `None` if there are no nodes to draw.
pub(super) fn read(tree: &Tree, faults: &mut FaultList) -> Option<File> {
    let mut fields = Fields::of(tree, "the workflow", faults)?;
    let id = fields.string("id", faults).filter(|id| check_id(id, "a workflow", faults));
    let name = fields.string("name", faults);
    let description = fields.string("description", faults);
    let nodes = fields.required("nodes", faults);
    let edges = fields.required("edges", faults);
    let call_rules = checks::call_rules(&mut fields);
    fields.ignored(&["$schema", "version", "metadata", "config"]);
    fields.finish(faults);
    let nodes = nodes.and_then(|tree| read_nodes(tree, faults));
    let edges = edges.and_then(|tree| read_edges(tree, faults));
    let (nodes, unread) = nodes?;
    Some(File { id, name, description, nodes, unread, edges: edges?, call_rules })
}

fn read_nodes(tree: &Tree, faults: &mut FaultList) -> Option<(Vec<Node>, Vec<String>)> {
    let Some(entries) = tree.entries() else {
        let message = format!("`nodes` must be an object from node id to node, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.span));
        return None;
    };
    if entries.len() > MAX_NODES {
        let message = format!("the workflow has {} nodes, more than the limit of {MAX_NODES}", entries.len());
        faults.push(Diagnostic::error("too-large", message).at(tree.span).help("move parts of it into subflows"));
        return None;
    }
    let mut unread = Vec::new();
    let mut nodes: IndexMap<&str, Node> = IndexMap::new();
    for entry in entries {
        let id = &entry.key;
        if nodes.contains_key(id.value.as_str()) {
            faults.push(
                Diagnostic::error("duplicate-id", format!("the node `{}` is defined twice", clip(&id.value)))
                    .at(id.span)
                    .help("give one of them another id")
                    .repaired("the last one counts"),
            );
        }
        let sound = check_id(id, "a node", faults);
        match read_node(id, &entry.value, faults).filter(|_| sound) {
            Some(node) => {
                // As in the programs that the format comes from: the position of the first, the value of the last.
                nodes.insert(&id.value, node);
            }
            None => unread.push(id.value.clone()),
        }
    }
    Some((nodes.into_values().collect(), unread))
}

fn check_id(id: &Spanned<String>, of: &str, faults: &mut FaultList) -> bool {
    let text = &id.value;
    let sound = !text.is_empty() && text.len() <= MAX_ID_BYTES && !text.contains(is_unseen);
    if !sound {
        faults.push(
            Diagnostic::error("bad-id", format!("`{}` cannot be the id of {of}", clip(text))).at(id.span).help(
                format!(
                    "an id has 1 to {MAX_ID_BYTES} bytes and no control characters; prefer letters, digits, `_` and `-`"
                ),
            ),
        );
    }
    sound
}

fn read_node(id: &Spanned<String>, tree: &Tree, faults: &mut FaultList) -> Option<Node> {
    let mut fields = Fields::of(tree, format!("node `{}`", clip(&id.value)), faults)?;
    let kind = fields.expected_string("type", WALKED_AS_TASK, faults);
    let name = fields.string("name", faults);
    let description = fields.string("description", faults);
    fields.ignored(&["metadata", "config"]);
    let kind = read_kind(id, kind, &mut fields, faults);
    fields.finish(faults);
    Some(Node { id: id.clone(), name, description, kind })
}

const WALKED_AS_TASK: &str = "it is treated as a task";
const TYPES: [&str; 7] = ["start", "end", "task", "gate", "fork", "join", "subflow"];

fn read_kind(
    id: &Spanned<String>,
    kind: Option<Spanned<String>>,
    fields: &mut Fields<'_>,
    faults: &mut FaultList,
) -> NodeType {
    match kind.as_ref().map(|kind| kind.value.as_str()) {
        Some("start") => NodeType::Start,
        Some("end") => read_end(fields, faults),
        Some("task") => NodeType::Work(Box::new(read_work(false, fields, faults))),
        Some("gate") => NodeType::Work(Box::new(read_work(true, fields, faults))),
        Some("fork") => read_fork(fields, faults),
        Some("join") => read_join(fields, faults),
        Some("subflow") => read_subflow(fields, faults),
        word => {
            if let (Some(word), Some(kind)) = (word, &kind) {
                faults.push(
                    Diagnostic::error(
                        "unknown-type",
                        format!("node `{}` has the type `{}`, which does not exist", clip(&id.value), clip(word)),
                    )
                    .at(kind.span)
                    .help(format!("the types are {}", list(&TYPES)))
                    .did_you_mean(word, TYPES)
                    .repaired(WALKED_AS_TASK),
                );
            }
            NodeType::Work(Box::new(read_work(false, fields, faults)))
        }
    }
}

fn read_subflow(fields: &mut Fields<'_>, faults: &mut FaultList) -> NodeType {
    let workflow = fields.expected_string("workflow", WALKED_AS_TASK, faults);
    if let Some(inputs) = fields.optional("inputs") {
        faults.push(
            Diagnostic::warning("inert-field", "`inputs` of a subflow have no effect: this format has no variables")
                .at(inputs.span)
                .help("move them into the `instructions` of the nodes, or keep them under `metadata`"),
        );
    }
    NodeType::Subflow { workflow, work: Box::new(read_work(false, fields, faults)) }
}

fn read_end(fields: &mut Fields<'_>, faults: &mut FaultList) -> NodeType {
    let results = [
        ("success", EndResult::Success),
        ("failure", EndResult::Failure),
        ("blocked", EndResult::Blocked),
        ("cancelled", EndResult::Cancelled),
    ];
    let escalations = [("hitl", Escalation::Hitl), ("alert", Escalation::Alert), ("ticket", Escalation::Ticket)];
    NodeType::End {
        // An invalid result has been reported; do not report it as missing as well.
        result: fields
            .choice("result", &results, faults)
            .or_else(|| fields.has("result").then_some(EndResult::Failure)),
        escalation: fields.choice("escalation", &escalations, faults),
    }
}

fn read_work(gate: bool, fields: &mut Fields<'_>, faults: &mut FaultList) -> Work {
    Work {
        gate,
        instructions: fields.string("instructions", faults),
        agent: fields.string("agent", faults),
        stage: fields.string("stage", faults),
        emoji: fields.string("emoji", faults),
        context_files: fields.strings("context_files", faults),
        outputs: read_outputs(fields, faults),
        max_retries: fields.count("maxRetries", 0..=MAX_COUNT, faults),
        accept: checks::read(fields, faults),
        tools: checks::tools(fields, faults),
        call_rules: checks::call_rules(fields),
    }
}

fn read_outputs(fields: &mut Fields<'_>, faults: &mut FaultList) -> Vec<Spanned<String>> {
    let mut outputs = fields.strings("outputs", faults);
    if let Some(extra) = outputs.get(MAX_OUTPUTS) {
        let message = format!("a node has {} outputs, more than the limit of {MAX_OUTPUTS}", outputs.len());
        faults.push(Diagnostic::error("too-large", message).at(extra.span));
        outputs.truncate(MAX_OUTPUTS);
    }
    outputs
}

fn read_fork(fields: &mut Fields<'_>, faults: &mut FaultList) -> NodeType {
    let join = fields.required_string("join", faults);
    let max_concurrency = fields.count("maxConcurrency", 1..=MAX_COUNT, faults);
    let branches = fields.optional("branches").map(|tree| read_branches(tree, faults)).unwrap_or_default();
    NodeType::Fork { join, max_concurrency, branches }
}

fn read_branches(tree: &Tree, faults: &mut FaultList) -> Vec<Branch> {
    let Some(entries) = tree.entries() else {
        let message = format!("`branches` must be an object from branch name to branch, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.span).repaired("it is ignored"));
        return Vec::new();
    };
    entries
        .iter()
        .filter_map(|entry| {
            let what = format!("branch `{}`", clip(&entry.key.value));
            let mut fields = Fields::of(&entry.value, what, faults)?;
            let entry_step = fields.required_string("entryStep", faults);
            let description = fields.string("description", faults);
            fields.ignored(&["metadata"]);
            fields.finish(faults);
            Some(Branch { entry_step: entry_step?, description })
        })
        .collect()
}

fn read_join(fields: &mut Fields<'_>, faults: &mut FaultList) -> NodeType {
    let strategies = [("all-pass", Strategy::AllPass), ("any-pass", Strategy::AnyPass)];
    NodeType::Join {
        fork: fields.required_string("fork", faults),
        strategy: fields.choice("strategy", &strategies, faults),
        max_retries: fields.count("maxRetries", 0..=MAX_COUNT, faults),
    }
}

fn read_edges(tree: &Tree, faults: &mut FaultList) -> Option<Vec<Edge>> {
    let TreeKind::Array(items) = &tree.kind else {
        let message = format!("`edges` must be an array of edges, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.span));
        return None;
    };
    if items.len() > MAX_EDGES {
        let message = format!("the workflow has {} edges, more than the limit of {MAX_EDGES}", items.len());
        faults.push(Diagnostic::error("too-large", message).at(tree.span).help("move parts of it into subflows"));
        return None;
    }
    Some(items.iter().filter_map(|item| read_edge(item, faults)).collect())
}

const LEFT_OUT: &str = "the edge is left out";

fn read_edge(tree: &Tree, faults: &mut FaultList) -> Option<Edge> {
    if tree.entries().is_none() {
        faults.push(not_an_object(tree, "the edge").repaired(LEFT_OUT));
        return None;
    }
    let mut fields = Fields::of(tree, "the edge", faults)?;
    let from = fields.expected_string("from", LEFT_OUT, faults);
    let to = fields.expected_string("to", LEFT_OUT, faults);
    let on = fields.string("on", faults).filter(|on| !on.value.is_empty());
    let label = fields.string("label", faults);
    let condition = fields.string("condition", faults);
    fields.ignored(&["metadata"]);
    fields.finish(faults);
    Some(Edge { span: tree.span, from: from?, to: to?, on, label, condition })
}
