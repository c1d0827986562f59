//! `--log json`: what happens, as JSON lines on standard error.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use tracing::Level;
use tracing_subscriber::filter::{Targets, filter_fn};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::mcp::{EventMetrics, Notes};

#[derive(Args)]
pub(in crate::cli) struct LogArgs {
    /// Also write what happens to runs and calls to standard error, one line for each event.
    /// Events contain names, codes and numbers, and no value of a run.
    #[arg(long, value_enum, value_name = "FORM")]
    log: Option<LogForm>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogForm {
    /// JSON objects, with `timestamp`, `level`, `target` and `fields`. Notes of servers become such lines too.
    Json,
}

impl LogArgs {
    /// Returns the notes of a server. If a log was asked for, they and all events are written as its lines. `counted`
    /// counts events.
    pub(in crate::cli) fn notes(&self, counted: Option<EventMetrics>) -> Notes {
        let (notes, lines) = match self.log {
            Some(LogForm::Json) => {
                let notes = Notes::logged(io::stderr());
                let lines = Lines(notes.clone());
                (notes, Some(fmt::layer().json().with_writer(move || lines.clone())))
            }
            None => (Notes::to(io::stderr()), None),
        };
        if lines.is_some() || counted.is_some() {
            // Events of libraries may contain messages of clients.
            let own = Targets::new().with_target("portolan", Level::DEBUG);
            let lines = lines.map(|lines| lines.with_filter(own).boxed());
            let counted = counted.map(|counted| counted.with_filter(filter_fn(EventMetrics::counts)).boxed());
            // A layer that is `None` would switch the other one off.
            tracing_subscriber::registry().with(lines.into_iter().chain(counted).collect::<Vec<_>>()).init();
        }
        notes
    }
}

/// The lines of a log, which are queued: a reader that is slow must not delay a call.
#[derive(Clone)]
struct Lines(Notes);

impl Write for Lines {
    /// Takes a whole line, as the subscriber writes them.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.line(String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
