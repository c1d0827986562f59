//! Configuration that says where branches come from and go to, and what git runs: given for one call, or written down.
//! What would lead an integration branch elsewhere is refused or asked. Aliases are read where they are used, and the
//! hooks have a guard of their own.

use super::act::{Act, ActionPlace, On, branch_name, operands, subcommand};
use super::fetched;
use super::moves::{Effect, Look};
use crate::shell::git::{self, Action, Invocation};
use crate::shell::{Command, Word};

/// What the configuration of a call, or one that it writes, does on this ground.
pub(super) fn effects(act: &Act<'_>, command: &Command, told: &Invocation, ground: &ActionPlace<'_>) -> Vec<Effect> {
    let look = Look::new(act, command, told, ground);
    let outside = ground.on == [On::Outside];
    let mut effects = Vec::new();
    if !outside {
        let acts = acts(command, told);
        let counts = told.config.iter().filter(|(key, _)| acts || RUN_ALWAYS.contains(&key.as_str()));
        effects.extend(counts.filter_map(|(key, value)| weighed(&look, key, Some(value))));
    }
    if let Action::Config(write) = &told.action {
        if write.key == "remote" {
            effects.extend((!outside).then(|| remote(&look)).flatten());
        } else if !outside || is_of_user(look.arguments) {
            effects.extend(weighed(&look, &write.key, write.value.as_ref()));
        }
    }
    effects
}

/// Whether a call writes anything at all, so that it matters with which configuration, and which hooks, it does.
pub(super) fn acts(command: &Command, told: &Invocation) -> bool {
    if told.action != Action::Reads {
        return true;
    }
    let Some((name, arguments)) = subcommand(command) else { return true };
    let verb = operands(arguments).next().and_then(Word::known).unwrap_or_default();
    match name {
        "stash" => !matches!(verb, "list" | "show"),
        "submodule" => !matches!(verb, "" | "status" | "summary"),
        "maintenance" | "bundle" => !matches!(verb, "" | "verify" | "list-heads"),
        "hook" => true,
        _ => WRITING.contains(&name),
    }
}

/// Subcommands that change nothing that counts, but write something.
const WRITING: [&str; 22] = [
    "add",
    "stage",
    "rm",
    "commit-graph",
    "commit-tree",
    "credential",
    "daemon",
    "difftool",
    "fetch-pack",
    "gitk",
    "gui",
    "index-pack",
    "instaweb",
    "pack-objects",
    "read-tree",
    "refs",
    "rerere",
    "unpack-objects",
    "update-index",
    "update-server-info",
    "write-tree",
    "restore",
];

/// Programs that git also runs where it only looks.
const RUN_ALWAYS: [&str; 3] = ["core.fsmonitor", "core.sshcommand", "core.gitproxy"];

/// Whether the configuration of the user is written, or that of any file.
fn is_of_user(arguments: &[Word]) -> bool {
    let other = |text: &str| matches!(text, "--global" | "--system" | "-f") || text.starts_with("--file");
    arguments.iter().filter_map(Word::known).any(other)
}

/// What a key comes to with this value; without one it is taken away.
fn weighed(look: &Look<'_>, key: &str, value: Option<&Word>) -> Option<Effect> {
    let text = value.and_then(Word::known);
    let off = matches!(text, Some("" | "false" | "no" | "off" | "0"));
    let asked = || Some(Effect::Unknowable(format!("`{key}` decides what git sends, takes over or runs")));
    let (section, rest) = key.split_once('.')?;
    let (name, last) = rest.rsplit_once('.').map_or((None, rest), |(name, last)| (Some(name), last));
    match (section, name, last) {
        ("remote", Some(remote), "fetch") => fetching(look, remote, value),
        ("remote", Some(_), "push") => sending(look, value),
        ("remote", Some(_), "mirror") if off => None,
        ("remote", Some(_), "url" | "pushurl" | "mirror" | "vcs" | "uploadpack" | "receivepack" | "proxy") => asked(),
        ("remote", None, "pushdefault") | ("url" | "protocol", ..) => asked(),
        ("branch", Some(branch), "merge") => {
            let own = text.is_some_and(|text| branch_name(text) == branch);
            (look.act.names_integration(branch) && !own).then(asked).flatten()
        }
        ("branch", Some(branch), "remote" | "pushremote" | "rebase") => {
            let own = text.is_some_and(|text| look.own_remote(branch) == Some(text)) || (last == "rebase" && off);
            (look.act.names_integration(branch) && !own).then(asked).flatten()
        }
        ("push", None, "default") if !matches!(text, Some("simple" | "current" | "nothing")) => asked(),
        ("rebase", None, "updaterefs") if !off => asked(),
        ("core", None, "fsmonitor") if off || text == Some("true") => None,
        ("core", None, "fsmonitor" | "sshcommand" | "gitproxy" | "worktree" | "bare") => asked(),
        ("submodule", Some(_), "update") if text.is_none_or(|text| text.starts_with('!')) => asked(),
        _ => None,
    }
}

/// `remote.<name>.fetch`: a remote's branches are known by their own names, and write nothing else.
fn fetching(look: &Look<'_>, remote: &str, value: Option<&Word>) -> Option<Effect> {
    let refspec = match value.map(git::refspec) {
        Some(Some(refspec)) => refspec,
        // It only names what is fetched.
        Some(None) => return None,
        None => return Some(Effect::Unknowable(format!("what is fetched from `{remote}` would change"))),
    };
    match fetched::written(look, "each fetch would move", Some(remote), &refspec) {
        Effect::Fine(_) => None,
        effect => Some(effect),
    }
}

/// `remote.<name>.push`: what a push sends that names nothing.
fn sending(look: &Look<'_>, value: Option<&Word>) -> Option<Effect> {
    let Some(text) = value?.known() else {
        return Some(Effect::Unknowable("what a push sends is only known when it runs".to_owned()));
    };
    let text = text.trim_start_matches('+');
    let target = text.split_once(':').map_or(text, |(_, target)| target);
    let target = if target.is_empty() { "*" } else { target };
    match look.named("each push would go to", &Word::from(target)) {
        Effect::Fine(_) => None,
        effect => Some(effect),
    }
}

/// `git remote`: what is known of other repositories is what integration branches follow. Where nothing is there yet,
/// nothing follows.
fn remote(look: &Look<'_>) -> Option<Effect> {
    let verb = operands(look.arguments).next().and_then(Word::known);
    if matches!(verb, Some("set-head" | "set-branches")) {
        return None;
    }
    let unborn = look.ground.on.iter().all(|on| matches!(on, On::Unborn(_)));
    let first = look.ground.worktree.is_some_and(|worktree| worktree.remotes.is_empty());
    if verb == Some("add") && unborn && first {
        return None;
    }
    let what = verb.unwrap_or("…");
    Some(Effect::Unknowable(format!("`git remote {what}` changes where branches come from")))
}
