//! Edits a definition by operations: all of them are performed, or none.

use std::collections::BTreeMap;

use portolan_core::dialect::editing::{self, EditError};
use portolan_core::source::{self, MAX_SOURCE_BYTES, Source, Span, Tree};
use serde_json::Value;

use super::change::{GRAPHS, Present};
use super::operations::{self, Step};
use super::save::{SaveResult, save_at};
use super::whole::{Whole, graphs_of};
use super::{Author, checks, refused};
use crate::definition::{DefinitionError, Findings};
use crate::digest::Digest;
use crate::error::ServiceError;
use crate::library::{Library, rewritten};

/// An edit of a definition.
#[derive(Clone, Debug, Default)]
pub struct Edit {
    /// The revision of the texts that the caller knows.
    pub revision: String,
    /// The name of the graph to edit. `None` if there is only one.
    pub graph: Option<String>,
    /// The operations, in order: [`editing::Operation`]s that name their edges.
    pub operations: Vec<Value>,
    /// Whether nothing is written.
    pub is_trial: bool,
}

/// The result of an edit.
#[derive(Debug)]
pub struct EditResult {
    /// The revision of the texts on disk. A trial does not change it, so the following edit can use it.
    pub revision: Digest,
    /// The changed files: each with its name, its text before, and after. `None` if it does not exist.
    pub files: Vec<(String, Option<String>, Option<String>)>,
    /// The node to show for each operation.
    pub nodes: Vec<Option<String>>,
    /// All findings in the definition after the edit.
    pub findings: Findings,
    /// Whether it can be run: earlier faults may remain.
    pub sound: bool,
}

impl Author {
    /// Performs all of the operations, or none.
    ///
    /// # Errors
    /// The definition has another revision, an operation cannot be performed, or the operations would bring faults.
    /// Nothing was written.
    pub async fn edit(&self, library: &Library, wanted: &Edit) -> Result<EditResult, DefinitionError> {
        let steps = operations::read(&wanted.operations)?;
        let before = self.whole(library)?;
        if before.revision.as_str() != wanted.revision {
            return Err(self.stale());
        }
        let (text, nodes) = performed(&before, wanted.graph.as_deref(), &steps)?;
        let after = Whole::of(library, text, self.mcp.as_deref());
        self.accept(&before, &after, wanted.graph.as_deref())?;
        let files = between(&before.source, &after.source);
        let mut revision = before.revision;
        if !wanted.is_trial {
            let wished = files.iter().map(|(name, _, after)| (name.clone(), after.clone())).collect();
            match save_at(&self.file, &wanted.revision, wished).await? {
                SaveResult::Written(_) => revision = after.revision.clone(),
                SaveResult::Changed(_) => return Err(self.stale()),
            }
        }
        Ok(EditResult {
            files: files.into_iter().filter(|(_, before, after)| before != after).collect(),
            nodes,
            findings: after.findings(),
            sound: after.is_sound(),
            revision,
        })
    }

    fn stale(&self) -> DefinitionError {
        let file = self.file.display();
        let message = format!("`{file}` has changed since the revision that was sent; nothing was written");
        refused("stale", message, "get it again with getDefinition, and edit the current definition")
    }

    /// Refuses a result that changes servers or the format, or that has new faults.
    fn accept(&self, before: &Whole, after: &Whole, graph: Option<&str>) -> Result<(), DefinitionError> {
        if servers(&before.source) != servers(&after.source) {
            let message = "the change was not written: it would change the servers of the file";
            let help = "a person must change `mcpServers` in an editor, and trust the servers with `portolan trust`";
            return Err(refused("servers", message, help));
        }
        let (format, new) = (before.dialect.map(|one| one.name), after.dialect.map(|one| one.name));
        if format != new {
            let message = "the change was not written: the file would have another format, or none";
            return Err(refused("another_format", message, "do not change the fields that determine its format"));
        }
        // Only in graphs of tool calls, the whole file determines whether `$…` is an expression.
        let changed = match format {
            Some(GRAPHS) => {
                let place = before.graph(graph)?;
                let present = Present::of(&self.file, Some(&after.source.text))?;
                after.names().get(place).and_then(|name| present.span_of(name))
            }
            _ => Some(Span { start: 0, end: usize::MAX }),
        };
        checks::accept(&before.findings(), &after.findings(), changed)
    }
}

/// Returns the text after all of the operations, and the node that each of them concerns.
fn performed(
    before: &Whole,
    graph: Option<&str>,
    steps: &[Step],
) -> Result<(Source, Vec<Option<String>>), DefinitionError> {
    let name = &before.source.name;
    let Some(dialect) = before.dialect.filter(|_| !before.graphs.is_empty()) else {
        let why = before.faults.iter().find(|fault| fault.is_error()).map(|fault| format!(": {}", fault.message));
        let message = format!("`{name}` cannot be edited piece by piece{}", why.unwrap_or_default());
        return Err(refused("not_editable", message, "fix its text first, in an editor"));
    };
    let place = before.graph(graph)?;
    let mut target = before.names()[place].to_owned();
    let (mut source, mut nodes) = (before.source.clone(), Vec::new());
    for step in steps {
        let not_done = |EditError { message, help }: EditError| {
            refused("not_editable", format!("{}: {message}; nothing was written", step.title), help)
        };
        let graphs = graphs_of(&source);
        // An earlier operation may have renamed it; its position does not change.
        let named = graphs.iter().find(|graph| graph.id.value == target);
        let Some(graph) = named.or_else(|| graphs.get(place).filter(|_| graphs.len() == before.graphs.len())) else {
            let message = format!("after the preceding operations, `{target}` can no longer be read");
            let help = "change the preceding operations: each must leave a text that can be read".to_owned();
            return Err(not_done(EditError { message, help }));
        };
        target.clone_from(&graph.id.value);
        let operation = step.on(graph).map_err(not_done)?;
        let done = editing::edit(dialect, &source, graph, &operation).map_err(not_done)?;
        let size = done.files.iter().filter_map(|(_, text)| text.as_ref()).map(String::len).sum::<usize>();
        if size > MAX_SOURCE_BYTES {
            let message = format!("{}: the text would have more than {MAX_SOURCE_BYTES} bytes", step.title);
            return Err(refused("too_large", message, "move parts of it into another definition"));
        }
        source = rewritten(&source, done.files).map_err(|error: ServiceError| DefinitionError::from(error))?;
        nodes.push(done.select);
    }
    Ok((source, nodes))
}

/// Returns the files of two sources, each with its text in the one and in the other.
fn between(before: &Source, after: &Source) -> Vec<(String, Option<String>, Option<String>)> {
    let mut after: BTreeMap<String, String> = after.texts().into_iter().collect();
    let known = before.texts().into_iter().map(|(name, text)| {
        let now = after.remove(&name);
        (name, Some(text), now)
    });
    let mut files: Vec<_> = known.collect();
    files.extend(after.into_iter().map(|(name, text)| (name, None, Some(text))));
    files
}

/// Returns the servers that a file brings along, as they are written.
fn servers(source: &Source) -> [Option<Value>; 2] {
    let (tree, _) = source::parse(&source.main());
    ["mcpServers", "servers"].map(|key| tree.as_ref().and_then(|tree| tree.get(key)).map(Tree::value))
}
