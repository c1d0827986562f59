//! A streamed answer of Anthropic's messages: successive blocks, each with a beginning and an end.

use portolan_core::chat::{Arguments, Finish, Message, ModelAnswer, ModelError, Role, ToolUse};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::Sink;
use super::super::failure::Speaker;
use super::super::remote::Pieces;
use super::super::wire::{MAX_CALLS, call_id, ended, lenient, unread};
use super::{Counts, extra, finish};

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    message: Option<Head>,
    #[serde(default)]
    content_block: Option<Value>,
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<Counts>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Head {
    #[serde(default, deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    partial_json: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    stop_reason: Option<String>,
}

/// The block that is being received.
enum Block {
    /// Text, or a block that is not kept.
    Text,
    Thought {
        thinking: String,
        signature: String,
    },
    /// The arguments of a tool.
    Input(String),
}

/// The answer so far.
pub(in crate::models) struct Stream {
    provider: &'static str,
    text: String,
    block: Block,
    thoughts: Vec<Value>,
    calls: Vec<ToolUse>,
    finish: Option<Finish>,
    counts: Counts,
    /// Whether the final usage has arrived. The beginning has only the usage so far.
    has_final_usage: bool,
    model: Option<String>,
    size: usize,
}

impl Stream {
    pub(in crate::models) fn of(provider: &'static str) -> Stream {
        Stream {
            provider,
            text: String::new(),
            block: Block::Text,
            thoughts: Vec::new(),
            calls: Vec::new(),
            finish: None,
            counts: Counts::default(),
            has_final_usage: false,
            model: None,
            size: 0,
        }
    }

    fn begin(&mut self, mut block: Value, sink: &dyn Sink, speaker: &Speaker) -> Result<(), ModelError> {
        self.end();
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match text("type").as_str() {
            "text" => self.say(&text("text"), sink),
            "thinking" => self.block = Block::Thought { thinking: text("thinking"), signature: text("signature") },
            "redacted_thinking" => self.thoughts.push(block),
            "tool_use" if self.calls.len() == MAX_CALLS => {
                return Err(speaker.bad(&format!("it asks for more than {MAX_CALLS} tools")));
            }
            "tool_use" => {
                let (id, name) = (call_id(Some(text("id")), &self.calls), text("name"));
                // Some servers send the input with the beginning, and nothing after it.
                let input = block.get_mut("input").map(Value::take).filter(|input| !input.is_null());
                let arguments = Arguments::Json(input.unwrap_or_else(|| json!({})).into());
                self.calls.push(ToolUse { id, name, arguments, extra: None });
                self.block = Block::Input(String::new());
            }
            _ => {}
        }
        Ok(())
    }

    fn say(&mut self, text: &str, sink: &dyn Sink) {
        if !text.is_empty() {
            self.text.push_str(text);
            sink.on_text(text);
        }
    }

    fn more(&mut self, delta: Delta, sink: &dyn Sink) {
        match &mut self.block {
            Block::Text => self.say(&delta.text.unwrap_or_default(), sink),
            Block::Thought { thinking, signature } => {
                thinking.push_str(&delta.thinking.unwrap_or_default());
                signature.push_str(&delta.signature.unwrap_or_default());
            }
            Block::Input(input) => input.push_str(&delta.partial_json.unwrap_or_default()),
        }
    }

    /// Ends the block. One that was cut off is kept as far as it arrived.
    fn end(&mut self) {
        match std::mem::replace(&mut self.block, Block::Text) {
            Block::Thought { thinking, signature } => {
                self.thoughts.push(json!({"type": "thinking", "thinking": thinking, "signature": signature}));
            }
            Block::Input(input) => {
                if let Some(call) = self.calls.last_mut().filter(|_| !input.trim().is_empty()) {
                    call.arguments = Arguments::read(&input);
                }
            }
            Block::Text => {}
        }
    }
}

impl Pieces for Stream {
    fn event(&mut self, data: &[u8], sink: &dyn Sink, speaker: &Speaker) -> Result<bool, ModelError> {
        let event: Event = serde_json::from_slice(data)
            .map_err(|error| speaker.bad(&format!("a part of it is not valid: {}", unread(&error))))?;
        match event.kind.as_str() {
            "ping" => return Ok(false),
            "error" => return Err(speaker.within(&event.error.unwrap_or_default())),
            _ => self.size = self.size.saturating_add(kept(&event)),
        }
        match event.kind.as_str() {
            "message_start" => {
                if let Some(head) = event.message {
                    self.model = head.model;
                    self.counts = self.counts.then(head.usage.unwrap_or_default());
                }
            }
            "content_block_start" => self.begin(event.content_block.unwrap_or_default(), sink, speaker)?,
            "content_block_delta" => event.delta.into_iter().for_each(|delta| self.more(delta, sink)),
            "content_block_stop" => self.end(),
            "message_delta" => {
                self.finish = event.delta.and_then(|delta| delta.stop_reason).map(|reason| finish(Some(reason)));
                let counts = event.usage.unwrap_or_default();
                self.has_final_usage |= counts.output_tokens.0.is_some();
                self.counts = self.counts.then(counts);
            }
            "message_stop" => {
                self.finish.get_or_insert(Finish::Other(String::new()));
                return Ok(true);
            }
            _ => {}
        }
        Ok(false)
    }

    fn size(&self) -> usize {
        self.size
    }

    fn finish(mut self: Box<Self>) -> Option<ModelAnswer> {
        self.end();
        let finish = self.finish?;
        let content = Some(self.text).filter(|text| !text.is_empty() || self.calls.is_empty());
        let extra = extra(self.provider, self.thoughts);
        let message = Message { content, tool_calls: self.calls, extra, ..Message::text(Role::Assistant, "") };
        let mut usage = self.counts.usage();
        usage.output = usage.output.filter(|_| self.has_final_usage);
        let finish = ended(finish, &message);
        Some(ModelAnswer { message, finish, usage, model: self.model, cost_microdollars: None })
    }
}

/// Returns the approximate number of bytes of an event that are kept. It may be a little higher.
fn kept(event: &Event) -> usize {
    let delta = event.delta.as_ref().map_or(0, |delta| {
        let texts = [&delta.text, &delta.partial_json, &delta.thinking, &delta.signature];
        texts.into_iter().flatten().map(String::len).sum()
    });
    let block = event.content_block.as_ref().map_or(0, |block| 64 + block.to_string().len());
    delta + block
}
