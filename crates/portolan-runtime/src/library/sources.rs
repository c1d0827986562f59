//! A cache of the texts of definitions. A file is read again if its metadata, or that of a file read with it, has
//! changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use portolan_core::source::Source;

use super::activities::watched_folders;
use super::{lock, read_definition};
use crate::disk::Stamp;
use crate::error::ServiceError;

/// The maximum number of cached definitions. Beyond that, the cache is cleared.
const MAX_KEPT: usize = 256;

/// The cached texts, by their paths.
#[derive(Default)]
pub(super) struct Sources(Mutex<BTreeMap<PathBuf, Arc<StampedSource>>>);

/// A text, and the metadata of its files and folders when it was read.
struct StampedSource {
    source: Source,
    stamps: Vec<(PathBuf, Stamp)>,
}

impl Sources {
    /// Returns the current text at `path` with the files of its activities.
    ///
    /// # Errors
    /// As for [`read_definition`].
    pub(super) fn read(&self, path: &Path) -> Result<Source, ServiceError> {
        // The lock is released before any file is accessed.
        let known = lock(&self.0).get(path).cloned();
        if let Some(known) = known.filter(|known| known.is_current()) {
            return Ok(known.source.clone());
        }
        let begun = SystemTime::now();
        let source = read_definition(path)?;
        let reading = StampedSource::of(path, &source, begun);
        let mut kept = lock(&self.0);
        match reading {
            Some(reading) => {
                if kept.len() >= MAX_KEPT {
                    kept.clear();
                }
                kept.insert(path.to_owned(), Arc::new(reading));
            }
            None => drop(kept.remove(path)),
        }
        Ok(source)
    }
}

impl StampedSource {
    /// Returns the reading of a text that began at `begun`. `None` if a later change might not show: after a change in
    /// the same moment, or if a fault reports that something could not be read.
    fn of(path: &Path, source: &Source, begun: SystemTime) -> Option<StampedSource> {
        if !source.faults().is_empty() {
            return None;
        }
        // A missing file may appear anywhere in the folders around.
        if super::beside::wanted(source).len() > source.beside().len() {
            return None;
        }
        let folders = watched_folders(path, source);
        let beside = source.beside().iter().map(|beside| PathBuf::from(&beside.name));
        let files = source.names().map(PathBuf::from).chain(beside);
        let stamps = files.chain(folders).map(|path| Stamp::of(&path).map(|stamp| (path, stamp)));
        let stamps: Vec<(PathBuf, Stamp)> = stamps.collect::<Option<_>>()?;
        stamps
            .iter()
            .all(|(_, stamp)| stamp.is_settled(begun))
            .then(|| StampedSource { source: source.clone(), stamps })
    }

    fn is_current(&self) -> bool {
        self.stamps.iter().all(|(path, stamp)| Stamp::of(path).is_some_and(|now| now == *stamp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Returns a time at which a file written now is settled.
    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(10)
    }

    fn write(folder: &Path, file: &str, text: &str) -> PathBuf {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("there is room");
        std::fs::write(&path, text).expect("there is room");
        path
    }

    /// The clock of a file system advances in steps of some milliseconds.
    fn until_the_clock_advances(folder: &Path) {
        let time = || Stamp::of(&write(folder, "clock", ""));
        let first = time();
        while time() == first {}
    }

    const HEAD: &str = "id: mine\nversion: 1.0.0\ntitle: Mine\n";
    const ACTIVITY: &str = "id: look\nversion: 1.0.0\nname: Look\n";

    #[test]
    #[cfg(unix)]
    fn what_was_just_written_is_not_trusted_to_show_its_next_change() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = write(folder.path(), "mine.yaml", HEAD);
        let source = read_definition(&path).expect("it is read");
        assert!(StampedSource::of(&path, &source, SystemTime::now()).is_none());
        assert!(StampedSource::of(&path, &source, later()).is_some_and(|reading| reading.is_current()));
    }

    #[test]
    #[cfg(unix)]
    fn every_change_of_files_and_folders_shows_in_their_metadata() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 8] = [
            ("a text of the same size with the same time", |folder| {
                let path = folder.join("workflow.yaml");
                let before = path.metadata().expect("it is there").modified().expect("a time");
                std::fs::write(&path, HEAD.replace("Mine", "Ours")).expect("it is written");
                let file = std::fs::File::options().write(true).open(&path).expect("it opens");
                file.set_modified(before).expect("it is set");
            }),
            ("an activity", |folder| {
                write(folder, "activities/01-look.yaml", "id: look\nversion: 1.0.0\nname: Hook\n");
            }),
            ("an activity more", |folder| {
                write(folder, "activities/02-more.yaml", "id: more\nversion: 1.0.0\nname: More\n");
            }),
            ("an activity less", |folder| {
                std::fs::remove_file(folder.join("activities/01-look.yaml")).expect("it is there");
            }),
            ("an activity of another name", |folder| {
                let from = folder.join("activities/01-look.yaml");
                std::fs::rename(from, folder.join("activities/03-look.yaml")).expect("it is there");
            }),
            ("a link where a file was", |folder| {
                let (path, aside) = (folder.join("workflow.yaml"), folder.join("aside"));
                std::fs::rename(&path, &aside).expect("it is there");
                std::os::unix::fs::symlink(&aside, &path).expect("it is linked");
            }),
            ("a folder that leads elsewhere", |folder| {
                let (path, aside) = (folder.join("activities"), folder.join("aside"));
                std::fs::rename(&path, &aside).expect("it is there");
                std::os::unix::fs::symlink(&aside, &path).expect("it is linked");
            }),
            ("no file", |folder| std::fs::remove_file(folder.join("workflow.yaml")).expect("it is there")),
        ];
        for (what, change) in changes {
            let folder = tempfile::tempdir().expect("a folder");
            write(folder.path(), "activities/01-look.yaml", ACTIVITY);
            let path = write(folder.path(), "workflow.yaml", HEAD);
            let source = read_definition(&path).expect("it is read");
            let reading = StampedSource::of(&path, &source, later()).expect("all is settled");
            assert!(reading.is_current());
            until_the_clock_advances(folder.path());
            change(folder.path());
            assert!(!reading.is_current(), "{what}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_folder_of_activities_that_comes_later_shows() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = write(folder.path(), "workflow.yaml", HEAD);
        let source = read_definition(&path).expect("it is read");
        let reading = StampedSource::of(&path, &source, later()).expect("all is settled");
        write(folder.path(), "activities/01-look.yaml", ACTIVITY);
        assert!(!reading.is_current());
    }

    #[test]
    fn what_has_a_fault_is_read_each_time() {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), "activities/notes.yaml", "");
        let path = write(folder.path(), "workflow.yaml", HEAD);
        let source = read_definition(&path).expect("it is read");
        assert!(!source.faults().is_empty());
        assert!(StampedSource::of(&path, &source, later()).is_none());
    }
}
