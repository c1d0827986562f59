//! Long steps hold up nobody else.
//!
//! A step of the engine is computed on the thread that came to it: handing it to another costs more than most steps take.
//! A step may take long all the same, an expression up to its second. So where a definition's expressions can go on for
//! long whatever they are given, the thread's other work is handed over first; and everywhere once a step was long, which
//! depends on the data, until enough of them were short.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};

/// What takes longer than this holds up others.
const LONG: Duration = Duration::from_millis(2);
/// How many steps are taken with care after a long one.
const CAREFUL: u32 = 256;

/// How long steps have taken lately.
#[derive(Debug, Default)]
pub struct StepTimer {
    /// How many of the next steps are to be taken with care.
    careful: AtomicU32,
}

impl StepTimer {
    /// Takes a step, of a definition that may be heavy. On a runtime of a single thread there is nobody to hand over to.
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

    /// Whether a task that was just spawned is heard during a step on the only thread there is, by this way of listening.
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
