//! The live progress of a run: a line for each finished node, and a redrawn line for the running ones.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use portolan_core::present::way;
use portolan_core::run::ModelStateChange;
use portolan_runtime::drive::{Began, ExecutionObserver, NodeEnd};
use portolan_runtime::states::ModelListener;

use super::live::Live;
use super::outcome::width;
use super::waterfall::milliseconds;
use crate::cli::output::one_line;

/// How often the last line is redrawn.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// How many nodes get a line of their own. Further ones are only counted.
const MAX_LINES: u64 = 200;
/// Moves the cursor to the beginning of the line, and erases it.
const CLEAR: &str = "\r\u{1b}[2K";

/// The progress of a run. Clones share their state.
#[derive(Clone)]
pub(super) struct Progress {
    state: Arc<Mutex<State>>,
    /// Whether the last line is redrawn, and nodes have lines of their own.
    drawn: bool,
}

struct State {
    live: Live,
    running: BTreeMap<String, RunningNode>,
    done: u64,
    failed: u64,
    /// The end of a model's present message.
    reply: String,
}

struct RunningNode {
    since: Instant,
    retries: u32,
}

impl Progress {
    pub(super) fn new(live: Live, drawn: bool) -> Progress {
        Progress { state: Arc::new(Mutex::new(State::new(live))), drawn }
    }

    /// Returns an observer that draws the progress to standard error.
    pub(super) fn watch(&self) -> ExecutionObserver {
        let (begins, ends, talks) = (self.clone(), self.clone(), self.clone());
        let watch = match self.drawn {
            true => ExecutionObserver::new(move |began| begins.began(began), move |ended| ends.ended(ended)),
            false => ExecutionObserver::new(|_| {}, |_| {}),
        };
        watch.talking(move |talked| {
            let lines = {
                let mut state = talks.state();
                if matches!(talked.change, ModelStateChange::Message(_)) {
                    state.reply.clear();
                }
                state.live.lines(talked)
            };
            lines.iter().for_each(|line| talks.put(line));
        })
    }

    /// Returns a listener of models' text. Returns `None` if anything is hidden: a piece of a secret cannot be
    /// recognized as one.
    pub(super) fn hears(&self) -> Option<ModelListener> {
        if !self.drawn || self.state().live.hides() {
            return None;
        }
        let progress = self.clone();
        Some(Arc::new(move |_, text| progress.state().add_reply(text)))
    }

    /// Redraws the last line.
    pub(super) fn tick(&self) {
        if self.drawn {
            let line = self.state().line(Instant::now(), width());
            draw(&format!("{CLEAR}{line}"));
        }
    }

    /// Erases the last line, and prints the usage of states.
    pub(super) fn finish(&self) {
        if self.drawn {
            draw(CLEAR);
        }
        let total = self.state().live.total();
        total.iter().for_each(|total| self.put(total));
    }

    /// Prints a line that stays.
    fn put(&self, line: &str) {
        draw(&format!("{}{line}\n", if self.drawn { CLEAR } else { "" }));
    }

    fn began(&self, began: &Began<'_>) {
        let name = way(began.path, began.node);
        let mut state = self.state();
        let since = state.running.get(&name).map_or_else(Instant::now, |running| running.since);
        state.running.insert(name, RunningNode { since, retries: began.retries });
    }

    fn ended(&self, ended: &NodeEnd<'_>) {
        let name = way(ended.path, &ended.node.id);
        let line = {
            let mut state = self.state();
            state.running.remove(&name);
            state.done += 1;
            state.failed += u64::from(ended.fault.is_some());
            (state.done <= MAX_LINES).then(|| done(&name, ended))
        };
        line.iter().for_each(|line| self.put(line));
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn done(name: &str, ended: &NodeEnd<'_>) -> String {
    let took = milliseconds(u64::try_from(ended.took.as_micros()).unwrap_or(u64::MAX));
    let name = one_line(name);
    match ended.fault {
        None => format!("✓ {name}  {took}"),
        Some(fault) => format!("✗ {name}  {took}  {}", one_line(&fault.code)),
    }
}

impl State {
    fn new(live: Live) -> State {
        State { live, running: BTreeMap::new(), done: 0, failed: 0, reply: String::new() }
    }

    fn add_reply(&mut self, text: &str) {
        self.reply.extend(text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }));
        let from = self.reply.char_indices().rev().nth(MAX_REPLY).map_or(0, |(at, _)| at);
        self.reply.drain(..from);
    }

    fn line(&self, now: Instant, width: usize) -> String {
        let running = self.running.iter().map(|(name, running)| {
            let took = milliseconds(u64::try_from((now - running.since).as_micros()).unwrap_or(u64::MAX));
            let retry = if running.retries > 0 { format!(", retry {}", running.retries) } else { String::new() };
            let state = self.live.running(name).map(|state| format!(", {state}")).unwrap_or_default();
            format!("{} ({took}{retry}{state})", one_line(name))
        });
        let running: Vec<String> = running.collect();
        let failed = if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
        if running.is_empty() {
            return String::new();
        }
        // A wrapped line could not be erased.
        let room = width.saturating_sub(1);
        let line = format!("… {} done{failed}; running: {}", self.done, running.join(", "));
        let mut line: String = line.chars().take(room).collect();
        let left = room.saturating_sub(line.chars().count() + SAYS.chars().count());
        let reply = one_line(&self.reply);
        if left > 0 && !reply.is_empty() {
            let skip = reply.chars().count().saturating_sub(left);
            line.push_str(SAYS);
            line.extend(reply.chars().skip(skip));
        }
        line
    }
}

/// The most characters kept of a model's text. More do not fit on a line.
const MAX_REPLY: usize = 500;
/// The prefix of a model's text.
const SAYS: &str = "  » ";

fn draw(text: &str) {
    let mut err = std::io::stderr().lock();
    // A closed standard error cannot be reported anywhere.
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

#[cfg(test)]
mod tests {
    use portolan_core::dialect::{self, Strictness};
    use portolan_core::present::Redaction;
    use portolan_core::source::Source;
    use portolan_core::validate::validate;

    use super::*;
    use crate::cli::output::{Format, Output};

    fn live() -> Live {
        let text = r#"{"nodes": {"s": {"type": "start"}, "e": {"type": "end", "result": "success"}},
            "edges": [{"from": "s", "to": "e"}]}"#;
        let source = Source::new("a.json", text);
        let (graph, _) = dialect::parse(&source, Strictness::Strict).first();
        let (workflow, _) = validate(&graph.expect("a graph"), &|_| None, Strictness::Strict);
        Live::new(Output::new(Format::Text), Arc::new(workflow.expect("sound")), Redaction::default())
    }

    #[test]
    fn the_last_line_says_what_runs_and_fits() {
        let since = Instant::now();
        let mut state = State { done: 3, failed: 1, ..State::new(live()) };
        let later = since + Duration::from_millis(1_250);
        assert_eq!(state.line(later, 80), "");
        state.running.insert("b".to_owned(), RunningNode { since, retries: 2 });
        state.running.insert("a\u{1b}".to_owned(), RunningNode { since: later, retries: 0 });
        let line = "… 3 done, 1 failed; running: a\\u{1b} (0.0 ms), b (1.2 s, retry 2)";
        assert_eq!(state.line(later, 80), line);
        assert_eq!(state.line(later, 11), "… 3 done, ");
        state.add_reply("A portolan was\nthe chart");
        assert_eq!(state.line(later, 80), format!("{line}  »  the chart"));
        (0..1_000).for_each(|_| state.add_reply("é"));
        assert_eq!(state.reply.chars().count(), MAX_REPLY + 1);
    }
}
