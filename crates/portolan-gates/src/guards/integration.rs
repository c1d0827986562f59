//! `no-edit-on-integration`: nothing is written while an integration branch is checked out (I-1), and no integration
//! branch is moved except to the state of its remote (I-2).

use super::branches::{self, Effect};
use super::context::{Place, Worktree};
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
    on_file(judged, path, judged.place(&absolute), |worktree| vec![judged_call::present(worktree)])
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

/// Judges a file that is written in this place, where `on` may be checked out.
fn on_file(
    judged: &JudgedCall<'_>,
    path: &str,
    place: Option<&Place>,
    on: impl Fn(&Worktree) -> Vec<CheckedOut>,
) -> Finding {
    let Some(place) = place else { return Finding::ask(judged, "I-1", format!("it is unclear where `{path}` is")) };
    match (harmless(place), &place.worktree) {
        (None, Some(worktree)) => on_branch(judged, "I-1", &format!("`{path}` would be written on"), &on(worktree)),
        (why, _) => Finding::allow("I-1", format!("`{path}` {}", why.unwrap_or("is not in a repository"))),
    }
}

/// Judges something that happens on the checked-out branch.
fn on_branch(judged: &JudgedCall<'_>, rule: &'static str, what: &str, on: &[CheckedOut]) -> Finding {
    if let Some(branch) = integration(judged, on) {
        let block = Finding::block(rule, format!("{what} `{branch}`, which accepts changes through review only"));
        return match what {
            branches::MERGES => block.remedy("git pull --ff-only"),
            branches::PUSHES => block.remedy("push a branch of your own: git push -u origin HEAD"),
            _ => block.remedies(own_branch(judged)),
        };
    }
    if on.contains(&CheckedOut::Unknown) {
        return Finding::ask(judged, rule, format!("{what} a branch that is known only at run time"));
    }
    Finding::allow(rule, format!("{what} no integration branch"))
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
    let judge = |path: Option<String>| match path {
        Some(path) => on_file(judged, &path, judged.place(&path), |worktree| judged.heads(at, worktree)),
        None => somewhere(judged, at, command),
    };
    judged_call::written(&judged.intent.folder, command).into_iter().map(|path| judge(path).at(at)).collect()
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
    match effect {
        Effect::Current(what) => on_branch(judged, "I-2", what, on),
        Effect::Files => on_branch(judged, "I-1", "this would change files on", on),
        Effect::Named(what, branch) => {
            let reason = format!("{what} `{branch}`, which accepts changes through review only");
            Finding::block("I-2", reason).remedies(own_branch(judged))
        }
        Effect::Unknowable(what) => Finding::ask(judged, "I-2", what),
        Effect::Elsewhere(what) => {
            let decision = if judged.guidelines.strict { Decision::Block } else { Decision::Ask };
            Finding::new(decision, "I-2", what).remedy("ask the person whom you work for to do it")
        }
    }
}
