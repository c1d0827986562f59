//! The interface of a flow for its callers, and the other settings of its file.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Bounds, Server};
use crate::schema::Schema;
use crate::source::Spanned;

/// The default maximum number of nodes that one run may execute.
pub const DEFAULT_MAX_NODES: u64 = 1_000;
/// The default maximum time of one run, in milliseconds.
pub const DEFAULT_MAX_MS: u64 = 300_000;

/// The input, the output and the limits of a flow that is called. A flow without an interface is not called: an agent
/// is led through it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Interface {
    /// Its title for callers.
    pub title: Option<String>,
    /// The schema of its input.
    pub input: Option<Spanned<Schema>>,
    /// The schema of its output.
    pub output: Option<Spanned<Schema>>,
    /// Hints for its callers, as defined by MCP: an object.
    pub annotations: Option<Value>,
    /// The limits of one run.
    pub limits: RunLimits,
    /// The limits of the states of one run together.
    pub bounds: Bounds,
    /// Whether a run that reaches its limits waits for a person; else it fails.
    pub waits_at_limits: bool,
}

/// The settings of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileSettings {
    /// The model of states that name none; `None` if the runner chooses it.
    pub model: Option<String>,
    /// The servers that the definition declares.
    #[serde(serialize_with = "names")]
    pub servers: Vec<Server>,
    /// The names of declared servers that could not be read.
    pub unread_servers: BTreeSet<String>,
    /// The server that a file of several functions presents itself as.
    pub face: Face,
    /// Names of fields, and JSON pointers, whose values are never shown.
    pub redact: Vec<String>,
    /// Whether a tool's answer is read as text first and as structured content second, as the design document
    /// specifies.
    pub text_first: bool,
    /// Whether expressions also see the input under the name `input`.
    pub names_input: bool,
}

/// Serializes servers by name only: their transports may contain secrets.
fn names<S: Serializer>(servers: &[Server], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(servers.iter().map(|server| &server.name))
}

/// How a file of functions presents itself as an MCP server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Face {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its title.
    pub title: Option<String>,
    /// The instructions that a client gets once, when it connects.
    pub instructions: Option<String>,
}

/// The limits of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RunLimits {
    /// The maximum number of nodes that it executes, in all its parts together.
    pub max_nodes: u64,
    /// The maximum time, in milliseconds.
    pub max_ms: u64,
}

impl Default for RunLimits {
    fn default() -> RunLimits {
        RunLimits { max_nodes: DEFAULT_MAX_NODES, max_ms: DEFAULT_MAX_MS }
    }
}
