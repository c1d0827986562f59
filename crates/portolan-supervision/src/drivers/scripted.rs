//! A driver that follows a file, for demonstrations and tests: the actions of "the agent" in each phase.
//!
//! ```yaml
//! phases:
//!   branch:
//!     - run: [git, switch, -c, feat/login]
//!     - patch: { issueNumber: 1, branch: feat/login }
//!   implement:
//!     - ask: { body: "Which library?", choices: [one, other] }
//!     - write: { path: src/login.txt, text: "done\n" }
//!       attempt: 2
//!     - usage: { turns: 3, costUsd: 0.1 }
//!   test:
//!     - back: the tests fail
//!       attempt: 1
//! ```

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::sync::{Mutex, PoisonError};

use portolan_core::diagnostic::clip;
use portolan_core::source::{Source, parse};
use portolan_gates::supervisor::Usage;
use portolan_runtime::error::{ErrorKind, ServiceError};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::process::{Program, run};
use super::{AgentDriver, AgentQuestion, Assignment, SessionFuture, SessionResult};

/// The maximum length of a script, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// A driver that follows a script.
#[derive(Debug)]
pub struct ScriptedDriver {
    phases: BTreeMap<String, Vec<Step>>,
    /// The number of sessions at each phase of each task.
    sessions: Mutex<BTreeMap<(String, String), u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    phases: BTreeMap<String, Vec<Step>>,
}

/// A step of a session. With `attempt`, it is done only in that session at the phase, counted from 1 since the
/// autopilot began. Returning to a phase does not reset the count.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    attempt: Option<u32>,
    run: Option<Vec<String>>,
    write: Option<FileWrite>,
    patch: Option<Map<String, Value>>,
    ask: Option<ScriptedQuestion>,
    back: Option<String>,
    usage: Option<Value>,
    fail: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileWrite {
    path: String,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedQuestion {
    body: String,
    #[serde(default)]
    choices: Vec<String>,
    default: Option<String>,
}

impl ScriptedDriver {
    /// Reads a script.
    ///
    /// # Errors
    /// The script is too long or malformed.
    pub fn read(name: &str, text: &str) -> Result<ScriptedDriver, ServiceError> {
        let invalid = |why: String| {
            let message = format!("the script `{}` cannot be read: {why}", clip(name));
            let help = "write `phases:`, and under each phase a list of `run`, `write`, `patch`, `ask`, `back`, `usage` or `fail`";
            ServiceError::of(ErrorKind::InvalidDefinition, "script_invalid", message, help)
        };
        if text.len() > MAX_BYTES {
            return Err(invalid(format!("it has more than {MAX_BYTES} bytes")));
        }
        let (tree, faults) = parse(&Source::new(name, text));
        if let Some(fault) = faults.iter().find(|fault| fault.is_error()) {
            return Err(invalid(fault.message.clone()));
        }
        let value = tree.map_or(Value::Null, |tree| tree.value());
        let script: Script = serde_json::from_value(value).map_err(|error| invalid(clip(&error.to_string())))?;
        Ok(ScriptedDriver { phases: script.phases, sessions: Mutex::default() })
    }
}

impl ScriptedDriver {
    /// Counts a new session at a phase of a task, and returns its number, from 1.
    fn begun(&self, assignment: &Assignment) -> u32 {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let count = sessions.entry((assignment.task.clone(), assignment.phase.clone())).or_default();
        *count = count.saturating_add(1);
        *count
    }
}

impl AgentDriver for ScriptedDriver {
    fn id(&self) -> &str {
        "scripted"
    }

    fn available(&self) -> Result<(), String> {
        Ok(())
    }

    fn run_phase<'a>(&'a self, assignment: &'a Assignment) -> SessionFuture<'a> {
        Box::pin(async move {
            let mut worked = SessionResult::default();
            let steps = self.phases.get(&assignment.phase).map(Vec::as_slice).unwrap_or_default();
            let session = self.begun(assignment);
            let is_due = |step: &&Step| step.attempt.is_none_or(|attempt| attempt == session);
            for step in steps.iter().filter(is_due) {
                perform(step, assignment, &mut worked).await;
                if worked.failed.is_some() || worked.question.is_some() {
                    break;
                }
            }
            worked
        })
    }
}

async fn perform(step: &Step, assignment: &Assignment, worked: &mut SessionResult) {
    if let Some(why) = &step.fail {
        worked.failed = Some(why.clone());
    }
    if let Some(asking) = step.ask.as_ref().filter(|ask| !assignment.answers.iter().any(|(body, _)| *body == ask.body))
    {
        let ScriptedQuestion { body, choices, default } = asking.clone();
        worked.question = Some(AgentQuestion { body, choices, default });
        return;
    }
    if let Some(argv) = &step.run {
        let (folder, deadline) = (&assignment.project, assignment.deadline);
        let secrets = false;
        match run(Program { argv, folder, input: "", deadline, secrets }).await {
            Ok(printed) => worked.failed = printed.failure(argv.first().map_or("", String::as_str)),
            Err(failed) => worked.failed = failed.failed,
        }
    }
    if let Some(writing) = &step.write {
        worked.failed = write(&assignment.project, writing).err().or(worked.failed.take());
    }
    worked.claims.extend(step.patch.clone().unwrap_or_default());
    worked.back = step.back.clone().or(worked.back.take());
    if let Some(usage) = &step.usage {
        worked.usage = Usage::from_json(usage);
    }
}

/// Writes a file. Refuses paths outside of the project.
fn write(project: &Path, writing: &FileWrite) -> Result<(), String> {
    let path = Path::new(&writing.path);
    if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(format!("`{}` is outside the project", clip(&writing.path)));
    }
    let path = project.join(path);
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder
        .and_then(|()| std::fs::write(&path, &writing.text))
        .map_err(|error| format!("a file cannot be written: {error}"))
}
