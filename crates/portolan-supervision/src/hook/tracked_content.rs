//! The tracked content that differs from the last commit, and whether a call has changed it.
//!
//! `git status` reads every file, which takes longer than a hook may. It therefore runs after a call, and before one
//! only if this session has not run it yet. A difference after the call counts if it is new and was touched since the
//! call began. Changes that a person made between two calls are left out.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portolan_runtime::digest::Digest;
use portolan_runtime::inspection::ask;
use serde::{Deserialize, Serialize};

/// Time stamps of file systems lag by a few milliseconds.
const LATE: Duration = Duration::from_millis(20);

/// The differences from the last commit of a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct BranchDifferences {
    branch: String,
    /// Digests of the files' contents, and of the staged content.
    files: String,
    staged: String,
    /// When the latest of these files was touched, and when the index was, in milliseconds.
    touched: u64,
    indexed: u64,
}

impl BranchDifferences {
    /// Returns the present differences, or `None` if git fails.
    pub(super) fn look(root: &Path, git_dir: &Path, branch: &str) -> Option<BranchDifferences> {
        let (_, text) = ask::ask(root, &["status", "--porcelain=v2", "-z", "--untracked-files=no"], Vec::new())?;
        let (mut files, mut staged, mut touched) = (String::new(), String::new(), 0);
        for entry in text.split('\0') {
            let (count, is_merged) = match entry.as_bytes().first() {
                Some(b'1') => (9, true),
                Some(b'2') => (10, true),
                Some(b'u') => (11, false),
                _ => continue,
            };
            let fields: Vec<&str> = entry.splitn(count, ' ').collect();
            let (Some(&kinds), Some(&path)) = (fields.get(1), fields.get(count - 1)) else { continue };
            if !kinds.starts_with('.') {
                staged.push_str(&format!("\0{kinds:.1} {} {path}", if is_merged { fields[7] } else { entry }));
            }
            if !kinds.ends_with('.') {
                let meta = fs::symlink_metadata(root.join(path)).ok();
                let at = meta.as_ref().map_or_else(|| gone_at(&root.join(path)), changed_at);
                touched = touched.max(at);
                files.push_str(&format!("\0{path} {at} {}", meta.map_or(0, |meta| meta.len())));
            }
        }
        let indexed = fs::metadata(git_dir.join("index")).as_ref().map_or(0, changed_at);
        let digest = |text: String| Digest::of(text).to_string();
        Some(BranchDifferences {
            branch: branch.to_owned(),
            files: digest(files),
            staged: digest(staged),
            touched,
            indexed,
        })
    }

    pub(super) fn is_of(&self, branch: &str) -> bool {
        self.branch == branch
    }

    /// Checks whether the differences from `before` were made since a call began.
    pub(super) fn was_changed(&self, before: &BranchDifferences, begun: u64) -> bool {
        (self.files != before.files && self.touched >= begun) || (self.staged != before.staged && self.indexed >= begun)
    }
}

/// Returns the time from which a change belongs to a call that begins now.
pub(super) fn now() -> u64 {
    millis(SystemTime::now() - LATE)
}

fn millis(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Returns when a path was removed: the time of its folder, or of the next existing one above.
fn gone_at(path: &Path) -> u64 {
    let folder = path.ancestors().skip(1).find_map(|folder| fs::symlink_metadata(folder).ok());
    folder.as_ref().map_or(0, changed_at)
}

/// Returns the change time of the inode. Unlike the modification time, a program cannot set it.
#[cfg(unix)]
fn changed_at(meta: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;

    u64::try_from(meta.ctime() * 1000 + meta.ctime_nsec() / 1_000_000).unwrap_or(0)
}

#[cfg(not(unix))]
fn changed_at(meta: &Metadata) -> u64 {
    meta.modified().map_or(0, millis)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;

    struct Scratch(tempfile::TempDir);

    impl Scratch {
        fn new() -> Scratch {
            let scratch = Scratch(tempfile::tempdir().expect("a scratch folder"));
            scratch.git("init -q -b main .");
            for name in ["a", "d/b"] {
                scratch.write(name, "committed");
            }
            scratch.git("add -A");
            scratch.git("-c user.name=me -c user.email=me@example.org commit -q -m first");
            scratch
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        fn write(&self, path: &str, text: &str) {
            fs::create_dir_all(self.at(path).parent().expect("a folder")).expect("writable");
            fs::write(self.at(path), text).expect("writable");
        }

        fn git(&self, words: &str) {
            let mut git = Command::new("git");
            git.args(words.split(' ')).current_dir(self.0.path()).env("GIT_CONFIG_GLOBAL", "/dev/null");
            assert!(git.status().expect("git runs").success(), "git {words}");
        }

        fn look(&self) -> BranchDifferences {
            BranchDifferences::look(self.0.path(), &self.at(".git"), "main").expect("git says it")
        }
    }

    #[test]
    fn what_was_touched_since_the_call_began_is_the_calls() {
        type Change = (&'static str, fn(&Scratch));
        let changes: [Change; 6] = [
            ("a file", |scratch| scratch.write("a", "changed")),
            ("one that was changed before", |scratch| scratch.write("d/b", "changed again")),
            ("a file that is gone", |scratch| fs::remove_file(scratch.at("a")).expect("it was there")),
            ("its folder as well", |scratch| fs::remove_dir_all(scratch.at("d")).expect("it was there")),
            ("what is staged", |scratch| scratch.git("add -A")),
            ("a new name", |scratch| scratch.git("mv a c")),
        ];
        for (what, change) in changes {
            let scratch = Scratch::new();
            scratch.write("d/b", "changed before");
            let before = scratch.look();
            assert!(!scratch.look().was_changed(&before, 0), "{what}: nothing yet");
            let begun = now();
            change(&scratch);
            let after = scratch.look();
            assert!(after.was_changed(&before, begun), "{what}: {before:?} {after:?}");
            assert!(!after.was_changed(&before, u64::MAX), "{what}: a person did it before the call");
        }
    }

    #[test]
    fn what_nobody_tracks_does_not_count() {
        let scratch = Scratch::new();
        let before = scratch.look();
        scratch.write("new", "untracked");
        assert!(!scratch.look().was_changed(&before, 0));
    }
}
