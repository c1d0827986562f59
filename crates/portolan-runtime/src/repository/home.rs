//! Which repository of a forge is the project's: the one of the pinned remotes that its integration branches follow, or
//! of the configured remotes if none is pinned. `gh` has settings that can lead it to another repository. It is
//! therefore given the name, and its answer must be about this repository.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use portolan_core::diagnostic::clip;
use portolan_gates::facts::{FactError, ForeignRepository};
use portolan_gates::names;

use crate::inspection;
use crate::pins::{GitRemote, Pins};
use crate::program::unknown;

/// The project's repositories on their forges, as `owner/name` or `host/owner/name`. There are several if its branches
/// follow several remotes.
#[derive(Debug, Default)]
pub struct Home(BTreeSet<String>);

impl Home {
    /// Returns the repositories of the project around a folder. Empty if nothing is pinned and no remote names one.
    ///
    /// # Errors
    /// The pins cannot be read, or name no repository on a forge.
    pub fn of(project: &Path) -> Result<Home, FactError> {
        let pins = Pins::around(project).map_err(|why| unknown("pins-unreadable", why))?;
        match pins.map(|(_, pins)| pins.remotes).filter(|remotes| !remotes.is_empty()) {
            Some(remotes) => Home::pinned(&remotes),
            None => Ok(Home(configured(project).unwrap_or_default())),
        }
    }

    fn pinned(remotes: &BTreeMap<String, GitRemote>) -> Result<Home, FactError> {
        let known: BTreeSet<String> =
            remotes.values().filter_map(|remote| names::repository(&remote.address)).map(usual).collect();
        if !known.is_empty() {
            return Ok(Home(known));
        }
        let addresses: Vec<&str> = remotes.values().map(|remote| remote.address.as_str()).collect();
        let addresses = portolan_core::diagnostic::list(&addresses);
        let help = "use the forge's own address for the remote and pin it, or use files instead of a forge (`forge: {files: …}`)";
        let why = format!("the pinned remote points to {addresses}, which is not a repository of a forge; {help}");
        Err(unknown("no-forge", why))
    }

    /// Returns the arguments that name the repository to `gh`, or none if it is not known.
    pub fn named(&self) -> Vec<String> {
        let mut known = self.0.iter().filter(|own| !is_alias(own));
        match (known.next(), self.0.len()) {
            (Some(own), 1) => vec!["--repo".to_owned(), own.clone()],
            _ => Vec::new(),
        }
    }

    /// Returns the foreign repository to which an issue or a pull request belongs, by its address, or `None` if it
    /// belongs to one of these.
    ///
    /// # Errors
    /// The address names no repository.
    pub(crate) fn other(&self, address: &str) -> Result<Option<ForeignRepository>, FactError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let Some(found) = repository(address) else {
            let clipped = clip(address);
            return Err(unknown(
                "gh-answer",
                format!("`gh` returned the address `{clipped}`, which names no repository; update `gh`"),
            ));
        };
        if self.0.iter().any(|own| is_same(own, &found)) {
            return Ok(None);
        }
        Ok(Some(ForeignRepository { found, own: self.0.iter().cloned().collect() }))
    }
}

/// Returns the repositories of the configured remotes.
fn configured(project: &Path) -> Option<BTreeSet<String>> {
    let project = project.canonicalize().ok()?;
    let known = inspection::worktree(&project)?.repositories.clone()?;
    Some(known.into_iter().map(usual).collect())
}

/// Returns the repository in the address of an issue or a pull request: the part before `/pull/7`.
fn repository(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://").filter(|(scheme, _)| matches!(*scheme, "https" | "http"))?;
    let mut parts = rest.split('/');
    let (host, owner, name, _kind) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    names::repository(&format!("{scheme}://{host}/{owner}/{name}"))
}

/// Removes GitHub's host name for SSH over the HTTPS port.
fn usual(repository: String) -> String {
    repository.strip_prefix("ssh.github.com/").map_or_else(|| repository.clone(), str::to_owned)
}

/// Checks whether the host is an alias of the SSH configuration (`git@work:o/r.git`), which no forge has as its name.
fn is_alias(repository: &str) -> bool {
    host(repository).is_some_and(|host| !host.contains('.'))
}

fn host(repository: &str) -> Option<&str> {
    let (host, rest) = repository.split_once('/')?;
    rest.contains('/').then_some(host)
}

fn is_same(own: &str, found: &str) -> bool {
    let unhosted = |repository: &str| match host(repository) {
        Some(host) => repository[host.len() + 1..].to_owned(),
        None => repository.to_owned(),
    };
    match is_alias(own) {
        true => unhosted(own).eq_ignore_ascii_case(&unhosted(found)),
        false => own.eq_ignore_ascii_case(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gh_answers_is_of_the_repository_that_was_pinned() {
        let told = |own: &[&str], address: &str| {
            let home = Home(own.iter().filter_map(|own| names::repository(own)).map(usual).collect());
            match home.other(address) {
                Ok(None) => "own".to_owned(),
                Ok(Some(other)) => other.found,
                Err(unknown) => unknown.code.to_owned(),
            }
        };
        let own = "https://github.com/o/r.git";
        for (remotes, address, expected) in [
            (&[own][..], "https://github.com/o/r/pull/5", "own"),
            (&[own], "https://github.com/O/R/issues/5", "own"),
            (&[own], "https://github.com/evil/r/pull/5", "evil/r"),
            (&[own], "https://github.com/o/r2/pull/5", "o/r2"),
            (&[own], "https://evil.example/o/r/pull/5", "evil.example/o/r"),
            (&[own], "https://github.com/o/r", "gh-answer"),
            (&[own], "ftp://github.com/o/r/pull/5", "gh-answer"),
            (&["git@ssh.github.com:o/r.git"], "https://github.com/o/r/pull/5", "own"),
            (&["git@work:o/r.git"], "https://github.com/o/r/pull/5", "own"),
            (&["git@work:o/r.git"], "https://github.com/evil/r/pull/5", "evil/r"),
            (&["git@ghe.example:o/r.git"], "https://ghe.example/o/r/pull/5", "own"),
            (&["git@ghe.example:o/r.git"], "https://github.com/o/r/pull/5", "o/r"),
            (&[own, "git@github.com:me/r"], "https://github.com/me/r/pull/5", "own"),
            (&[], "anything", "own"),
        ] {
            assert_eq!(told(remotes, address), expected, "{remotes:?} {address}");
        }
    }

    #[test]
    fn gh_is_told_where_it_is_known() {
        let named = |own: &[&str]| Home(own.iter().map(|own| (*own).to_owned()).collect()).named();
        assert_eq!(named(&["o/r"]), ["--repo", "o/r"]);
        assert_eq!(named(&["ghe.example/o/r"]), ["--repo", "ghe.example/o/r"]);
        for untold in [&[][..], &["work/o/r"], &["o/r", "me/r"]] {
            assert!(named(untold).is_empty(), "{untold:?}");
        }
    }
}
