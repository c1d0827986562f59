//! The references of a repository, read from files. Starting `git` would take longer than everything else together.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use portolan_gates::Guidelines;
use portolan_gates::guards::{Worktree, integrates};
use portolan_gates::names::is_oid;
use portolan_runtime::disk;
use portolan_runtime::inspection::ask;

/// The largest file of one reference, in bytes.
const MAX_REFERENCE: u64 = 4096;
/// The largest file of all packed references, in bytes.
const MAX_PACKED: u64 = 64 * 1024 * 1024;
/// How many references are read.
const MAX_COUNT: usize = 4096;

/// The references of a repository.
pub(super) struct Refs {
    common: PathBuf,
    /// The packed references, or all of them if none has its own file.
    packed: String,
    tables: bool,
}

impl Refs {
    pub(super) fn of(worktree: &Worktree) -> Refs {
        let common = PathBuf::from(&worktree.common_dir);
        let tables = common.join("reftable").is_dir();
        let packed = if tables {
            // A repository with reftables, which only git can read.
            let list = ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/remotes"];
            ask::ask(Path::new(&worktree.root), &list, Vec::new()).map(|(_, text)| text)
        } else {
            disk::text(&common.join("packed-refs"), MAX_PACKED)
        };
        Refs { common, packed: packed.unwrap_or_default(), tables }
    }

    /// Returns the commit of a reference.
    pub(super) fn oid(&self, name: &str) -> Option<String> {
        let loose = disk::text(&self.common.join(name), MAX_REFERENCE);
        let loose = loose.map(|text| text.trim().to_owned()).filter(|text| is_oid(text));
        loose.or_else(|| self.packed().find(|(_, known)| *known == name).map(|(oid, _)| oid.to_owned()))
    }

    /// Checks whether a reference is packed with this commit. Then deleting its own file loses nothing.
    pub(super) fn is_packed(&self, name: &str, oid: &str) -> bool {
        !self.tables && self.packed().any(|known| known == (oid, name))
    }

    fn packed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.packed.lines().filter_map(|line| line.split_once(' ')).filter(|(oid, _)| is_oid(oid))
    }

    /// Returns the commit of each integration branch.
    pub(super) fn integration(&self, rules: &Guidelines) -> BTreeMap<String, String> {
        let mut names: Vec<String> = Vec::new();
        if rules.integration.iter().any(|pattern| pattern.contains(['*', '?'])) {
            names.extend(self.packed().filter_map(|(_, name)| name.strip_prefix("refs/heads/")).map(str::to_owned));
            beneath(&self.common.join("refs/heads"), "", &mut names);
        } else {
            names.extend(rules.integration.iter().cloned());
        }
        names.retain(|name| integrates(rules, name));
        names.into_iter().filter_map(|name| Some((name.clone(), self.oid(&format!("refs/heads/{name}"))?))).collect()
    }

    /// Returns the commit of a branch on each remote, as far as it was fetched.
    pub(super) fn on_remotes(&self, branch: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let remotes = fs::read_dir(self.common.join("refs/remotes")).into_iter().flatten().flatten();
        let mut names: Vec<String> = remotes.filter_map(|remote| remote.file_name().into_string().ok()).collect();
        let packed = self.packed().filter_map(|(_, name)| name.strip_prefix("refs/remotes/")?.split_once('/'));
        names.extend(packed.filter(|(_, name)| *name == branch).map(|(remote, _)| remote.to_owned()));
        names.sort();
        names.dedup();
        found.extend(names.iter().filter_map(|remote| self.oid(&format!("refs/remotes/{remote}/{branch}"))));
        found
    }
}

fn beneath(folder: &Path, prefix: &str, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if names.len() >= MAX_COUNT {
            return;
        }
        let Ok(name) = entry.file_name().into_string() else { continue };
        let name = format!("{prefix}{name}");
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            beneath(&entry.path(), &format!("{name}/"), names);
        } else {
            names.push(name);
        }
    }
}

/// Checks whether a commit is one of `tips`, or an ancestor of one.
pub(super) fn is_within(folder: &Path, commit: &str, tips: &[String]) -> bool {
    tips.iter().any(|tip| {
        tip == commit
            || ask::ask(folder, &["merge-base", "--is-ancestor", commit, tip], Vec::new())
                .is_some_and(|(status, _)| status == 0)
    })
}
