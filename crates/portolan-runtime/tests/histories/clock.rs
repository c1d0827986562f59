//! A process whose clock is wrong, by means of libfaketime.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::history;

/// How far a wrong clock is ahead.
const AHEAD: Duration = Duration::from_secs(600);
/// Where the library keeps what it shares with processes that a process starts.
const SHARED: &str = "FAKETIME_SHARED";

/// The library that changes the clock of a process.
pub(crate) struct WrongClock(String);

impl WrongClock {
    /// Returns `None` if it is not installed, and says so.
    pub(crate) fn found() -> Option<WrongClock> {
        // The program knows where its library is. The process is not started through the program, because `kill` would
        // then end the program and not the process.
        let output = Command::new("faketime").args(["-m", "-f", "+0s", "printenv", "LD_PRELOAD"]).output();
        let Some(output) = output.ok().filter(|output| output.status.success()) else {
            let said = "NOT CHECKED: a process whose clock is wrong, because there is no `faketime` on this machine; \
                        install `faketime`\n";
            std::io::stderr().write_all(said.as_bytes()).expect("standard error is there");
            return None;
        };
        Some(WrongClock(String::from_utf8(output.stdout).expect("a path").trim_end().to_owned()))
    }

    /// Makes a process have it. Timers and the times of histories use the monotonic clock, which stays right.
    pub(crate) fn of(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &self.0).env("FAKETIME", format!("+{}s", AHEAD.as_secs()));
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env_remove(SHARED);
    }
}

/// Returns how far the clock is ahead of the monotonic one, in nanoseconds.
fn ahead() -> u128 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later");
    time.as_nanos() - u128::from(history::now())
}

/// Writes down the clock of this process.
pub(crate) fn note(folder: &Path) {
    // A killed process leaves these files behind, and no other process opens them.
    for name in std::env::var(SHARED).unwrap_or_default().split(' ').filter_map(|name| name.strip_prefix('/')) {
        for file in [name.to_owned(), format!("sem.{name}")] {
            let _not_there = std::fs::remove_file(Path::new("/dev/shm").join(file));
        }
    }
    let file = folder.join(format!("{}.clock", std::process::id()));
    std::fs::write(file, ahead().to_string()).expect("there is room");
}

/// Returns the number of processes that had a wrong clock, while the monotonic clock was right.
pub(crate) fn wrong_ones(folder: &Path) -> usize {
    let right = ahead() + AHEAD.as_nanos();
    let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
    let noted = files.filter(|path| path.extension().is_some_and(|kind| kind == "clock"));
    // A process may be killed while it writes.
    let noted = noted.filter_map(|path| std::fs::read_to_string(path).expect("text").parse::<u128>().ok());
    noted.filter(|noted| noted.abs_diff(right) < Duration::from_secs(60).as_nanos()).count()
}
