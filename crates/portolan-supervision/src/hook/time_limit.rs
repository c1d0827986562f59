//! A time limit for judgements. Most hosts treat a hook that they had to stop as one that allowed the call.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The timeout for recording a call that was not judged.
pub(super) const LAST_WORDS: Duration = Duration::from_millis(500);

/// Why there is no judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotInTime {
    /// The time limit was exceeded.
    Late(Duration),
    /// The program panicked.
    Panicked,
}

impl NotInTime {
    /// Returns the reason of the refusal.
    pub fn message(self) -> String {
        match self {
            NotInTime::Late(limit) => {
                format!("it was not judged within {} s, so it is refused", limit.as_secs_f32())
            }
            NotInTime::Panicked => "portolan failed while judging it, so it is refused".to_owned(),
        }
    }
}

/// Returns the result of `judge`, if it ends within the limit. Otherwise it continues in its thread, and its result is
/// dropped.
///
/// # Errors
/// It was late, or it panicked.
pub fn within<T: Send + 'static>(limit: Duration, judge: impl FnOnce() -> T + Send + 'static) -> Result<T, NotInTime> {
    let (send, receive) = mpsc::sync_channel(1);
    let judging = thread::Builder::new().spawn(move || {
        // After the limit, there is no receiver.
        let _late = send.send(panic::catch_unwind(AssertUnwindSafe(judge)));
    });
    if judging.is_err() {
        return Err(NotInTime::Panicked);
    }
    match receive.recv_timeout(limit) {
        Ok(Ok(judged)) => Ok(judged),
        Ok(Err(_)) | Err(mpsc::RecvTimeoutError::Disconnected) => Err(NotInTime::Panicked),
        Err(mpsc::RecvTimeoutError::Timeout) => Err(NotInTime::Late(limit)),
    }
}
