//! The tools that the engine itself implements: access to the variables of a run, for the model of a state.

use serde_json::json;

use crate::chat::ToolSpec;

/// The tool that reads variables.
pub const SHARED_GET: &str = "shared_get";
/// The tool that sets a variable. It is undone if the attempt fails.
pub const SHARED_SET: &str = "shared_set";

/// Returns the description of a tool that the engine implements; `None` for any other tool.
pub fn shared_tool(name: &str) -> Option<ToolSpec> {
    let (description, parameters) = match name {
        SHARED_GET => (
            "Read a value that is shared by all steps, or all of them where no name is given.",
            json!({ "type": "object", "properties": { "name": { "type": "string", "description": "which one" } } }),
        ),
        SHARED_SET => (
            "Share a value with the steps that come later.",
            json!({ "type": "object", "required": ["name", "value"], "properties": {
                "name": { "type": "string", "description": "under which name" },
                "value": { "description": "any JSON value" } } }),
        ),
        _ => return None,
    };
    Some(ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters })
}
