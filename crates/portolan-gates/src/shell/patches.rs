//! Files that a patch in the form of `apply_patch` names. Codex applies such a patch itself if it is given to its
//! shell.

use super::{Command, Word};

const HEADERS: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// Returns the files of a patch, or none if it has another form.
pub fn files(patch: &str) -> impl Iterator<Item = &str> {
    patch.lines().filter_map(|line| HEADERS.iter().find_map(|header| line.trim().strip_prefix(header))).map(str::trim)
}

/// Returns the files that `apply_patch` writes. A patch that is known only at run time may name any file.
pub(super) fn written(command: &Command) -> Vec<Word> {
    let patch = command.words.get(1).or(command.stdin.as_ref());
    match patch.and_then(Word::known) {
        Some(patch) => files(patch).map(Word::from).collect(),
        None => vec![Word::Dynamic],
    }
}
