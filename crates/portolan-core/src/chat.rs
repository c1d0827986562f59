//! What is said to a language model and what it says: messages, the tools it may ask for, what an answer cost. These are
//! data that a run keeps; who carries them to a provider is no concern of this crate.

pub mod prices;
pub mod review;
pub mod script;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Whoever sets the rules.
    System,
    /// Whoever asks.
    User,
    /// The model.
    Assistant,
    /// A tool that the model asked for.
    Tool,
}

/// One message of a conversation, in the shape that the providers share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said; of a model that only asks for tools, perhaps nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The tools that the model asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolUse>,
    /// Of a tool's result, the call that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// What the provider wants to be given back as it was: signatures of reasoning, for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Value>,
}

impl Message {
    /// A message that is nothing but its text.
    pub fn text(role: Role, content: impl Into<String>) -> Message {
        Message { role, content: Some(content.into()), tool_calls: Vec::new(), tool_call_id: None, extra: None }
    }

    /// What a tool came to.
    pub fn of_tool(call: impl Into<String>, content: impl Into<String>) -> Message {
        Message { tool_call_id: Some(call.into()), ..Message::text(Role::Tool, content) }
    }
}

/// A tool that a model asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// Its name in the conversation. Those of providers may repeat or be made up at random, so that they are numbered
    /// anew before they are kept.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Arguments,
    /// What the provider wants to be given back as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Value>,
}

/// The arguments of a call as a model wrote them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// JSON.
    Json(Arc<Value>),
    /// A text that is no JSON. It goes back to the model with what is wrong with it.
    Text(String),
}

impl Arguments {
    /// Reads what a provider passes on as text. No text at all is no arguments.
    pub fn read(text: &str) -> Arguments {
        if text.trim().is_empty() {
            return Arguments::Json(Arc::new(Value::Object(serde_json::Map::new())));
        }
        serde_json::from_str(text)
            .map_or_else(|_| Arguments::Text(text.to_owned()), |value| Arguments::Json(Arc::new(value)))
    }
}

/// A tool as it is shown to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-`, at most 64 of them, which is what all providers take.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// A JSON Schema of its arguments, of the type `object`.
    pub parameters: Value,
}

/// What is asked of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The model, as `provider:name`; nothing means whichever the run is given.
    pub model: Option<String>,
    /// The conversation, the oldest message first.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// The names of the tools that are offered, as the definition has them.
    pub tools: Arc<Vec<String>>,
    /// How it is asked.
    pub settings: ModelSettings,
    /// The JSON Schema that the answer is to have, where one is wanted.
    pub answer_schema: Option<Arc<Value>>,
}

/// How a model is asked. What is not said is left to the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelSettings {
    /// How much chance there is in the answer, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Number>,
    /// How many tokens the answer may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How much it is to think first: `minimal`, `low`, `medium`, `high`, or a number of tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

/// What a model said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// The message. Its role is the assistant's.
    pub message: Message,
    /// Why it ended there.
    pub finish: Finish,
    /// What it took, as far as the provider says.
    #[serde(default)]
    pub usage: Usage,
    /// The model that answered, as the provider calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it cost, in millionths of a US dollar; nothing where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microdollars: Option<u64>,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was done.
    Stop,
    /// It had no more tokens: the answer is cut off.
    Length,
    /// It waits for its tools.
    Tools,
    /// The provider kept back what it said.
    Filtered,
    /// Something else, or nothing was said of it.
    Other(String),
}

/// What an answer took, in tokens. What a provider does not say is unknown, and not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// What was read, with what was read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// What was written, with what was thought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// How much of the input came from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// How much of the output was thought and not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

/// Why a model did not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelError {
    /// A stable word for programs.
    ///
    /// | code | what happened |
    /// |---|---|
    /// | `rate-limited` | too much was asked in a short time |
    /// | `overloaded` | the provider has no room at the moment |
    /// | `provider-failed` | the provider failed by itself |
    /// | `unreachable` | nobody answers at its address |
    /// | `timed-out` | the answer did not come in time |
    /// | `cut-off` | the answer broke off before its end |
    /// | `bad-answer` | what came is no answer |
    /// | `too-large` | the answer is larger than any that is read |
    /// | `too-long` | the conversation is longer than the model can read |
    /// | `bad-request` | the provider does not take the request |
    /// | `unknown-model` | the provider has no such model |
    /// | `refused-key` | the provider refuses the key |
    /// | `no-credit` | the account is used up |
    /// | `not-scripted` | nobody wrote an answer for the request |
    pub code: String,
    /// What went wrong, in one sentence.
    pub message: String,
    /// Whether asking again may help.
    pub may_pass: bool,
    /// How long the provider wants to be left alone, in milliseconds, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// The longest name of a tool that all providers take.
const MAX_TOOL_NAME: usize = 64;

/// Under which names tools are shown to a model, in their order: providers take letters, digits, `_` and `-` only, so that
/// `files/read` is shown as `files_read`, and no two are shown alike.
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

/// A word such as `change-1` that the text does not contain, so that the text cannot end where it is quoted.
pub(crate) fn marker(word: &str, text: &str) -> String {
    let mut nth = 1_u64;
    while text.contains(&format!("{word}-{nth}")) {
        nth += 1;
    }
    format!("{word}-{nth}")
}

/// A text without the fence around it, where it is nothing but one fenced block.
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
    /// A failure with a code; whether it may pass is what [`ModelError::passes`] says.
    pub fn new(code: &str, message: impl Into<String>) -> ModelError {
        let (code, may_pass) = (code.to_owned(), ModelError::passes(code));
        ModelError { code, message: message.into(), may_pass, retry_after_ms: None }
    }

    /// Whether a failure of this code usually passes by itself.
    pub fn passes(code: &str) -> bool {
        ["rate-limited", "overloaded", "provider-failed", "unreachable", "timed-out", "cut-off"].contains(&code)
    }
}
