//! Shows and edits the definition of the file, in any format.

use std::time::Duration;

use portolan_core::diagnostic::{clip, list};
use portolan_core::dialect::editing::{FormField, Forms, NodeForm};
use portolan_core::graph::{Edge, Graph, Node, Trigger};
use portolan_runtime::author::{Edit, EditResult, Whole, edge_names};
use portolan_runtime::definition::DefinitionError;
use portolan_runtime::service::ServiceError;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};
use similar::{Algorithm, TextDiff};

use super::{Server, answers};
use crate::mcp::arguments::Arguments;

/// The parts of a definition that can be requested.
pub(super) const PARTS: [&str; 6] = ["nodes", "edges", "fields", "kinds", "diagnostics", "texts"];
/// The parts that are shown by default.
pub(super) const USUAL: [&str; 4] = ["nodes", "edges", "fields", "diagnostics"];

/// The field of a graph file that these tools neither show nor write: it may hold secrets, and only a person edits it.
const SERVERS: &str = "mcpServers";
/// The time limit of computing a difference. After it the difference is larger than necessary.
const DIFF_TIME: Duration = Duration::from_millis(500);
/// The longest difference in an answer, in bytes.
const MAX_DIFF_BYTES: usize = 64 << 10;

pub(super) fn get(server: &Server, mut arguments: Arguments) -> Result<CallToolResult, DefinitionError> {
    let graph = arguments.string("graph");
    let nodes = arguments.strings("nodes");
    let show = arguments.strings("show");
    arguments.finish()?;
    let view = View { parts: parts(show)?, nodes };
    let whole = server.author.whole(server.service.library())?;
    let graphs = match graph {
        Some(name) => std::slice::from_ref(&whole.graphs[whole.graph(Some(&name))?]),
        None => &whole.graphs[..],
    };
    view.has_all_nodes(graphs)?;
    Ok(answers::done(view.definition_json(&whole, graphs)))
}

fn parts(show: Option<Vec<String>>) -> Result<Vec<String>, ServiceError> {
    let Some(show) = show else { return Ok(USUAL.map(str::to_owned).to_vec()) };
    match show.iter().find(|part| !PARTS.contains(&part.as_str())) {
        None => Ok(show),
        Some(part) => {
            let message = format!("`show` has `{}`, which is not a part of a definition", clip(part));
            Err(ServiceError::refused("invalid_arguments", message, format!("the parts are {}", list(&PARTS))))
        }
    }
}

/// The requested view of a definition.
struct View {
    parts: Vec<String>,
    /// The nodes to show, with the edges that touch them. `None` shows all.
    nodes: Option<Vec<String>>,
}

impl View {
    fn has(&self, part: &str) -> bool {
        self.parts.iter().any(|known| known == part)
    }

    fn wants(&self, node: &str) -> bool {
        self.nodes.as_ref().is_none_or(|nodes| nodes.iter().any(|wanted| wanted == node))
    }

    fn has_all_nodes(&self, graphs: &[Graph]) -> Result<(), ServiceError> {
        let known = |id: &str| graphs.iter().flat_map(|graph| &graph.nodes).any(|node| node.id.as_str() == id);
        match self.nodes.iter().flatten().find(|id| !known(id)) {
            None => Ok(()),
            Some(id) => {
                let message = format!("there is no node `{}`", clip(id));
                Err(ServiceError::refused("unknown_node", message, "leave `nodes` out to see all of them"))
            }
        }
    }

    fn definition_json(&self, whole: &Whole, graphs: &[Graph]) -> Value {
        let mut object = json!({
            "file": &*whole.source.name,
            "format": whole.dialect.map(|dialect| dialect.name),
            "revision": whole.revision,
            "sound": whole.is_sound(),
            "graphs": graphs.iter().map(|graph| self.graph(whole, graph)).collect::<Vec<Value>>(),
        });
        if self.has("kinds")
            && let Some(editing) = whole.dialect.and_then(|dialect| dialect.editing)
        {
            object["kinds"] = editing.kinds.iter().map(kind).collect();
            object["ownFields"] = editing.own.iter().filter(|known| known.path != SERVERS).map(field).collect();
        }
        if self.has("texts") {
            let file = |(name, text): (String, String)| json!({ "file": name, "text": text });
            object["texts"] = whole.source.texts().into_iter().map(file).collect();
        }
        if self.has("diagnostics") {
            object["diagnostics"] = answers::findings(&whole.findings());
        }
        object
    }

    fn graph(&self, whole: &Whole, graph: &Graph) -> Value {
        let mut object = json!({ "graph": graph.id.value });
        let forms = whole.dialect.and_then(|dialect| Forms::of(dialect, &whole.source, graph));
        if self.has("fields") {
            let mut own = forms.as_ref().map(Forms::own).unwrap_or_default();
            own.shift_remove(SERVERS);
            object["fields"] = Value::Object(own);
        }
        if self.has("nodes") {
            let told_of = |node: &Node| match forms.as_ref().and_then(|forms| forms.node(node)) {
                Some(shown) => Some(json!({ "id": node.id, "kind": shown.word, "values": shown.values })),
                // Implied nodes cannot be edited, and may be as many as the others.
                None => self.nodes.is_some().then(|| json!({ "id": node.id, "implied": true })),
            };
            let nodes = graph.nodes.iter().filter(|node| self.wants(node.id.as_str()));
            object["nodes"] = nodes.filter_map(told_of).collect();
        }
        if self.has("edges") {
            let edges = graph.edges.iter().zip(edge_names(graph));
            let edges =
                edges.filter(|(edge, _)| [&edge.from, &edge.to].iter().any(|end| self.wants(end.value.as_str())));
            object["edges"] = edges.map(|(edge, name)| edge_json(edge, &name)).collect();
        }
        object
    }
}

fn edge_json(edge: &Edge, name: &str) -> Value {
    let mut object = json!({ "edge": name });
    if let Trigger::When(guard) = &edge.on {
        object["when"] = json!(guard.value.text());
    }
    if let Some(label) = &edge.label {
        object["label"] = json!(label);
    }
    object
}

/// Returns a kind of node, without the parts of a form that are only for people.
fn kind(form: &NodeForm) -> Value {
    let fields: Vec<Value> = form.fields.iter().map(field).collect();
    let mut object = json!({ "kind": form.kind, "help": form.help, "fields": fields });
    if form.outcomes {
        object["outcomes"] = json!(true);
    }
    if !form.addable {
        object["addable"] = json!(false);
    }
    object
}

fn field(field: &FormField) -> Value {
    let mut object = json!({ "field": field.path, "type": field.kind, "help": field.help });
    if !field.choices.is_empty() {
        object["choices"] = json!(field.choices);
    }
    if field.required {
        object["required"] = json!(true);
    }
    object
}

pub(super) async fn edit(server: &Server, mut arguments: Arguments) -> Result<CallToolResult, DefinitionError> {
    let revision = arguments.required("revision");
    let graph = arguments.string("graph");
    let operations = arguments.required_any("do");
    let is_trial = arguments.flag("dryRun");
    arguments.finish()?;
    let Value::Array(operations) = operations else {
        let help = "send a list of operations, even for a single one";
        return Err(ServiceError::refused("invalid_arguments", "`do` must be a list", help).into());
    };
    let wanted = Edit { revision, graph, operations, is_trial };
    let edited = server.author.edit(server.service.library(), &wanted).await?;
    Ok(edit_result(&edited, is_trial))
}

fn edit_result(edited: &EditResult, is_trial: bool) -> CallToolResult {
    let mut message = match (edited.files.is_empty(), is_trial) {
        (true, _) => "the edit changes nothing",
        (false, true) => "the edit is possible; nothing was written",
        (false, false) => "written",
    }
    .to_owned();
    if !edited.sound {
        message.push_str("; the definition has other faults, and cannot be run until they are fixed");
    }
    let mut object = Map::new();
    object.insert("written".to_owned(), json!(!is_trial && !edited.files.is_empty()));
    object.insert("message".to_owned(), json!(message));
    object.insert("revision".to_owned(), json!(edited.revision));
    object.insert("nodes".to_owned(), json!(edited.nodes));
    object.insert("difference".to_owned(), json!(difference(edited)));
    if !edited.findings.is_empty() {
        object.insert("diagnostics".to_owned(), answers::findings(&edited.findings));
    }
    answers::done(Value::Object(object))
}

/// Returns the changes of an edit as a unified diff.
fn difference(edited: &EditResult) -> String {
    let mut all = String::new();
    for (name, before, after) in &edited.files {
        let side = |text: &Option<String>| if text.is_some() { name.as_str() } else { "/dev/null" };
        let (left, right) = (before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
        let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(DIFF_TIME).diff_lines(left, right);
        all.push_str(&diff.unified_diff().header(side(before), side(after)).to_string());
    }
    if all.len() > MAX_DIFF_BYTES {
        let end = (0..=MAX_DIFF_BYTES).rev().find(|at| all.is_char_boundary(*at)).unwrap_or_default();
        all.truncate(end);
        all.push_str("\n… and more: getDefinition shows the texts\n");
    }
    all
}
