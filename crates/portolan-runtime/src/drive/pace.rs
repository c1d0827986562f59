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
pub(crate) struct Pace {
    /// How many of the next steps are to be taken with care.
    careful: AtomicU32,
}

impl Pace {
    /// Takes a step, of a definition that may be heavy. On a runtime of a single thread there is nobody to hand over to.
    pub(crate) fn take<T>(&self, heavy: bool, step: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let careful = self.careful.load(Ordering::Relaxed);
        let hands_over = (heavy || careful > 0) && may_hand_over();
        let taken = if hands_over { tokio::task::block_in_place(step) } else { step() };
        if begun.elapsed() >= LONG {
            self.careful.store(CAREFUL, Ordering::Relaxed);
        } else if careful > 0 {
            self.careful.store(careful - 1, Ordering::Relaxed);
        }
        taken
    }
}

fn may_hand_over() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn after_a_long_step_others_go_on_during_the_next() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
        let heard = runtime.block_on(async {
            let alone = tokio::spawn(async {
                let pace = Pace::default();
                pace.take(false, || thread::sleep(LONG));
                let (say, hear) = mpsc::channel();
                tokio::spawn(async move { say.send("others go on") });
                // There is one thread: what was just spawned is waiting for it.
                pace.take(false, || hear.recv_timeout(Duration::from_secs(20)))
            });
            alone.await.expect("it does not panic")
        });
        assert_eq!(heard, Ok("others go on"));
    }

    #[test]
    fn where_there_is_one_thread_steps_are_taken_all_the_same() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let pace = Pace::default();
        pace.take(false, || thread::sleep(LONG));
        assert_eq!(runtime.block_on(async { pace.take(true, || 2) }), 2);
        assert_eq!(pace.careful.load(Ordering::Relaxed), CAREFUL - 1);
    }
}
