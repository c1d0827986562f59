//! Identifies the process at the other end of standard input. A server trusts its client's dialog only if the client is
//! the program that started it. An agent that replaces its shell with a server (`exec`) and feeds it from a file or a
//! pipe is not that program.

/// Checks whether one of these processes is at the other end of standard input. Returns `None` if the system does not
/// report it.
#[cfg(target_os = "linux")]
pub(super) fn is_fed_by(processes: &[u32]) -> Option<bool> {
    use std::os::unix::fs::FileTypeExt;

    let input = rustix::stdio::stdin();
    let Ok(path) = std::fs::read_link("/proc/self/fd/0") else { return Some(false) };
    let kind = std::fs::metadata("/proc/self/fd/0").ok()?.file_type();
    if kind.is_socket() {
        // The process that made the socket pair. For a connection, it is the listener, which starts no other program.
        let peer = rustix::net::sockopt::socket_peercred(input).ok()?;
        return Some(u32::try_from(peer.pid.as_raw_nonzero().get()).is_ok_and(|pid| processes.contains(&pid)));
    }
    // Any process can open a pipe that has a name in the file system.
    let is_unnamed = path.to_str().is_some_and(|path| path.starts_with("pipe:["));
    Some(kind.is_fifo() && is_unnamed && linux::is_written_by(&path, processes))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_fed_by(_processes: &[u32]) -> Option<bool> {
    None
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::path::{Path, PathBuf};

    use portolan_runtime::process::lineage::forked_from;

    /// Checks whether only these processes can write to the pipe, and at least one of them can.
    pub(super) fn is_written_by(pipe: &Path, processes: &[u32]) -> bool {
        let (own, others): (Vec<u32>, Vec<u32>) =
            running().filter(|pid| writes(*pid, pipe)).partition(|pid| processes.contains(pid));
        // A fork has all open files of its parent until it executes its program, which may have happened since.
        let is_fork = |pid: u32| forked_from(pid).is_some_and(|parent| processes.contains(&parent));
        !own.is_empty() && others.into_iter().all(|pid| is_fork(pid) || !writes(pid, pipe))
    }

    fn running() -> impl Iterator<Item = u32> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
    }

    /// Checks whether a process has the pipe open for writing. The system hides the open files of other users'
    /// processes.
    fn writes(pid: u32, pipe: &Path) -> bool {
        let folder = PathBuf::from(format!("/proc/{pid}/fd"));
        let open = fs::read_dir(folder).into_iter().flatten().flatten();
        open.filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| to == pipe)).any(|entry| {
            let about = PathBuf::from(format!("/proc/{pid}/fdinfo")).join(entry.file_name());
            fs::read_to_string(about).is_ok_and(|text| may_write(&text))
        })
    }

    /// Checks the access mode, the last octal digit of the flags: 0 reads, 1 writes, 2 does both.
    fn may_write(about: &str) -> bool {
        let flags = about.lines().find_map(|line| line.strip_prefix("flags:"));
        flags.is_some_and(|flags| flags.trim().ends_with(['1', '2', '5', '6']))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_those_who_can_write_count() {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            let pipe = fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader)));
            let (pipe, own) = (pipe.expect("linked"), std::process::id());
            assert!(is_written_by(&pipe, &[own]));
            assert!(!is_written_by(&pipe, &[1]), "somebody else's");
            drop(writer);
            assert!(!is_written_by(&pipe, &[own]), "whoever only reads");
        }

        /// Starts a shell that writes to a pipe and runs `child` beside it, and waits for the child's first output.
        fn shell_with(child: &str) -> (std::process::Child, std::io::PipeReader, PathBuf) {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            let pipe = fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader)));
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", &format!("{child}; true")]).stdin(std::process::Stdio::piped()).stdout(writer);
            let shell = shell.spawn().expect("a shell");
            let mut said = [0; 6];
            std::io::Read::read_exact(&mut &reader, &mut said).expect("the child says something");
            (shell, reader, pipe.expect("linked"))
        }

        #[test]
        fn a_fork_that_has_not_started_its_program_is_still_its_parent() {
            // Another test may be starting a program, which briefly has this process's ends of the pipe.
            let own = std::process::id();
            let (mut shell, _reader, pipe) = shell_with("(echo ready; read line)");
            assert!(is_written_by(&pipe, &[own, shell.id()]));
            assert!(!is_written_by(&pipe, &[own]), "the fork of a process that is no client");
            drop(shell.stdin.take());
            shell.wait().expect("ended");

            let (mut shell, _reader, pipe) = shell_with("sh -c 'echo ready; read line; true'");
            assert!(!is_written_by(&pipe, &[own, shell.id()]), "a program that a client has started");
            drop(shell.stdin.take());
            shell.wait().expect("ended");
        }

        #[test]
        fn the_mode_is_told_from_the_other_flags() {
            for (flags, expected) in [("0100000", false), ("0100001", true), ("02100002", true), ("0", false)] {
                assert_eq!(may_write(&format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t9\n")), expected, "{flags}");
            }
            assert!(!may_write(""));
        }
    }
}
