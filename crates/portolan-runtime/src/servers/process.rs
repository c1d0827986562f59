//! A server's process: started without a shell, in a process group of its own that ends with it, and with Portolan.
//!
//! The process ends when [`Process`] is dropped (at once), when the transport is dropped (its standard input is closed,
//! then it is asked to end, then it is killed), and when the runtime shuts down. If Portolan itself is killed, the
//! system only closes the process's standard input: a server that ignores that continues to run.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Grace;
use super::stderr::Stderr;
use crate::process::Group;

/// The maximum wait for the end of standard error after the process has ended: a daemon that it started may hold it
/// open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The command to execute.
pub(super) struct Argv {
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) folder: PathBuf,
    pub(super) environment: Vec<(OsString, OsString)>,
}

/// A started process, and its streams.
pub(super) struct StartedProcess {
    pub(super) process: Process,
    pub(super) output: ChildStdout,
    pub(super) input: ChildStdin,
    /// Dropped with the streams, which ends the process.
    pub(super) hung_up: oneshot::Sender<()>,
}

/// A server's process. Dropping it kills its group.
pub(super) struct Process {
    _leash: Leash,
    /// How it ended, after it has ended and its output has been read.
    ended: watch::Receiver<Option<String>>,
}

struct Leash(Arc<Group>);

impl Drop for Leash {
    fn drop(&mut self) {
        self.0.kill();
    }
}

impl Process {
    /// Returns how the process ended, if it does within `patience`.
    pub(super) async fn ended(&self, patience: Duration) -> Option<String> {
        let mut ended = self.ended.clone();
        let how = timeout(patience, ended.wait_for(Option::is_some)).await;
        how.ok()?.ok()?.clone()
    }
}

pub(super) fn start(argv: &Argv, stderr: &Arc<Stderr>, grace: Grace) -> io::Result<StartedProcess> {
    let mut child = Command::new(&argv.program)
        .args(&argv.args)
        .current_dir(&argv.folder)
        .env_clear()
        .envs(argv.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (group, ended) = Group::lead(child);
    let group = Arc::new(group);
    // From here on the group is killed on any failure.
    let leash = Leash(Arc::clone(&group));
    let (Some(input), Some(output), Some(errors)) = pipes else {
        return Err(io::Error::other("its streams are missing"));
    };
    let input = ChildStdin::from_std(OwnedFd::from(input).into())?;
    let output = ChildStdout::from_std(OwnedFd::from(output).into())?;
    let errors = ChildStderr::from_std(OwnedFd::from(errors).into())?;
    let (hung_up, hears) = oneshot::channel();
    let (tell, ending) = watch::channel(None);
    let pump = tokio::spawn(Arc::clone(stderr).pump(errors));
    tokio::spawn(keep(Leash(group), ended, hears, pump, grace, tell));
    Ok(StartedProcess { process: Process { _leash: leash, ended: ending }, output, input, hung_up })
}

/// Waits for the end of the process, or ends it after its streams are dropped.
async fn keep(
    leash: Leash,
    mut ended: JoinHandle<io::Result<ExitStatus>>,
    hung_up: oneshot::Receiver<()>,
    mut pump: JoinHandle<()>,
    grace: Grace,
    tell: watch::Sender<Option<String>>,
) {
    let status = tokio::select! {
        status = &mut ended => Some(status),
        _ = hung_up => end(&leash.0, &mut ended, grace.get()).await,
    };
    if timeout(LAST_WORDS, &mut pump).await.is_err() {
        pump.abort();
    }
    let how = match status {
        Some(Ok(Ok(status))) => how(status),
        Some(Ok(Err(error))) => format!("ended in an unknown way ({error})"),
        Some(Err(error)) => format!("ended in an unknown way ({error})"),
        None => "does not end, even when it is killed".to_owned(),
    };
    let _nobody = tell.send(Some(how));
}

type ExitResult = Result<io::Result<ExitStatus>, tokio::task::JoinError>;

/// Ends a process whose standard input is closed already.
async fn end(group: &Group, ended: &mut JoinHandle<io::Result<ExitStatus>>, grace: Duration) -> Option<ExitResult> {
    if let Ok(status) = timeout(grace, &mut *ended).await {
        return Some(status);
    }
    group.ask_to_end();
    if let Ok(status) = timeout(grace, &mut *ended).await {
        return Some(status);
    }
    group.kill();
    timeout(grace, &mut *ended).await.ok()
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended without a status".to_owned(),
    }
}

/// Returns the program for `command`: a bare name is searched in `PATH`, a path is relative to `folder`.
pub(super) fn program(command: &str, folder: &Path) -> PathBuf {
    match command.contains('/') {
        true => folder.join(command),
        false => PathBuf::from(command),
    }
}
