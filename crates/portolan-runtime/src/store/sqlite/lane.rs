//! A thread with a queue. Knows nothing of its jobs.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::store::StoreError;

/// A thread that starts with its first job, and again with the next one if it has died.
///
/// Dropping it waits until the queue is empty and the thread has ended.
pub(super) struct Lane<J> {
    name: &'static str,
    work: Arc<dyn Fn(Receiver<J>) + Send + Sync>,
    running: Mutex<Option<LaneThread<J>>>,
}

struct LaneThread<J> {
    queue: Sender<J>,
    thread: JoinHandle<()>,
}

impl<J: Send + 'static> Lane<J> {
    /// Returns a lane. `work` takes jobs until the queue ends.
    pub(super) fn new(name: &'static str, work: impl Fn(Receiver<J>) + Send + Sync + 'static) -> Lane<J> {
        Lane { name, work: Arc::new(work), running: Mutex::new(None) }
    }

    /// Queues a job.
    pub(super) fn send(&self, job: J) -> Result<(), StoreError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let job = match &*running {
            None => job,
            Some(LaneThread { queue, .. }) => match queue.send(job) {
                Ok(()) => return Ok(()),
                Err(unsent) => unsent.0,
            },
        };
        let (queue, jobs) = channel();
        let work = Arc::clone(&self.work);
        let thread = Builder::new().name(self.name.to_owned()).spawn(move || work(jobs)).map_err(|error| {
            StoreError::Unavailable(format!("no thread for the run store could be started ({error}): try again"))
        })?;
        queue.send(job).map_err(|_| ended())?;
        *running = Some(LaneThread { queue, thread });
        Ok(())
    }
}

impl<J> Drop for Lane<J> {
    fn drop(&mut self) {
        let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(LaneThread { queue, thread }) = running {
            drop(queue);
            // A thread that panicked has dropped its last caller's channel already, which reports the failure.
            let _ = thread.join();
        }
    }
}

/// Returns the error for a job that was lost with the thread.
pub(super) fn ended() -> StoreError {
    StoreError::Unavailable("the run store stopped in the middle of a request: load the run and try again".to_owned())
}
