//! Head, branches and commits, and traces of work that bypassed the guards.

use std::path::Path;

use portolan_gates::facts::{Answer, Claims, FactError, Facts, Head, Integration, Needs, Tripwire};
use portolan_gates::{Guidelines, names};

use super::git::Git;
use super::traces;
use crate::program::unknown;

/// The names in git's folder that show an operation under way.
const OPERATIONS: [(&str, &str); 7] = [
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("sequencer", "cherry-pick"),
    ("BISECT_LOG", "bisect"),
];

pub(super) async fn past(git: &Git, claims: &Claims, guidelines: &Guidelines, needs: Needs) -> Facts {
    let patterns = patterns(claims, guidelines);
    let looked = tokio::try_join!(
        git.head_branch(),
        git.head_oid(),
        git.refs(&patterns),
        git.settings(r"^(core\.hookspath|remote\.origin\.url)$"),
    );
    let (branch, oid, refs, settings) = match looked {
        Ok(looked) => looked,
        Err(unknown) => return Facts { trouble: Some(unknown), ..Facts::default() },
    };
    let own = claims.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
    let setting =
        |wanted: &str| settings.iter().rev().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let integration = integration(&refs, guidelines);
    let operation = OPERATIONS.iter().find(|(name, _)| git.folder.join(name).exists()).map(|(_, operation)| *operation);
    let mut facts = Facts {
        repository: setting("remote.origin.url").and_then(names::repository),
        head: Head { branch, oid },
        operation,
        branch: refs.iter().find(|(name, _)| Some(name) == own.as_ref()).map(|(_, oid)| oid.clone()),
        integration,
        ..Facts::default()
    };
    if needs.commits {
        range(git, &mut facts, guidelines).await;
    }
    if needs.tripwire {
        let wire = tripwire(git, &facts, setting("core.hookspath")).await;
        facts.tripwire = wire.map_or_else(Answer::Unknown, Answer::Found);
    }
    facts
}

/// Returns the patterns of the wanted refs: integration branches, local and on remotes, and the claimed branch.
fn patterns(claims: &Claims, guidelines: &Guidelines) -> Vec<String> {
    let names = guidelines.integration.iter().filter(|name| !name.is_empty() && !name.contains('\0'));
    let both = names
        .flat_map(|name| around(name))
        .flat_map(|name| [format!("refs/heads/{name}"), format!("refs/remotes/*/{name}")]);
    let own =
        claims.branch.iter().filter(|branch| names::is_branch(branch)).map(|branch| format!("refs/heads/{branch}"));
    // Without any pattern, git would list all refs.
    both.chain(own).chain(["refs/portolan-none".to_owned()]).collect()
}

/// Returns git globs, in which a star does not cross a slash, that match at least what `name` matches.
fn around(name: &str) -> Vec<String> {
    match name.split_once(['*', '?']) {
        None => vec![name.to_owned()],
        Some((before, _)) => vec![format!("{before}*"), format!("{before}*/**")],
    }
}

fn integration(refs: &[(String, String)], guidelines: &Guidelines) -> Vec<Integration> {
    let mut found: Vec<Integration> = Vec::new();
    for (full, oid) in refs {
        let (name, remote) = match (full.strip_prefix("refs/heads/"), full.strip_prefix("refs/remotes/")) {
            (Some(name), _) => (name, false),
            (_, Some(rest)) => (rest.split_once('/').map_or(rest, |(_, name)| name), true),
            _ => continue,
        };
        if !guidelines.integrates(name) {
            continue;
        }
        let at = found.iter().position(|branch| branch.name == name).unwrap_or_else(|| {
            found.push(Integration { name: name.to_owned(), local: None, remotes: Vec::new() });
            found.len() - 1
        });
        match remote {
            true => found[at].remotes.push(oid.clone()),
            false => found[at].local = Some(oid.clone()),
        }
    }
    found
}

/// Adds the base and the commits since, compared with the remotes, or with the local branch if it has no remote.
async fn range(git: &Git, facts: &mut Facts, guidelines: &Guidelines) {
    let Some(head) = facts.head.oid.clone() else { return };
    let tips = facts.integration.iter().flat_map(|branch| match branch.remotes.as_slice() {
        [] => branch.local.iter().collect::<Vec<_>>(),
        remotes => remotes.iter().collect(),
    });
    let tips: Vec<&str> = tips.map(String::as_str).collect();
    if tips.is_empty() {
        let names: Vec<&str> = guidelines.integration.iter().map(String::as_str).collect();
        let why = format!(
            "none of the integration branches {} exists; fetch one, or name another in the guidelines",
            portolan_core::diagnostic::list(&names)
        );
        facts.base = Answer::Unknown(unknown("no-integration", why));
        return;
    }
    let range = match git.range(&head, &tips).await {
        Ok(range) => range,
        Err(unknown) => {
            (facts.base, facts.commits) = (Answer::Unknown(unknown.clone()), Answer::Unknown(unknown));
            return;
        }
    };
    // The best common ancestor is always one of the beginnings. If there is only one, the history need not be walked
    // again.
    let base = match range.begins.as_slice() {
        [only] => Ok(Some(only.clone())),
        _ => git.merge_base(&head, &tips).await,
    };
    (facts.base, facts.commits) = match base {
        Err(unknown) => (Answer::Unknown(unknown), Answer::NotAsked),
        Ok(None) => (Answer::Missing, Answer::NotAsked),
        Ok(Some(base)) => (Answer::Found(base), Answer::Found(range.commits)),
    };
}

async fn tripwire(git: &Git, facts: &Facts, hooks: Option<&str>) -> Result<Tripwire, FactError> {
    let mut ahead = Vec::new();
    for branch in facts.integration.iter().filter(|branch| !branch.remotes.is_empty()) {
        let Some(local) = branch.local.as_ref().filter(|local| !branch.remotes.contains(local)) else { continue };
        match git.ahead(local, &branch.remotes).await? {
            0 => {}
            count => ahead.push((branch.name.clone(), count)),
        }
    }
    // Git resolves paths that begin with `~`, so they are not checked.
    let exist = hooks.is_none_or(|path| path.starts_with('~') || is_folder(&git.top, path));
    let mut tripwire =
        Tripwire { ahead, hooks_path: hooks.map(str::to_owned), hooks_exist: exist, ..Tripwire::default() };
    // Without a commit there is no reflog.
    if facts.head.oid.is_some() {
        traces::add(git, &mut tripwire).await?;
    }
    Ok(tripwire)
}

fn is_folder(top: &Path, path: &str) -> bool {
    top.join(path).is_dir()
}
