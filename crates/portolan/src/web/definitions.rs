//! Definitions: their content, and the analysis of a text that is being edited.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use portolan_core::diagnostic::{Diagnostic, clip};
use portolan_core::dialect::editing::{self, EditError, FormField, Forms, NodeForm, Operation};
use portolan_core::graph::{Graph, Kind};
use portolan_core::present::{Drawing, DrawnEdge, NodeOffsets};
use portolan_core::source::NamedText;
use portolan_runtime::author::{OnDisk, SaveResult, save};
use portolan_runtime::digest::Digest;
use portolan_runtime::library::{Library, Origin, Sketch, file_called, named_texts};
use portolan_runtime::proof::{self, Effort};
use portolan_runtime::service::ServiceError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Studio;
use super::answer::{Answer, Body, InPath};
use super::drawn::{Folds, NodeDetails, Place, Places, Problem, about, draw};
use super::places;
use crate::http::Refusal;

/// Returns the name of the sketch's format.
pub(super) fn dialect_word(sketch: &Sketch) -> &'static str {
    sketch.dialect.map_or("unknown", |dialect| dialect.name)
}

/// A file of a definition.
#[derive(Debug, Serialize)]
pub(super) struct FileText {
    name: String,
    text: Option<String>,
    language: &'static str,
}

/// A definition with everything that the page shows of it.
#[derive(Serialize)]
struct Whole<'s> {
    id: &'s str,
    name: &'s str,
    description: &'s str,
    dialect: &'static str,
    source: &'static str,
    writable: bool,
    revision: Digest,
    files: Vec<FileText>,
    roots: Vec<Root<'s>>,
    /// Whether it can be edited by operations. Its text can always be edited.
    editable: bool,
    palette: &'static [NodeForm],
    #[serde(rename = "fields")]
    own_fields: &'static [FormField],
    /// The form of an edge's condition. `None` if no edge has one.
    condition: Option<&'static FormField>,
    #[serde(flatten)]
    checked: TextAnalysis,
}

#[derive(Serialize)]
struct Root<'s> {
    id: &'s str,
    name: &'s str,
    /// The JSON Schema of a run's input.
    input: Option<&'s Value>,
    /// The nodes whose answers a request may provide, as `answers` names them.
    asks: Vec<String>,
}

impl<'s> Root<'s> {
    fn of(sketch: &'s Sketch, id: &'s str) -> Option<Root<'s>> {
        let graph = sketch.graphs.get(id)?;
        let input = graph.interface.as_deref().and_then(|interface| interface.input.as_ref());
        let input = input.map(|schema| schema.value.value());
        Some(Root { id, name: &graph.name, input, asks: asks(&sketch.graphs, id) })
    }
}

/// Returns the calls of a graph and of the graphs that it runs: by node, or by graph and node if the name is ambiguous.
fn asks(graphs: &BTreeMap<String, Graph>, root: &str) -> Vec<String> {
    let (mut waiting, mut known, mut calls) = (vec![root], BTreeSet::from([root]), Vec::new());
    while let Some(graph) = waiting.pop().and_then(|id| graphs.get(id)) {
        for node in &graph.nodes {
            if matches!(node.kind, Kind::Call(_)) {
                calls.push((&*graph.id.value, node.id.as_str()));
            }
            waiting.extend(node.kind.workflows().map(|(id, _)| id).filter(|id| known.insert(id)));
        }
    }
    let is_single = |name: &str| calls.iter().filter(|(_, node)| *node == name).count() == 1;
    let names = calls.iter().map(|(graph, node)| match is_single(node) {
        true => (*node).to_owned(),
        false => format!("{graph}.{node}"),
    });
    names.collect()
}

/// The analysis of a text.
#[derive(Serialize)]
pub(super) struct TextAnalysis {
    /// Whether the text parsed far enough to be drawn.
    sound: bool,
    drawing: Option<Drawing>,
    /// The text of each edge, by its name in the drawing.
    edges: BTreeMap<String, EdgeText>,
    problems: Vec<Problem>,
    /// Whether the analysis of all runs was not finished in time, so that there may be more problems.
    undecided: bool,
    about: BTreeMap<String, NodeDetails>,
    own: Own,
    /// How long the analysis took, in microseconds.
    took: u64,
}

/// The text of an edge.
#[derive(Serialize)]
struct EdgeText {
    #[serde(flatten)]
    place: Place,
    /// Its condition as it is written, empty if it has none. Absent if it cannot have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<String>,
}

/// The form values of the definition itself.
#[derive(Default, Serialize)]
struct Own {
    values: Map<String, Value>,
}

/// Returns one definition.
pub(super) async fn one(State(studio): State<Arc<Studio>>, InPath(id): InPath<String>) -> Answer<Value> {
    let blocking_task = tokio::task::spawn_blocking(move || whole(&studio, &id)).await;
    Ok(Json(blocking_task.map_err(broken)??))
}

fn whole(studio: &Studio, id: &str) -> Result<Value, Refusal> {
    let begun = Instant::now();
    let library = studio.service.library();
    let on_disk = library.sketch(id, None)?;
    let revision = Digest::of(&*on_disk.source.text);
    let texts = with_plain_ends(named_texts(&on_disk.source));
    // Places refer to the text as the page has it, without carriage returns.
    let sketch = match on_disk.source.text.contains('\r') {
        true => library.sketch(id, Some(texts.clone()))?,
        false => on_disk,
    };
    let checked = checked(library, &sketch, &texts, None, &Folds::default(), begun);
    let root = sketch.roots.first().and_then(|root| sketch.graphs.get(root));
    let roots = sketch.roots.iter().filter_map(|id| Root::of(&sketch, id));
    let editing = sketch.dialect.and_then(|dialect| dialect.editing.as_ref());
    let answer = Whole {
        id,
        name: root.map_or(id, |root| &root.name),
        description: root.map_or("", |root| &root.description),
        dialect: dialect_word(&sketch),
        source: sketch.origin.word(),
        writable: sketch.origin == Origin::Project && studio.may_change().is_ok(),
        revision,
        files: file_texts(library, texts),
        roots: roots.collect(),
        editable: editing.is_some(),
        palette: editing.map_or(&[], |editing| editing.kinds),
        own_fields: editing.map_or(&[], |editing| editing.own),
        condition: editing.and_then(editing::Editing::condition),
        checked,
    };
    serde_json::to_value(&answer).map_err(broken)
}

/// Converts line ends to `\n`, the only ones that the page's editor has.
fn with_plain_ends(files: Vec<NamedText>) -> Vec<NamedText> {
    files.into_iter().map(|(name, text)| (name, text.map(|text| text.replace("\r\n", "\n")))).collect()
}

fn file_texts(library: &Library, files: Vec<NamedText>) -> Vec<FileText> {
    let to_file_text = |(name, text): NamedText| {
        let language = language(&name, text.as_deref().unwrap_or_default());
        FileText { name: shown_name(library, &name), text, language }
    };
    files.into_iter().map(to_file_text).collect()
}

/// Returns the name of a file, relative to the project's folder if it lies in there.
pub(super) fn shown_name(library: &Library, name: &str) -> String {
    let path = Path::new(name);
    path.strip_prefix(library.project()).unwrap_or(path).to_string_lossy().into_owned()
}

fn language(name: &str, text: &str) -> &'static str {
    let is_json = Path::new(name).extension().map_or(text.trim_start().starts_with('{'), |ending| ending == "json");
    if is_json { "json" } else { "yaml" }
}

/// The text to analyse, and the folds of its drawing.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DefinitionRequest {
    files: Option<Vec<WrittenText>>,
    root: Option<String>,
    folded: std::collections::BTreeSet<String>,
    opened: std::collections::BTreeSet<String>,
}

/// The text of a file, or `None` if the file does not exist or is to be deleted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenText {
    name: String,
    #[serde(deserialize_with = "Option::deserialize")]
    text: Option<String>,
    /// Ignored: accepted so that a client may send files back as it received them.
    #[serde(rename = "language")]
    _language: Option<String>,
}

/// Resolves the files of a request for a definition. The first is the definition's own file. The others are found by
/// name, which may also be the name of a new activity.
pub(super) fn files_of(library: &Library, id: &str, files: Vec<WrittenText>) -> Result<Vec<NamedText>, Refusal> {
    let (on_disk, _) = library.text(id)?;
    let name = |(nth, WrittenText { name, text, .. }): (usize, WrittenText)| {
        let known = match nth {
            0 => Some(on_disk.name.to_string()),
            _ => file_called(&on_disk, &name, &|name| shown_name(library, name)),
        };
        known.map(|name| (name, text)).ok_or_else(|| {
            let message = format!("`{}` is not one of the files of `{}`", clip(&name), clip(id));
            let help = "load it again; a new activity must be a file beside the others, named like `09-name.yaml`";
            Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "other_files", message, help)
        })
    };
    files.into_iter().enumerate().map(name).collect()
}

/// Analyses a definition, with the request's texts in place of those on disk.
pub(super) async fn check(
    State(studio): State<Arc<Studio>>,
    InPath(id): InPath<String>,
    Body(wanted): Body<DefinitionRequest>,
) -> Answer<TextAnalysis> {
    let blocking_task = tokio::task::spawn_blocking(move || {
        let begun = Instant::now();
        let library = studio.service.library();
        let files = wanted.files.map(|files| files_of(library, &id, files)).transpose()?;
        let sketch = library.sketch(&id, files.clone())?;
        let files = files.unwrap_or_else(|| named_texts(&sketch.source));
        let folds = Folds { folded: wanted.folded, opened: wanted.opened };
        Ok::<_, Refusal>(checked(library, &sketch, &files, wanted.root.as_deref(), &folds, begun))
    });
    Ok(Json(blocking_task.await.map_err(broken)??))
}

/// Analyses a definition. Places number its files as `files` does.
fn checked(
    library: &Library,
    sketch: &Sketch,
    files: &[NamedText],
    root: Option<&str>,
    folds: &Folds,
    begun: Instant,
) -> TextAnalysis {
    let root = root.or(sketch.roots.first().map(String::as_str));
    let places = Places::of(&sketch.source, files.iter().map(|(name, _)| name.as_str()).collect());
    let graph = root.and_then(|root| sketch.graphs.get(root));
    let (moved, unread) = places::moved(library, sketch, root);
    let workflow = root.and_then(|root| sketch.workflows.get(root));
    let drawing = graph.map(|graph| draw(graph, workflow, &sketch.graphs, folds, &moved));
    let (proved, undecided) = proved(sketch);
    let problems = sketch.faults.iter().chain(&proved).map(|fault| places.problem(fault, drawing.as_ref()));
    let problems = problems.chain(unread.map(Problem::beside)).collect();
    let forms = sketch.dialect.zip(graph).and_then(|(dialect, graph)| Forms::of(dialect, &sketch.source, graph));
    let drawn = drawing.as_ref().zip(graph);
    let origins = library.origins();
    let about =
        drawn.map(|(drawing, graph)| about(drawing, &sketch.graphs, graph, Some(&places), forms.as_ref(), &origins));
    let edges = drawing.iter().flat_map(|drawing| &drawing.edges).filter(|edge| !edge.from.contains('/'));
    let condition = |edge: &DrawnEdge| forms.as_ref()?.condition(graph?.edges.get(edge.number?)?);
    let text = |edge: &DrawnEdge| Some(EdgeText { place: places.place(edge.span?), condition: condition(edge) });
    let edges = edges.filter_map(|edge| Some((edge.id.clone(), text(edge)?))).collect();
    let own = Own { values: forms.map(|forms| forms.own()).unwrap_or_default() };
    let took = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    let (sound, about) = (drawing.is_some(), about.unwrap_or_default());
    TextAnalysis { sound, drawing, edges, problems, undecided, about, own, took }
}

/// Returns the findings of the proof about all runs, or none if the definition has errors, and whether it was not
/// finished in time.
fn proved(sketch: &Sketch) -> (Vec<Diagnostic>, bool) {
    if sketch.faults.iter().any(Diagnostic::is_error) {
        return (Vec::new(), false);
    }
    let workflows = sketch.workflows.values();
    let (found, undecided): (Vec<_>, Vec<_>) =
        workflows.map(|workflow| proof::findings(workflow, Effort::WHILE_WRITING)).unzip();
    (found.concat(), undecided.contains(&true))
}

/// An edit operation, with the definition as the page has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EditRequest {
    files: Vec<WrittenText>,
    #[serde(default)]
    root: Option<String>,
    #[serde(default)]
    folded: std::collections::BTreeSet<String>,
    #[serde(default)]
    opened: std::collections::BTreeSet<String>,
    #[serde(rename = "do")]
    operation: Value,
}

/// A definition after an edit operation. Nothing is written to disk.
#[derive(Serialize)]
pub(super) struct EditResponse {
    files: Vec<FileText>,
    select: Option<String>,
    #[serde(flatten)]
    checked: TextAnalysis,
}

/// Applies an edit operation to the definition as the page has it.
pub(super) async fn edit(
    State(studio): State<Arc<Studio>>,
    InPath(id): InPath<String>,
    Body(wanted): Body<EditRequest>,
) -> Answer<EditResponse> {
    let blocking_task = tokio::task::spawn_blocking(move || {
        let begun = Instant::now();
        let library = studio.service.library();
        let files = files_of(library, &id, wanted.files)?;
        let sketch = library.sketch(&id, Some(files.clone()))?;
        let root = wanted.root.as_deref().or(sketch.roots.first().map(String::as_str));
        let (Some(dialect), Some(graph)) = (sketch.dialect, root.and_then(|root| sketch.graphs.get(root))) else {
            let message = "its text cannot be read well enough to be edited piece by piece";
            return Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "not_editable", message, "fix the text first"));
        };
        let folds = Folds { folded: wanted.folded, opened: wanted.opened };
        let drawing = draw(graph, None, &sketch.graphs, &folds, &NodeOffsets::new());
        let operation = in_the_graph(wanted.operation, &drawing)?;
        let done = editing::edit(dialect, &sketch.source, graph, &operation).map_err(refused)?;
        let files = in_order_of(&files, done.files);
        let after = library.sketch(&id, Some(files.clone()))?;
        let root = root.filter(|root| after.graphs.contains_key(*root));
        let checked = checked(library, &after, &files, root, &folds, begun);
        Ok(EditResponse { files: file_texts(library, files), select: done.select, checked })
    });
    Ok(Json(blocking_task.await.map_err(broken)??))
}

/// Returns the current files in their original order, followed by the new ones, so that a file keeps its number.
fn in_order_of(came: &[NamedText], now: Vec<NamedText>) -> Vec<NamedText> {
    let mut now: BTreeMap<String, Option<String>> = now.into_iter().collect();
    let came = came.iter().map(|(name, _)| (name.clone(), now.remove(name).flatten()));
    let mut files: Vec<NamedText> = came.collect();
    files.extend(now);
    files
}

fn refused(refused: EditError) -> Refusal {
    let EditError { message, help } = refused;
    Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "not_editable", message, &help)
}

/// Reads an operation and replaces the drawing's names of nodes and edges by those of the graph.
fn in_the_graph(mut operation: Value, drawing: &Drawing) -> Result<Operation, Refusal> {
    let is_rename = operation["is"] == "rename";
    for (key, value) in operation.as_object_mut().into_iter().flatten() {
        match (key.as_str(), value) {
            // The new name belongs to no node yet.
            ("to", _) if is_rename => {}
            ("node" | "after" | "from" | "to", value) => named(value, drawing),
            ("nodes", Value::Array(names)) => names.iter_mut().for_each(|name| named(name, drawing)),
            ("edge", value) if value.is_string() => *value = Value::from(number_of(value, drawing)?),
            _ => {}
        }
    }
    serde_json::from_value(operation).map_err(|error| {
        let help = "`/api/v1/openapi.json` describes the operations";
        Refusal::new(StatusCode::BAD_REQUEST, "bad_request", format!("the operation cannot be read: {error}"), help)
    })
}

/// Replaces a node's name in the drawing by its name in the graph.
fn named(name: &mut Value, drawing: &Drawing) {
    let drawn = name.as_str().and_then(|name| drawing.nodes.iter().find(|node| node.id == name));
    if let Some(node) = drawn.and_then(|drawn| drawn.node.as_deref()) {
        *name = Value::from(node);
    }
}

fn number_of(edge: &Value, drawing: &Drawing) -> Result<usize, Refusal> {
    let drawn = drawing.edges.iter().find(|drawn| Some(drawn.id.as_str()) == edge.as_str());
    drawn.filter(|drawn| !drawn.from.contains('/')).and_then(|drawn| drawn.number).ok_or_else(|| {
        let message = "the edge is not written in this definition";
        Refusal::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "not_editable",
            message,
            "edit what it follows from, or the text",
        )
    })
}

/// The files of a definition to write, and the revision that they are based on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteRequest {
    revision: String,
    files: Vec<WrittenText>,
}

/// Writes a definition, unless it has changed on disk since `revision`.
pub(super) async fn write(
    State(studio): State<Arc<Studio>>,
    InPath(id): InPath<String>,
    Body(wanted): Body<WriteRequest>,
) -> Result<Response, Refusal> {
    let library = studio.service.library();
    let before = OnDisk::of(library, &id)?;
    let files = with_ends_of(&before, files_of(library, &id, wanted.files)?)?;
    let (status, body) = match save(library, &id, &wanted.revision, files.clone()).await? {
        SaveResult::Written(now) => {
            let begun = Instant::now();
            let there = now.files.into_iter().map(|(name, text)| (name, Some(text))).collect();
            let files = in_order_of(&files, with_plain_ends(there));
            let sketch = library.sketch(&id, Some(files.clone()))?;
            let checked = checked(library, &sketch, &files, None, &Folds::default(), begun);
            let mut object = serde_json::to_value(&checked).map_err(broken)?;
            object["revision"] = json!(now.revision);
            (StatusCode::OK, object)
        }
        SaveResult::Changed(now) => {
            let there = now.files.into_iter().map(|(name, text)| (name, Some(text))).collect();
            let files = file_texts(library, with_plain_ends(there));
            let message = "somebody else has changed it in the meantime, and their version was kept";
            let error =
                json!({ "code": "changed", "message": message, "help": "compare both versions, and save again" });
            (StatusCode::CONFLICT, json!({ "error": error, "current": { "revision": now.revision, "files": files } }))
        }
    };
    Ok((status, Json(body)).into_response())
}

/// Restores the line ends of the files on disk.
///
/// # Errors
/// A changed file mixes both line ends, so that it is unknown which one a line has.
fn with_ends_of(before: &OnDisk, files: Vec<NamedText>) -> Result<Vec<NamedText>, Refusal> {
    let ends = |(name, text): NamedText| {
        let before = before.files.iter().find(|(known, _)| *known == name);
        let Some(((_, before), text)) = before.zip(text.clone()) else { return Ok((name, text)) };
        let (all, long) = (before.matches('\n').count(), before.matches("\r\n").count());
        match long {
            0 => Ok((name, Some(text))),
            _ if before.replace("\r\n", "\n") == text => Ok((name, Some(before.clone()))),
            _ if long == all => Ok((name, Some(text.replace('\n', "\r\n")))),
            _ => {
                let message = format!("`{name}` has mixed line endings, which saving would change");
                let help = "make all of its line endings the same in an editor first";
                Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "mixed_line_ends", message, help))
            }
        }
    };
    files.into_iter().map(ends).collect()
}

/// Reports a bug in Portolan, or a task that ended with the server.
pub(super) fn broken(error: impl std::fmt::Display) -> Refusal {
    let help = "this is a bug in Portolan: please report it";
    Refusal::from(ServiceError::failed("failed", format!("the answer could not be created: {error}"), help))
}
