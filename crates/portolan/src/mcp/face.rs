//! What all toolsets answer alike: how a conversation begins, what is not there, how a call is called off.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use portolan_core::diagnostic::clip;
use portolan_core::run::Actor;
use portolan_runtime::service::ServiceError;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    InitializeRequestParams, InitializeResult, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestMethod, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::watch;

use super::transport::Bounds;

/// What a call comes to, when it is awaited.
pub(super) type Answer<'a> = Pin<Box<dyn Future<Output = Result<CallToolResponse, ErrorData>> + Send + 'a>>;

/// What the text of a resource comes to, when it is awaited: nothing where there is none of that address.
pub(super) type Text<'a> = Pin<Box<dyn Future<Output = Option<Result<String, ServiceError>>> + Send + 'a>>;

/// How a toolset is to be spoken with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manners {
    /// How large a message to it may be.
    pub(super) bounds: Bounds,
    /// How long calls may go on once the client has left: a shell's pipe closes right after its last question.
    pub(super) parting: Duration,
}

impl Default for Manners {
    /// Those of the sets that lead agents: checks that are being performed are mostly let finish.
    fn default() -> Manners {
        Manners { bounds: Bounds { line: 4 << 20, values: 50_000 }, parting: Duration::from_secs(5) }
    }
}

/// A set of tools. It is used as an object: all that rmcp does for a server would be compiled anew for each type.
pub(super) trait Toolset: Send + Sync {
    /// How it is to be spoken with.
    fn manners(&self) -> Manners {
        Manners::default()
    }

    /// How it introduces itself.
    fn about(&self) -> ServerConfig;

    /// Its tools, in the order in which they are listed.
    fn tools(&self) -> Vec<Tool>;

    /// Changes whenever the list of tools does, from now on; nothing where it never does.
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// What of it can be read beside the tools.
    fn resources(&self) -> Vec<Resource> {
        Vec::new()
    }

    /// The text of one of them.
    fn read<'a>(&'a self, _uri: &'a str) -> Text<'a> {
        Box::pin(async { None })
    }

    /// Calls a tool. Dropping the future calls it off, and what it performs ends with it.
    fn call(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Answer<'_>;
}

/// A toolset as a client sees it.
pub(super) struct Face {
    toolset: Arc<dyn Toolset>,
    /// Becomes true when calls under way are to be dropped.
    ending: watch::Receiver<bool>,
}

impl Face {
    pub(super) fn new(toolset: Arc<dyn Toolset>, ending: watch::Receiver<bool>) -> Face {
        Face { toolset, ending }
    }

    async fn end(&self) {
        // Without its sender, the connection is over.
        let mut ending = self.ending.clone();
        let _gone = ending.wait_for(|ending| *ending).await.is_err();
    }

    /// Waits until the list of tools changes; false when nobody is to be told of it any more.
    async fn has_changed(&self, changes: &mut watch::Receiver<u64>) -> bool {
        tokio::select! {
            () = self.end() => false,
            changed = changes.changed() => changed.is_ok(),
        }
    }
}

/// An answer as structured content, and the same as text for clients that read only that.
pub(super) fn result(value: Value, is_error: bool) -> CallToolResult {
    let text = vec![ContentBlock::text(value.to_string())];
    let mut result = if is_error { CallToolResult::error(text) } else { CallToolResult::success(text) };
    result.structured_content = Some(value);
    result
}

/// Who calls: by the client's own name.
pub(super) fn caller(context: &RequestContext<RoleServer>) -> Actor {
    Actor::Agent(context.client_info().map_or_else(|| "unknown".to_owned(), |client| clip(&client.name)))
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

    /// A session is told of every new list until it ends.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let Some(mut changes) = self.toolset.changes() else { return };
        while self.has_changed(&mut changes).await {
            if context.peer.notify_tool_list_changed().await.is_err() {
                return;
            }
        }
    }

    fn accepted_subscription_filter(&self, _requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.toolset.changes().map(|_| SubscriptionFilter::builder().tools_list_changed().build())
    }

    /// The same where there is no session: until the subscription is cancelled.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let Some(mut changes) = self.toolset.changes() else { return Ok(()) };
        loop {
            let changed = tokio::select! {
                () = context.cancelled() => false,
                changed = self.has_changed(&mut changes) => changed,
            };
            if !changed || context.sink().notify_tool_list_changed().await.is_err() {
                return Ok(());
            }
        }
    }

    /// Requests that are none of rmcp's: their method is unknown, or they lack what it takes.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        Err(match method.as_str() {
            "tools/call" => {
                ErrorData::invalid_params("`tools/call` takes `name`, a string, and `arguments`, an object", None)
            }
            "initialize" => ErrorData::invalid_params(
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
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        match self.toolset.resources() {
            none if none.is_empty() => Err(ErrorData::method_not_found::<ListResourcesRequestMethod>()),
            resources => Ok(ListResourcesResult::with_all_items(resources)),
        }
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let resources = self.toolset.resources();
        if resources.is_empty() {
            return Err(ErrorData::method_not_found::<ReadResourceRequestMethod>());
        }
        let Some(text) = self.toolset.read(&request.uri).await else {
            let message = format!("there is no resource `{}`", clip(&request.uri));
            return Err(ErrorData::resource_not_found(message, None));
        };
        let text = text.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let contents = ResourceContents::text(text, request.uri).with_mime_type("application/json");
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.toolset.tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let cancelled = context.ct.clone();
        tokio::select! {
            // What was called off before its answer came is called off, whichever of the two is seen first.
            biased;
            // What the call had begun to perform ends with it, since it is dropped.
            () = cancelled.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
            () = self.end() => Err(ErrorData::internal_error("the call was dropped: the server is ending", None)),
            answer = self.toolset.call(request, context) => answer,
        }
    }
}
