//! Checks are heard at the terminal while they run.

use std::io::{IsTerminal, Write};

use portolan_runtime::runner::Listener;

use super::output::{Output, one_line};

/// The columns of a line that is written over by the next one.
const COLUMNS: usize = 78;

/// Which check runs and what it prints is shown where somebody looks on: a line that the next one is written over.
pub(super) fn shown(output: Output) -> Listener {
    if !is_looked_at(output) {
        return Listener::default();
    }
    Listener::new(|heard| {
        let line: String = one_line(heard.line.unwrap_or(heard.check)).chars().take(COLUMNS).collect();
        // Whoever cannot be shown it misses nothing that is said at the end.
        let _unshown = write!(std::io::stderr(), "\r\x1b[2K  {line}");
    })
}

/// Takes the last of these lines away.
pub(super) fn rub_out(output: Output) {
    if is_looked_at(output) {
        let _unshown = write!(std::io::stderr(), "\r\x1b[2K");
    }
}

fn is_looked_at(output: Output) -> bool {
    !output.is_json() && std::io::stderr().is_terminal()
}
