//! The difference between the clocks of this machine and of the server.
//!
//! When a run is due is decided by the clocks of the machines that write its records. In the database it stands by the
//! server's clock: otherwise a run of a machine whose clock is ahead would wait for that long.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::ClientWrapper;
use tokio_postgres::Error;

use crate::clock::Clock;

/// Differences that are smaller are within the time of a request, and are none.
const LEAST: i64 = 1_000;
/// How long a measurement counts: a clock can jump.
const LIFETIME: Duration = Duration::from_secs(30);
const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::BIGINT";

/// The difference, as it was measured last.
#[derive(Default)]
pub(super) struct Skew {
    clock: Clock,
    milliseconds: AtomicI64,
    measured: Mutex<Option<Instant>>,
}

impl Skew {
    /// Returns the difference to another clock of this machine.
    pub(super) fn of(clock: Clock) -> Skew {
        Skew { clock, ..Skew::default() }
    }

    /// Measures it, unless that was done a moment ago.
    pub(super) async fn measure(&self, client: &ClientWrapper) -> Result<(), Error> {
        let is_fresh = |at: &mut Option<Instant>| at.is_some_and(|at| at.elapsed() < LIFETIME);
        if is_fresh(&mut self.measured.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(());
        }
        let before = self.clock.now().0;
        let there: i64 = client.query_one(NOW, &[]).await?.get(0);
        let here = before.midpoint(self.clock.now().0);
        let difference = there.saturating_sub(here);
        self.milliseconds.store(if difference.abs() < LEAST { 0 } else { difference }, Ordering::Relaxed);
        *self.measured.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        Ok(())
    }

    /// Returns the time of the server at a time of this machine.
    pub(super) fn there(&self, here: i64) -> i64 {
        here.saturating_add(self.milliseconds.load(Ordering::Relaxed))
    }
}
