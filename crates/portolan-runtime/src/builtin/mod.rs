//! The MCP servers that are part of Portolan. A workflow can call them without an installation, and `portolan builtin`
//! serves them to any client.

mod echo;
mod filesystem;
mod glob;

use std::io;
use std::path::Path;
use std::sync::Arc;

use portolan_core::diagnostic::{clip, closest};
use portolan_core::graph::Builtin;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{QuitReason, RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use filesystem::Filesystem;

/// A built-in server, ready to be served.
#[derive(Clone)]
pub struct Server {
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Filesystem(Arc<Filesystem>),
    Echo,
}

impl Server {
    /// Creates the server that `builtin` names. Its relative paths are relative to `folder`. Fails if the folder that
    /// it serves does not exist.
    pub fn new(builtin: &Builtin, folder: &Path) -> io::Result<Server> {
        let kind = match builtin {
            Builtin::Filesystem { root } => Kind::Filesystem(Arc::new(Filesystem::new(&folder.join(root))?)),
            Builtin::Echo => Kind::Echo,
        };
        Ok(Server { kind })
    }

    /// Checks whether everything that is served is inside `folder`, with symlinks resolved.
    pub(crate) fn is_within(&self, folder: &Path) -> io::Result<bool> {
        match &self.kind {
            Kind::Filesystem(files) => Ok(files.root().starts_with(folder.canonicalize()?)),
            Kind::Echo => Ok(true),
        }
    }

    /// Serves one client, until it closes its end.
    pub async fn serve<R, W>(self, reader: R, writer: W) -> io::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let running = match ServiceExt::<RoleServer>::serve(self, (reader, writer)).await {
            Ok(running) => running,
            // A client may leave before the handshake.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        };
        match running.waiting().await {
            Ok(QuitReason::JoinError(error)) | Err(error) => Err(io::Error::other(error)),
            Ok(_) => Ok(()),
        }
    }

    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Filesystem(_) => "portolan-filesystem",
            Kind::Echo => "portolan-echo",
        }
    }

    fn tools(&self) -> Vec<Tool> {
        match self.kind {
            Kind::Filesystem(_) => filesystem::tools(),
            Kind::Echo => echo::tools(),
        }
    }

    async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Option<Answer> {
        match &self.kind {
            Kind::Filesystem(files) => files.call(tool, arguments).await,
            Kind::Echo => echo::call(tool, arguments).await,
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(self.name(), env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let answer = tokio::select! {
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("the call was cancelled", None)),
            answer = self.call(&request.name, arguments) => answer,
        };
        match answer {
            Some(Ok(result)) => Ok(result.into()),
            Some(Err(complaint)) => Ok(CallToolResult::error(vec![ContentBlock::text(complaint)]).into()),
            None => Err(self.unknown(&request.name)),
        }
    }
}

impl Server {
    fn unknown(&self, tool: &str) -> ErrorData {
        let tools = self.tools();
        let near = closest(tool, tools.iter().map(|tool| tool.name.as_ref()));
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        ErrorData::invalid_params(format!("there is no tool `{}`{near}", clip(tool)), None)
    }
}

/// The result of a tool, or the error that its caller receives.
type Answer = Result<CallToolResult, String>;

/// Declares a tool that changes nothing and accesses nothing but this machine.
fn read_only(name: &'static str, description: &'static str, input: Value, output: Value) -> Tool {
    let schema = |value: Value| match value {
        Value::Object(fields) => Arc::new(fields),
        _ => Arc::default(),
    };
    Tool::new(name, description, schema(input))
        .with_raw_output_schema(schema(output))
        .with_annotations(ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false))
}

/// Returns the schema of an object with these properties.
fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

/// Parses the arguments of `tool`. The error says what is wrong with them.
fn arguments<T: DeserializeOwned>(tool: &str, arguments: Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| format!("the arguments of `{tool}` are wrong: {error}"))
}
