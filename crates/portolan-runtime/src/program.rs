//! Runs `git` and `gh`, at their pinned paths if the project has pins: without a shell, with the given input only, with
//! bounded output, in a process group that does not outlive the answer.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use portolan_core::diagnostic::{clip, is_unseen};
use portolan_gates::facts::FactError;

/// A call of a program.
pub(crate) struct Question<'q> {
    pub(crate) program: &'q str,
    pub(crate) arguments: &'q [&'q str],
    pub(crate) folder: &'q Path,
    pub(crate) environment: &'q [(OsString, OsString)],
    /// The standard input.
    pub(crate) input: &'q [u8],
    pub(crate) timeout: Duration,
    /// The maximum size of the output, in bytes.
    pub(crate) most_bytes: usize,
}

/// The output of a program, as text.
pub(crate) struct Output {
    /// The exit status, or `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The output of a program, as bytes.
pub(crate) struct Raw {
    /// The exit status, or `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Raw {
    /// Returns the standard error on one line.
    pub(crate) fn complaint(&self) -> String {
        String::from_utf8_lossy(&self.stderr).split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Runs a program whose output is text.
pub(crate) async fn ask(question: Question<'_>) -> Result<Output, FactError> {
    let Raw { code, stdout, stderr } = ask_raw(question).await?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Output { code, stdout: text(stdout), stderr: text(stderr) })
}

impl Output {
    /// Returns the first line of the standard error.
    pub(crate) fn complaint(&self) -> String {
        let line = self.stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or("it did not say why");
        clip(line.trim()).chars().map(|c| if is_unseen(c) || c == '`' { ' ' } else { c }).collect()
    }
}

pub(crate) fn unknown(code: &'static str, why: impl Into<String>) -> FactError {
    FactError { code, why: why.into() }
}

/// Variables that redirect git and `gh`, besides all that begin with `GIT_`, or inject code into them.
const LEADS: [&str; 12] = [
    "DYLD_INSERT_LIBRARIES",
    "DYLD_LIBRARY_PATH",
    "GH_CONFIG_DIR",
    "GH_DEBUG",
    "GH_FORCE_TTY",
    "GH_HOST",
    "GH_REPO",
    "LANGUAGE",
    "LC_ALL",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
];

/// Returns the environment without variables that would lead git to another repository or hide commits from it, and
/// with those that disable prompts, pagers, locks and translations.
pub fn own(environment: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let leads = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("GIT_") || LEADS.contains(&name.as_ref())
    };
    let fixed = [
        ("LC_ALL", "C"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        ("GIT_GRAFT_FILE", "/dev/null"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GH_PROMPT_DISABLED", "1"),
        ("GH_NO_UPDATE_NOTIFIER", "1"),
        ("NO_COLOR", "1"),
    ];
    let kept = environment.iter().filter(|(name, _)| !leads(name)).cloned();
    kept.chain(fixed.map(|(name, value)| (name.into(), value.into()))).collect()
}

#[cfg(not(unix))]
pub(crate) async fn ask_raw(question: Question<'_>) -> Result<Raw, FactError> {
    Err(unknown("not-unix", format!("`{}` is run only on Unix; try again there", question.program)))
}

#[cfg(unix)]
pub(crate) use unix::ask_raw;

#[cfg(unix)]
mod unix {
    use std::io::{self, ErrorKind};
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::{Command, ExitStatus, Stdio};

    use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
    use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
    use tokio::task::JoinHandle;
    use tokio::time::timeout;

    use super::{FactError, Question, Raw, unknown};
    use crate::pins;
    use crate::process::Group;

    /// How much of the standard error is kept, in bytes.
    const COMPLAINT_BYTES: usize = 4 * 1024;

    /// A running program. Dropping it kills its group.
    struct RunningProgram {
        _group: Group,
        stdin: ChildStdin,
        ended: JoinHandle<io::Result<ExitStatus>>,
        stdout: ChildStdout,
        stderr: ChildStderr,
    }

    pub(crate) async fn ask_raw(question: Question<'_>) -> Result<Raw, FactError> {
        let name = question.program;
        if !question.folder.is_dir() {
            return Err(unknown("no-folder", "the project is not a folder; start in the project's folder"));
        }
        let program = pins::program(question.folder, name).map_err(|why| unknown("program-gone", why))?;
        let running = start(&program, &question).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                unknown("program-missing", format!("`{name}` was not found on the `PATH`; install it"))
            }
            _ => unknown("program-not-started", format!("`{name}` cannot be started ({error}); fix that")),
        })?;
        let seconds = question.timeout.as_secs();
        match timeout(question.timeout, finish(running, &question)).await {
            Err(_elapsed) => Err(unknown("timeout", format!("`{name}` took longer than {seconds} s; try again"))),
            Ok(Err(error)) => {
                Err(unknown("program-lost", format!("it is unknown how `{name}` ended ({error}); try again")))
            }
            Ok(Ok(None)) => Err(unknown("too-much", format!("`{name}` produced more output than can be read"))),
            Ok(Ok(Some(output))) => Ok(output),
        }
    }

    fn start(program: &Path, question: &Question<'_>) -> io::Result<RunningProgram> {
        let mut child = Command::new(program)
            .args(question.arguments)
            .current_dir(question.folder)
            .env_clear()
            .envs(question.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (group, ended) = Group::lead(child);
        let no_pipe = || io::Error::other("there is no pipe");
        Ok(RunningProgram {
            _group: group,
            stdin: ChildStdin::from_std(stdin.ok_or_else(no_pipe)?)?,
            ended,
            stdout: ChildStdout::from_std(stdout.ok_or_else(no_pipe)?)?,
            stderr: ChildStderr::from_std(stderr.ok_or_else(no_pipe)?)?,
        })
    }

    /// Returns the output, or `None` if it was too large.
    async fn finish(running: RunningProgram, question: &Question<'_>) -> io::Result<Option<Raw>> {
        let RunningProgram { _group, mut stdin, ended, mut stdout, mut stderr } = running;
        let written = async {
            // A program may close its input early.
            let _closed = stdin.write_all(question.input).await;
            drop(stdin);
            Ok(())
        };
        let limited_output = read(&mut stdout, question.most_bytes);
        let ((), output, complained) = tokio::try_join!(written, limited_output, complaint(&mut stderr))?;
        let Some(output) = output else { return Ok(None) };
        let status = ended.await.map_err(io::Error::other)??;
        Ok(Some(Raw { code: status.code(), stdout: output, stderr: complained }))
    }

    async fn read(from: &mut (impl AsyncRead + Unpin), most: usize) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        from.take(most as u64 + 1).read_to_end(&mut bytes).await?;
        Ok((bytes.len() <= most).then_some(bytes))
    }

    /// Returns the beginning of the standard error. Reads the rest too, so that the program is not blocked.
    async fn complaint(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
        let mut kept = Vec::new();
        let mut chunk = [0; 1024];
        loop {
            match from.read(&mut chunk).await? {
                0 => return Ok(kept),
                read => {
                    let room = COMPLAINT_BYTES.saturating_sub(kept.len()).min(read);
                    kept.extend_from_slice(&chunk[..room]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_leads_elsewhere_reaches_the_programs() {
        let given = ["GIT_DIR", "GIT_CONFIG_COUNT", "GIT_EXEC_PATH", "GIT_OPTIONAL_LOCKS"];
        let given = given.into_iter().chain(LEADS).chain(["PATH", "HOME", "GH_TOKEN"]);
        let given: Vec<(OsString, OsString)> = given.map(|name| (name.into(), "given".into())).collect();
        let kept: Vec<OsString> =
            own(&given).into_iter().filter(|(_, value)| value == "given").map(|(name, _)| name).collect();
        assert_eq!(kept, ["PATH", "HOME", "GH_TOKEN"]);
    }
}
