//! The answer to a host, or to git.

use portolan_core::diagnostic::clip;
use portolan_core::run::Bypass;
use portolan_gates::guards;
use portolan_gates::{Decision, Judgement};
use portolan_runtime::carrier::Address;
use portolan_runtime::error::ServiceError;

/// The decision about a call, with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answerable {
    /// The decision.
    pub decision: Decision,
    /// The reason. Empty if the call is allowed.
    pub reason: String,
    /// Ways to resolve the refusal, in order.
    pub remedies: Vec<String>,
    /// Further information for the agent.
    pub context: Option<String>,
    /// The judgements of the guards.
    pub judgements: Vec<Judgement>,
    /// The open runs that decided about a tool call, with those that had nothing against it.
    pub runs: Vec<Address>,
}

impl Answerable {
    /// Returns an answer that allows the call.
    pub fn allowed() -> Answerable {
        Answerable {
            decision: Decision::Allow,
            reason: String::new(),
            remedies: Vec::new(),
            context: None,
            judgements: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Returns an answer that refuses the call.
    pub fn blocked(reason: impl Into<String>) -> Answerable {
        Answerable { decision: Decision::Block, reason: reason.into(), ..Answerable::allowed() }
    }

    /// Combines judgements. The strictest ones determine the decision, the reason and the remedies.
    pub(super) fn of(judgements: Vec<Judgement>) -> Answerable {
        let decision = guards::overall(&judgements);
        let mut answer = Answerable { decision, ..Answerable::allowed() };
        if decision != Decision::Allow {
            let speaking: Vec<&Judgement> =
                judgements.iter().filter(|judgement| judgement.decision == decision).collect();
            let reasons: Vec<String> = speaking.iter().map(|judgement| format_reason(judgement)).collect();
            answer.reason = reasons.join("; ");
            let remedies = speaking.iter().flat_map(|judgement| judgement.remedies.iter().cloned());
            let past = speaking.iter().filter_map(|judgement| judgement.bypass.clone());
            for remedy in remedies.chain(past) {
                if !answer.remedies.contains(&remedy) {
                    answer.remedies.push(remedy);
                }
            }
        }
        answer.judgements = judgements;
        answer
    }

    pub(super) fn of_error(error: &ServiceError) -> Answerable {
        let mut answer = Answerable::blocked(format!("it cannot be judged: {}", error.message));
        answer.remedies.push(error.help.clone());
        answer
    }

    /// Returns the answer if it cannot be recorded. A refusal stays one; anything else becomes one.
    pub(crate) fn unrecorded(self, error: &ServiceError) -> Answerable {
        let reason = match self.decision {
            Decision::Block => format!("{}; this could not be recorded: {}", self.reason, error.message),
            Decision::Allow | Decision::Ask => {
                format!("the decision cannot be recorded, so the call is refused: {}", error.message)
            }
        };
        let mut remedies = if self.decision == Decision::Block { self.remedies } else { Vec::new() };
        remedies.push(error.help.clone());
        Answerable { decision: Decision::Block, reason, remedies, ..Answerable::allowed() }
    }

    /// Checks whether a rule is bypassed.
    pub(super) fn is_bypassed(&self) -> bool {
        self.bypasses().next().is_some()
    }

    /// Returns the bypasses of the judgements.
    pub(super) fn bypasses(&self) -> impl Iterator<Item = &Bypass> {
        self.judgements.iter().filter_map(|judgement| judgement.bypassed_by.as_ref())
    }
}

fn format_reason(judgement: &Judgement) -> String {
    match &judgement.invariant {
        Some(invariant) => format!("{invariant}: {}", clip_long(&judgement.reason)),
        None => clip_long(&judgement.reason),
    }
}

/// Clips a reason, because it quotes input of any length.
fn clip_long(reason: &str) -> String {
    const MAX_CHARS: usize = 2_000;
    if reason.chars().nth(MAX_CHARS).is_none() { reason.to_owned() } else { clip(reason) }
}
