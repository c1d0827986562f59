//! The faults of tokens and of calls with tokens. None of them changes anything.

use std::error::Error;
use std::fmt;

use crate::keys::KeyFault;

/// The reason why a token was not created or not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenFault {
    /// The kind of the fault.
    pub code: Code,
    /// The fault, in one lower-case sentence.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// The kinds of fault, by their remedy. Each has a stable word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// It is not the text that was given out: truncated, changed, or compressed again.
    Damaged,
    /// It is intact, but no key of the user signed it.
    NotAuthentic,
    /// Its version or encoding is unknown to this release.
    UnsupportedVersion,
    /// Its run is of another workflow than the call names.
    WorkflowMismatch,
    /// The workflow's definition is not the one that the run began with.
    DefinitionChanged,
    /// Its content does not fit into any token.
    TooLarge,
    /// The user's keys cannot be read or created.
    KeysUnusable,
}

impl Code {
    /// Returns the stable word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::Damaged => "damaged",
            Code::NotAuthentic => "not_authentic",
            Code::UnsupportedVersion => "unsupported_version",
            Code::WorkflowMismatch => "workflow_mismatch",
            Code::DefinitionChanged => "definition_changed",
            Code::TooLarge => "too_large",
            Code::KeysUnusable => "keys_unusable",
        }
    }
}

impl TokenFault {
    pub(super) fn new(code: Code, message: impl Into<String>, help: impl Into<String>) -> TokenFault {
        TokenFault { code, message: message.into(), help: help.into() }
    }

    /// Returns the fault of a token that is not what was given out. `why` continues "the token".
    pub(super) fn damaged(why: impl fmt::Display) -> TokenFault {
        let help = "send the token exactly as you received it: all of it, on one line, and nothing else";
        TokenFault::new(Code::Damaged, format!("the token {why}"), help)
    }

    /// Returns the fault of a token with a part that another release may know.
    pub(super) fn unsupported(why: impl fmt::Display) -> TokenFault {
        let help = "use the release of Portolan that made it, or a newer one";
        TokenFault::new(Code::UnsupportedVersion, format!("the token {why}"), help)
    }
}

impl From<KeyFault> for TokenFault {
    fn from(fault: KeyFault) -> TokenFault {
        TokenFault::new(Code::KeysUnusable, fault.message, fault.help)
    }
}

impl fmt::Display for TokenFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl Error for TokenFault {}

/// The number of characters of a name that are shown.
const SHOWN: usize = 64;

/// Returns the user's words in backticks, on one line and of bounded length.
pub(super) fn quoted(words: &str) -> String {
    let shown: String = words.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    let rest = if words.chars().nth(SHOWN).is_some() { "…" } else { "" };
    format!("`{shown}{rest}`")
}
