//! What a server sends, judged: messages that somebody waits for go on, everything else is told on its standard error,
//! and a server that sends nothing else is given up.

use std::sync::Arc;

use super::message::{self, IdScan, Line, Message};
use super::stderr::Stderr;

/// How many messages in a row may be none.
const MAX_MALFORMED: usize = 1000;
/// How much of a malformed message is shown.
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

    /// The message in `text`, if it is one that somebody waits for.
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
                self.complain(&format!("what it sent is no message ({why}): {shown}{more}"));
                None
            }
        }
    }

    /// What stands for a message that was too large to be kept.
    pub(super) fn too_large(&mut self, scan: &IdScan) -> Option<Message> {
        let why = format!("it is larger than {} bytes", self.max_message);
        match scan.id() {
            Some(id) => Some(message::dropped(id, &why)),
            None => {
                self.complain(&format!("a message of it was left out: {why}"));
                None
            }
        }
    }

    /// Whether the server sends nothing that is of use.
    pub(super) fn is_given_up(&self) -> bool {
        self.malformed >= MAX_MALFORMED
    }

    fn complain(&mut self, what: &str) {
        self.malformed += 1;
        self.stderr.line(&format!("portolan: {what}"));
        if self.is_given_up() {
            self.stderr.line("portolan: it is given up: too much of what it sent was no message");
        }
    }
}
