//! A store's own thread. Its tasks go on whether or not their callers wait, and end before the store is gone.

use std::sync::mpsc as channel;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{LocalSet, spawn_local};

use super::StoreError;

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

    /// Does some work on the thread and returns its result.
    pub(super) async fn result_of<T, F>(&self, work: impl FnOnce() -> F + Send + 'static) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.run(async move || {
            // The caller may be gone, and nothing else needs the result.
            let _ = reply.send(work().await);
        });
        answer.await.unwrap_or_else(|_| Err(ended()))
    }

    /// Reads something on the thread. A read that nobody waits for any longer is given up: if the server is away, the drop
    /// of the store would wait for it.
    pub(super) async fn read<T, F>(&self, work: impl FnOnce() -> F + Send + 'static) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + 'static,
    {
        let (mut reply, answer) = oneshot::channel();
        self.run(async move || {
            let result = tokio::select! {
                result = work() => Some(result),
                () = reply.closed() => None,
            };
            if let Some(result) = result {
                let _ = reply.send(result);
            }
        });
        answer.await.unwrap_or_else(|_| Err(ended()))
    }
}

/// The thread.
///
/// Dropping it waits until everything that was requested is done. The thread itself lasts as long as its queues.
pub(super) struct Thread {
    pub(super) jobs: Jobs,
    alive: Option<Arc<channel::Sender<()>>>,
    ended: Mutex<channel::Receiver<()>>,
}

/// The maximum time for which the drop of a store waits.
const PATIENCE: Duration = Duration::from_secs(20);

impl Thread {
    pub(super) fn start(name: &str) -> Result<Thread, StoreError> {
        let (jobs, queue) = mpsc::unbounded_channel();
        let (alive, ended) = channel::channel();
        let alive = Arc::new(alive);
        let runtime = Builder::new_current_thread().enable_all().build();
        let thread = runtime.and_then(|runtime| {
            thread::Builder::new().name(name.to_owned()).spawn(move || {
                let tasks = LocalSet::new();
                tasks.block_on(&runtime, serve(queue));
                runtime.block_on(tasks);
            })
        });
        match thread {
            Ok(_) => Ok(Thread {
                jobs: Jobs { queue: jobs, alive: Arc::downgrade(&alive) },
                alive: Some(alive),
                ended: Mutex::new(ended),
            }),
            Err(error) => Err(StoreError::Failed {
                code: "store_unavailable",
                message: format!("the thread of the run store cannot be started ({error})"),
                help: "end other programs, then try again".to_owned(),
            }),
        }
    }
}

async fn serve(mut queue: mpsc::UnboundedReceiver<Job>) {
    while let Some(job) = queue.recv().await {
        job();
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.alive = None;
        // Without queues the thread ends after its last task.
        self.jobs.queue = mpsc::unbounded_channel().0;
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = ended.recv_timeout(PATIENCE);
    }
}

/// Returns the error for a thread that is gone.
pub(super) fn ended() -> StoreError {
    StoreError::Unavailable("the thread of the run store has ended: start again".to_owned())
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_read_that_nobody_waits_for_is_given_up() {
        let thread = Thread::start("store-test").expect("a thread");
        let (begun, given_up) = oneshot::channel::<()>();
        let read = thread.jobs.read(async move || {
            let _begun = begun;
            pending::<Result<(), StoreError>>().await
        });
        assert!(timeout(Duration::ZERO, read).await.is_err(), "it takes for ever");
        let given_up = timeout(PATIENCE, given_up).await;
        assert!(matches!(given_up, Ok(Err(_))), "its work was dropped: {given_up:?}");
    }
}
