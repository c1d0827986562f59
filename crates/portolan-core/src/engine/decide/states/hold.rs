//! Resumes a waiting state.

use std::sync::Arc;

use serde_json::Value;

use super::{StateDecision, words};
use crate::engine::decide::walk::Draft;
use crate::engine::decide::{Rejection, RejectionReason, addressed, fresh};
use crate::run::{Backoff, FramePath, ModelActivity, ModelStateChange, Place, Resume, ToolCallResult, WaitReason};

/// Decides how a waiting state continues.
///
/// # Errors
/// The state does not wait, or not for this.
pub(in crate::engine::decide) fn resume(
    draft: &mut Draft<'_>,
    path: &FramePath,
    revision: Option<u64>,
    with: &Resume,
) -> Result<(), Rejection> {
    let frame = addressed(draft.before, path)?;
    fresh(frame, revision)?;
    let node = frame.place.node();
    let held = match &frame.place {
        Place::Conversing { talk, .. } => match &talk.doing {
            ModelActivity::Held { why, then } => Some((why.clone(), (**then).clone())),
            _ => None,
        },
        _ => None,
    };
    let Some((why, then)) = held else {
        let message = format!("`{node}` is not waiting for anyone");
        return Err(Rejection::new(RejectionReason::OutOfPlace, message, "check the present situation first"));
    };
    let Some(mut working) = StateDecision::at(draft, path) else { return Ok(()) };
    match with {
        Resume::GiveUp => {
            let message = format!("`{}` was given up: {}", working.node(), why.text());
            let fault = working.fault("given-up", message, "");
            working.broke(fault);
        }
        Resume::Accept if working.talk.failed.is_empty() => {
            let message = format!("no attempt of `{node}` has a result that can be accepted");
            return Err(Rejection::new(RejectionReason::OutOfPlace, message, "let it continue, or give it up"));
        }
        Resume::Accept => working.accept_best(),
        Resume::GoOn => working.go_on(why, then)?,
        Resume::Answer(answer) => working.resume_with_answer(why, then, answer)?,
    }
    Ok(())
}

impl StateDecision<'_, '_> {
    fn go_on(&mut self, why: WaitReason, then: ModelActivity) -> Result<(), Rejection> {
        match why {
            WaitReason::Answer { .. } => {
                return Err(Rejection::new(
                    RejectionReason::OutOfPlace,
                    format!("`{}` is waiting for an answer", self.node()),
                    "give the answer, or give up the state",
                ));
            }
            WaitReason::Break { call, output } => self.tool_goes_on(then, &call, output),
            WaitReason::Exhausted => self.allow_more(None),
            WaitReason::Limit { of, of_run, at, .. } => {
                self.grant(&of, of_run, at);
                self.after_limit(then);
            }
            WaitReason::Unanswered { .. } => self.say(ModelStateChange::Doing(patient(then))),
        }
        Ok(())
    }

    fn resume_with_answer(
        &mut self,
        why: WaitReason,
        then: ModelActivity,
        answer: &Arc<Value>,
    ) -> Result<(), Rejection> {
        match why {
            WaitReason::Answer { call, .. } | WaitReason::Break { call, .. } => {
                self.tool_goes_on(then, &call, answer.clone())
            }
            WaitReason::Exhausted => self.allow_more(Some(&words::text_of(answer))),
            WaitReason::Limit { .. } | WaitReason::Unanswered { .. } => {
                return Err(Rejection::new(
                    RejectionReason::OutOfPlace,
                    format!("`{}` is not waiting for an answer: {}", self.node(), why.text()),
                    "let it continue, or give it up",
                ));
            }
        }
        Ok(())
    }

    /// Continues what a limit stopped, unless the next limit is reached.
    fn after_limit(&mut self, then: ModelActivity) {
        match then {
            ModelActivity::Asking(_) if self.talk.messages.is_empty() && self.talk.turn == 0 => self.visit(),
            // Whichever limit stopped it: the present attempt has failed.
            ModelActivity::Asking(_) if self.talk.failed.len() > self.talk.attempt as usize => {
                self.attempt(self.talk.attempt.saturating_add(1), None)
            }
            ModelActivity::Asking(_) => self.ask(),
            ModelActivity::Using { .. } => {
                self.say(ModelStateChange::Doing(then));
                self.begin_tools();
            }
            then => match self.over_models() {
                Some(over) => self.hold(over, then),
                None => self.say(ModelStateChange::Doing(then)),
            },
        }
    }

    /// Continues after a tool that stopped the run, with `answer` as its result.
    fn tool_goes_on(&mut self, then: ModelActivity, call: &str, answer: Arc<Value>) {
        let ModelActivity::Using { mut settled, open } = then else { return };
        for (id, done) in &mut settled {
            if id == call {
                *done = ToolCallResult::Output(answer.clone());
            }
        }
        self.say(ModelStateChange::Doing(ModelActivity::Using { settled, open }));
        self.after_tools();
    }

    /// Allows as many further attempts as the definition does.
    fn allow_more(&mut self, advice: Option<&str>) {
        let attempts = self.allowed().saturating_add(self.state.max_retries).saturating_add(1);
        self.say(ModelStateChange::Allowed { attempts });
        self.attempt(self.talk.attempt.saturating_add(1), advice);
    }
}

/// Returns the same activity with a reset backoff.
fn patient(doing: ModelActivity) -> ModelActivity {
    match doing {
        ModelActivity::Asking(_) => ModelActivity::Asking(Backoff::default()),
        ModelActivity::Judging { output, found, votes, .. } => {
            ModelActivity::Judging { output, found, votes, patience: Backoff::default() }
        }
        other => other,
    }
}
