//! The list of definitions: those of the project and those of the catalogue.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use portolan_core::dialect::RunAs;
use portolan_core::dialect::editing;
use portolan_runtime::library::{Library, Origin, Sketch, WorkflowFile, is_stray};
use portolan_runtime::service::Service;
use serde::Serialize;
use serde_json::{Value, json};

use super::Studio;
use super::answer::Answer;
use super::definitions::{broken, dialect_word, shown_name};

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
    /// Whether an agent follows it.
    led: bool,
    /// Whether it runs commands that are not trusted.
    untrusted: bool,
    open_runs: usize,
    /// The workflows of the file, as their runs name them.
    roots: BTreeSet<String>,
    /// `duplicate_id` if another file has its id, `no_definition` if its file is none; the description says which.
    fault: Option<&'static str>,
    /// Whether its id leads to it.
    opens: bool,
}

/// Lists the definitions of the project and of the catalogue.
pub(super) async fn list(State(studio): State<Arc<Studio>>) -> Answer<Value> {
    let runs = studio.service.list(true, 10_000).await?;
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    runs.into_iter().for_each(|run| *open.entry(run.workflow).or_default() += 1);
    let lines = tokio::task::spawn_blocking(move || lines(&studio.service, &open)).await;
    Ok(Json(json!({ "definitions": lines.map_err(broken)? })))
}

fn lines(service: &Service, open: &BTreeMap<String, usize>) -> Vec<Line> {
    let library = service.library();
    let of = |id: &str| match library.clashing(id) {
        [] => vec![line(service, id, open)],
        files => files.iter().map(|file| clashing(library, id, file, files)).collect(),
    };
    let mut lines: Vec<Line> = library.ids().iter().flat_map(|(id, _)| of(id)).collect();
    let strays = library.strays().iter();
    lines.extend(strays.map(|WorkflowFile { id, path }| Line { opens: false, ..stray(library, id, path) }));
    lines.sort_by_key(|line| line.fault == Some(NO_DEFINITION));
    lines
}

const NO_DEFINITION: &str = "no_definition";

fn clashing(library: &Library, id: &str, file: &Path, all: &[PathBuf]) -> Line {
    let shown = |path: &Path| shown_name(library, &path.to_string_lossy());
    let others = all.iter().filter(|other| *other != file).map(|other| format!("`{}`", shown(other)));
    let (others, has) = (others.collect::<Vec<_>>(), if all.len() > 2 { "have" } else { "has" });
    let help = "rename one of the files, then start the studio again";
    let description = format!("{} {has} the id `{id}` as well: {help}", others.join(" and "));
    Line {
        file: Some(shown(file)),
        fault: Some("duplicate_id"),
        opens: false,
        ..unread(id, id.to_owned(), description)
    }
}

/// Returns the line of a file that is no definition.
fn stray(library: &Library, id: &str, file: &Path) -> Line {
    let name = file.file_name().map_or_else(|| id.to_owned(), |name| name.to_string_lossy().into_owned());
    let description = "this is no definition: it has none of the formats of definitions".to_owned();
    let file = Some(shown_name(library, &file.to_string_lossy()));
    Line { file, errors: 0, fault: Some(NO_DEFINITION), ..unread(id, name, description) }
}

fn line(service: &Service, id: &str, open: &BTreeMap<String, usize>) -> Line {
    let library = service.library();
    let sketch = match library.sketch(id, None) {
        Ok(sketch) => sketch,
        Err(error) => return unread(id, id.to_owned(), error.message),
    };
    if sketch.origin == Origin::Project && is_stray(&sketch.source) {
        return stray(library, id, Path::new(&*sketch.source.name));
    }
    let root = sketch.roots.first().and_then(|root| sketch.graphs.get(root));
    let errors = sketch.faults.iter().filter(|fault| fault.is_error()).count();
    let roots = names_in_runs(&sketch);
    Line {
        name: root.map_or_else(|| id.to_owned(), |root| root.name.clone()),
        description: root.map(|root| root.description.clone()).unwrap_or_default(),
        dialect: dialect_word(&sketch),
        source: sketch.origin.word(),
        file: (sketch.origin != Origin::Catalog).then(|| shown_name(library, &sketch.source.name)),
        steps: root.map_or(0, editing::written_steps),
        errors,
        warnings: sketch.faults.len() - errors,
        led: is_led(&sketch),
        // A definition with errors does not run, so that its commands need no trust.
        untrusted: errors == 0
            && library.definition(id).is_ok_and(|definition| service.untrusted(&definition).is_some()),
        open_runs: roots.iter().filter_map(|root| open.get(root)).sum(),
        roots,
        fault: None,
        opens: true,
        id: id.to_owned(),
    }
}

fn unread(id: &str, name: String, description: String) -> Line {
    Line {
        id: id.to_owned(),
        name,
        description,
        dialect: "unknown",
        source: Origin::Project.word(),
        file: None,
        steps: 0,
        errors: 1,
        warnings: 0,
        led: false,
        untrusted: false,
        open_runs: 0,
        roots: BTreeSet::from([id.to_owned()]),
        fault: None,
        opens: true,
    }
}

/// Returns the names that runs have for the workflows of a file: their ids, and the names of its functions.
fn names_in_runs(sketch: &Sketch) -> BTreeSet<String> {
    sketch.roots.iter().chain(&sketch.functions).cloned().collect()
}

fn is_led(sketch: &Sketch) -> bool {
    sketch.dialect.is_some_and(|dialect| dialect.run_as != RunAs::Calls)
}
