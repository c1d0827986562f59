//! Shows checks at the terminal while they run.

use std::io::{IsTerminal, Write};

use portolan_runtime::runner::Listener;

use super::output::{Output, one_line};

/// The width of a line that the next one overwrites, so that it does not wrap.
const COLUMNS: usize = 78;

/// Returns a listener that shows the running check and its output on one line, if standard error is a terminal.
pub(super) fn shown(output: Output) -> Listener {
    if !is_looked_at(output) {
        return Listener::default();
    }
    Listener::new(|event| {
        let line: String = one_line(event.line.unwrap_or(event.check)).chars().take(COLUMNS).collect();
        // The final report has everything, even if this line cannot be shown.
        let _unshown = write!(std::io::stderr(), "\r\x1b[2K  {line}");
    })
}

/// Erases the last of these lines.
pub(super) fn rub_out(output: Output) {
    if is_looked_at(output) {
        let _unshown = write!(std::io::stderr(), "\r\x1b[2K");
    }
}

fn is_looked_at(output: Output) -> bool {
    !output.is_json() && std::io::stderr().is_terminal()
}
