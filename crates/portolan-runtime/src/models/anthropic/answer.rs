//! A complete answer of Anthropic's messages.

use portolan_core::chat::{Arguments, Message, ModelAnswer, ModelError, Role, ToolUse};
use serde::Deserialize;
use serde_json::Value;

use super::super::failure::Speaker;
use super::super::wire::{MAX_CALLS, call_id, ended, lenient, unread};
use super::{Counts, extra, finish};

#[derive(Deserialize)]
struct Whole {
    #[serde(default)]
    content: Option<Vec<Value>>,
    #[serde(default, deserialize_with = "lenient")]
    stop_reason: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<Counts>,
    #[serde(default, deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(default)]
    error: Option<Value>,
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
    let blocks = whole.content.ok_or_else(|| speaker.bad("it has no content"))?;
    let (mut text, mut calls, mut thoughts) = (String::new(), Vec::new(), Vec::new());
    for mut block in blocks {
        let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "text" => text.push_str(block.get("text").and_then(Value::as_str).unwrap_or_default()),
            "thinking" | "redacted_thinking" => thoughts.push(block),
            "tool_use" if calls.len() == MAX_CALLS => {
                return Err(speaker.bad(&format!("it asks for more than {MAX_CALLS} tools")));
            }
            "tool_use" => calls.push(used(&mut block, &calls)),
            // The provider's own tool use is no part of the conversation.
            _ => {}
        }
    }
    let content = Some(text).filter(|text| !text.is_empty() || calls.is_empty());
    let extra = extra(provider, thoughts);
    let message = Message { content, tool_calls: calls, extra, ..Message::text(Role::Assistant, "") };
    let finish = ended(finish(whole.stop_reason), &message);
    let usage = whole.usage.unwrap_or_default().usage();
    Ok(ModelAnswer { message, finish, usage, model: whole.model, cost_microdollars: None })
}

fn used(block: &mut Value, before: &[ToolUse]) -> ToolUse {
    let text = |key: &str| block.get(key).and_then(Value::as_str).map(str::to_owned);
    let (id, name) = (call_id(text("id"), before), text("name").unwrap_or_default());
    let arguments = match block.get_mut("input").map(Value::take) {
        None | Some(Value::Null) => Arguments::read(""),
        Some(input) => Arguments::Json(input.into()),
    };
    ToolUse { id, name, arguments, extra: None }
}
