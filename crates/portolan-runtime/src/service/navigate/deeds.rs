//! Turns an agent's action into an event, if the action is open at the position that the agent is shown.

use portolan_core::diagnostic::{clip, list};
use portolan_core::present::{QuestionView, asked, focus};
use portolan_core::run::{EventKind, Frame, Human, Move, moves};
use portolan_core::value::Outcome;

use super::super::act::PendingEvent;
use super::super::hold::HeldRun;
use super::super::report::bounded;
use super::super::request::{Act, Report, RunAddress};
use super::super::{Caller, Service};
use crate::error::{ErrorKind, ServiceError};

/// The maximum length in bytes of the reason for an early end.
const MAX_REASON_BYTES: usize = 4 << 10;

impl Service {
    /// Returns the event of an action.
    ///
    /// # Errors
    /// The action is not open at the present position.
    pub(in crate::service) fn deed(
        &self,
        grip: &RunAddress,
        act: &Act,
        caller: &Caller,
    ) -> Result<PendingEvent, ServiceError> {
        let held = &grip.held;
        is_last(grip)?;
        if held.run.is_over() {
            let message = "the run has ended: nothing more can be done in it";
            return Err(ServiceError::refused("workflow_completed", message, "begin a new run for new work"));
        }
        let (path, frame) = focus(&held.run);
        let open_question = asked(&held.definition.workflow, &held.run, (&path, frame));
        let revision = Some(frame.since);
        match act {
            Act::Begin | Act::Report(_) => unreachable!("these name their position themselves"),
            Act::Complete { step, report } => {
                bounded(report.note.as_deref())?;
                is_at_hand(held, frame, step, open_question.as_ref())?;
                is_offered(held, frame, &report.outcome)?;
                self.may_be_checked(held, &path, report)?;
                self.reported(held, path, (report, revision), caller)
            }
            Act::Answer { checkpoint, option, note, outputs } => {
                bounded(note.as_deref())?;
                let open_question = is_asked(checkpoint, open_question.as_ref())?;
                let by_person = held.run.opening.rules.human == Human::Verified;
                if by_person && matches!(caller.by, portolan_core::run::Actor::Agent(_)) {
                    return Err(ask_the_person(open_question));
                }
                let outcome = chosen(open_question, option.as_ref())?;
                let report = Report { outcome, note: note.clone(), outputs: outputs.clone() };
                self.reported(held, path, (&report, revision), caller)
            }
            Act::Raise(question) => {
                if open_question.is_some() {
                    let message = "a question is already open";
                    return Err(ServiceError::refused("checkpoint_open", message, "have it answered first"));
                }
                let event = EventKind::Raised { frame: path, revision, question: question.clone() };
                Ok(PendingEvent { event, by: caller.clone(), settles: None })
            }
            Act::End { reason } => {
                let reason: String = match reason.trim() {
                    "" => return Err(ServiceError::refused("bad_input", "`reason` is empty", "say why the run ends")),
                    reason if reason.len() > MAX_REASON_BYTES => {
                        let message = format!("`reason` has more than {MAX_REASON_BYTES} bytes");
                        return Err(ServiceError::refused("too_large", message, "shorten it"));
                    }
                    reason => reason.to_owned(),
                };
                Ok(PendingEvent {
                    event: EventKind::Cancelled { reason, outcome: None },
                    by: caller.clone(),
                    settles: None,
                })
            }
        }
    }
}

/// Refuses a caller that knows an earlier position, or none.
fn is_last(grip: &RunAddress) -> Result<(), ServiceError> {
    let now = grip.held.run.revision;
    match grip.known {
        Some(known) if known == now => Ok(()),
        Some(_) => Err(ServiceError::refused(
            "stale",
            "the run has advanced since this `state` was issued",
            "choose one of the current actions, and send the `state` that it has",
        )),
        None => Err(ServiceError::refused(
            "revision_required",
            "a handle alone can be used to view a run, but not to move it",
            "send one of the current actions unchanged: its `state` has the handle and the revision",
        )),
    }
}

fn is_at_hand(held: &HeldRun, frame: &Frame, step: &str, question: Option<&QuestionView>) -> Result<(), ServiceError> {
    if let Some(question) = question {
        let message = format!("the question `{}` is open", question.id);
        return Err(ServiceError::refused(
            "checkpoint_open",
            message,
            "have it answered first, with respond_to_checkpoint",
        ));
    }
    let node = &held.definition.workflow.flow(&frame.flow).step(frame.place.node()).node;
    if node.seat.as_ref().map_or(node.id.as_str(), |seat| &seat.id) == step {
        return Ok(());
    }
    let message = format!("`{}` is not the current step", clip(step));
    Err(ServiceError::refused("step_mismatch", message, "send one of the current actions unchanged"))
}

fn is_offered(held: &HeldRun, frame: &Frame, outcome: &Outcome) -> Result<(), ServiceError> {
    let moves = moves(&held.definition.workflow, frame);
    let open: Vec<&Outcome> = moves.iter().filter_map(Move::outcome).collect();
    if open.contains(&outcome) {
        return Ok(());
    }
    let words: Vec<&str> = open.iter().map(|outcome| outcome.as_str()).collect();
    let message = format!("`{}` is not a result of this step", clip(outcome.as_str()));
    let help = match words.as_slice() {
        [] => "send one of the current actions unchanged".to_owned(),
        words => format!("report {}", list(words)),
    };
    let mut error = ServiceError::refused("unknown_result", message, help);
    error.accepted = words.iter().map(|word| (*word).to_owned()).collect();
    Err(error)
}

fn is_asked<'a>(checkpoint: &str, question: Option<&'a QuestionView>) -> Result<&'a QuestionView, ServiceError> {
    match question {
        Some(question) if question.id == checkpoint => Ok(question),
        _ => Err(ServiceError::refused(
            "checkpoint_mismatch",
            format!("the question `{}` is not open now", clip(checkpoint)),
            "send one of the current actions unchanged",
        )),
    }
}

fn ask_the_person(question: &QuestionView) -> ServiceError {
    ServiceError::of(
        ErrorKind::NeedsPerson,
        "needs_person",
        format!("`{}` is a question for a person, and an agent's answer is not accepted here", question.id),
        crate::error::PERSON_ANSWERS,
    )
}

fn chosen(question: &QuestionView, option: Option<&Outcome>) -> Result<Outcome, ServiceError> {
    let ids: Vec<&str> = question.options.iter().map(|option| option.id.as_str()).collect();
    let (message, help) = match option {
        Some(option) if ids.contains(&option.as_str()) => return Ok(option.clone()),
        Some(option) => (format!("`{}` is not an option of `{}`", clip(option.as_str()), question.id), list(&ids)),
        None => ("`option_id` is missing".to_owned(), list(&ids)),
    };
    let mut error = ServiceError::refused("unknown_option", message, format!("choose one of {help}"));
    error.accepted = ids.into_iter().map(str::to_owned).collect();
    Err(error)
}
