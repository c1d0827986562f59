//! The questions that only `git` can answer. Paths go to it on its standard input, so that none is taken for an option; a
//! git that does not answer in time has not answered.

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

/// A hook that waits longer is late for its host.
const PATIENCE: Duration = Duration::from_secs(2);
/// A longer answer is none.
const MAX_ANSWER: u64 = 1024 * 1024;

/// Which of `paths`, seen from the root of their worktree, git ignores. None where it does not say.
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

/// The aliases of git in a folder.
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

/// What is checked out where references are kept in tables.
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

/// The exit status of git, and what it printed, in an environment that cannot make it say anything else; nothing where it
/// did not answer.
pub(crate) fn ask(folder: &Path, arguments: &[&str], input: Vec<u8>) -> Option<(i32, String)> {
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let mut command = git(folder, arguments)?;
    command.env_clear().envs(own(&environment));
    run(command, input, PATIENCE)
}

/// The same, as the environment and the `-c` of whoever runs git would have it: what they configure is the question.
pub(crate) fn ask_as_given(folder: &Path, arguments: &[&str], input: Vec<u8>) -> Option<(i32, String)> {
    let mut command = git(folder, arguments)?;
    // Where this runs as a hook of git itself, they would name another repository than the one that is asked about.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE"] {
        command.env_remove(name);
    }
    command.env("GIT_OPTIONAL_LOCKS", "0");
    run(command, input, PATIENCE)
}

/// What a remote says that one of its references is at, without asking anybody for a password.
pub(crate) fn ask_remote(folder: &Path, address: &str, reference: &str, patience: Duration) -> Option<(i32, String)> {
    let mut command = git(folder, &["ls-remote", "--", address, reference])?;
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "true").env("SSH_ASKPASS", "true");
    run(command, Vec::new(), patience)
}

/// Nothing where the one that is pinned is gone: it does not answer, and no other one is asked.
fn git(folder: &Path, arguments: &[&str]) -> Option<Command> {
    let mut command = Command::new(pins::program(folder, "git").ok()?);
    command.args(["-c", "core.fsmonitor=false"]).args(arguments).current_dir(folder);
    Some(command)
}

/// The exit status of a program, and what it printed; nothing where it did not answer in time.
pub(crate) fn run(mut command: Command, input: Vec<u8>, patience: Duration) -> Option<(i32, String)> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let answer = answer(&mut child, input, patience);
    if answer.is_none() {
        // It may have ended by itself meanwhile, and then there is nothing to stop.
        drop(child.kill());
    }
    let status = child.wait().ok()?;
    Some((status.code()?, answer?))
}

fn answer(child: &mut Child, input: Vec<u8>, patience: Duration) -> Option<String> {
    let (mut stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
    // It may answer before it has read everything: both at once, so that neither waits for the other.
    thread::spawn(move || drop(stdin.write_all(&input)));
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.take(MAX_ANSWER).read_to_end(&mut bytes).is_ok();
        // Nobody listens any more once the time is up.
        drop(send.send(bytes).map(|()| read));
    });
    let bytes = receive.recv_timeout(patience).ok()?;
    String::from_utf8(bytes).ok()
}
