//! Stored verdicts: a small file each, whose name identifies the content it is about. They belong to one checkout, and
//! the oldest are deleted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use portolan_core::value::Timestamp;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::disk::{self, Fresh};
use crate::project_folder;

/// How many are kept.
const MOST_KEPT: usize = 64;
/// How many files of the folder are read.
const MOST_SEEN: usize = 1_024;
/// The largest file that is read, in bytes.
const MOST_BYTES: u64 = 64 * 1024;
/// How far in the future a verdict's time may be, because of another clock, in milliseconds.
const AHEAD_MS: i64 = 60_000;

/// A type checker's verdict on some content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the check passed.
    pub ok: bool,
    /// When it ended.
    pub at: Timestamp,
    /// A short summary.
    pub summary: String,
    /// The commands of the checker.
    pub argv: Vec<Vec<String>>,
    /// The content: the ID of a tree.
    pub tree: String,
    /// The version output of each tool.
    pub versions: Vec<String>,
    /// Identifies the tools without starting them.
    pub tools: Digest,
    /// The version of Portolan that ran the check.
    pub portolan: String,
}

impl Verdict {
    /// Returns the name under which it is stored: a digest of everything that it depends on.
    pub(super) fn key(&self) -> Digest {
        let mut parts = vec!["portolan typecheck 1".to_owned(), self.tree.clone(), self.portolan.clone()];
        for (at, argv) in self.argv.iter().enumerate() {
            parts.push(argv.len().to_string());
            parts.extend(argv.iter().cloned());
            parts.extend(self.versions.get(at).cloned());
        }
        Digest::of_parts(parts.iter().map(String::as_bytes))
    }

    /// Returns the age in seconds, or `None` if the verdict is from the future.
    pub(super) fn age_seconds(&self, now: Timestamp) -> Option<u64> {
        let age = now.0.saturating_sub(self.at.0);
        (age >= -AHEAD_MS).then(|| u64::try_from(age / 1_000).unwrap_or(0))
    }
}

/// The folder of the stored verdicts.
pub(super) struct Verdicts {
    project: PathBuf,
    folder: PathBuf,
}

impl Verdicts {
    pub(super) fn of(project: &Path) -> Verdicts {
        Verdicts { project: project.to_owned(), folder: project.join(".portolan").join("verdicts") }
    }

    /// Returns the verdict under a key, if the key matches its content.
    pub(super) fn find(&self, key: &Digest) -> Option<Verdict> {
        self.is_inside().then(|| read(&self.path(key))).flatten().filter(|verdict| verdict.key() == *key)
    }

    /// Returns the latest verdict of these tools on this content.
    pub(super) fn latest(&self, tree: &str, argv: &[Vec<String>], tools: &Digest) -> Option<Verdict> {
        let fits = |verdict: &Verdict| {
            verdict.tree == tree
                && verdict.argv == argv
                && verdict.tools == *tools
                && verdict.portolan == env!("CARGO_PKG_VERSION")
        };
        let named = |path: &PathBuf, verdict: &Verdict| {
            path.file_stem().is_some_and(|stem| stem.to_str() == Some(verdict.key().as_str()))
        };
        let files = self.files().into_iter().filter_map(|path| {
            let verdict = read(&path)?;
            (fits(&verdict) && named(&path, &verdict)).then_some(verdict)
        });
        files.max_by_key(|verdict| verdict.at)
    }

    /// Stores a verdict atomically.
    pub(super) fn keep(&self, verdict: &Verdict) -> io::Result<()> {
        project_folder::make(&self.project.join(".portolan"))?;
        fs::create_dir_all(&self.folder)?;
        if !self.is_inside() {
            return Err(io::Error::other("`.portolan/verdicts` is outside the project"));
        }
        self.prune();
        let mut text = serde_json::to_vec_pretty(verdict)?;
        text.push(b'\n');
        let path = self.path(&verdict.key());
        Fresh::beside(&path, &text)?.replace(&path)
    }

    fn path(&self, key: &Digest) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    fn is_inside(&self) -> bool {
        let real = |path: &Path| path.canonicalize().ok();
        real(&self.folder).zip(real(&self.project)).is_some_and(|(folder, project)| folder.starts_with(project))
    }

    fn files(&self) -> Vec<PathBuf> {
        if !self.is_inside() {
            return Vec::new();
        }
        let entries = fs::read_dir(&self.folder).into_iter().flatten().take(MOST_SEEN).flatten();
        entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
            .collect()
    }

    /// Deletes the oldest verdicts to make room for one more. Ignores errors.
    fn prune(&self) {
        let time = |path: &PathBuf| path.symlink_metadata().and_then(|meta| meta.modified()).ok();
        let mut files = self.files();
        files.sort_by_key(time);
        let spare = files.len().saturating_sub(MOST_KEPT - 1);
        for path in &files[..spare] {
            let _kept = fs::remove_file(path);
        }
    }
}

fn read(path: &Path) -> Option<Verdict> {
    serde_json::from_slice(&disk::bytes(path, MOST_BYTES).ok()??).ok()
}

#[cfg(test)]
mod tests {

    use super::*;

    fn verdict(tree: &str, at: i64) -> Verdict {
        Verdict {
            ok: true,
            at: Timestamp(at),
            summary: String::new(),
            argv: vec![vec!["check".to_owned()]],
            tree: tree.to_owned(),
            versions: vec!["1".to_owned()],
            tools: Digest::of("tool"),
            portolan: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    #[test]
    fn what_a_verdict_depends_on_is_its_name() {
        let one = verdict("a", 1);
        assert_eq!(one.key(), Verdict { ok: false, at: Timestamp(2), ..one.clone() }.key());
        for other in [
            Verdict { tree: "b".to_owned(), ..one.clone() },
            Verdict { argv: vec![vec!["check".to_owned(), String::new()]], ..one.clone() },
            Verdict { versions: vec!["2".to_owned()], ..one.clone() },
            Verdict { portolan: "0".to_owned(), ..one.clone() },
        ] {
            assert_ne!(one.key(), other.key(), "{other:?}");
        }
    }

    #[test]
    fn a_file_under_another_name_is_no_verdict() {
        let folder = tempfile::tempdir().unwrap();
        let verdicts = Verdicts::of(folder.path());
        let (one, other) = (verdict("a", 1), verdict("b", 1));
        verdicts.keep(&one).unwrap();
        assert_eq!(verdicts.find(&one.key()), Some(one.clone()));
        fs::rename(verdicts.path(&one.key()), verdicts.path(&other.key())).unwrap();
        assert_eq!(verdicts.find(&other.key()), None);
        assert_eq!(verdicts.latest("a", &one.argv, &one.tools), None);
        for text in ["", "{", "{}", "[]", &"x".repeat(100_000)] {
            fs::write(verdicts.path(&one.key()), text).unwrap();
            assert_eq!(verdicts.find(&one.key()), None);
        }
    }

    #[test]
    fn only_so_many_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let verdicts = Verdicts::of(folder.path());
        for at in 0..100 {
            verdicts.keep(&verdict(&at.to_string(), at)).unwrap();
        }
        assert_eq!(verdicts.files().len(), MOST_KEPT);
        let last = verdict("99", 99);
        assert_eq!(verdicts.latest("99", &last.argv, &last.tools), Some(last));
    }

    #[test]
    fn a_verdict_from_a_time_to_come_is_of_no_age() {
        assert_eq!(verdict("a", 5_000).age_seconds(Timestamp(65_500)), Some(60));
        assert_eq!(verdict("a", 5_000).age_seconds(Timestamp(4_000)), Some(0));
        assert_eq!(verdict("a", 500_000).age_seconds(Timestamp(4_000)), None);
    }

    #[cfg(unix)]
    #[test]
    fn verdicts_stay_in_the_project() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(folder.path().join(".portolan")).unwrap();
        std::os::unix::fs::symlink(other.path(), folder.path().join(".portolan/verdicts")).unwrap();
        let verdicts = Verdicts::of(folder.path());
        assert!(verdicts.keep(&verdict("a", 1)).is_err());
        assert_eq!(verdicts.find(&verdict("a", 1).key()), None);
        assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
    }
}
