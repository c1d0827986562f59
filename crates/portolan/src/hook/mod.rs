//! The hooks of the coding agents: what a host says of a tool call is read into words of our own, and what is decided is
//! written in the very bytes that the host acts upon. Nothing is decided here, and nothing is read but the bytes given.
//!
//! The formats look alike and differ in what matters: a field at the wrong depth, a key too many or an empty output
//! lets the call through on one host or another. So each host has a file of its own, and golden files under
//! `crates/portolan/tests/cases/hook/` hold host, event and decision together.

mod answer;
mod claude_code;
mod codex;
mod copilot;
mod cursor;
mod fields;
mod gemini;
mod opencode;
mod read;
mod served;
#[cfg(test)]
mod tests;
mod tools;
mod unique;

use std::fmt;
use std::time::Duration;

use portolan_gates::Intent;

pub(crate) use answer::{Answer, Reply, answer, is_denial, refuse};
pub(crate) use gemini::shown;
pub(crate) use read::read;
pub(crate) use tools::quoted;

/// The most bytes that are read of one announcement; a longer one is unreadable.
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

    /// The name by which it is called on the command line.
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

    /// Its name as people write it.
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

    /// The events that are understood; the host has more.
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

    /// An event by its name. Hosts that run each other's hooks write it with another first letter.
    pub(crate) fn event(self, name: &str) -> Option<&'static Event> {
        self.events().iter().find(|event| event.name.eq_ignore_ascii_case(name))
    }

    /// What an event means; one that is not understood means nothing.
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
    /// Whether `portolan install` asks for it. Where two events announce the same call, one is enough.
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

/// What an event means, whichever host has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A tool is about to be used.
    BeforeTool,
    /// It was used.
    AfterTool,
    /// A session begins, or goes on.
    SessionStart,
    /// The agent wants to stop.
    Stop,
    /// A subagent wants to stop.
    SubagentStop,
    /// The tools are chosen that the model sees next.
    BeforeToolSelection,
    /// A person said something.
    PromptSubmitted,
    /// A task of the host's own list is about to be marked as done.
    TaskCompleted,
    /// Anything else: it is let pass without a word.
    Other,
}

impl Stage {
    /// Whether what cannot be read is refused. To refuse a stop that cannot be read would hold the agent for ever.
    pub(crate) fn is_gating(self) -> bool {
        matches!(self, Stage::BeforeTool | Stage::TaskCompleted)
    }

    /// How long the host waits before it goes on as if there were no hook. Before a tool there may be a type check.
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

    /// By when the hook must have answered: on most hosts one that is killed has allowed the call.
    pub(crate) fn deadline(self) -> Duration {
        self.host_timeout().saturating_sub(Duration::from_secs(2))
    }
}

/// What a host announces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) stage: Stage,
    /// The event, as the host writes it.
    pub(crate) event: String,
    /// The host's session.
    pub(crate) session: Option<String>,
    /// The folder that the agent works in.
    pub(crate) folder: Option<String>,
    /// The tool call: always there before and after a tool.
    pub(crate) intent: Option<Intent>,
    /// What the tool is given, as text: the same for the same call.
    pub(crate) input: String,
    /// At the end of a turn.
    pub(crate) stop: Option<StopFacts>,
    /// The task that is to be marked as done.
    pub(crate) task: Option<String>,
    /// Why the session begins: `startup`, `resume`, `clear` …
    pub(crate) source: Option<String>,
}

/// What is known when an agent wants to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StopFacts {
    /// A stop hook has sent it back already: to do so again and again would hold it for ever.
    pub(crate) again: bool,
}

/// Why an announcement was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    /// What it was announced as.
    pub(crate) stage: Stage,
    /// One sentence.
    pub(crate) message: String,
}
