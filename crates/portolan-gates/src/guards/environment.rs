//! Settings that make a name refer to another program, or git read other configuration: `PATH`, `GIT_CONFIG_…`, and a
//! file named like a program that the gates depend on.

use super::finding::Finding;
use super::judged_call::{CommandCall, JudgedCall};
use super::named_paths::PROGRAMS;
use crate::shell::git::Action;
use crate::shell::{self, Assignment, Word};

pub(super) fn look(judged: &JudgedCall<'_>, at: usize) -> Option<Finding> {
    let call = &judged.calls[at];
    set(judged, call).or_else(|| shadowed(judged, call)).or_else(|| renamed(judged, call)).map(|finding| finding.at(at))
}

/// Reports a variable that decides what a command, or the programs that it starts, runs first or reads.
fn set(judged: &JudgedCall<'_>, call: &CommandCall<'_>) -> Option<Finding> {
    let program = call.command.program()?;
    let prints = matches!(program, "export" | "declare" | "unset" | "echo");
    let starts = call.git.is_none() && !shell::is_inert(program);
    let refuses = |given: &Assignment| {
        let value = given.value.known();
        match given.name.as_str() {
            "GIT_CONFIG_NOSYSTEM" => None,
            "PROMPT_COMMAND" => Some(false),
            // Calls of git itself are judged with their configuration.
            "GIT_EXEC_PATH" => (call.git.is_none() && !prints).then_some(true),
            name if name.starts_with("GIT_CONFIG") => (call.git.is_none() && !prints).then_some(true),
            "GIT_DIR" => starts.then_some(false),
            "BASH_ENV" => (starts && value != Some("")).then_some(false),
            // Other variables have this name as well: `ENV=test`.
            "ENV" => (starts && value.is_none_or(|value| value.contains('/'))).then_some(false),
            "LD_PRELOAD" | "DYLD_INSERT_LIBRARIES" => {
                ((starts || call.git.is_some()) && value != Some("")).then_some(false)
            }
            name if name.starts_with("BASH_FUNC_") => Some(false),
            // A shell expands its prompts.
            name if name.starts_with("PS") || name.ends_with("PROMPT") => {
                value.is_none_or(|value| value.contains(['$', '`'])).then_some(false)
            }
            _ => None,
        }
    };
    let (name, refuses) = call.command.set().find_map(|given| Some((&given.name, refuses(given)?)))?;
    let reason = format!("`{name}` changes what `{program}` and every program that it starts do");
    Some(match refuses {
        true => Finding::block("", reason).remedy(format!("run it without `{name}`")),
        false => Finding::ask(judged, "", reason),
    })
}

/// Reports a copy of a program that the gates depend on, under an unknown name.
fn renamed(judged: &JudgedCall<'_>, call: &CommandCall<'_>) -> Option<Finding> {
    if !matches!(call.command.program()?, "cp" | "ln" | "install" | "mv") {
        return None;
    }
    let words = &call.command.words;
    let is_program = |path: &&str| PROGRAMS.split(' ').any(|name| path.ends_with(&format!("bin/{name}")));
    let unknown = words.iter().any(|word| word.known().is_none());
    let searched = judged.named().filter(|name| unknown && shell::lists(PROGRAMS, name));
    let program = words.iter().filter_map(Word::known).find(is_program).or(searched)?;
    Some(Finding::ask(judged, "", format!("`{program}` is not recognised under another name")))
}

/// Reports a program that is found on a `PATH` that the text sets.
fn shadowed(judged: &JudgedCall<'_>, call: &CommandCall<'_>) -> Option<Finding> {
    let command = call.command;
    let name = |text: &str| shell::lists(PROGRAMS, text.rsplit('/').next().unwrap_or_default());
    if judged.sets_path && command.writes.iter().filter_map(Word::known).any(name) {
        let reason = "it writes a program that would be found in the place of `git`, `gh` or `portolan`";
        return Some(Finding::ask(judged, "", reason));
    }
    let program = command.program().filter(|program| shell::lists(PROGRAMS, program))?;
    let reads = call.git.as_ref().is_some_and(|invocation| matches!(invocation.action, Action::Reads));
    (command.set().any(|given| given.name == "PATH") && !reads).then(|| {
        Finding::ask(judged, "", format!("which `{program}` runs depends on the `PATH` that is set before it"))
    })
}
