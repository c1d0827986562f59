//! The pending effects as data. The driver of a run performs some of them; instructions and questions are presented,
//! and settled by reports.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::chat::Request;
use crate::graph::CheckBy;
use crate::run::{Attempt, EffectId};
use crate::value::{NodeId, Timestamp, WorkflowId};

/// An effect to perform or to present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The name that settles it, once, however often it is performed.
    pub id: EffectId,
    /// The flow whose node it belongs to.
    pub flow: WorkflowId,
    /// The earliest time at which it may be performed: a retry waits.
    pub not_before: Option<Timestamp>,
    /// The end of the time of the whole run.
    pub deadline: Option<Timestamp>,
    /// What to do if a crash leaves it unknown whether it was performed.
    pub after_crash: AfterCrash,
    /// Its kind, with its data.
    pub what: EffectKind,
}

impl Effect {
    /// Returns the node it belongs to.
    pub fn node(&self) -> &NodeId {
        &self.id.node
    }
}

/// The kinds of effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectKind {
    /// Presents work to the agent.
    Instruct,
    /// Asks a person.
    Ask,
    /// Applies the fallback answer of a question when its time is up.
    TimeOut,
    /// Executes an automatic node, by the engine itself.
    Advance,
    /// Performs a check.
    Check(CheckRequest),
    /// Calls a tool.
    Call(ToolCall),
    /// Sends a request to a model.
    Complete(ModelRequest),
    /// Calls a tool that a model asked for.
    UseTool(ModelToolCall),
    /// Runs a registered function on a state.
    Work(FunctionUse),
}

/// A check, with all its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckRequest {
    /// The check to perform.
    pub check: CheckBy,
    /// The visible variables, if a gate or evidence reads them.
    pub claims: Arc<Map<String, Value>>,
}

/// A tool call, with all its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// Its arguments: an object.
    pub arguments: Arc<Value>,
    /// How many times it was called before, on this visit.
    pub retries: u32,
    /// The timeout in milliseconds; `None` means that of the server's entry.
    pub timeout_ms: Option<u64>,
    /// Whether the answer is read as text first.
    pub text_first: bool,
}

/// A request to a model, with all its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRequest {
    /// The number of the judge, from 0; `None` for the model of the state.
    pub judge: Option<u32>,
    /// The request. If it names no model, the definition names none.
    pub request: Request,
}

/// A tool call that a model asked for, with all its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelToolCall {
    /// The tool, as the definition names it.
    pub tool: String,
    /// Its arguments: an object that is not yet checked against the tool's schema.
    pub arguments: Arc<Value>,
}

/// Work for a function that the embedding program registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionUse {
    /// The function.
    pub function: String,
    /// Its input.
    pub input: Arc<Value>,
    /// The variables.
    pub shared: Map<String, Value>,
    /// The number of the attempt, from 0.
    pub attempt: u32,
    /// The previous attempt, with its findings.
    pub last: Option<Attempt>,
}

/// What to do if a crash leaves it unknown whether an effect was performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterCrash {
    /// Perform it again: repeating it does no harm.
    Repeat,
    /// Ask a person: it may have changed something outside.
    Ask,
}
