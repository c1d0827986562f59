//! An agent's program: started without a shell, with the prompt on its standard input and bounded output. Its process
//! group is killed at the deadline.

use std::path::Path;
use std::time::Duration;

use super::SessionResult;

/// A program to start.
pub(crate) struct Program<'p> {
    pub(crate) argv: &'p [String],
    pub(crate) folder: &'p Path,
    /// The standard input.
    pub(crate) input: &'p str,
    pub(crate) deadline: Duration,
    /// Whether it receives variables whose names look like those of secrets. Agents need their keys.
    pub(crate) secrets: bool,
}

/// The output of a program that has ended.
pub(crate) struct ProgramOutput {
    /// The exit status, or `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// The standard output. Only its end, if it is too long.
    pub(crate) out: String,
    /// The end of the standard error.
    pub(crate) complaint: String,
    /// How long it ran, in milliseconds.
    pub(crate) took_ms: u64,
}

impl ProgramOutput {
    /// Returns why the program failed, or `None` if it succeeded.
    pub(crate) fn failure(&self, program: &str) -> Option<String> {
        let how = match self.code {
            Some(0) => return None,
            Some(code) => format!("exited with status {code}"),
            None => "was ended by a signal".to_owned(),
        };
        let line = self.complaint.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("");
        let why = portolan_core::diagnostic::clip(line.trim());
        Some(if why.is_empty() { format!("`{program}` {how}") } else { format!("`{program}` {how}: {why}") })
    }

    /// Returns the whole output as JSON, or else its last line that is JSON.
    pub(crate) fn json(&self) -> Option<serde_json::Value> {
        let whole = serde_json::from_str(self.out.trim()).ok();
        whole.or_else(|| self.out.lines().rev().find_map(|line| serde_json::from_str(line.trim()).ok()))
    }

    /// Returns every line that is JSON.
    pub(crate) fn lines(&self) -> impl Iterator<Item = serde_json::Value> {
        self.out.lines().filter_map(|line| serde_json::from_str(line.trim()).ok())
    }
}

/// The maximum length of an agent's message that is kept, in bytes.
const SAID_BYTES: usize = 4_000;

/// Returns the end of a message.
pub(crate) fn short(text: &str) -> String {
    let text = text.trim();
    text[text.ceil_char_boundary(text.len().saturating_sub(SAID_BYTES))..].to_owned()
}

#[cfg(not(unix))]
pub(crate) async fn run(program: Program<'_>) -> Result<ProgramOutput, SessionResult> {
    let _ = (program.folder, program.input, program.deadline, program.secrets);
    Err(SessionResult::failed("agents are only started on Unix"))
}

#[cfg(unix)]
pub(crate) use unix::run;

#[cfg(unix)]
mod unix {
    use std::io::ErrorKind;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::time::Instant;

    use portolan_runtime::process::{Environment, Group, clean};
    use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
    use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
    use tokio::time::timeout;

    use super::{Program, ProgramOutput, SessionResult};

    /// How much of the output is kept, in bytes. An agent's result is at its end.
    const OUT_BYTES: usize = 4 << 20;
    const COMPLAINT_BYTES: usize = 8 << 10;

    /// Runs the program until it ends.
    pub(crate) async fn run(program: Program<'_>) -> Result<ProgramOutput, SessionResult> {
        let [name, arguments @ ..] = program.argv else { return Err(SessionResult::failed("it names no program")) };
        let environment = Environment::inherited();
        let mut command = Command::new(name);
        command.args(arguments).current_dir(program.folder).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if !program.secrets {
            command.env_clear().envs(environment.open.iter().map(|(name, value)| (name, value)));
        }
        let begun = Instant::now();
        let mut child = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => SessionResult::failed(format!("`{name}` was not found on the `PATH`; install it")),
            _ => SessionResult::failed(format!("`{name}` cannot be started: {error}")),
        })?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (group, ended) = Group::lead(child);
        let lost = |error: std::io::Error| SessionResult::failed(format!("`{name}` was lost: {error}"));
        let stdin = stdin.map(ChildStdin::from_std).transpose().map_err(lost)?;
        let mut stdout = stdout.map(ChildStdout::from_std).transpose().map_err(lost)?;
        let mut stderr = stderr.map(ChildStderr::from_std).transpose().map_err(lost)?;
        let (mut out, mut complaint) = (Vec::new(), Vec::new());
        let work = async {
            let write = async {
                if let Some(mut stdin) = stdin {
                    // A program may end without reading its input.
                    let _unread = stdin.write_all(program.input.as_bytes()).await;
                }
            };
            // Only the program's end counts: a process that left the group may keep the pipes open.
            let read = async {
                tokio::join!(
                    write,
                    tail(&mut stdout, &mut out, OUT_BYTES),
                    tail(&mut stderr, &mut complaint, COMPLAINT_BYTES)
                );
                std::future::pending::<()>().await;
            };
            let mut ended = std::pin::pin!(ended);
            let mut read = std::pin::pin!(read);
            let status = tokio::select! {
                status = &mut ended => status,
                () = &mut read => unreachable!("it waits for ever"),
            };
            // Output that is already in the pipes is read, without waiting for more.
            let _drained = timeout(std::time::Duration::from_millis(200), &mut read).await;
            status
        };
        let status = timeout(program.deadline, work).await;
        drop(group);
        let status = match status {
            Err(_elapsed) => {
                let seconds = program.deadline.as_secs();
                return Err(SessionResult::failed(format!("`{name}` took longer than {seconds} s and was stopped")));
            }
            Ok(Err(error)) => return Err(lost(std::io::Error::other(error))),
            Ok(Ok(status)) => status.map_err(lost)?,
        };
        let text = |bytes: &[u8]| environment.redact(clean(&String::from_utf8_lossy(bytes)));
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(ProgramOutput { code: status.code(), out: text(&out), complaint: text(&complaint), took_ms })
    }

    /// Reads until the end, and keeps the last `most` bytes.
    async fn tail(from: &mut Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>, most: usize) {
        let Some(from) = from else { return };
        let mut chunk = vec![0; 16 << 10];
        while let Ok(read @ 1..) = from.read(&mut chunk).await {
            kept.extend_from_slice(&chunk[..read]);
            if kept.len() > 2 * most {
                kept.drain(..kept.len() - most);
            }
        }
        let over = kept.len().saturating_sub(most);
        kept.drain(..over);
    }
}
