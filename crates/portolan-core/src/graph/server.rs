//! The MCP servers whose tools a workflow calls, as written: in the definition itself, or in the user's `mcp.json`.

use indexmap::IndexMap;

use crate::source::Span;

/// How long a call of a server's tool may take where nothing else is said, in milliseconds.
pub const DEFAULT_CALL_TIMEOUT_MS: u64 = 60_000;

/// A server as written. `${VAR}` and `${VAR:-default}` still stand in its texts: the core has no environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The name under which nodes call it.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
    /// How it is reached.
    pub transport: Transport,
    /// How long a call may take, in milliseconds; nothing means [`DEFAULT_CALL_TIMEOUT_MS`].
    pub timeout_ms: Option<u64>,
    /// Whether it is switched off: it counts as not there.
    pub disabled: bool,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A process, spoken to over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Where it runs; relative to the folder of the file that names it.
        cwd: Option<String>,
        /// Variables that it gets besides the few that every child gets.
        env: IndexMap<String, String>,
    },
    /// Streamable HTTP. Without a `type` in the file, a server that does not know it is tried with [`Transport::Sse`].
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
        /// The folder; relative to the folder of the file that names it.
        root: String,
    },
    /// Says back what it is told, and fails, waits and floods on request.
    Echo,
}
