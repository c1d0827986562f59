//! `no-edit-on-integration`: nothing is written while an integration branch is checked out (I-1), and no integration
//! branch is moved except to the state of its remote (I-2).

use super::branches::{self, Effect};
use super::context::Place;
use super::finding::{Finding, own_branch};
use super::judged_call::{self, CheckedOut, JudgedCall};
use super::settings;
use crate::Decision;
use crate::shell::Command;
use crate::shell::git::{Action, Invocation};

pub(super) fn look(judged: &JudgedCall<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = judged.edited().iter().map(|path| edit(judged, path)).collect();
    for (at, call) in judged.calls.iter().enumerate() {
        found.extend(writes(judged, at, call.command));
    }
    for (at, call, invocation) in judged.git() {
        found.extend(calls(judged, at, call.command, invocation));
    }
    if judged.guidelines.commit_directly {
        for finding in &mut found {
            finding.decision = Decision::Allow;
            "work here is committed on the integration branch itself".clone_into(&mut finding.reason);
        }
    }
    found
}

fn edit(judged: &JudgedCall<'_>, path: &str) -> Finding {
    let absolute = judged_call::absolute(&judged.intent.folder, &path.into()).unwrap_or_default();
    let Some(place) = judged.place(&absolute) else {
        return Finding::ask(judged, "I-1", format!("it is unclear where `{path}` is"));
    };
    match (harmless(place), &place.worktree) {
        (Some(why), _) => Finding::allow("I-1", format!("`{path}` {why}")),
        (None, Some(worktree)) => on_file(judged, path, &[super::judged_call::present(worktree)]),
        (None, None) => Finding::allow("I-1", format!("`{path}` is not in a repository")),
    }
}

/// Returns why a write to this place does not edit a branch.
pub(super) fn harmless(place: &Place) -> Option<&'static str> {
    match &place.worktree {
        None => Some("is not in a repository"),
        Some(_) if place.of_git => Some("belongs to git"),
        Some(_) if place.ignored => Some("is ignored by git"),
        Some(_) => None,
    }
}

fn on_file(judged: &JudgedCall<'_>, path: &str, on: &[CheckedOut]) -> Finding {
    if let Some(branch) = integration(judged, on) {
        let reason = format!(
            "`{path}` would be written while `{branch}` is checked out, which accepts changes through review only"
        );
        return Finding::block("I-1", reason).remedies(own_branch(judged));
    }
    if on.contains(&CheckedOut::Unknown) {
        return Finding::ask(judged, "I-1", format!("it is unclear which branch `{path}` would be written on"));
    }
    Finding::allow("I-1", format!("`{path}` is not written on an integration branch"))
}

/// Returns the integration branch among those that may be checked out.
fn integration<'a>(judged: &JudgedCall<'_>, on: &'a [CheckedOut]) -> Option<&'a str> {
    on.iter().find_map(|on| match on {
        CheckedOut::Branch(branch) if judged.integrates(branch) => Some(branch.as_str()),
        // The first commit of a repository cannot be made on another branch.
        CheckedOut::Branch(_)
        | CheckedOut::Unborn(_)
        | CheckedOut::Detached
        | CheckedOut::Unknown
        | CheckedOut::Outside => None,
    })
}

/// Judges the files that the commands of a shell write.
fn writes(judged: &JudgedCall<'_>, at: usize, command: &Command) -> Vec<Finding> {
    // Git does not record an empty folder.
    if command.program() == Some("mkdir") {
        return Vec::new();
    }
    let mut found: Vec<Finding> = Vec::new();
    for path in judged_call::written(&judged.intent.folder, command) {
        let finding = match path.as_deref().map(|path| (path, judged.place(path))) {
            Some((path, Some(place))) => match (harmless(place), place.worktree.as_deref()) {
                (None, Some(worktree)) => on_file(judged, path, &judged.heads(at, worktree)),
                (why, _) => Finding::allow("I-1", format!("`{path}` {}", why.unwrap_or("is not in a repository"))),
            },
            Some((path, None)) => Finding::ask(judged, "I-1", format!("it is unclear where `{path}` is")),
            None => somewhere(judged, at, command),
        };
        found.push(finding.at(at));
    }
    found
}

/// Judges a file whose name is known only at run time. It is not asked about on a work branch.
fn somewhere(judged: &JudgedCall<'_>, at: usize, command: &Command) -> Finding {
    let mut folders: Vec<Option<String>> =
        command.folders.iter().map(|folder| judged_call::absolute(&judged.intent.folder, folder)).collect();
    folders.push(Some(judged.intent.folder.clone()));
    let grounds = folders.iter().flatten().map(|folder| judged.ground(at, Some(folder)));
    let on: Vec<CheckedOut> = grounds.flat_map(|ground| ground.on).collect();
    match integration(judged, &on) {
        Some(branch) => {
            let reason =
                format!("the name of a file that it writes is known only at run time, and `{branch}` is checked out");
            Finding::ask(judged, "I-1", reason).remedies(own_branch(judged))
        }
        None => Finding::allow("I-1", "the name of a file that it writes is known only at run time"),
    }
}

fn calls(judged: &JudgedCall<'_>, at: usize, command: &Command, invocation: &Invocation) -> Vec<Finding> {
    let mut found = Vec::new();
    for ground in judged.grounds(at, invocation) {
        let outside = ground.on == [CheckedOut::Outside];
        found.extend(settings::look(judged, command, invocation, outside).into_iter().map(|finding| finding.at(at)));
        // A push from a repository that the text itself clones goes to the same branches.
        let cloned = outside && matches!(invocation.action, Action::Push(_)) && judged.clones();
        let effects = if !outside || cloned { branches::effects(judged, invocation, &ground) } else { Vec::new() };
        let on = if cloned { &[CheckedOut::Unknown][..] } else { &ground.on };
        found.extend(effects.into_iter().map(|effect| finding(judged, on, effect).at(at)));
    }
    found
}

fn finding(judged: &JudgedCall<'_>, on: &[CheckedOut], effect: Effect) -> Finding {
    let (rule, what) = match effect {
        Effect::Current(what) => ("I-2", what),
        Effect::Files => ("I-1", "this would change files on"),
        Effect::Named(what, branch) => {
            let reason = format!("{what} `{branch}`, which accepts changes through review only");
            return Finding::block("I-2", reason).remedies(own_branch(judged));
        }
        Effect::Unknowable(what) => return Finding::ask(judged, "I-2", what),
        Effect::Elsewhere(what) => {
            let decision = if judged.guidelines.strict { Decision::Block } else { Decision::Ask };
            return Finding::new(decision, "I-2", what).remedy("ask the person whom you work for to do it");
        }
    };
    match integration(judged, on) {
        Some(branch) => {
            let reason = format!("{what} `{branch}`, which accepts changes through review only");
            let block = Finding::block(rule, reason);
            match what {
                branches::MERGES => block.remedy("git pull --ff-only"),
                branches::PUSHES => block.remedy("push a branch of your own: git push -u origin HEAD"),
                _ => block.remedies(own_branch(judged)),
            }
        }
        None if on.contains(&CheckedOut::Unknown) => {
            Finding::ask(judged, rule, format!("{what} a branch that is known only at run time"))
        }
        None => Finding::allow(rule, format!("{what} no integration branch")),
    }
}
