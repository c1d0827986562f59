//! Who sends a request, and what they may do.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use clap::ValueEnum;
use portolan_core::diagnostic::list;

use super::project_path::split;

/// What the holder of a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Scope {
    /// Read situations, histories and metrics, and call the leading tools that change nothing.
    Read,
    /// Lead runs: every tool of `navigate`, `tasks` and `gates`. Includes `read`.
    Navigate,
    /// Call graphs of tools, and the tools of other servers.
    Run,
    /// Show and edit definitions.
    Author,
    /// Answer for a person in the client's dialogs.
    Person,
}

impl Scope {
    /// Returns its name in a file, in a claim and on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Navigate => "navigate",
            Scope::Run => "run",
            Scope::Author => "author",
            Scope::Person => "person",
        }
    }

    /// Returns the scope of a name.
    pub(crate) fn named(name: &str) -> Option<Scope> {
        Scope::value_variants().iter().copied().find(|scope| scope.name() == name)
    }
}

/// A set of scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scopes(u8);

impl Scopes {
    /// Returns the scopes of a server's only token: all but `person`, because any program of the user can read it.
    pub(crate) fn of_programs() -> Scopes {
        [Scope::Read, Scope::Navigate, Scope::Run, Scope::Author].into_iter().collect()
    }

    /// Checks whether a scope is among them.
    pub(crate) fn has(self, scope: Scope) -> bool {
        let includes = |scope: Scope| self.0 & bit(scope) != 0;
        includes(scope) || (scope == Scope::Read && includes(Scope::Navigate))
    }

    /// Returns these scopes and another one.
    #[must_use]
    pub(super) fn with(self, scope: Scope) -> Scopes {
        Scopes(self.0 | bit(scope))
    }

    /// Returns the names, in their order.
    pub(crate) fn names(self) -> Vec<&'static str> {
        let all = Scope::value_variants().iter().copied();
        all.filter(|scope| self.0 & bit(*scope) != 0).map(Scope::name).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Scopes {
        Scopes(scopes.into_iter().fold(0, |bits, scope| bits | bit(scope)))
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.names().as_slice() {
            [] => out.write_str("no scope"),
            names => out.write_str(&list(names)),
        }
    }
}

fn bit(scope: Scope) -> u8 {
    1 << scope as u8
}

/// The holder of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Principal {
    /// The name that the token was issued to. `None` if all clients share a token, or need none.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) scopes: Scopes,
    /// The projects that the token is for. `None` if it is for all.
    pub(crate) projects: Option<Arc<BTreeSet<String>>>,
}

impl Principal {
    /// Returns the principal of a server whose clients are not told apart.
    pub(crate) fn shared() -> Principal {
        Principal { name: None, scopes: Scopes::of_programs(), projects: None }
    }

    /// Checks whether the token is for what is at a path.
    pub(super) fn may_use(&self, path: &str) -> bool {
        let Some(projects) = &self.projects else { return true };
        split(path).is_some_and(|(name, _)| projects.contains(name))
    }
}
