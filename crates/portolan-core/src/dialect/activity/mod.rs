//! Activity workflows: activities of ordered steps, with checkpoints that a person answers, loops, and conditions over
//! variables. Both generations of the format are read, and files that mix them.
//!
//! The content of a part determines its generation:
//!
//! | | first generation | today |
//! |---|---|---|
//! | a step | `id`, `name`, `skill` | has a `kind`, and may name a `technique` |
//! | a checkpoint | in `checkpoints`, placed with `before`, `after` or `at` | a step |
//! | a loop | in `loops`, its kind under `type` | a step, its kind under `loopType` |
//! | a condition | an object under `condition` | also a text under `when` |
//! | rules | a list | lists for each audience |
//!
//! Activities are in the file of their workflow, or in files of a folder beside it, one each.

mod activities;
mod checkpoints;
mod codes;
mod conditions;
mod edit;
mod flow;
mod folder;
mod fragments;
mod loops;
mod lower;
mod modes;
mod reader;
mod rules;
mod steps;
mod syntax;
#[cfg(test)]
mod tests;

use crate::dialect::{Dialect, RunAs};
use crate::expr::Language;
use crate::source::{Source, Tree};

pub use folder::{ActivitiesFolder, activities_folder, activity_files, is_activity_file, not_an_activity};
pub use fragments::taken_over;

pub(super) const DIALECT: Dialect = Dialect {
    name: "activity",
    field: "activities",
    shape: "a workflow of activities has `activities`, a list of activities with `steps`",
    run_as: RunAs::Activities,
    language: Language::When,
    is_one,
    read: lower::lower,
    codes: codes::CODES,
    editing: Some(edit::EDITING),
    original: None,
};

/// Returns whether a text is a workflow of activities. A joined source is one whose activities are in files of their
/// own.
fn is_one(source: &Source, tree: &Tree) -> bool {
    source.is_joined() || ["activities", "initialActivity", "activitiesDir"].iter().any(|key| tree.get(key).is_some())
}
