//! Tools that ask the client while they run, as revisions with sessions allow, or that send it messages.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ContentBlock, CreateMessageRequestParams,
    ElicitRequestParams, ErrorData, LoggingLevel, LoggingMessageNotificationParam, ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::argument;

pub(super) const TOOLS: &[(&str, &str)] = &[
    ("test_tool_with_logging", "Sends three messages for the log"),
    ("test_logging_tool", "Sends a message for the log, if the request asks for it"),
    ("test_sampling", "Asks the client's model"),
    ("test_elicitation", "Asks the client's user"),
    ("test_elicitation_sep1034_defaults", "Asks the client's user, with defaults"),
    ("test_elicitation_sep1330_enums", "Asks the client's user to choose"),
    ("test_missing_capability", "Requires a client that offers a model"),
    ("test_streaming_elicitation", "Answers in a stream"),
];

type Answer = Result<CallToolResult, ErrorData>;

/// Calls a tool. Returns `None` if it is not one of these.
pub(super) async fn call(request: &CallToolRequestParams, context: &RequestContext<RoleServer>) -> Option<Answer> {
    let given = |name: &str| argument(request.arguments.as_ref(), name);
    Some(match request.name.as_ref() {
        "test_tool_with_logging" => {
            for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                log(context, text).await;
                sleep(Duration::from_millis(50)).await;
            }
            Ok(text_result("logged"))
        }
        "test_logging_tool" => {
            if context.meta.log_level().is_some() {
                log(context, "logged").await;
            }
            Ok(text_result("logged"))
        }
        "test_sampling" => sample(given("prompt"), context).await,
        "test_elicitation" => elicit("User response", given("message"), &user_schema(), context).await,
        "test_elicitation_sep1034_defaults" => {
            elicit("Elicitation completed", "Check the values", &defaults_schema(), context).await
        }
        "test_elicitation_sep1330_enums" => {
            elicit("Elicitation completed", "Choose the values", &enums_schema(), context).await
        }
        "test_missing_capability" => match has_sampling(context) {
            true => Ok(text_result("the client offers a model")),
            false => Err(ErrorData::missing_required_client_capability(sampling())),
        },
        "test_streaming_elicitation" => Ok(text_result("nothing to ask")),
        _ => return None,
    })
}

fn text_result(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn has_sampling(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|capabilities| capabilities.sampling.is_some())
}

fn sampling() -> ClientCapabilities {
    ClientCapabilities::builder().enable_sampling().build()
}

async fn log(context: &RequestContext<RoleServer>, text: &str) {
    let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(text));
    // A client that has left needs no messages.
    let _left = context.peer.notify_logging_message(message).await;
}

async fn sample(prompt: &str, context: &RequestContext<RoleServer>) -> Answer {
    if is_stateless(context) || !has_sampling(context) {
        return Err(ErrorData::missing_required_client_capability(sampling()));
    }
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    let wanted: CreateMessageRequestParams = read(json!({ "messages": [message], "maxTokens": 100 }))?;
    let answer = context.peer.create_message(wanted).await.map_err(broken)?;
    let answer = serde_json::to_value(&answer).unwrap_or_default();
    let text = answer["content"]["text"].as_str().or(answer["content"][0]["text"].as_str());
    Ok(text_result(format!("LLM response: {}", text.unwrap_or_default())))
}

async fn elicit(begin: &str, message: &str, schema: &Value, context: &RequestContext<RoleServer>) -> Answer {
    if is_stateless(context) {
        return Err(ErrorData::invalid_request("this tool asks within a session", None));
    }
    let form: ElicitRequestParams = read(json!({ "message": message, "requestedSchema": schema }))?;
    let answer = context.peer.create_elicitation(form).await.map_err(broken)?;
    let answer = serde_json::to_value(&answer).unwrap_or_default();
    let action = answer["action"].as_str().unwrap_or_default();
    Ok(text_result(format!("{begin}: action={action}, content={}", answer["content"])))
}

fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn broken(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

fn user_schema() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    json!({
        "type": "object",
        "properties": { "username": text("User's response"), "email": text("User's email address") },
        "required": ["username", "email"],
    })
}

fn defaults_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true },
        },
    })
}

fn enums_schema() -> Value {
    let titled = |titles: [(&str, &str); 3]| titles.map(|(value, title)| json!({ "const": value, "title": title }));
    let options = ["option1", "option2", "option3"];
    let single = titled([("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")]);
    let multi = titled([("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice")]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": single },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
            "titledMulti": { "type": "array", "items": { "anyOf": multi } },
        },
    })
}
