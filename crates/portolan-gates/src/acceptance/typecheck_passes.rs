//! I-6: the type checker has checked exactly these files, and found no error.

use super::{CheckFinding, CheckKind, fails, holds, not_asked, quoted, unverified};
use crate::facts::{Answer, Claims, Facts, Needs, TypecheckOutcome};
use crate::guidelines::Guidelines;

pub(super) const KIND: CheckKind = CheckKind {
    id: "typecheckPasses",
    invariant: Some("I-6"),
    needs: Needs { typecheck: true, ..Needs::NOTHING },
    look,
};

fn look(_claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> CheckFinding {
    let outcome = match (&facts.trouble, &facts.typecheck) {
        (Some(unknown), _) | (None, Answer::Unknown(unknown)) => return unverified(unknown),
        (None, Answer::NotAsked | Answer::Missing) => return not_asked("the type checker's verdict"),
        (None, Answer::Found(outcome)) => outcome,
    };
    let again = "run `portolan qa typecheck`";
    match outcome {
        TypecheckOutcome::NotConfigured => {
            holds("not-configured", "no type checker is configured, and the project's files suggest none")
        }
        TypecheckOutcome::NotRun { command } => {
            fails("not-run", format!("{} has not checked the current files; {again}", quoted(command)))
        }
        TypecheckOutcome::Judged { command, passed: false, summary, .. } => {
            fails("typecheck-failed", format!("{} failed: {}; fix it and {again}", quoted(command), quoted(summary)))
        }
        TypecheckOutcome::Judged { command, age_seconds, .. } => match guidelines.typecheck.max_age_seconds {
            Some(most) if *age_seconds > most => fails(
                "too-old",
                format!("the result of {} is {age_seconds} s old, more than {most}; {again}", quoted(command)),
            ),
            _ => holds("typecheck-passed", format!("{} passed on exactly these files", quoted(command))),
        },
    }
}
