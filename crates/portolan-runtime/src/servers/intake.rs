//! Filters a server's messages: it passes on those that a caller waits for, reports others on the server's standard
//! error, and gives up a server that sends too many invalid ones.

use std::sync::Arc;

use super::message::{self, IdScan, Line, Message};
use super::stderr::Stderr;

/// The maximum number of successive invalid messages.
const MAX_MALFORMED: usize = 1000;
/// The number of characters of an invalid message that are shown.
const SHOWN_CHARS: usize = 80;

pub(super) struct Intake {
    pub(super) max_message: usize,
    stderr: Arc<Stderr>,
    malformed: usize,
}

impl Intake {
    pub(super) fn new(max_message: usize, stderr: Arc<Stderr>) -> Intake {
        Intake { max_message, stderr, malformed: 0 }
    }

    /// Returns the message in `text`, if it is one that a caller waits for.
    pub(super) fn take(&mut self, text: &[u8]) -> Option<Message> {
        let blank = text.trim_ascii().is_empty();
        match if blank { Line::Unasked } else { message::read(text) } {
            Line::Message(message) => {
                self.malformed = 0;
                Some(*message)
            }
            Line::Unasked => None,
            Line::Malformed(why) => {
                let start = String::from_utf8_lossy(&text[..text.len().min(4 * SHOWN_CHARS)]);
                let start = start.trim_end();
                let shown: String = start.chars().take(SHOWN_CHARS).collect();
                let more = if shown.len() < start.len() { "…" } else { "" };
                self.complain(&format!("it sent an invalid message ({why}): {shown}{more}"));
                None
            }
        }
    }

    /// Returns the replacement for a message that was too large to be kept.
    pub(super) fn too_large(&mut self, scan: &IdScan) -> Option<Message> {
        let why = format!("it is larger than {} bytes", self.max_message);
        match scan.id() {
            Some(id) => Some(message::dropped(id, &why)),
            None => {
                self.complain(&format!("one of its messages was discarded: {why}"));
                None
            }
        }
    }

    /// Checks whether the server sends too many invalid messages.
    pub(super) fn is_given_up(&self) -> bool {
        self.malformed >= MAX_MALFORMED
    }

    fn complain(&mut self, what: &str) {
        self.malformed += 1;
        self.stderr.line(&format!("portolan: {what}"));
        if self.is_given_up() {
            self.stderr.line("portolan: giving up on the server: it sent too many invalid messages");
        }
    }
}
