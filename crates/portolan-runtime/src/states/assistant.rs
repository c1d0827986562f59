//! A model with tools that a program asks: for functions that work on states, and for programs without a workflow.
//!
//! ```
//! use portolan_runtime::models::ModelSetup;
//! use portolan_runtime::schemars::{self, JsonSchema};
//! use portolan_runtime::states::{Assistant, Functions, ModelBindings};
//! use serde::Deserialize;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let folder = tempfile::tempdir()?;
//! # let project = folder.path();
//! /// What is looked for.
//! #[derive(Deserialize, JsonSchema)]
//! struct Look {
//!     /// The words.
//!     words: Vec<String>,
//! }
//!
//! let answers = "- tool_calls: [{name: look, arguments: {words: [maps]}}]\n- text: Found\n";
//! std::fs::write(project.join("answers.yaml"), answers)?;
//! let functions = Functions::default()
//!     .typed("look", "Looks for words", |look: Look| async move { Ok(look.words.len()) })?;
//! let cast = ModelBindings::of(ModelSetup::of(project)).usually(Some("scripted:answers.yaml".into()));
//!
//! let assistant = Assistant::new(cast).functions(functions);
//! let answered = assistant.run_with_tools("You are a librarian.", "Look for maps").await?;
//! assert_eq!(answered.text, "Found");
//! assert_eq!((answered.spend.model_calls, answered.spend.tool_calls), (2, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::num::NonZeroU32;
use std::sync::Arc;

use portolan_core::chat::{Arguments, Finish, Message, ModelAnswer, ModelError, ModelSettings, Request, Role, shown};
use portolan_core::engine::{AfterCrash, Effect, EffectKind, ModelToolCall};
use portolan_core::run::{EffectId, EffectPart, FramePath, Spend, ToolCallResult};
use serde_json::{Number, Value};

use super::tools::{self, AvailableTools};
use super::{Functions, ModelBindings};
use crate::clock::Clock;
use crate::tools::Tools;

/// The default number of times that a model is asked.
const TURNS: NonZeroU32 = NonZeroU32::new(10).expect("it is not 0");
/// The default temperature.
const TEMPERATURE: f64 = 0.7;
/// The maximum length in bytes of a tool's text that a model receives.
const MAX_TOOL_TEXT: usize = 64 << 10;

/// A model, its settings, and the tools that it may use.
#[derive(Clone)]
pub struct Assistant {
    cast: ModelBindings,
    functions: Functions,
    tools: Arc<Tools>,
    offered: Option<Vec<String>>,
    model: Option<String>,
    settings: ModelSettings,
    turns: NonZeroU32,
    name: String,
}

/// The final answer of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct AssistantAnswer {
    /// The last message. Empty if it has no text.
    pub text: String,
    /// The whole conversation.
    pub messages: Vec<Arc<Message>>,
    /// The usage.
    pub spend: Spend,
}

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The model does not answer, or there is no such model or tool.
    Unanswered(ModelError),
    /// The model was asked the maximum number of times, and still uses tools.
    Turns(Box<AssistantAnswer>),
    /// The answer is incomplete: it was cut off, or filtered.
    Cut(Box<AssistantAnswer>),
    /// A tool stops its caller, or waits for an answer. The conversation lacks its result, and those of the tools after
    /// it.
    Tool {
        /// The tool.
        tool: String,
        /// The result of the tool.
        output: Arc<Value>,
        /// Whether it waits for an answer.
        waits: bool,
        /// The conversation so far.
        so_far: Box<AssistantAnswer>,
    },
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stop::Unanswered(why) => f.write_str(&why.message),
            Stop::Turns(so_far) => {
                let calls = so_far.spend.model_calls;
                write!(f, "the model was asked {calls} times and still uses tools; allow it more turns")
            }
            Stop::Cut(_) => f.write_str("the answer of the model is incomplete; allow it more tokens"),
            Stop::Tool { tool, waits: false, .. } => {
                write!(f, "the tool `{tool}` stops; continue with its conversation")
            }
            Stop::Tool { tool, waits: true, .. } => {
                write!(f, "the tool `{tool}` waits for an answer; continue with its conversation")
            }
        }
    }
}

impl std::error::Error for Stop {}

impl Assistant {
    /// Returns an assistant with the default model, without tools.
    pub fn new(cast: ModelBindings) -> Assistant {
        Assistant {
            cast,
            functions: Functions::default(),
            tools: Arc::new(Tools::default()),
            offered: None,
            model: None,
            settings: ModelSettings { temperature: Number::from_f64(TEMPERATURE), ..ModelSettings::default() },
            turns: TURNS,
            name: "assistant".to_owned(),
        }
    }

    /// Adds functions in Rust. All their tools are offered unless [`Assistant::offering`] selects some.
    #[must_use]
    pub fn functions(self, functions: Functions) -> Assistant {
        Assistant { functions, ..self }
    }

    /// Adds the tools of servers. Those that [`Assistant::offering`] names as `server/tool` are offered.
    #[must_use]
    pub fn tools(self, tools: Arc<Tools>) -> Assistant {
        Assistant { tools, ..self }
    }

    /// Offers these tools and no others.
    #[must_use]
    pub fn offering<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Assistant {
        Assistant { offered: Some(names.into_iter().map(Into::into).collect()), ..self }
    }

    /// Sets the model, as `provider:name`.
    #[must_use]
    pub fn model(self, name: &str) -> Assistant {
        Assistant { model: Some(name.to_owned()), ..self }
    }

    /// Sets the settings. By default, the temperature is 0.7.
    #[must_use]
    pub fn settings(self, settings: ModelSettings) -> Assistant {
        Assistant { settings, ..self }
    }

    /// Sets how many times the model is asked at most for one answer, with its tools in between. The default is ten.
    #[must_use]
    pub fn turns(self, turns: NonZeroU32) -> Assistant {
        Assistant { turns, ..self }
    }

    /// Sets the name, which selects written answers.
    #[must_use]
    pub fn named(self, name: &str) -> Assistant {
        Assistant { name: name.to_owned(), ..self }
    }

    /// Asks once. The tools are offered, but not used.
    ///
    /// # Errors
    /// The model does not answer, or a tool is unknown.
    pub async fn chat(&self, messages: &[Arc<Message>]) -> Result<ModelAnswer, ModelError> {
        let offered = self.offered();
        let specs = self.there().specs(&offered).await?;
        let request = Request {
            model: self.model.clone(),
            messages: Arc::new(messages.to_vec()),
            tools: Arc::new(offered),
            settings: self.settings.clone(),
            answer_schema: None,
        };
        self.cast.ask_for(&request, &self.name, true, &specs).await
    }

    /// Asks until the model answers without tool calls, and performs its tool calls.
    ///
    /// # Errors
    /// The reason for the stop, with the conversation so far.
    pub async fn run_with_tools(&self, system: &str, user: &str) -> Result<AssistantAnswer, Stop> {
        let begin = [Message::text(Role::System, system), Message::text(Role::User, user)];
        self.go_on(begin.into_iter().map(Arc::new).collect()).await
    }

    /// Continues a conversation in the same way.
    ///
    /// # Errors
    /// As for [`Assistant::run_with_tools`].
    pub async fn go_on(&self, messages: Vec<Arc<Message>>) -> Result<AssistantAnswer, Stop> {
        let mut so_far = AssistantAnswer { text: String::new(), messages, spend: Spend::default() };
        for _ in 0..self.turns.get() {
            let answer = self.chat(&so_far.messages).await.map_err(Stop::Unanswered)?;
            so_far.spend = so_far.spend.and(Spend { model_calls: 1, ..Spend::of_answer(&answer) });
            so_far.text = answer.message.content.clone().unwrap_or_default();
            let message = Arc::new(answer.message);
            so_far.messages.push(message.clone());
            match answer.finish {
                Finish::Length | Finish::Filtered => return Err(Stop::Cut(Box::new(so_far))),
                _ if message.tool_calls.is_empty() => return Ok(so_far),
                _ => self.use_all(&message, &mut so_far).await?,
            }
        }
        Err(Stop::Turns(Box::new(so_far)))
    }

    /// Performs the tool calls of a message, one after the other.
    async fn use_all(&self, message: &Message, so_far: &mut AssistantAnswer) -> Result<(), Stop> {
        let offered = self.offered();
        let names = shown(offered.iter().map(String::as_str));
        for call in &message.tool_calls {
            so_far.spend.tool_calls += 1;
            let tool = names.iter().position(|name| *name == call.name).map(|at| offered[at].as_str());
            let done = match (tool, &call.arguments) {
                (None, _) => ToolCallResult::Failed(format!("there is no tool `{}`", call.name)),
                (_, Arguments::Text(_)) => ToolCallResult::Failed("the arguments are not valid JSON".to_owned()),
                (Some(tool), Arguments::Json(arguments)) => self.use_one(tool, &call.id, arguments).await,
            };
            let text = match done {
                ToolCallResult::Output(output) => text_of(&output),
                ToolCallResult::Failed(why) => format!("Error: {why}"),
                ToolCallResult::Breaks(ref output) | ToolCallResult::Waits(ref output) => {
                    let (tool, waits) = (call.name.clone(), matches!(done, ToolCallResult::Waits(_)));
                    let so_far = Box::new(so_far.clone());
                    return Err(Stop::Tool { tool, output: output.clone(), waits, so_far });
                }
            };
            let end = text.floor_char_boundary(MAX_TOOL_TEXT.min(text.len()));
            so_far.messages.push(Arc::new(Message::of_tool(&call.id, &text[..end])));
        }
        Ok(())
    }

    async fn use_one(&self, tool: &str, call: &str, arguments: &Arc<Value>) -> ToolCallResult {
        let used = ModelToolCall { tool: tool.to_owned(), arguments: arguments.clone() };
        let (node, part) = (self.name.as_str().into(), EffectPart::Tool(call.to_owned()));
        let effect = Effect {
            id: EffectId { frame: FramePath::default(), node, since: 0, part },
            flow: self.name.as_str().into(),
            not_before: None,
            deadline: None,
            after_crash: AfterCrash::Ask,
            what: EffectKind::UseTool(used.clone()),
        };
        tools::perform((&effect, &used), &self.tools, &self.functions, &Clock::System).await
    }

    fn offered(&self) -> Vec<String> {
        let all = || self.functions.specs().map(|spec| spec.name.clone()).collect();
        self.offered.clone().unwrap_or_else(all)
    }

    fn there(&self) -> AvailableTools<'_> {
        AvailableTools { tools: &self.tools, workflow: None, functions: &self.functions }
    }
}

/// Returns a tool's result for a model: a text unchanged, anything else as JSON.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
