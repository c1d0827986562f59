//! `portolan guard git`: what the hooks of a git repository run.

use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use portolan_gates::Decision;
use portolan_runtime::hook::git::{self, Run};
use portolan_runtime::hook::{Answerable, within};

use super::Exit;
use super::output::one_line;

/// Keep the rules of the project in the hooks of git.
///
/// Example: portolan guard git pre-commit
#[derive(Args)]
pub(super) struct Guard {
    #[command(subcommand)]
    layer: Layer,
}

#[derive(Subcommand)]
enum Layer {
    /// Answer a hook of git; `portolan install git` puts them in. The exit code is 1 when git may not go on.
    Git {
        /// The hook.
        #[arg(value_enum, value_name = "HOOK")]
        hook: HookArg,
        /// What git gives it.
        #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// The hooks of git that are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HookArg {
    PreCommit,
    CommitMsg,
    PrePush,
    ReferenceTransaction,
    PostCommit,
    PostCheckout,
}

/// Git waits for its hooks for ever; whoever commits does not.
const LIMIT: Duration = Duration::from_secs(60);
/// A transaction of more than this is refused.
const MAX_INPUT: u64 = 64 << 20;

pub(super) fn run(args: Guard) -> anyhow::Result<Exit> {
    std::panic::set_hook(Box::new(|_| {}));
    let Layer::Git { hook, arguments } = args.layer;
    let hook = match hook {
        HookArg::PreCommit => git::Hook::PreCommit,
        HookArg::CommitMsg => git::Hook::CommitMsg,
        HookArg::PrePush => git::Hook::PrePush,
        HookArg::ReferenceTransaction => git::Hook::ReferenceTransaction,
        HookArg::PostCommit => git::Hook::PostCommit,
        HookArg::PostCheckout => git::Hook::PostCheckout,
    };
    let folder = std::env::current_dir()?;
    let answer = within(LIMIT, move || answered(hook, &arguments, folder))
        .unwrap_or_else(|why| if hook.is_gate() { Answerable::blocked(why.message()) } else { Answerable::allowed() });
    // Whether anybody reads why: a refusal is one all the same.
    let _unread = tell(&answer);
    Ok(if answer.decision == Decision::Allow { Exit::Done } else { Exit::Failed })
}

fn answered(hook: git::Hook, arguments: &[OsString], folder: PathBuf) -> Answerable {
    let mut input = Vec::new();
    let reads = matches!(hook, git::Hook::PrePush | git::Hook::ReferenceTransaction);
    let stdin = std::io::stdin();
    if reads && !stdin.is_terminal() {
        let read = stdin.take(MAX_INPUT + 1).read_to_end(&mut input);
        if read.is_err() || input.len() as u64 > MAX_INPUT {
            return Answerable::blocked("what git says cannot be read, or is longer than 64 MiB");
        }
    }
    let run = Run {
        hook,
        arguments: arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        input: String::from_utf8_lossy(&input).into_owned(),
        folder,
        git_dir: std::env::var_os("GIT_DIR").map(PathBuf::from),
        agent: git::agent(|name| std::env::var_os(name).is_some()),
        // The standard input of some hooks is what git says.
        at_terminal: std::io::stderr().is_terminal(),
    };
    run.answer()
}

/// Says why, on standard error, where git shows it.
fn tell(answer: &Answerable) -> std::io::Result<()> {
    let mut stderr = std::io::stderr();
    if answer.decision != Decision::Allow {
        writeln!(stderr, "portolan: {}", one_line(&answer.reason))?;
        for remedy in &answer.remedies {
            writeln!(stderr, "- {}", one_line(remedy))?;
        }
    }
    match &answer.context {
        Some(context) => writeln!(stderr, "portolan: {}", one_line(context)),
        None => Ok(()),
    }
}
