//! Foreign texts as people can read them: nothing in them is invisible.

use portolan_core::diagnostic::is_unseen;

/// Escapes invisible characters of a foreign text, so that it cannot control the terminal. Line ends are kept.
pub(crate) fn safe(text: &str) -> String {
    spelt_out(text, |c| c != '\n' && is_unseen(c))
}

/// Escapes invisible characters and line ends.
pub(crate) fn one_line(text: &str) -> String {
    spelt_out(text, is_unseen)
}

fn spelt_out(text: &str, hidden: impl Fn(char) -> bool) -> String {
    text.chars().map(|c| if hidden(c) { c.escape_debug().to_string() } else { c.to_string() }).collect()
}
