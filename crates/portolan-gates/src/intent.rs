//! A coding agent's tool call, in terms that do not depend on the host.

/// A tool call of a coding agent, as its host announces it before or after the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The session of the host.
    pub session: Option<String>,
    /// The host's id of the call. The same call may be announced more than once.
    pub call: Option<String>,
    /// The subagent that makes the call, if any.
    pub agent: Option<String>,
    /// The working folder of the agent: absolute, as the host reports it.
    pub folder: String,
    /// The tool's name, as the host writes it.
    pub name: String,
    /// The kind of tool.
    pub tool: Tool,
    /// The names of the tool's arguments, without their values, which may be secrets.
    pub arguments: Vec<String>,
    /// The branch of a run for which the call is made, if it names one.
    pub branch: Option<String>,
}

/// A kind of tool, with its targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Writes, creates, moves or deletes files.
    Edit {
        /// The paths, as the host writes them. Relative ones start at the agent's folder.
        paths: Vec<String>,
    },
    /// Runs a shell command.
    Shell {
        /// The text of the command.
        command: String,
    },
    /// Calls a tool of an MCP server.
    Mcp {
        /// The server.
        server: String,
        /// Its tool.
        tool: String,
        /// The equivalent tool of a host, if the name and the arguments show one.
        does: Option<Box<Tool>>,
    },
    /// Only reads or searches files.
    Reads,
    /// Anything else, such as a subagent or a list of tasks.
    Other,
}

impl Tool {
    /// Returns the equivalent host tool of a server's tool, if known, or else the tool itself.
    #[must_use]
    pub fn deed(&self) -> &Tool {
        match self {
            Self::Mcp { does: Some(deed), .. } => deed,
            _ => self,
        }
    }
}
