//! `no-edit-on-integration`: nothing is written while a branch is checked out that work is integrated into (I-1), and no
//! such branch is moved but by what comes from its remote (I-2).

use super::act::{self, Act, On};
use super::context::Place;
use super::finding::{Finding, own_branch};
use super::moves::{self, Effect};
use super::settings;
use crate::Decision;
use crate::shell::Command;
use crate::shell::git::{Action, Invocation};

pub(super) fn look(act: &Act<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = act.edited().iter().map(|path| edit(act, path)).collect();
    for (at, call) in act.calls.iter().enumerate() {
        found.extend(writes(act, at, call.command));
    }
    for (at, call, told) in act.git() {
        found.extend(calls(act, at, call.command, told));
    }
    if act.guidelines.commit_directly {
        for finding in &mut found {
            finding.decision = Decision::Allow;
            "work is committed on the integration branch itself here".clone_into(&mut finding.reason);
        }
    }
    found
}

fn edit(act: &Act<'_>, path: &str) -> Finding {
    let absolute = act::absolute(&act.intent.folder, &path.into()).unwrap_or_default();
    let Some(place) = act.place(&absolute) else {
        return Finding::ask(act, "I-1", format!("it cannot be told where `{path}` lies"));
    };
    match (harmless(place), &place.worktree) {
        (Some(why), _) => Finding::allow("I-1", format!("`{path}` {why}")),
        (None, Some(worktree)) => on_file(act, path, &[super::act::present(worktree)]),
        (None, None) => Finding::allow("I-1", format!("`{path}` lies in no repository")),
    }
}

/// Why a write to this place is no edit of a branch.
pub(super) fn harmless(place: &Place) -> Option<&'static str> {
    match &place.worktree {
        None => Some("lies in no repository"),
        Some(_) if place.of_git => Some("is git's own"),
        Some(_) if place.ignored => Some("is ignored by git"),
        Some(_) => None,
    }
}

fn on_file(act: &Act<'_>, path: &str, on: &[On]) -> Finding {
    if let Some(branch) = integration(act, on) {
        let reason =
            format!("`{path}` would be written while `{branch}` is checked out, which takes work by review only");
        return Finding::block("I-1", reason).remedies(own_branch(act));
    }
    if on.contains(&On::Unknown) {
        return Finding::ask(act, "I-1", format!("it cannot be told which branch `{path}` would be written on"));
    }
    Finding::allow("I-1", format!("`{path}` is written on no integration branch"))
}

/// The integration branch among those that may be checked out.
fn integration<'a>(act: &Act<'_>, on: &'a [On]) -> Option<&'a str> {
    on.iter().find_map(|on| match on {
        On::Branch(branch) if act.integrates(branch) => Some(branch.as_str()),
        // The first commit of a repository has no other branch to be made on.
        On::Branch(_) | On::Unborn(_) | On::Detached | On::Unknown | On::Outside => None,
    })
}

/// Files that the commands of a shell write.
fn writes(act: &Act<'_>, at: usize, command: &Command) -> Vec<Finding> {
    // A folder without files is nothing to git.
    if command.program() == Some("mkdir") {
        return Vec::new();
    }
    let mut found: Vec<Finding> = Vec::new();
    for path in act::written(&act.intent.folder, command) {
        let finding = match path.as_deref().map(|path| (path, act.place(path))) {
            Some((path, Some(place))) => match (harmless(place), place.worktree.as_deref()) {
                (None, Some(worktree)) => on_file(act, path, &act.heads(at, worktree)),
                (why, _) => Finding::allow("I-1", format!("`{path}` {}", why.unwrap_or("lies in no repository"))),
            },
            Some((path, None)) => Finding::ask(act, "I-1", format!("it cannot be told where `{path}` lies")),
            None => somewhere(act, at, command),
        };
        found.push(finding.at(at));
    }
    found
}

/// A file that only the run will know. Whoever works on a branch of their own is not asked for each of them.
fn somewhere(act: &Act<'_>, at: usize, command: &Command) -> Finding {
    let mut folders: Vec<Option<String>> =
        command.folders.iter().map(|folder| act::absolute(&act.intent.folder, folder)).collect();
    folders.push(Some(act.intent.folder.clone()));
    let grounds = folders.iter().flatten().map(|folder| act.ground(at, Some(folder)));
    let on: Vec<On> = grounds.flat_map(|ground| ground.on).collect();
    match integration(act, &on) {
        Some(branch) => {
            let reason = format!("a file is written that only the run will name, while `{branch}` is checked out");
            Finding::ask(act, "I-1", reason).remedies(own_branch(act))
        }
        None => Finding::allow("I-1", "a file is written that only the run will name"),
    }
}

fn calls(act: &Act<'_>, at: usize, command: &Command, told: &Invocation) -> Vec<Finding> {
    let mut found = Vec::new();
    for ground in act.grounds(at, told) {
        let outside = ground.on == [On::Outside];
        found.extend(settings::look(act, command, told, outside).into_iter().map(|finding| finding.at(at)));
        // A push from a repository that the text itself makes goes to the same branches.
        let cloned = outside && matches!(told.action, Action::Push(_)) && act.clones();
        let effects = if !outside || cloned { moves::effects(act, told, &ground) } else { Vec::new() };
        let on = if cloned { &[On::Unknown][..] } else { &ground.on };
        found.extend(effects.into_iter().map(|effect| finding(act, on, effect).at(at)));
    }
    found
}

fn finding(act: &Act<'_>, on: &[On], effect: Effect) -> Finding {
    match effect {
        Effect::Current { what, better } => match integration(act, on) {
            Some(branch) => {
                let block = Finding::block("I-2", format!("{what} `{branch}`, which takes work by review only"));
                match better {
                    Some(better) => block.remedy(better),
                    None => block.remedies(own_branch(act)),
                }
            }
            None if on.contains(&On::Unknown) => {
                Finding::ask(act, "I-2", format!("{what} a branch that cannot be told before it runs"))
            }
            None => Finding::allow("I-2", format!("{what} no integration branch")),
        },
        Effect::Files(what) => match integration(act, on) {
            Some(branch) => {
                Finding::block("I-1", format!("{what} while `{branch}` is checked out")).remedies(own_branch(act))
            }
            None if on.contains(&On::Unknown) => {
                Finding::ask(act, "I-1", format!("{what} on a branch that cannot be told before it runs"))
            }
            None => Finding::allow("I-1", format!("{what} on no integration branch")),
        },
        Effect::Named(what, branch) => {
            Finding::block("I-2", format!("{what} `{branch}`, which takes work by review only"))
                .remedies(own_branch(act))
        }
        Effect::Unknowable(what) => Finding::ask(act, "I-2", what),
        Effect::Elsewhere(what) => {
            let decision = if act.guidelines.strict { Decision::Block } else { Decision::Ask };
            Finding::new(decision, "I-2", what).remedy("ask the person whom you work for to do it")
        }
    }
}
