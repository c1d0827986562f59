//! The remote branches that integration branches follow. A branch may move to what the branch of its remote has, so the
//! choice of the remote matters: it is the pinned one, or the configured one if none is pinned. Other remotes do not
//! count, whatever the names of their branches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use portolan_gates::Guidelines;
use portolan_gates::guards::{Worktree, integrates};
use portolan_runtime::inspection::ask;
use portolan_runtime::pins::{GitRemote, Pins, Upstream};

use super::refs::Refs;

/// The settings of a remote, besides its address, that can redirect a fetch.
const LEADING: [&str; 3] = ["uploadpack", "vcs", "proxy"];

/// The remote branches that the integration branches of a repository follow.
pub(super) struct Upstreams<'w> {
    worktree: &'w Worktree,
    rules: &'w Guidelines,
    pub(super) pins: Option<Pins>,
}

impl<'w> Upstreams<'w> {
    /// Reads the pins. A repository whose project has no record of an installation has none.
    ///
    /// # Errors
    /// The record cannot be read.
    pub(super) fn of(worktree: &'w Worktree, rules: &'w Guidelines) -> Result<Upstreams<'w>, String> {
        let found = Pins::around(Path::new(&worktree.root))?;
        let ours = |(project, pins): &(PathBuf, Pins)| pins.are_of(project, Path::new(&worktree.common_dir));
        Ok(Upstreams { worktree, rules, pins: found.filter(ours).map(|(_, pins)| pins) })
    }

    /// Ignores the pins and uses the configuration alone.
    pub(super) fn unpinned(worktree: &'w Worktree, rules: &'w Guidelines) -> Upstreams<'w> {
        Upstreams { worktree, rules, pins: None }
    }

    /// Returns the remote branch that an integration branch follows.
    pub(super) fn followed(&self, branch: &str) -> Option<Upstream> {
        match &self.pins {
            Some(pins) => pins.upstreams.get(branch).cloned().or_else(|| same(pins.remotes.keys(), branch)),
            None => configured(self.worktree, self.rules, branch),
        }
    }

    /// Returns the commit of that branch at the last fetch.
    pub(super) fn tip(&self, refs: &Refs, branch: &str) -> Option<String> {
        refs.oid(&tracking(&self.followed(branch)?))
    }

    /// Returns the integration branch that follows the branch of this reference.
    pub(super) fn follower(&self, reference: &str) -> Option<String> {
        let pinned = self.pins.iter().flat_map(|pins| &pins.upstreams);
        let named =
            pinned.filter(|(_, upstream)| tracking(upstream) == reference).map(|(branch, _)| branch.clone()).next();
        named.or_else(|| {
            let remotes = self
                .pins
                .as_ref()
                .map_or_else(|| self.worktree.remotes.clone(), |pins| pins.remotes.keys().cloned().collect::<Vec<_>>());
            let of = |remote: &String| reference.strip_prefix("refs/remotes/")?.strip_prefix(remote)?.strip_prefix('/');
            let mut names = remotes.iter().filter_map(of);
            let follows = |name: &&str| {
                integrates(self.rules, name) && self.followed(name).is_some_and(|found| tracking(&found) == reference)
            };
            names.find(follows).map(str::to_owned)
        })
    }

    /// Returns why a fetched branch may not be that of its remote: the configuration of the git that runs leads
    /// elsewhere than it did when hooks were installed.
    pub(super) fn fault(&self, branch: &str) -> Option<String> {
        let upstream = self.followed(branch)?;
        let root = Path::new(&self.worktree.root);
        let settings = settings(root);
        let here = tracking(&upstream);
        for (key, refspec) in settings.iter().filter(|(key, _)| key.ends_with(".fetch")) {
            let own = *key == format!("remote.{}.fetch", upstream.remote);
            if let Some(source) = source(refspec, &here)
                && !(own && is_named(&source, &upstream.branch))
            {
                return Some(format!(
                    "`{key}` fetches `{source}` into the reference that tracks `{}` of `{}`",
                    upstream.branch, upstream.remote
                ));
            }
        }
        let expected = self.pins.as_ref()?.remotes.get(&upstream.remote)?;
        let found = remote(root, &upstream.remote, &settings);
        if found == *expected {
            return None;
        }
        let Upstream { remote, .. } = upstream;
        let why = if found.address == expected.address {
            format!("the git settings of `{remote}` have changed since the hooks were installed")
        } else {
            let (now, then) = (&found.address, &expected.address);
            format!("`{remote}` points to `{now}`, but pointed to `{then}` when the hooks were installed")
        };
        Some(why)
    }

    /// Checks whether a commit is on a local branch and on no branch of a remote.
    pub(super) fn was_made_here(&self, commit: &str, upstream: &Upstream) -> bool {
        let here = tracking(upstream);
        let list = ["for-each-ref", "--format=%(refname)", "--contains", commit, "refs/heads", "refs/remotes"];
        let output = ask::ask(Path::new(&self.worktree.root), &list, Vec::new());
        let Some((0, text)) = output else { return true };
        let others = || text.lines().filter(|name| **name != here);
        others().any(|name| name.starts_with("refs/heads/")) && !others().any(|name| name.starts_with("refs/remotes/"))
    }

    /// Returns the commits of all followed branches at the last fetch, by integration branch.
    pub(super) fn all(&self, refs: &Refs) -> BTreeMap<String, String> {
        let branches = refs.integration(self.rules).into_keys();
        let found = |branch: String| self.tip(refs, &branch).map(|tip| (branch, tip));
        branches.filter_map(found).collect()
    }

    /// Adds missing pins. Existing ones are kept, so that a caller cannot replace them.
    pub(super) fn pin(&self, pins: &mut Pins, refs: &Refs) {
        let root = Path::new(&self.worktree.root);
        let settings = settings(root);
        for (branch, tip) in refs.integration(self.rules) {
            if let Some(upstream) = configured(self.worktree, self.rules, &branch) {
                let read_remote = || remote(root, &upstream.remote, &settings);
                pins.remotes.entry(upstream.remote.clone()).or_insert_with(read_remote);
                pins.upstreams.entry(branch.clone()).or_insert(upstream);
            }
            pins.tips.entry(branch).or_insert(tip);
        }
    }
}

/// Returns the local reference of a remote's branch.
pub(super) fn tracking(upstream: &Upstream) -> String {
    format!("refs/remotes/{}/{}", upstream.remote, upstream.branch)
}

/// Returns the remote branch that a branch follows according to the configuration. Only integration branches count,
/// because an agent that can write the configuration could name a branch of its own.
fn configured(worktree: &Worktree, rules: &Guidelines, branch: &str) -> Option<Upstream> {
    let counts = |(remote, name): &&(String, String)| worktree.remotes.contains(remote) && integrates(rules, name);
    let own = worktree.upstreams.get(branch).filter(counts);
    let own = own.map(|(remote, name)| Upstream { remote: remote.clone(), branch: name.clone() });
    own.or_else(|| same(worktree.remotes.iter(), branch))
}

/// Returns the branch of the same name on `origin`, or on the only remote.
fn same<'r>(remotes: impl Iterator<Item = &'r String>, branch: &str) -> Option<Upstream> {
    let remotes: Vec<&String> = remotes.collect();
    let only = remotes.first().filter(|first| remotes.iter().all(|remote| remote == *first));
    let remote = remotes.iter().find(|remote| **remote == "origin").or(only)?;
    Some(Upstream { remote: (*remote).clone(), branch: branch.to_owned() })
}

/// Returns all settings of remotes, as the git that runs sees them.
fn settings(root: &Path) -> Vec<(String, String)> {
    let output = ask::ask_as_given(root, &["config", "-z", "--get-regexp", r"^remote\."], Vec::new());
    let text = output.map(|(_, text)| text).unwrap_or_default();
    let pair = |entry: &str| entry.split_once('\n').map(|(key, value)| (key.to_owned(), value.to_owned()));
    text.split('\0').filter_map(pair).collect()
}

fn remote(root: &Path, name: &str, settings: &[(String, String)]) -> GitRemote {
    let address = ask::ask_as_given(root, &["ls-remote", "--get-url", "--", name], Vec::new());
    let leads = |(key, value): &(String, String)| {
        let setting = key.strip_prefix("remote.")?.strip_prefix(name)?.strip_prefix('.')?;
        LEADING.contains(&setting).then(|| format!("{setting}={value}"))
    };
    GitRemote {
        address: address.map(|(_, text)| text.trim_end().to_owned()).unwrap_or_default(),
        settings: settings.iter().filter_map(leads).collect(),
    }
}

/// Returns the source that a refspec fetches into a reference, if it does.
pub(super) fn source(refspec: &str, reference: &str) -> Option<String> {
    let (from, to) = refspec.trim_start_matches('+').rsplit_once(':')?;
    let to = if to.starts_with("remotes/") { format!("refs/{to}") } else { to.to_owned() };
    match to.split_once('*') {
        Some((before, after)) => {
            let inner = reference.strip_prefix(before)?.strip_suffix(after)?;
            Some(from.replacen('*', inner, 1))
        }
        None => (to == reference).then(|| from.to_owned()),
    }
}

/// Checks whether the source of a refspec names this branch.
pub(super) fn is_named(source: &str, branch: &str) -> bool {
    source.strip_prefix("refs/").unwrap_or(source).strip_prefix("heads/").unwrap_or(source) == branch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refspec_is_read_as_git_reads_it() {
        for (refspec, expected) in [
            ("+refs/heads/*:refs/remotes/origin/*", Some("refs/heads/main")),
            ("+feat/1-x:refs/remotes/origin/main", Some("feat/1-x")),
            ("feat/1-x:remotes/origin/main", Some("feat/1-x")),
            ("+refs/heads/feat/*:refs/remotes/origin/ma*", Some("refs/heads/feat/in")),
            ("+refs/heads/*:refs/remotes/evil/*", None),
            ("main", None),
            ("^refs/heads/main", None),
        ] {
            assert_eq!(source(refspec, "refs/remotes/origin/main").as_deref(), expected, "{refspec}");
        }
        for name in ["main", "heads/main", "refs/heads/main"] {
            assert!(is_named(name, "main"), "{name}");
        }
        for name in ["feat/main", "refs/tags/main", "refs/heads/x/main", "refs/main"] {
            assert!(!is_named(name, "main"), "{name}");
        }
    }
}
