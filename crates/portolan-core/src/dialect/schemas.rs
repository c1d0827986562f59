//! JSON Schemas in a file, with each fault at its place in the text.

use crate::diagnostic::Diagnostic;
use crate::schema::Schema;
use crate::source::fields::{FaultList, Fields};
use crate::source::{Spanned, Tree, TreeKind};

/// Reads an optional JSON Schema.
pub(super) fn schema(
    fields: &mut Fields<'_>,
    key: &'static str,
    whose: &str,
    faults: &mut FaultList,
) -> Option<Spanned<Schema>> {
    fields.optional(key).and_then(|tree| compiled(tree, key, whose, faults))
}

/// Compiles a tree as a JSON Schema.
pub(super) fn compiled(tree: &Tree, key: &str, whose: &str, faults: &mut FaultList) -> Option<Spanned<Schema>> {
    let found = match Schema::compile(&tree.value()) {
        Ok(schema) => return Some(Spanned { value: schema, span: tree.head() }),
        Err(found) => found,
    };
    for fault in found {
        let message = format!("`{key}` of {whose} is not a valid JSON Schema: {fault}");
        let place = at_pointer(tree, &fault.path).unwrap_or(tree);
        let fault = Diagnostic::error("bad-schema", message).at(place.head());
        faults.push(fault.help("write it in JSON Schema 2020-12, with all schemas that it refers to under `$defs`"));
    }
    None
}

/// Returns the part of a tree that a JSON pointer refers to.
fn at_pointer<'t>(tree: &'t Tree, pointer: &str) -> Option<&'t Tree> {
    let mut at = tree;
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        at = match &at.kind {
            TreeKind::Array(items) => items.get(part.parse::<usize>().ok()?)?,
            _ => at.get(&part)?,
        };
    }
    Some(at)
}
