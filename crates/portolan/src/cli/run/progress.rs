//! What a run is doing, while it does it: lines for the nodes that are done, and one that is drawn again and again for
//! those that run.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use portolan_core::present::way;
use portolan_runtime::drive::{Began, Ended, Watch};

use super::outcome::width;
use super::waterfall::milliseconds;
use crate::cli::output::one_line;

/// How often the last line is drawn again.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// How many nodes get a line of their own; after that, they are counted.
const MAX_LINES: u64 = 200;
/// What takes the cursor to the beginning of an empty line.
const CLEAR: &str = "\r\u{1b}[2K";

/// The progress of a run. All clones are the same one.
#[derive(Clone, Default)]
pub(super) struct Progress(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    running: BTreeMap<String, Running>,
    done: u64,
    failed: u64,
}

struct Running {
    since: Instant,
    retries: u32,
}

impl Progress {
    /// Draws to standard error what the run does.
    pub(super) fn watch(&self) -> Watch {
        let (begins, ends) = (self.clone(), self.clone());
        Watch::new(move |began| begins.began(began), move |ended| ends.ended(ended))
    }

    /// Draws the last line again.
    pub(super) fn tick(&self) {
        let line = self.state().line(Instant::now(), width());
        draw(&format!("{CLEAR}{line}"));
    }

    /// Takes the last line away.
    pub(super) fn finish(&self) {
        draw(CLEAR);
    }

    fn began(&self, began: &Began<'_>) {
        let name = way(began.path, began.node);
        let mut state = self.state();
        let since = state.running.get(&name).map_or_else(Instant::now, |running| running.since);
        state.running.insert(name, Running { since, retries: began.retries });
    }

    fn ended(&self, ended: &Ended<'_>) {
        let name = way(ended.path, &ended.node.id);
        let line = {
            let mut state = self.state();
            state.running.remove(&name);
            state.done += 1;
            state.failed += u64::from(ended.fault.is_some());
            (state.done <= MAX_LINES).then(|| done(&name, ended))
        };
        if let Some(line) = line {
            draw(&format!("{CLEAR}{line}\n"));
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn done(name: &str, ended: &Ended<'_>) -> String {
    let took = milliseconds(u64::try_from(ended.took.as_micros()).unwrap_or(u64::MAX));
    let name = one_line(name);
    match ended.fault {
        None => format!("✓ {name}  {took}"),
        Some(fault) => format!("✗ {name}  {took}  {}", one_line(&fault.code)),
    }
}

impl State {
    fn line(&self, now: Instant, width: usize) -> String {
        let running = self.running.iter().map(|(name, running)| {
            let took = milliseconds(u64::try_from((now - running.since).as_micros()).unwrap_or(u64::MAX));
            let retry = if running.retries > 0 { format!(", retry {}", running.retries) } else { String::new() };
            format!("{} ({took}{retry})", one_line(name))
        });
        let running: Vec<String> = running.collect();
        let failed = if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
        let line = format!("… {} done{failed}; running: {}", self.done, running.join(", "));
        // A line that is wrapped could not be taken away again.
        if running.is_empty() { String::new() } else { line.chars().take(width.saturating_sub(1)).collect() }
    }
}

fn draw(text: &str) {
    let mut err = std::io::stderr().lock();
    // Nothing more can be done about a standard error that is closed.
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_what_runs_and_fits() {
        let since = Instant::now();
        let mut state = State { done: 3, failed: 1, ..State::default() };
        let later = since + Duration::from_millis(1_250);
        assert_eq!(state.line(later, 80), "");
        state.running.insert("b".to_owned(), Running { since, retries: 2 });
        state.running.insert("a\u{1b}".to_owned(), Running { since: later, retries: 0 });
        let line = "… 3 done, 1 failed; running: a\\u{1b} (0.0 ms), b (1.2 s, retry 2)";
        assert_eq!(state.line(later, 80), line);
        assert_eq!(state.line(later, 11), "… 3 done, ");
    }
}
