//! The tools as clients see them: the content of the files in MCP's terms.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use portolan_core::diagnostic::closest;
use portolan_core::graph::{Interface, Kind, Workflow};
use portolan_core::schema::Schema;
use portolan_core::value::NodeId;
use portolan_runtime::definition::Definition;
use portolan_runtime::graphs::GraphVersion;
use portolan_runtime::library::FunctionSet;
use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value, json};

/// The member that holds an output that is not an object.
pub(super) const RESULT: &str = "result";

/// One version of the files, and its tools.
pub(super) struct Listing {
    pub(super) loaded: Arc<GraphVersion>,
    entries: IndexMap<String, Entry>,
    /// The functions that are not served, with the reasons.
    left_out: IndexMap<String, String>,
}

/// A tool.
pub(super) struct Entry {
    pub(super) definition: Arc<Definition>,
    pub(super) shape: Shape,
    tool: Tool,
}

/// How an output becomes structured content, which must be an object.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// Without a schema: an object is kept, anything else is wrapped.
    Open,
    /// An object of this schema.
    Object(Schema),
    /// Possibly not an object, so it is always wrapped: clients validate it against a schema.
    Wrapped,
}

impl Listing {
    pub(super) fn of(loaded: Arc<GraphVersion>) -> Listing {
        let (mut entries, mut left_out) = (IndexMap::new(), IndexMap::new());
        for (name, definition) in &loaded.functions.definitions {
            match cannot_be_served(&loaded.functions, name, definition) {
                None => entries.insert(name.clone(), Entry::of(name, definition)).map_or((), drop),
                Some(why) => left_out.insert(name.clone(), why).map_or((), drop),
            }
        }
        Listing { loaded, entries, left_out }
    }

    /// Returns the functions that are not served, with the reasons.
    pub(super) fn left_out(&self) -> &IndexMap<String, String> {
        &self.left_out
    }

    pub(super) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    pub(super) fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.entries.values().map(|entry| &entry.tool)
    }

    /// Returns the most similar name of a tool.
    pub(super) fn closest(&self, name: &str) -> Option<&str> {
        closest(name, self.entries.keys().map(String::as_str))
    }
}

/// Returns why a function is not served: its caller cannot wait for an agent or a person.
fn cannot_be_served(functions: &FunctionSet, name: &str, definition: &Definition) -> Option<String> {
    let (who, node) = awaited(&definition.workflow)?;
    let by = begun_as(functions, name, definition);
    Some(format!(
        "`{name}` is not served: it can wait for {who} at `{node}`, which a tool call cannot do; run it with \
        `portolan run --durable`, or {by}"
    ))
}

/// Returns how an agent can follow a function. A file stands for the function of its name, or else for its first one.
fn begun_as(functions: &FunctionSet, name: &str, definition: &Definition) -> String {
    let file = definition.file.as_deref().unwrap_or_default();
    let beside = |other: &&String| functions.definitions[*other].file == definition.file;
    let id = Path::new(file).file_stem().map_or_else(|| name.into(), OsStr::to_string_lossy);
    let first = functions.definitions.keys().find(beside);
    let stands = functions.definitions.keys().filter(beside).find(|other| **other == *id).or(first);
    match stands {
        Some(stands) if stands == name => {
            format!("serve its file with `--toolset tasks`, where `Init` starts it as `{id}`")
        }
        _ => "put it into a file of its own and serve that with `--toolset tasks`, where `Init` starts it by the file's name"
            .to_owned(),
    }
}

/// Returns for whom a run may wait, and where, or `None` if it never waits.
pub(crate) fn awaited(workflow: &Workflow) -> Option<(&'static str, &NodeId)> {
    let steps = workflow.flows().flat_map(|(_, flow)| &flow.steps);
    let mut awaited = steps.filter_map(|(node, step)| match &step.node.kind {
        Kind::Work { .. } => Some(("an agent", node)),
        Kind::Checkpoint { .. } => Some(("a person", node)),
        _ => None,
    });
    awaited.next()
}

impl Entry {
    fn of(name: &str, definition: &Arc<Definition>) -> Entry {
        let flow = definition.workflow.root();
        let description = Some(flow.description.clone()).filter(|text| !text.is_empty()).map(Cow::Owned);
        let program = flow.interface.as_deref();
        let input = program.and_then(|program| program.input.as_ref());
        let mut tool = Tool::new_with_raw(name.to_owned(), description, arguments(input.map(|input| &input.value)));
        tool.title = program.and_then(|program| program.title.clone());
        tool.annotations = program
            .and_then(|program| program.annotations.clone())
            .and_then(|annotations| serde_json::from_value(annotations).ok());
        let shape = shape(program);
        tool.output_schema = match &shape {
            Shape::Open => None,
            Shape::Object(schema) => schema.value().as_object().cloned().map(Arc::new),
            Shape::Wrapped => program
                .and_then(|program| program.output.as_ref())
                .map(|output| Arc::new(wrapped(output.value.value()))),
        };
        Entry { definition: Arc::clone(definition), shape, tool }
    }
}

/// Returns the schema of the arguments, as written. Clients require `type: object`, which arguments always are.
fn arguments(schema: Option<&Schema>) -> JsonObject {
    let mut schema = schema.and_then(|schema| schema.value().as_object()).cloned().unwrap_or_default();
    schema.entry("type").or_insert_with(|| json!("object"));
    schema
}

fn shape(program: Option<&Interface>) -> Shape {
    match program.and_then(|program| program.output.as_ref()) {
        None => Shape::Open,
        Some(output) if output.value.value().get("type") == Some(&json!("object")) => {
            Shape::Object(output.value.clone())
        }
        Some(_) => Shape::Wrapped,
    }
}

/// Returns the schema of `{"result": …}` around another one. References within it are adapted.
fn wrapped(schema: &Value) -> JsonObject {
    let mut inner = schema.clone();
    let mut outer = Map::new();
    if let Some(fields) = inner.as_object_mut() {
        // Only the root may name the draft.
        if let Some(draft) = fields.shift_remove("$schema") {
            outer.insert("$schema".to_owned(), draft);
        }
        // A schema with its own `$id` is the root of its references.
        if !fields.contains_key("$id") {
            redirect(&mut inner);
        }
    }
    outer.insert("type".to_owned(), json!("object"));
    outer.insert("properties".to_owned(), json!({ RESULT: inner }));
    outer.insert("required".to_owned(), json!([RESULT]));
    outer
}

/// Keywords whose members are schemas by name.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keywords that hold arbitrary values.
const VALUES: [&str; 5] = ["const", "enum", "default", "examples", "example"];

/// Adapts references from the root of a schema to its place in the wrapped one.
fn redirect(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(redirect),
        Value::Object(fields) => {
            for (word, value) in fields {
                match value {
                    Value::String(target) if word == "$ref" && (target == "#" || target.starts_with("#/")) => {
                        target.insert_str(1, &format!("/properties/{RESULT}"));
                    }
                    Value::Object(named) if NAMED.contains(&word.as_str()) => named.values_mut().for_each(redirect),
                    _ if VALUES.contains(&word.as_str()) => {}
                    _ => redirect(value),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_lead_where_they_led() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "array",
            "items": { "$ref": "#/$defs/item" },
            "default": { "$ref": "#/$defs/item" },
            "$defs": { "item": { "anyOf": [{ "type": "string" }, { "$ref": "#" }] }, "$ref": { "$ref": "#named" } },
        });
        assert_eq!(
            Value::Object(wrapped(&schema)),
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": { "result": {
                    "type": "array",
                    "items": { "$ref": "#/properties/result/$defs/item" },
                    "default": { "$ref": "#/$defs/item" },
                    "$defs": {
                        "item": { "anyOf": [{ "type": "string" }, { "$ref": "#/properties/result" }] },
                        "$ref": { "$ref": "#named" },
                    },
                } },
                "required": ["result"],
            })
        );
        assert_eq!(wrapped(&json!(true))["properties"], json!({ "result": true }));
        let own = json!({ "$id": "https://example.org/own", "$ref": "#/$defs/item" });
        assert_eq!(wrapped(&own)["properties"]["result"], own);
    }
}
