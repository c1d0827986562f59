//! The time source of events. The core has none; only this module reads the machine's clock for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use portolan_core::value::Timestamp;

/// A source of time.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine's clock.
    #[default]
    System,
    /// A clock that advances by a second with each call, so that texts can be compared.
    Stepping(Arc<AtomicI64>),
    /// A clock that stands still, so that tests are deterministic.
    Still(Timestamp),
}

impl Clock {
    /// Creates a stepping clock that starts at `milliseconds` after 1970.
    pub fn stepping(milliseconds: i64) -> Clock {
        Clock::Stepping(Arc::new(AtomicI64::new(milliseconds)))
    }

    /// Returns the time.
    pub fn now(&self) -> Timestamp {
        match self {
            // A machine whose clock is before 1970 has no valid time yet; the epoch stands for it.
            Clock::System => Timestamp(
                SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
            ),
            Clock::Stepping(at) => Timestamp(at.fetch_add(1_000, Ordering::Relaxed)),
            Clock::Still(at) => *at,
        }
    }
}

/// Formats a time as RFC 3339 in UTC, with seconds.
pub fn rfc3339(at: Timestamp) -> String {
    let time = chrono::DateTime::from_timestamp_millis(at.0);
    time.map_or_else(|| at.0.to_string(), |time| time.to_rfc3339_opts(chrono::SecondsFormat::Secs, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stepping_clock_steps() {
        let clock = Clock::stepping(1_700_000_000_000);
        assert_eq!(rfc3339(clock.now()), "2023-11-14T22:13:20Z");
        assert_eq!(rfc3339(clock.now()), "2023-11-14T22:13:21Z");
    }
}
