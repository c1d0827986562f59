//! What a push writes on the other side. It counts the same for every remote: a branch of that name is where work is
//! integrated. A tool of a forge's server may write another repository altogether, whose rules are not known here.

use super::act::{branch_name, has};
use super::moves::{Effect, Look};
use crate::Tool;
use crate::shell::Word;
use crate::shell::git::{Push, Refspec};

const WHAT: &str = "this would push to";
const DELETES: &str = "this would delete, on the remote,";

pub(super) fn effects(look: &Look<'_>, given: &Push) -> Vec<Effect> {
    if given.dry_run {
        return Vec::new();
    }
    if given.all || given.mirror {
        return vec![Effect::Named(WHAT, "every branch".to_owned())];
    }
    if let Some(repository) = another(look, given) {
        return given.refspecs.iter().map(|refspec| abroad(look, repository, refspec)).collect();
    }
    if given.refspecs.is_empty() {
        let only_tags = has(look.arguments, "--tags") && !has(look.arguments, "--follow-tags");
        return if only_tags { vec![Effect::Fine("only tags are pushed")] } else { usual(look) };
    }
    given.refspecs.iter().map(|refspec| named(look, refspec)).collect()
}

/// What stands before `owner/name` where a tool of a forge's server names the repository that it writes.
pub const ON_FORGE: &str = "forge://";

/// The repository that a tool of a forge's server writes, where it is none that a remote leads to.
fn another<'p>(look: &Look<'_>, given: &'p Push) -> Option<&'p str> {
    let Tool::Mcp { .. } = look.act.intent.tool else { return None };
    let named = given.remote.as_ref()?.known()?.strip_prefix(ON_FORGE)?;
    let own = look.ground.worktree?.repositories.as_ref()?;
    // Of the same name on another forge: which forge it is, such a tool does not say.
    let is_own = |own: &String| {
        let host = own.len().checked_sub(named.len() + 1).map(|at| at + 1).filter(|_| own.split('/').count() == 3);
        own.get(host.unwrap_or(0)..).is_some_and(|own| own.eq_ignore_ascii_case(named))
    };
    (!own.iter().any(is_own)).then_some(named)
}

/// A branch of another repository. One that is named like a branch of work is taken for one.
fn abroad(look: &Look<'_>, repository: &str, refspec: &Refspec) -> Effect {
    let rules = look.act.guidelines;
    let target = refspec.target.known().map(branch_name);
    let is_work = |branch: &str| {
        !branch.starts_with("refs/") && rules.branches.prefixes.iter().any(|prefix| branch.starts_with(prefix.as_str()))
    };
    match target {
        Some(branch) if is_work(branch) && !rules.integrates(branch) => {
            Effect::Fine("a branch of work of another repository is written")
        }
        _ => Effect::Elsewhere(format!(
            "this would write `{}` of `{repository}`, which is no remote of this repository: its rules are not known here",
            target.unwrap_or("a branch")
        )),
    }
}

fn named(look: &Look<'_>, refspec: &Refspec) -> Effect {
    let what = if refspec.source.is_some() { WHAT } else { DELETES };
    let source = refspec.source.as_ref().and_then(Word::known);
    match (refspec.target.known(), source) {
        // It goes to the branch that is checked out.
        (None, Some("HEAD" | "@")) => present(),
        (Some(":"), _) => Effect::Named(WHAT, "every branch that both sides have".to_owned()),
        (Some("HEAD" | "@"), _) => {
            Effect::Unknowable("it cannot be told which branch `HEAD` is on the other side".to_owned())
        }
        (Some(target), _) if target.starts_with('^') => Effect::Fine("a branch is left out"),
        (Some(_) | None, _) => look.named(what, &refspec.target),
    }
}

fn present() -> Effect {
    let better = Some("push a branch of your own: git push -u origin HEAD".to_owned());
    Effect::Current { what: WHAT, better }
}

/// A push that does not say what it sends.
fn usual(look: &Look<'_>) -> Vec<Effect> {
    if look.told.config.iter().any(|(key, _)| {
        key == "?" || key.starts_with("push.") || key.starts_with("remote.") || key.starts_with("branch.")
    }) {
        return vec![Effect::Unknowable("what is pushed is set for this call alone".to_owned())];
    }
    let Some(worktree) = look.ground.worktree else { return vec![present()] };
    let mut effects: Vec<Effect> = Vec::new();
    for refspec in &worktree.push_refspecs {
        let refspec = refspec.trim_start_matches('+');
        let target = refspec.split_once(':').map_or(refspec, |(_, target)| target);
        let target = if target.is_empty() { "*" } else { target };
        effects.push(look.named(WHAT, &Word::from(target)));
    }
    match worktree.push_default.as_deref() {
        Some("nothing") => effects.push(Effect::Fine("nothing is pushed without being named")),
        Some("matching") => effects.push(Effect::Named(WHAT, "every branch that both sides have".to_owned())),
        Some("current") => effects.push(present()),
        _ => {
            effects.push(present());
            // A branch that was made from `origin/main` follows it, and may be pushed there.
            for branch in look.branches() {
                let upstream = worktree.upstreams.get(branch).map(|(_, name)| name).filter(|name| *name != branch);
                effects.extend(upstream.map(|name| look.named(WHAT, &Word::from(name.as_str()))));
            }
        }
    }
    effects
}
