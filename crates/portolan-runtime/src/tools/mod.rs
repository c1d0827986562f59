//! Who answers the tool calls of a function: servers, or answers that were written down.

mod held;
mod recorder;
mod written;

use std::sync::Arc;
use std::time::Duration;

use portolan_core::engine::ToolCall;
use portolan_core::graph::DEFAULT_CALL_TIMEOUT_MS;
use portolan_core::reply::{self, Prefer};
use portolan_core::run::{Fault, Reply};
use serde_json::{Map, Value};

use crate::clock::Clock;
use crate::servers::{self, CallError, Servers};

pub use held::Held;
pub use recorder::Recorder;
pub use written::{Answer, Written};

/// Who answers tool calls.
#[derive(Default)]
pub struct Tools {
    servers: Option<Arc<Servers>>,
    written: Option<Arc<Written>>,
    recorder: Option<Recorder>,
    held: Option<Held>,
}

/// What a call came to.
#[derive(Clone, Debug)]
pub struct Called {
    /// For the engine.
    pub reply: Reply,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// How long it was held back before it was made.
    pub waited: Duration,
}

/// The turn of a call among all those of its node.
#[derive(Debug)]
pub struct Turn {
    answer: Option<Reply>,
    place: Option<usize>,
}

impl Called {
    /// The code of its failure.
    pub fn error(&self) -> Option<&str> {
        match &self.reply {
            Reply::Output(_) => None,
            Reply::Failed(fault) => Some(&fault.code),
        }
    }
}

impl Tools {
    /// Servers answer.
    pub fn of(servers: Arc<Servers>) -> Tools {
        Tools { servers: Some(servers), written: None, recorder: None, held: None }
    }

    /// Written answers answer, and no server is started: a call for which none is written fails.
    pub fn written(written: Arc<Written>) -> Tools {
        Tools { servers: None, written: Some(written), recorder: None, held: None }
    }

    /// Written answers answer, and a call for which none is written is held back: it is not made, and the run stops.
    pub fn held(written: Arc<Written>, held: Held) -> Tools {
        Tools { servers: None, written: Some(written), recorder: None, held: Some(held) }
    }

    /// Written answers answer, and servers where none is written.
    #[must_use]
    pub fn first(mut self, written: Arc<Written>) -> Tools {
        self.written = Some(written);
        self
    }

    /// Every answer is written down too.
    #[must_use]
    pub fn recorded(mut self, recorder: Recorder) -> Tools {
        self.recorder = Some(recorder);
        self
    }

    /// The tools that a server lists; nothing where written answers stand for it, so that it is not started.
    ///
    /// # Errors
    /// It cannot be started, or does not answer.
    pub(crate) async fn listed(&self, server: &str) -> Option<Result<Arc<[servers::Tool]>, CallError>> {
        let servers = self.servers.as_ref().filter(|_| self.written.is_none())?;
        Some(servers.tools(server).await)
    }

    /// Takes a call's turn: of several calls of a node, the one that began first gets the first of its answers, and is
    /// written down as the first, in whichever order they end.
    pub fn turn(&self, call: &ToolCall) -> Turn {
        Turn {
            answer: self.written.as_ref().and_then(|written| written.answer(call)),
            place: self.recorder.as_ref().map(|recorder| recorder.place(call)),
        }
    }

    /// Makes a call, not before its time and not beyond its end. Dropping the future cancels it.
    pub async fn call(&self, call: &ToolCall, turn: Turn, clock: &Clock, meta: Map<String, Value>) -> Called {
        let mut waited = Duration::ZERO;
        if let (None, Some(_), Some(wait)) = (&turn.answer, &self.servers, wait_of(call, clock)) {
            let began = tokio::time::Instant::now();
            tokio::time::sleep(wait).await;
            waited = began.elapsed();
        }
        let reply = match (turn.answer, &self.servers) {
            (Some(reply), _) => reply,
            (None, Some(servers)) => perform(servers, call, clock, meta).await,
            (None, None) => match &self.held {
                Some(held) => held.hold(call).await,
                None => Reply::Failed(unanswered(call)),
            },
        };
        if let (Some(recorder), Some(place)) = (&self.recorder, turn.place) {
            recorder.record(call, place, &reply);
        }
        Called { reply, server: call.server.clone(), tool: call.tool.clone(), waited }
    }
}

fn unanswered(call: &ToolCall) -> Fault {
    let message = format!("no answer is written for this call of `{}`", call.node);
    fault(call, "no-answer", message, format!("write one under `mock`, as `{}`", written::name(call)))
}

fn fault(call: &ToolCall, code: &str, message: impl Into<String>, detail: impl Into<String>) -> Fault {
    Fault { node: call.node.to_string(), code: code.to_owned(), message: message.into(), detail: detail.into() }
}

async fn perform(servers: &Servers, call: &ToolCall, clock: &Clock, meta: Map<String, Value>) -> Reply {
    let (timeout, whole) = time_of(servers, call, clock);
    let arguments = call.arguments.as_object().cloned().unwrap_or_default();
    // What is said of this call, or of the run, holds for the start of the server too.
    let in_all = call.timeout_ms.map(Duration::from_millis).into_iter().chain(left_of(call, clock)).min();
    let wanted = servers::ToolCall { server: &call.server, tool: &call.tool, arguments, timeout, in_all, meta };
    match servers.call(wanted).await {
        Ok(answer) => {
            let prefer = if call.text_first { Prefer::Text } else { Prefer::Structured };
            match reply::output(&answer, prefer) {
                Ok(output) => Reply::Output(output.map(Arc::new)),
                Err(error) => Reply::Failed(fault(call, error.code, error.message, "")),
            }
        }
        Err(error) => Reply::Failed(failed(call, &error, whole)),
    }
}

/// How long a retry waits; never beyond the end of the run.
fn wait_of(call: &ToolCall, clock: &Clock) -> Option<Duration> {
    let now = clock.now().0;
    let until = call.not_before?.0.min(call.deadline.map_or(i64::MAX, |deadline| deadline.0));
    u64::try_from(until.saturating_sub(now)).ok().filter(|wait| *wait > 0).map(Duration::from_millis)
}

/// How long a call may take, and whether it is the whole run's time that ends it.
fn time_of(servers: &Servers, call: &ToolCall, clock: &Clock) -> (Duration, bool) {
    let own = call.timeout_ms.or_else(|| servers.timeout_ms(&call.server)).unwrap_or(DEFAULT_CALL_TIMEOUT_MS);
    let own = Duration::from_millis(own);
    match left_of(call, clock) {
        Some(left) if left < own => (left, true),
        _ => (own, false),
    }
}

/// What is left of the time of the whole run.
fn left_of(call: &ToolCall, clock: &Clock) -> Option<Duration> {
    let left = call.deadline?.0.saturating_sub(clock.now().0);
    Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
}

fn failed(call: &ToolCall, error: &CallError, whole: bool) -> Fault {
    let mut detail = error.help.clone();
    if !error.stderr.is_empty() {
        detail = format!("{detail}\n`{}` wrote:\n{}", error.server, error.stderr.trim_end());
    }
    let mut message = error.message.clone();
    if whole && error.code == "call-timeout" {
        message.push_str(": the time of the whole run was up");
    }
    fault(call, error.code, message, detail)
}
