//! A state that waits is told how to go on.

use std::sync::Arc;

use serde_json::Value;

use super::{Working, words};
use crate::engine::decide::walk::Draft;
use crate::engine::decide::{Rejection, Why, addressed, fresh};
use crate::run::{Doing, Done, FramePath, Hold, Patience, Place, Resume, Said, TURNS};

/// Somebody says how a state that waits goes on.
///
/// # Errors
/// It does not wait, or not for that.
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
            Doing::Held { why, then } => Some((why.clone(), (**then).clone())),
            _ => None,
        },
        _ => None,
    };
    let Some((why, then)) = held else {
        let message = format!("`{node}` waits for nobody");
        return Err(Rejection::new(Why::OutOfPlace, message, "look at the present situation first"));
    };
    let Some(mut working) = Working::at(draft, path) else { return Ok(()) };
    match with {
        Resume::GiveUp => {
            let message = format!("`{}` was given up: {}", working.node(), why.text());
            let fault = working.fault("given-up", message, "");
            working.broke(fault);
        }
        Resume::Accept if working.talk.failed.is_empty() => {
            let message = format!("no attempt of `{node}` has come to anything that could be accepted");
            return Err(Rejection::new(Why::OutOfPlace, message, "let it go on, or give it up"));
        }
        Resume::Accept => working.accept_best(),
        Resume::GoOn => working.go_on(why, then)?,
        Resume::Answer(answer) => working.told(why, then, answer)?,
    }
    Ok(())
}

impl Working<'_, '_> {
    fn go_on(&mut self, why: Hold, then: Doing) -> Result<(), Rejection> {
        match why {
            Hold::Answer { .. } => {
                return Err(Rejection::new(
                    Why::OutOfPlace,
                    format!("`{}` waits for an answer", self.node()),
                    "give the answer, or give the state up",
                ));
            }
            Hold::Break { call, output } => self.tool_goes_on(then, &call, output),
            Hold::Exhausted => self.allow_more(None),
            Hold::Limit { of, of_run, at, .. } => {
                self.grant(&of, of_run, at);
                self.after_limit(&of, then);
            }
            Hold::Unanswered { .. } => self.say(Said::Doing(patient(then))),
        }
        Ok(())
    }

    fn told(&mut self, why: Hold, then: Doing, answer: &Arc<Value>) -> Result<(), Rejection> {
        match why {
            Hold::Answer { call, .. } | Hold::Break { call, .. } => self.tool_goes_on(then, &call, answer.clone()),
            Hold::Exhausted => self.allow_more(Some(&words::text_of(answer))),
            Hold::Limit { .. } | Hold::Unanswered { .. } => {
                return Err(Rejection::new(
                    Why::OutOfPlace,
                    format!("`{}` waits for no answer: {}", self.node(), why.text()),
                    "let it go on, or give it up",
                ));
            }
        }
        Ok(())
    }

    /// What a limit held up is done now, unless the next limit is reached.
    fn after_limit(&mut self, of: &str, then: Doing) {
        match then {
            Doing::Asking(_) if self.talk.messages.is_empty() && self.talk.turn == 0 => self.visit(),
            Doing::Asking(_) if matches!(of, "attempts") => self.attempt(self.talk.attempt.saturating_add(1), None),
            Doing::Asking(_) if of == TURNS => self.ask(),
            Doing::Asking(_) => self.ask(),
            Doing::Using { .. } => {
                self.say(Said::Doing(then));
                self.begin_tools();
            }
            then => match self.over_models() {
                Some(over) => self.hold(over, then),
                None => self.say(Said::Doing(then)),
            },
        }
    }

    /// A tool that stopped the run has its answer now: the model is told, with what the other tools came to.
    fn tool_goes_on(&mut self, then: Doing, call: &str, answer: Arc<Value>) {
        let Doing::Using { mut settled, open } = then else { return };
        for (id, done) in &mut settled {
            if id == call {
                *done = Done::Output(answer.clone());
            }
        }
        self.say(Said::Doing(Doing::Using { settled, open }));
        self.after_tools();
    }

    /// As many attempts again as the definition allows.
    fn allow_more(&mut self, advice: Option<&str>) {
        let attempts = self.allowed().saturating_add(self.state.max_retries).saturating_add(1);
        self.say(Said::Allowed { attempts });
        self.attempt(self.talk.attempt.saturating_add(1), advice);
    }
}

/// The same, with all patience again.
fn patient(doing: Doing) -> Doing {
    match doing {
        Doing::Asking(_) => Doing::Asking(Patience::default()),
        Doing::Judging { output, found, votes, .. } => {
            Doing::Judging { output, found, votes, patience: Patience::default() }
        }
        other => other,
    }
}
