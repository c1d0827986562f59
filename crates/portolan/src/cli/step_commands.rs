//! The two commands that run at every step: `hook` by a coding agent, and `guard` by git.
//!
//! Building the parser of the whole command line takes a fifth of the time that a hook may take, so a small parser
//! tries these two first. Everything else, including errors and `--help`, is left to the whole command line, whose
//! messages are those of the other commands.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use super::{Cli, Common, Verb, guard, hook};

#[derive(Parser)]
#[command(name = "portolan", disable_help_flag = true, disable_help_subcommand = true)]
struct HookCli {
    #[command(subcommand)]
    verb: WaitedFor,
    #[command(flatten)]
    common: Common,
}

#[derive(Subcommand)]
enum WaitedFor {
    Hook(hook::Hook),
    Guard(guard::Guard),
}

/// Parses the command if it is one of the two and is complete.
pub(super) fn command(words: &[OsString]) -> Option<Cli> {
    if !matches!(words.get(1)?.to_str()?, "hook" | "guard") {
        return None;
    }
    let waited = HookCli::try_parse_from(words).ok()?;
    let verb = match waited.verb {
        WaitedFor::Hook(args) => Verb::Hook(args),
        WaitedFor::Guard(args) => Verb::Guard(args),
    };
    Some(Cli { verb: Some(verb), common: waited.common })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<Cli> {
        command(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_two_are_read_as_the_whole_command_line_reads_them() {
        for line in [
            "portolan hook claude-code PreToolUse",
            "portolan hook codex Stop --project /",
            "portolan guard git pre-commit",
        ] {
            let (alone, whole) =
                (read(line).expect("it is waited for"), Cli::try_parse_from(line.split(' ')).expect("a command"));
            assert_eq!(alone.common.project, whole.common.project, "{line}");
            let kind = |cli: Cli| cli.verb.map(|verb| std::mem::discriminant(&verb));
            assert_eq!(kind(alone), kind(whole), "{line}");
        }
    }

    #[test]
    fn all_else_is_left_to_the_whole_command_line() {
        for line in [
            "portolan",
            "portolan check",
            "portolan hook",
            "portolan hook --help",
            "portolan hook nobody Stop",
            "portolan --project / hook codex Stop",
        ] {
            assert!(read(line).is_none(), "{line}");
        }
    }
}
