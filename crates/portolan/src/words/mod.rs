//! What agents and people read of a situation: the words of Navigator's tools, and those of the navigation tools.
//!
//! A situation is data and knows nobody's tools. Here stand the calls, the headings and the commands that are made of it.
//! All of it is wording: what is open, and what blocks it, the situation says.

mod about;
mod instructions;
pub(crate) mod navigation;
pub(crate) mod tasks;

use portolan_runtime::carrier::Address;
use portolan_runtime::service::shell_word;
use serde::Serialize;
use serde_json::{Map, Value};

/// A call that can be sent back as it stands, but for what `fill` names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Action {
    /// The tool to call.
    pub(crate) tool: &'static str,
    /// Its arguments.
    pub(crate) arguments: Map<String, Value>,
    /// What it does, for a reader.
    pub(crate) title: String,
    /// The arguments that the caller must choose or write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) fill: Vec<&'static str>,
    /// What it takes to do this, and the agent has said not to have: somebody else should do it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) delegate: Vec<String>,
}

/// A call that would be refused now, and what lifts that.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Blocked {
    /// The call.
    #[serde(flatten)]
    pub(crate) action: Action,
    /// What must happen first.
    #[serde(rename = "liftedBy")]
    pub(crate) lifted_by: String,
}

/// Every call that bears on the position, by whether and why it may be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Actions {
    /// The calls that lead on. Where there are several for one position, the first is the one for work that is done.
    pub(crate) required: Vec<Action>,
    /// Calls that may be made instead.
    pub(crate) optional: Vec<Action>,
    /// Calls that would be refused.
    pub(crate) blocked: Vec<Blocked>,
}

impl Actions {
    fn add(&mut self, action: Action, leads_on: bool, lifted_by: Option<String>) {
        match lifted_by {
            Some(lifted_by) => self.blocked.push(Blocked { action, lifted_by }),
            None if leads_on => self.required.push(action),
            None => self.optional.push(action),
        }
    }
}

/// How a person answers the question of a run at a shell.
fn answered_by(address: &Address) -> String {
    format!("portolan runs answer {}", shell_word(&address.to_string()))
}
