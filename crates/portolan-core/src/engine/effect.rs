//! What is to happen next, as data. Some effects are performed by whoever drives a run; instructions and questions are
//! presented, and settled by what is reported.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::chat::Request;
use crate::graph::CheckBy;
use crate::run::{Attempt, EffectId};
use crate::value::{NodeId, Timestamp, WorkflowId};

/// Something to perform or to present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The name under which it is settled, once, however often it is performed.
    pub id: EffectId,
    /// The flow whose node it belongs to.
    pub flow: WorkflowId,
    /// The earliest time at which it may be performed: a retry waits.
    pub not_before: Option<Timestamp>,
    /// When the time of the whole run is up.
    pub deadline: Option<Timestamp>,
    /// What to do when a crash leaves it unknown whether it was performed.
    pub after_crash: AfterCrash,
    /// What is to be done.
    pub what: EffectKind,
}

impl Effect {
    /// The node it belongs to.
    pub fn node(&self) -> &NodeId {
        &self.id.node
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectKind {
    /// The agent is told what to do.
    Instruct,
    /// A person is asked.
    Ask,
    /// A question answers itself when its time has come.
    TimeOut,
    /// An automatic node is executed, by the engine itself.
    Advance,
    /// A check is performed.
    Check(CheckRequest),
    /// A tool is called.
    Call(ToolCall),
    /// A model is asked.
    Complete(ModelRequest),
    /// A tool is used that a model has asked for.
    UseTool(ModelToolCall),
    /// A registered function works on a state.
    Work(FunctionUse),
}

/// A check, with everything that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckRequest {
    /// What to find out.
    pub check: CheckBy,
    /// What the run claims, where a gate looks at it: the variables that are seen there.
    pub claims: Arc<Map<String, Value>>,
}

/// A call of a tool, with everything that it needs.
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
    /// How long it may take, in milliseconds; nothing means what the server's entry says.
    pub timeout_ms: Option<u64>,
    /// Whether its answer is read as text first.
    pub text_first: bool,
}

/// A request to a model, with everything that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRequest {
    /// Which judge it is, from 0; nothing for the model that works.
    pub judge: Option<u32>,
    /// What is asked. Where it names no model, the definition names none.
    pub request: Request,
}

/// A tool that a model has asked for, with everything that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelToolCall {
    /// The tool, as the definition has it.
    pub tool: String,
    /// Its arguments: an object, which nobody has compared with the tool's schema yet.
    pub arguments: Arc<Value>,
}

/// Work for a function that whoever embeds the engine has registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionUse {
    /// The function.
    pub function: String,
    /// What it works on.
    pub input: Arc<Value>,
    /// The variables.
    pub shared: Map<String, Value>,
    /// The number of the attempt, from 0.
    pub attempt: u32,
    /// What the attempt before came to, and what was found of it.
    pub last: Option<Attempt>,
}

/// What to do when a crash leaves it unknown whether an effect was performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterCrash {
    /// Perform it again: finding something out twice does no harm.
    Repeat,
    /// Ask a person: it may have done something in the world.
    Ask,
}
