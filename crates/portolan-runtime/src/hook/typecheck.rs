//! The one place where guards learn whether what would be committed passed the type check.

use std::path::Path;

use portolan_gates::Guidelines;
use portolan_gates::guards::Verdict;

use crate::typecheck::{self, Content, Known};

/// What is known for the files of a project as they are.
pub(super) fn known(project: &Path, rules: &Guidelines) -> Verdict {
    said(typecheck::known(project, rules))
}

/// What is known for what is staged, and whether that was told by the files as they are: a checker reads those, so that
/// nothing is known of what is staged in part. The end of a phase looks again.
pub(super) fn staged(project: &Path, rules: &Guidelines) -> (Verdict, bool) {
    match typecheck::known_of(project, rules, Content::Index) {
        Known::Unknown => {
            let known = known(project, rules);
            let by_files = known == Verdict::Passed;
            (known, by_files)
        }
        known => (said(known), false),
    }
}

fn said(known: Known) -> Verdict {
    match known {
        Known::Passed => Verdict::Passed,
        Known::Failed(why) => Verdict::Failed(why),
        Known::Unknown => Verdict::Unknown,
        Known::NotConfigured => Verdict::NotConfigured,
    }
}
