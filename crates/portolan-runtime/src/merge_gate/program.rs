//! Programs that are asked something: an argument list and no shell, so much output and no more, so long and no longer.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// How much of what a program complains of is kept.
const MAX_COMPLAINT: u64 = 16 * 1024;

/// What a program answered.
pub(super) struct Answer {
    pub(super) status: ExitStatus,
    pub(super) output: Vec<u8>,
    /// What it complained of, on one line.
    pub(super) complaint: String,
}

/// Variables that would make git look elsewhere than where it is told to.
const ASTRAY: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_EXTERNAL_DIFF",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
];

/// Asks a program; `input` is what it reads.
///
/// # Errors
/// It is not there, takes too long, or answers more than `most` bytes.
pub(super) async fn ask(
    program: &str,
    arguments: &[&str],
    folder: &Path,
    input: Vec<u8>,
    most: u64,
) -> io::Result<Answer> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    ASTRAY.iter().for_each(|name| {
        command.env_remove(name);
    });
    // What it says is compared, nobody is there to type a password, and no other object stands for the one asked for.
    command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
    command
        .env("GIT_GRAFT_FILE", "/dev/null")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GH_PROMPT_DISABLED", "1");
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let talk = async {
        let told = async {
            if let Some(mut stdin) = stdin.take() {
                // A program that has heard enough closes its ear.
                let _closed = stdin.write_all(&input).await;
            }
        };
        let (mut output, mut complaint) = (Vec::new(), Vec::new());
        let heard = async {
            match stdout {
                Some(stdout) => stdout.take(most + 1).read_to_end(&mut output).await,
                None => Ok(0),
            }
        };
        let complained = async {
            match stderr {
                Some(stderr) => stderr.take(MAX_COMPLAINT).read_to_end(&mut complaint).await,
                None => Ok(0),
            }
        };
        let ((), heard, complained) = tokio::join!(told, heard, complained);
        heard?;
        complained?;
        if output.len() as u64 > most {
            return Err(io::Error::other(format!("it answers more than {most} bytes")));
        }
        Ok((child.wait().await?, output, complaint))
    };
    let answered = tokio::time::timeout(PATIENCE, talk).await;
    let (status, output, complaint) =
        answered.map_err(|_elapsed| io::Error::other(format!("it takes longer than {} s", PATIENCE.as_secs())))??;
    let complaint = String::from_utf8_lossy(&complaint).split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(Answer { status, output, complaint })
}
