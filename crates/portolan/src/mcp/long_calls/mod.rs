//! Calls that take long: a client that declares the extension `io.modelcontextprotocol/tasks` gets a task in place of the
//! result, and asks for it later.
//!
//! ```text
//! call ─ within the toolset's patience ─→ result
//!      └ later → task: working ─→ completed | failed | cancelled
//!                             ⇄ input_required
//! ```
//! A task is this process's: it ends with it. What a run has reached is in the store, so that a later process still
//! answers for the task: its id names the run, and the toolset says where the run is. Nothing else is stored. The id
//! gives nobody a right: whoever asks needs the scope that the call needed.

mod id;
mod table;
mod task;

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use portolan_core::diagnostic::clip;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CreateTaskResult, DetailedTask, ErrorCode, InputResponses,
    ProtocolVersion, Task, TaskPayload, TaskStatus,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::watch;
use tokio::time::sleep;

use super::toolset::Toolset;
use super::{face, sender};
use id::{Owner, TaskId};
use table::Table;
use task::Running;

pub(super) use id::{RecalledCall, RunName};
pub(super) use task::LastNews;

/// How long a call may take before it becomes a task, for toolsets of the product.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// A call under way, independent of the request that began it.
type OwnedCall = Pin<Box<dyn Future<Output = Result<CallToolResponse, ErrorData>> + Send>>;

/// The tasks of a project's clients.
#[derive(Clone)]
pub(super) struct LongCalls {
    table: Arc<Table>,
    /// The project, which is part of every owner.
    project: Arc<str>,
}

impl LongCalls {
    pub(super) fn of(project: &Path) -> LongCalls {
        LongCalls { table: Arc::default(), project: project.to_string_lossy().into() }
    }

    /// Calls a tool. Returns a task if the call takes longer than the toolset's patience with it, and the client takes
    /// tasks.
    pub(super) async fn call(
        &self,
        toolset: &Arc<dyn Toolset>,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
        ending: watch::Receiver<bool>,
    ) -> Result<CallToolResponse, ErrorData> {
        match toolset.patience(&request.name).filter(|_| takes_tasks(&context)) {
            None => toolset.call(request, context).await,
            // Boxed: the state of other calls has no room for it.
            Some(patience) => Box::pin(self.call_within(patience, toolset, request, context, ending)).await,
        }
    }

    async fn call_within(
        &self,
        patience: Duration,
        toolset: &Arc<dyn Toolset>,
        request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
        ending: watch::Receiver<bool>,
    ) -> Result<CallToolResponse, ErrorData> {
        let news = Arc::new(LastNews::default());
        context.extensions.insert(Arc::clone(&news));
        let running = Running { toolset: Arc::clone(toolset), request, context, news };
        let mut call = running.begin();
        tokio::select! {
            biased;
            answer = &mut call => return answer,
            () = sleep(patience) => {}
        }
        let (owner, run) = (self.owner(&running.context), running.run());
        let Some(room) = self.table.room(&owner) else { return call.await };
        let id = TaskId::new(owner, running.request.name.as_ref(), run);
        let task = room.begin(id, running, call, ending);
        Ok(CallToolResponse::Task(CreateTaskResult::new(task)))
    }

    /// Returns the state of a task.
    ///
    /// # Errors
    /// It is not one of this client's.
    pub(super) async fn state(
        &self,
        toolset: &Arc<dyn Toolset>,
        text: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<DetailedTask, ErrorData> {
        let id = self.known(text, context)?;
        if let Some(task) = self.table.state(&id) {
            return Ok(task);
        }
        Ok(self.recalled(toolset, &id, context).await)
    }

    /// Gives a task what the client's user has answered.
    ///
    /// # Errors
    /// It is not one of this client's.
    pub(super) fn update(
        &self,
        text: &str,
        responses: InputResponses,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let id = self.known(text, context)?;
        // A task of an earlier process waits for nothing.
        self.table.update(&id, responses);
        Ok(())
    }

    /// Drops the work of a task.
    ///
    /// # Errors
    /// It is not one of this client's.
    pub(super) fn cancel(&self, text: &str, context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
        let id = self.known(text, context)?;
        self.table.cancel(&id);
        Ok(())
    }

    fn owner(&self, context: &RequestContext<RoleServer>) -> Owner {
        let name = sender::principal(context).and_then(|principal| principal.name.as_deref());
        Owner::of(&self.project, name.unwrap_or_default())
    }

    /// Reads the id of a task of this client that has not expired.
    fn known(&self, text: &str, context: &RequestContext<RoleServer>) -> Result<TaskId, ErrorData> {
        if !takes_tasks(context) {
            let message = "this revision of the protocol has no tasks of this form";
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None));
        }
        let id = TaskId::read(text).filter(|id| *id.owner() == self.owner(context) && !id.is_expired());
        id.ok_or_else(|| unknown(text))
    }

    /// Returns what is known of a task of an earlier process.
    async fn recalled(
        &self,
        toolset: &Arc<dyn Toolset>,
        id: &TaskId,
        context: &RequestContext<RoleServer>,
    ) -> DetailedTask {
        let recalled = match id.call() {
            None => None,
            Some(call) => match sender::may_call(context, &call.tool, toolset.scope(&call.tool)) {
                Ok(()) => toolset.recall(&call, context).await,
                Err(refused) => match face::refused(&refused) {
                    CallToolResponse::Complete(result) => Some(result),
                    _ => None,
                },
            },
        };
        let lost = || {
            let message = "the server ended before the call was done, and its result is lost; make the call again";
            TaskPayload::Failed { error: task::error_object(&ErrorData::internal_error(message, None)) }
        };
        let payload =
            recalled.map_or_else(lost, |result| TaskPayload::Completed { result: task::result_object(&result) });
        let task = Task::new(id.text(), TaskStatus::Working, id.created(), task::now());
        DetailedTask::new(task.with_ttl_ms(id::LIFETIME_MS), payload)
    }
}

/// Returns whether the client of a request takes a task in place of a result.
fn takes_tasks(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
        && context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

fn unknown(text: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no task `{}`; it may have expired", clip(text)), None)
}
