//! The log of the calls. Entries of calls that are under way at the same time are appended together; whoever waits for
//! an entry continues when it is in the log.

use std::sync::{Arc, Mutex, PoisonError};

use portolan_runtime::audit::{AtOnce, AuditError, Durability, LogEntry};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task;

use crate::hook::Gatekeeper;

/// The log of the calls of a gateway.
pub(super) struct CallsLog {
    keeper: Gatekeeper,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<PendingEntries>,
    /// Whether a task appends what waits.
    is_served: bool,
}

struct PendingEntries {
    entries: Vec<LogEntry>,
    appended: oneshot::Sender<Result<(), AuditError>>,
}

/// The future end of an append.
pub(super) struct PendingAppend(oneshot::Receiver<Result<(), AuditError>>);

impl PendingAppend {
    /// Waits until the entries are in the log.
    ///
    /// # Errors
    /// They are not.
    pub(super) async fn done(self) -> Result<(), AuditError> {
        self.0.await.unwrap_or_else(|_panicked| Err(AuditError::unfinished()))
    }
}

impl CallsLog {
    pub(super) fn of(keeper: Gatekeeper) -> Arc<CallsLog> {
        Arc::new(CallsLog { keeper, queue: Mutex::default() })
    }

    /// Appends entries, in the order of these calls. They are appended even if nobody waits for it.
    pub(super) fn append(self: &Arc<Self>, entries: Vec<LogEntry>) -> PendingAppend {
        let (appended, appending) = oneshot::channel();
        // A runtime that ends drops its tasks when it can no longer perform new ones.
        let Ok(runtime) = Handle::try_current() else {
            let _waited_for = appended.send(self.keeper.append(&entries, Durability::Written));
            return PendingAppend(appending);
        };
        let mut queue = self.queue();
        queue.waiting.push(PendingEntries { entries, appended });
        if !std::mem::replace(&mut queue.is_served, true) {
            runtime.spawn(Arc::clone(self).serve());
        }
        PendingAppend(appending)
    }

    /// Waits until all entries so far are in the log, or cannot be.
    pub(super) async fn flush(self: &Arc<Self>) {
        let _reported_to_others = self.append(Vec::new()).done().await;
    }

    /// Appends what waits, until nothing does.
    async fn serve(self: Arc<Self>) {
        loop {
            // Calls that can continue now add their entries first.
            task::yield_now().await;
            let waiting = {
                let mut queue = self.queue();
                if queue.waiting.is_empty() {
                    queue.is_served = false;
                    return;
                }
                std::mem::take(&mut queue.waiting)
            };
            let (entries, appended): (Vec<_>, Vec<_>) =
                waiting.into_iter().map(|waiting| (waiting.entries, waiting.appended)).unzip();
            let written = self.write(entries.into_iter().flatten().collect()).await;
            for appended in appended {
                let _waited_for = appended.send(written.clone());
            }
        }
    }

    async fn write(&self, entries: Vec<LogEntry>) -> Result<(), AuditError> {
        if entries.is_empty() {
            return Ok(());
        }
        if let AtOnce::Appended = self.keeper.append_at_once(&entries)? {
            return Ok(());
        }
        let keeper = self.keeper.clone();
        // Another process may hold the lock of the log.
        let written = task::spawn_blocking(move || keeper.append(&entries, Durability::Written)).await;
        written.unwrap_or_else(|_panicked| Err(AuditError::unfinished()))
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
