//! What a coding agent is about to do, in words that no host has for itself.

/// A tool call of a coding agent, as its host announces it, before it happens or after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The host's session.
    pub session: Option<String>,
    /// The call, by the name that the host has for it: the same call may be announced more than once.
    pub call: Option<String>,
    /// The subagent that makes it, where one does.
    pub agent: Option<String>,
    /// The folder that the agent works in: absolute, as the host says it.
    pub folder: String,
    /// The tool's name, as the host writes it.
    pub name: String,
    /// What the tool does.
    pub tool: Tool,
    /// The names of the tool's arguments. Their values may be secrets.
    pub arguments: Vec<String>,
}

/// What a host's tool does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Files are written, made, moved or deleted.
    Edit {
        /// Which, as the host writes them: relative paths start at the agent's folder.
        paths: Vec<String>,
    },
    /// A shell runs a text.
    Shell {
        /// The text.
        command: String,
    },
    /// A tool of an MCP server.
    Mcp {
        /// The server.
        server: String,
        /// Its tool.
        tool: String,
        /// What it does, where its name and its arguments say so: the same as a tool of the host would.
        does: Option<Box<Tool>>,
    },
    /// It only looks: files are read or searched.
    Reads,
    /// Anything else, such as a subagent or a list of tasks.
    Other,
}

impl Tool {
    /// What is done: a tool of a server that is known for what it does counts for that.
    #[must_use]
    pub fn deed(&self) -> &Tool {
        match self {
            Self::Mcp { does: Some(deed), .. } => deed,
            _ => self,
        }
    }
}
