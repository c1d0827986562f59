//! Where events get their time from. The core has none; this is the only place that reads the machine's.

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
    /// A clock that stands at a time and advances by a second with each look, so that texts can be compared.
    Stepping(Arc<AtomicI64>),
    /// A clock that stands at a time: what is tested under it comes to the same each time.
    Still(Timestamp),
}

impl Clock {
    /// A stepping clock whose first time is `milliseconds` after 1970.
    pub fn stepping(milliseconds: i64) -> Clock {
        Clock::Stepping(Arc::new(AtomicI64::new(milliseconds)))
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        match self {
            // A clock before 1970 is a machine that has not found the time yet: the epoch is as good.
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

/// A time as people and programs read it: RFC 3339 in UTC, to the second.
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
