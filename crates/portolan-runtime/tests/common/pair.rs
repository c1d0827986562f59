//! A command that runs twice at the same time: each says that it has begun, and waits for what it is to do. What it waits
//! at lies beside the project, where it is no content.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a shell runs in the project. The first to come is told by the folder that only one can make.
pub(crate) const SCRIPT: &str = "if mkdir ../first 2>> ../noise; then n=1; else n=2; fi\n\
                                 echo begun > ../begun$n\nread line < ../go$n\necho $n >> ../ran\neval \"$line\"\n";

pub(crate) struct Pair(PathBuf);

impl Pair {
    pub(crate) fn beside(project: &Path) -> Pair {
        let pair = Pair(project.join(".."));
        for pipe in ["begun1", "begun2", "go1", "go2"] {
            let made = Command::new("mkfifo").arg(pair.0.join(pipe)).status();
            assert!(made.expect("there is a mkfifo").success());
        }
        pair
    }

    /// Waits until the first or the second has begun.
    pub(crate) fn begun(&self, nth: usize) {
        let mut text = String::new();
        let pipe = File::open(self.0.join(format!("begun{nth}")));
        pipe.expect("a pipe").read_to_string(&mut text).expect("text");
    }

    /// Has one of them do what a line of a shell says, and end.
    pub(crate) fn go(&self, nth: usize, line: &str) {
        let mut pipe = OpenOptions::new().write(true).open(self.0.join(format!("go{nth}"))).expect("a pipe");
        pipe.write_all(format!("{line}\n").as_bytes()).expect("somebody reads");
    }

    /// How often it has run to its end.
    pub(crate) fn ran(&self) -> usize {
        fs::read_to_string(self.0.join("ran")).unwrap_or_default().lines().count()
    }

    /// The next to come is a first one again.
    pub(crate) fn anew(&self) {
        fs::remove_dir(self.0.join("first")).expect("it was made");
    }
}
