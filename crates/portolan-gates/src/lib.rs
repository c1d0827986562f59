//! The gates of Portolan: which tool calls a coding agent may make, what must be true of a repository before a phase
//! ends, and who must review a change.
//!
//! Every decision is a pure function over data. The rules are [`Guidelines`], the repository is a snapshot, a tool call
//! is an [`Intent`], and [`shell`] parses the text of a shell command. The caller collects the facts and acts on the
//! verdict; this crate reads no file, runs no program and uses no clock.
//!
//! # Example
//! A commit on the integration branch is refused:
//!
//! ```
//! use portolan_gates::guards::{self, WorktreeHead, Place, GuardContext, Worktree};
//! use portolan_gates::shell::ShellContext;
//! use portolan_gates::{Decision, Guidelines, Intent, Tool};
//!
//! let intent = Intent {
//!     session: None,
//!     call: None,
//!     agent: None,
//!     folder: "/project".into(),
//!     name: "Bash".into(),
//!     tool: Tool::Shell { command: "git commit -m 'feat: log in (#42)'".into() },
//!     arguments: vec!["command".into()],
//!     branch: None,
//! };
//! let reading = guards::read(&intent, &ShellContext::default());
//!
//! // The facts that the decision needs: here, what is checked out in the folder of the call.
//! let wanted = guards::wanted(&intent, &reading);
//! assert!(wanted.folders.contains("/project"));
//! let worktree = Worktree { root: "/project".into(), head: WorktreeHead::Branch("main".into()), ..Worktree::default() };
//! let place = Place { path: "/project".into(), worktree: Some(worktree.into()), ..Place::default() };
//! let scene = GuardContext { places: [("/project".into(), place)].into(), ..GuardContext::default() };
//!
//! let judgements = guards::judge(&intent, &reading, &scene, &Guidelines::default());
//! assert_eq!(guards::overall(&judgements), Decision::Block);
//! assert!(judgements.iter().any(|judgement| judgement.invariant.as_deref() == Some("I-2")));
//! ```
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod acceptance;
pub mod bypass;
pub mod facts;
pub mod findings;
pub mod guards;
pub mod guidelines;
pub mod injection;
mod intent;
mod judgement;
pub mod log_line;
pub mod merge;
pub mod names;
pub mod pattern;
pub mod permit;
pub mod plugins;
pub mod project;
mod protected_files;
pub mod references;
mod rules;
pub mod shell;
pub mod supervisor;
mod tracking_issue;

pub use guidelines::Guidelines;
pub use intent::{Intent, Tool};
pub use judgement::{Decision, Judgement};
pub use protected_files::{OPEN, PROTECTED, holds_protected, is_protected, may_be_protected};
pub use rules::{RULES, Rule};
