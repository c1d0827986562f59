//! Answers: structured content, and the same as text for clients that read only that.

use portolan_core::diagnostic::Diagnostic;
use portolan_core::source::Source;
use portolan_core::validate;
use portolan_runtime::definition::{DefinitionError, Findings};
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};

use crate::mcp::face::result;

/// The most findings in an answer.
const MAX_FINDINGS: usize = 100;

pub(super) fn done(value: Value) -> CallToolResult {
    result(value, false)
}

/// Returns a failed call with additional members.
pub(super) fn failed(error: Value, more: Map<String, Value>) -> CallToolResult {
    let mut value = Map::new();
    value.insert("error".to_owned(), error);
    value.extend(more);
    result(Value::Object(value), true)
}

/// Returns a refused call.
pub(super) fn refused(refused: &DefinitionError) -> CallToolResult {
    let error = &refused.error;
    let mut object = error_of(error.code, &error.message, &error.help);
    if !refused.findings.is_empty() {
        object["diagnostics"] = findings(&refused.findings);
    }
    failed(object, Map::new())
}

pub(super) fn error_of(code: &str, message: &str, help: &str) -> Value {
    json!({ "code": code, "message": message, "help": help })
}

/// Returns the findings of a definition, each with its place.
pub(super) fn findings(findings: &Findings) -> Value {
    findings.iter().take(MAX_FINDINGS).map(|(source, fault)| finding(source, fault)).collect()
}

fn finding(source: &Source, fault: &Diagnostic) -> Value {
    let place = fault.span.map(|span| source.location(span.start));
    let mut object = json!({
        "code": fault.code,
        "severity": fault.severity,
        "message": fault.message,
        "help": fault.help.as_deref().unwrap_or_else(|| usual_help(fault.code)),
        "file": fault.span.map_or(&*source.name, |span| source.file_at(span.start).0),
    });
    if let Some(place) = place {
        object["line"] = json!(place.line);
        object["column"] = json!(place.column);
    }
    object
}

/// Returns the general help for a fault without its own.
fn usual_help(code: &str) -> &'static str {
    validate::codes().into_iter().find(|known| known.code == code).map_or("mend it", |known| known.fix)
}
