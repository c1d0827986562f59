//! Which project something belongs to.

use std::path::{Path, PathBuf};

use crate::inspection;

/// The project that `folder` lies in: the root of its worktree, or else the nearest folder around it that Portolan keeps
/// something in.
pub fn project_of(folder: &Path) -> Option<PathBuf> {
    if let Some(worktree) = inspection::worktree(folder) {
        return Some(PathBuf::from(&worktree.root));
    }
    folder.ancestors().find(|around| around.join(".portolan").is_dir()).map(Path::to_owned)
}
