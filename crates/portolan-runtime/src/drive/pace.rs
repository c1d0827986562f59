//! Keeps long steps from blocking other tasks.
//!
//! A step of the engine is computed on the thread that reached it, because handing it to another thread costs more than
//! most steps take. But a step may take long, an expression up to a second. So the thread's other work is handed over
//! first for definitions whose expressions can take long for any input. It is also handed over after any long step,
//! which depends on the data, until enough steps were short.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};

/// A step that takes longer blocks others.
const LONG: Duration = Duration::from_millis(2);
/// The number of steps with handover after a long one.
const CAREFUL: u32 = 256;

/// The recent durations of steps.
#[derive(Debug, Default)]
pub struct StepTimer {
    /// The number of next steps with handover.
    careful: AtomicU32,
}

impl StepTimer {
    /// Takes a step of a definition that may be heavy. A single-threaded runtime has no thread for a handover.
    pub(crate) fn take<T>(&self, heavy: bool, step: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let hands_over = (heavy || self.careful.load(Ordering::Relaxed) > 0) && may_hand_over();
        let taken = if hands_over { tokio::task::block_in_place(step) } else { step() };
        self.learn(begun.elapsed());
        taken
    }

    fn learn(&self, took: Duration) {
        let careful = self.careful.load(Ordering::Relaxed);
        if took >= LONG {
            self.careful.store(CAREFUL, Ordering::Relaxed);
        } else if careful > 0 {
            self.careful.store(careful - 1, Ordering::Relaxed);
        }
    }
}

fn may_hand_over() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    /// Checks whether a spawned task runs during a step on the only thread. `listen` is the way of waiting for it.
    fn is_heard(pace: StepTimer, heavy: bool, listen: fn(&Receiver<()>) -> bool) -> bool {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
        runtime.block_on(async {
            let alone = tokio::spawn(async move {
                let (say, hear) = channel();
                tokio::spawn(async move { say.send(()) });
                pace.take(heavy, || listen(&hear))
            });
            alone.await.expect("it does not panic")
        })
    }

    fn patiently(hear: &Receiver<()>) -> bool {
        hear.recv_timeout(Duration::from_secs(20)).is_ok()
    }

    fn careful(pace: &StepTimer) -> u32 {
        pace.careful.load(Ordering::Relaxed)
    }

    #[test]
    fn others_go_on_during_steps_that_may_be_long() {
        let (quick, slow) = (StepTimer::default(), StepTimer::default());
        slow.learn(LONG);
        assert!(is_heard(slow, false, patiently), "after a long step");
        assert!(is_heard(StepTimer::default(), true, patiently), "of a heavy definition");
        let at_once = |hear: &Receiver<()>| hear.try_recv().is_ok();
        assert!(!is_heard(quick, false, at_once), "and not else: handing over costs more than most steps take");
    }

    #[test]
    fn care_ends_when_enough_steps_were_short() {
        let pace = StepTimer::default();
        pace.learn(LONG);
        (0..CAREFUL).for_each(|_| pace.learn(Duration::ZERO));
        assert_eq!(careful(&pace), 0);
    }

    #[test]
    fn where_there_is_one_thread_steps_are_taken_all_the_same() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        assert_eq!(runtime.block_on(async { StepTimer::default().take(true, || 2) }), 2);
    }
}
