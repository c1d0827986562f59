//! The installation record `.portolan/installed.json`. Uninstallation relies on it, and tampering is detected with it.

use std::fs;
use std::path::{Path, PathBuf};

use portolan_runtime::pins::Pins;
use portolan_runtime::trust::Digest;
use serde::{Deserialize, Serialize};

use super::gate::MovedServers;
use super::splice::{Insertion, Part};

/// The path of the record in the project.
pub(crate) use portolan_runtime::pins::PLACE;

/// Everything that was installed in a project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    pub(crate) files: Vec<InstalledFile>,
    /// Whether git's hooks were installed by name. They then stay when the last host is uninstalled.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) keeps_git: bool,
    /// The pinned programs, rules and remotes that the project relies on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pins: Option<Pins>,
}

/// One installed file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct InstalledFile {
    /// The target: the name of a host, or `git`.
    pub(crate) host: String,
    /// The path, relative to the project or absolute if it is outside.
    pub(crate) file: PathBuf,
    /// The program that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) program: Option<String>,
    /// The digest of the file after the installation.
    pub(crate) digest: String,
    /// Whether the installation created the file.
    pub(crate) created: bool,
    /// Folders that the installation created, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) folders: Vec<PathBuf>,
    /// The parts inserted into a file with other content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<Part>,
    /// The inserted texts of these parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) inserted: Vec<Insertion>,
    /// The servers that are behind the gate instead of in this file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) moved: Option<MovedServers>,
    /// Whether the earlier hook is kept beside it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) chained: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Record {
    /// Returns whether anything is installed for a host, not only for git.
    pub(super) fn has_hosts(&self) -> bool {
        self.files.iter().any(|file| file.host != "git")
    }

    /// Reads the record of a project. Without a record nothing is installed.
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
            anyhow::anyhow!("`{PLACE}` is not a valid record of an installation ({error}): delete it and install again")
        })?;
        anyhow::ensure!(record.version == 1, "`{PLACE}` was written by a later version: update portolan");
        Ok(record)
    }

    /// Returns the files that were installed for a target.
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

/// Returns the digest by which a file is recognised.
pub(crate) fn digest(text: &[u8]) -> String {
    Digest::of(text).to_string()
}
