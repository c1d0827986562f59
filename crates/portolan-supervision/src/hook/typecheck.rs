//! Tells guards whether the content to be committed passed the type check.

use std::path::Path;

use portolan_gates::Guidelines;
use portolan_gates::guards::TypecheckVerdict;
use portolan_runtime::typecheck::{self, Content, TypecheckState};

/// Returns the stored result for the present files.
pub(super) fn known(project: &Path, rules: &Guidelines) -> TypecheckVerdict {
    to_verdict(typecheck::known(project, rules))
}

/// Returns the stored result for the staged content, and whether it is that of the files instead. A checker reads the
/// files, so partly staged content has no result of its own. The end of a phase checks again.
pub(super) fn staged(project: &Path, rules: &Guidelines) -> (TypecheckVerdict, bool) {
    match typecheck::known_of(project, rules, Content::Index) {
        TypecheckState::Unknown => {
            let known = known(project, rules);
            let by_files = known == TypecheckVerdict::Passed;
            (known, by_files)
        }
        known => (to_verdict(known), false),
    }
}

fn to_verdict(known: TypecheckState) -> TypecheckVerdict {
    match known {
        TypecheckState::Passed => TypecheckVerdict::Passed,
        TypecheckState::Failed(why) => TypecheckVerdict::Failed(why),
        TypecheckState::Unknown => TypecheckVerdict::Unknown,
        TypecheckState::NotConfigured => TypecheckVerdict::NotConfigured,
    }
}
