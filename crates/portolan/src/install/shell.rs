//! The shell in which a host runs sandboxed commands: a small script with the name of the shell that it starts. Claude
//! Code takes it from `CLAUDE_CODE_SHELL`, and requires `bash` or `zsh` in the path.

use std::path::{Path, PathBuf};

use portolan_runtime::pins::{is_program, on_path};

use super::record::Record;
use crate::hook::{Host, quoted};

/// The folder of the scripts, in the project.
const FOLDER: &str = ".portolan/sandbox";
/// The shells with such a script.
const SHELLS: [&str; 2] = ["bash", "zsh"];

/// A shell to run in a sandbox.
pub(super) struct Shell {
    name: &'static str,
    /// The path of the real shell.
    path: PathBuf,
}

impl Shell {
    /// Returns the person's shell, or else `bash`.
    pub(super) fn of_person() -> Shell {
        let theirs = std::env::var_os("SHELL").map(PathBuf::from).filter(|path| is_program(path));
        let named = theirs.and_then(|path| {
            let name = SHELLS.into_iter().find(|name| path.file_name().is_some_and(|file| file == *name))?;
            Some(Shell { name, path })
        });
        named.unwrap_or_else(|| Shell::named("bash"))
    }

    fn named(name: &'static str) -> Shell {
        Shell { name, path: on_path(name).unwrap_or_else(|| Path::new("/bin").join(name)) }
    }

    /// Returns the path of the script, relative to the project.
    pub(super) fn file(&self) -> PathBuf {
        Path::new(FOLDER).join(self.name)
    }

    /// Returns the script's text. The command comes first in the arguments: it identifies the process that is
    /// responsible for the commands inside.
    pub(super) fn script(&self, project: &Path, program: &str) -> String {
        let [program, project, shell] = [program, &project.to_string_lossy(), &self.path.to_string_lossy()].map(quoted);
        format!(
            "#!/bin/sh\n# Made by `portolan install claude-code --sandbox`: the files that hold the gates cannot \
            be written from here.\nexec {program} sandbox --project {project} -- {shell} \"$@\"\n"
        )
    }
}

/// Returns the shell that was installed for a host.
pub(super) fn known(record: &Record, host: Host) -> Option<Shell> {
    let installed = record.of(host.name()).find(|installed| installed.file.starts_with(FOLDER))?;
    let name = SHELLS.into_iter().find(|name| installed.file.ends_with(name))?;
    let theirs = Some(Shell::of_person()).filter(|shell| shell.name == name);
    Some(theirs.unwrap_or_else(|| Shell::named(name)))
}

/// Returns the script that was installed for a host, if any.
pub(super) fn program(project: &Path, record: &Record, host: Host) -> Option<PathBuf> {
    known(record, host).map(|shell| project.join(shell.file()))
}
