//! Retries temporary failures, with exponential backoff and jitter, so that callers that were refused together do not
//! return together.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use portolan_core::chat::{ModelAnswer, ModelError};
use tokio::time::{Instant, sleep, timeout};

use super::{AnswerFuture, Model, ModelQuestion, Sink};

/// The rules of retries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The maximum number of attempts; 0 is 1.
    pub attempts: u32,
    /// The wait after the first failure. It doubles with each further one.
    pub first: Duration,
    /// The maximum wait, unless the provider asks for a longer one.
    pub longest: Duration,
    /// The maximum time of one attempt.
    pub attempt: Duration,
    /// The maximum time of all attempts and waits. A wait that the provider asks for must fit in.
    pub total: Duration,
    /// The seed of the jitter: the same seed gives the same waits.
    pub seed: u64,
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            attempts: 5,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(30),
            attempt: Duration::from_secs(900),
            total: Duration::from_secs(1_800),
            seed: 0,
        }
    }
}

impl RetryPolicy {
    /// Returns the wait after a number of failures: between half and all of the backoff, or longer if the provider asks
    /// for it.
    fn wait(&self, failures: u32, asked_for: Option<u64>, chance: &mut fastrand::Rng) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1).min(31));
        let due = self.first.saturating_mul(doubled).min(self.longest);
        let due = due.mul_f64(0.5 + chance.f64() / 2.0);
        asked_for.map_or(due, |asked_for| due.max(Duration::from_millis(asked_for)))
    }
}

/// A model with retries.
pub struct RetryingModel {
    model: Arc<dyn Model>,
    backoff: RetryPolicy,
    chance: Mutex<fastrand::Rng>,
}

impl RetryingModel {
    /// Retries `model` by these rules.
    pub fn new(model: Arc<dyn Model>, backoff: RetryPolicy) -> RetryingModel {
        let chance = Mutex::new(fastrand::Rng::with_seed(backoff.seed));
        RetryingModel { model, backoff, chance }
    }

    async fn asked(&self, question: ModelQuestion<'_>, sink: Option<&dyn Sink>) -> Result<ModelAnswer, ModelError> {
        let end = Instant::now() + self.backoff.total;
        let mut failures = 0;
        loop {
            let left = self.backoff.attempt.min(end.saturating_duration_since(Instant::now()));
            let failure = match timeout(left, self.model.ask(question, sink)).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(failure)) => failure,
                Err(_elapsed) => late(left),
            };
            failures += 1;
            if !failure.may_pass || failures >= self.backoff.attempts.max(1) {
                return Err(counted(failure, failures));
            }
            let wait = {
                let mut chance = self.chance.lock().unwrap_or_else(PoisonError::into_inner);
                self.backoff.wait(failures, failure.retry_after_ms, &mut chance)
            };
            // If the wait does not fit in, the failure is returned at once.
            if wait >= end.saturating_duration_since(Instant::now()) {
                return Err(counted(failure, failures));
            }
            sleep(wait).await;
            sink.into_iter().for_each(Sink::on_restart);
        }
    }
}

fn late(after: Duration) -> ModelError {
    ModelError::new("timed-out", format!("the model did not answer within {} ms", after.as_millis()))
}

fn counted(failure: ModelError, failures: u32) -> ModelError {
    if failures < 2 {
        return failure;
    }
    ModelError { message: format!("{} (asked {failures} times)", failure.message), ..failure }
}

impl Model for RetryingModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn ask<'a>(&'a self, question: ModelQuestion<'a>, sink: Option<&'a dyn Sink>) -> AnswerFuture<'a> {
        Box::pin(self.asked(question, sink))
    }
}
