//! The event log of a project: the decisions at its gates, the bypasses with their principals, and the outcomes. It is
//! one line of JSON per event, and append-only.
//!
//! Every line contains the digest of the preceding line, so that `verify` finds changed, removed and inserted lines.
//! The digest is no signature. A process that may write the file can rewrite all of it, and a log that is cut at its
//! end still verifies. To detect both, keep [`Verification::head`] elsewhere.
//!
//! Several processes write at once. Each append holds an operating system lock on a file beside the log, reads the last
//! line, and writes its own in one call. The next writer repairs what a killed process left behind, and records the
//! repair in the log.
//!
//! ```
//! use portolan_runtime::audit::{self, Durability, Filter, Kind, Log, LogEntry};
//! use serde_json::json;
//!
//! # let folder = tempfile::tempdir()?;
//! let log = Log::open(folder.path().join("flow-events.jsonl"))?;
//! let entry = LogEntry { run: Some("k7m2qx4p".into()), ..LogEntry::of(Kind::Boot, json!({ "version": "0.1.0" })) };
//! let lines = log.append(&[entry], Durability::Written)?;
//! assert_eq!((lines[0].seq, lines[0].kind.as_str()), (1, "flow.boot"));
//!
//! let read: Vec<_> = audit::read(log.path(), &Filter::default())?.collect::<Result<_, _>>()?;
//! assert_eq!(read, lines);
//! assert_eq!(audit::verify(log.path())?.first_fault, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod append;
mod back;
mod error;
mod filter;
mod follow;
mod kinds;
mod line;
mod open;
mod place;
mod read;
mod repair;
pub mod secrets;
mod segments;
mod turn;
mod verify;

pub use append::{Durability, Log, ROTATE_AT};
pub use back::{latest, tail};
pub use error::AuditError;
pub use filter::{Filter, Types, time_of};
pub use follow::{Follow, follow};
pub use kinds::Kind;
pub use line::{Line, LogEntry, MAX_LINE_BYTES};
pub use open::{AtOnce, OpenLog};
pub use place::{led_away, log_of, project_log};
pub use read::{Lines, read};
pub use segments::Segment;
pub use verify::{LogFault, Verification, verify};
