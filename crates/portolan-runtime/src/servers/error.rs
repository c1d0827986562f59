//! Why a call of a server's tool brought no reply.

use std::fmt;

/// A call that brought no reply. A reply that reports an error of the tool's own (`isError`) is none of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// What happened.
    pub kind: CallErrorKind,
    /// The same for programs: stable, the code of a fault of a run.
    pub code: &'static str,
    /// The same for people: one sentence.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// The server that was called.
    pub server: String,
    /// The end of what the server wrote to its standard error, without values of variables that look like secrets.
    pub stderr: String,
}

/// What happened to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallErrorKind {
    /// No server has this name.
    UnknownServer,
    /// The server is switched off.
    Disabled,
    /// The server could not be started or reached; the call was not sent.
    Start,
    /// The server went away while the call was under way. Whether the call had an effect is unknown.
    Lost,
    /// The server did not answer in time. It was told that the call is cancelled.
    Timeout,
    /// The reply is larger than the limit, and was thrown away.
    TooLarge,
    /// The server answered with an error of the protocol.
    Protocol {
        /// The JSON-RPC error code.
        code: i32,
    },
    /// The reply cannot be read.
    Unreadable,
    /// The server answered with something that cannot be used.
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

/// The longest text of somebody else's that a message quotes.
const SAID_CHARS: usize = 500;

/// Somebody else's text, as one line of a message.
pub(super) fn said(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SAID_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
