//! Applies operations to texts, for the tests of dialects.

use serde_json::Value;

use super::{Operation, edit};
use crate::dialect::{self, Strictness};
use crate::source::Source;

/// Returns the text after each of the operations on the graph called `graph`, or on the first, or the reason of a
/// refusal.
pub(in crate::dialect) fn tried(name: &str, graph: &str, text: &str, operations: &[Value]) -> String {
    let mut text = text.to_owned();
    for operation in operations {
        let operation: Operation = serde_json::from_value(operation.clone()).expect("an operation");
        let source = Source::new(name, &text);
        let read = dialect::parse(&source, Strictness::Strict);
        let graph = read.graphs.iter().find(|one| graph.is_empty() || one.id.value.as_str() == graph);
        let graph = graph.unwrap_or_else(|| panic!("it can be drawn: {:?}", read.faults));
        match edit(dialect::of(&source).expect("a format"), &source, graph, &operation) {
            Ok(edited) => text = edited.files.into_iter().filter_map(|(_, text)| text).collect(),
            Err(refused) => return format!("refused: {}\nhelp: {}\n", refused.message, refused.help),
        }
    }
    text
}

/// Returns the lines that were removed from a text and those that were added.
pub(in crate::dialect) fn difference(before: &str, after: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let gone = before.iter().filter(|line| !after.contains(line)).map(|line| format!("-{line}\n"));
    gone.chain(after.iter().filter(|line| !before.contains(line)).map(|line| format!("+{line}\n"))).collect()
}
