//! What was installed, so that it can be taken out again and so that tampering is noticed: `.portolan/installed.json`.

use std::fs;
use std::path::{Path, PathBuf};

use portolan_runtime::pins::Pins;
use portolan_runtime::trust::Digest;
use serde::{Deserialize, Serialize};

use super::splice::{Inserted, Part};

/// Where it is kept, in the project.
pub(crate) use portolan_runtime::pins::PLACE;

/// All that was installed in a project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    pub(crate) files: Vec<InstalledFile>,
    /// Git's own hooks were asked for by name: they stay when the last host's are taken out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) keeps_git: bool,
    /// What the project relies on from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pins: Option<Pins>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct InstalledFile {
    /// For whom: the name of a host, or `git`.
    pub(crate) host: String,
    /// Relative to the project, or absolute when it lies elsewhere.
    pub(crate) file: PathBuf,
    /// The program that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) program: Option<String>,
    /// Of the file as it was left.
    pub(crate) digest: String,
    /// The file was made.
    pub(crate) created: bool,
    /// Folders that were made for it, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) folders: Vec<PathBuf>,
    /// What was put into a file that others write too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<Part>,
    /// The same as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) inserted: Vec<Inserted>,
    /// Beside it is the hook that was there before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) chained: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Record {
    /// Whether something is installed for a host, and not only for git.
    pub(super) fn has_hosts(&self) -> bool {
        self.files.iter().any(|file| file.host != "git")
    }

    /// Nothing was installed where there is no record.
    pub(crate) fn load(project: &Path) -> anyhow::Result<Record> {
        let path = project.join(PLACE);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Record { version: 1, ..Record::default() });
            }
            Err(error) => return Err(anyhow::Error::from(error).context(format!("`{PLACE}` cannot be read"))),
        };
        let record: Record = serde_json::from_slice(&text).map_err(|error| {
            anyhow::anyhow!("`{PLACE}` is no record of an installation ({error}): delete it and install again")
        })?;
        anyhow::ensure!(record.version == 1, "`{PLACE}` was written by a later version: update portolan");
        Ok(record)
    }

    /// What was installed for one host.
    pub(crate) fn of<'a>(&'a self, host: &'a str) -> impl Iterator<Item = &'a InstalledFile> {
        self.files.iter().filter(move |file| file.host == host)
    }

    pub(super) fn found(&self, host: &str, file: &Path) -> Option<&InstalledFile> {
        self.files.iter().find(|installed| installed.host == host && installed.file == file)
    }

    pub(super) fn text(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// How a file is recognised.
pub(crate) fn digest(text: &[u8]) -> String {
    Digest::of(text).to_string()
}
