//! Decides when to report that work continues, by the project's clock.

use std::time::Duration;

use portolan_core::value::Timestamp;

/// The longest wait between two looks at the clock.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct Pulse {
    last: Timestamp,
    every: Duration,
}

impl Pulse {
    pub(super) fn new(now: Timestamp, every: Duration) -> Pulse {
        Pulse { last: now, every }
    }

    /// Returns how long to wait before calling `due` again.
    pub(super) fn patience(&self) -> Duration {
        PATIENCE.min(self.every.max(Duration::from_millis(10)))
    }

    /// Returns the seconds since the last report, if the next one is due.
    pub(super) fn due(&mut self, now: Timestamp) -> Option<u64> {
        let since = u64::try_from(now.0.saturating_sub(self.last.0)).unwrap_or(0);
        if u128::from(since) < self.every.as_millis() {
            return None;
        }
        self.last = now;
        Some(since / 1_000)
    }
}
