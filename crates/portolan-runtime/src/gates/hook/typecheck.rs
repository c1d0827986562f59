//! The one place where guards learn whether the present content passed the type check.

use std::path::Path;

use portolan_core::gates::Guidelines;
use portolan_core::gates::guards::Verdict;

/// The files by which a project is known to have a type checker.
const CHECKED: [&str; 4] = ["tsconfig.json", "Cargo.toml", "go.mod", "pyproject.toml"];

/// What is known of the type check of a project.
pub(super) fn known(project: &Path, rules: &Guidelines) -> Verdict {
    let checked = match &rules.typecheck.commands {
        Some(commands) => !commands.is_empty(),
        None => CHECKED.iter().any(|name| project.join(name).exists()),
    };
    if checked { Verdict::Unknown } else { Verdict::NotConfigured }
}
