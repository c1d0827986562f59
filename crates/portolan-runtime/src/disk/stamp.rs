//! Detects a changed file or folder without reading it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The metadata of a path, and of the target if it is a symlink. `None` stands for a missing file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    own: Option<Metadata>,
    target: Option<Metadata>,
}

/// The coarsest time resolution of a file system: two changes within it may have the same time.
const CLOCK_STEP: Duration = Duration::from_secs(2);

impl Stamp {
    /// Returns the stamp of a path, or `None` if its metadata cannot be read.
    pub fn of(path: &Path) -> Option<Stamp> {
        let own = looked_at(path.symlink_metadata())?;
        let target = match &own {
            Some(own) if own.is_link => looked_at(path.metadata())?,
            _ => None,
        };
        Some(Stamp { own, target })
    }

    /// Checks whether every change after `time` would show. One within the same clock step might not.
    pub fn is_settled(&self, time: SystemTime) -> bool {
        let steps = [&self.own, &self.target].into_iter().flatten();
        steps.into_iter().all(|metadata| metadata.last_change().is_some_and(|at| at + CLOCK_STEP < time))
    }
}

/// The stamps of several files. Any change of the files makes it differ.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Marks(Vec<(PathBuf, Option<Stamp>)>);

impl Marks {
    /// Returns the stamps of these files, in any order. None of them is read.
    pub fn of(mut paths: Vec<PathBuf>) -> Marks {
        paths.sort();
        Marks(paths.into_iter().map(|path| (Stamp::of(&path), path)).map(|(stamp, path)| (path, stamp)).collect())
    }
}

fn looked_at(metadata: io::Result<std::fs::Metadata>) -> Option<Option<Metadata>> {
    match metadata {
        Ok(metadata) => Some(Some(Metadata::of(&metadata))),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Some(None),
        Err(_) => None,
    }
}

/// The metadata that changes with the content. It includes the change time of the inode, which no program can set.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Metadata {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    is_link: bool,
}

impl Metadata {
    #[cfg(unix)]
    fn of(metadata: &std::fs::Metadata) -> Metadata {
        use std::os::unix::fs::MetadataExt;
        Metadata {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            is_link: metadata.is_symlink(),
        }
    }

    /// On other systems no metadata reliably shows a change. The change time is in the future, so that files are read
    /// again.
    #[cfg(not(unix))]
    fn of(metadata: &std::fs::Metadata) -> Metadata {
        let (size, is_link) = (metadata.len(), metadata.is_symlink());
        Metadata { device: 0, inode: 0, size, modified: (0, 0), changed: (i64::MAX, 0), is_link }
    }

    /// Returns the later one of both times, or `None` if it is before 1970.
    fn last_change(&self) -> Option<SystemTime> {
        let (seconds, nanoseconds) = self.modified.max(self.changed);
        let since = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanoseconds).ok()?);
        SystemTime::UNIX_EPOCH.checked_add(since)
    }
}
