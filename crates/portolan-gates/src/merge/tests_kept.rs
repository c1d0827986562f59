//! The changes of tests: those that are added, and those that are removed, skipped or assert less.

use super::change::Diff;
use super::removal::{Removal, What, removals};

/// Returns the tests that a change adds or that assert more, by name.
pub fn tests_gained(diff: &Diff) -> Vec<String> {
    let (_, gained) = removals(diff);
    let gained = gained.into_keys().filter(|(what, _)| matches!(what, What::Test | What::Assertion));
    gained.map(|(_, name)| name).collect()
}

/// Returns the tests that a change removes without adding them elsewhere, that it skips, or that assert less.
pub fn tests_lost(diff: &Diff) -> Vec<Removal> {
    let (removals, mut gained) = removals(diff);
    let mut is_elsewhere = |what: What, name: &str, count: usize| {
        let Some(left) = gained.get_mut(&(what, name.to_owned())) else { return false };
        let is_enough = *left >= count;
        *left = left.saturating_sub(count);
        is_enough
    };
    let mut is_lost = |removal: &Removal| match removal.what {
        What::Test if removal.is_muted => true,
        What::Test | What::Assertion => !is_elsewhere(removal.what, &removal.name, removal.count),
        What::File => {
            let tests: Vec<&str> =
                removal.held.iter().filter(|fact| fact.what == What::Test).map(|fact| fact.name.as_str()).collect();
            let is_known = super::reads(&removal.path);
            (!is_known && is_test_path(&removal.path)) || tests.iter().any(|name| !is_elsewhere(What::Test, name, 1))
        }
        What::Symbol | What::Job | What::Dependency | What::Strictness => false,
    };
    removals.into_iter().filter(|removal| is_lost(removal)).collect()
}

/// Checks whether a path is that of a test file, by the naming conventions of the usual languages.
pub fn is_test_path(path: &str) -> bool {
    const FOLDERS: [&str; 6] = ["test", "tests", "__tests__", "spec", "specs", "testdata"];
    const ENDS: [&str; 6] = ["_test", "_tests", "_spec", ".test", ".spec", ".tests"];
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    if folders.split('/').any(|folder| FOLDERS.contains(&folder)) {
        return is_code(name);
    }
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let camel = ["Test", "Tests", "Spec", "IT"].iter().any(|end| {
        stem.strip_suffix(end).is_some_and(|rest| rest.ends_with(|c: char| c.is_lowercase() || c.is_ascii_digit()))
    });
    is_code(name)
        && (stem.starts_with("test_") || stem == "tests" || ENDS.iter().any(|end| stem.ends_with(end)) || camel)
}

/// Checks whether a file may hold code or data of tests, by its name. A description of a folder does not.
fn is_code(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && !matches!(end, "md" | "txt" | "rst" | "adoc"))
}
