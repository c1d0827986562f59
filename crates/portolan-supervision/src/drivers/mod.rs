//! Drivers work on phases: each starts an agent with a prompt, waits for its end, and reports its usage. They know
//! nothing of gates: the engine decides by the repository whether a phase is done.

mod claude;
mod codex;
mod declared;
mod gemini;
mod opencode;
pub(crate) mod process;
mod scripted;
#[cfg(all(test, unix))]
mod tests;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use portolan_gates::plugins::Plugins;
use portolan_gates::supervisor::Usage;
use portolan_runtime::error::ServiceError;
use serde_json::{Map, Value};

pub use claude::Claude;
pub use codex::Codex;
pub use declared::DeclaredDriver;
pub use gemini::Gemini;
pub use opencode::OpenCode;
pub use scripted::ScriptedDriver;

/// A session in progress. Dropping it stops the agent.
pub type SessionFuture<'a> = Pin<Box<dyn Future<Output = SessionResult> + Send + 'a>>;

/// A program that works on phases.
pub trait AgentDriver: Send + Sync {
    /// Returns the name of the driver.
    fn id(&self) -> &str;

    /// Checks whether the driver can be started.
    ///
    /// # Errors
    /// It cannot; the error says what to do about it.
    fn available(&self) -> Result<(), String>;

    /// Works on a phase, within the deadline of the assignment.
    fn run_phase<'a>(&'a self, assignment: &'a Assignment) -> SessionFuture<'a>;
}

/// A phase to work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The folder to work in.
    pub project: PathBuf,
    /// The task.
    pub task: String,
    /// The goal of the task.
    pub goal: String,
    /// The phase.
    pub phase: String,
    /// The prompt for the agent.
    pub prompt: String,
    /// How many sessions have worked on this phase before.
    pub attempt: u32,
    /// The answered questions of the task: each question and its answer.
    pub answers: Vec<(String, String)>,
    /// The time after which the agent is stopped.
    pub deadline: Duration,
}

/// The result of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionResult {
    /// The end of the agent's final message.
    pub final_message: String,
    /// The usage.
    pub usage: Usage,
    /// The session, as the agent names it.
    pub session: Option<String>,
    /// The claims of the task.
    pub claims: Map<String, Value>,
    /// A question that must be answered before the work continues.
    pub question: Option<AgentQuestion>,
    /// Why the phase goes back to an earlier one, if it does.
    pub back: Option<String>,
    /// Why the session failed, if it did.
    pub failed: Option<String>,
}

/// A question of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentQuestion {
    /// The text of the question.
    pub body: String,
    /// The accepted answers. If empty, any text is accepted.
    pub choices: Vec<String>,
    /// The answer that counts after the deadline.
    pub default: Option<String>,
}

impl SessionResult {
    pub(crate) fn failed(why: impl Into<String>) -> SessionResult {
        SessionResult { failed: Some(why.into()), ..SessionResult::default() }
    }
}

/// The registered drivers, in the order of registration.
#[derive(Clone, Default)]
pub struct Drivers {
    known: IndexMap<String, Arc<dyn AgentDriver>>,
    replaced: Vec<String>,
}

impl Drivers {
    /// Returns an empty registry.
    pub fn new() -> Drivers {
        Drivers::default()
    }

    /// Returns the built-in drivers.
    pub fn built_in() -> Drivers {
        Drivers::new().with(Claude).with(Codex).with(Gemini).with(OpenCode)
    }

    /// Adds a driver. It replaces one of the same name, in its position.
    #[must_use]
    pub fn with(mut self, driver: impl AgentDriver + 'static) -> Drivers {
        let id = driver.id().to_owned();
        if self.known.insert(id.clone(), Arc::new(driver)).is_some() {
            self.replaced.push(id);
        }
        self
    }

    /// Adds the drivers that a project declares.
    #[must_use]
    pub fn with_plugins(self, plugins: &Plugins) -> Drivers {
        plugins.drivers.iter().fold(self, |drivers, driver| drivers.with(DeclaredDriver(driver.clone())))
    }

    /// Returns the driver with this name.
    ///
    /// # Errors
    /// There is none, or it cannot be started.
    pub fn get(&self, id: &str) -> Result<Arc<dyn AgentDriver>, ServiceError> {
        let names: Vec<&str> = self.known.keys().map(String::as_str).collect();
        let Some(driver) = self.known.get(id) else {
            let near = portolan_core::diagnostic::closest(id, names.iter().copied());
            let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
            let message = format!("there is no driver `{}`", portolan_core::diagnostic::clip(id));
            let scripted = if self.known.contains_key("scripted") { "" } else { ", and `scripted` with a script" };
            let help = format!("{near}there are {}{scripted}", portolan_core::diagnostic::list(&names));
            return Err(ServiceError::refused("unknown_driver", message, help));
        };
        driver.available().map_err(|why| {
            let message = format!("the driver `{id}` cannot be started: {why}");
            ServiceError::failed("driver_missing", message, "install it, or name another with `--driver`")
        })?;
        Ok(driver.clone())
    }

    /// Returns the names of drivers that replaced another.
    pub fn replaced(&self) -> &[String] {
        &self.replaced
    }
}

/// Checks whether a program is on the `PATH`.
fn on_path(program: &str) -> Result<(), String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |folder: PathBuf| is_executable(&folder.join(program));
    match std::env::split_paths(&path).any(is_there) {
        true => Ok(()),
        false => Err(format!("no executable `{program}` was found on the `PATH`")),
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}
