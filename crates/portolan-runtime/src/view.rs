//! The response to a call about a run: the situation, and the fields for Navigator's clients.

pub use portolan_core::present::CheckResult;
use portolan_core::present::Situation;
use portolan_core::run::Verdict;
use portolan_core::value::{CheckId, NodeId, Outcome};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::address::Address;

/// The state of a run, for a caller.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The address of the run in calls.
    pub address: Address,
    /// The state that a navigating agent holds; for other callers, their address of the run.
    pub state: String,
    /// Whether the state is a token. The run is either only in the token, or in the store too.
    pub is_token: bool,
    /// The workflow's name in calls.
    pub workflow: String,
    /// The id of the task, by which others name it as their parent. `None` for a run in the store.
    pub task: Option<String>,
    /// The situation.
    pub situation: Situation,
    /// The step, as Navigator's clients know it.
    pub current_step: String,
    /// Navigator's class of the step. `None` while there is work to do.
    pub terminal: Option<&'static str>,
    /// Navigator's metadata.
    pub metadata: Map<String, Value>,
    /// Whether the run waits for an answer that no agent may give.
    pub asks_person: bool,
    /// The result of the call's claim, if it was checked.
    pub claim: Option<Claim>,
    /// Notes for the caller.
    pub notes: Vec<String>,
}

/// A claim that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The step.
    pub step: String,
    /// The reported outcome.
    pub reported: String,
    /// Whether every check passed.
    pub held: bool,
    /// The checks.
    pub checks: Vec<CheckResult>,
}

impl Claim {
    pub(crate) fn of(step: &NodeId, reported: &Outcome, settled: &[(CheckId, Verdict)]) -> Claim {
        let checks: Vec<CheckResult> = settled.iter().map(|(check, verdict)| CheckResult::of(check, verdict)).collect();
        let held = checks.iter().all(|check| check.held);
        Claim { step: step.to_string(), reported: reported.to_string(), held, checks }
    }
}

impl Claim {
    /// Returns why the claim was not accepted. `None` if it was.
    pub fn refused(&self) -> Option<String> {
        let named = |by_person: bool| {
            let open = self.checks.iter().filter(|check| !check.held && check.asked == by_person);
            open.map(|check| format!("`{}`", check.id)).collect::<Vec<_>>().join(" and ")
        };
        let (step, reported, failed, undecided) = (&self.step, &self.reported, named(false), named(true));
        match (failed.is_empty(), undecided.is_empty()) {
            (true, true) => None,
            (true, false) => {
                Some(format!("`{step}` was reported {reported}; a person decides whether {undecided} holds."))
            }
            (false, _) => Some(format!(
                "Refused: `{step}` was reported {reported}, but {failed} did not hold, so it counts as failed."
            )),
        }
    }
}
