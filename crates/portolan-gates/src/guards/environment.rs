//! Settings that make a name refer to another program, or git read other configuration: `PATH`, `GIT_CONFIG_…`, and a
//! file named like a program that the gates depend on.

use super::finding::Finding;
use super::judged_call::{CommandCall, JudgedCall};
use super::named_paths::PROGRAMS;
use crate::shell::git::Action;
use crate::shell::{self, Assignment, Word};

pub(super) fn look(judged: &JudgedCall<'_>, at: usize) -> Option<Finding> {
    let call = &judged.calls[at];
    configured(call)
        .or_else(|| started(judged, call))
        .or_else(|| shadowed(judged, call))
        .or_else(|| renamed(judged, call))
        .map(|finding| finding.at(at))
}

/// Reports configuration of git that affects the programs that the command starts.
fn configured(call: &CommandCall<'_>) -> Option<Finding> {
    let sets =
        |name: &str| (name.starts_with("GIT_CONFIG") && name != "GIT_CONFIG_NOSYSTEM") || name == "GIT_EXEC_PATH";
    let command = call.command;
    let given = call.command.set().find(|given| sets(&given.name))?;
    let program = command.program().filter(|program| !matches!(*program, "export" | "declare" | "unset" | "echo"))?;
    // Calls of git itself are judged with their variables.
    if call.git.is_some() {
        return None;
    }
    let reason = format!("`{}` changes the configuration of every git that `{program}` starts", given.name);
    Some(Finding::block("", reason).remedy(format!("run it without `{}`", given.name)))
}

/// Reports a text or a library that runs first in every program that the command starts, or a repository for them.
fn started(judged: &JudgedCall<'_>, call: &CommandCall<'_>) -> Option<Finding> {
    let first = call.command.words.first()?.known()?;
    let starts = call.command.program().is_some_and(|program| !shell::is_inert(program)) && call.git.is_none();
    let reaches = |given: &&Assignment| {
        let value = given.value.known();
        match given.name.as_str() {
            "PROMPT_COMMAND" => true,
            // A shell expands its prompts.
            name if name.starts_with("PS") || name.ends_with("PROMPT") => {
                value.is_none_or(|value| value.contains(['$', '`']))
            }
            name if name.starts_with("BASH_FUNC_") => true,
            "BASH_ENV" => starts && value != Some(""),
            // Other variables have this name as well: `ENV=test`.
            "ENV" => starts && value.is_none_or(|value| value.contains('/')),
            "LD_PRELOAD" | "DYLD_INSERT_LIBRARIES" => (starts || call.git.is_some()) && value != Some(""),
            "GIT_DIR" => starts,
            _ => false,
        }
    };
    let name = &call.command.set().find(reaches)?.name;
    Some(Finding::ask(judged, "", format!("`{name}` changes what `{first}` and every program that it starts do")))
}

/// Reports a copy of a program that the gates depend on, under an unknown name.
fn renamed(judged: &JudgedCall<'_>, call: &CommandCall<'_>) -> Option<Finding> {
    if !matches!(call.command.program()?, "cp" | "ln" | "install" | "mv") {
        return None;
    }
    let unknown = call.command.words.iter().any(|word| word.known().is_none());
    if let Some(program) = judged.part_named().filter(|name| unknown && shell::lists(PROGRAMS, name)) {
        return Some(Finding::ask(judged, "", format!("`{program}` is not recognised under another name")));
    }
    let sources: Vec<&str> = call.command.words.iter().skip(1).filter_map(Word::known).collect();
    let (_, sources) = sources.split_last()?;
    let is_program = |path: &&&str| {
        path.rsplit_once('/').is_some_and(|(folder, name)| {
            shell::lists(PROGRAMS, name) && (folder.ends_with("bin") || folder.ends_with("git-core"))
        })
    };
    let program = sources.iter().find(is_program)?;
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
    (call.command.set().any(|given| given.name == "PATH") && !reads).then(|| {
        Finding::ask(judged, "", format!("which `{program}` runs depends on the `PATH` that is set before it"))
    })
}
