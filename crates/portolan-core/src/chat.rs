//! The conversation with a language model: messages, the offered tools, and the cost of an answer. A run keeps these as
//! data. This crate does not know how they get to a provider.

pub mod prices;
pub mod review;
pub mod script;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The author of the rules.
    System,
    /// The author of the request.
    User,
    /// The model.
    Assistant,
    /// A tool that the model called.
    Tool,
}

/// A message of a conversation, in the form that providers share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its author.
    pub role: Role,
    /// The text; a model that only calls tools may write none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The tools that the model calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolUse>,
    /// For the result of a tool, the call that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Data to return to the provider unchanged, such as signatures of reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Value>,
}

impl Message {
    /// Makes a message of only a text.
    pub fn text(role: Role, content: impl Into<String>) -> Message {
        Message { role, content: Some(content.into()), tool_calls: Vec::new(), tool_call_id: None, extra: None }
    }

    /// Makes the message with the result of a tool.
    pub fn of_tool(call: impl Into<String>, content: impl Into<String>) -> Message {
        Message { tool_call_id: Some(call.into()), ..Message::text(Role::Tool, content) }
    }
}

/// A call of a tool by a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// Its identifier in the conversation. Those of providers may repeat or be random, so they are renumbered before
    /// they are kept.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Arguments,
    /// Data to return to the provider unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Value>,
}

/// The arguments of a call as the model wrote them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// JSON.
    Json(Arc<Value>),
    /// A text that is not JSON. It is returned to the model with the error.
    Text(String),
}

impl Arguments {
    /// Parses the text from a provider. A blank text means no arguments.
    pub fn read(text: &str) -> Arguments {
        if text.trim().is_empty() {
            return Arguments::Json(Arc::new(Value::Object(serde_json::Map::new())));
        }
        serde_json::from_str(text)
            .map_or_else(|_| Arguments::Text(text.to_owned()), |value| Arguments::Json(Arc::new(value)))
    }
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name: at most 64 letters, digits, `_` and `-`, which all providers accept.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// The JSON Schema of its arguments, of the type `object`.
    pub parameters: Value,
}

/// A request to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The model, as `provider:name`; `None` for the model of the run.
    pub model: Option<String>,
    /// The conversation, the oldest message first.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// The names of the offered tools in the definition.
    pub tools: Arc<Vec<String>>,
    /// The settings of the request.
    pub settings: ModelSettings,
    /// The JSON Schema of the answer, if one is required.
    pub answer_schema: Option<Arc<Value>>,
}

/// The settings of a request. The provider chooses the missing ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelSettings {
    /// The randomness of the answer, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Number>,
    /// The maximum number of tokens of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The effort of reasoning: `minimal`, `low`, `medium`, `high`, or a number of tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

/// The answer of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// The message, with the role of the assistant.
    pub message: Message,
    /// The reason that it ended.
    pub finish: Finish,
    /// Its usage, as far as the provider reports it.
    #[serde(default)]
    pub usage: Usage,
    /// The model that answered, by the provider's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its cost in millionths of a US dollar; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microdollars: Option<u64>,
}

/// The reason that a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The answer is complete.
    Stop,
    /// The token limit cut the answer off.
    Length,
    /// It waits for the results of tools.
    Tools,
    /// The provider withheld the answer.
    Filtered,
    /// Another reason, or none was given.
    Other(String),
}

/// The usage of an answer, in tokens. Unreported values are unknown, not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The input, with the part from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// The output, with reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// The part of the input from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// The part of the output that is reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

/// A failure of a model request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelError {
    /// A stable code for programs.
    ///
    /// | code | meaning |
    /// |---|---|
    /// | `rate-limited` | too many requests in a short time |
    /// | `overloaded` | the provider has no capacity at the moment |
    /// | `provider-failed` | an internal error of the provider |
    /// | `unreachable` | the address does not answer |
    /// | `timed-out` | the answer did not come in time |
    /// | `cut-off` | the answer broke off before its end |
    /// | `bad-answer` | the response is not an answer |
    /// | `too-large` | the answer exceeds the size limit |
    /// | `too-long` | the conversation is longer than the model accepts |
    /// | `bad-request` | the provider rejects the request |
    /// | `unknown-model` | the provider has no such model |
    /// | `refused-key` | the provider rejects the key |
    /// | `no-credit` | the account has no credit left |
    /// | `not-scripted` | the script has no answer for the request |
    pub code: String,
    /// The message, in one sentence.
    pub message: String,
    /// Whether a retry may help.
    pub may_pass: bool,
    /// The wait that the provider asks for, in milliseconds, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// The longest tool name that all providers accept.
const MAX_TOOL_NAME: usize = 64;

/// Returns the names under which a model sees tools, in order. Providers accept only letters, digits, `_` and `-`, so
/// `files/read` becomes `files_read`. No two names are equal.
///
/// ```
/// use portolan_core::chat::shown;
/// assert_eq!(shown(["files/read", "files.read", "ask"]), ["files_read", "files_read_2", "ask"]);
/// ```
pub fn shown<'t>(tools: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for tool in tools {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let name: String = tool.chars().map(plain).take(MAX_TOOL_NAME).collect();
        let mut unique = name.clone();
        for nth in 2.. {
            if !names.contains(&unique) {
                break;
            }
            let suffix = format!("_{nth}");
            unique = format!("{}{suffix}", &name[..name.len().min(MAX_TOOL_NAME - suffix.len())]);
        }
        names.push(unique);
    }
    names
}

/// Returns a word such as `change-1` that the text does not contain, so that the text cannot end a quotation of itself.
pub(crate) fn marker(word: &str, text: &str) -> String {
    let mut nth = 1_u64;
    while text.contains(&format!("{word}-{nth}")) {
        nth += 1;
    }
    format!("{word}-{nth}")
}

/// Removes the fence around a text that is a single fenced block.
pub(crate) fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let Some(inner) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else { return text };
    if inner.contains("```") {
        return text;
    }
    let word = inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inner.len());
    inner[word..].trim()
}

impl ModelError {
    /// Makes a failure with a code; [`ModelError::passes`] decides whether a retry may help.
    pub fn new(code: &str, message: impl Into<String>) -> ModelError {
        let (code, may_pass) = (code.to_owned(), ModelError::passes(code));
        ModelError { code, message: message.into(), may_pass, retry_after_ms: None }
    }

    /// Checks whether failures with this code are usually temporary.
    pub fn passes(code: &str) -> bool {
        ["rate-limited", "overloaded", "provider-failed", "unreachable", "timed-out", "cut-off"].contains(&code)
    }
}
