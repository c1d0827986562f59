//! The workers of a run's states: models that are opened by their names, tools of servers, functions that an embedding
//! program has registered, and the workspace of checks.
//!
//! Each performs one effect, with everything it needs, and returns the result for the engine. They know nothing of
//! runs, and do not check whether the servers and commands of a definition are trusted: their caller has done so.

mod assistant;
mod cast;
mod functions;
mod tools;

use std::sync::Arc;

use portolan_core::engine::{CheckRequest, Effect, FunctionUse, ModelRequest, ModelToolCall};
use portolan_core::graph::Workflow;
use portolan_core::run::{Completion, ToolCallResult, Verdict};
use portolan_core::value::NodeId;

use crate::clock::Clock;
use crate::gates::{self, CheckWorkspace};
use crate::tools::Tools;

pub use assistant::{Assistant, AssistantAnswer, Stop};
pub use cast::{ModelBindings, ModelListener};
pub use functions::{FunctionError, FunctionOutput, Functions};

/// The workers of a run's states.
#[derive(Clone, Default)]
pub struct Workers {
    /// The models.
    pub cast: ModelBindings,
    /// The functions.
    pub functions: Functions,
    /// The workspace for commands and files. `None` without a project.
    pub ground: Option<Arc<CheckWorkspace>>,
}

impl Workers {
    /// Asks a model, with tools that may include flows of a workflow. Dropping the future gives the request up.
    pub(crate) async fn complete(
        &self,
        (node, model_request): (&NodeId, &ModelRequest),
        (tools, workflow): (&Tools, &Workflow),
    ) -> Completion {
        let offered = tools::AvailableTools { tools, workflow: Some(workflow), functions: &self.functions };
        let specs = match offered.specs(&model_request.request.tools).await {
            Ok(specs) => specs,
            Err(why) => return Completion::Unanswered(why),
        };
        match self.cast.ask(node, model_request, &specs).await {
            Ok(answer) => Completion::Answer(Box::new(answer)),
            Err(why) => Completion::Unanswered(why),
        }
    }

    /// Performs a tool call of a model.
    pub(crate) async fn use_tool(
        &self,
        used: (&Effect, &ModelToolCall),
        tools: &Tools,
        clock: &Clock,
    ) -> ToolCallResult {
        tools::perform(used, tools, &self.functions, clock).await
    }

    /// Runs a function for a state.
    pub(crate) async fn work(&self, node: &NodeId, work: &FunctionUse) -> Completion {
        self.functions.work(node, work).await
    }

    /// Performs a check.
    pub(crate) async fn check(&self, request: &CheckRequest) -> Verdict {
        match &self.ground {
            Some(ground) => gates::perform(request, ground).await,
            None => Verdict::Unknown { reason: "there is no project in which it could be checked".to_owned() },
        }
    }
}
