//! A complete answer of chat completions.

use portolan_core::chat::{Arguments, Message, ModelAnswer, ModelError, Role, ToolUse};
use serde::Deserialize;
use serde_json::Value;

use super::super::failure::Speaker;
use super::super::wire::{MAX_CALLS, call_id, ended, lenient, unread};
use super::{Content, Counts, call_extra, extra, finish};

#[derive(Deserialize)]
struct Whole {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<Counts>,
    #[serde(default, deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    message: AnswerMessage,
    #[serde(default, deserialize_with = "lenient")]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct AnswerMessage {
    #[serde(default)]
    content: Option<Content>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Call>>,
    #[serde(default, deserialize_with = "lenient")]
    reasoning_content: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    reasoning_details: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct Call {
    #[serde(default)]
    id: Option<String>,
    function: Function,
    #[serde(default)]
    extra_content: Option<Value>,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Value,
}

/// Reads an answer.
///
/// # Errors
/// It is no answer, or reports a failure.
pub(in crate::models) fn answer(body: &[u8], provider: &str, speaker: &Speaker) -> Result<ModelAnswer, ModelError> {
    let whole: Whole = serde_json::from_slice(body).map_err(|error| speaker.bad(&unread(&error)))?;
    if let Some(error) = whole.error.filter(|error| !error.is_null()) {
        return Err(speaker.within(&error));
    }
    let choice = whole.choices.into_iter().flatten().next().ok_or_else(|| speaker.bad("it has no choice"))?;
    let reply = choice.message;
    let mut calls: Vec<ToolUse> = Vec::new();
    for call in reply.tool_calls.into_iter().flatten() {
        if calls.len() == MAX_CALLS {
            return Err(speaker.bad(&format!("it asks for more than {MAX_CALLS} tools")));
        }
        let id = call_id(call.id, &calls);
        let arguments = arguments(call.function.arguments);
        calls.push(ToolUse {
            id,
            name: call.function.name,
            arguments,
            extra: call_extra(provider, call.extra_content),
        });
    }
    let details = reply.reasoning_details.unwrap_or_default();
    let extra = extra(provider, reply.reasoning_content, details, !calls.is_empty());
    let content =
        reply.content.map(Content::text).or(reply.refusal).filter(|text| !text.is_empty() || calls.is_empty());
    let message = Message { content, tool_calls: calls, extra, ..Message::text(Role::Assistant, "") };
    let finish = ended(finish(choice.finish_reason), &message);
    let usage = whole.usage.unwrap_or_default().usage();
    Ok(ModelAnswer { message, finish, usage, model: whole.model, cost_microdollars: None })
}

/// Reads arguments. Some servers send them as JSON instead of a text.
fn arguments(value: Value) -> Arguments {
    match value {
        Value::String(text) => Arguments::read(&text),
        Value::Null => Arguments::read(""),
        other => Arguments::Json(other.into()),
    }
}
