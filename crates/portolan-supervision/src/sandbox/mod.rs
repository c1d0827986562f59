//! Runs a program in a sandbox in which the files that configure the gates cannot be written: a mount namespace on
//! Linux, Seatbelt on macOS. Everything else is unchanged.
//!
//! Git's hooks run inside too, and have to record what they observed. Each call of `portolan` in the sandbox is
//! therefore forwarded to the process that made the sandbox: see `broker`.

pub(crate) mod broker;
mod client;
mod paths;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use portolan_runtime::pins;

pub use client::forward;
pub use paths::{Access, SandboxPath, sandbox_paths};

/// Makes mount namespaces for users, see bwrap(1). Processes inside have no rights over those outside.
const BWRAP: &str = "bwrap";
/// Makes them for root, see unshare(1). `bwrap` leaves a process of root outside through which its files could be
/// reached.
const UNSHARE: &str = "unshare";
/// The sandbox program of macOS, see sandbox-exec(1).
const SEATBELT: &str = "/usr/bin/sandbox-exec";

/// Runs in a mount namespace as root. Its arguments are pairs of mount options and a path, `--`, and those of
/// `setpriv`.
const MOUNT_SCRIPT: &str =
    r#"while [ "$1" != -- ]; do mount -o "$1" "$2" "$2" || exit 125; shift 2; done; shift; exec setpriv "$@""#;
/// The capabilities that root drops: with these it could undo the mounts, or reach the files through another process or
/// a device. See capabilities(7).
const DROPPED_CAPABILITIES: &str =
    "-sys_admin,-sys_ptrace,-sys_chroot,-sys_module,-sys_rawio,-dac_read_search,-mknod,-bpf";

/// Runs a program in the sandbox of a project, and serves the calls of `portolan` from inside until it has ended.
/// Returns its exit code. If a signal ended it, returns 128 plus the signal's number, as a shell does.
///
/// # Errors
/// This machine has no program that makes sandboxes, or it cannot be started.
pub fn run(project: &Path, words: &[OsString]) -> io::Result<i32> {
    let broker = broker::Broker::new()?;
    paths::create_folders(project);
    let (program, arguments) = command_line(&sandbox_paths(project), is_root())?;
    let mut command = Command::new(program);
    command.args(arguments).args(words).env(broker::SOCKET, broker.socket());
    let mut child = command.spawn()?;
    broker.answer();
    child.wait().map(exit_code)
}

#[cfg(unix)]
fn exit_code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

#[cfg(not(unix))]
fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(1)
}

/// Checks that a sandbox can be made on this machine, by making one.
///
/// # Errors
/// The reason why it cannot.
pub fn check_available() -> Result<(), String> {
    let (program, mut arguments) = command_line(&[], is_root()).map_err(|error| error.to_string())?;
    arguments.push("true".into());
    let output = Command::new(&program).args(arguments).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let reason = stderr.lines().next().unwrap_or("no reason given").trim().to_owned();
    Err(format!("`{}` cannot make a sandbox on this machine: {reason}", program.display()))
}

/// Returns the program that makes the sandbox, and its arguments before the command that runs inside.
fn command_line(paths: &[SandboxPath], is_root: bool) -> io::Result<(PathBuf, Vec<OsString>)> {
    if cfg!(target_os = "macos") {
        let arguments = vec!["-p".into(), seatbelt(paths).into()];
        return Ok((PathBuf::from(SEATBELT), arguments));
    }
    let (name, package) = if is_root { (UNSHARE, "util-linux") } else { (BWRAP, "bubblewrap") };
    let program = pins::on_path(name).ok_or_else(|| {
        let missing = format!("`{name}` is not on the search path: install {package}, which makes the sandbox");
        io::Error::new(io::ErrorKind::NotFound, missing)
    })?;
    Ok((program, if is_root { unshare(paths) } else { bubblewrap(paths) }))
}

/// Returns the arguments of `bwrap`. A folder that is mounted on itself can be written, but not moved or removed.
fn bubblewrap(paths: &[SandboxPath]) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = ["--dev-bind", "/", "/"].map(OsString::from).to_vec();
    for SandboxPath { path, access } in paths {
        let bind = if *access == Access::ReadOnly { "--ro-bind" } else { "--bind" };
        arguments.extend([OsStr::new(bind), path.as_os_str(), path.as_os_str()].map(OsStr::to_owned));
    }
    arguments.push("--".into());
    arguments
}

/// Returns the arguments of `unshare` for the same restrictions.
fn unshare(paths: &[SandboxPath]) -> Vec<OsString> {
    let mut arguments: Vec<OsString> =
        ["--mount", "--propagation", "slave", "sh", "-c", MOUNT_SCRIPT, "sh"].map(OsString::from).to_vec();
    for SandboxPath { path, access } in paths {
        let bind = if *access == Access::ReadOnly { "bind,ro" } else { "bind" };
        arguments.extend([OsStr::new(bind), path.as_os_str()].map(OsStr::to_owned));
    }
    arguments.extend(
        ["--", "--bounding-set", DROPPED_CAPABILITIES, "--inh-caps", DROPPED_CAPABILITIES, "--"].map(OsString::from),
    );
    arguments
}

/// Returns a Seatbelt profile. Of the matching rules, the last one applies.
fn seatbelt(paths: &[SandboxPath]) -> String {
    let mut profile = "(version 1)(allow default)".to_owned();
    for SandboxPath { path, access } in paths {
        let path = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
        profile += &match access {
            Access::ReadOnly => format!("(deny file-write* (subpath \"{path}\"))"),
            Access::Open => format!("(allow file-write* (subpath \"{path}\"))"),
            Access::Fixed => format!("(deny file-write* (literal \"{path}\"))"),
        };
    }
    profile
}

#[cfg(unix)]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> [SandboxPath; 3] {
        [(".git", Access::Fixed), (".portolan", Access::ReadOnly), (".portolan/a \"b\"", Access::Open)]
            .map(|(path, access)| SandboxPath { path: Path::new("/p").join(path), access })
    }

    #[test]
    fn mounts_stand_in_their_order_and_root_gives_up_what_undoes_them() {
        let text = |words: &[OsString]| {
            words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            text(&bubblewrap(&some())),
            "--dev-bind / / --bind /p/.git /p/.git --ro-bind /p/.portolan /p/.portolan --bind /p/.portolan/a \"b\" \
             /p/.portolan/a \"b\" --"
        );
        let root = text(&unshare(&some()));
        let mounts = "sh bind /p/.git bind,ro /p/.portolan bind /p/.portolan/a \"b\" -- --bounding-set -sys_admin,";
        assert!(root.contains(mounts), "{root}");
    }

    #[test]
    fn the_profile_of_a_mac_has_a_rule_for_each_path() {
        assert_eq!(
            seatbelt(&some()),
            "(version 1)(allow default)(deny file-write* (literal \"/p/.git\"))(deny file-write* (subpath \
             \"/p/.portolan\"))(allow file-write* (subpath \"/p/.portolan/a \\\"b\\\"\"))"
        );
    }
}
