//! What guards must know of the run that a coding agent works at: its task, what was got past in it, and which tools its
//! step allows.

use std::collections::BTreeSet;
use std::path::Path;

use portolan_core::engine;
use portolan_core::gates::bypass::{Source, Uses};
use portolan_core::gates::guards::FlowScene;
use portolan_core::gates::{Bypass, Intent, Judgement, Tool};
use portolan_core::run;
use portolan_core::shell;

use super::super::hold::Held;
use super::super::view::asks_a_person;
use super::{Active, Flow, phase};
use crate::error::ServiceError;
use crate::gates::own_server;
use crate::store::RunId;

/// A run, as far as guards look at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gate {
    /// The run that the agent works at; nothing where there is none.
    pub run: Option<RunId>,
    /// The project's task.
    pub flow: Option<FlowScene>,
    /// What was got past in the task, as far as it still counts.
    pub bypasses: Vec<Bypass>,
    /// The runs whose questions only a person may answer.
    pub people: BTreeSet<String>,
    /// What the step says of the call, where it says anything.
    pub permitted: Option<Judgement>,
    /// The tools that the step allows, as it writes them; nothing where it allows all that it does not deny.
    pub allowed: Option<Vec<String>>,
}

impl Flow<'_> {
    /// What there is to know before a tool is used. `attached` is the run that the agent's session works at; otherwise it
    /// is the project's task.
    ///
    /// # Errors
    /// What is noted of the task cannot be read, or a run is none that is kept. Who only looks is let through all the same,
    /// or nobody could find out what is wrong.
    pub async fn gate(&self, attached: Option<&RunId>, intent: Option<&Intent>) -> Result<Gate, ServiceError> {
        match self.known(attached, intent).await {
            Err(_) if intent.is_some_and(only_looks) => Ok(Gate::default()),
            known => known,
        }
    }

    async fn known(&self, attached: Option<&RunId>, intent: Option<&Intent>) -> Result<Gate, ServiceError> {
        let mut gate = Gate::default();
        let is_own = |server: &str| intent.is_some_and(|intent| own_server::is_ours(Path::new(&intent.folder), server));
        if let Some((active, held)) = self.seen().await? {
            gate.task(&active, &held);
            if attached.is_none_or(|attached| *attached == active.run) {
                gate.step(&active.run, &held, intent, &is_own);
                return Ok(gate);
            }
        }
        if let Some(run) = attached {
            let held = self.held(run).await?;
            gate.step(run, &held, intent, &is_own);
        }
        Ok(gate)
    }
}

impl Gate {
    fn task(&mut self, active: &Active, held: &Held) {
        let run = &held.run;
        let variable = |name: &str| run.root.data.iter().find_map(|data| data.variables.get(name));
        self.flow = Some(FlowScene {
            task: active.task.clone(),
            phase: phase(run),
            issue: variable("issueNumber").and_then(serde_json::Value::as_u64),
            issue_key: variable("issueKey").and_then(serde_json::Value::as_str).map(str::to_owned),
            branch: variable("branch").and_then(serde_json::Value::as_str).map(str::to_owned),
        });
        let open = run.bypasses().iter().filter(|bypass| !(bypass.once && bypass.used));
        self.bypasses = open.map(|bypass| recorded(bypass, &active.task)).collect();
        self.people.extend(asks_a_person(run).then(|| active.run.to_string()));
    }

    fn step(&mut self, id: &RunId, held: &Held, intent: Option<&Intent>, is_own: &dyn Fn(&str) -> bool) {
        let (workflow, run) = (&held.definition.workflow, &held.run);
        self.run = Some(id.clone());
        self.permitted = intent.and_then(|intent| engine::permit(workflow, run, intent, is_own));
        self.people.extend(asks_a_person(run).then(|| id.to_string()));
        let mut allowed = Vec::new();
        for (_, frame) in run.positions() {
            let rules = workflow.flow(&frame.flow).step(frame.place.node()).node.tools.as_ref();
            match rules.and_then(|rules| rules.allow.as_ref()) {
                Some(names) => allowed.extend(names.iter().cloned()),
                None => return,
            }
        }
        self.allowed = Some(allowed);
    }
}

/// Programs that only look, given whatever arguments.
const LOOKS: [&str; 7] = ["cat", "head", "ls", "pwd", "stat", "tail", "wc"];
/// What else of git and of this program only looks.
const LOOKS_OF: [(&str, &[&str]); 9] = [
    ("git", &["status"]),
    ("git", &["log"]),
    ("git", &["diff"]),
    ("git", &["show"]),
    ("portolan", &["doctor"]),
    ("portolan", &["flow", "status"]),
    ("portolan", &["flow", "events"]),
    ("portolan", &["runs", "list"]),
    ("portolan", &["--help"]),
];

/// Whether a call changes nothing, by what it says: every command of it is known to look.
fn only_looks(intent: &Intent) -> bool {
    match intent.tool.deed() {
        Tool::Reads => true,
        Tool::Shell { command } => {
            let reading = shell::read(command);
            reading.doubts.is_empty() && !reading.commands.is_empty() && reading.commands.iter().all(looks)
        }
        Tool::Edit { .. } | Tool::Mcp { .. } | Tool::Other => false,
    }
}

fn looks(command: &shell::Command) -> bool {
    let words: Option<Vec<&str>> = command.words.iter().map(shell::Word::known).collect();
    let Some([program, arguments @ ..]) = words.as_deref() else { return false };
    let known =
        LOOKS.contains(program) || LOOKS_OF.iter().any(|(name, first)| name == program && arguments.starts_with(first));
    let set = command.assignments.is_empty() && command.carried.is_empty();
    let writes = !command.writes.is_empty() || arguments.iter().any(|argument| argument.starts_with("--output"));
    known && set && !writes
}

/// A bypass of a run, in the words that guards have for it.
fn recorded(bypass: &run::Bypass, task: &str) -> Bypass {
    Bypass {
        id: bypass.id.clone(),
        source: match bypass.source.as_str() {
            "env" => Source::Env,
            "config" => Source::Config,
            "flag" => Source::Flag,
            "code" => Source::Code,
            _ => Source::Command,
        },
        identifier: bypass.identifier.clone(),
        invariant: bypass.invariant.clone(),
        phase: Some(bypass.node.to_string()),
        task: Some(task.to_owned()),
        reason: bypass.reason.clone(),
        at: bypass.at,
        by: "flow".to_owned(),
        expires_at: bypass.expires_at,
        uses: if bypass.once { Uses::Once } else { Uses::Task },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_look(tool: Tool) -> bool {
        let (folder, name) = ("/repo".to_owned(), "Tool".to_owned());
        only_looks(&Intent { session: None, call: None, agent: None, folder, name, tool, arguments: Vec::new() })
    }

    #[test]
    fn what_only_looks_is_told_by_its_text() {
        assert!(is_look(Tool::Reads));
        assert!(!is_look(Tool::Edit { paths: vec!["a".to_owned()] }));
        for (command, expected) in [
            ("portolan doctor", true),
            ("portolan flow status --json", true),
            ("portolan flow events --type flow.bypass | head -3", true),
            ("cd src && git status && cat a.txt", true),
            ("git log --oneline -3; ls -la", true),
            ("portolan flow abort --reason x", false),
            ("portolan doctor; rm a.txt", false),
            ("cat a.txt > b.txt", false),
            ("git diff --output=.git/hooks/pre-commit", false),
            ("GIT_TRACE=/tmp/x git status", false),
            ("PATH=x:$PATH; git status", false),
            ("./portolan doctor", false),
            ("git -c core.pager=./x log", false),
            ("cat $(./x)", false),
            ("git commit -m x", false),
            ("", false),
        ] {
            assert_eq!(is_look(Tool::Shell { command: command.to_owned() }), expected, "{command}");
        }
    }
}
