//! The one place where guards learn whether what would be committed passed the type check.

use std::path::Path;

use portolan_gates::Guidelines;
use portolan_gates::guards::TypecheckVerdict;

use crate::typecheck::{self, Content, TypecheckState};

/// What is known for the files of a project as they are.
pub(super) fn known(project: &Path, rules: &Guidelines) -> TypecheckVerdict {
    said(typecheck::known(project, rules))
}

/// What is known for what is staged, and whether that was told by the files as they are: a checker reads those, so that
/// nothing is known of what is staged in part. The end of a phase looks again.
pub(super) fn staged(project: &Path, rules: &Guidelines) -> (TypecheckVerdict, bool) {
    match typecheck::known_of(project, rules, Content::Index) {
        TypecheckState::Unknown => {
            let known = known(project, rules);
            let by_files = known == TypecheckVerdict::Passed;
            (known, by_files)
        }
        known => (said(known), false),
    }
}

fn said(known: TypecheckState) -> TypecheckVerdict {
    match known {
        TypecheckState::Passed => TypecheckVerdict::Passed,
        TypecheckState::Failed(why) => TypecheckVerdict::Failed(why),
        TypecheckState::Unknown => TypecheckVerdict::Unknown,
        TypecheckState::NotConfigured => TypecheckVerdict::NotConfigured,
    }
}
