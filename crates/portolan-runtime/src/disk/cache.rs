//! A value that was read from files, kept until the metadata of one of them changes.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use super::Stamp;

/// The state of files.
type Stamps = Vec<(PathBuf, Stamp)>;

/// A value, and the state of the files that it was read from.
#[derive(Debug)]
pub struct FileCache<T>(Mutex<Option<(T, Stamps)>>);

/// The state of files before they are read.
pub struct BeforeReading {
    /// `None` if a later change might not show in the metadata.
    stamps: Option<Stamps>,
}

impl BeforeReading {
    /// Looks at all files on which a value depends, missing ones included, at the present time.
    pub fn at(files: impl IntoIterator<Item = PathBuf>, now: SystemTime) -> BeforeReading {
        let stamps = files.into_iter().map(|path| Some((Stamp::of(&path)?, path)));
        let settled = stamps.map(|entry| entry.filter(|(stamp, _)| stamp.is_settled(now)));
        BeforeReading { stamps: settled.map(|entry| entry.map(|(stamp, path)| (path, stamp))).collect() }
    }
}

impl<T> Default for FileCache<T> {
    fn default() -> FileCache<T> {
        FileCache(Mutex::new(None))
    }
}

impl<T: Clone> FileCache<T> {
    /// Returns the value if none of its files has changed.
    pub fn current(&self) -> Option<T> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (value, stamps) = kept.as_ref()?;
        let is_same = |(path, stamp): &(PathBuf, Stamp)| Stamp::of(path).is_some_and(|now| now == *stamp);
        stamps.iter().all(is_same).then(|| value.clone())
    }

    /// Returns the value as it was last read, whether or not a file has changed since.
    pub fn last(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(value, _)| value.clone())
    }

    /// Keeps a value that was read after `before`. A value whose files have just changed is not kept.
    pub fn keep(&self, before: BeforeReading, value: &T) {
        let kept = before.stamps.map(|stamps| (value.clone(), stamps));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_value_is_kept_until_a_file_changes_appears_or_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let (here, missing) = (folder.path().join("here"), folder.path().join("missing"));
        let changes: [fn(&PathBuf, &PathBuf); 3] = [
            |here, _| fs::write(here, "longer").expect("written"),
            |_, missing| fs::write(missing, "").expect("written"),
            |here, _| fs::remove_file(here).expect("removed"),
        ];
        for change in changes {
            fs::write(&here, "a").expect("written");
            let _none = fs::remove_file(&missing);
            let cached = FileCache::default();
            let files = || vec![here.clone(), missing.clone()];
            // A change within the same moment might not show.
            cached.keep(BeforeReading::at(files(), SystemTime::now()), &1);
            assert_eq!(cached.current(), None);
            cached.keep(BeforeReading::at(files(), SystemTime::now() + Duration::from_secs(10)), &1);
            assert_eq!((cached.current(), cached.current()), (Some(1), Some(1)));
            change(&here, &missing);
            assert_eq!(cached.current(), None);
        }
    }
}
