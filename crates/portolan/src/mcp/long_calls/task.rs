//! One task: its call, and what is known of it.

use std::sync::{Arc, Mutex, PoisonError};

use portolan_runtime::carrier::Address;
use portolan_runtime::clock::{Clock, rfc3339};
use portolan_runtime::runner::{CheckOutput, Listener};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, InputRequests, InputResponses, JsonObject, Task, TaskPayload, TaskStatus,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::OwnedCall;
use super::id::{LIFETIME_MS, RunName, TaskId};
use crate::mcp::toolset::Toolset;

/// How often clients are asked to look.
const POLL_MS: u64 = 2_000;

/// A call, with all that is needed to make it again with the answers of the client's user.
pub(super) struct Running {
    pub(super) toolset: Arc<dyn Toolset>,
    pub(super) request: CallToolRequestParams,
    pub(super) context: RequestContext<RoleServer>,
    pub(super) news: Arc<LastNews>,
}

impl Running {
    /// Begins the call.
    pub(super) fn begin(&self) -> OwnedCall {
        let (toolset, request, context) = (Arc::clone(&self.toolset), self.request.clone(), self.context.clone());
        Box::pin(async move { toolset.call(request, context).await })
    }

    /// Returns the run that the call names, if it outlives the process. A token is only in the hands of its agent.
    pub(super) fn run(&self) -> Option<RunName> {
        let text = |name: &str| self.request.arguments.as_ref()?.get(name)?.as_str();
        if let Some(path) = text("taskFilePath") {
            return Some(RunName::TaskFile(path.to_owned()));
        }
        match Address::parse(text("run").or_else(|| text("state"))?) {
            Address::Stored(id) => Some(RunName::Handle(id)),
            Address::Task(_) | Address::State(_) => None,
        }
    }
}

/// The last line of what a call reports while it runs. Progress notifications end when the call becomes a task.
#[derive(Default)]
pub(in crate::mcp) struct LastNews(Mutex<News>);

#[derive(Default)]
struct News {
    line: Option<String>,
    is_task: bool,
}

impl LastNews {
    /// Returns the listener of the call's checks.
    pub(in crate::mcp) fn listener(self: &Arc<LastNews>) -> Listener {
        let news = Arc::clone(self);
        Listener::new(move |output: &CheckOutput<'_>| {
            let line = match output.line {
                None => format!("checking: {}", output.check),
                Some(line) => format!("{}: {line}", output.check),
            };
            news.set(line);
        })
    }

    pub(in crate::mcp) fn set(&self, line: String) {
        self.lock().line = Some(line);
    }

    /// Returns whether the call has become a task, whose client is sent no progress.
    pub(in crate::mcp) fn is_of_task(&self) -> bool {
        self.lock().is_task
    }

    pub(super) fn become_task(&self) {
        self.lock().is_task = true;
    }

    fn line(&self) -> Option<String> {
        self.lock().line.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, News> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task of this process.
pub(super) struct Entry {
    task: Task,
    state: State,
    news: Arc<LastNews>,
    /// Nothing once the work is over.
    work: Option<AbortHandle>,
    /// The number of times that the client's user was asked.
    rounds: u32,
}

enum State {
    Working,
    Asking(Asking),
    Over(TaskPayload),
}

/// Questions that wait for answers.
struct Asking {
    open: InputRequests,
    answers: InputResponses,
    answered: oneshot::Sender<InputResponses>,
}

impl Entry {
    pub(super) fn new(id: &TaskId, news: Arc<LastNews>) -> Entry {
        let task = Task::new(id.text(), TaskStatus::Working, id.created(), id.created());
        let task = task.with_ttl_ms(LIFETIME_MS).with_poll_interval_ms(POLL_MS);
        Entry { task, state: State::Working, news, work: None, rounds: 0 }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over(_))
    }

    /// Returns the task, and what belongs to its state.
    pub(super) fn state(&self) -> (Task, TaskPayload) {
        let mut task = self.task.clone();
        let payload = match &self.state {
            State::Working => {
                task.status_message = self.news.line();
                TaskPayload::Working
            }
            State::Asking(asking) => TaskPayload::InputRequired { input_requests: asking.open.clone() },
            State::Over(payload) => payload.clone(),
        };
        (task, payload)
    }

    pub(super) fn works(&mut self, work: AbortHandle) {
        if !self.is_over() {
            self.work = Some(work);
        }
    }

    /// Ends the task. What was decided first stays.
    pub(super) fn end(&mut self, payload: TaskPayload) {
        if !self.is_over() {
            self.enter(State::Over(payload));
        }
        if let Some(work) = self.work.take() {
            work.abort();
        }
    }

    /// Asks the client's user. The names of the questions are unique in the task, so they get the number of the round.
    pub(super) fn ask(&mut self, questions: InputRequests) -> oneshot::Receiver<InputResponses> {
        let (answered, answers) = oneshot::channel();
        self.rounds += 1;
        let open = questions.into_iter().map(|(name, question)| (format!("{}-{name}", self.rounds), question));
        let open = open.collect();
        self.enter(State::Asking(Asking { open, answers: InputResponses::new(), answered }));
        answers
    }

    /// Takes answers to open questions, and ignores others. The work continues once all are answered.
    pub(super) fn answer(&mut self, responses: InputResponses) {
        let State::Asking(asking) = &mut self.state else { return };
        for (name, answer) in responses {
            if asking.open.remove(&name).is_some() {
                let own = name.split_once('-').map_or(name.as_str(), |(_round, own)| own);
                asking.answers.insert(own.to_owned(), answer);
            }
        }
        if !asking.open.is_empty() {
            return self.touch();
        }
        if let State::Asking(Asking { answers, answered, .. }) = self.enter(State::Working) {
            // Work that has ended meanwhile needs no answers.
            let _ended = answered.send(answers);
        }
    }

    fn enter(&mut self, state: State) -> State {
        self.touch();
        std::mem::replace(&mut self.state, state)
    }

    fn touch(&mut self) {
        self.task.last_updated_at = now();
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(work) = &self.work {
            work.abort();
        }
    }
}

/// Returns the time, as clients read it.
pub(super) fn now() -> String {
    rfc3339(Clock::System.now())
}

pub(super) fn result_object(result: &CallToolResult) -> JsonObject {
    object(serde_json::to_value(result))
}

pub(super) fn error_object(error: &ErrorData) -> JsonObject {
    object(serde_json::to_value(error))
}

fn object(value: serde_json::Result<Value>) -> JsonObject {
    match value {
        Ok(Value::Object(object)) => object,
        _ => JsonObject::new(),
    }
}
