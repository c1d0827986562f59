//! A set of tools, with the prompts and resources beside them.

use std::pin::Pin;
use std::time::Duration;

use portolan_runtime::service::ServiceError;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompletionInfo,
    GetPromptRequestParams, GetPromptResponse, Prompt, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate, ServerConfig, Tool,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};
use tokio::sync::watch;

use super::long_calls::RecalledCall;
use super::project::Project;
use super::subscriptions::ResourceUpdates;
use super::transport::Bounds;
use crate::http::Scope;

/// The future result of a call.
pub(super) type Answer<'a> = Pin<Box<dyn Future<Output = Result<CallToolResponse, ErrorData>> + Send + 'a>>;

/// The future contents of a resource. `None` if there is no resource of that address.
pub(super) type Text<'a> = Pin<Box<dyn Future<Output = Option<Result<ReadResourceResult, ErrorData>>> + Send + 'a>>;

/// The future messages of a prompt. `None` if there is no prompt of that name.
pub(super) type Messages<'a> = Pin<Box<dyn Future<Output = Option<Result<GetPromptResponse, ErrorData>>> + Send + 'a>>;

/// The future tools of a list.
pub(super) type ToolsFuture<'a> = Pin<Box<dyn Future<Output = Vec<Tool>> + Send + 'a>>;

/// The future updates of a resource. `None` if there is no resource of that address, or it never changes.
pub(super) type Subscribed<'a> = Pin<Box<dyn Future<Output = Option<Result<ResourceUpdates, ErrorData>>> + Send + 'a>>;

/// The future values that complete an argument, at most as many as the specification allows.
pub(super) type Completion<'a> = Pin<Box<dyn Future<Output = CompletionInfo> + Send + 'a>>;

/// The future answer for a call of an earlier process. `None` if the toolset knows no answer.
pub(super) type Recalled<'a> = Pin<Box<dyn Future<Output = Option<CallToolResult>> + Send + 'a>>;

/// A future without a result.
pub(super) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The parameters of a toolset's connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manners {
    /// The limits of a message.
    pub(super) bounds: Bounds,
    /// How long calls may continue after the client has left: a shell's pipe closes right after its last request.
    pub(super) parting: Duration,
}

impl Default for Manners {
    /// Returns the parameters of the toolsets that lead agents. Most running checks can finish within them.
    fn default() -> Manners {
        Manners { bounds: Bounds { line: 4 << 20, values: 50_000 }, parting: Duration::from_secs(5) }
    }
}

/// A set of tools. It is used as a trait object: otherwise rmcp's server code would be compiled for each type.
pub(super) trait Toolset: Send + Sync {
    /// Returns the parameters of its connection.
    fn manners(&self) -> Manners {
        Manners::default()
    }

    /// Returns its server information.
    fn about(&self) -> ServerConfig;

    /// Returns its tools, in the order in which they are listed.
    fn tools(&self) -> Vec<Tool>;

    /// Returns the tools for a client whose list may depend on the position of runs.
    fn open_tools(&self) -> ToolsFuture<'_> {
        Box::pin(async { self.tools() })
    }

    /// Checks whether it answers calls of a tool, which need not be listed.
    fn has(&self, tool: &str) -> bool {
        self.tools().iter().any(|known| known.name == tool)
    }

    /// Returns the scope that a call of a tool needs.
    fn scope(&self, tool: &str) -> Scope;

    /// Returns a receiver that changes with the list of tools, or `None` if the list never changes.
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// Returns a receiver that changes with the lists of resources and prompts, or `None` if nobody is notified of that.
    fn offer_changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// Returns the prompts and resources of the project, if it offers them.
    fn project(&self) -> Option<&Project> {
        None
    }

    /// Returns its resources.
    fn resources(&self) -> Vec<Resource> {
        self.project().map(Project::resources).unwrap_or_default()
    }

    /// Returns the forms of the addresses of its resources.
    fn templates(&self) -> Vec<ResourceTemplate> {
        self.project().map(Project::templates).unwrap_or_default()
    }

    /// Reads a resource.
    fn read<'a>(&'a self, uri: &'a str, context: &'a RequestContext<RoleServer>) -> Text<'a> {
        Box::pin(async move { Some(contents(self.project()?.read(uri, context).await?)) })
    }

    /// Returns its prompts.
    fn prompts(&self) -> Vec<Prompt> {
        self.project().map(Project::prompts).unwrap_or_default()
    }

    /// Returns the messages of a prompt.
    fn prompt<'a>(
        &'a self,
        request: &'a GetPromptRequestParams,
        context: &'a RequestContext<RoleServer>,
    ) -> Messages<'a> {
        Box::pin(async move {
            let messages = self.project()?.prompt(request, context).await?;
            Some(messages.map_err(|error| internal(&error)))
        })
    }

    /// Returns the values that complete an argument of a prompt or a variable of an address.
    fn complete<'a>(
        &'a self,
        request: &'a CompleteRequestParams,
        _context: &'a RequestContext<RoleServer>,
    ) -> Completion<'a> {
        Box::pin(async move {
            match self.project() {
                Some(project) => CompletionInfo::new(project.complete(request).await).unwrap_or_default(),
                None => CompletionInfo::default(),
            }
        })
    }

    /// Returns a receiver that changes when the text of a resource of its own may have, or `None` if there is no such resource.
    fn updates(&self, uri: &str) -> Option<watch::Receiver<u64>> {
        self.project()?.updates(uri)
    }

    /// Checks whether a resource can be subscribed to.
    fn has_updates(&self, uri: &str) -> bool {
        self.updates(uri).is_some()
    }

    /// Subscribes to a resource.
    fn subscribe<'a>(&'a self, uri: &'a str, _context: &'a RequestContext<RoleServer>) -> Subscribed<'a> {
        Box::pin(async move { Some(Ok(ResourceUpdates::of(self.updates(uri)?, None))) })
    }

    /// Returns the work of a session beside its calls. It is dropped when the session ends.
    fn beside(&self, _peer: Peer<RoleServer>) -> Option<Work> {
        None
    }

    /// Returns how long a call of a tool may take before it becomes a task, for clients that take tasks. `None` if it
    /// never does.
    fn patience(&self, _tool: &str) -> Option<Duration> {
        None
    }

    /// Returns where the run is that an earlier process moved, in place of the lost result of its call.
    fn recall<'a>(&'a self, _call: &'a RecalledCall, _context: &'a RequestContext<RoleServer>) -> Recalled<'a> {
        Box::pin(async { None })
    }

    /// Calls a tool. Dropping the future cancels the call and its work.
    fn call(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Answer<'_>;
}

/// Returns the result of reading a resource with these contents.
pub(super) fn contents(read: Result<ResourceContents, ServiceError>) -> Result<ReadResourceResult, ErrorData> {
    read.map(|contents| ReadResourceResult::new(vec![contents])).map_err(|error| internal(&error))
}

fn internal(error: &ServiceError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
