//! Phases: work that goes through them in one order, each left only when what it claims has been shown.
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
//! The phases follow each other as they are written, or as `after` says; whatever is said, they are one way from the first
//! to the last, after which the work is done. A field is what a task claims: it may be given a value up to its phase.

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
    shape: "a workflow of phases has `phases`, a list in their order",
    run_as: RunAs::Steps,
    language: Language::When,
    is_one: |_, tree| tree.get("phases").is_some(),
    read: lower::lower,
    codes: codes::CODES,
    editing: Some(edit::EDITING),
    original: None,
};
