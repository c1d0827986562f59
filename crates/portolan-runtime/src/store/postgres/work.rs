//! The store's own thread. Its tasks go on whether or not their callers wait, and end before the store is gone.

use std::sync::mpsc as channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::{mpsc, watch};
use tokio::task::{LocalSet, spawn_local};

use super::write::{self, Append};
use super::{SharedState, listen};
use crate::store::StoreError;

type Job = Box<dyn FnOnce() + Send>;

/// The queue of the thread.
#[derive(Clone)]
pub(super) struct Jobs {
    queue: mpsc::UnboundedSender<Job>,
    /// The drop of the store waits for the jobs that hold this.
    alive: Weak<channel::Sender<()>>,
}

impl Jobs {
    /// Does some work on the thread.
    pub(super) fn run<F: Future<Output = ()> + 'static>(&self, work: impl FnOnce() -> F + Send + 'static) {
        let alive = self.alive.upgrade();
        let job: Job = Box::new(move || {
            drop(spawn_local(async move {
                work().await;
                drop(alive);
            }));
        });
        // The thread ends only when no queue is left.
        let _ = self.queue.send(job);
    }
}

/// The thread, with its queues.
///
/// Dropping it waits until everything that was requested is done. The thread itself lasts as long as its leases.
pub(super) struct Work {
    pub(super) jobs: Jobs,
    pub(super) appends: mpsc::UnboundedSender<Append>,
    alive: Option<Arc<channel::Sender<()>>>,
    ended: Mutex<channel::Receiver<()>>,
    /// The number of notifications, once somebody waits for them.
    news: OnceLock<watch::Receiver<u64>>,
}

/// The number of connections that append. One that waits for its disk leaves the next batch to another.
const WRITERS: usize = 4;
/// The maximum time for which the drop of a store waits.
const PATIENCE: Duration = Duration::from_secs(20);

impl Work {
    pub(super) fn start(shared: &Arc<SharedState>) -> Result<Work, StoreError> {
        let ((jobs, queue), (appends, rows)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
        let (alive, ended) = channel::channel();
        let alive = Arc::new(alive);
        let (shared, writers) = (Arc::clone(shared), Arc::clone(&alive));
        let runtime = Builder::new_current_thread().enable_all().build();
        let thread = runtime.and_then(|runtime| {
            thread::Builder::new().name("store-postgres".to_owned()).spawn(move || {
                let tasks = LocalSet::new();
                tasks.block_on(&runtime, serve(shared, queue, rows, writers));
                runtime.block_on(tasks);
            })
        });
        match thread {
            Ok(_) => Ok(Work {
                jobs: Jobs { queue: jobs, alive: Arc::downgrade(&alive) },
                appends,
                alive: Some(alive),
                ended: Mutex::new(ended),
                news: OnceLock::new(),
            }),
            Err(error) => Err(StoreError::Failed {
                code: "store_unavailable",
                message: format!("the thread of the run store cannot be started ({error})"),
                help: "end other programs, then try again".to_owned(),
            }),
        }
    }
}

impl Work {
    /// Returns the number of notifications of the server, which changes with each.
    pub(super) fn news(&self, shared: &Arc<SharedState>) -> watch::Receiver<u64> {
        let listen = || {
            let (sender, receiver) = watch::channel(0);
            let shared = Arc::clone(shared);
            self.jobs.run(async move || listen::serve(shared, sender).await);
            receiver
        };
        self.news.get_or_init(listen).clone()
    }
}

async fn serve(
    shared: Arc<SharedState>,
    mut queue: mpsc::UnboundedReceiver<Job>,
    rows: mpsc::UnboundedReceiver<Append>,
    alive: Arc<channel::Sender<()>>,
) {
    let rows = Arc::new(tokio::sync::Mutex::new(rows));
    for _ in 0..WRITERS {
        let (shared, rows, alive) = (Arc::clone(&shared), Arc::clone(&rows), Arc::clone(&alive));
        spawn_local(async move {
            write::serve(shared, rows).await;
            drop(alive);
        });
    }
    drop(alive);
    while let Some(job) = queue.recv().await {
        job();
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // Without them the thread ends after its last task.
        self.news.take();
        self.alive = None;
        (self.jobs.queue, self.appends) = (mpsc::unbounded_channel().0, mpsc::unbounded_channel().0);
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = ended.recv_timeout(PATIENCE);
    }
}
