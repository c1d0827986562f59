//! Tools, prompts and resources with fixed content.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    ProgressNotificationParam, Prompt, PromptArgument, PromptMessage, Resource, ResourceContents, ResourceTemplate,
    Role, Tool,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{argument, tool};

pub(super) const TOOLS: &[(&str, &str)] = &[
    ("test_simple_text", "Returns a text"),
    ("test_image_content", "Returns an image"),
    ("test_audio_content", "Returns a sound"),
    ("test_embedded_resource", "Returns a resource"),
    ("test_multiple_content_types", "Returns several kinds of content"),
    ("test_error_handling", "Fails"),
    ("test_tool_with_progress", "Reports its progress"),
];

/// The resource that can be subscribed to.
pub(super) const WATCHED: &str = "test://watched-resource";
const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
/// A PNG of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A WAV file without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
/// How long the tools wait between two notifications.
const PAUSE: Duration = Duration::from_millis(50);

/// Returns the tools whose schemas are tested.
pub(super) fn tools_with_schemas() -> Vec<Tool> {
    let rich = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    });
    let header = json!({
        "type": "object",
        "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
    });
    vec![
        tool("json_schema_2020_12_tool", "Has a schema with many keywords", rich),
        tool("test_custom_header", "Has an argument that is also a header", header),
    ]
}

/// Calls a tool. Returns `None` if it is not one of these.
pub(super) async fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<CallToolResult> {
    let content = match request.name.as_ref() {
        "test_simple_text" => vec![ContentBlock::text("This is a simple text response for testing.")],
        "test_image_content" => vec![ContentBlock::image(PNG, "image/png")],
        "test_audio_content" => vec![ContentBlock::audio(WAV, "audio/wav")],
        "test_embedded_resource" => {
            vec![embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]
        }
        "test_multiple_content_types" => vec![
            ContentBlock::text("Multiple content types test:"),
            ContentBlock::image(PNG, "image/png"),
            embedded("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ],
        "test_error_handling" => {
            let text = ContentBlock::text("This tool intentionally returns an error for testing");
            return Some(CallToolResult::error(vec![text]));
        }
        "test_tool_with_progress" => {
            for part in [0.0, 50.0, 100.0] {
                if let Some(token) = context.meta.get_progress_token() {
                    let progress = ProgressNotificationParam::new(token, part).with_total(100.0);
                    // A client that has left needs no progress.
                    let _left = context.peer.notify_progress(progress).await;
                }
                sleep(PAUSE).await;
            }
            vec![ContentBlock::text("done")]
        }
        "json_schema_2020_12_tool" | "test_custom_header" => {
            let arguments = request.arguments.clone().map(Value::Object).unwrap_or_default();
            vec![ContentBlock::text(arguments.to_string())]
        }
        _ => return None,
    };
    Some(CallToolResult::success(content))
}

fn embedded(uri: &str, kind: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(kind))
}

pub(super) fn resources() -> Vec<Resource> {
    let resource = |uri: &str, name: &str, kind: &str| {
        Resource::new(uri, name).with_description("A resource of the suite").with_mime_type(kind)
    };
    vec![
        resource(TEXT, "static-text", "text/plain"),
        resource(BINARY, "static-binary", "image/png"),
        resource(WATCHED, "watched-resource", "text/plain"),
    ]
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("test://template/{id}/data", "template")
            .with_description("Data of an id")
            .with_mime_type("application/json"),
    ]
}

/// Reads a resource. Returns `None` if there is none of this address.
pub(super) fn read(uri: &str) -> Option<ResourceContents> {
    let text = |text: &str, kind: &str| ResourceContents::text(text, uri).with_mime_type(kind);
    match uri {
        TEXT => Some(text("This is the content of the static text resource.", "text/plain")),
        WATCHED => Some(text("Watched resource content", "text/plain")),
        BINARY => Some(ResourceContents::blob(PNG, uri).with_mime_type("image/png")),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            Some(text(&data.to_string(), "application/json"))
        }
    }
}

pub(super) fn prompts() -> Vec<Prompt> {
    let prompt = |name: &str, arguments: &[&str]| {
        let argument = |name: &&str| PromptArgument::new(*name).with_description("An argument").with_required(true);
        let arguments = (!arguments.is_empty()).then(|| arguments.iter().map(argument).collect());
        Prompt::new(name, Some("A prompt of the suite"), arguments)
    };
    vec![
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt("test_input_required_result_prompt", &[]),
    ]
}

/// Returns the messages of a prompt. Returns `None` if there is none of this name.
pub(super) fn prompt(request: &GetPromptRequestParams) -> Option<GetPromptResponse> {
    let given = |name: &str| argument(request.arguments.as_ref(), name);
    let content = match request.name.as_str() {
        "test_simple_prompt" => vec![ContentBlock::text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let text = format!("Prompt with arguments: arg1='{}', arg2='{}'", given("arg1"), given("arg2"));
            vec![ContentBlock::text(text)]
        }
        "test_prompt_with_embedded_resource" => vec![
            embedded(given("resourceUri"), "text/plain", "Embedded resource content for testing."),
            ContentBlock::text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => {
            vec![ContentBlock::image(PNG, "image/png"), ContentBlock::text("Please analyze the image above.")]
        }
        _ => return None,
    };
    let messages = content.into_iter().map(|content| PromptMessage::new(Role::User, content)).collect();
    Some(GetPromptResult::new(messages).into())
}
