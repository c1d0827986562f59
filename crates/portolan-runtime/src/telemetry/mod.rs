//! Traces of runs: a span for each run, each node and each call of a tool, sent over OTLP to the collector that
//! `OTEL_EXPORTER_OTLP_ENDPOINT` names.
//!
//! ```text
//! Drive ─Began, Ended→ Tracing ─spans→ a bounded queue → a thread of its own ─HTTP→ the collector
//! Service ─journal→ LedRun ────spans→
//! ```
//! The drive chooses the identifiers, because a server receives its caller's span before that span has ended. Inputs,
//! arguments, outputs and the messages of faults are never part of a span.

mod config;
mod exporter;

mod sampler;
mod span;
mod steps;
mod tracing;
mod wire;

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc as sync};

use tokio::sync::{mpsc, watch};

use config::Config;
use exporter::{Exporter, SharedState};
use span::Span;

pub(crate) use steps::LedRun;
pub(crate) use tracing::Tracing;

/// Receives messages for the person who watches, one sentence each.
pub type Notes = Arc<dyn Fn(&str) + Send + Sync>;

/// The sender of spans. All clones share one sender. Its thread starts with the first span.
#[derive(Clone)]
pub struct Telemetry(Arc<Inner>);

struct Inner {
    shared: Arc<SharedState>,
    sending: Mutex<ExporterState>,
}

enum ExporterState {
    /// Holds the errors in the variables. A command that runs nothing does not report them.
    NotYet(Vec<String>),
    Running(Thread),
    Over,
}

struct Thread {
    queue: mpsc::Sender<Span>,
    ending: watch::Sender<bool>,
    /// Disconnects when the thread ends.
    done: sync::Receiver<()>,
}

impl Telemetry {
    /// Creates the sender that the environment describes. Returns `None` if it names no collector.
    pub fn from_environment(notes: Notes) -> Option<Telemetry> {
        Telemetry::of(&|name| std::env::var(name).ok(), notes)
    }

    /// Like [`from_environment`](Telemetry::from_environment), with the given variables.
    pub fn of(variables: &dyn Fn(&str) -> Option<String>, notes: Notes) -> Option<Telemetry> {
        let mut found = Vec::new();
        let Some(config) = Config::read(variables, &mut found) else {
            found.iter().for_each(|note| notes(note));
            return None;
        };
        let shared = Arc::new(SharedState::new(config, notes));
        Some(Telemetry(Arc::new(Inner { shared, sending: Mutex::new(ExporterState::NotYet(found)) })))
    }

    /// Returns how many spans did not reach the collector so far, or found the queue full.
    pub fn lost(&self) -> u64 {
        self.0.shared.lost.load(Ordering::Relaxed)
    }

    /// Sends the queued spans, and accepts no more. Returns when they are sent, and at the latest after five seconds,
    /// or after `OTEL_EXPORTER_OTLP_TIMEOUT` if that is less. It blocks: call it while no run is under way.
    pub fn close(&self) {
        let before = std::mem::replace(&mut *self.sending(), ExporterState::Over);
        let ExporterState::Running(Thread { queue, ending, done }) = before else { return };
        // The thread may have ended.
        let _ = ending.send(true);
        drop(queue);
        if done.recv_timeout(self.0.shared.config.flush) == Err(sync::RecvTimeoutError::Timeout) {
            let flush = self.0.shared.config.flush.as_millis();
            self.0.shared.tell(&format!("the last of them were not accepted within {flush} ms"));
        }
        self.0.shared.tell_of_lost();
    }

    /// Queues spans. Never waits.
    fn send(&self, spans: impl IntoIterator<Item = Span>) {
        let mut sending = self.sending();
        if let ExporterState::NotYet(found) = &*sending {
            found.iter().for_each(|note| (self.0.shared.notes)(note));
            *sending = self.start().map_or(ExporterState::Over, ExporterState::Running);
        }
        for span in spans {
            let sent = match &*sending {
                ExporterState::Running(thread) => thread.queue.try_send(span).is_ok(),
                ExporterState::NotYet(_) | ExporterState::Over => false,
            };
            if !sent {
                self.0.shared.lose(1);
            }
        }
    }

    fn start(&self) -> Option<Thread> {
        let shared = self.0.shared.clone();
        let (queue, receiver) = mpsc::channel(shared.config.queue);
        let (ending, ended) = watch::channel(false);
        let (finish, done) = sync::channel();
        let exporter = Exporter { shared: shared.clone(), queue: receiver, ending: ended };
        let work = move || {
            // Dropped when the thread ends, even by a panic, which wakes the waiting `close`.
            let _finish: sync::Sender<()> = finish;
            match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime.block_on(exporter.work()),
                Err(error) => exporter.shared.tell(&format!("they cannot be sent ({error})")),
            }
        };
        match std::thread::Builder::new().name("portolan-traces".to_owned()).spawn(work) {
            Ok(_detached) => Some(Thread { queue, ending, done }),
            Err(error) => {
                shared.tell(&format!("they cannot be sent ({error})"));
                None
            }
        }
    }

    fn sending(&self) -> MutexGuard<'_, ExporterState> {
        self.0.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The headers are secrets.
        f.debug_tuple("Telemetry").field(&self.0.shared.config.shown()).finish()
    }
}
