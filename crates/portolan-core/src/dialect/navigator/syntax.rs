//! An exact picture of a Navigator file: which fields there are and of what type. It decides nothing.

use crate::diagnostic::{Diagnostic, clip};
use crate::dialect::reader::{Faults, Fields};
use crate::graph::{EndResult, Escalation, Strategy};
use crate::source::{Span, Spanned, Tree, TreeKind};

/// The most nodes and edges that are read.
const MAX_NODES: usize = 10_000;
const MAX_EDGES: usize = 50_000;
/// The longest identifier, in bytes.
const MAX_ID_BYTES: usize = 200;

pub(super) struct File {
    pub(super) id: Option<Spanned<String>>,
    pub(super) name: Option<Spanned<String>>,
    pub(super) description: Option<Spanned<String>>,
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
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
}

pub(super) struct Branch {
    pub(super) entry_step: Spanned<String>,
    pub(super) description: Option<Spanned<String>>,
}

pub(super) struct Check {
    pub(super) span: Span,
    pub(super) id: Option<Spanned<String>>,
    pub(super) run: Option<Vec<Spanned<String>>>,
    pub(super) timeout_seconds: Option<Spanned<u32>>,
    pub(super) file: Option<Spanned<String>>,
}

pub(super) struct Edge {
    pub(super) span: Span,
    pub(super) from: Spanned<String>,
    pub(super) to: Spanned<String>,
    pub(super) on: Option<Spanned<String>>,
    pub(super) label: Option<Spanned<String>>,
    pub(super) condition: Option<Spanned<String>>,
}

/// Reads the picture; nothing when there are no nodes to draw.
pub(super) fn read(tree: &Tree, faults: &mut Faults) -> Option<File> {
    let mut fields = Fields::of(tree, "the workflow", faults)?;
    let id = fields.string("id", faults);
    let name = fields.string("name", faults);
    let description = fields.string("description", faults);
    let nodes = fields.required("nodes", faults);
    let edges = fields.required("edges", faults);
    fields.ignored(&["$schema", "version", "metadata", "config"]);
    fields.finish(faults);
    let nodes = read_nodes(nodes?, faults)?;
    let edges = read_edges(edges?, faults)?;
    Some(File { id, name, description, nodes, edges })
}

fn read_nodes(tree: &Tree, faults: &mut Faults) -> Option<Vec<Node>> {
    let Some(entries) = tree.entries() else {
        let message = format!("`nodes` must be an object from node id to node, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.span));
        return None;
    };
    if entries.len() > MAX_NODES {
        let message = format!("the workflow has {} nodes, more than the {MAX_NODES} that are read", entries.len());
        faults.push(Diagnostic::error("too-large", message).at(tree.span).help("move parts of it into subflows"));
        return None;
    }
    let mut seen = std::collections::BTreeSet::new();
    let mut nodes = Vec::new();
    for entry in entries {
        let id = &entry.key;
        if !seen.insert(id.value.as_str()) {
            faults.push(
                Diagnostic::error("duplicate-id", format!("the node `{}` is defined twice", clip(&id.value)))
                    .at(id.span)
                    .help("give one of them another id")
                    .repaired("the first one counts"),
            );
            continue;
        }
        check_id(id, faults);
        nodes.extend(read_node(id, &entry.value, faults));
    }
    Some(nodes)
}

fn check_id(id: &Spanned<String>, faults: &mut Faults) {
    let text = &id.value;
    if text.is_empty() || text.len() > MAX_ID_BYTES || text.chars().any(char::is_control) {
        faults.push(
            Diagnostic::error(
                "bad-id",
                format!("`{}` cannot be the id of a node", clip(&text.escape_debug().to_string())),
            )
            .at(id.span)
            .help(format!(
                "an id has 1 to {MAX_ID_BYTES} bytes and no control characters; letters, digits, `_` and `-` serve best"
            )),
        );
    }
}

fn read_node(id: &Spanned<String>, tree: &Tree, faults: &mut Faults) -> Option<Node> {
    let mut fields = Fields::of(tree, format!("node `{}`", clip(&id.value)), faults)?;
    let kind = fields.required("type", faults);
    let name = fields.string("name", faults);
    let description = fields.string("description", faults);
    fields.ignored(&["metadata", "config"]);
    let kind = read_kind(id, kind, &mut fields, faults);
    fields.finish(faults);
    Some(Node { id: id.clone(), name, description, kind })
}

const TYPES: [&str; 7] = ["start", "end", "task", "gate", "fork", "join", "subflow"];

fn read_kind(id: &Spanned<String>, kind: Option<&Tree>, fields: &mut Fields<'_>, faults: &mut Faults) -> NodeType {
    match kind.and_then(Tree::as_str) {
        Some("start") => NodeType::Start,
        Some("end") => read_end(fields, faults),
        Some("task") => NodeType::Work(Box::new(read_work(false, fields, faults))),
        Some("gate") => NodeType::Work(Box::new(read_work(true, fields, faults))),
        Some("fork") => read_fork(fields, faults),
        Some("join") => read_join(fields, faults),
        Some("subflow") => {
            let workflow = fields.required("workflow", faults).and_then(|_| fields.string("workflow", faults));
            fields.ignored(&["inputs"]);
            NodeType::Subflow { workflow, work: Box::new(read_work(false, fields, faults)) }
        }
        word => {
            if let Some(tree) = kind {
                let written = word.map_or_else(|| tree.describe().to_owned(), |word| format!("`{}`", clip(word)));
                faults.push(
                    Diagnostic::error(
                        "unknown-type",
                        format!("node `{}` has the type {written}, which does not exist", clip(&id.value)),
                    )
                    .at(tree.span)
                    .help("the types are `start`, `end`, `task`, `gate`, `fork`, `join` and `subflow`")
                    .did_you_mean(word.unwrap_or_default(), TYPES)
                    .repaired("it is walked as a task"),
                );
            }
            NodeType::Work(Box::new(read_work(false, fields, faults)))
        }
    }
}

fn read_end(fields: &mut Fields<'_>, faults: &mut Faults) -> NodeType {
    let results = [
        ("success", EndResult::Success),
        ("failure", EndResult::Failure),
        ("blocked", EndResult::Blocked),
        ("cancelled", EndResult::Cancelled),
    ];
    let escalations = [("hitl", Escalation::Hitl), ("alert", Escalation::Alert), ("ticket", Escalation::Ticket)];
    NodeType::End {
        result: fields.choice("result", &results, faults),
        escalation: fields.choice("escalation", &escalations, faults),
    }
}

fn read_work(gate: bool, fields: &mut Fields<'_>, faults: &mut Faults) -> Work {
    Work {
        gate,
        instructions: fields.string("instructions", faults),
        agent: fields.string("agent", faults),
        stage: fields.string("stage", faults),
        emoji: fields.string("emoji", faults),
        context_files: fields.strings("context_files", faults),
        outputs: fields.strings("outputs", faults),
        max_retries: fields.count("maxRetries", 0, faults),
        accept: fields.optional("accept").map(|tree| read_checks(tree, faults)).unwrap_or_default(),
    }
}

fn read_fork(fields: &mut Fields<'_>, faults: &mut Faults) -> NodeType {
    let join = fields.required("join", faults).and_then(|_| fields.string("join", faults));
    let max_concurrency = fields.count("maxConcurrency", 1, faults);
    let branches = fields.optional("branches").map(|tree| read_branches(tree, faults)).unwrap_or_default();
    NodeType::Fork { join, max_concurrency, branches }
}

fn read_branches(tree: &Tree, faults: &mut Faults) -> Vec<Branch> {
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
            let entry_step = fields.required("entryStep", faults).and_then(|_| fields.string("entryStep", faults));
            let description = fields.string("description", faults);
            fields.ignored(&["metadata"]);
            fields.finish(faults);
            Some(Branch { entry_step: entry_step?, description })
        })
        .collect()
}

fn read_join(fields: &mut Fields<'_>, faults: &mut Faults) -> NodeType {
    let strategies = [("all-pass", Strategy::AllPass), ("any-pass", Strategy::AnyPass)];
    NodeType::Join {
        fork: fields.required("fork", faults).and_then(|_| fields.string("fork", faults)),
        strategy: fields.choice("strategy", &strategies, faults),
        max_retries: fields.count("maxRetries", 0, faults),
    }
}

fn read_checks(tree: &Tree, faults: &mut Faults) -> Vec<Check> {
    let TreeKind::Array(items) = &tree.kind else {
        let message = format!("`accept` must be an array of checks, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.span));
        return Vec::new();
    };
    items
        .iter()
        .filter_map(|item| {
            let mut fields = Fields::of(item, "the check", faults)?;
            let check = Check {
                span: item.span,
                id: fields.required("id", faults).and_then(|_| fields.string("id", faults)),
                run: fields.optional("run").map(|_| fields.strings("run", faults)),
                timeout_seconds: fields.count("timeoutSeconds", 1, faults),
                file: fields.string("file", faults),
            };
            fields.finish(faults);
            Some(check)
        })
        .collect()
}

fn read_edges(tree: &Tree, faults: &mut Faults) -> Option<Vec<Edge>> {
    let TreeKind::Array(items) = &tree.kind else {
        let message = format!("`edges` must be an array of edges, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.span));
        return None;
    };
    if items.len() > MAX_EDGES {
        let message = format!("the workflow has {} edges, more than the {MAX_EDGES} that are read", items.len());
        faults.push(Diagnostic::error("too-large", message).at(tree.span).help("move parts of it into subflows"));
        return None;
    }
    Some(items.iter().filter_map(|item| read_edge(item, faults)).collect())
}

fn read_edge(tree: &Tree, faults: &mut Faults) -> Option<Edge> {
    let mut fields = Fields::of(tree, "the edge", faults)?;
    let from = fields.required("from", faults).and_then(|_| fields.string("from", faults));
    let to = fields.required("to", faults).and_then(|_| fields.string("to", faults));
    let on = fields.string("on", faults).filter(|on| !on.value.is_empty());
    let label = fields.string("label", faults);
    let condition = fields.string("condition", faults);
    fields.ignored(&["metadata"]);
    fields.finish(faults);
    Some(Edge { span: tree.span, from: from?, to: to?, on, label, condition })
}
