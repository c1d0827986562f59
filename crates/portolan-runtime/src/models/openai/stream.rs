//! A streamed answer of chat completions.

use std::collections::BTreeMap;

use portolan_core::chat::{Arguments, Finish, Message, ModelAnswer, ModelError, Role, ToolUse, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::super::Sink;
use super::super::failure::Speaker;
use super::super::remote::Pieces;
use super::super::wire::{MAX_CALLS, call_id, ended, lenient, unread};
use super::{Content, Counts, call_extra, extra, finish};

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<Counts>,
    /// Groq's own place for the usage.
    #[serde(default, deserialize_with = "lenient")]
    x_groq: Option<Groq>,
    #[serde(default, deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Groq {
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default, deserialize_with = "lenient")]
    finish_reason: Option<String>,
}

impl Choice {
    /// Checks whether it has values that are kept unchanged.
    fn keeps(&self) -> bool {
        self.delta.as_ref().is_some_and(|delta| {
            let calls = delta.tool_calls.iter().flatten();
            delta.reasoning_details.is_some() || calls.into_iter().any(|call| call.extra_content.is_some())
        })
    }
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    content: Option<Content>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Piece>>,
    #[serde(default, deserialize_with = "lenient")]
    reasoning_content: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    reasoning_details: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct Piece {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<Function>,
    #[serde(default)]
    extra_content: Option<Value>,
}

#[derive(Deserialize)]
struct Function {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<String>,
}

/// A call so far.
#[derive(Default)]
struct Call {
    id: Option<String>,
    name: String,
    arguments: String,
    extra: Option<Value>,
}

/// The answer so far.
pub(in crate::models) struct Stream {
    provider: &'static str,
    text: String,
    reasoning: String,
    details: Vec<Value>,
    /// The calls by the provider's indices, which may be any numbers.
    calls: BTreeMap<u64, Call>,
    finish: Option<Finish>,
    usage: Usage,
    model: Option<String>,
    /// Whether anything was received.
    began: bool,
    /// The number of bytes of events that are kept unchanged.
    kept: usize,
}

impl Stream {
    pub(in crate::models) fn of(provider: &'static str) -> Stream {
        Stream {
            provider,
            text: String::new(),
            reasoning: String::new(),
            details: Vec::new(),
            calls: BTreeMap::new(),
            finish: None,
            usage: Usage::default(),
            model: None,
            began: false,
            kept: 0,
        }
    }

    fn choice(&mut self, choice: Choice, sink: &dyn Sink, speaker: &Speaker) -> Result<(), ModelError> {
        if let Some(delta) = choice.delta {
            for text in
                delta.content.map(Content::text).into_iter().chain(delta.refusal).filter(|text| !text.is_empty())
            {
                self.text.push_str(&text);
                sink.on_text(&text);
            }
            self.reasoning.push_str(&delta.reasoning_content.unwrap_or_default());
            self.details.extend(delta.reasoning_details.into_iter().flatten());
            for piece in delta.tool_calls.into_iter().flatten() {
                self.call(piece, speaker)?;
            }
        }
        if choice.finish_reason.is_some() {
            self.finish = Some(finish(choice.finish_reason));
        }
        Ok(())
    }

    fn call(&mut self, piece: Piece, speaker: &Speaker) -> Result<(), ModelError> {
        let index = piece.index.unwrap_or_else(|| self.place(piece.id.as_deref()));
        let call = self.calls.entry(index).or_default();
        call.id = call.id.take().or(piece.id);
        if let Some(function) = piece.function {
            // Some servers repeat the name with every piece.
            if call.name.is_empty() {
                call.name = function.name.unwrap_or_default();
            }
            call.arguments.push_str(&function.arguments.unwrap_or_default());
        }
        call.extra = call.extra.take().or(piece.extra_content);
        match self.calls.len() > MAX_CALLS {
            true => Err(speaker.bad(&format!("it asks for more than {MAX_CALLS} tools"))),
            false => Ok(()),
        }
    }

    /// Returns the index for a piece without one: that of the call with its id, a new one, or the last.
    fn place(&self, id: Option<&str>) -> u64 {
        let known = id.and_then(|id| self.calls.iter().find(|(_, call)| call.id.as_deref() == Some(id)));
        let last = self.calls.last_key_value().map(|(index, _)| *index);
        match (known, last) {
            (Some((index, _)), _) => *index,
            (None, Some(last)) => last.saturating_add(u64::from(id.is_some())),
            (None, None) => 0,
        }
    }
}

impl Pieces for Stream {
    fn event(&mut self, data: &[u8], sink: &dyn Sink, speaker: &Speaker) -> Result<bool, ModelError> {
        if data.trim_ascii() == b"[DONE]" {
            // `[DONE]` completes the answer even without a finish reason.
            if self.began {
                self.finish.get_or_insert(Finish::Other(String::new()));
            }
            return Ok(true);
        }
        if data.trim_ascii().is_empty() {
            return Ok(false);
        }
        let chunk: Chunk = serde_json::from_slice(data)
            .map_err(|error| speaker.bad(&format!("a part of it is not valid: {}", unread(&error))))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(speaker.within(&error));
        }
        if let Some(usage) = chunk.usage.or(chunk.x_groq.and_then(|groq| groq.usage)) {
            self.usage = usage.usage();
        }
        self.model = self.model.take().or(chunk.model);
        if let Some(choice) = chunk.choices.into_iter().flatten().next() {
            self.began = true;
            self.kept += if choice.keeps() { data.len() } else { 0 };
            self.choice(choice, sink, speaker)?;
        }
        Ok(false)
    }

    fn size(&self) -> usize {
        let of = |call: &Call| call.arguments.len() + call.name.len() + call.id.as_ref().map_or(0, String::len);
        let calls: usize = self.calls.values().map(of).sum();
        self.text.len() + self.reasoning.len() + calls + self.kept
    }

    fn finish(self: Box<Self>) -> Option<ModelAnswer> {
        let finish = self.finish?;
        let mut calls: Vec<ToolUse> = Vec::new();
        for call in self.calls.into_values() {
            let id = call_id(call.id, &calls);
            let arguments = Arguments::read(&call.arguments);
            calls.push(ToolUse { id, name: call.name, arguments, extra: call_extra(self.provider, call.extra) });
        }
        let reasoning = (!self.reasoning.is_empty()).then_some(self.reasoning);
        let extra = extra(self.provider, reasoning, self.details, !calls.is_empty());
        let content = Some(self.text).filter(|text| !text.is_empty() || calls.is_empty());
        let message = Message { content, tool_calls: calls, extra, ..Message::text(Role::Assistant, "") };
        let finish = ended(finish, &message);
        Some(ModelAnswer { message, finish, usage: self.usage, model: self.model, cost_microdollars: None })
    }
}
