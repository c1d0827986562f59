//! `portolan guard git`: the command that git's hooks run.

use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use portolan_gates::Decision;
use portolan_supervision::hook::git::{self, Run};
use portolan_supervision::hook::{Answerable, within};

use super::Exit;
use super::output::one_line;

/// Enforce the rules of the project in git's hooks.
///
/// Example: portolan guard git pre-commit
#[derive(Args)]
pub(super) struct Guard {
    #[command(subcommand)]
    layer: Layer,
}

#[derive(Subcommand)]
enum Layer {
    /// Answer a hook of git. Exit code 1 if git may not continue.
    /// `portolan install git` installs the hooks.
    Git {
        /// The hook.
        #[arg(value_enum, value_name = "HOOK")]
        hook: HookArg,
        /// The arguments that git passes.
        #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// The git hooks that are supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HookArg {
    PreCommit,
    CommitMsg,
    PrePush,
    ReferenceTransaction,
    PostCommit,
    PostCheckout,
}

/// Git waits for its hooks without a limit, but a person who commits does not.
const LIMIT: Duration = Duration::from_secs(60);
/// The longest input, in bytes. A larger transaction is refused.
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
    // The refusal counts even if its reason cannot be printed.
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
            return Answerable::blocked("the input from git cannot be read, or is longer than 64 MiB");
        }
    }
    let run = Run {
        hook,
        arguments: arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        input: String::from_utf8_lossy(&input).into_owned(),
        folder,
        git_dir: std::env::var_os("GIT_DIR").map(PathBuf::from),
        agent: git::agent(|name| std::env::var_os(name).is_some()),
        // Standard input is no evidence: git pipes data into it for some hooks.
        at_terminal: std::io::stderr().is_terminal(),
    };
    run.answer()
}

/// Prints the reason on standard error, where git shows it.
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
