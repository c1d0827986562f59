//! The operations of an edit as they are sent, with edges by name.

use portolan_core::diagnostic::{clip, closest};
use portolan_core::dialect::editing::{EditError, Operation};
use portolan_core::graph::Graph;
use portolan_core::source::MAX_SOURCE_BYTES;
use serde_json::Value;

use super::{edge_names, refused};
use crate::definition::DefinitionError;

/// The maximum number of operations in one edit.
pub const MAX_OPERATIONS: usize = 100;

/// The words of [`Operation`].
const WORDS: [&str; 13] = [
    "set",
    "add",
    "connect",
    "disconnect",
    "reconnect",
    "outcome",
    "label",
    "rename",
    "delete",
    "duplicate",
    "kind",
    "wrap",
    "move",
];
/// The maximum length in characters of the reason why an operation cannot be read.
const MAX_WHY: usize = 300;

/// One operation.
pub(super) struct Step {
    /// Its number, from 1, and its word, for error messages.
    pub(super) title: String,
    operation: Operation,
    /// The name of its edge.
    edge: Option<String>,
}

/// Reads the operations, if all of them are valid.
pub(super) fn read(operations: &[Value]) -> Result<Vec<Step>, DefinitionError> {
    if operations.is_empty() || operations.len() > MAX_OPERATIONS {
        let message = format!("`do` has {} operations, but takes 1 to {MAX_OPERATIONS}", operations.len());
        return Err(refused("invalid_arguments", message, "send the first of them, and the others in further calls"));
    }
    if operations.iter().map(|operation| operation.to_string().len()).sum::<usize>() > MAX_SOURCE_BYTES {
        let message =
            format!("the operations have more than {MAX_SOURCE_BYTES} bytes, which is the limit for a definition");
        return Err(refused("too_large", message, "move parts of it into another definition"));
    }
    operations.iter().enumerate().map(|(nth, operation)| Step::read(nth + 1, operation.clone())).collect()
}

impl Step {
    fn read(number: usize, mut operation: Value) -> Result<Step, DefinitionError> {
        let Some(word) = operation.get("is").and_then(Value::as_str) else {
            let message = format!("operation {number} does not say what to do");
            return Err(refused("invalid_arguments", message, format!("send an object whose `is` {}", words())));
        };
        if !WORDS.contains(&word) {
            let message = format!("operation {number} is `{}`; there is no such operation", clip(word));
            let near = closest(word, WORDS).map(|near| format!("did you mean `{near}`?"));
            return Err(refused("invalid_arguments", message, near.unwrap_or_else(|| format!("`is` {}", words()))));
        }
        let title = format!("operation {number} (`{word}`)");
        let unread = |why: &str| {
            let help = "the schema of `do` says which fields an operation has";
            refused("invalid_arguments", format!("{title} cannot be read: {why}"), help)
        };
        let mut edge = None;
        match operation.get_mut("edge") {
            None | Some(Value::Null) => {}
            Some(place) => match place.take() {
                Value::String(name) => {
                    edge = Some(name);
                    // The number of the edge is known only when the operation is performed.
                    *place = Value::from(0);
                }
                _ => return Err(unread("its `edge` must be a text: the name that getDefinition gives the edge")),
            },
        }
        let operation = serde_json::from_value(operation).map_err(|error| {
            // The message repeats the input, of any length.
            unread(&error.to_string().chars().take(MAX_WHY).collect::<String>())
        })?;
        Ok(Step { title, operation, edge })
    }

    /// Returns the operation for the graph as it is when the operation is performed.
    pub(super) fn on(&self, graph: &Graph) -> Result<Operation, EditError> {
        let mut operation = self.operation.clone();
        let Some(name) = &self.edge else { return Ok(operation) };
        let number = edge_named(graph, name)?;
        match &mut operation {
            Operation::Add { edge, .. } => *edge = Some(number),
            Operation::Disconnect { edge }
            | Operation::Reconnect { edge, .. }
            | Operation::Outcome { edge, .. }
            | Operation::Label { edge, .. } => {
                *edge = number;
            }
            Operation::Set { .. }
            | Operation::Connect { .. }
            | Operation::Rename { .. }
            | Operation::Delete { .. }
            | Operation::Duplicate { .. }
            | Operation::Kind { .. }
            | Operation::Wrap { .. }
            | Operation::Move { .. } => {}
        }
        Ok(operation)
    }
}

fn words() -> String {
    format!("is one of `{}`", WORDS.join("`, `"))
}

fn edge_named(graph: &Graph, name: &str) -> Result<usize, EditError> {
    let names = edge_names(graph);
    names.iter().position(|known| known == name).ok_or_else(|| {
        let help = match closest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                "getDefinition gives the names of the edges; each operation sees what the preceding ones have changed"
                    .to_owned()
            }
        };
        EditError { message: format!("there is no edge `{}`", clip(name)), help }
    })
}
