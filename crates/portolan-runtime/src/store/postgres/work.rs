//! The store's thread, with the connections that append.

use std::sync::{Arc, OnceLock};

use tokio::sync::{Mutex, mpsc, watch};

use super::write::{self, Append};
use super::{SharedState, listen};
use crate::store::StoreError;
use crate::store::jobs::{Jobs, Thread};

/// The thread, with its queues. Dropping it waits until everything that was requested is done: the queue of the appends
/// ends before the thread does.
pub(super) struct Work {
    /// The number of notifications, once somebody waits for them.
    news: OnceLock<watch::Receiver<u64>>,
    pub(super) appends: mpsc::UnboundedSender<Append>,
    thread: Thread,
}

/// The number of connections that append. While one waits for the server's disk, the other takes the next batch. With more,
/// the batches are smaller, and the server does more for each record.
const WRITERS: usize = 2;

impl Work {
    pub(super) fn start(shared: &Arc<SharedState>) -> Result<Work, StoreError> {
        let (appends, rows) = mpsc::unbounded_channel();
        let (rows, thread) = (Arc::new(Mutex::new(rows)), Thread::start("store-postgres")?);
        for _ in 0..WRITERS {
            let (shared, rows, jobs) = (Arc::clone(shared), Arc::clone(&rows), thread.jobs.clone());
            thread.jobs.run(async move || write::serve(shared, rows, jobs).await);
        }
        Ok(Work { news: OnceLock::new(), appends, thread })
    }

    pub(super) fn jobs(&self) -> &Jobs {
        &self.thread.jobs
    }

    /// Returns the number of notifications of the server, which changes with each.
    pub(super) fn news(&self, shared: &Arc<SharedState>) -> watch::Receiver<u64> {
        let listen = || {
            let (sender, receiver) = watch::channel(0);
            let shared = Arc::clone(shared);
            self.jobs().run(async move || listen::serve(shared, sender).await);
            receiver
        };
        self.news.get_or_init(listen).clone()
    }
}
