//! The behaviour that all toolsets share: initialization, unknown requests, and cancellation.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use portolan_core::diagnostic::clip;
use portolan_runtime::servers::LogLevel;
use portolan_runtime::service::ServiceError;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, ConstString, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult,
    InitializeRequestParams, InitializeResult, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestMethod, ReadResourceRequestParams,
    ReadResourceResponse, ResourceUpdatedNotificationParam, ResourcesCapability, ServerConfig, SetLevelRequestMethod,
    SubscribeRequestMethod, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
    UpdateTaskParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{Level, info};

use super::app;
use super::http::Metrics;
use super::long_calls::LongCalls;
use super::sender;
use super::subscriptions::Subscriptions;
use super::toolset::Toolset;
use crate::http::Scope;

/// The source of the events of calls in a log.
const LOG: &str = "portolan::mcp";

/// A toolset as an MCP server.
pub(super) struct Face {
    toolset: Arc<dyn Toolset>,
    long_calls: LongCalls,
    /// Becomes true when pending calls are to be dropped.
    ending: watch::Receiver<bool>,
    /// Whether the client has sent `initialized`.
    is_begun: AtomicBool,
    /// Whether the session was suspended before: the list of tools may have changed meanwhile.
    is_restored: bool,
    subscriptions: Subscriptions,
    /// The work beside the calls of the session, which ends with it.
    beside: Mutex<JoinSet<()>>,
    /// The log messages of other servers that the session wants, if it said so.
    log_level: Mutex<Option<LogLevel>>,
    /// Counts calls, if a server has metrics.
    metrics: Option<Arc<Metrics>>,
}

impl Face {
    pub(super) fn new(toolset: Arc<dyn Toolset>, long_calls: LongCalls, ending: watch::Receiver<bool>) -> Face {
        Face {
            toolset,
            long_calls,
            ending,
            is_begun: AtomicBool::new(false),
            is_restored: false,
            beside: Mutex::default(),
            subscriptions: Subscriptions::default(),
            log_level: Mutex::default(),
            metrics: None,
        }
    }

    /// Creates a server whose calls are counted.
    pub(super) fn measured(
        toolset: Arc<dyn Toolset>,
        long_calls: LongCalls,
        ending: watch::Receiver<bool>,
        metrics: Arc<Metrics>,
    ) -> Face {
        Face { metrics: Some(metrics), ..Face::new(toolset, long_calls, ending) }
    }

    /// Serves a session that was suspended before.
    pub(super) fn restored(self) -> Face {
        Face { is_restored: true, ..self }
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
        ended(self.ending.clone()).await;
    }

    /// Begins the work beside the calls of a session. It is dropped when the session ends, or at the end of the server.
    fn begin_beside(&self, work: impl Future<Output = ()> + Send + 'static) {
        let ending = self.ending.clone();
        self.beside.lock().unwrap_or_else(PoisonError::into_inner).spawn(async move {
            tokio::select! {
                () = ended(ending) => {}
                () = work => {}
            }
        });
    }

    /// Notifies a session of every new list of tools.
    fn tell_of_tools(&self, peer: Peer<RoleServer>) {
        let Some(mut changes) = self.toolset.changes() else { return };
        if self.is_restored {
            changes.mark_changed();
        }
        self.begin_beside(async move {
            while changes.changed().await.is_ok() && peer.notify_tool_list_changed().await.is_ok() {}
        });
    }

    /// Notifies a session of new lists of resources and prompts.
    fn tell_of_offers(&self, peer: Peer<RoleServer>) {
        let Some(mut changes) = self.toolset.offer_changes() else { return };
        if self.is_restored {
            changes.mark_changed();
        }
        self.begin_beside(async move {
            while changes.changed().await.is_ok() {
                // Which of them has changed makes no difference: a client lists both again.
                let sent = tokio::join!(peer.notify_resource_list_changed(), peer.notify_prompt_list_changed());
                if sent.0.and(sent.1).is_err() {
                    return;
                }
            }
        });
    }

    /// Waits for an answer, unless the client cancels the request or the server ends. Then the work of the request is
    /// dropped.
    async fn unless_cancelled<T>(
        &self,
        cancelled: impl Future<Output = ()>,
        answer: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        tokio::select! {
            // A cancellation takes precedence over an answer that arrives at the same time.
            biased;
            () = cancelled => Err(ErrorData::internal_error("the call was cancelled", None)),
            () = self.end() => Err(ErrorData::internal_error("the call was dropped: the server is shutting down", None)),
            answer = answer => answer,
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

/// Waits until pending calls are to be dropped.
async fn ended(mut ending: watch::Receiver<bool>) {
    // A dropped sender means that the connection is over.
    let _gone = ending.wait_for(|ending| *ending).await.is_err();
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
        let mut answer = self.negotiate_initialize(&request)?;
        // Revisions that begin with `initialize` have no tasks.
        answer.capabilities.extensions = None;
        Ok(answer)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // A repeated `initialized` must not start the work of the session twice.
        if !self.is_begun.swap(true, Ordering::Relaxed) {
            self.tell_of_tools(context.peer.clone());
            self.tell_of_offers(context.peer.clone());
            if let Some(work) = self.toolset.beside(context.peer) {
                self.begin_beside(work);
            }
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
        let subscribing = async {
            let updates = self.toolset.subscribe(&uri, &context).await;
            updates.unwrap_or_else(|| Err(self.no_resource::<SubscribeRequestMethod>(&uri)))
        };
        let mut updates = self.unless_cancelled(context.ct.cancelled(), subscribing).await?;
        let (peer, notification) = (context.peer, ResourceUpdatedNotificationParam::new(uri.clone()));
        self.subscriptions.begin(uri, async move {
            while updates.next().await && peer.notify_resource_updated(notification.clone()).await.is_ok() {}
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
        let has_offers = self.toolset.offer_changes().is_some();
        if !has_lists && !has_resources && !has_offers {
            return None;
        }
        let wanted = requested.resource_subscriptions.iter().flatten();
        let uris: Vec<String> = wanted.filter(|uri| self.toolset.has_updates(uri)).cloned().collect();
        let mut filter = SubscriptionFilter::new();
        filter.tools_list_changed = has_lists.then_some(true);
        filter.resources_list_changed = has_offers.then_some(true);
        filter.prompts_list_changed = has_offers.then_some(true);
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
        let wants_offers = wanted.resources_list_changed == Some(true) || wanted.prompts_list_changed == Some(true);
        if let Some(mut changes) = self.toolset.offer_changes().filter(|_| wants_offers) {
            let sink = context.sink().clone();
            let wanted = (wanted.resources_list_changed == Some(true), wanted.prompts_list_changed == Some(true));
            telling.spawn(async move {
                while changes.changed().await.is_ok() {
                    let is_sent = (!wanted.0 || sink.notify_resource_list_changed().await.is_ok())
                        && (!wanted.1 || sink.notify_prompt_list_changed().await.is_ok());
                    if !is_sent {
                        return;
                    }
                }
            });
        }
        // A client may name a resource several times, and is notified once.
        for uri in wanted.resource_subscriptions.iter().flatten().collect::<BTreeSet<_>>() {
            let subscribing = async { self.toolset.subscribe(uri, context.request_context()).await.transpose() };
            // It was acknowledged before, since what is acknowledged cannot await a decision. A refusal ends the request.
            let Some(mut updates) = self.unless_cancelled(context.cancelled(), subscribing).await? else { continue };
            let (sink, uri) = (context.sink().clone(), uri.clone());
            telling.spawn(
                async move { while updates.next().await && sink.notify_resource_updated(&uri).await.is_ok() {} },
            );
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
        request: rmcp::model::SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.toolset.about().capabilities.logging.is_none() {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        let level = serde_json::to_value(request.level).and_then(serde_json::from_value);
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = level.ok();
        Ok(())
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
            Some(_) => {
                let mut resources = self.toolset.resources();
                resources.retain(|resource| resource.uri != app::URI || app::is_shown_by(&context));
                Ok(ListResourcesResult::with_all_items(resources))
            }
        }
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        sender::may_read(&context)?;
        let reading = async {
            let contents = self.toolset.read(&request.uri, &context).await;
            contents.unwrap_or_else(|| Err(self.no_resource::<ReadResourceRequestMethod>(&request.uri)))
        };
        Ok(self.unless_cancelled(context.ct.cancelled(), reading).await?.into())
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
        let prompting = async {
            let messages = self.toolset.prompt(&request, &context).await;
            let unknown = || ErrorData::invalid_params(format!("there is no prompt `{}`", clip(&request.name)), None);
            messages.unwrap_or_else(|| Err(unknown()))
        };
        self.unless_cancelled(context.ct.cancelled(), prompting).await
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
        Ok(CompleteResult::new(self.toolset.complete(&request, &context).await))
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
        if !app::is_shown_by(&context) {
            app::hide(&mut tools);
        }
        // A list may vary by who asks.
        tools.retain(|tool| sender::has(&context, self.toolset.scope(&tool.name)));
        Ok(ListToolsResult::with_all_items(tools))
    }

    /// The work is boxed, because rmcp moves the futures of requests several times, and this one is the largest.
    fn call_tool(
        &self,
        request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CallToolResponse, ErrorData>> + Send + '_ {
        Box::pin(async move {
            if let Some(level) = *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) {
                context.extensions.insert(level);
            }
            let cancelled = context.ct.clone();
            let (tool, begun) = (request.name.clone(), Instant::now());
            let scope = self.toolset.scope(&tool);
            let answer = async {
                match sender::may_call(&context, &request.name, scope) {
                    Ok(()) => self.long_calls.call(&self.toolset, request, context, self.ending.clone()).await,
                    Err(refused) => Ok(self::refused(&refused)),
                }
            };
            let answer = self.unless_cancelled(cancelled.cancelled(), answer).await;
            self.count(&tool, &answer, begun.elapsed());
            answer
        })
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let state = self.long_calls.state(&self.toolset, &request.task_id, &context);
        Ok(GetTaskResult::new(self.unless_cancelled(context.ct.cancelled(), state).await?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.long_calls.update(&request.task_id, request.input_responses, &context)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.long_calls.cancel(&request.task_id, &context)
    }
}
