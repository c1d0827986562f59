//! The `author` toolset: an agent writes one definition. For a file of graphs of tool calls it writes tools, lists
//! servers, and tries things out. It shows and edits a definition of any format by operations.
//!
//! It has the thirteen tools of mcpGraph's toolkit, and two for all formats. They translate. The runtime's `author`
//! decides what may be written, and trust decides what may be started.

mod answers;
mod definition;
mod discover;
mod edit;
mod evaluate;
mod history;
mod run;
mod schemas;

use std::sync::Arc;
use std::time::Duration;

use portolan_core::diagnostic::{clip, closest};
use portolan_runtime::author::Author;
use portolan_runtime::definition::DefinitionError;
use portolan_runtime::service::Service;
use rmcp::model::{CallToolRequestParams, CallToolResult, Implementation, ServerCapabilities, ServerConfig, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::time::timeout;

use super::arguments::Arguments;
use super::graph::CLOSING;
use super::several::ServedTools;
use super::toolset::{Answer, Manners, Toolset};
use super::transport::Bounds;
use crate::http::Scope;

#[cfg(test)]
pub(crate) use schemas::tools;

/// The instructions for a client of a file of graphs.
const GRAPHS: &str = "You write tools that are graphs of MCP tool calls, kept in one YAML file. First see what \
there is: listGraphTools, listMcpServers, listMcpServerTools. Try each part: testMcpTool for a call, testJSONata and \
testJSONLogic for an expression. Then run the whole definition with runGraphTool and `toolDefinition`, which writes \
nothing, and add the same definition with addGraphTool. In `args` an expression is `{\"expr\": \"$.entry.name\"}`; \
any other text stands for itself. Every write is checked first, and refused with all its faults, each with its place; \
the file's comments and layout stay. Servers that come with the file are started only once a person has run \
`portolan trust`. A small change of a tool that is there needs no whole definition: getDefinition shows nodes and edges, \
and editDefinition sets a field, adds, connects, renames or deletes a node.";

/// The instructions for a client of a file of any other format.
const ANY: &str = "You edit one workflow definition, piece by piece. First look at it: getDefinition gives its format, its \
revision, its nodes with the values of their fields, its edges by the names that edits use, and what is wrong with it; \
`show: [\"kinds\"]` says which kinds of node can be added and which fields they have. Then edit it: editDefinition takes the \
revision and a list of operations, which are all done, in order, or none; with `dryRun` it writes nothing and shows the \
difference. Every write is checked first, and refused with all the faults that it would bring, each with its place; \
comments and layout stay. Where it answers `stale`, somebody else has changed the definition: look at it again. Nothing \
that you write is trusted before a person has run `portolan trust`.";

/// The least number of threads. An expression that is tried may occupy one for up to a second.
const MIN_WORKERS: usize = 4;

/// Returns the toolset that edits one file. The servers that it starts end with it.
pub(crate) fn serving(service: Arc<Service>, author: Author) -> ServedTools {
    let workers = std::thread::available_parallelism().map_or(MIN_WORKERS, |cores| cores.get().max(MIN_WORKERS));
    let is_of_graphs = author.is_of_graphs();
    let server = Arc::new(Server { service, is_of_graphs, tools: schemas::listed(is_of_graphs), author });
    let ending = Arc::clone(&server);
    let afterwards = async move {
        let _left_behind = timeout(CLOSING, ending.author.close()).await;
    };
    ServedTools { workers, afterwards: Some(Box::pin(afterwards)), ..ServedTools::alone(server) }
}

struct Server {
    service: Arc<Service>,
    author: Author,
    /// Whether the file had graphs of tool calls at the start. Each call checks what the file is by then.
    is_of_graphs: bool,
    tools: Vec<Tool>,
}

impl Server {
    async fn perform(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, DefinitionError> {
        let arguments = Arguments::new(request.arguments.clone());
        match request.name.as_ref() {
            "getGraphServer" => edit::server(self, arguments),
            "listGraphTools" => edit::list(self, arguments),
            "getGraphTool" => edit::get(self, arguments),
            "listMcpServers" => discover::servers(self, arguments).await,
            "listMcpServerTools" => discover::tools(self, arguments).await,
            "getMcpServerTool" => discover::tool(self, arguments).await,
            "addGraphTool" => edit::add(self, arguments).await,
            "updateGraphTool" => edit::update(self, arguments).await,
            "deleteGraphTool" => edit::delete(self, arguments).await,
            "runGraphTool" => run::graph(self, arguments, context).await,
            "testJSONata" => evaluate::jsonata(arguments),
            "testJSONLogic" => evaluate::json_logic(arguments),
            "getDefinition" => definition::get(self, arguments),
            "editDefinition" => definition::edit(self, arguments).await,
            _ => run::tool(self, arguments).await,
        }
    }
}

impl Server {
    fn unknown(&self, name: &str) -> ErrorData {
        if schemas::NAMES.contains(&name) {
            let message = format!(
                "`{name}` is only for files of graphs of tool calls, and this is another kind of file; use editDefinition"
            );
            return ErrorData::invalid_params(message, None);
        }
        let help = closest(name, self.tools.iter().map(|tool| &*tool.name))
            .map_or_else(|| "tools/list returns them all".to_owned(), |near| format!("did you mean `{near}`?"));
        ErrorData::invalid_params(format!("there is no tool `{}`; {help}", clip(name)), None)
    }
}

impl Toolset for Server {
    fn manners(&self) -> Manners {
        Manners { bounds: Bounds { line: 16 << 20, values: 500_000 }, parting: Duration::from_millis(200) }
    }

    fn about(&self) -> ServerConfig {
        let mut server = Implementation::new("portolan-author", env!("CARGO_PKG_VERSION"));
        let title = if self.is_of_graphs { "Portolan: writing graphs" } else { "Portolan: editing a definition" };
        server.title = Some(title.to_owned());
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(server)
            .with_instructions(if self.is_of_graphs { GRAPHS } else { ANY })
    }

    fn tools(&self) -> Vec<Tool> {
        self.tools.clone()
    }

    fn scope(&self, _tool: &str) -> Scope {
        Scope::Author
    }

    fn call(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Answer<'_> {
        Box::pin(async move {
            if !self.tools.iter().any(|tool| tool.name == request.name) {
                return Err(self.unknown(&request.name));
            }
            let answer = self.perform(&request, &context).await;
            Ok(answer.unwrap_or_else(|refused| answers::refused(&refused)).into())
        })
    }
}
