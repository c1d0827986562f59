//! The texts of a situation for agents and people, for Navigator's tools and for the navigation tools.
//!
//! A situation is data, independent of any tools. This module turns it into calls, headings and commands. It only
//! words: the situation decides which actions are open, and what blocks the others.

mod about;
mod instructions;
pub(crate) mod navigation;
pub(crate) mod tasks;

use std::path::Path;

use portolan_core::run::WaitReason;
use portolan_runtime::carrier::Address;
use portolan_runtime::service::{BypassRequest, View, shell_word};
use serde::Serialize;
use serde_json::{Map, Value};

/// A call that can be sent as it is, apart from the arguments in `fill`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Action {
    /// The tool to call.
    pub(crate) tool: &'static str,
    /// Its arguments.
    pub(crate) arguments: Map<String, Value>,
    /// The effect of the call, for a reader.
    pub(crate) title: String,
    /// The arguments that the caller must choose or write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) fill: Vec<&'static str>,
    /// Required capabilities that the agent has declared not to have. It should delegate the work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) delegate: Vec<String>,
}

/// A call that would be refused now, and what unblocks it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct BlockedCall {
    /// The call.
    #[serde(flatten)]
    pub(crate) action: Action,
    /// What must happen first.
    #[serde(rename = "liftedBy")]
    pub(crate) lifted_by: String,
}

/// All calls of a position, by whether they may be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Actions {
    /// The calls that lead on. If a position has several, the first is the one for completed work.
    pub(crate) required: Vec<Action>,
    /// Calls that may be made instead.
    pub(crate) optional: Vec<Action>,
    /// Calls that would be refused.
    pub(crate) blocked: Vec<BlockedCall>,
}

impl Actions {
    fn add(&mut self, action: Action, leads_on: bool, lifted_by: Option<String>) {
        match lifted_by {
            Some(lifted_by) => self.blocked.push(BlockedCall { action, lifted_by }),
            None if leads_on => self.required.push(action),
            None => self.optional.push(action),
        }
    }
}

/// Returns the command with which a person answers the question of a position.
pub(crate) fn answer_command(view: &View) -> String {
    let command = answered_by(&view.address);
    match &view.situation.position.branch {
        Some(branch) => format!("{command} --branch {}", shell_word(branch)),
        None => command,
    }
}

/// Returns the command with which a person answers the question of a position, from any folder.
pub(crate) fn answer_command_anywhere(project: &Path, view: &View) -> String {
    format!("{} --project {}", answer_command(view), shell_word(&project.to_string_lossy()))
}

/// Returns the options of `portolan runs resume` with which a waiting state continues.
pub(crate) fn resume_options(why: &WaitReason) -> &'static [&'static str] {
    match why {
        WaitReason::Answer { .. } => &["answer ANSWER", "give-up"],
        WaitReason::Break { .. } => &["go-on", "answer ANSWER", "give-up"],
        WaitReason::Limit { .. } | WaitReason::Unanswered { .. } => &["go-on", "give-up"],
        WaitReason::Exhausted => &["accept", "go-on", "answer ADVICE", "give-up"],
    }
}

/// Returns how a person continues a run whose state waits.
pub(crate) fn resumed_by(run: &str, branch: Option<&str>, why: &WaitReason) -> String {
    let branch = branch.map(|branch| format!(" --branch {}", shell_word(branch))).unwrap_or_default();
    let command = format!("portolan runs resume {}{branch}", shell_word(run));
    match why {
        WaitReason::Unanswered { why } if why.code == "no-model" => {
            format!("`{command} --go-on --model PROVIDER:MODEL` continues it")
        }
        why => {
            let options: Vec<String> = resume_options(why).iter().map(|option| format!("`--{option}`")).collect();
            format!("`{command}` with one of {} continues it", options.join(", "))
        }
    }
}

/// Returns the command with which a person bypasses a rule as an agent asked, from any folder. The reason is the person's:
/// control characters in the agent's would act as key presses where the command is pasted.
pub(crate) fn bypass_command_anywhere(project: &Path, request: &BypassRequest) -> String {
    let (rule, project) = (shell_word(&request.invariant), shell_word(&project.to_string_lossy()));
    format!("portolan flow override {rule} --reason REASON --project {project}")
}

/// Returns the command with which a person raises a budget, from any folder. The amount and the reason are theirs.
pub(crate) fn raise_command_anywhere(project: &Path, scope: &str, unit: &str) -> String {
    let project = shell_word(&project.to_string_lossy());
    format!("portolan supervisor budget raise {scope} {unit} --to AMOUNT --reason REASON --project {project}")
}

/// Returns the command with which a person decides about a call that waits, from any folder.
pub(crate) fn call_command_anywhere(project: &Path, decision: &str, token: &str) -> String {
    format!("portolan gate {decision} {} --project {}", shell_word(token), shell_word(&project.to_string_lossy()))
}

/// Returns the command with which a person answers the question of a run.
fn answered_by(address: &Address) -> String {
    format!("portolan runs answer {}", shell_word(&address.to_string()))
}
