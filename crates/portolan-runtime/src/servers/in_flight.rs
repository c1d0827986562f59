//! The calls that a connection has under way. A question or a log message of a server names no call, so the client that it
//! concerns is found among these.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{ErrorCode, InputRequest};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::client::{CallClient, LogMessage, single};

/// The most questions during one call.
pub(super) const MAX_QUESTIONS: usize = 16;
/// The name of a question that its server gave none.
const QUESTION: &str = "question";

/// The calls under way.
#[derive(Default)]
pub(super) struct CallsInFlight {
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    next: u64,
    open: BTreeMap<u64, Arc<CallInFlight>>,
}

/// A call under way.
pub(super) struct CallInFlight {
    client: CallClient,
    question_count: AtomicUsize,
    time: Mutex<AnswerTime>,
    answered: Notify,
}

/// The time during which a call waited for answers of its client, which is not the server's.
#[derive(Default)]
struct AnswerTime {
    open: usize,
    since: Option<Instant>,
    ended: Duration,
}

/// Removes a call when it is dropped.
pub(super) struct Registration<'a> {
    calls: &'a CallsInFlight,
    number: u64,
    pub(super) call: Arc<CallInFlight>,
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        self.calls.calls().open.remove(&self.number);
    }
}

impl CallsInFlight {
    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls().open.is_empty()
    }

    /// Adds a call, until the registration is dropped.
    pub(super) fn register(&self, client: CallClient) -> Registration<'_> {
        let call = Arc::new(CallInFlight {
            client,
            question_count: AtomicUsize::new(0),
            time: Mutex::default(),
            answered: Notify::new(),
        });
        let mut calls = self.calls();
        let number = calls.next;
        calls.next += 1;
        calls.open.insert(number, Arc::clone(&call));
        drop(calls);
        Registration { calls: self, number, call }
    }

    /// Returns the calls under way, the oldest first. Empty if they are those of several clients: what a server sends might
    /// concern any of these, and must reach no other.
    fn of_single_client(&self) -> Vec<Arc<CallInFlight>> {
        let open: Vec<Arc<CallInFlight>> = self.calls().open.values().cloned().collect();
        match open.iter().all(|call| call.client.id == open[0].client.id) {
            true => open,
            false => Vec::new(),
        }
    }

    /// Passes a question of the server to the client of the call that it concerns.
    pub(super) async fn ask(&self, question: InputRequest) -> Result<Value, ErrorData> {
        let is_idle = self.is_empty();
        let calls = self.of_single_client();
        let free = calls.iter().find(|call| !call.waits()).or(calls.first());
        match free {
            Some(call) => call.ask(question).await,
            None if is_idle => Err(refused("no call is under way: ask while a tool is called")),
            None => {
                Err(refused("several clients have calls under way, and the question does not say which it concerns"))
            }
        }
    }

    /// Passes a log message to the client whose calls are under way, if it wants it.
    pub(super) fn log(&self, message: LogMessage) {
        let calls = self.of_single_client();
        let wants = |call: &&Arc<CallInFlight>| matches!(&call.client.log, Some((least, _)) if *least <= message.level);
        if let Some((_, listen)) = calls.iter().find(wants).and_then(|call| call.client.log.as_ref()) {
            listen(message);
        }
    }
}

impl CallInFlight {
    fn time(&self) -> MutexGuard<'_, AnswerTime> {
        self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waits(&self) -> bool {
        self.time().open > 0
    }

    async fn ask(&self, question: InputRequest) -> Result<Value, ErrorData> {
        if let Some(missing) = self.client.features.missing_for(&question) {
            return Err(refused(&format!("the client that calls cannot answer this: it has not declared {missing}")));
        }
        let Some(answer) = &self.client.on_questions else {
            return Err(refused("the client that calls answers no questions"));
        };
        if self.question_count.fetch_add(1, Ordering::Relaxed) >= MAX_QUESTIONS {
            return Err(refused(&format!("a call may ask at most {MAX_QUESTIONS} questions")));
        }
        let _pause = Pause::begin(self);
        let mut answers = answer(single(QUESTION, question))
            .await
            .map_err(|unanswered| refused(&format!("{}; {}", unanswered.message, unanswered.help)))?;
        answers.remove(QUESTION).ok_or_else(|| refused("the client did not answer the question"))
    }

    /// Waits until the server has had this time, without that during which it waited for answers.
    pub(super) async fn used_up(&self, limit: Duration) {
        let begun = Instant::now();
        loop {
            let waited = self.time().ended;
            sleep_until(begun + limit + waited).await;
            let answered = self.answered.notified();
            if self.waits() {
                answered.await;
            } else if self.time().ended == waited {
                return;
            }
        }
    }
}

/// Stops the time of a call until it is dropped.
struct Pause<'a>(&'a CallInFlight);

impl Pause<'_> {
    fn begin(call: &CallInFlight) -> Pause<'_> {
        let mut time = call.time();
        time.open += 1;
        time.since.get_or_insert_with(Instant::now);
        drop(time);
        Pause(call)
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        let mut time = self.0.time();
        time.open -= 1;
        if time.open == 0
            && let Some(since) = time.since.take()
        {
            time.ended += since.elapsed();
            self.0.answered.notify_waiters();
        }
    }
}

fn refused(why: &str) -> ErrorData {
    ErrorData::new(ErrorCode::INVALID_REQUEST, why.to_owned(), None)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use rmcp::model::ClientCapabilities;
    use serde_json::json;
    use tokio::time::sleep;

    use super::super::client::{ClientFeatures, LogLevel};
    use super::*;

    fn client(id: &str, wait: Duration) -> CallClient {
        let features: ClientCapabilities = serde_json::from_value(json!({ "roots": {} })).expect("capabilities");
        let id: std::sync::Arc<str> = id.into();
        let name = id.to_string();
        CallClient {
            id,
            features: ClientFeatures::of(&features),
            on_questions: Some(Arc::new(move |questions| {
                let name = name.clone();
                Box::pin(async move {
                    sleep(wait).await;
                    Ok(questions.into_keys().map(|key| (key, json!(name))).collect())
                })
            })),
            log: None,
        }
    }

    fn question() -> InputRequest {
        serde_json::from_value(json!({ "method": "roots/list" })).expect("a question")
    }

    #[tokio::test]
    async fn a_question_reaches_the_only_client_and_none_of_several() {
        let calls = CallsInFlight::default();
        assert!(calls.ask(question()).await.expect_err("nobody").message.starts_with("no call is under way"));
        let first = calls.register(client("a", Duration::ZERO));
        let _second = calls.register(client("a", Duration::ZERO));
        assert_eq!(calls.ask(question()).await.expect("an answer"), "a");
        let other = calls.register(client("b", Duration::ZERO));
        assert!(calls.ask(question()).await.expect_err("two").message.starts_with("several clients"));
        drop((first, other));
        assert_eq!(calls.ask(question()).await.expect("an answer"), "a");
    }

    #[tokio::test]
    async fn the_questions_of_a_call_are_bounded() {
        let calls = CallsInFlight::default();
        let _call = calls.register(client("a", Duration::ZERO));
        for _ in 0..MAX_QUESTIONS {
            calls.ask(question()).await.expect("an answer");
        }
        assert!(calls.ask(question()).await.expect_err("too many").message.contains("at most 16"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_answers_is_not_the_servers() {
        let calls = CallsInFlight::default();
        let call = calls.register(client("a", Duration::from_secs(100)));
        let begun = Instant::now();
        let (used_up, answer) = tokio::join!(
            async {
                call.call.used_up(Duration::from_secs(10)).await;
                begun.elapsed()
            },
            calls.ask(question())
        );
        answer.expect("an answer");
        assert_eq!(used_up, Duration::from_secs(110));
    }

    #[tokio::test]
    async fn a_log_message_reaches_a_client_that_wants_it() {
        let calls = CallsInFlight::default();
        let (told, heard) = mpsc::channel();
        let listen = move |message: LogMessage| told.send(message.data).expect("it is heard");
        let log = Some((LogLevel::Warning, Arc::new(listen) as super::super::client::OnLog));
        let _call = calls.register(CallClient { log, ..client("a", Duration::ZERO) });
        for (level, data) in [(LogLevel::Info, "little"), (LogLevel::Error, "much")] {
            calls.log(LogMessage { level, logger: None, data: json!(data) });
        }
        let other = calls.register(client("b", Duration::ZERO));
        calls.log(LogMessage { level: LogLevel::Error, logger: None, data: json!("whose?") });
        drop(other);
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [json!("much")]);
    }
}
