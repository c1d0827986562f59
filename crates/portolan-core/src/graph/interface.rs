//! What a flow is to those that call it, and what its file says besides what is to be done.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Bounds, Server};
use crate::schema::Schema;
use crate::source::Spanned;

/// How many nodes one run may execute where the definition does not say.
pub const DEFAULT_MAX_NODES: u64 = 1_000;
/// How long one run may take where the definition does not say, in milliseconds.
pub const DEFAULT_MAX_MS: u64 = 300_000;

/// What a flow takes from whoever calls it, what it comes to, and how far it may go. A flow that has none is not called: an
/// agent is led through it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Interface {
    /// What its callers are shown as its title.
    pub title: Option<String>,
    /// What its input must be.
    pub input: Option<Spanned<Schema>>,
    /// What its output must be.
    pub output: Option<Spanned<Schema>>,
    /// Hints for its callers, as MCP has them: an object.
    pub annotations: Option<Value>,
    /// How far one run may go.
    pub limits: RunLimits,
    /// What the states of one run may use up together.
    pub bounds: Bounds,
    /// Whether a run that has reached its limits waits for a person; else it fails.
    pub waits_at_limits: bool,
}

/// What a file says besides what is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileSettings {
    /// The model that states are worked on by where they name none; nothing where whoever runs it says so.
    pub model: Option<String>,
    /// The servers that the definition brings along.
    #[serde(serialize_with = "names")]
    pub servers: Vec<Server>,
    /// The names of those that stand in it but could not be read: nothing is known of what they are.
    pub unread_servers: BTreeSet<String>,
    /// The server that a file of several functions presents itself as.
    pub face: Face,
    /// Names of fields, and JSON pointers, whose values are never shown.
    pub redact: Vec<String>,
    /// Whether a tool's answer is read as text first, and as structured content second: so the design document has it.
    pub text_first: bool,
    /// Whether expressions see the input also under the name `input`.
    pub names_input: bool,
}

/// The servers by their names: how they are reached may hold secrets.
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
    /// What a client is told once, when it connects.
    pub instructions: Option<String>,
}

/// How far one run may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RunLimits {
    /// How many nodes it may execute, in all its parts together.
    pub max_nodes: u64,
    /// How long it may take, in milliseconds.
    pub max_ms: u64,
}

impl Default for RunLimits {
    fn default() -> RunLimits {
        RunLimits { max_nodes: DEFAULT_MAX_NODES, max_ms: DEFAULT_MAX_MS }
    }
}
