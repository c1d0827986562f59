//! The MCP servers whose tools a workflow calls, as written in the definition or in the user's `mcp.json`.

use indexmap::IndexMap;

use crate::source::Span;

/// The default timeout of a call to a server's tool, in milliseconds.
pub const DEFAULT_CALL_TIMEOUT_MS: u64 = 60_000;

/// A server as written. Its texts may contain `${VAR}` and `${VAR:-default}`: the core has no environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The name that nodes use for it.
    pub name: String,
    /// The position of the name.
    pub span: Span,
    /// Its transport.
    pub transport: Transport,
    /// The timeout of a call, in milliseconds; `None` means [`DEFAULT_CALL_TIMEOUT_MS`].
    pub timeout_ms: Option<u64>,
    /// Whether it is disabled, which has the same effect as leaving it out.
    pub disabled: bool,
}

/// The transport of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A process, over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its working directory, relative to the folder of the file that names it.
        cwd: Option<String>,
        /// Environment variables in addition to the few that every child gets.
        env: IndexMap<String, String>,
    },
    /// Streamable HTTP. If the file gives no `type`, a server that does not support it is tried with
    /// [`Transport::Sse`].
    Http {
        /// The endpoint.
        url: String,
        /// Headers of every request.
        headers: IndexMap<String, String>,
        /// Whether the file leaves open which of the two HTTP transports it is.
        either: bool,
    },
    /// HTTP with server-sent events, the transport of 2024-11-05.
    Sse {
        /// The endpoint of the event stream.
        url: String,
        /// Headers of every request.
        headers: IndexMap<String, String>,
    },
    /// A server that is part of Portolan.
    Builtin(Builtin),
}

/// The servers that are part of Portolan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// Reads files below a folder.
    Filesystem {
        /// The folder, relative to the folder of the file that names it.
        root: String,
    },
    /// Echoes its input, and fails, waits and floods on request.
    Echo,
}
