//! The exact syntax tree of a file of tool graphs: its fields and their types.

use std::collections::BTreeSet;

use serde_json::Value;

use super::lints;
use super::nodes::{self, Node};
use crate::diagnostic::{Diagnostic, clip};
use crate::dialect::nodes::{Dollar, compiled, has_expr, is_id, redact};
use crate::dialect::{Strictness, servers};
use crate::graph::{DEFAULT_MAX_MS, DEFAULT_MAX_NODES, Face, RunLimits, Server};
use crate::schema::Schema;
use crate::source::fields::{FaultList, Fields};
use crate::source::{Source, Spanned, Tree, TreeKind};

/// The maximum number of tools of a file.
const MAX_TOOLS: usize = 1_000;
/// The highest limit that can be set, so that every run ends.
const MAX_LIMIT: u32 = 1_000_000_000;

pub(super) struct File {
    pub(super) face: Face,
    pub(super) servers: Vec<Server>,
    pub(super) unread_servers: BTreeSet<String>,
    pub(super) limits: RunLimits,
    pub(super) redact: Vec<String>,
    pub(super) tools: Vec<Tool>,
    /// Nodes beside the tools, as in the design document.
    pub(super) shared: Option<Vec<Node>>,
    /// The first error of its text outside of the tools.
    pub(super) broken: Option<String>,
}

pub(super) struct Tool {
    pub(super) name: Spanned<String>,
    pub(super) title: Option<String>,
    pub(super) description: String,
    pub(super) input: Option<Spanned<Schema>>,
    pub(super) output: Option<Spanned<Schema>>,
    pub(super) annotations: Option<Value>,
    /// Its own nodes. If they are beside the tools, `entry` and `exit` name its ends.
    pub(super) nodes: Vec<Node>,
    pub(super) entry: Option<Spanned<String>>,
    pub(super) exit: Option<Spanned<String>>,
    /// The first error of its text.
    pub(super) broken: Option<String>,
}

/// The data of the whole file that its parts need.
pub(super) struct About<'f> {
    pub(super) source: &'f Source,
    pub(super) dollar: Dollar,
    /// Whether the nodes are beside the tools.
    pub(super) beside: bool,
    pub(super) strictness: Strictness,
}

impl About<'_> {
    /// Returns the first error that the strictness does not repair.
    fn broken(&self, faults: &[Diagnostic]) -> Option<String> {
        let repairs = self.strictness == Strictness::Lenient;
        let stays = |fault: &&Diagnostic| fault.is_error() && !(repairs && fault.repair.is_some());
        faults.iter().find(stays).map(|fault| fault.message.clone())
    }
}

pub(super) fn read(source: &Source, tree: &Tree, strictness: Strictness, faults: &mut FaultList) -> Option<File> {
    let mut fields = Fields::of(tree, "the file", faults)?;
    let beside = tree.get("nodes").is_some();
    let about = About { source, dollar: dollar(tree, beside), beside, strictness };
    version(&mut fields, faults);
    let face = fields.required("server", faults).and_then(|tree| read_face(tree, beside, faults));
    let (servers, unread) = read_servers(source, &mut fields, tree, faults);
    let limits = fields.optional("executionLimits").map_or_else(RunLimits::default, |tree| read_limits(tree, faults));
    let redact = redact(&mut fields, |name| lints::is_nothing_but_node(tree, name), faults);
    let shared = fields.optional("nodes").map(|tree| nodes::read(&about, tree, "the file", faults));
    let tools = fields.required("tools", faults);
    fields.ignored(&["$schema", "metadata"]);
    fields.finish(faults);
    let broken = about.broken(&faults.0);
    let tools = read_tools(&about, tools?, faults);
    let unread_servers = unread.into_iter().collect();
    Some(File { face: face.unwrap_or_default(), servers, unread_servers, limits, redact, tools, shared, broken })
}

/// Returns how `"$…"` is read: a file that uses `{expr: …}` means a text.
pub(super) fn dollar(tree: &Tree, beside: bool) -> Dollar {
    if beside {
        return Dollar::Expression;
    }
    let tools = match tree.get("tools").map(|tools| &tools.kind) {
        Some(TreeKind::Array(tools)) => tools.as_slice(),
        _ => &[],
    };
    let nodes = tools.iter().filter_map(|tool| tool.get("nodes")).filter_map(|nodes| match &nodes.kind {
        TreeKind::Array(nodes) => Some(nodes),
        _ => None,
    });
    let knows = nodes.flatten().filter_map(|node| node.get("args")).any(has_expr);
    if knows { Dollar::Text } else { Dollar::OldExpression }
}

fn version(fields: &mut Fields<'_>, faults: &mut FaultList) {
    match fields.required("version", faults) {
        Some(Tree { kind: TreeKind::Number(number), span }) => {
            let message = format!("`version` of the file must be a string, but is `{}`", clip(number));
            let fault = Diagnostic::error("wrong-type", message).at(*span);
            faults.push(fault.help(format!("write it in quotes: `version: \"{}\"`", clip(number))));
        }
        Some(_) => drop(fields.string("version", faults)),
        None => {}
    }
}

fn read_face(tree: &Tree, beside: bool, faults: &mut FaultList) -> Option<Face> {
    let mut fields = Fields::of(tree, "`server`", faults)?;
    let name = fields.required_string("name", faults);
    let version = fields.required_string("version", faults);
    let title = fields.string("title", faults);
    let instructions = fields.string("instructions", faults);
    let description = fields.string("description", faults);
    fields.finish(faults);
    if let Some(old) = description.as_ref().filter(|_| !beside) {
        let fault = Diagnostic::warning("old-spelling", "`description` of `server` is an old spelling");
        faults.push(fault.at(old.span).help("rename it to `instructions`, which is sent to clients, or `title`"));
    }
    let text = |field: Option<Spanned<String>>| field.map(|field| field.value);
    Some(Face {
        name: name?.value,
        version: text(version).unwrap_or_default(),
        title: text(title),
        instructions: text(instructions).or(text(description)),
    })
}

fn read_servers(source: &Source, fields: &mut Fields<'_>, tree: &Tree, faults: &mut FaultList) -> servers::Entries {
    let old = fields.optional("servers");
    if let Some(entry) = tree.entries().and_then(|entries| entries.iter().find(|entry| entry.key.value == "servers")) {
        let fault = Diagnostic::warning("old-spelling", "`servers` is an old spelling").at(entry.key.span);
        faults.push(fault.help("rename it to `mcpServers`"));
    }
    let (key, found) = match fields.optional("mcpServers") {
        Some(tree) => ("mcpServers", Some(tree)),
        None => ("servers", old),
    };
    found.map(|tree| servers::read(source, tree, key, faults)).unwrap_or_default()
}

fn read_limits(tree: &Tree, faults: &mut FaultList) -> RunLimits {
    let Some(mut fields) = Fields::of(tree, "`executionLimits`", faults) else { return RunLimits::default() };
    let nodes = fields.count("maxNodeExecutions", 1..=MAX_LIMIT, faults);
    let time = fields.duration_ms("maxExecutionTimeMs", 1..=u64::from(MAX_LIMIT), faults);
    fields.finish(faults);
    RunLimits {
        max_nodes: nodes.map_or(DEFAULT_MAX_NODES, |nodes| u64::from(nodes.value)),
        max_ms: time.map_or(DEFAULT_MAX_MS, |time| time.value),
    }
}

fn read_tools(about: &About<'_>, tree: &Tree, faults: &mut FaultList) -> Vec<Tool> {
    let TreeKind::Array(items) = &tree.kind else {
        let message = format!("`tools` must be an array, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.head()).help("write each tool after a `-`"));
        return Vec::new();
    };
    if items.is_empty() {
        let fault = Diagnostic::error("missing-field", "the file has no tools, so there is nothing to run");
        faults.push(fault.at(tree.head()).help("add one under `tools`, with `name`, `description` and `nodes`"));
    }
    if items.len() > MAX_TOOLS {
        let message = format!("the file has {} tools, more than the limit of {MAX_TOOLS}", items.len());
        faults.push(
            Diagnostic::error("too-large", message).at(tree.head()).help("put some of them into a file of their own"),
        );
        return Vec::new();
    }
    let mut tools: Vec<Tool> = Vec::new();
    for item in items {
        let before = faults.0.len();
        let Some(mut tool) = read_tool(about, item, faults) else { continue };
        if tools.iter().any(|known| known.name.value == tool.name.value) {
            let message = format!("the tool `{}` is defined twice", clip(&tool.name.value));
            faults.push(
                Diagnostic::error("duplicate-id", message).at(tool.name.span).help("give one of them another name"),
            );
            continue;
        }
        tool.broken = about.broken(&faults.0[before..]);
        tools.push(tool);
    }
    tools
}

fn read_tool(about: &About<'_>, tree: &Tree, faults: &mut FaultList) -> Option<Tool> {
    let named = tree
        .get("name")
        .and_then(Tree::as_str)
        .map_or_else(|| "a tool".to_owned(), |name| format!("tool `{}`", clip(name)));
    let mut fields = Fields::of(tree, named.clone(), faults)?;
    let name = fields.required_string("name", faults).filter(|name| is_id(name, "a tool", faults));
    let description = fields.required_string("description", faults);
    let title = fields.string("title", faults);
    let input = schema(&mut fields, "inputSchema", &named, tree, faults);
    let output = schema(&mut fields, "outputSchema", &named, tree, faults);
    let annotations = fields.optional("annotations").filter(|tree| {
        let sound = tree.entries().is_some();
        if !sound {
            faults.push(crate::source::fields::not_an_object(tree, &format!("`annotations` of {named}")));
        }
        sound
    });
    let entry = fields.string("entryNode", faults);
    let exit = fields.string("exitNode", faults);
    let own = if about.beside { fields.optional("nodes") } else { fields.required("nodes", faults) };
    fields.finish(faults);
    one_shape(about, &named, own, [&entry, &exit], faults);
    let nodes = own.map(|tree| nodes::read(about, tree, &named, faults)).unwrap_or_default();
    Some(Tool {
        name: name?,
        title: title.map(|title| title.value),
        description: description.map(|text| text.value).unwrap_or_default(),
        input,
        output,
        annotations: annotations.map(Tree::value),
        nodes,
        entry,
        exit,
        broken: None,
    })
}

/// Reports a mixture of nodes inside and beside the tools; only with nodes beside the tools does a tool name its ends.
fn one_shape(
    about: &About<'_>,
    named: &str,
    own: Option<&Tree>,
    ends: [&Option<Spanned<String>>; 2],
    faults: &mut FaultList,
) {
    if let Some(own) = own.filter(|_| about.beside) {
        let message = format!("{named} has `nodes` of its own, and the file has nodes beside its tools");
        let fault = Diagnostic::error("mixed-shapes", message).at(own.head());
        faults.push(fault.help("keep the nodes of a tool inside it, under its `nodes`, and none beside the tools"));
    }
    for end in ends.into_iter().flatten().filter(|_| !about.beside) {
        let message =
            format!("`{}` of {named} does nothing: its own nodes say where it begins and ends", clip(&end.value));
        let fault = Diagnostic::warning("inert-field", message).at(end.span);
        faults.push(fault.help("remove `entryNode` and `exitNode`"));
    }
}

/// Reads a schema. A tool without one accepts or returns any value.
fn schema(
    fields: &mut Fields<'_>,
    key: &'static str,
    named: &str,
    tool: &Tree,
    faults: &mut FaultList,
) -> Option<Spanned<Schema>> {
    let Some(tree) = fields.optional(key) else {
        let message = format!("{named} has no `{key}`, so nothing is validated against one");
        let fault = Diagnostic::warning("missing-schema", message).at(tool.head());
        faults.push(fault.help(format!("add one; `{key}: {{ type: object }}` is the minimum")));
        return None;
    };
    if tree.entries().is_none() {
        faults.push(crate::source::fields::not_an_object(tree, &format!("`{key}` of {named}")));
        return None;
    }
    if let Some(kind) = tree.get("type").filter(|kind| key == "inputSchema" && kind.as_str() != Some("object")) {
        let message = format!("`inputSchema` of {named} must have the type `object`: arguments have names");
        faults.push(Diagnostic::error("bad-schema", message).at(kind.head()).help("write `type: object`"));
        return None;
    }
    compiled(tree, key, named, faults)
}
