//! Anthropic's messages, as Anthropic and compatible servers implement them.

mod answer;
mod request;
mod stream;

use portolan_core::chat::{Finish, Usage};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::wire::{Count, kept};

pub(super) use answer::answer;
pub(super) use request::request;
pub(super) use stream::Stream;

/// The version of the protocol.
pub(super) const VERSION: &str = "2023-06-01";

/// The usage as it is sent.
#[derive(Clone, Copy, Default, Deserialize)]
struct Counts {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    #[serde(default)]
    cache_read_input_tokens: Count,
    #[serde(default)]
    cache_creation_input_tokens: Count,
}

impl Counts {
    /// Returns the counts, updated by `later`.
    fn then(self, later: Counts) -> Counts {
        let last = |earlier: Count, later: Count| Count(later.0.or(earlier.0));
        Counts {
            input_tokens: last(self.input_tokens, later.input_tokens),
            output_tokens: last(self.output_tokens, later.output_tokens),
            cache_read_input_tokens: last(self.cache_read_input_tokens, later.cache_read_input_tokens),
            cache_creation_input_tokens: last(self.cache_creation_input_tokens, later.cache_creation_input_tokens),
        }
    }

    /// Returns the usage. Anthropic counts cache reads and cache writes separately from the other input.
    fn usage(&self) -> Usage {
        let beside = [self.cache_read_input_tokens, self.cache_creation_input_tokens];
        let sum = |input: u64| beside.iter().try_fold(input, |sum, count| sum.checked_add(count.0.unwrap_or(0)));
        Usage {
            input: self.input_tokens.0.and_then(sum),
            output: self.output_tokens.0,
            cached: self.cache_read_input_tokens.0,
            reasoning: None,
        }
    }
}

fn finish(reason: Option<String>) -> Finish {
    match reason.as_deref() {
        Some("end_turn" | "stop_sequence") => Finish::Stop,
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("tool_use") => Finish::Tools,
        Some("refusal") => Finish::Filtered,
        _ => Finish::Other(reason.unwrap_or_default().chars().take(80).collect()),
    }
}

/// Thoughts are sent back unchanged, including signatures. Otherwise the provider refuses the conversation.
fn extra(provider: &str, thoughts: Vec<Value>) -> Option<Value> {
    let mut extra = Map::new();
    if !thoughts.is_empty() {
        extra.insert("thoughts".to_owned(), Value::from(thoughts));
    }
    kept(provider, extra)
}
