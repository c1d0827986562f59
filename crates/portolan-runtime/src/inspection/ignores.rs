//! Whether git may ignore a path, by the files that say what is ignored. Whether it does, git is asked; but most paths are
//! written like no pattern, and then nobody has to be.

use std::path::{Path, PathBuf};

use portolan_gates::guards::Worktree;

use super::config::Config;
use crate::disk;

/// What is longer is not read, and may say anything.
const MAX_BYTES: u64 = 1024 * 1024;

/// Whether a path, seen from the root of its worktree, may be one that git ignores. No pattern matches where this says no.
pub(super) fn may_be(worktree: &Worktree, inside: &str) -> bool {
    let Some(named) = named(worktree) else { return true };
    let root = Path::new(&worktree.root);
    let folders = Path::new(inside).ancestors().skip(1).map(|folder| root.join(folder).join(".gitignore"));
    let exclude = Path::new(&worktree.common_dir).join("info/exclude");
    let path = format!("/{}/", inside.to_ascii_lowercase());
    folders.chain([exclude]).chain(named).any(|file| {
        let there = || std::fs::symlink_metadata(&file).is_ok();
        disk::text(&file, MAX_BYTES).map_or_else(there, |text| text.lines().any(|line| may_match(line, &path)))
    })
}

/// The files that configurations name, and the one that counts unless they do; nothing where it cannot be told.
fn named(worktree: &Worktree) -> Option<Vec<PathBuf>> {
    let home = std::env::home_dir()?;
    let own = std::env::var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from).join("git");
    let configurations = [
        Path::new(&worktree.git_dir).join("config.worktree"),
        Path::new(&worktree.common_dir).join("config"),
        home.join(".gitconfig"),
        own.join("config"),
        PathBuf::from("/etc/gitconfig"),
    ];
    let mut found = vec![own.join("ignore")];
    for file in configurations {
        let Some(text) = disk::text(&file, MAX_BYTES) else { continue };
        let config = Config::parse(&text);
        if config.last("include.path").is_some() || config.each("includeif", "path").next().is_some() {
            return None;
        }
        let Some(named) = config.last("core.excludesfile").filter(|named| !named.is_empty()) else { continue };
        found.push(match named.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None if named.starts_with(['~', '%']) => return None,
            None => Path::new(&worktree.root).join(named),
        });
    }
    Some(found)
}

/// Whether a line of such a file may match a path, which has a `/` at both ends: what is literal in it must be there.
fn may_match(line: &str, path: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}').trim().to_ascii_lowercase();
    if line.is_empty() || line.starts_with(['#', '!']) {
        return false;
    }
    let pattern = line.trim_end_matches('/');
    if pattern.contains('\\') {
        return true;
    }
    if !pattern.contains(['*', '?', '[']) {
        return path.contains(&format!("/{}/", pattern.trim_start_matches('/')));
    }
    // Behind the first bracket it depends on what is in it.
    let literal = pattern.split('[').next().unwrap_or_default();
    literal.split(['*', '?']).all(|piece| path.contains(piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_like_no_pattern_is_told_from_one_that_may_match() {
        let may = |line: &str, path: &str| may_match(line, &format!("/{path}/"));
        for line in ["", "# src", "!src", "out", "target/", "/docs", "*.log", "b/**/c", "src/*.py", "a?b", "*.py[cod]"]
        {
            assert!(!may(line, "src/router.rs"), "{line}");
        }
        for line in ["src", "/src/", "*.rs", "**/router.rs", "src/**", "ROUTER.rs", "r*r.rs", "*", "\\src", "[a-z]*"] {
            assert!(may(line, "src/router.rs"), "{line}");
        }
    }
}
