//! What a project adds to the gates without a program of its own: `.portolan/plugins.yaml`. Guards over tool calls,
//! notifiers, drivers of agents, and budgets; all of it data. Nothing here runs anything.

mod guard;
mod read;
#[cfg(test)]
mod tests;

pub use guard::{DeclaredGuard, Guard, GuardInput};

use super::supervisor::Budget;

/// What a project adds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plugins {
    /// How much may be used up.
    pub budgets: Vec<Budget>,
    /// Guards of tool calls, in order.
    pub guards: Vec<DeclaredGuard>,
    /// Who is told of events, in order.
    pub notifiers: Vec<Notifier>,
    /// Programs that work on phases, in order.
    pub drivers: Vec<Driver>,
    /// Guards of Portolan's own, which keep invariants, that the project replaces by its own of the same name.
    pub allow_override: Vec<String>,
}

/// Who is told of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notifier {
    /// Its name.
    pub id: String,
    /// By what way.
    pub way: Way,
}

/// How somebody is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// A program is started; the event is given to it as JSON on its standard input.
    Command {
        /// The program and its arguments. An argument that is `{type}` or `{body}` as a whole stands for that.
        argv: Vec<String>,
    },
    /// The event is sent to an address as JSON.
    Webhook {
        /// The address: `https`, or `http` on this machine.
        url: String,
        /// Addresses of private networks will do.
        allow_private: bool,
    },
    /// A line of JSON is appended to a file.
    File {
        /// The file, relative to the project and inside of it.
        path: String,
    },
    /// A comment on the task's issue or pull request is written with `gh`.
    GitHub {
        /// The issue; nothing means that of the task.
        issue: Option<u64>,
    },
}

/// A program that works on phases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver {
    /// Its name.
    pub id: String,
    /// The program and its arguments. An argument that is `{prompt}`, `{task}` or `{phase}` as a whole stands for that;
    /// where none is `{prompt}`, the prompt is given on standard input.
    pub argv: Vec<String>,
}

impl Plugins {
    /// Every command and address that somebody has to trust, by the kind and the name of what has it.
    pub fn commands(&self) -> Vec<(&'static str, &str, Vec<String>)> {
        let notifiers = self.notifiers.iter().filter_map(|notifier| {
            let argv = match &notifier.way {
                Way::Command { argv } => argv.clone(),
                Way::Webhook { url, allow_private: false } => vec![url.clone()],
                Way::Webhook { url, allow_private: true } => vec![url.clone(), "allowPrivate".to_owned()],
                Way::GitHub { issue } => {
                    let issue = issue.map_or_else(|| "{issue of the task}".to_owned(), |issue| issue.to_string());
                    ["gh", "issue", "comment", &issue].map(str::to_owned).to_vec()
                }
                Way::File { .. } => return None,
            };
            Some(("notifier", notifier.id.as_str(), argv))
        });
        let drivers = self.drivers.iter().map(|driver| ("driver", driver.id.as_str(), driver.argv.clone()));
        notifiers.chain(drivers).collect()
    }
}
