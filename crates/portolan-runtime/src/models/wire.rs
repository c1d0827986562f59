//! What the protocols have in common: numbers that may be anything, and what a provider wants back as it was.

use portolan_core::chat::{Finish, Message, ModelSettings, ToolUse};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Value, json};

/// The most tools that one answer may ask for.
pub(super) const MAX_CALLS: usize = 128;

/// A number of tokens. Whatever is none is unknown: a wrong count must not cost the answer that it stands beside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count(pub(super) Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Count, D::Error> {
        deserializer.deserialize_any(Counting)
    }
}

struct Counting;

impl<'de> Visitor<'de> for Counting {
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

/// A value that may have another shape than it should: then it counts as absent.
pub(super) fn lenient<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(T::deserialize(value).ok())
}

/// Why a text is no answer, in words of its own: those of the reader name what is in here, and not what came.
pub(super) fn unread(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        Category::Data => "its JSON is not that of an answer",
        Category::Eof => "its JSON ends too soon",
        Category::Syntax | Category::Io => "it is no JSON",
    };
    format!("{what} (line {}, column {})", error.line(), error.column())
}

/// What is kept for a provider: under its name, so that no other is given what only this one understands.
pub(super) fn kept(provider: &str, extra: Map<String, Value>) -> Option<Value> {
    (!extra.is_empty()).then(|| json!({ provider: extra }))
}

/// What was kept for a provider.
pub(super) fn given_back<'m>(provider: &str, extra: Option<&'m Value>) -> Option<&'m Map<String, Value>> {
    extra?.get(provider)?.as_object()
}

/// A model that asks for tools waits for them, whatever its provider calls that.
pub(super) fn ended(finish: Finish, message: &Message) -> Finish {
    if finish == Finish::Stop && !message.tool_calls.is_empty() { Finish::Tools } else { finish }
}

/// A call that nobody gave a name gets one by its place.
pub(super) fn call_id(id: Option<String>, before: &[ToolUse]) -> String {
    id.filter(|id| !id.is_empty()).unwrap_or_else(|| format!("call_{}", before.len() + 1))
}

/// How much a model is to think first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Thinking {
    /// So many tokens.
    Tokens(u32),
    /// As much as this word says.
    Effort(String),
}

impl Thinking {
    pub(super) fn of(settings: &ModelSettings) -> Option<Thinking> {
        let text = settings.reasoning.as_deref().map(str::trim).filter(|text| !text.is_empty())?;
        Some(text.parse().map_or_else(|_| Thinking::Effort(text.to_ascii_lowercase()), Thinking::Tokens))
    }

    /// As one of the words, for providers that do not count.
    pub(super) fn effort(&self) -> &str {
        match self {
            Thinking::Effort(word) => word,
            Thinking::Tokens(..2_048) => "low",
            Thinking::Tokens(2_048..16_384) => "medium",
            Thinking::Tokens(16_384..) => "high",
        }
    }

    /// As a number of tokens, for models that know no words; nothing where it is not to think.
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
