//! Drivers work on phases: each starts an agent, gives it a prompt, waits for its end, and tells what it used up. They
//! know nothing of gates: whether a phase is done, the engine decides by the repository.

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
use serde_json::{Map, Value};

use crate::error::ServiceError;

pub use claude::Claude;
pub use codex::Codex;
pub use declared::Declared;
pub use gemini::Gemini;
pub use opencode::OpenCode;
pub use scripted::Scripted;

/// What a driver comes to, later. Dropping it stops what it started.
pub type Working<'a> = Pin<Box<dyn Future<Output = SessionResult> + Send + 'a>>;

/// A program that works on phases.
pub trait AgentDriver: Send + Sync {
    /// Its name.
    fn id(&self) -> &str;

    /// Whether it can be started; otherwise what to do about it.
    ///
    /// # Errors
    /// It cannot.
    fn available(&self) -> Result<(), String>;

    /// Works on a phase, within the deadline of the assignment.
    fn run_phase<'a>(&'a self, assignment: &'a Assignment) -> Working<'a>;
}

/// A phase that is to be worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The folder to work in.
    pub project: PathBuf,
    /// The task.
    pub task: String,
    /// What is to be achieved.
    pub goal: String,
    /// The phase.
    pub phase: String,
    /// What the agent is told.
    pub prompt: String,
    /// How many sessions have worked on this phase before.
    pub attempt: u32,
    /// The questions of the task that were answered: what was asked, and what was said.
    pub answers: Vec<(String, String)>,
    /// After that it is stopped.
    pub deadline: Duration,
}

/// What a session came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionResult {
    /// What the agent said at its end, in short.
    pub said: String,
    /// What it used up.
    pub usage: Usage,
    /// The session, by the name that the agent has for it.
    pub session: Option<String>,
    /// What the task claims.
    pub claims: Map<String, Value>,
    /// It cannot go on before this is answered.
    pub question: Option<AgentQuestion>,
    /// Why the phase goes back to the work, where it does.
    pub back: Option<String>,
    /// Why the session came to nothing, where it did.
    pub failed: Option<String>,
}

/// A question of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentQuestion {
    /// What is asked.
    pub body: String,
    /// What may be answered; none means any text.
    pub choices: Vec<String>,
    /// What counts as answered after the deadline.
    pub default: Option<String>,
}

impl SessionResult {
    pub(crate) fn failed(why: impl Into<String>) -> SessionResult {
        SessionResult { failed: Some(why.into()), ..SessionResult::default() }
    }
}

/// The drivers that there are, in the order in which they were registered.
#[derive(Clone, Default)]
pub struct Drivers {
    known: IndexMap<String, Arc<dyn AgentDriver>>,
    replaced: Vec<String>,
}

impl Drivers {
    /// None.
    pub fn new() -> Drivers {
        Drivers::default()
    }

    /// Those that Portolan knows.
    pub fn built_in() -> Drivers {
        Drivers::new().with(Claude).with(Codex).with(Gemini).with(OpenCode)
    }

    /// The same with another one. One of the same name is replaced, in its place.
    #[must_use]
    pub fn with(mut self, driver: impl AgentDriver + 'static) -> Drivers {
        let id = driver.id().to_owned();
        if self.known.insert(id.clone(), Arc::new(driver)).is_some() {
            self.replaced.push(id);
        }
        self
    }

    /// The same with those that a project adds.
    #[must_use]
    pub fn with_plugins(self, plugins: &Plugins) -> Drivers {
        plugins.drivers.iter().fold(self, |drivers, driver| drivers.with(Declared(driver.clone())))
    }

    /// The driver of a name.
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

    /// The names of those that took the place of another.
    pub fn replaced(&self) -> &[String] {
        &self.replaced
    }
}

/// Whether a program is on the `PATH`.
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
