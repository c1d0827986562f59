//! Calls that wait for answers of clients of 2026-07-28. Such a client is not asked: it receives the questions as the result
//! of its call, and repeats the call with the answers. Meanwhile the call stays open at the server.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portolan_runtime::servers::{CallError, Unanswered};
use portolan_runtime::service::ServiceError;
use portolan_runtime::store::RunId;
use rmcp::model::{CallToolRequestParams, InputRequests, InputResponses};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use crate::mcp::progress::Progress;

/// How long a client may take to answer.
pub(super) const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// The most calls that wait.
const MAX_WAITING: usize = 64;
/// The most calls of one client that wait.
const MAX_OF_CALLER: usize = 16;
/// The beginning of a state, which tells it from those of Portolan's own questions.
const PREFIX: &str = "call.";

/// A call that is under way at its server.
pub(super) struct OpenCall {
    pub(super) running: Pin<Box<dyn Future<Output = Result<Value, CallError>> + Send>>,
    /// What the server asks. `None` if the client answers nothing.
    pub(super) questions: Option<mpsc::Receiver<AskedQuestions>>,
    pub(super) progress: Option<Progress>,
}

/// Questions of a server, and the way of their answers.
pub(super) struct AskedQuestions {
    pub(super) questions: InputRequests,
    pub(super) answer: oneshot::Sender<Result<InputResponses, Unanswered>>,
}

/// The client of a call that waits, and what it called with which arguments. Only the same call of the same client goes on
/// with it.
#[derive(Debug)]
pub(super) struct Waiter<'a> {
    pub(super) caller: &'a str,
    pub(super) about: String,
}

/// The calls that wait, by the state that their clients were given.
#[derive(Default)]
pub(super) struct WaitingCalls(Mutex<BTreeMap<String, WaitingCall>>);

struct WaitingCall {
    caller: String,
    about: String,
    call: OpenCall,
    asked_questions: AskedQuestions,
    until: Instant,
}

/// What follows from the return of a client.
pub(super) enum Return {
    /// It has answered.
    Answered(OpenCall),
    /// Some answers are missing, so that it is asked again.
    Again(OpenCall, AskedQuestions, Instant),
}

impl WaitingCalls {
    fn calls(&self) -> MutexGuard<'_, BTreeMap<String, WaitingCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks whether a call continues another one, or pretends to.
    pub(super) fn has_form_of_state(request: &CallToolRequestParams) -> bool {
        request.request_state.as_deref().is_some_and(|state| state.starts_with(PREFIX))
    }

    /// Drops all calls, which cancels them.
    pub(super) fn clear(&self) {
        let calls = std::mem::take(&mut *self.calls());
        drop(calls);
    }

    /// Lets a call wait for its client. Returns the state that the client is to bring. After a time, the call is cancelled.
    pub(super) fn wait(
        self: &Arc<Self>,
        waiter: &Waiter<'_>,
        call: OpenCall,
        asked_questions: AskedQuestions,
        until: Instant,
    ) -> Result<String, ServiceError> {
        // Two handles form a token of 80 bits that a client cannot guess.
        let state = format!("{PREFIX}{}{}", RunId::random(), RunId::random());
        {
            let mut calls = self.calls();
            let of_caller = calls.values().filter(|call| call.caller == waiter.caller).count();
            if calls.len() >= MAX_WAITING || of_caller >= MAX_OF_CALLER {
                let message = format!("`{of_caller}` calls of this client wait for answers to questions of servers");
                let help = "answer those first; a call that nobody answers is cancelled after ten minutes";
                return Err(ServiceError::refused("too_many_questions", message, help));
            }
            let (caller, about) = (waiter.caller.to_owned(), waiter.about.clone());
            calls.insert(state.clone(), WaitingCall { caller, about, call, asked_questions, until });
        }
        let (waiting, ended) = (Arc::downgrade(self), state.clone());
        tokio::spawn(async move {
            sleep_until(until).await;
            let late = waiting.upgrade().and_then(|waiting| waiting.calls().remove(&ended));
            drop(late);
        });
        Ok(state)
    }

    /// Returns the call that a client continues.
    pub(super) fn take(&self, waiter: &Waiter<'_>, request: &CallToolRequestParams) -> Result<Return, ServiceError> {
        let state = request.request_state.as_deref().unwrap_or_default();
        let mut calls = self.calls();
        let is_same = |call: &WaitingCall| call.caller == waiter.caller && call.about == waiter.about;
        if !calls.get(state).is_some_and(is_same) {
            let message = "no call of this client, tool and arguments waits for these answers".to_owned();
            let help = "a call waits ten minutes, and is answered once: make the call again without `requestState`, \
                which performs it anew";
            return Err(ServiceError::refused("unknown_state", message, help));
        }
        let WaitingCall { call, asked_questions, until, .. } = calls.remove(state).expect("it was just found");
        drop(calls);
        let given = request.input_responses.clone().unwrap_or_default();
        if asked_questions.questions.keys().any(|name| !given.contains_key(name)) {
            return Ok(Return::Again(call, asked_questions, until));
        }
        let answers = given.into_iter().filter(|(name, _)| asked_questions.questions.contains_key(name)).collect();
        // A server that no longer waits ends the call, which the caller sees.
        let _nobody_waits = asked_questions.answer.send(Ok(answers));
        Ok(Return::Answered(call))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Fixture {
        waiting: Arc<WaitingCalls>,
        answered: oneshot::Receiver<Result<InputResponses, Unanswered>>,
        state: String,
        dropped: oneshot::Receiver<()>,
    }

    fn me() -> Waiter<'static> {
        Waiter { caller: "me", about: "db/query 1".to_owned() }
    }

    fn call(alive: Option<oneshot::Sender<()>>) -> OpenCall {
        let running = Box::pin(async move {
            let _alive = alive;
            std::future::pending().await
        });
        OpenCall { running, questions: None, progress: None }
    }

    fn asked() -> (AskedQuestions, oneshot::Receiver<Result<InputResponses, Unanswered>>) {
        let questions = serde_json::from_value(json!({ "q": { "method": "roots/list" } })).expect("questions");
        let (answer, answered) = oneshot::channel();
        (AskedQuestions { questions, answer }, answered)
    }

    fn fixture() -> Fixture {
        let waiting = Arc::<WaitingCalls>::default();
        let ((asked, answered), (alive, dropped)) = (asked(), oneshot::channel());
        let state = waiting.wait(&me(), call(Some(alive)), asked, Instant::now() + LIFETIME).expect("it waits");
        Fixture { waiting, answered, state, dropped }
    }

    fn back(state: &str, answers: Value) -> CallToolRequestParams {
        let params = json!({ "name": "query", "requestState": state, "inputResponses": answers });
        serde_json::from_value(params).expect("a call")
    }

    #[tokio::test]
    async fn an_answer_reaches_its_question_once() {
        let Fixture { waiting, answered, state, .. } = fixture();
        let request = back(&state, json!({ "q": { "roots": [] }, "other": 1 }));
        assert!(WaitingCalls::has_form_of_state(&request));
        assert!(matches!(waiting.take(&me(), &request), Ok(Return::Answered(_))));
        let answers = answered.await.expect("an answer").expect("an answer");
        assert_eq!(json!(answers), json!({ "q": { "roots": [] } }));
        assert_eq!(waiting.take(&me(), &request).err().map(|error| error.code), Some("unknown_state"));
    }

    #[tokio::test]
    async fn another_client_and_another_call_do_not_go_on_with_it() {
        let Fixture { waiting, state, .. } = fixture();
        let request = back(&state, json!({ "q": {} }));
        for other in [Waiter { caller: "you", ..me() }, Waiter { about: "db/query 2".to_owned(), ..me() }] {
            assert!(waiting.take(&other, &request).is_err(), "{other:?}");
        }
        assert!(waiting.take(&me(), &back("call.guess", json!({ "q": {} }))).is_err());
        assert!(waiting.take(&me(), &request).is_ok());
    }

    #[tokio::test]
    async fn a_client_without_an_answer_is_asked_again() {
        let Fixture { waiting, state, .. } = fixture();
        assert!(matches!(waiting.take(&me(), &back(&state, json!({}))), Ok(Return::Again(..))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_nobody_answers_is_dropped() {
        let Fixture { waiting, state, dropped, .. } = fixture();
        let begun = Instant::now();
        assert!(dropped.await.is_err());
        assert_eq!(begun.elapsed(), LIFETIME);
        assert!(waiting.take(&me(), &back(&state, json!({ "q": {} }))).is_err());
    }

    #[tokio::test]
    async fn the_calls_that_wait_are_bounded() {
        let waiting = Arc::<WaitingCalls>::default();
        let wait = |caller| {
            let waiter = Waiter { caller, ..me() };
            waiting.wait(&waiter, call(None), asked().0, Instant::now() + LIFETIME)
        };
        for caller in ["a", "b", "c", "d"] {
            for _ in 0..MAX_OF_CALLER {
                wait(caller).expect("there is room");
            }
        }
        for caller in ["a", "e"] {
            assert_eq!(wait(caller).err().map(|error| error.code), Some("too_many_questions"));
        }
    }
}
