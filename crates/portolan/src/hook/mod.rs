//! The hooks of coding agents: reads a host's announcement of a tool call into our own types, and writes a decision in
//! exactly the bytes that the host acts on. It makes no decisions, and reads nothing but the given bytes.
//!
//! The formats look alike and differ in details that matter: a field at the wrong depth, an additional key or an empty
//! output lets the call pass on one host or another. So each host has its own file, and golden files under
//! `crates/portolan/tests/cases/hook/` cover each host, event and decision.

mod answer;
mod claude_code;
mod codex;
mod copilot;
mod cursor;
mod fields;
mod gemini;
mod mcp_tools;
mod opencode;
mod read;
#[cfg(test)]
mod tests;
mod tools;
mod unique;

use std::fmt;
use std::time::Duration;

use portolan_gates::Intent;

pub(crate) use answer::{Answer, Reply, answer, is_denial, refuse};
pub(crate) use gemini::shown;
pub(crate) use mcp_tools::deed;
pub(crate) use read::read;
pub(crate) use tools::quoted;

/// The most bytes of an announcement. A longer one is unreadable.
pub(crate) const MAX_INPUT: usize = 4 << 20;

/// A program that runs coding agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Host {
    ClaudeCode,
    Codex,
    Cursor,
    Gemini,
    OpenCode,
    Copilot,
}

impl Host {
    pub(crate) const ALL: [Host; 6] =
        [Host::ClaudeCode, Host::Codex, Host::Cursor, Host::Gemini, Host::OpenCode, Host::Copilot];

    /// Returns the host's name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Host::ClaudeCode => "claude-code",
            Host::Codex => "codex",
            Host::Cursor => "cursor",
            Host::Gemini => "gemini",
            Host::OpenCode => "opencode",
            Host::Copilot => "copilot",
        }
    }

    /// Returns the host's name for people.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Host::ClaudeCode => "Claude Code",
            Host::Codex => "Codex",
            Host::Cursor => "Cursor",
            Host::Gemini => "Gemini CLI",
            Host::OpenCode => "OpenCode",
            Host::Copilot => "GitHub Copilot",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Host> {
        Host::ALL.into_iter().find(|host| host.name() == name)
    }

    /// Returns the events that are supported. The host has more.
    pub(crate) fn events(self) -> &'static [Event] {
        match self {
            Host::ClaudeCode => claude_code::EVENTS,
            Host::Codex => codex::EVENTS,
            Host::Cursor => cursor::EVENTS,
            Host::Gemini => gemini::EVENTS,
            Host::OpenCode => opencode::EVENTS,
            Host::Copilot => copilot::EVENTS,
        }
    }

    /// Finds an event by its name. Hosts that run each other's hooks change the case of its first letter.
    pub(crate) fn event(self, name: &str) -> Option<&'static Event> {
        self.events().iter().find(|event| event.name.eq_ignore_ascii_case(name))
    }

    /// Returns the stage of an event, or `Other` if it is not supported.
    pub(crate) fn stage(self, event: &str) -> Stage {
        self.event(event).map_or(Stage::Other, |event| event.stage)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

/// An event of a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// Its name, as the host writes it.
    pub(crate) name: &'static str,
    pub(crate) stage: Stage,
    /// Whether `portolan install` registers it. If two events announce the same call, only one is registered.
    pub(crate) installed: bool,
}

impl Event {
    const fn installed(name: &'static str, stage: Stage) -> Event {
        Event { name, stage, installed: true }
    }

    const fn understood(name: &'static str, stage: Stage) -> Event {
        Event { name, stage, installed: false }
    }
}

/// The meaning of an event, independent of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A tool is about to be used.
    BeforeTool,
    /// A tool was used.
    AfterTool,
    /// A session begins or continues.
    SessionStart,
    /// The agent wants to stop.
    Stop,
    /// A subagent wants to stop.
    SubagentStop,
    /// The host chooses the tools that the model sees next.
    BeforeToolSelection,
    /// A person has submitted a prompt.
    PromptSubmitted,
    /// A task of the host's own list is about to be marked as done.
    TaskCompleted,
    /// Any other event, which passes silently.
    Other,
}

impl Stage {
    /// Returns whether an unreadable announcement is refused. Refusing an unreadable stop would keep the agent running
    /// for ever.
    pub(crate) fn is_gating(self) -> bool {
        matches!(self, Stage::BeforeTool | Stage::TaskCompleted)
    }

    /// Returns how long the host waits before it continues without the hook. A gate may run a type check.
    pub(crate) fn host_timeout(self) -> Duration {
        match self {
            Stage::BeforeTool | Stage::TaskCompleted => Duration::from_secs(60),
            Stage::Stop | Stage::SubagentStop => Duration::from_secs(30),
            Stage::AfterTool
            | Stage::SessionStart
            | Stage::BeforeToolSelection
            | Stage::PromptSubmitted
            | Stage::Other => Duration::from_secs(10),
        }
    }

    /// Returns the deadline of the answer. On most hosts a hook that is killed has allowed the call.
    pub(crate) fn deadline(self) -> Duration {
        self.host_timeout().saturating_sub(Duration::from_secs(2))
    }
}

/// An announcement of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) stage: Stage,
    /// The event, as the host writes it.
    pub(crate) event: String,
    /// The host's session.
    pub(crate) session: Option<String>,
    /// The folder that the agent works in.
    pub(crate) folder: Option<String>,
    /// The tool call. It is present before and after a tool.
    pub(crate) intent: Option<Intent>,
    /// The tool's input as text, which is equal for equal calls.
    pub(crate) input: String,
    /// Present at the end of a turn.
    pub(crate) stop: Option<StopFacts>,
    /// The task that is to be marked as done.
    pub(crate) task: Option<String>,
    /// Why the session begins: `startup`, `resume`, `clear` …
    pub(crate) source: Option<String>,
}

/// The facts about an agent that wants to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StopFacts {
    /// Whether a stop hook has already sent the agent back. Repeating that would keep it running for ever.
    pub(crate) again: bool,
}

/// Why an announcement is unreadable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    /// The stage of the announced event.
    pub(crate) stage: Stage,
    /// One sentence.
    pub(crate) message: String,
}
