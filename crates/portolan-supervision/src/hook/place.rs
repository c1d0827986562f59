//! Finds the project of a folder.

use std::path::{Path, PathBuf};

use portolan_runtime::inspection;

/// Returns the project that contains `folder`: the root of its worktree, or else the nearest parent folder with a
/// `.portolan` folder.
pub fn project_of(folder: &Path) -> Option<PathBuf> {
    if let Some(worktree) = inspection::worktree(folder) {
        return Some(PathBuf::from(&worktree.root));
    }
    folder.ancestors().find(|around| around.join(".portolan").is_dir()).map(Path::to_owned)
}
