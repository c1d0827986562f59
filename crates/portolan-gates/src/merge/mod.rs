//! The merge gate: whether the removals of a branch were announced, and whether a person must review it before the
//! merge.
//!
//! The decision depends on data alone, by fixed rules, without a model. The caller must read the policy from the commit
//! that is merged into, never from the one that is merged.

mod change;
mod declarations;
mod facts;
mod glob;
mod policy;
mod removal;
mod ruling;
mod shape;
#[cfg(test)]
mod tests;
mod tests_kept;
mod zone;

pub use change::{Diff, FileChange, Text};
pub use declarations::{Declarations, DeclaringCommit};
pub use policy::{AutoMerge, Policy, RequiredEvidence, Thresholds};
pub use removal::{Removal, What};
pub use ruling::{Evidence, MergeFinding, MergeVerdict, POLICY, PersonReview, Reason, Ruling, ZoneReport, gate};
pub use shape::Shape;
pub use tests_kept::{is_test_path, tests_gained, tests_lost};
pub use zone::{Require, Zone};

/// Checks whether files of this name are read.
pub fn reads(path: &str) -> bool {
    facts::knows(path)
}
