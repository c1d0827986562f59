//! A run as a line of text: everything that decides what may happen next, and nothing else.

use std::collections::BTreeMap;

use portolan_core::run::{BranchState, Frame, Place, Verdict, WaitingFor};

/// The picture of a frame and of everything inside it.
pub(crate) fn of(frame: &Frame) -> String {
    let used: BTreeMap<&str, u32> = frame.spent.iter().map(|spent| (spent.gate.as_str(), spent.used)).collect();
    let used: Vec<String> = used.iter().map(|(gate, used)| format!("{gate}:{used}")).collect();
    let at = match &frame.place {
        Place::Ready { .. } => "ready".to_owned(),
        Place::Passing { .. } | Place::Calling { .. } | Place::Each { .. } | Place::Conversing { .. } => {
            "executed by the engine".to_owned()
        }
        Place::Checking { outcome, settled, .. } => {
            let held: BTreeMap<&str, bool> =
                settled.iter().map(|(check, verdict)| (check.as_str(), *verdict == Verdict::Held)).collect();
            let settled: Vec<String> = held.iter().map(|(check, held)| format!("{check}={held}")).collect();
            format!("checking {outcome} {}", settled.join(" "))
        }
        Place::Waiting { on: WaitingFor::Answer, .. } => "asking answer".to_owned(),
        Place::Waiting { on: WaitingFor::Budget, .. } => "asking budget".to_owned(),
        Place::Waiting { on: WaitingFor::Progress, .. } => "asking progress".to_owned(),
        Place::Waiting { on: WaitingFor::Unchecked, .. } => "asking whether a claim holds".to_owned(),
        Place::Waiting { on: WaitingFor::Raised, .. } => "asking the agent's own question".to_owned(),
        Place::Gathering { .. } => "gathering".to_owned(),
        Place::Within { frame, .. } | Place::Looping { frame, .. } => format!("inside ({})", of(frame)),
        Place::Arrived { outcome, .. } => format!("arrived {}", !outcome.is_failed()),
        Place::Ended { result, .. } => format!("ended {}", result.word()),
        Place::Forked { branches, .. } => {
            let branches: Vec<String> = branches
                .iter()
                .map(|branch| match &branch.state {
                    BranchState::Held => format!("{} held", branch.name),
                    BranchState::Open(frame) => format!("{} ({})", branch.name, of(frame)),
                    BranchState::Done(outcome) => format!("{} {}", branch.name, !outcome.is_failed()),
                    BranchState::Cancelled => format!("{} cancelled", branch.name),
                })
                .collect();
            format!("forked ({})", branches.join(", "))
        }
    };
    format!("{}/{} [{}] {at}", frame.flow, frame.place.node(), used.join(" "))
}
