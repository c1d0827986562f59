//! Portolan around coding agents: what judges their tool calls, holds them, leads them, and asks people.
//!
//! `portolan-gates` decides over data, and `portolan-runtime` stores runs and moves them. This crate stands between both
//! and the programs of agents: [`hook`] judges the calls that a coding agent announces, [`gateway`] those of other
//! servers' tools, [`sandbox`] runs a program that cannot write what the gates depend on. [`people`] tells persons from
//! agents; [`supervisor`] asks them, and [`autopilot`] works through the tasks that wait, with [`drivers`] of agents and
//! [`notifiers`] of people.
//!
//! # Example
//! An agent's command that would take away the record of its own run is refused, and on record:
//!
//! ```
//! use portolan_gates::{Decision, Intent, Tool};
//! use portolan_runtime::audit;
//! use portolan_supervision::hook::Gatekeeper;
//!
//! let folder = tempfile::tempdir()?;
//! let project = folder.path();
//! let gatekeeper = Gatekeeper::of(Some(project.to_owned()), "claude-code", Some("s1"), project);
//! let shell = |command: &str| Intent {
//!     session: Some("s1".into()),
//!     call: Some("c1".into()),
//!     agent: None,
//!     folder: project.display().to_string(),
//!     name: "Bash".into(),
//!     tool: Tool::Shell { command: command.into() },
//!     arguments: vec!["command".into()],
//!     branch: None,
//! };
//! assert_eq!(gatekeeper.before_tool(&shell("ls src"), "ls src").decision, Decision::Allow);
//!
//! let refused = gatekeeper.before_tool(&shell("rm -r .portolan"), "rm -r .portolan");
//! assert_eq!(refused.decision, Decision::Block);
//! let recorded = audit::tail(&audit::project_log(project), 9)?;
//! assert!(recorded.iter().any(|line| line.kind == "flow.guard.block"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod autopilot;
pub mod drivers;
pub mod findings;
pub mod gateway;
pub mod hook;
pub mod notifiers;
pub mod people;
pub mod sandbox;
pub mod supervisor;
