//! The shell that a host runs its commands in, where they run in a sandbox: a small program that is called like the shell
//! which it starts. Claude Code takes it from `CLAUDE_CODE_SHELL`, and wants `bash` or `zsh` in the path.

use std::path::{Path, PathBuf};

use portolan_runtime::pins::{is_program, on_path};

use super::record::Record;
use crate::hook::{Host, quoted};

/// Where the program is, in the project.
const FOLDER: &str = ".portolan/sandbox";
/// The shells that there is such a program for.
const SHELLS: [&str; 2] = ["bash", "zsh"];

/// A shell that is run in a sandbox.
pub(super) struct Shell {
    name: &'static str,
    /// Where the shell itself is.
    path: PathBuf,
}

impl Shell {
    /// The shell of the person, or else `bash`.
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

    /// The program, seen from the project.
    pub(super) fn file(&self) -> PathBuf {
        Path::new(FOLDER).join(self.name)
    }

    /// What is in it. The verb stands first: by it the process is known that answers for what runs within.
    pub(super) fn script(&self, project: &Path, program: &str) -> String {
        let [program, project, shell] = [program, &project.to_string_lossy(), &self.path.to_string_lossy()].map(quoted);
        format!(
            "#!/bin/sh\n# Made by `portolan install claude-code --sandbox`: what holds the gates cannot be written from here.\n\
             exec {program} sandbox --project {project} -- {shell} \"$@\"\n"
        )
    }
}

/// The shell that a host was given.
pub(super) fn known(record: &Record, host: Host) -> Option<Shell> {
    let installed = record.of(host.name()).find(|installed| installed.file.starts_with(FOLDER))?;
    let name = SHELLS.into_iter().find(|name| installed.file.ends_with(name))?;
    let theirs = Some(Shell::of_person()).filter(|shell| shell.name == name);
    Some(theirs.unwrap_or_else(|| Shell::named(name)))
}

/// The program that a host was given, where it was given one.
pub(super) fn program(project: &Path, record: &Record, host: Host) -> Option<PathBuf> {
    known(record, host).map(|shell| project.join(shell.file()))
}
