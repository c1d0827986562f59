//! Named pipes: a command that opens one waits for the test, and the test for the command, without a clock.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

pub(crate) struct Fifo(String);

impl Fifo {
    pub(crate) fn at(path: &Path) -> Fifo {
        let made = Command::new("mkfifo").arg(path).status().expect("mkfifo is there");
        assert!(made.success());
        Fifo(path.to_string_lossy().into_owned())
    }

    /// Waits until a command has opened it for writing. What is returned ends when that command has.
    pub(crate) fn opened(&self) -> File {
        let path = self.0.clone();
        within("the command begins", move || File::open(path).expect("a pipe"))
    }

    /// Lets a command go on that waits to read from it.
    pub(crate) fn release(&self) {
        let path = self.0.clone();
        within("the command reads", move || drop(OpenOptions::new().write(true).open(path).expect("a pipe")));
    }
}

/// What `wait` comes to. A test that would hang fails instead.
pub(crate) fn within<T: Send + 'static>(what: &str, wait: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(wait()));
    receiver.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("{what}: it did not"))
}
