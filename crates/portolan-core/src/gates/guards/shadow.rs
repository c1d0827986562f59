//! What makes a name mean another program, or git read other configuration: `PATH`, `GIT_CONFIG_…`, and a file that is
//! called as one of the programs that the gates stand on.

use super::act::{Act, Call};
use super::finding::Finding;
use crate::shell::Word;
use crate::shell::git::Action;

const PROGRAMS: [&str; 3] = ["git", "gh", "portolan"];

pub(super) fn look(act: &Act<'_>, at: usize) -> Option<Finding> {
    let call = &act.calls[at];
    configured(call).or_else(|| shadowed(act, call)).map(|finding| finding.at(at))
}

/// Configuration of git that reaches whatever the command starts.
fn configured(call: &Call<'_>) -> Option<Finding> {
    let sets = |name: &str| name.starts_with("GIT_CONFIG") && name != "GIT_CONFIG_NOSYSTEM";
    let command = call.command;
    let given = command.carried.iter().chain(&command.assignments).find(|given| sets(&given.name))?;
    let program = command.program().filter(|program| !matches!(*program, "export" | "declare" | "unset" | "echo"))?;
    // Calls of git itself are judged by what is set for them.
    if call.git.is_some() {
        return None;
    }
    let reason = format!("`{}` changes the configuration of every git that `{program}` starts", given.name);
    Some(Finding::block("", reason).remedy(format!("run it without `{}`", given.name)))
}

/// A program that is found on a `PATH` of the command's own.
fn shadowed(act: &Act<'_>, call: &Call<'_>) -> Option<Finding> {
    let command = call.command;
    let name = |text: &str| PROGRAMS.contains(&text.rsplit('/').next().unwrap_or_default());
    if act.sets_path && command.writes.iter().filter_map(Word::known).any(name) {
        let reason = "it writes a program that would be found in the place of `git`, `gh` or `portolan`";
        return Some(Finding::ask(act, "", reason));
    }
    let program = command.program().filter(|program| PROGRAMS.contains(program))?;
    let reads = call.git.as_ref().is_some_and(|told| matches!(told.action, Action::Reads));
    (call.sets("PATH") && !reads)
        .then(|| Finding::ask(act, "", format!("which `{program}` is run depends on the `PATH` that is set before it")))
}
