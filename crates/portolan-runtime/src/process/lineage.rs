//! The ancestors of this process, from `/proc` on Linux and from `ps` on macOS. Other systems report none.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A unique identity of a process. Process IDs are reused, so the start time is part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The process ID.
    pub pid: u32,
    /// The start time, in the system's own format.
    pub start: String,
}

/// A process, with its program and command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    pub process: Process,
    /// The file that it executes, if that is visible.
    pub file: Option<PathBuf>,
    /// The command line.
    pub words: Vec<String>,
}

/// Shells. They run hooks, and are used interactively.
const SHELLS: [&str; 10] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "tcsh", "csh"];
/// Programs that are no hosts of agents: those that adopt orphans, and those that open terminals.
const NO_HOSTS: [&str; 10] =
    ["portolan", "systemd", "init", "launchd", "login", "sshd", "tmux", "screen", "sudo", "su"];

/// Whether this system reports other processes.
pub const IS_TOLD: bool = cfg!(any(target_os = "linux", target_os = "macos"));

/// The maximum number of ancestors, as a safeguard.
const MAX_DEPTH: usize = 256;

impl ProcessIdentity {
    /// Returns the name of the program, without folders and without the leading `-` of a login shell.
    pub fn name(&self) -> &str {
        let word = self.words.first().map(String::as_str).unwrap_or_default();
        name_of(word).trim_start_matches('-')
    }

    /// Checks whether it is a shell, by its name or by the file that it executes.
    pub fn is_shell(&self) -> bool {
        let file = self.file.as_deref().and_then(Path::to_str).map(name_of);
        SHELLS.contains(&self.name()) || file.is_some_and(|name| SHELLS.contains(&name))
    }

    /// Checks whether it is known to be no host of agents.
    pub fn is_no_host(&self) -> bool {
        self.process.pid == 1 || NO_HOSTS.iter().any(|name| self.name().trim_end_matches(':') == *name)
    }
}

/// Returns the last part of a path.
pub fn name_of(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

/// Returns this process and its ancestors, the nearest first, or `None` if the system does not report them.
pub fn ancestors() -> Option<Vec<ProcessIdentity>> {
    let found: Vec<ProcessIdentity> = lineage().take(MAX_DEPTH).collect();
    (!found.is_empty()).then_some(found)
}

/// Returns the same lazily: a hook needs only the nearest ones, at every call. A hidden process of another user ends
/// the chain, which is no loss, because agents run as this user.
pub fn lineage() -> impl Iterator<Item = ProcessIdentity> {
    let table = system::Table::read();
    let mut next = std::process::id();
    std::iter::from_fn(move || {
        let (identity, parent) = (next != 0).then(|| table.as_ref()?.process(next)).flatten()?;
        next = parent;
        Some(identity)
    })
}

/// The variable with the process ID of the client whose call a sandbox has forwarded.
pub const ASKED_BY: &str = "PORTOLAN_ASKED_BY";

/// Returns the process that requested this one: its parent, or the client whose call a sandbox has forwarded. The
/// variable counts only if the parent is this same program, run as `portolan sandbox`.
#[cfg(target_os = "linux")]
pub fn requesting_process() -> u32 {
    let parent = std::os::unix::process::parent_id();
    let asked_by = || {
        let client = std::env::var(ASKED_BY).ok()?.parse().ok()?;
        let (identity, _) = system::Table::read()?.process(parent)?;
        let answers = identity.words.get(1).is_some_and(|word| word == "sandbox");
        (answers && identity.file == std::fs::read_link("/proc/self/exe").ok()).then_some(client)
    };
    asked_by().unwrap_or(parent)
}

/// Returns a function that checks whether a process runs. If the system does not report processes, all count as
/// running.
pub fn running() -> impl Fn(&Process) -> bool {
    let table = system::Table::read();
    move |process| match &table {
        Some(table) => table.process(process.pid).is_some_and(|(identity, _)| identity.process == *process),
        None => true,
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs::{self, File};
    use std::io::Read;
    use std::path::PathBuf;

    use super::{Process, ProcessIdentity};

    /// How much of a file is read, in bytes.
    const MAX_BYTES: u64 = 1 << 20;
    /// The initial buffer size, because `/proc` does not report the length of its files.
    const USUAL_BYTES: usize = 4 << 10;

    pub(crate) struct Table {
        /// The ID of the machine's boot, to which start times are relative.
        boot: String,
    }

    impl Table {
        pub(crate) fn read() -> Option<Table> {
            let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
            Some(Table { boot: boot.trim().to_owned() })
        }

        /// Returns a process and its parent.
        pub(crate) fn process(&self, pid: u32) -> Option<(ProcessIdentity, u32)> {
            let folder = PathBuf::from(format!("/proc/{pid}"));
            let stat = text(folder.join("stat"))?;
            let super::Stat { parent, start, .. } = super::of_stat(&stat)?;
            let words = text(folder.join("cmdline")).unwrap_or_default();
            let words = words.split_terminator('\0').map(str::to_owned).collect();
            let process = Process { pid, start: format!("{start}@{}", self.boot) };
            let file = fs::read_link(folder.join("exe")).ok();
            Some((ProcessIdentity { process, file, words }, parent))
        }
    }

    fn bytes(path: PathBuf) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(USUAL_BYTES);
        File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    pub(crate) fn text(path: PathBuf) -> Option<String> {
        bytes(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the initial environment of a process, as `NAME=value` between null bytes.
    pub fn environment(pid: u32) -> Option<Vec<u8>> {
        bytes(PathBuf::from(format!("/proc/{pid}/environ")))
    }
}

/// The fields of `/proc/PID/stat`, see proc_pid_stat(5).
#[cfg(any(target_os = "linux", test))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat<'a> {
    parent: u32,
    /// The kernel's flags `PF_…`.
    flags: u32,
    start: &'a str,
}

/// Parses a line. The program's name at its beginning is in parentheses and may contain any character.
#[cfg(any(target_os = "linux", test))]
fn of_stat(line: &str) -> Option<Stat<'_>> {
    let fields: Vec<&str> = line.get(line.rfind(')')? + 1..)?.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse().ok();
    Some(Stat { parent: number(1)?, flags: number(6)?, start: fields.get(19).copied()? })
}

/// Returns the parent of a fork that still runs its parent's program.
#[cfg(target_os = "linux")]
pub fn forked_from(pid: u32) -> Option<u32> {
    /// `PF_FORKNOEXEC` of the kernel's `include/linux/sched.h`.
    const FORKED_WITHOUT_EXEC: u32 = 0x40;

    let line = system::text(PathBuf::from(format!("/proc/{pid}/stat")))?;
    let stat = of_stat(&line)?;
    (stat.flags & FORKED_WITHOUT_EXEC != 0).then_some(stat.parent)
}

/// The initial environment of another process. Only Linux reports it.
#[cfg(target_os = "linux")]
pub use system::environment;

#[cfg(target_os = "macos")]
mod system {
    use std::process::{Command, Stdio};

    use super::ProcessIdentity;

    pub(crate) struct Table(Vec<(ProcessIdentity, u32)>);

    impl Table {
        pub(crate) fn read() -> Option<Table> {
            let mut ps = Command::new("/bin/ps");
            ps.args(["-axo", "pid=,ppid=,lstart=,command="]).env("LC_ALL", "C").stdin(Stdio::null());
            let output = ps.output().ok().filter(|output| output.status.success())?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            Some(Table(text.lines().filter_map(super::of_ps).collect()))
        }

        pub(crate) fn process(&self, pid: u32) -> Option<(ProcessIdentity, u32)> {
            self.0.iter().find(|(seen, _)| seen.process.pid == pid).cloned()
        }
    }
}

/// Parses a line of `ps`. Returns a process and its parent.
#[cfg(any(target_os = "macos", test))]
fn of_ps(line: &str) -> Option<(ProcessIdentity, u32)> {
    let mut words = line.split_whitespace();
    let (pid, parent) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    // The day of the week, the month, the day, the time, the year.
    let start = words.by_ref().take(5).collect::<Vec<_>>().join(" ");
    let words: Vec<String> = words.map(str::to_owned).collect();
    Some((ProcessIdentity { process: Process { pid, start }, file: words.first().map(PathBuf::from), words }, parent))
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod system {
    use super::ProcessIdentity;

    pub(crate) struct Table;

    impl Table {
        pub(crate) fn read() -> Option<Table> {
            None
        }

        pub(crate) fn process(&self, _pid: u32) -> Option<(ProcessIdentity, u32)> {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_system_are_read_whatever_a_process_is_called() {
        let stat = "42 (a ) b (c) S 7 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 200";
        assert_eq!(of_stat(stat), Some(Stat { parent: 7, flags: 0x40_0000, start: "98765" }));
        assert_eq!((of_stat(""), of_stat("1 (x"), of_stat("1 (x) S")), (None, None, None));
        let (seen, parent) = of_ps("  42     7 Sun Nov 22 19:37:21 2026     /usr/bin/claude -p x").expect("a process");
        assert_eq!((seen.process.pid, parent, seen.name()), (42, 7, "claude"));
        assert_eq!(seen.process.start, "Sun Nov 22 19:37:21 2026");
        assert_eq!(of_ps("PID PPID"), None);
    }

    #[test]
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    fn this_process_has_a_parent_and_begins_once() {
        let (one, two) = (ancestors().expect("told"), ancestors().expect("told"));
        assert_eq!(one[0].process.pid, std::process::id());
        assert!(one.len() > 1, "{one:?}");
        assert_eq!(one[0].process, two[0].process);
    }
}
