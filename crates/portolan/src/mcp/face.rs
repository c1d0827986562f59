//! The behaviour that all toolsets share: initialization, unknown requests, and cancellation.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use portolan_core::diagnostic::clip;
use portolan_runtime::service::ServiceError;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, CompletionInfo, ConstString, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse, InitializeRequestParams, InitializeResult,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
    ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams, Prompt, ProtocolVersion,
    ReadResourceRequestMethod, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, ResourceUpdatedNotificationParam, ResourcesCapability, ServerConfig,
    SetLevelRequestMethod, SubscribeRequestMethod, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{Level, info};

use super::http::Metrics;
use super::project::Project;
use super::sender;
use super::subscriptions::Subscriptions;
use super::transport::Bounds;
use crate::http::Scope;

/// The source of the events of calls in a log.
const LOG: &str = "portolan::mcp";

/// The future result of a call.
pub(super) type Answer<'a> = Pin<Box<dyn Future<Output = Result<CallToolResponse, ErrorData>> + Send + 'a>>;

/// The future contents of a resource. `None` if there is no resource of that address.
pub(super) type Text<'a> = Pin<Box<dyn Future<Output = Option<Result<ResourceContents, ServiceError>>> + Send + 'a>>;

/// The future messages of a prompt. `None` if there is no prompt of that name.
pub(super) type Messages<'a> =
    Pin<Box<dyn Future<Output = Option<Result<GetPromptResponse, ServiceError>>> + Send + 'a>>;

/// The future tools of a list.
pub(super) type Listing<'a> = Pin<Box<dyn Future<Output = Vec<Tool>> + Send + 'a>>;

/// The future values that complete an argument.
pub(super) type Completion<'a> = Pin<Box<dyn Future<Output = Vec<String>> + Send + 'a>>;

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
    fn open_tools(&self) -> Listing<'_> {
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
        Box::pin(async move { self.project()?.read(uri, context).await })
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
        Box::pin(async move { self.project()?.prompt(request, context).await })
    }

    /// Returns the values that complete an argument of a prompt or a variable of an address.
    fn complete<'a>(&'a self, request: &'a CompleteRequestParams) -> Completion<'a> {
        Box::pin(async move {
            match self.project() {
                Some(project) => project.complete(request).await,
                None => Vec::new(),
            }
        })
    }

    /// Returns a receiver that changes when the text of a resource may have, or `None` if there is no such resource.
    fn updates(&self, uri: &str) -> Option<watch::Receiver<u64>> {
        self.project()?.updates(uri)
    }

    /// Returns the work of a session beside its calls. It is dropped when the session ends.
    fn beside(&self, _peer: Peer<RoleServer>) -> Option<Work> {
        None
    }

    /// Calls a tool. Dropping the future cancels the call and its work.
    fn call(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Answer<'_>;
}

/// A toolset as an MCP server.
pub(super) struct Face {
    toolset: Arc<dyn Toolset>,
    /// Becomes true when pending calls are to be dropped.
    ending: watch::Receiver<bool>,
    /// Whether the client has sent `initialized`.
    is_begun: AtomicBool,
    subscriptions: Subscriptions,
    /// Counts calls, if a server has metrics.
    metrics: Option<Arc<Metrics>>,
}

impl Face {
    pub(super) fn new(toolset: Arc<dyn Toolset>, ending: watch::Receiver<bool>) -> Face {
        Face {
            toolset,
            ending,
            is_begun: AtomicBool::new(false),
            subscriptions: Subscriptions::default(),
            metrics: None,
        }
    }

    /// Creates a server whose calls are counted.
    pub(super) fn measured(toolset: Arc<dyn Toolset>, ending: watch::Receiver<bool>, metrics: Arc<Metrics>) -> Face {
        Face { metrics: Some(metrics), ..Face::new(toolset, ending) }
    }

    /// Counts a call, and logs it. Tools that do not exist count as one.
    fn count(&self, tool: &str, answer: &Result<CallToolResponse, ErrorData>, took: Duration) {
        if self.metrics.is_none() && !tracing::enabled!(target: LOG, Level::INFO) {
            return;
        }
        let error = match answer {
            Ok(CallToolResponse::Complete(result)) if result.is_error == Some(true) => {
                let error = result.structured_content.as_ref().map(|content| &content["error"]);
                let code = error.and_then(|error| error.as_str().or_else(|| error["code"].as_str()));
                Some(code.unwrap_or("tool_error").to_owned())
            }
            Ok(_) => None,
            Err(error) => Some(error.code.0.to_string()),
        };
        // A call that succeeded named a tool. The names of others are the client's, and are not kept.
        let is_known = error.is_none() || self.toolset.has(tool);
        let tool = if is_known { tool } else { "unknown" };
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        info!(target: LOG, tool, code = error.as_deref(), took_ms, "call answered");
        if let Some(metrics) = &self.metrics {
            metrics.called(tool, error.as_deref(), took);
        }
    }

    async fn end(&self) {
        // A dropped sender means that the connection is over.
        let mut ending = self.ending.clone();
        let _gone = ending.wait_for(|ending| *ending).await.is_err();
    }

    /// Waits until the list of tools changes. Returns `false` at the end of the session.
    async fn has_changed(&self, changes: &mut watch::Receiver<u64>) -> bool {
        tokio::select! {
            () = self.end() => false,
            changed = changes.changed() => changed.is_ok(),
        }
    }

    /// Notifies a session of every new list of tools, until it ends.
    async fn tell_of_lists(&self, peer: &Peer<RoleServer>) {
        let Some(mut changes) = self.toolset.changes() else { return };
        while self.has_changed(&mut changes).await {
            if peer.notify_tool_list_changed().await.is_err() {
                return;
            }
        }
    }

    /// Performs the work beside the calls of a session, until it ends.
    async fn work_beside(&self, peer: &Peer<RoleServer>) {
        let Some(work) = self.toolset.beside(peer.clone()) else { return };
        tokio::select! {
            () = self.end() => {}
            () = work => {}
        }
    }

    /// Returns the error of a request for an unknown resource.
    fn no_resource<M: ConstString>(&self, uri: &str) -> ErrorData {
        match self.toolset.about().capabilities.resources.is_none() {
            true => ErrorData::method_not_found::<M>(),
            false => {
                let data = Some(json!({ "uri": clip(uri) }));
                ErrorData::resource_not_found(format!("there is no resource `{}`", clip(uri)), data)
            }
        }
    }
}

fn internal(error: &ServiceError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Returns the answer to a refused call.
pub(super) fn refused(error: &ServiceError) -> CallToolResponse {
    let why = json!({ "code": error.code, "message": error.message, "help": error.help });
    result(json!({ "success": false, "message": format!("Refused: {error}."), "error": why }), true).into()
}

/// Returns the capability to read resources and to subscribe to them.
pub(super) fn resources() -> ResourcesCapability {
    let mut resources = ResourcesCapability::default();
    resources.subscribe = Some(true);
    resources
}

/// Returns a result with structured content, and the same as text for clients that read only that.
pub(super) fn result(value: Value, is_error: bool) -> CallToolResult {
    // `Display` would write piece by piece through the standard library's formatting.
    let text = serde_json::to_string(&value).expect("a value is JSON");
    let text = vec![ContentBlock::text(text)];
    let mut result = if is_error { CallToolResult::error(text) } else { CallToolResult::success(text) };
    result.structured_content = Some(value);
    result
}

impl ServerHandler for Face {
    fn get_info(&self) -> ServerConfig {
        self.toolset.about()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let known = ProtocolVersion::KNOWN_VERSIONS.contains(&request.protocol_version);
        let mut request = request;
        if !known {
            request.protocol_version = ProtocolVersion::LATEST;
        }
        self.negotiate_initialize(&request)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // A repeated `initialized` must not start the work of the session twice.
        if !self.is_begun.swap(true, Ordering::Relaxed) {
            tokio::join!(self.tell_of_lists(&context.peer), self.work_beside(&context.peer));
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        sender::may_read(&context)?;
        let uri = request.uri;
        if self.toolset.about().capabilities.resources.is_none_or(|resources| resources.subscribe != Some(true)) {
            return Err(ErrorData::method_not_found::<SubscribeRequestMethod>());
        }
        let Some(mut updates) = self.toolset.updates(&uri) else {
            return Err(self.no_resource::<SubscribeRequestMethod>(&uri));
        };
        let (peer, told) = (context.peer, ResourceUpdatedNotificationParam::new(uri.clone()));
        self.subscriptions.begin(uri, async move {
            while updates.changed().await.is_ok() && peer.notify_resource_updated(told.clone()).await.is_ok() {}
        });
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.end(&request.uri);
        Ok(())
    }

    /// Returns what of a request can be subscribed to, which may be nothing. `None` if the toolset never notifies.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let has_lists = self.toolset.changes().is_some();
        let has_resources = self.toolset.about().capabilities.resources.is_some();
        if !has_lists && !has_resources {
            return None;
        }
        let wanted = requested.resource_subscriptions.iter().flatten();
        let uris: Vec<String> = wanted.filter(|uri| self.toolset.updates(uri).is_some()).cloned().collect();
        let mut filter = SubscriptionFilter::new();
        filter.tools_list_changed = has_lists.then_some(true);
        filter.resource_subscriptions = (!uris.is_empty()).then_some(uris);
        Some(filter)
    }

    /// Serves subscriptions without a session, until they are cancelled.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let wanted = context.accepted();
        let mut telling = JoinSet::new();
        if wanted.resource_subscriptions.is_some() {
            sender::may_read(context.request_context())?;
        }
        if let Some(mut changes) = self.toolset.changes().filter(|_| wanted.tools_list_changed == Some(true)) {
            let sink = context.sink().clone();
            telling.spawn(async move {
                while changes.changed().await.is_ok() && sink.notify_tool_list_changed().await.is_ok() {}
            });
        }
        // A client may name a resource several times, and is notified once.
        for uri in wanted.resource_subscriptions.iter().flatten().collect::<BTreeSet<_>>() {
            let Some(mut updates) = self.toolset.updates(uri) else { continue };
            let (sink, uri) = (context.sink().clone(), uri.clone());
            telling.spawn(async move {
                while updates.changed().await.is_ok() && sink.notify_resource_updated(&uri).await.is_ok() {}
            });
        }
        tokio::select! {
            () = context.cancelled() => {}
            () = self.end() => {}
        }
        Ok(())
    }

    #[expect(deprecated, reason = "clients of earlier revisions ask for it")]
    async fn set_level(
        &self,
        _request: rmcp::model::SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        match self.toolset.about().capabilities.logging {
            None => Err(ErrorData::method_not_found::<SetLevelRequestMethod>()),
            Some(_) => Ok(()),
        }
    }

    /// Answers requests that rmcp does not recognise: unknown methods, and known ones with missing parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        let has_sessions = context.protocol_version().is_none_or(|version| version < ProtocolVersion::V_2026_07_28);
        Err(match method.as_str() {
            "tools/call" => {
                ErrorData::invalid_params("`tools/call` takes `name`, a string, and `arguments`, an object", None)
            }
            "initialize" if has_sessions => ErrorData::invalid_params(
                "`initialize` takes `protocolVersion`, `capabilities` and `clientInfo` with `name` and `version`",
                None,
            ),
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{}`", clip(&method)), None),
        })
    }

    // Without these three, rmcp answers with empty lists that no capability announces.
    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        match self.toolset.about().capabilities.resources {
            None => Err(ErrorData::method_not_found::<ListResourcesRequestMethod>()),
            Some(_) if !sender::has(&context, Scope::Read) => Ok(ListResourcesResult::with_all_items(Vec::new())),
            Some(_) => Ok(ListResourcesResult::with_all_items(self.toolset.resources())),
        }
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        sender::may_read(&context)?;
        let Some(contents) = self.toolset.read(&request.uri, &context).await else {
            return Err(self.no_resource::<ReadResourceRequestMethod>(&request.uri));
        };
        Ok(ReadResourceResult::new(vec![contents.map_err(|error| internal(&error))?]).into())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        match self.toolset.about().capabilities.resources {
            None => Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>()),
            Some(_) if !sender::has(&context, Scope::Read) => {
                Ok(ListResourceTemplatesResult::with_all_items(Vec::new()))
            }
            Some(_) => Ok(ListResourceTemplatesResult::with_all_items(self.toolset.templates())),
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        match self.toolset.about().capabilities.prompts {
            None => Err(ErrorData::method_not_found::<ListPromptsRequestMethod>()),
            Some(_) if !sender::has(&context, Scope::Read) => Ok(ListPromptsResult::with_all_items(Vec::new())),
            Some(_) => Ok(ListPromptsResult::with_all_items(self.toolset.prompts())),
        }
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if self.toolset.about().capabilities.prompts.is_none() {
            return Err(ErrorData::method_not_found::<GetPromptRequestMethod>());
        }
        sender::may_read(&context)?;
        let Some(messages) = self.toolset.prompt(&request, &context).await else {
            return Err(ErrorData::invalid_params(format!("there is no prompt `{}`", clip(&request.name)), None));
        };
        messages.map_err(|error| internal(&error))
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        if self.toolset.about().capabilities.completions.is_none() {
            return Err(ErrorData::method_not_found::<CompleteRequestMethod>());
        }
        sender::may_read(&context)?;
        let values = self.toolset.complete(&request).await;
        let completion = CompletionInfo::new(values).map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(completion))
    }

    /// Returns a tool, by whose schema rmcp checks the headers of a call over HTTP.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.toolset.tools().into_iter().find(|tool| tool.name == name)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // From 2026-07-28 on, a list must not vary.
        let may_vary = context.protocol_version().is_none_or(|version| version < ProtocolVersion::V_2026_07_28);
        let mut tools = if may_vary { self.toolset.open_tools().await } else { self.toolset.tools() };
        // A list may vary by who asks.
        tools.retain(|tool| sender::has(&context, self.toolset.scope(&tool.name)));
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let cancelled = context.ct.clone();
        let (tool, begun) = (request.name.clone(), Instant::now());
        let scope = self.toolset.scope(&tool);
        let answer = tokio::select! {
            // A cancellation takes precedence over an answer that arrives at the same time.
            biased;
            // The call is dropped, which also ends its work.
            () = cancelled.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
            () = self.end() => Err(ErrorData::internal_error("the call was dropped: the server is shutting down", None)),
            answer = async {
                match sender::may_call(&context, &request.name, scope) {
                    Ok(()) => self.toolset.call(request, context).await,
                    Err(refused) => Ok(self::refused(&refused)),
                }
            } => answer,
        };
        self.count(&tool, &answer, begun.elapsed());
        answer
    }
}
