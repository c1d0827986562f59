//! Sends spans from a separate thread, so that no run waits for a collector. Spans wait in a bounded queue; if it is
//! full, they are dropped and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, StatusCode, redirect};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

use super::config::Config;
use super::span::Span;
use super::{Notes, wire};
use crate::http;

/// How often an export is tried if the collector temporarily cannot take it.
const TRIES: u32 = 4;
/// The delay before the first retry. It doubles with each further one.
const BACKOFF: Duration = Duration::from_millis(500);

/// The state that both ends of the queue share.
pub(super) struct SharedState {
    pub(super) config: Config,
    pub(super) notes: Notes,
    /// How many spans did not reach the collector.
    pub(super) lost: AtomicU64,
    /// Whether the user was warned that spans do not arrive.
    warned: AtomicBool,
}

/// The receiving end of the queue.
pub(super) struct Exporter {
    pub(super) shared: Arc<SharedState>,
    pub(super) queue: mpsc::Receiver<Span>,
    /// Becomes true when the process ends. Then an unreachable collector is not retried.
    pub(super) ending: watch::Receiver<bool>,
}

impl SharedState {
    pub(super) fn new(config: Config, notes: Notes) -> SharedState {
        SharedState { config, notes, lost: AtomicU64::new(0), warned: AtomicBool::new(false) }
    }

    pub(super) fn lose(&self, spans: usize) {
        self.lost.fetch_add(spans as u64, Ordering::Relaxed);
    }

    /// Reports once that spans do not arrive.
    pub(super) fn tell(&self, why: &str) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            let to = self.config.shown();
            (self.notes)(&format!(
                "traces do not arrive at `{to}`: {why}; make sure that a collector accepts OTLP over HTTP there, \
                or unset `OTEL_EXPORTER_OTLP_ENDPOINT`; runs continue anyway, and this is reported only once"
            ));
        }
    }

    /// Reports how many spans were lost, unless it was reported that none arrives.
    pub(super) fn tell_of_lost(&self) {
        let lost = self.lost.load(Ordering::Relaxed);
        if lost > 0 && !self.warned.swap(true, Ordering::Relaxed) {
            let (to, queue) = (self.config.shown(), self.config.queue);
            (self.notes)(&format!(
                "{lost} spans were dropped: they came faster than `{to}` accepted them; raise \
                `OTEL_BSP_MAX_QUEUE_SIZE`, which is {queue}"
            ));
        }
    }
}

impl Exporter {
    /// Sends spans until the queue is closed and empty.
    pub(super) async fn work(mut self) {
        let client = match self.client() {
            Ok(client) => client,
            Err(error) => {
                self.shared.tell(&explained(&error));
                // With a closed queue, spans that are still sent count as lost.
                self.queue.close();
                self.shared.lose(self.queue.len());
                return;
            }
        };
        let mut batch = Vec::new();
        while self.fill(&mut batch).await {
            self.deliver(&client, &batch).await;
            batch.clear();
        }
    }

    fn client(&self) -> Result<Client, reqwest::Error> {
        http::client()
            .timeout(self.shared.config.timeout)
            .default_headers(self.shared.config.headers.clone())
            // The headers are only for the configured collector.
            .redirect(redirect::Policy::none())
            .build()
    }

    /// Waits for the first span, and then until the batch is full or the delay is over.
    async fn fill(&mut self, batch: &mut Vec<Span>) -> bool {
        let Config { batch: most, delay, .. } = self.shared.config;
        if self.queue.recv_many(batch, most).await == 0 {
            return false;
        }
        let until = Instant::now() + delay;
        while batch.len() < most {
            match timeout_at(until, self.queue.recv_many(batch, most - batch.len())).await {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
        true
    }

    async fn deliver(&mut self, client: &Client, batch: &[Span]) {
        let body = wire::request(&self.shared.config.resource, batch);
        let mut backoff = BACKOFF;
        let mut tries = 1;
        let why = loop {
            let failure = match self.send(client, &body).await {
                Ok(()) => return,
                Err(failure) => failure,
            };
            if !failure.passes || tries == TRIES || !self.wait(backoff, failure.answered).await {
                break failure.why;
            }
            (tries, backoff) = (tries + 1, backoff * 2);
        };
        self.shared.tell(&why);
        self.shared.lose(batch.len());
    }

    /// Waits before a retry, and returns whether to retry. At the end of the process, only a collector that has
    /// answered is retried; the flush timeout limits the time.
    async fn wait(&mut self, backoff: Duration, answered: bool) -> bool {
        tokio::select! {
            () = tokio::time::sleep(backoff) => true,
            _ = self.ending.wait_for(|ending| *ending), if !answered => false,
        }
    }

    async fn send(&self, client: &Client, body: &[u8]) -> Result<(), Failure> {
        let request = client.post(self.shared.config.endpoint.clone());
        let request = request.header(CONTENT_TYPE, "application/x-protobuf").body(body.to_vec());
        match request.send().await {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) => {
                let passes = matches!(
                    answer.status(),
                    StatusCode::TOO_MANY_REQUESTS
                        | StatusCode::BAD_GATEWAY
                        | StatusCode::SERVICE_UNAVAILABLE
                        | StatusCode::GATEWAY_TIMEOUT
                );
                Err(Failure { why: format!("it answers {}", answer.status()), passes, answered: true })
            }
            Err(error) if error.is_timeout() => {
                let why = format!("it does not answer within {} ms", self.shared.config.timeout.as_millis());
                Err(Failure { why, passes: true, answered: false })
            }
            Err(error) => Err(Failure { why: explained(&error), passes: true, answered: false }),
        }
    }
}

/// Why an export failed.
struct Failure {
    why: String,
    /// Whether the failure may be temporary.
    passes: bool,
    /// Whether the collector itself reported it.
    answered: bool,
}

/// Returns the cause of a failed request.
fn explained(error: &reqwest::Error) -> String {
    http::cause(error).unwrap_or_else(|| "the request cannot be made".to_owned())
}
