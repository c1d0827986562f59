//! Handles the tool calls of a function: by servers, or by written answers.

mod dry_run;
mod journal;
mod recorded_answers;
mod recorder;

use std::sync::Arc;
use std::time::Duration;

use portolan_core::engine::{Effect, ToolCall};
use portolan_core::graph::DEFAULT_CALL_TIMEOUT_MS;
use portolan_core::reply::{self, Prefer};
use portolan_core::run::{Fault, Reply};
use serde_json::{Map, Value};

use crate::clock::Clock;
use crate::servers::{self, CallError, Servers};

pub use dry_run::HeldCalls;
pub use journal::{JournalAnswers, recorded};
pub use recorded_answers::{RecordedAnswers, ScriptedAnswer};
pub use recorder::CallRecorder;

/// The handlers of tool calls.
#[derive(Default)]
pub struct Tools {
    servers: Option<Arc<Servers>>,
    written: Option<Arc<RecordedAnswers>>,
    recorder: Option<CallRecorder>,
    held: Option<HeldCalls>,
}

/// The turn of a call among all those of its node.
#[derive(Debug)]
pub struct CallTurn {
    answer: Option<Reply>,
    place: Option<usize>,
}

impl CallTurn {
    /// Checks whether an answer is written: nothing is called, and there is no wait.
    pub(crate) fn is_answered(&self) -> bool {
        self.answer.is_some()
    }
}

impl Tools {
    /// Returns tools of servers.
    pub fn of(servers: Arc<Servers>) -> Tools {
        Tools { servers: Some(servers), written: None, recorder: None, held: None }
    }

    /// Returns tools of written answers, without servers: a call without a written answer fails.
    pub fn written(written: Arc<RecordedAnswers>) -> Tools {
        Tools { servers: None, written: Some(written), recorder: None, held: None }
    }

    /// Returns tools of written answers. A call without a written answer is held: it is not made, and the run stops.
    pub fn held(written: Arc<RecordedAnswers>, held: HeldCalls) -> Tools {
        Tools { servers: None, written: Some(written), recorder: None, held: Some(held) }
    }

    /// Uses written answers first, and servers for the other calls.
    #[must_use]
    pub fn first(mut self, written: Arc<RecordedAnswers>) -> Tools {
        self.written = Some(written);
        self
    }

    /// Records every answer.
    #[must_use]
    pub fn recorded(mut self, recorder: CallRecorder) -> Tools {
        self.recorder = Some(recorder);
        self
    }

    /// Returns the tools that a server lists. `None` without servers, or if written answers replace them, so that no
    /// server is started.
    ///
    /// # Errors
    /// It cannot be started, or does not answer.
    pub(crate) async fn listed(&self, server: &str) -> Option<Result<Arc<[servers::Tool]>, CallError>> {
        let servers = self.servers.as_ref().filter(|_| self.written.is_none())?;
        Some(servers.tools(server).await)
    }

    /// Takes a call's turn: of several calls of a node, the one that began first gets the first of its answers, and is
    /// recorded as the first, in whichever order they end.
    pub fn turn(&self, effect: &Effect) -> CallTurn {
        CallTurn {
            answer: self.written.as_ref().and_then(|written| written.answer(effect)),
            place: self.recorder.as_ref().map(|recorder| recorder.place(effect)),
        }
    }

    /// Checks whether calls without a written answer go to servers.
    pub(crate) fn has_servers(&self) -> bool {
        self.servers.is_some()
    }

    /// Makes a call, within the remaining time of its run. Dropping the future cancels it.
    pub async fn call(
        &self,
        (effect, call): (&Effect, &ToolCall),
        turn: CallTurn,
        clock: &Clock,
        meta: Map<String, Value>,
    ) -> Reply {
        let reply = match (turn.answer, &self.servers) {
            (Some(reply), _) => reply,
            (None, Some(servers)) => perform(servers, (effect, call), clock, meta).await,
            (None, None) => match &self.held {
                Some(held) => held.hold(effect, call).await,
                None => Reply::Failed(unanswered(effect)),
            },
        };
        if let (Some(recorder), Some(place)) = (&self.recorder, turn.place) {
            recorder.record(effect, place, &reply);
        }
        reply
    }
}

fn unanswered(effect: &Effect) -> Fault {
    let message = format!("there is no answer for this call of `{}`", effect.node());
    fault(effect, "no-answer", message, format!("write one under `mock`, as `{}`", recorded_answers::name(effect)))
}

fn fault(effect: &Effect, code: &str, message: impl Into<String>, detail: impl Into<String>) -> Fault {
    Fault { node: effect.node().to_string(), code: code.to_owned(), message: message.into(), detail: detail.into() }
}

async fn perform(
    servers: &Servers,
    (effect, call): (&Effect, &ToolCall),
    clock: &Clock,
    meta: Map<String, Value>,
) -> Reply {
    let left = left_of(effect, clock);
    let own = call.timeout_ms.or_else(|| servers.timeout_ms(&call.server)).unwrap_or(DEFAULT_CALL_TIMEOUT_MS);
    let own = Duration::from_millis(own);
    // Whether the limit is the time of the whole run.
    let whole = left.is_some_and(|left| left < own);
    let timeout = left.map_or(own, |left| left.min(own));
    let arguments = call.arguments.as_object().cloned().unwrap_or_default();
    // The limits of this call and of the run include the start of the server.
    let in_all = call.timeout_ms.map(Duration::from_millis).into_iter().chain(left).min();
    let wanted =
        servers::ToolCall { server: &call.server, tool: &call.tool, arguments, timeout, in_all, meta, progress: None };
    match servers.call(wanted).await {
        Ok(answer) => {
            let prefer = if call.text_first { Prefer::Text } else { Prefer::Structured };
            match reply::output(&answer, prefer) {
                Ok(output) => Reply::Output(output.map(Arc::new)),
                Err(error) => Reply::Failed(fault(effect, error.code, error.message, "")),
            }
        }
        Err(error) => Reply::Failed(failed(effect, &error, whole)),
    }
}

/// Returns the remaining time of the whole run.
fn left_of(effect: &Effect, clock: &Clock) -> Option<Duration> {
    let left = effect.deadline?.0.saturating_sub(clock.now().0);
    Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
}

fn failed(effect: &Effect, error: &CallError, whole: bool) -> Fault {
    let mut detail = error.help.clone();
    if !error.stderr.is_empty() {
        detail = format!("{detail}\n`{}` wrote:\n{}", error.server, error.stderr.trim_end());
    }
    let mut message = error.message.clone();
    if whole && error.code == "call-timeout" {
        message.push_str(": the time limit of the whole run was reached");
    }
    fault(effect, error.code, message, detail)
}
