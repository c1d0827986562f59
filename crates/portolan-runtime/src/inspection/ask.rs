//! The questions that only `git` can answer. Paths are passed on its standard input, so that none is taken for an
//! option. If git does not answer in time, there is no answer.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use portolan_gates::guards::WorktreeHead;

use crate::pins;
use crate::program::own;

/// The maximum wait for git. A hook that waits longer would miss its host's time limit.
const PATIENCE: Duration = Duration::from_secs(2);
/// The maximum length of an answer, in bytes. A longer one is discarded.
const MAX_ANSWER: u64 = 1024 * 1024;

/// Returns the ones of `paths`, relative to the root of their worktree, that git ignores. Empty if it does not answer.
pub(super) fn ignored(root: &Path, paths: &[String]) -> BTreeSet<String> {
    let mut input = Vec::new();
    for path in paths {
        input.extend_from_slice(path.as_bytes());
        input.push(0);
    }
    let answer = ask(root, &["check-ignore", "-z", "--stdin"], input);
    answer
        .map(|(_, text)| text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
        .unwrap_or_default()
}

/// Returns the git aliases that apply in a folder.
pub(super) fn aliases(folder: &Path) -> BTreeMap<String, String> {
    let Some((_, text)) = ask_as_given(folder, &["config", "--null", "--get-regexp", r"^alias\."], Vec::new()) else {
        return BTreeMap::new();
    };
    let alias = |entry: &str| {
        let (key, value) = entry.split_once('\n')?;
        Some((key.strip_prefix("alias.")?.to_owned(), value.to_owned()))
    };
    text.split('\0').filter_map(alias).collect()
}

/// Returns what is checked out in a repository whose references are in tables.
pub(super) fn head(root: &Path) -> WorktreeHead {
    let Some((code, name)) = ask(root, &["symbolic-ref", "-q", "HEAD"], Vec::new()) else {
        return WorktreeHead::Unknown;
    };
    let commit = ask(root, &["rev-parse", "-q", "--verify", "HEAD"], Vec::new());
    let commit = commit.filter(|(code, _)| *code == 0).map(|(_, oid)| oid.trim().to_owned());
    match (code, name.trim().strip_prefix("refs/heads/"), commit) {
        (0, Some(branch), Some(_)) => WorktreeHead::Branch(branch.to_owned()),
        (0, Some(branch), None) => WorktreeHead::Unborn(branch.to_owned()),
        (1, _, Some(oid)) => WorktreeHead::Detached(oid),
        _ => WorktreeHead::Unknown,
    }
}

/// Returns the exit status and the output of git, in an environment that cannot change its answer. `None` if it did not
/// answer.
pub fn ask(folder: &Path, arguments: &[&str], input: Vec<u8>) -> Option<(i32, String)> {
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let mut command = git(folder, arguments)?;
    command.env_clear().envs(own(&environment));
    run(command, input, PATIENCE)
}

/// Does the same with the environment and the `-c` options of the caller: their configuration is what is asked for.
pub fn ask_as_given(folder: &Path, arguments: &[&str], input: Vec<u8>) -> Option<(i32, String)> {
    let mut command = git(folder, arguments)?;
    // If this runs as a hook of git itself, they would name another repository than the requested one.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE"] {
        command.env_remove(name);
    }
    command.env("GIT_OPTIONAL_LOCKS", "0");
    run(command, input, PATIENCE)
}

/// Returns the commit of a reference according to a remote, without a prompt for a password.
pub fn ask_remote(folder: &Path, address: &str, reference: &str, patience: Duration) -> Option<(i32, String)> {
    let mut command = git(folder, &["ls-remote", "--", address, reference])?;
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "true").env("SSH_ASKPASS", "true");
    run(command, Vec::new(), patience)
}

/// Returns `None` if the pinned program does not exist: no other one is used.
fn git(folder: &Path, arguments: &[&str]) -> Option<Command> {
    let mut command = Command::new(pins::program(folder, "git").ok()?);
    command.args(["-c", "core.fsmonitor=false"]).args(arguments).current_dir(folder);
    Some(command)
}

/// Returns the exit status and the output of a program, or `None` if it did not answer in time.
pub fn run(mut command: Command, input: Vec<u8>, patience: Duration) -> Option<(i32, String)> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let answer = answer(&mut child, input, patience);
    if answer.is_none() {
        // It may have ended by itself in the meantime.
        drop(child.kill());
    }
    let status = child.wait().ok()?;
    Some((status.code()?, answer?))
}

fn answer(child: &mut Child, input: Vec<u8>, patience: Duration) -> Option<String> {
    let (mut stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
    // It may answer before it has read everything, so its input is written at the same time.
    thread::spawn(move || drop(stdin.write_all(&input)));
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.take(MAX_ANSWER).read_to_end(&mut bytes).is_ok();
        // After the time limit, the receiver no longer exists.
        drop(send.send(bytes).map(|()| read));
    });
    let bytes = receive.recv_timeout(patience).ok()?;
    String::from_utf8(bytes).ok()
}
