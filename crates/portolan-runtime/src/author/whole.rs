//! The definition of the file, in any format: its parts for viewing and editing.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use portolan_core::diagnostic::{Diagnostic, clip, closest, list};
use portolan_core::dialect::{self, Dialect, Strictness};
use portolan_core::graph::{Edge, Graph};
use portolan_core::source::Source;

use super::change::GRAPHS;
use super::save::OnDisk;
use super::{Author, refused};
use crate::definition::{DefinitionError, Findings};
use crate::digest::Digest;
use crate::error::ServiceError;
use crate::library::{Library, WorkflowFile, read_definition, workflow_files};

/// A definition, as it is or after an edit.
pub struct Whole {
    /// Its text, with those of its activities.
    pub source: Source,
    /// The revision of its texts: it changes with every byte of them.
    pub revision: Digest,
    /// Its format. `None` if unknown.
    pub dialect: Option<&'static Dialect>,
    /// Its graphs, in the order of the text, as far as they can be read.
    pub graphs: Vec<Graph>,
    /// All findings in it.
    pub faults: Vec<Diagnostic>,
}

impl Whole {
    pub(super) fn of(library: &Library, source: Source, mcp: Option<&Path>) -> Whole {
        let sketch = library.sketch_of(source, mcp);
        // A sketch names them as others run them; here they have the names of the text.
        let graphs = graphs_of(&sketch.source);
        let revision = OnDisk::read(&sketch.source).revision;
        Whole { source: sketch.source, revision, dialect: sketch.dialect, graphs, faults: sketch.faults }
    }

    /// Returns the names of its graphs.
    pub fn names(&self) -> Vec<&str> {
        self.graphs.iter().map(|graph| graph.id.value.as_str()).collect()
    }

    /// Returns the index of a graph: the one of that name, or the only one.
    ///
    /// # Errors
    /// There is none of that name, or there are several and none is named.
    pub fn graph(&self, name: Option<&str>) -> Result<usize, ServiceError> {
        let names = self.names();
        let listed = || match names.as_slice() {
            [] => "fix its text first: getDefinition reports what is wrong".to_owned(),
            names => format!("there {} {}", if names.len() == 1 { "is" } else { "are" }, list(names)),
        };
        match name {
            Some(name) => names.iter().position(|known| *known == name).ok_or_else(|| {
                let near = closest(name, names.iter().copied());
                let help = near.map_or_else(listed, |near| format!("did you mean `{near}`?"));
                ServiceError::refused("unknown_graph", format!("there is no graph `{}` in it", clip(name)), help)
            }),
            None if names.len() == 1 => Ok(0),
            None => {
                let message = format!("`{}` has {} graphs, but `graph` is not given", self.source.name, names.len());
                Err(ServiceError::refused("graph_required", message, listed()))
            }
        }
    }

    /// Checks whether it has no errors.
    pub fn is_sound(&self) -> bool {
        !self.faults.iter().any(Diagnostic::is_error)
    }

    /// Returns the findings with their source.
    pub fn findings(&self) -> Findings {
        self.faults.iter().map(|fault| (self.source.clone(), fault.clone())).collect()
    }
}

/// Returns the graphs of a text, in order.
pub(super) fn graphs_of(source: &Source) -> Vec<Graph> {
    dialect::parse(source, Strictness::Strict).graphs
}

/// Returns the names of a graph's edges, in order: their ends, the outcome between them, and a number if several would
/// have the same name. Indices would change with each edit.
pub fn edge_names(graph: &Graph) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(graph.edges.len());
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for edge in &graph.edges {
        let plain = plain_name(edge);
        let count = counts.entry(plain.clone()).or_default();
        *count += 1;
        names.push(if *count == 1 { plain } else { format!("{plain} #{count}") });
    }
    names
}

fn plain_name(Edge { from, to, on, .. }: &Edge) -> String {
    match on.outcome() {
        Some(on) => format!("{} -{on}-> {}", from.value, to.value),
        None => format!("{} -> {}", from.value, to.value),
    }
}

impl Author {
    /// Returns the present definition.
    ///
    /// # Errors
    /// There is none yet, or it cannot be read.
    pub fn whole(&self, library: &Library) -> Result<Whole, DefinitionError> {
        if self.file.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            let message = format!("there is no `{}` yet", self.file.display());
            let help = "addGraphTool creates it as a file of graphs of tool calls; for another format, have a \
                person put one there: `portolan catalog copy ID` copies one that comes with Portolan";
            return Err(refused("no_definition", message, help));
        }
        Ok(Whole::of(library, read_definition(&self.file)?, self.mcp.as_deref()))
    }

    /// Checks whether the file is one of graphs of tool calls, or may become one because it does not exist or cannot be
    /// read.
    pub fn is_of_graphs(&self) -> bool {
        let dialect = read_definition(&self.file).ok().and_then(|source| dialect::of(&source));
        dialect.is_none_or(|dialect| dialect.name == GRAPHS)
    }
}

/// Returns the definition file of a folder: the `workflow` in it, or that of its only workflow.
pub(super) fn file_in(folder: &Path) -> Result<PathBuf, ServiceError> {
    let mut files = workflow_files(folder)?;
    let own = |file: &WorkflowFile| {
        file.path.parent() == Some(folder) && file.path.file_stem().is_some_and(|stem| stem == "workflow")
    };
    if let Some(own) = files.iter().find(|file| own(file)) {
        return Ok(own.path.clone());
    }
    match (files.pop(), files.len()) {
        (Some(file), 0) => Ok(file.path),
        (None, _) => {
            let message = format!("`{}` is a folder that holds no definition", folder.display());
            let help = "name a file, or the folder of a workflow of activities with its `workflow.yaml`";
            Err(ServiceError::refused("no_definition", message, help))
        }
        (Some(_), others) => {
            let message = format!(
                "`{}` is a folder with {} definitions, but only one can be written",
                folder.display(),
                others + 1
            );
            Err(ServiceError::refused(
                "several_definitions",
                message,
                "name the file, or a folder that has only that one",
            ))
        }
    }
}
