//! Whether a tool call writes files of a repository, with whatever tool, for steps that deny edits.

use super::context::GuardContext;
use super::integration::harmless;
use super::judged_call::{self, JudgedCall};
use crate::shell::{Command, Reading};
use crate::{Guidelines, Intent};

/// A file that a call writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// A file of a worktree that git does not ignore.
    File(String),
    /// A file whose name is known only at run time.
    Unknown,
}

/// Returns the first file of a worktree that a call is known to write, or else [`Edit::Unknown`] if it writes one that
/// cannot be determined. Returns `None` if it writes none that counts. Writes by git itself, or by programs on their
/// own, are not visible.
pub fn edits(intent: &Intent, reading: &Reading, scene: &GuardContext, guidelines: &Guidelines) -> Option<Edit> {
    let judged = JudgedCall::new(intent, reading, scene, guidelines);
    let named = judged.edited().iter().map(|path| judged_call::absolute(&intent.folder, &path.as_str().into()));
    let makes_files = |command: &&Command| command.program() != Some("mkdir");
    let written =
        reading.commands.iter().filter(makes_files).flat_map(|command| judged_call::written(&intent.folder, command));
    let found: Vec<Edit> = named.chain(written).filter_map(|path| edit(&judged, path)).collect();
    found.iter().find(|edit| matches!(edit, Edit::File(_))).or(found.first()).cloned()
}

fn edit(judged: &JudgedCall<'_>, path: Option<String>) -> Option<Edit> {
    let Some(place) = path.as_deref().and_then(|path| judged.place(path)) else { return Some(Edit::Unknown) };
    harmless(place).is_none().then(|| Edit::File(path.unwrap_or_default()))
}
