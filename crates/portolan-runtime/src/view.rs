//! What a call about a run is answered with: the situation, and beside it the fields that Navigator's clients know.

pub use portolan_core::present::Checked;
use portolan_core::present::Situation;
use portolan_core::run::Verdict;
use portolan_core::value::{CheckId, NodeId, Outcome};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::address::Address;

/// Where a run is, for whoever asked.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// How calls name the run.
    pub address: Address,
    /// What an agent holds of it that is led through it; for others, what the address is.
    pub state: String,
    /// Whether that is a token: all that there is of the run, or of a run that is in the store too.
    pub is_token: bool,
    /// What calls call its workflow.
    pub workflow: String,
    /// The identifier of the task, by which others name it as their parent; nothing for a run in the store.
    pub task: Option<String>,
    /// The situation.
    pub situation: Situation,
    /// The step, as Navigator's clients know it.
    pub current_step: String,
    /// Navigator's class of the step: nothing while work is to be done.
    pub terminal: Option<&'static str>,
    /// Navigator's metadata.
    pub metadata: Map<String, Value>,
    /// Whether the run waits for an answer that is no agent's to give.
    pub asks_person: bool,
    /// What became of the claim that the call made, when it was checked.
    pub claim: Option<Claim>,
    /// What the caller should know besides.
    pub notes: Vec<String>,
}

/// A claim that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The step.
    pub step: String,
    /// The outcome that was reported.
    pub reported: String,
    /// Whether every check held.
    pub held: bool,
    /// Each check.
    pub checks: Vec<Checked>,
}

impl Claim {
    pub(crate) fn of(step: &NodeId, reported: &Outcome, settled: &[(CheckId, Verdict)]) -> Claim {
        let checks: Vec<Checked> = settled.iter().map(|(check, verdict)| Checked::of(check, verdict)).collect();
        let held = checks.iter().all(|check| check.held);
        Claim { step: step.to_string(), reported: reported.to_string(), held, checks }
    }
}

impl Claim {
    /// That it was not believed, and why; nothing where it was.
    pub fn refused(&self) -> Option<String> {
        let named = |asked: bool| {
            let open = self.checks.iter().filter(|check| !check.held && check.asked == asked);
            open.map(|check| format!("`{}`", check.id)).collect::<Vec<_>>().join(" and ")
        };
        let (step, reported, failed, asked) = (&self.step, &self.reported, named(false), named(true));
        match (failed.is_empty(), asked.is_empty()) {
            (true, true) => None,
            (true, false) => Some(format!("`{step}` was reported {reported}; whether {asked} holds, a person says.")),
            (false, _) => Some(format!(
                "Refused: `{step}` was reported {reported}, but {failed} did not hold, so it counts as failed."
            )),
        }
    }
}
