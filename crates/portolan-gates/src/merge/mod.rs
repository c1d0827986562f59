//! The merge gate: whether what a branch takes away was meant to go, and whether somebody must look before it is merged.
//!
//! It is decided over data alone, by rules that anyone can read; no model is asked. The policy is for the caller to read
//! from the commit that is merged into, never from the one that is merged.

mod change;
mod declared;
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
pub use declared::{Declared, DeclaringCommit};
pub use policy::{AutoMerge, Policy, RequiredEvidence, Thresholds};
pub use removal::{Removal, What};
pub use ruling::{Evidence, MergeFinding, MergeVerdict, POLICY, PersonReview, Reason, Ruling, ZoneReport, gate};
pub use shape::Shape;
pub use tests_kept::{is_test_path, tests_gained, tests_lost};
pub use zone::{Require, Zone};

/// Whether files of this name are looked into.
pub fn reads(path: &str) -> bool {
    facts::knows(path)
}
