//! OpenAI's chat completions, as OpenAI and compatible servers implement them.

mod answer;
mod request;
mod stream;

use portolan_core::chat::{Finish, Usage};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::wire::{Count, kept, lenient};

pub(super) use answer::answer;
pub(super) use request::request;
pub(super) use stream::Stream;

/// The usage as it is sent.
#[derive(Default, Deserialize)]
struct Counts {
    #[serde(default)]
    prompt_tokens: Count,
    #[serde(default)]
    completion_tokens: Count,
    #[serde(default, deserialize_with = "lenient")]
    prompt_tokens_details: Option<Details>,
    #[serde(default, deserialize_with = "lenient")]
    completion_tokens_details: Option<Details>,
}

#[derive(Default, Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Count,
    #[serde(default)]
    reasoning_tokens: Count,
}

impl Counts {
    fn usage(&self) -> Usage {
        Usage {
            input: self.prompt_tokens.0,
            output: self.completion_tokens.0,
            cached: self.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens.0),
            reasoning: self.completion_tokens_details.as_ref().and_then(|details| details.reasoning_tokens.0),
        }
    }
}

/// A text, or a list of texts from models that answer in parts.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: Option<String>,
}

impl Content {
    fn text(self) -> String {
        match self {
            Content::Text(text) => text,
            Content::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        }
    }
}

fn finish(reason: Option<String>) -> Finish {
    match reason.as_deref() {
        Some("stop" | "end_turn" | "eos") => Finish::Stop,
        Some("length" | "max_tokens") => Finish::Length,
        Some("tool_calls" | "function_call") => Finish::Tools,
        Some("content_filter") => Finish::Filtered,
        _ => Finish::Other(reason.unwrap_or_default().chars().take(80).collect()),
    }
}

/// Returns the data that a provider wants back with a message: reasoning before tool calls, and OpenRouter's details.
fn extra(provider: &str, reasoning: Option<String>, details: Vec<Value>, calls: bool) -> Option<Value> {
    let mut extra = Map::new();
    if let Some(reasoning) = reasoning.filter(|reasoning| calls && !reasoning.is_empty()) {
        extra.insert("reasoning_content".to_owned(), Value::from(reasoning));
    }
    if !details.is_empty() {
        extra.insert("reasoning_details".to_owned(), Value::from(details));
    }
    kept(provider, extra)
}

/// Returns the data that a provider wants back with a call, such as the signatures of Gemini's thoughts.
fn call_extra(provider: &str, content: Option<Value>) -> Option<Value> {
    kept(provider, content.into_iter().map(|content| ("extra_content".to_owned(), content)).collect())
}
