//! What a fetch writes. What is known of a remote's branch is what the branch here may follow, so that nothing else is
//! written there than what this remote has for it.

use super::act::branch_name;
use super::moves::{Effect, Follows, Look};
use crate::shell::Word;
use crate::shell::git::{Fetch, Refspec};

const WHAT: &str = "this would move";

pub(super) fn effects(look: &Look<'_>, given: &Fetch) -> Vec<Effect> {
    if given.dry_run {
        return Vec::new();
    }
    let remote = given.remote.as_ref().and_then(Word::known);
    let mut effects: Vec<Effect> = given.refspecs.iter().map(|refspec| written(look, WHAT, remote, refspec)).collect();
    if given.tags && remote.is_some_and(|remote| !look.is_remote(remote)) {
        let why = "the tags of another repository are taken over, which may hide what is known of a remote's branches";
        effects.push(Effect::Unknowable(why.to_owned()));
    }
    if given.sets_upstream {
        let follows = |branch: &str| remote.is_some_and(|remote| look.own_remote(branch) == Some(remote));
        let other = look.branches().find(|branch| look.act.integrates(branch) && !follows(branch));
        effects.extend(other.map(|branch| Effect::Unknowable(format!("`{branch}` would follow something else"))));
    }
    effects
}

/// What a refspec of a fetch from `remote` writes.
pub(super) fn written(look: &Look<'_>, what: &'static str, remote: Option<&str>, refspec: &Refspec) -> Effect {
    let Some(target) = refspec.target.known() else { return look.named(what, &refspec.target) };
    let source = refspec.source.as_ref().and_then(Word::known).map(branch_name);
    let known = remote.filter(|remote| look.is_remote(remote));
    if let Some((of, branch)) = tracking(target) {
        let own = known.is_some_and(|remote| remote.eq_ignore_ascii_case(of)) && source == Some(branch);
        return if own { Effect::Fine("a branch only follows its remote") } else { look.named(what, &refspec.target) };
    }
    let same = source == Some(branch_name(target)) && !refspec.force;
    match (known, same) {
        (Some(remote), true) => {
            let follows = look.follows_remote(remote, branch_name(target));
            look.following(follows, branch_name(target)).unwrap_or_else(|| look.named(what, &refspec.target))
        }
        _ => look.named(what, &refspec.target),
    }
}

/// The remote and its branch that a remote-tracking branch stands for.
fn tracking(name: &str) -> Option<(&str, &str)> {
    let rest = name.strip_prefix("refs/remotes/").or_else(|| name.strip_prefix("remotes/"))?;
    rest.split_once('/')
}

/// A pull first fetches what it names.
pub(super) fn pulled(look: &Look<'_>, given: &Fetch) -> Vec<Effect> {
    effects(look, &Fetch { dry_run: false, ..given.clone() })
}

impl Follows {
    /// Of several the one that is worst.
    pub(super) fn all(several: impl Iterator<Item = Follows>) -> Follows {
        several.max().unwrap_or(Follows::Nothing)
    }
}
