//! Checks a project against its pins from the installation of hooks, both at the installation and later. Only here do
//! the gates query a remote: its content is the one thing that cannot be forged on this machine.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use portolan_gates::Guidelines;
use portolan_gates::guards::Worktree;
use portolan_runtime::audit;
use portolan_runtime::inspection::{self, ask};
use portolan_runtime::installation::departed;
use portolan_runtime::pins::{self, Pins, TrustedRules, Upstream};
use portolan_runtime::rules;

use super::refs::{Refs, is_within};
use super::tripwire::{self, short};
use super::upstream::{Upstreams, tracking};

/// The timeout of a remote.
const PATIENCE: Duration = Duration::from_secs(10);

/// One checked item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCheck {
    /// The result.
    pub state: State,
    /// A sentence about the result.
    pub message: String,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Correct.
    Good,
    /// Possibly intended, or not determinable.
    Doubtful,
    /// Incorrect.
    Wrong,
}

fn standing(state: State, message: impl Into<String>) -> HookCheck {
    HookCheck { state, message: message.into() }
}

/// Returns the pins of a project, as this process finds it. Existing pins in `known` are kept.
pub fn pinned(project: &Path, known: Option<Pins>) -> Pins {
    let mut pins = known.unwrap_or_default();
    let inner = |path: &Path| path.strip_prefix(project).unwrap_or(path).to_owned();
    let log = || inner(&audit::log_of(project, |name| std::env::var_os(name)));
    pins.log.get_or_insert_with(log);
    // Rules that cannot be read are pinned once they can be. Until then nothing passes.
    if let (None, Ok(written)) = (&pins.rules, rules::written(project)) {
        pins.rules = Some(TrustedRules { text: written.map(|source| source.text.to_string()) });
    }
    for name in pins::PROGRAMS {
        if pins.programs.get(name).is_none_or(|path| !pins::is_program(path))
            && let Some(path) = pins::on_path(name)
        {
            pins.programs.insert(name.to_owned(), path);
        }
    }
    if let (Some(worktree), Ok(rules)) = (inspection::worktree(project), rules::rules(project)) {
        pins.repository.get_or_insert_with(|| inner(Path::new(&worktree.common_dir)));
        Upstreams::unpinned(&worktree, &rules).pin(&mut pins, &Refs::of(&worktree));
    }
    pins
}

/// Checks everything that is pinned in a project with hooks.
pub fn stands(project: &Path) -> Vec<HookCheck> {
    let found = match Pins::around(project) {
        Ok(Some((_, pins))) => pins,
        Ok(None) => {
            return vec![standing(
                State::Wrong,
                "nothing is pinned: the search path, the environment and the configuration are trusted as they \
                are until you install again",
            )];
        }
        Err(why) => return vec![standing(State::Wrong, why)],
    };
    let mut all: Vec<HookCheck> = pins::PROGRAMS.into_iter().filter_map(|name| program(&found, name)).collect();
    let led_away = audit::led_away(project);
    all.extend(led_away.map(|error| standing(State::Wrong, format!("{}: {}", error.message, error.help))));
    if let Some(message) = departed(project).map(|finding| finding.message) {
        all.push(standing(State::Doubtful, message));
    }
    match (inspection::worktree(project), rules::rules(project)) {
        (_, Err(error)) => all.push(standing(State::Wrong, error.message)),
        (Some(worktree), Ok(rules)) => all.extend(branches(&worktree, &rules)),
        (None, Ok(_)) => {}
    }
    all
}

fn program(pins: &Pins, name: &str) -> Option<HookCheck> {
    let real = |path: &Path| path.canonicalize().ok();
    let found = pins::on_path(name);
    match (pins.programs.get(name), found) {
        (Some(pinned), _) if !pins::is_program(pinned) => Some(standing(
            State::Wrong,
            format!("the output of `{name}` is not accepted: {}", pins::gone(pinned, name)),
        )),
        (Some(pinned), Some(found)) if real(pinned) != real(&found) => Some(standing(
            State::Doubtful,
            format!(
                "`{name}` is `{}` on the search path, but `{}` is pinned and is used",
                found.display(),
                pinned.display()
            ),
        )),
        (None, Some(found)) => Some(standing(
            State::Doubtful,
            format!("`{name}` is `{}` and not pinned: install again if that is right", found.display()),
        )),
        (Some(_) | None, _) => None,
    }
}

fn branches(worktree: &Worktree, rules: &Guidelines) -> Vec<HookCheck> {
    let upstreams = match Upstreams::of(worktree, rules) {
        Ok(upstreams) => upstreams,
        Err(why) => return vec![standing(State::Wrong, why)],
    };
    let refs = Refs::of(worktree);
    let moved = tripwire::moved(worktree, rules, &BTreeMap::new());
    let mut all: Vec<HookCheck> = other_rules(worktree, rules, &upstreams, &refs).into_iter().collect();
    for branch in refs.integration(rules).into_keys() {
        let wrong = moved.iter().find(|finding| finding.place == branch);
        all.push(match wrong {
            Some(finding) => standing(State::Wrong, finding.message.clone()),
            None => standing(State::Good, format!("`{branch}` is at an allowed commit")),
        });
        let unpinned = Upstreams::unpinned(worktree, rules).followed(&branch);
        if let (None, Some(upstream)) = (upstreams.followed(&branch), unpinned) {
            let named = format!("`{}` of `{}`", upstream.branch, upstream.remote);
            let message =
                format!("`{branch}` follows {named}, which is not pinned: run `portolan install git` if that is right");
            all.push(standing(State::Doubtful, message));
        } else if let Some(why) = upstreams.fault(&branch) {
            all.push(standing(State::Wrong, format!("what is fetched for `{branch}` is not accepted: {why}")));
        } else if let Some(upstream) = upstreams.followed(&branch) {
            all.extend(remote(worktree, &upstreams, &refs, &upstream));
        }
    }
    all
}

/// Returns a check if the rules here differ from the remote's: a branch may be about to change them, or an agent
/// loosened them.
fn other_rules(worktree: &Worktree, rules: &Guidelines, upstreams: &Upstreams<'_>, refs: &Refs) -> Option<HookCheck> {
    // The rules here may name no integration branch any more.
    let pinned = upstreams.pins.as_ref().and_then(|pins| pins.upstreams.values().next().cloned());
    let upstream = pinned.or_else(|| upstreams.followed(refs.integration(rules).keys().next()?))?;
    let tip = refs.oid(&tracking(&upstream))?;
    let changed = ask::ask(Path::new(&worktree.root), &["diff", "--quiet", &tip, "--", rules::FILE], Vec::new());
    let shown = format!("{}/{}", upstream.remote, upstream.branch);
    let message = format!("`{}` differs from `{shown}`: check `git diff {shown} -- {0}`", rules::FILE);
    changed.is_none_or(|(status, _)| status != 0).then(|| standing(State::Doubtful, message))
}

/// Compares the local reference of a remote's branch with the remote.
fn remote(worktree: &Worktree, upstreams: &Upstreams<'_>, refs: &Refs, upstream: &Upstream) -> Option<HookCheck> {
    let here = tracking(upstream);
    let kept = refs.oid(&here)?;
    let root = Path::new(&worktree.root);
    let pinned = upstreams.pins.as_ref().and_then(|pins| pins.remotes.get(&upstream.remote));
    let address = pinned.map_or(upstream.remote.as_str(), |remote| remote.address.as_str());
    let wanted = format!("refs/heads/{}", upstream.branch);
    let shown = &upstream.remote;
    let Some((0, text)) = ask::ask_remote(root, address, &wanted, PATIENCE) else {
        let message = format!("cannot check whether `{shown}` has the commit of `{here}`: it does not answer");
        return Some(standing(State::Doubtful, message));
    };
    let Some(there) = text.split_whitespace().next() else {
        return Some(standing(
            State::Wrong,
            format!("`{shown}` has no `{}`, but `{here}` exists here", upstream.branch),
        ));
    };
    if is_within(root, &kept, &[there.to_owned()]) {
        return Some(standing(State::Good, format!("`{shown}` has the commit of `{here}`")));
    }
    let is_known = ask::ask(root, &["cat-file", "-e", there], Vec::new()).is_some_and(|(status, _)| status == 0);
    Some(match is_known {
        true => {
            let kept = short(&kept);
            standing(
                State::Wrong,
                format!("`{here}` is at {kept}, which `{shown}` does not have: run `git fetch {shown}`"),
            )
        }
        false => {
            standing(State::Doubtful, format!("`{shown}` has newer commits: run `git fetch {shown}`, then check again"))
        }
    })
}
