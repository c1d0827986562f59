//! What can be wrong with a token, or with a call that sends one. Nothing is changed by any of it.

use std::error::Error;
use std::fmt;

use crate::keys::KeyFault;

/// Why a token was not made, or not gone by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenFault {
    /// What kind of fault it is.
    pub code: Code,
    /// What was wrong, in one lower-case sentence.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// The kinds of fault, by what is to be done. Each has a stable word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// It is not the text that was given out: cut off, changed, or packed anew.
    Damaged,
    /// It is whole, but no key of the user's signed it.
    NotAuthentic,
    /// It is of a version or an encoding that this release does not know.
    UnsupportedVersion,
    /// It is of a run of another workflow than the call names.
    WorkflowMismatch,
    /// The workflow's definition is not the one that the run began with.
    DefinitionChanged,
    /// What should go into it has no room in any token.
    TooLarge,
    /// The user's keys cannot be read or made.
    KeysUnusable,
}

impl Code {
    /// The word, as programs match on it.
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

    /// The token is not what was given out; `why` goes on from "the token".
    pub(super) fn damaged(why: impl fmt::Display) -> TokenFault {
        let help = "send the token exactly as it came: all of it, on one line, and nothing else";
        TokenFault::new(Code::Damaged, format!("the token {why}"), help)
    }

    /// The token has a part that another release may know.
    pub(super) fn unsupported(why: impl fmt::Display) -> TokenFault {
        let help = "go on with the release of Portolan that made it, or with a newer one";
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

/// So many characters of a name are enough to know it by.
const SHOWN: usize = 64;

/// The user's words in backticks, on one line and of bounded length.
pub(super) fn quoted(words: &str) -> String {
    let shown: String = words.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    let rest = if words.chars().nth(SHOWN).is_some() { "…" } else { "" };
    format!("`{shown}{rest}`")
}
