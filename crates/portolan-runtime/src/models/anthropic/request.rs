//! A request of Anthropic's messages.

use portolan_core::chat::{Arguments, Message, ModelSettings, Request, Role, ToolSpec, ToolUse};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::remote::RequestParts;
use super::super::wire::{Thinking, given_back};

/// The default maximum number of answer tokens: the protocol has no default of its own.
pub(in crate::models) const DEFAULT_MAX_TOKENS: u32 = 8_192;
/// The minimum thinking budget in tokens.
const MIN_BUDGET: u32 = 1_024;

/// Returns the body of a request.
pub(in crate::models) fn request(parts: &RequestParts<'_>) -> Value {
    let request = parts.question.request;
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
    put("model", json!(parts.model));
    let thought = thought(parts.model, &request.settings);
    put("max_tokens", json!(thought.max_tokens));
    if let Some(system) = system(request) {
        put("system", json!(system));
    }
    put("messages", Value::from(turns(&request.messages, parts.provider.name)));
    if !parts.question.tools.is_empty() {
        put("tools", parts.question.tools.iter().map(tool).collect());
    }
    let mut output = Map::new();
    output.extend(thought.effort.map(|effort| ("effort".to_owned(), json!(effort))));
    if let Some(schema) = &request.answer_schema {
        output.insert("format".to_owned(), json!({"type": "json_schema", "schema": schema.as_ref()}));
    }
    if !output.is_empty() {
        put("output_config", Value::Object(output));
    }
    match (thought.thinking, &request.settings.temperature) {
        // A model that thinks accepts no temperature.
        (Some(thinking), _) => put("thinking", thinking),
        (None, Some(temperature)) => put("temperature", json!(temperature)),
        (None, None) => {}
    }
    if parts.stream {
        put("stream", json!(true));
    }
    Value::Object(body)
}

/// The limits of thinking and writing.
struct OutputLimits {
    max_tokens: u32,
    thinking: Option<Value>,
    effort: Option<String>,
}

fn thought(model: &str, settings: &ModelSettings) -> OutputLimits {
    let max_tokens = settings.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
    let still = OutputLimits { max_tokens, thinking: None, effort: None };
    let Some(thinking) = Thinking::of(settings) else { return still };
    let Some(budget) = thinking.tokens() else { return still };
    if is_adaptive(model) {
        let effort = if thinking.effort() == "minimal" { "low" } else { thinking.effort() };
        return OutputLimits { thinking: Some(json!({"type": "adaptive"})), effort: Some(effort.to_owned()), ..still };
    }
    let budget = budget.max(MIN_BUDGET);
    // Thinking counts as output: without a limit the budget is added, and with one it must fit in.
    let (max_tokens, budget) = match settings.max_tokens {
        None => (max_tokens.saturating_add(budget), budget),
        Some(most) if most > MIN_BUDGET => (most, budget.min(most - 1)),
        Some(_) => return still,
    };
    OutputLimits { max_tokens, thinking: Some(json!({"type": "enabled", "budget_tokens": budget})), effort: None }
}

/// Checks whether a model chooses its own amount of thinking: those from 4.6 on do, and take no budget.
fn is_adaptive(model: &str) -> bool {
    let mut words = model.split('-').skip_while(|word| *word != "claude").skip(1);
    let Some(family) = words.next().filter(|word| word.parse::<u32>().is_err()) else { return false };
    let mut number = || words.next().filter(|word| word.len() <= 2).and_then(|word| word.parse::<u32>().ok());
    match number() {
        Some(major) => (major, number().unwrap_or(0)) >= (4, 6),
        None => matches!(family, "fable" | "mythos"),
    }
}

fn system(request: &Request) -> Option<String> {
    let texts = request.messages.iter().filter(|message| message.role == Role::System);
    let texts: Vec<&str> =
        texts.filter_map(|message| message.content.as_deref()).filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Returns the messages as turns: successive messages of one side form one turn, in their order.
fn turns(messages: &[Arc<Message>], provider: &str) -> Vec<Value> {
    let mut turns: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message.role {
            Role::System => continue,
            Role::User => ("user", text(message).into_iter().collect()),
            Role::Tool => ("user", vec![result(message)]),
            Role::Assistant => ("assistant", assistant_content(message, provider)),
        };
        match turns.last_mut() {
            Some((last, all)) if *last == role => all.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    turns.retain(|(_, blocks)| !blocks.is_empty());
    turns.into_iter().map(|(role, blocks)| json!({"role": role, "content": blocks})).collect()
}

/// Returns the text of a message. An empty one would be refused.
fn text(message: &Message) -> Option<Value> {
    let text = message.content.as_deref().filter(|text| !text.trim().is_empty())?;
    Some(json!({"type": "text", "text": text}))
}

fn result(message: &Message) -> Value {
    let content = message.content.as_deref().unwrap_or_default();
    json!({"type": "tool_result", "tool_use_id": message.tool_call_id, "content": content})
}

fn assistant_content(message: &Message, provider: &str) -> Vec<Value> {
    let thoughts = given_back(provider, message.extra.as_ref()).and_then(|extra| extra.get("thoughts"));
    let thoughts = thoughts.and_then(Value::as_array).into_iter().flatten().cloned();
    thoughts.chain(text(message)).chain(message.tool_calls.iter().map(used)).collect()
}

/// Returns a tool call. The protocol accepts only objects, so other arguments are sent as a text in an object.
fn used(call: &ToolUse) -> Value {
    let input = match &call.arguments {
        Arguments::Json(value) if value.is_object() => value.as_ref().clone(),
        Arguments::Json(value) => json!({"unreadable": value.to_string()}),
        Arguments::Text(text) => json!({"unreadable": text}),
    };
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_decide_by_themselves_how_much_they_think_are_known_by_their_names() {
        for (model, adaptive) in [
            ("claude-opus-4-6", true),
            ("claude-sonnet-5", true),
            ("claude-sonnet-4-6-20260101", true),
            ("anthropic/claude-opus-5-1", false),
            ("claude-mythos-preview", true),
            ("claude-sonnet-4-5-20250929", false),
            ("claude-opus-4-20250514", false),
            ("claude-3-7-sonnet-latest", false),
            ("claude", false),
            ("MiniMax-M2", false),
        ] {
            assert_eq!(is_adaptive(model), adaptive, "{model}");
        }
    }

    #[test]
    fn a_budget_of_thoughts_leaves_room_for_the_answer() {
        let of = |reasoning: &str, max_tokens| {
            let settings = ModelSettings { reasoning: Some(reasoning.to_owned()), max_tokens, temperature: None };
            let thought = thought("claude-sonnet-4-5", &settings);
            let budget = thought.thinking.map(|thinking| thinking["budget_tokens"].as_u64().expect("a number"));
            (thought.max_tokens, budget)
        };
        for (reasoning, max_tokens, expected) in [
            ("low", None, (10_240, Some(2_048))),
            ("500", None, (9_216, Some(1_024))),
            ("high", Some(4_096), (4_096, Some(4_095))),
            ("high", Some(1_000), (1_000, None)),
            ("none", None, (8_192, None)),
            ("0", None, (8_192, None)),
            ("4294967295", None, (u32::MAX, Some(4_294_967_295))),
        ] {
            assert_eq!(of(reasoning, max_tokens), expected, "{reasoning} {max_tokens:?}");
        }
    }
}
