//! Common parts of the protocols: lenient numbers, and data that a provider wants back unchanged.

use portolan_core::chat::{Finish, Message, ModelSettings, ToolUse};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Value, json};

/// The maximum number of tool calls in one answer.
pub(super) const MAX_CALLS: usize = 128;

/// A number of tokens. Any other value counts as unknown: a wrong count must not invalidate its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count(pub(super) Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Count, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("anything")
    }

    fn visit_u64<E>(self, count: u64) -> Result<Count, E> {
        Ok(Count(Some(count)))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_str<E>(self, _: &str) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_unit<E>(self) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Count, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Count(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Count, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Count(None))
    }
}

/// Reads a value. One of the wrong shape counts as absent.
pub(super) fn lenient<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(T::deserialize(value).ok())
}

/// Returns why a text is no answer. The parser's own message names internal types, so it is not used.
pub(super) fn unread(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        Category::Data => "its JSON does not have the form of an answer",
        Category::Eof => "its JSON ends too soon",
        Category::Syntax | Category::Io => "it is not JSON",
    };
    format!("{what} (line {}, column {})", error.line(), error.column())
}

/// Returns the data kept for a provider, under its name, so that no other provider receives it.
pub(super) fn kept(provider: &str, extra: Map<String, Value>) -> Option<Value> {
    (!extra.is_empty()).then(|| json!({ provider: extra }))
}

/// Returns the data that was kept for a provider.
pub(super) fn given_back<'m>(provider: &str, extra: Option<&'m Value>) -> Option<&'m Map<String, Value>> {
    extra?.get(provider)?.as_object()
}

/// Corrects the end of an answer: a model with tool calls waits for them, whatever its provider reports.
pub(super) fn ended(finish: Finish, message: &Message) -> Finish {
    if finish == Finish::Stop && !message.tool_calls.is_empty() { Finish::Tools } else { finish }
}

/// Returns the id of a call, or one by its position if it has none.
pub(super) fn call_id(id: Option<String>, before: &[ToolUse]) -> String {
    id.filter(|id| !id.is_empty()).unwrap_or_else(|| format!("call_{}", before.len() + 1))
}

/// The amount of thinking before an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Thinking {
    /// A number of tokens.
    Tokens(u32),
    /// An effort word.
    Effort(String),
}

impl Thinking {
    pub(super) fn of(settings: &ModelSettings) -> Option<Thinking> {
        let text = settings.reasoning.as_deref().map(str::trim).filter(|text| !text.is_empty())?;
        Some(text.parse().map_or_else(|_| Thinking::Effort(text.to_ascii_lowercase()), Thinking::Tokens))
    }

    /// Returns the amount as an effort word, for providers without token budgets.
    pub(super) fn effort(&self) -> &str {
        match self {
            Thinking::Effort(word) => word,
            Thinking::Tokens(..2_048) => "low",
            Thinking::Tokens(2_048..16_384) => "medium",
            Thinking::Tokens(16_384..) => "high",
        }
    }

    /// Returns the amount in tokens, for models without effort words. `None` if the model must not think.
    pub(super) fn tokens(&self) -> Option<u32> {
        match self {
            Thinking::Tokens(tokens) => Some(*tokens).filter(|tokens| *tokens > 0),
            Thinking::Effort(word) => match word.as_str() {
                "none" | "off" => None,
                "minimal" => Some(1_024),
                "low" => Some(2_048),
                "medium" => Some(8_192),
                _ => Some(16_384),
            },
        }
    }
}
