//! Why a tool call of a server gave no reply.

use std::fmt;

use crate::error::ServiceError;

/// A call without a reply. A reply that reports an error of the tool itself (`isError`) is not one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// The kind of the error.
    pub kind: CallErrorKind,
    /// The stable code for programs, which is also that of the fault in a run.
    pub code: &'static str,
    /// The message for people: one sentence.
    pub message: String,
    /// The remedy.
    pub help: String,
    /// The server that was called.
    pub server: String,
    /// The end of the server's standard error, without values of variables that look like secrets.
    pub stderr: String,
}

/// The kind of a call's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallErrorKind {
    /// No server has this name.
    UnknownServer,
    /// The server is disabled.
    Disabled,
    /// The server could not be started or reached; the call was not sent.
    Start,
    /// The server went away during the call. Whether the call had an effect is unknown.
    Lost,
    /// The server did not answer in time. It was notified that the call is cancelled.
    Timeout,
    /// The reply is larger than the limit, and was dropped.
    TooLarge,
    /// The server answered with an error of the protocol.
    Protocol {
        /// The JSON-RPC error code.
        code: i32,
    },
    /// The reply cannot be read.
    Unreadable,
    /// The server's answer cannot be used.
    Unusable,
    /// The pool was closed.
    Closed,
}

impl CallErrorKind {
    fn code(self) -> &'static str {
        match self {
            CallErrorKind::UnknownServer => "unknown-server",
            CallErrorKind::Disabled => "server-disabled",
            CallErrorKind::Start => "server-not-started",
            CallErrorKind::Lost => "server-lost",
            CallErrorKind::Timeout => "call-timeout",
            CallErrorKind::TooLarge => "reply-too-large",
            CallErrorKind::Protocol { .. } => "protocol-error",
            CallErrorKind::Unreadable => "unreadable-reply",
            CallErrorKind::Unusable => "unusable-reply",
            CallErrorKind::Closed => "servers-closed",
        }
    }
}

impl CallError {
    /// Returns the error of a call whose result cannot be filtered as the project requires.
    pub fn unfiltered(server: &str, why: &ServiceError) -> CallError {
        let message = format!("the result is withheld, because it cannot be filtered: {}", why.message);
        CallError::new(CallErrorKind::Unusable, server, message, &*why.help)
    }

    pub(super) fn new(
        kind: CallErrorKind,
        server: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> CallError {
        CallError {
            kind,
            code: kind.code(),
            message: message.into(),
            help: help.into(),
            server: server.to_owned(),
            stderr: String::new(),
        }
    }

    pub(super) fn with_stderr(mut self, stderr: String) -> CallError {
        self.stderr = stderr;
        self
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CallError {}

/// The maximum length in characters of a foreign text in a message.
const SAID_CHARS: usize = 500;

/// Returns a foreign text as one line of a message.
pub(super) fn clip_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SAID_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
