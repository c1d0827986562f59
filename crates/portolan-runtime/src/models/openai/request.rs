//! A request of chat completions.

use portolan_core::chat::{Arguments, Message, Role, ToolSpec, ToolUse};
use serde_json::{Map, Value, json};

use super::super::remote::RequestParts;
use super::super::wire::{Thinking, given_back};

/// Returns the body of a request.
pub(in crate::models) fn request(parts: &RequestParts<'_>) -> Value {
    let request = parts.question.request;
    let provider = parts.provider.name;
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
    put("model", json!(parts.model));
    put("messages", request.messages.iter().map(|message| message_json(message, provider)).collect());
    if !parts.question.tools.is_empty() {
        put("tools", parts.question.tools.iter().map(tool).collect());
    }
    if let Some(temperature) = &request.settings.temperature {
        put("temperature", json!(temperature));
    }
    if let Some(most) = request.settings.max_tokens {
        // OpenAI's own reasoning models refuse the older name, and most other servers know no other.
        let is_openai = parts.is_own && provider == "openai";
        put(if is_openai { "max_completion_tokens" } else { "max_tokens" }, json!(most));
    }
    if let Some(thinking) = Thinking::of(&request.settings) {
        put("reasoning_effort", json!(thinking.effort()));
    }
    if let Some(schema) = &request.answer_schema {
        let mut wanted = json!({"name": "answer", "schema": schema.as_ref()});
        if is_closed(schema) {
            wanted["strict"] = json!(true);
        }
        put("response_format", json!({"type": "json_schema", "json_schema": wanted}));
    }
    if parts.stream {
        put("stream", json!(true));
        put("stream_options", json!({"include_usage": true}));
    }
    Value::Object(body)
}

fn message_json(message: &Message, provider: &str) -> Value {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut object = Map::new();
    object.insert("role".to_owned(), json!(role));
    let needed = message.tool_calls.is_empty();
    object.insert(
        "content".to_owned(),
        message.content.as_ref().map_or(if needed { json!("") } else { Value::Null }, |text| json!(text)),
    );
    if !message.tool_calls.is_empty() {
        object.insert("tool_calls".to_owned(), message.tool_calls.iter().map(|call| used(call, provider)).collect());
    }
    if let Some(id) = &message.tool_call_id {
        object.insert("tool_call_id".to_owned(), json!(id));
    }
    give_back(&mut object, provider, message.extra.as_ref());
    Value::Object(object)
}

fn used(call: &ToolUse, provider: &str) -> Value {
    let arguments = match &call.arguments {
        Arguments::Json(value) => value.to_string(),
        Arguments::Text(text) => text.clone(),
    };
    let mut used = Map::new();
    used.insert("id".to_owned(), json!(call.id));
    used.insert("type".to_owned(), json!("function"));
    used.insert("function".to_owned(), json!({"name": call.name, "arguments": arguments}));
    give_back(&mut used, provider, call.extra.as_ref());
    Value::Object(used)
}

/// Adds the kept data, without replacing present fields.
fn give_back(object: &mut Map<String, Value>, provider: &str, extra: Option<&Value>) {
    for (key, value) in given_back(provider, extra).into_iter().flatten() {
        object.entry(key.clone()).or_insert_with(|| value.clone());
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    })
}

/// Checks whether a schema can be strict: each object in it names all of its members and requires them. OpenAI refuses
/// any other schema in its strict mode.
fn is_closed(schema: &Value) -> bool {
    let Some(members) = schema.as_object() else { return true };
    let properties = members.get("properties").and_then(Value::as_object);
    let is_object = properties.is_some() || members.get("type").is_some_and(|kind| kind == "object");
    let required = |name: &String| {
        members.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|it| it == name))
    };
    let names_all = properties.is_some_and(|properties| properties.keys().all(required))
        && members.get("additionalProperties") == Some(&Value::Bool(false));
    let inner = |value: &Value| match value {
        Value::Array(items) => items.iter().all(is_closed),
        Value::Object(_) => is_closed(value),
        _ => true,
    };
    let named = |key: &str| ["properties", "$defs", "definitions"].contains(&key);
    (!is_object || names_all)
        && members.iter().all(|(key, value)| match value {
            Value::Object(members) if named(key) => members.values().all(is_closed),
            _ => inner(value),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_closed_schemas_are_held_to_the_letter() {
        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
            "additionalProperties": false});
        for (schema, strict) in [
            (closed.clone(), true),
            (json!({"type": "array", "items": closed}), true),
            (
                json!({"type": "object", "properties": {"a": closed}, "required": ["a"], "additionalProperties": false}),
                true,
            ),
            (json!({"type": "object", "properties": {"a": {}}, "required": [], "additionalProperties": false}), false),
            (json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}), false),
            (json!({"type": "object"}), false),
            (json!({"type": "array", "items": {"type": "object"}}), false),
            (json!({"$defs": {"x": {"type": "object"}}, "type": "string"}), false),
            (json!({"anyOf": [{"type": "string"}, {"type": "object"}]}), false),
            (json!({"type": "string"}), true),
        ] {
            assert_eq!(is_closed(&schema), strict, "{schema}");
        }
    }
}
