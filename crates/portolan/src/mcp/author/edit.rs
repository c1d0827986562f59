//! Shows, adds, changes and deletes the tools of the file.

use portolan_runtime::author::{AppliedChange, Change};
use portolan_runtime::definition::DefinitionError;
use portolan_runtime::service::ServiceError;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};

use super::{Server, answers};
use crate::mcp::arguments::Arguments;

/// The member of a sent definition with the tool's revision. It is never written to the file.
const REVISION: &str = "revision";

pub(super) fn server(server: &Server, arguments: Arguments) -> Result<CallToolResult, DefinitionError> {
    arguments.finish()?;
    let present = server.author.present()?;
    let face = present.face();
    let text = |key: &str| face.get(key).and_then(Value::as_str).map(str::to_owned);
    let name = text("name").unwrap_or_default();
    let mut object = json!({ "name": name, "version": text("version").unwrap_or_default() });
    object["title"] = json!(text("title").unwrap_or(name));
    if let Some(instructions) = text("instructions").or_else(|| text("description")) {
        object["instructions"] = json!(instructions);
    }
    object["file"] = json!(server.author.file().to_string_lossy());
    object["exists"] = json!(present.exists());
    Ok(answers::done(object))
}

pub(super) fn list(server: &Server, arguments: Arguments) -> Result<CallToolResult, DefinitionError> {
    arguments.finish()?;
    let present = server.author.present()?;
    let tools = present.tools();
    let items: Vec<Value> =
        tools.iter().map(|tool| json!({ "name": tool.name, "description": tool.description })).collect();
    Ok(answers::done(json!({ "items": items })))
}

pub(super) fn get(server: &Server, mut arguments: Arguments) -> Result<CallToolResult, DefinitionError> {
    let name = arguments.required("toolName");
    arguments.finish()?;
    let present = server.author.present()?;
    let tool = present.tool(&name)?;
    let mut definition = present.definition(&tool);
    if let (Some(fields), Some(revision)) = (definition.as_object_mut(), present.revision(&tool)) {
        fields.insert(REVISION.to_owned(), json!(revision));
    }
    Ok(answers::done(definition))
}

pub(super) async fn add(server: &Server, mut arguments: Arguments) -> Result<CallToolResult, DefinitionError> {
    let mut tool = arguments.required_object("tool");
    arguments.finish()?;
    tool.shift_remove(REVISION);
    let written = write(server, Change::Add(Value::Object(tool)), None).await?;
    Ok(change_result(&written, "added"))
}

pub(super) async fn update(server: &Server, mut arguments: Arguments) -> Result<CallToolResult, DefinitionError> {
    let name = arguments.required("toolName");
    let mut tool = arguments.required_object("tool");
    let revision = arguments.string(REVISION);
    arguments.finish()?;
    let revision = revision.or(revision_in(&mut tool)?);
    let written = write(server, Change::Update(name, Value::Object(tool)), revision.as_deref()).await?;
    Ok(change_result(&written, "updated"))
}

pub(super) async fn delete(server: &Server, mut arguments: Arguments) -> Result<CallToolResult, DefinitionError> {
    let name = arguments.required("toolName");
    let revision = arguments.string(REVISION);
    arguments.finish()?;
    let written = write(server, Change::Delete(name), revision.as_deref()).await?;
    Ok(change_result(&written, "deleted"))
}

/// Takes the revision out of a definition that a client has read and sends back.
fn revision_in(tool: &mut Map<String, Value>) -> Result<Option<String>, ServiceError> {
    match tool.shift_remove(REVISION) {
        None => Ok(None),
        Some(Value::String(revision)) => Ok(Some(revision)),
        Some(_) => Err(ServiceError::refused(
            "invalid_arguments",
            "`revision` of the tool must be a string",
            "send the one that getGraphTool gave, or leave it out",
        )),
    }
}

async fn write(server: &Server, change: Change, revision: Option<&str>) -> Result<AppliedChange, DefinitionError> {
    server.author.write(server.service.library(), change, revision).await
}

fn change_result(written: &AppliedChange, done: &str) -> CallToolResult {
    let mut message = format!("Tool `{}` {done}", written.name);
    if !written.sound {
        message.push_str("; the file has other faults, and is not served until they are fixed");
    }
    let mut object = json!({ "success": true, "message": message });
    if let Some(revision) = &written.revision {
        object[REVISION] = json!(revision);
    }
    if !written.findings.is_empty() {
        object["diagnostics"] = answers::findings(&written.findings);
    }
    answers::done(object)
}
