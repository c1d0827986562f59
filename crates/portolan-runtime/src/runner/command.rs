//! Runs a command: a program and its arguments, without a shell and without input, in the project's folder, in a
//! process group of its own that does not outlive it. Its exit status is the verdict, the end of its output the
//! feedback.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{Command, ExitStatus, Stdio};
use std::task::Poll;
use std::time::Duration;

use portolan_core::run::Verdict;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStdout;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{LineSplitter, PathError, inside, unknown};
use crate::process::{Environment, Group, Tail};

/// How much is read from a pipe after the command has ended. No pipe holds more than this, and a process that escaped
/// the group may keep filling it.
const LAST_READ_BYTES: usize = 1024 * 1024;
/// The maximum length of a command line that is quoted in a reason, in characters.
const SHOWN_CHARS: usize = 160;

/// The time limits of a command.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// The time until it is asked to end.
    pub(super) seconds: u64,
    /// The time from then until it is killed, and from then until it is given up.
    pub(super) grace: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { seconds: portolan_core::graph::DEFAULT_TIMEOUT_SECONDS, grace: Duration::from_secs(3) }
    }
}

pub(super) async fn run(
    argv: &[String],
    limits: Limits,
    project: &Path,
    environment: &Environment,
    mut printing: LineSplitter,
) -> Verdict {
    let shown = shown(argv);
    let mut running = match start(argv, project, environment) {
        Ok(running) => running,
        Err(reason) => return unknown(reason),
    };
    let mut hear = |chunk: &[u8]| printing.push(chunk, &|text| environment.redact(text));
    let ending = running.finish(limits, &mut hear).await;
    let output = || running.tail.text(|text| environment.redact(text));
    match ending {
        Ending::Exited(status) if status.success() => Verdict::Held,
        Ending::Exited(status) => Verdict::Broken { reason: format!("{shown} {}", how(status)), output: output() },
        Ending::Stopped => {
            let reason = format!("{shown} ran longer than {} s and was stopped", limits.seconds);
            Verdict::Broken { reason, output: output() }
        }
        Ending::Lost(error) => unknown(format!("it is unknown how {shown} ended ({error}); report again")),
    }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(9)) => "was killed (signal 9); the machine may have run out of memory".to_owned(),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended without a status".to_owned(),
    }
}

/// Receives the output as it is printed.
type Hear<'h> = dyn FnMut(&[u8]) + Send + 'h;

/// A running command. Dropping it kills its group.
struct RunningCommand {
    group: Group,
    ended: JoinHandle<io::Result<ExitStatus>>,
    output: ChildStdout,
    /// A second handle of the pipe, for the rest of the output at the end. Reading it never blocks and bypasses the
    /// runtime.
    rest: PipeReader,
    tail: Tail,
}

enum Ending {
    Exited(ExitStatus),
    Stopped,
    Lost(io::Error),
}

impl RunningCommand {
    async fn finish(&mut self, limits: Limits, hear: &mut Hear<'_>) -> Ending {
        let ending = match timeout(Duration::from_secs(limits.seconds), self.ended(hear)).await {
            Ok(Ok(status)) => Ending::Exited(status),
            Ok(Err(error)) => Ending::Lost(error),
            Err(_elapsed) => {
                self.stop(limits.grace, hear).await;
                Ending::Stopped
            }
        };
        self.read_rest(hear);
        ending
    }

    async fn stop(&mut self, grace: Duration, hear: &mut Hear<'_>) {
        self.group.ask_to_end();
        if timeout(grace, self.ended(hear)).await.is_err() {
            self.group.kill();
            // A process that even the system cannot end is abandoned, so that the run continues.
            let _elapsed = timeout(grace, self.ended(hear)).await;
        }
    }

    /// Waits for the end of the command, and reads its output meanwhile. Does not wait for the end of the output,
    /// because another process may hold the pipe.
    async fn ended(&mut self, hear: &mut Hear<'_>) -> io::Result<ExitStatus> {
        let RunningCommand { ended, output, tail, .. } = self;
        let mut ended = pin!(ended);
        let mut printing = pin!(copy(output, tail, hear));
        let joined = poll_fn(|context| {
            // The end is polled first: constant output must not hide it.
            let end = ended.as_mut().poll(context);
            if end.is_pending()
                && let Poll::Ready(never) = printing.as_mut().poll(context)
            {
                match never {}
            }
            end
        });
        joined.await.map_err(io::Error::other)?
    }

    fn read_rest(&mut self, hear: &mut Hear<'_>) {
        let mut chunk = [0; 8192];
        let mut left = LAST_READ_BYTES;
        while left > 0 {
            match self.rest.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => {
                    self.tail.push(&chunk[..read]);
                    hear(&chunk[..read]);
                    left = left.saturating_sub(read);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_drained) => break,
            }
        }
    }
}

/// Copies the output, and stays pending when it ends.
async fn copy(output: &mut ChildStdout, tail: &mut Tail, hear: &mut Hear<'_>) -> Infallible {
    let mut chunk = [0; 8192];
    while let Ok(read @ 1..) = output.read(&mut chunk).await {
        tail.push(&chunk[..read]);
        hear(&chunk[..read]);
    }
    poll_fn(|_| Poll::Pending).await
}

/// Starts the command. The error says why it cannot be started, and what to do.
fn start(argv: &[String], project: &Path, environment: &Environment) -> Result<RunningCommand, String> {
    let [name, arguments @ ..] = argv else {
        return Err("the check names no program; add one to its `run`".to_owned());
    };
    if !project.is_dir() {
        return Err(format!("the project `{}` is not a folder; start in the project's folder", project.display()));
    }
    let program = program(name, project)?;
    spawn(&program, arguments, project, environment).map_err(|error| not_started(name, &error))
}

fn spawn(
    program: &Path,
    arguments: &[String],
    project: &Path,
    environment: &Environment,
) -> io::Result<RunningCommand> {
    // One pipe for both streams keeps their output in order.
    let (reader, writer) = io::pipe()?;
    let rest = reader.try_clone()?;
    let output = ChildStdout::from_std(OwnedFd::from(reader).into())?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(project)
        .env_clear()
        .envs(environment.open.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0);
    let (group, ended) = Group::lead(command.spawn()?);
    Ok(RunningCommand { group, ended, output, rest, tail: Tail::default() })
}

/// Returns the program to execute. A bare name is searched on the `PATH`; a relative path with a slash must stay inside
/// the project.
fn program(name: &str, project: &Path) -> Result<PathBuf, String> {
    let path = Path::new(name);
    if path.is_absolute() || !name.contains('/') {
        return Ok(path.to_owned());
    }
    match inside(project, name) {
        Ok(found) if found.is_dir() => Err(format!("`{name}` is a folder; name a program in it")),
        // Symlinks are not resolved here: many programs depend on the name by which they are called.
        Ok(_) => project.canonicalize().map(|project| project.join(path)).map_err(|error| not_started(name, &error)),
        Err(PathError::Missing) => {
            Err(format!("`{name}` does not exist in the project; create it, or correct the check"))
        }
        Err(PathError::Outside) => Err(format!(
            "`{name}` is outside the project; name a program inside it, one on the `PATH`, or an absolute path"
        )),
        Err(PathError::Unknown(error)) => Err(not_started(name, &error)),
    }
}

fn not_started(name: &str, error: &io::Error) -> String {
    match error.kind() {
        // A folder of the `PATH` that may not be entered is reported as if the program had been there.
        ErrorKind::NotFound | ErrorKind::PermissionDenied if !name.contains('/') => {
            format!("no executable `{name}` was found on the `PATH`; install it, or correct the check")
        }
        ErrorKind::NotFound => {
            format!("`{name}` or the interpreter in its first line does not exist; install it, or correct the check")
        }
        ErrorKind::PermissionDenied => {
            format!("`{name}` is not executable; make it executable (`chmod +x`), or correct the check")
        }
        _ => format!("`{name}` cannot be started ({error}); correct the check"),
    }
}

/// Quotes a command line for a reason.
fn shown(argv: &[String]) -> String {
    let plain = |word: &str| !word.is_empty() && !word.contains(|char: char| char.is_whitespace() || char.is_control());
    let words = argv.iter().map(|word| if plain(word) { word.clone() } else { format!("{word:?}") });
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("`{}…`", &line[..end]),
        None => format!("`{line}`"),
    }
}
