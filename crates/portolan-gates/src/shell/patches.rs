//! Files that a patch names, in the form of `apply_patch`, which Codex carries out itself where its shell is given it.

use super::{Command, Word};

const HEADERS: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// The files of a patch; none where it has another form.
pub fn files(patch: &str) -> impl Iterator<Item = &str> {
    patch.lines().filter_map(|line| HEADERS.iter().find_map(|header| line.trim().strip_prefix(header))).map(str::trim)
}

/// What `apply_patch` writes. A patch that only the run will know may name any file.
pub(super) fn written(command: &Command) -> Vec<Word> {
    let patch = command.words.get(1).or(command.stdin.as_ref());
    match patch.and_then(Word::known) {
        Some(patch) => files(patch).map(Word::from).collect(),
        None => vec![Word::Dynamic],
    }
}
