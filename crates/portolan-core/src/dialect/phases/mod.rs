//! Phases: work that passes through them in one order, and leaves each only when its claims have been verified.
//!
//! ```yaml
//! id: delivery
//! iterationCap: 5
//! fields:
//!   branch: { type: string, until: branch }
//! phases:
//!   - id: branch
//!     accept: [branchMatchesPrefix]
//!   - id: implement
//!   - id: test
//!     back: implement
//! ```
//! The phases follow each other as written, or as `after` says; in any case they form one sequence, after which the
//! work is done. A field is a claim of a task: it may be set up to its phase.

mod codes;
mod edit;
mod lower;
mod order;
mod syntax;

use crate::dialect::{Dialect, RunAs};
use crate::expr::Language;

pub(super) const DIALECT: Dialect = Dialect {
    name: "phases",
    field: "phases",
    shape: "a workflow of phases has `phases`, an ordered list",
    run_as: RunAs::Steps,
    language: Language::When,
    is_one: |_, tree| tree.get("phases").is_some(),
    read: lower::lower,
    codes: codes::CODES,
    editing: Some(edit::EDITING),
    original: None,
};
