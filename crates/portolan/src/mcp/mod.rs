//! The MCP face: the `tasks` toolset over stdio. It translates calls and answers; every decision is the service's.

mod answers;
mod arguments;
mod ask;
mod manage;
mod navigate;
mod schemas;
mod select;
mod transport;

use std::pin::pin;
use std::sync::Arc;

use portolan_core::diagnostic::{clip, closest};
use portolan_core::run::Actor;
use portolan_runtime::service::{Caller, Service, ServiceError};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite};

use arguments::Arguments;
use transport::Lines;

#[cfg(test)]
pub(crate) use schemas::tools;

/// What a client is told once, when it connects.
const INSTRUCTIONS: &str = "Portolan leads you through a workflow. Init a run, Start it, then loop: read the \
instructions, do the work (or delegate it to the agent named), and send one of the calls in `actions` back as it \
stands. Every offered call is accepted; every other call is refused, changes nothing, and answers with the present \
situation. `passed` is a claim: where a step has acceptance checks, they decide. At `## HITL` stop and ask the person. \
After a loss of context call Current. Never edit a task file's position by hand.";

/// Serves the client at standard input and output until it leaves, or until a signal asks for an end.
pub(crate) fn serve_stdio(service: Arc<Service>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        let stop = stop_signal()?;
        let (reader, writer) = rmcp::transport::stdio_pipes();
        Server::new(service).serve(reader, writer, stop).await
    });
    // Where standard input is no pipe, a read from it cannot be interrupted: the process does not wait for it.
    runtime.shutdown_background();
    done
}

/// Resolves when the process is asked to end.
#[cfg(unix)]
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async { tokio::signal::ctrl_c().await.unwrap_or(()) })
}

/// The server of one connection.
struct Server {
    service: Arc<Service>,
    tools: Vec<Tool>,
    asked: ask::Asked,
}

impl Server {
    fn new(service: Arc<Service>) -> Server {
        Server { service, tools: schemas::tools(), asked: ask::Asked::default() }
    }

    /// Serves until the other side closes, or until `stop` asks for an end: calls under way are then cancelled, and
    /// the commands that they perform end with them.
    async fn serve<R, W>(self, reader: R, writer: W, stop: impl Future<Output = ()>) -> anyhow::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let mut stop = pin!(stop);
        let served = tokio::select! {
            served = ServiceExt::<RoleServer>::serve(self, Lines::new(reader, writer)) => served,
            () = &mut stop => return Ok(()),
        };
        let running = match served {
            Ok(running) => running,
            // A client that leaves without a word has what it wanted.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let canceller = running.cancellation_token();
        let mut ended = pin!(running.waiting());
        tokio::select! {
            ended = &mut ended => ended?,
            () = &mut stop => {
                canceller.cancel();
                ended.await?
            }
        };
        Ok(())
    }

    async fn call(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ServiceError> {
        let arguments = Arguments::new(request.arguments.clone());
        let caller = caller(context);
        let value = match request.name.as_ref() {
            "Init" => navigate::init(&self.service, arguments, &caller).await?,
            "Start" => navigate::start(&self.service, arguments, &caller).await?,
            "Current" => navigate::current(&self.service, arguments, &caller).await?,
            "Next" => return self.next(arguments, request, context, caller).await,
            "ListWorkflows" => manage::list_workflows(&self.service, arguments)?,
            "SelectWorkflow" => select::select_workflow(&self.service, arguments)?,
            "Diagram" => manage::diagram(&self.service, arguments)?,
            "CopyWorkflows" => manage::copy_workflows(&self.service, arguments)?,
            "CopyAgents" => manage::copy_agents(&self.service, arguments)?,
            "LoadWorkflows" => manage::load_workflows(&self.service, arguments)?,
            "ListCatalog" => manage::list_catalog(arguments)?,
            other => return Err(unknown_tool(other)),
        };
        Ok(answers::success(value).into())
    }
}

fn unknown_tool(name: &str) -> ServiceError {
    let near = closest(name, schemas::NAMES).map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    ServiceError::refused(
        "unknown_tool",
        format!("there is no tool `{}`", clip(name)),
        format!("{near}tools/list has them all"),
    )
}

/// Who calls: the client's own name, and whether it can put a question to its user.
fn caller(context: &RequestContext<RoleServer>) -> Caller {
    let name = context.client_info().map_or_else(|| "unknown".to_owned(), |client| clip(&client.name));
    let can_ask = context.client_capabilities().is_some_and(|capabilities| {
        capabilities.elicitation.is_some_and(|asks| asks.form.is_some() || asks.url.is_none())
    });
    Caller { by: Actor::Agent(name), can_ask }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("portolan", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
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
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
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
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let cancelled = context.ct.clone();
        tokio::select! {
            // What the call had begun to perform ends with it: a runner kills its command when it is dropped.
            () = cancelled.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
            answer = self.call(&request, &context) => match answer {
                Ok(answer) => Ok(answer),
                Err(error) => {
                    let metadata = navigate::metadata(&self.service, &request, &error).await;
                    Ok(answers::failure(&request, &error, metadata).into())
                }
            }
        }
    }
}
