//! A limit on how long may be judged: most hosts take a hook that they had to stop for one that has allowed the call.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long is waited for the record of what was not judged.
pub(super) const LAST_WORDS: Duration = Duration::from_millis(500);

/// Why there is no judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotInTime {
    /// The time is up.
    Late(Duration),
    /// The program has a fault.
    Panicked,
}

impl NotInTime {
    /// The reason of a refusal.
    pub fn message(self) -> String {
        match self {
            NotInTime::Late(limit) => {
                format!("it was not judged within {} s, and what is not judged does not happen", limit.as_secs_f32())
            }
            NotInTime::Panicked => {
                "portolan has failed while it judged, and what is not judged does not happen".to_owned()
            }
        }
    }
}

/// What `judge` comes to, if it does so in time. What is late goes on by itself, and nobody hears of it.
///
/// # Errors
/// It is late, or it panicked.
pub fn within<T: Send + 'static>(limit: Duration, judge: impl FnOnce() -> T + Send + 'static) -> Result<T, NotInTime> {
    let (send, receive) = mpsc::sync_channel(1);
    let judging = thread::Builder::new().spawn(move || {
        // Once the time is up nobody listens.
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
