//! Additions of a project to the gates without a program of its own, as data in `.portolan/plugins.yaml`: guards for
//! tool calls, notifiers, drivers of agents, and budgets. Definitions carry guards in the same form. Nothing here runs
//! anything.

mod carried;
mod guard;
mod origin;
mod read;
mod read_rules;
mod records;
mod results;
#[cfg(test)]
mod tests;
mod total;

pub use carried::{DefinitionRules, RuleSet, faults_of};
pub use guard::{CallsOfDay, DeclaredGuard, EarlierCall, Guard, GuardInput, tool_names};
pub use origin::GuardOrigin;
pub use read::is_loopback_name;
pub use records::RecordRule;
pub use results::ResultFilter;
pub use total::{Summand, Total, TotalPer, result_amount};

use super::supervisor::Budget;

/// The additions of a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plugins {
    /// The limits on usage.
    pub budgets: Vec<Budget>,
    /// Guards of tool calls, in order.
    pub guards: Vec<DeclaredGuard>,
    /// The receivers of events, in order.
    pub notifiers: Vec<Notifier>,
    /// Programs that work on phases, in order.
    pub drivers: Vec<Driver>,
    /// Filters of what tools of other servers return, in order.
    pub results: Vec<ResultFilter>,
    /// Rules that say which calls of tools of other servers are kept whole. The first one about a tool counts.
    pub records: Vec<RecordRule>,
    /// The built-in guards, which enforce invariants, that the project replaces by its own of the same name.
    pub allow_override: Vec<String>,
}

/// A receiver of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notifier {
    /// Its name.
    pub id: String,
    /// The way of delivery.
    pub way: Way,
}

/// The way in which events are delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Starts a program, with the event as JSON on its standard input.
    Command {
        /// The program and its arguments. An argument that is exactly `{type}` or `{body}` is replaced by that value.
        argv: Vec<String>,
    },
    /// Sends the event as JSON to an address.
    Webhook {
        /// The address: `https`, or `http` on this machine.
        url: String,
        /// Whether addresses of private networks are allowed.
        allow_private: bool,
    },
    /// Appends a line of JSON to a file.
    File {
        /// The file, relative to the project and inside it.
        path: String,
    },
    /// Writes a comment on the task's issue or pull request with `gh`.
    GitHub {
        /// The issue; `None` means that of the task.
        issue: Option<u64>,
    },
}

/// A program that works on phases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver {
    /// Its name.
    pub id: String,
    /// The program and its arguments. An argument that is exactly `{prompt}`, `{task}` or `{phase}` is replaced by that
    /// value. Without `{prompt}`, the prompt is passed on standard input.
    pub argv: Vec<String>,
}

impl Plugins {
    /// Returns every command and address that needs trust, with the kind and the name of the addition that has it.
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
