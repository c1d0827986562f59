//! A line of JSON in a file of the project.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use super::{Notice, NotificationFuture, Notifier};

/// A file of the project.
pub struct File {
    /// Its name.
    pub id: String,
    /// The file, relative to the project.
    pub path: String,
    /// The project.
    pub project: PathBuf,
}

impl Notifier for File {
    fn id(&self) -> &str {
        &self.id
    }

    fn send<'a>(&'a self, notice: &'a Notice) -> NotificationFuture<'a> {
        Box::pin(
            async move { self.append(notice).map_err(|error| format!("`{}` cannot be written: {error}", self.path)) },
        )
    }
}

impl File {
    fn append(&self, notice: &Notice) -> io::Result<()> {
        let path = self.project.join(&self.path);
        let folder = path.parent().unwrap_or(&self.project);
        std::fs::create_dir_all(folder)?;
        // A symlink in the repository must not lead out of the project.
        if !folder.canonicalize()?.starts_with(self.project.canonicalize()?) {
            return Err(io::Error::other("it is outside the project"));
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        {
            use rustix::fs::OFlags;
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
        }
        let mut line = serde_json::to_vec(notice).map_err(io::Error::other)?;
        line.push(b'\n');
        options.open(path)?.write_all(&line)
    }
}
