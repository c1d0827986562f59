//! The basic types of all layers: identifiers, outcomes, points in time.

pub(crate) mod template;

use std::borrow::Borrow;
use std::fmt;
use std::sync::{Arc, LazyLock};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// A map by identifiers or names, in the order of insertion.
///
/// Every move looks up several nodes, so the hash is a quick one; its seed differs between processes, as that of the
/// standard library does.
pub type ById<K, V> = IndexMap<K, V, foldhash::fast::RandomState>;

/// Defines a string newtype that clones in a few nanoseconds: moves contain several of them.
macro_rules! word {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> $name {
                $name(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> $name {
                $name(text.into())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.as_str() == other
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

word! {
    /// The identifier of a node, unique in its workflow.
    NodeId
}
word! {
    /// The identifier of a workflow.
    WorkflowId
}
word! {
    /// The outcome of a piece of work: `passed`, `failed`, or a word that the node declares in `outputs`.
    Outcome
}
word! {
    /// The identifier of an acceptance check, unique on its node.
    CheckId
}

/// Describes the type of a JSON value for a message: `a string`.
///
/// ```
/// assert_eq!(portolan_core::value::described(&serde_json::json!([1])), "an array");
/// ```
pub fn described(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "a boolean",
        serde_json::Value::Number(_) => "a number",
        serde_json::Value::String(_) => "a string",
        serde_json::Value::Array(_) => "an array",
        serde_json::Value::Object(_) => "an object",
    }
}

/// The outcome of completed work.
pub const PASSED: &str = "passed";
/// The outcome of failed work, and of a report whose checks failed.
pub const FAILED: &str = "failed";
/// The outcome of a skipped part: an unnecessary step, or an activity that an answer left out.
pub const SKIPPED: &str = "skipped";
/// The outcome by which a loop enters a pass.
pub const PASS: &str = "pass";
/// The answer with which a person cancels a run at a question.
pub const CANCELLED: &str = "cancelled";
/// The prefix of the variables in which a run stores answers: no text can name one of them.
pub const ANSWERED: &str = "_answered_";

impl Outcome {
    /// Returns `passed`.
    pub fn passed() -> Outcome {
        static WORD: LazyLock<Outcome> = LazyLock::new(|| PASSED.into());
        WORD.clone()
    }

    /// Returns `failed`.
    pub fn failed() -> Outcome {
        static WORD: LazyLock<Outcome> = LazyLock::new(|| FAILED.into());
        WORD.clone()
    }

    /// Checks whether this is `failed`.
    pub fn is_failed(&self) -> bool {
        self.as_str() == FAILED
    }
}

/// Milliseconds since 1970-01-01T00:00:00Z. The core has no clock: the creator of an event reads one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Returns the time `ms` milliseconds later.
    #[must_use]
    pub fn after_ms(self, ms: u64) -> Timestamp {
        Timestamp(self.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
    }
}
