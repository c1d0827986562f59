//! Traces of functions, for whoever collects them: a span for each run, each node and each call of a tool, sent over
//! OTLP where `OTEL_EXPORTER_OTLP_ENDPOINT` says so.
//!
//! ```text
//! Drive ─Began, Ended→ Tracing ─spans→ a bounded queue → a thread of its own ─HTTP→ the collector
//! ```
//! The identifiers are the drive's: a server is told its caller's span before that span is over. What a run works on, its
//! input, arguments and outputs, is never part of a span, and neither are the messages of its faults.

mod config;
mod exporter;
mod sampler;
mod span;
mod tracing;
mod wire;

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc as sync};

use tokio::sync::{mpsc, watch};

use config::Config;
use exporter::{Exporter, Shared};
use span::Span;

pub(crate) use tracing::Tracing;

/// Is told, in a sentence, what the person who watches should know.
pub type Notes = Arc<dyn Fn(&str) + Send + Sync>;

/// Where spans go. All clones are the same one. Nothing is started before the first span.
#[derive(Clone)]
pub struct Telemetry(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    sending: Mutex<Sending>,
}

enum Sending {
    /// With what is to be said of the variables. A command that runs nothing need not hear it.
    NotYet(Vec<String>),
    Running(Thread),
    Over,
}

struct Thread {
    queue: mpsc::Sender<Span>,
    ending: watch::Sender<bool>,
    /// Its other end goes with the thread.
    done: sync::Receiver<()>,
}

impl Telemetry {
    /// What the variables of the environment ask for; nothing when they name no collector.
    pub fn from_environment(notes: Notes) -> Option<Telemetry> {
        Telemetry::of(&|name| std::env::var(name).ok(), notes)
    }

    /// The same, of any variables.
    pub fn of(variables: &dyn Fn(&str) -> Option<String>, notes: Notes) -> Option<Telemetry> {
        let mut found = Vec::new();
        let Some(config) = Config::read(variables, &mut found) else {
            found.iter().for_each(|note| notes(note));
            return None;
        };
        let shared = Arc::new(Shared::new(config, notes));
        Some(Telemetry(Arc::new(Inner { shared, sending: Mutex::new(Sending::NotYet(found)) })))
    }

    /// How many spans did not reach the collector so far, or found no place in the queue.
    pub fn lost(&self) -> u64 {
        self.0.shared.lost.load(Ordering::Relaxed)
    }

    /// Sends what waits, and takes no more. Returns when it is sent, and at the latest after five seconds, or after
    /// `OTEL_EXPORTER_OTLP_TIMEOUT` where that is less. It blocks: call it where no run is under way.
    pub fn close(&self) {
        let before = std::mem::replace(&mut *self.sending(), Sending::Over);
        let Sending::Running(Thread { queue, ending, done }) = before else { return };
        // Nobody may be listening any more.
        let _ = ending.send(true);
        drop(queue);
        if done.recv_timeout(self.0.shared.config.flush) == Err(sync::RecvTimeoutError::Timeout) {
            let flush = self.0.shared.config.flush.as_millis();
            self.0.shared.tell(&format!("the last of them were not taken within {flush} ms"));
        }
        self.0.shared.tell_of_lost();
    }

    /// Hands spans over. It never waits.
    fn send(&self, spans: impl IntoIterator<Item = Span>) {
        let mut sending = self.sending();
        if let Sending::NotYet(found) = &*sending {
            found.iter().for_each(|note| (self.0.shared.notes)(note));
            *sending = self.start().map_or(Sending::Over, Sending::Running);
        }
        for span in spans {
            let sent = match &*sending {
                Sending::Running(thread) => thread.queue.try_send(span).is_ok(),
                Sending::NotYet(_) | Sending::Over => false,
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
            // Dropped at the end, also of a panic, it tells whoever waits for it.
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

    fn sending(&self) -> MutexGuard<'_, Sending> {
        self.0.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The headers are secrets.
        f.debug_tuple("Telemetry").field(&self.0.shared.config.shown()).finish()
    }
}
