//! Definitions: which there are, what each says, and how a text that is being written would read.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use portolan_core::dialect::RunAs;
use portolan_core::present::Drawing;
use portolan_runtime::digest::Digest;
use portolan_runtime::library::{Library, Origin, Sketch};
use portolan_runtime::service::ServiceError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Studio;
use super::answer::{Answer, Body, InPath, Refusal};
use super::drawn::{About, Folds, Place, Places, Problem, about, draw};

/// A definition in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    id: String,
    name: String,
    description: String,
    dialect: &'static str,
    source: &'static str,
    file: Option<String>,
    steps: usize,
    errors: usize,
    warnings: usize,
    /// Whether an agent is led through it.
    led: bool,
    open_runs: usize,
}

/// The definitions of the project and of the catalogue.
pub(super) async fn list(State(studio): State<Arc<Studio>>) -> Answer<Value> {
    let runs = studio.service.list(true, 10_000).await?;
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    runs.into_iter().for_each(|run| *open.entry(run.workflow).or_default() += 1);
    let lines = tokio::task::spawn_blocking(move || lines(studio.service.library(), &open)).await;
    Ok(Json(json!({ "definitions": lines.map_err(broken)? })))
}

fn lines(library: &Library, open: &BTreeMap<String, usize>) -> Vec<Line> {
    let overview = library.overview().into_iter().map(|line| line.id);
    // Those that are called like functions are no workflows that an agent could begin.
    let mut ids: Vec<String> = overview.collect();
    let known = ids.clone();
    ids.extend(library.project_ids().into_iter().filter(|id| !known.contains(id)));
    ids.iter().map(|id| line(library, id, open)).collect()
}

fn line(library: &Library, id: &str, open: &BTreeMap<String, usize>) -> Line {
    let sketch = match library.sketch(id, None) {
        Ok(sketch) => sketch,
        Err(error) => return unreadable(id, &error),
    };
    let root = sketch.roots.first().and_then(|root| sketch.graphs.get(root));
    let errors = sketch.faults.iter().filter(|fault| fault.is_error()).count();
    Line {
        name: root.map_or_else(|| id.to_owned(), |root| root.name.clone()),
        description: root.map(|root| root.description.clone()).unwrap_or_default(),
        dialect: dialect_word(&sketch),
        source: sketch.origin.word(),
        file: file_of(library, &sketch),
        steps: root.map_or(0, |root| root.nodes.len()),
        errors,
        warnings: sketch.faults.len() - errors,
        led: is_led(&sketch),
        open_runs: sketch.roots.iter().filter_map(|root| open.get(root)).sum(),
        id: id.to_owned(),
    }
}

fn unreadable(id: &str, error: &ServiceError) -> Line {
    Line {
        id: id.to_owned(),
        name: id.to_owned(),
        description: error.message.clone(),
        dialect: "unknown",
        source: Origin::Project.word(),
        file: None,
        steps: 0,
        errors: 1,
        warnings: 0,
        led: false,
        open_runs: 0,
    }
}

/// The name of a format, as people know it.
pub(super) fn dialect_word(sketch: &Sketch) -> &'static str {
    sketch.dialect.map_or("unknown", |dialect| dialect.name)
}

fn is_led(sketch: &Sketch) -> bool {
    sketch.dialect.is_some_and(|dialect| dialect.run_as != RunAs::Calls)
}

/// The file of a definition, from the project's folder on where it lies in it.
fn file_of(library: &Library, sketch: &Sketch) -> Option<String> {
    let path = (sketch.origin != Origin::Catalog).then(|| Path::new(&*sketch.source.name))?;
    Some(path.strip_prefix(library.project()).unwrap_or(path).to_string_lossy().into_owned())
}

/// A file of a definition.
#[derive(Debug, Serialize)]
struct FileText<'t> {
    name: String,
    text: &'t str,
    language: &'static str,
}

/// A definition with all that is shown of it.
#[derive(Serialize)]
struct Whole<'s> {
    id: &'s str,
    name: &'s str,
    description: &'s str,
    dialect: &'static str,
    source: &'static str,
    writable: bool,
    revision: Digest,
    files: Vec<FileText<'s>>,
    roots: Vec<Root<'s>>,
    #[serde(flatten)]
    checked: Checked,
}

#[derive(Serialize)]
struct Root<'s> {
    id: &'s str,
    name: &'s str,
}

/// A text as it reads.
#[derive(Serialize)]
pub(super) struct Checked {
    /// Whether it could be read so far that it can be drawn.
    sound: bool,
    drawing: Option<Drawing>,
    /// Where each edge is written, by its name in the drawing.
    edges: BTreeMap<String, Place>,
    problems: Vec<Problem>,
    about: BTreeMap<String, About>,
    /// How long it took, in microseconds.
    took: u64,
}

/// One definition.
pub(super) async fn one(State(studio): State<Arc<Studio>>, InPath(id): InPath<String>) -> Answer<Value> {
    let told = tokio::task::spawn_blocking(move || whole(&studio, &id)).await;
    Ok(Json(told.map_err(broken)??))
}

fn whole(studio: &Studio, id: &str) -> Result<Value, Refusal> {
    let begun = Instant::now();
    let library = studio.service.library();
    let sketch = library.sketch(id, None)?;
    let checked = checked(&sketch, None, &Folds::default(), begun);
    let root = sketch.roots.first().and_then(|root| sketch.graphs.get(root));
    let main = sketch.source.main();
    let others = sketch.source.others();
    let texts = std::iter::once(&*main.text).chain(others.iter().copied());
    let files = sketch.source.names().zip(texts).map(|(name, text)| FileText {
        name: shown_name(library, name),
        text,
        language: language(name, text),
    });
    let roots = sketch.roots.iter().filter_map(|id| Some(Root { id, name: &sketch.graphs.get(id)?.name }));
    let told = Whole {
        id,
        name: root.map_or(id, |root| &root.name),
        description: root.map_or("", |root| &root.description),
        dialect: dialect_word(&sketch),
        source: sketch.origin.word(),
        writable: sketch.origin == Origin::Project && studio.may_change().is_ok(),
        revision: Digest::of(&*sketch.source.text),
        files: files.collect(),
        roots: roots.collect(),
        checked,
    };
    serde_json::to_value(&told).map_err(broken)
}

fn shown_name(library: &Library, name: &str) -> String {
    let path = Path::new(name);
    path.strip_prefix(library.project()).unwrap_or(path).to_string_lossy().into_owned()
}

fn language(name: &str, text: &str) -> &'static str {
    let is_json = Path::new(name).extension().map_or(text.trim_start().starts_with('{'), |ending| ending == "json");
    if is_json { "json" } else { "yaml" }
}

/// A text that is to be looked at, and what is open in its drawing.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Wanted {
    files: Option<Vec<Written>>,
    root: Option<String>,
    folded: std::collections::BTreeSet<String>,
    opened: std::collections::BTreeSet<String>,
}

/// The text of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(rename = "name")]
    _name: String,
    text: String,
}

/// How a definition reads, with the texts that the page has in the place of those on disk.
pub(super) async fn check(
    State(studio): State<Arc<Studio>>,
    InPath(id): InPath<String>,
    Body(wanted): Body<Wanted>,
) -> Answer<Checked> {
    let told = tokio::task::spawn_blocking(move || {
        let begun = Instant::now();
        let texts = wanted.files.map(|files| files.into_iter().map(|file| file.text).collect());
        let sketch = studio.service.library().sketch(&id, texts)?;
        let folds = Folds { folded: wanted.folded, opened: wanted.opened };
        Ok::<_, Refusal>(checked(&sketch, wanted.root.as_deref(), &folds, begun))
    });
    Ok(Json(told.await.map_err(broken)??))
}

fn checked(sketch: &Sketch, root: Option<&str>, folds: &Folds, begun: Instant) -> Checked {
    let root = root.or(sketch.roots.first().map(String::as_str));
    let places = Places::of(&sketch.source);
    let graph = root.and_then(|root| sketch.graphs.get(root));
    let drawing =
        graph.map(|graph| draw(graph, root.and_then(|root| sketch.workflows.get(root)), &sketch.graphs, folds));
    let problems = sketch.faults.iter().map(|fault| places.problem(fault, drawing.as_ref())).collect();
    let about =
        drawing.as_ref().zip(graph).map(|(drawing, graph)| about(drawing, &sketch.graphs, graph, Some(&places)));
    let edges = drawing.iter().flat_map(|drawing| &drawing.edges).filter(|edge| !edge.from.contains('/'));
    let edges = edges.filter_map(|edge| Some((edge.id.clone(), places.place(edge.span?)))).collect();
    let took = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    Checked { sound: drawing.is_some(), drawing, edges, problems, about: about.unwrap_or_default(), took }
}

/// A fault of our own, or a task that was ended with the server.
pub(super) fn broken(error: impl std::fmt::Display) -> Refusal {
    let help = "this is a fault of Portolan: please report it";
    Refusal::from(ServiceError::failed("failed", format!("the answer could not be made: {error}"), help))
}
