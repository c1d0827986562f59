//! What somebody found out of the world before a tool call is judged, and what there is to find out for one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use portolan_core::run::Bypass;
use portolan_core::value::Timestamp;

/// The world, as far as a tool call touches it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuardContext {
    /// Where each path of [`FactRequest`] lies. One that is missing could not be looked at.
    pub places: BTreeMap<String, Place>,
    /// The folder of the person, after symlinks.
    pub home: Option<String>,
    /// The flow that is active for the session, if one is.
    pub flow: Option<FlowContext>,
    /// The bypasses on record that are not used up.
    pub bypasses: Vec<Bypass>,
    /// The variables of the process that asks, as far as they are names of [`crate::bypass::variables`].
    pub environment: Vec<(String, String)>,
    /// A person asks, at a terminal: what the environment asks for is their word, and the answer is in their words.
    pub by_person: bool,
    /// Whether the present content passed the type check.
    pub typecheck: TypecheckVerdict,
    /// What is in the files that commit messages are taken from, by their path in [`FactRequest`].
    pub messages: BTreeMap<String, String>,
    /// The pull requests that the merge gate has blocked by its latest ruling on record, and why.
    pub blocked: BTreeMap<u64, String>,
    /// The runs and questions that only a person may answer, by the ids that they are answered under.
    pub human_questions: BTreeSet<String>,
    /// Files and folders of the gates that lie anywhere: the log of events, the program itself with every link that leads
    /// to it, and what a person has for all projects.
    pub own: BTreeSet<String>,
    /// When the call is judged.
    pub now: Timestamp,
}

/// Where a path lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The path after symlinks, as far as it exists.
    pub path: String,
    /// The worktree that it lies in; nothing outside of any.
    pub worktree: Option<Arc<Worktree>>,
    /// The path seen from the root of the worktree; empty for the root itself.
    pub inside: String,
    /// Git ignores it.
    pub ignored: bool,
    /// It is a part of a repository's own folder: `.git`, or where a linked worktree has its state.
    pub of_git: bool,
}

/// A worktree of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worktree {
    /// Its folder after symlinks; the repository itself where it is bare.
    pub root: String,
    /// Where its state is.
    pub git_dir: String,
    /// Where the state of all worktrees of the repository is.
    pub common_dir: String,
    /// What is checked out.
    pub head: WorktreeHead,
    /// What was begun and is not done.
    pub operation: Option<Operation>,
    /// It is one that was added to a repository (`git worktree add`).
    pub linked: bool,
    /// It has no files.
    pub bare: bool,
    /// The names of the repositories that it knows.
    pub remotes: Vec<String>,
    /// What branches follow, by their names: the remote, and the branch's name there.
    pub upstreams: BTreeMap<String, (String, String)>,
    /// The repository on its forge, `owner/name` or `host/owner/name`, where the address of a remote says so.
    pub repository: Option<String>,
    /// The same of every remote; nothing where there is none, or one that does not say.
    pub repositories: Option<BTreeSet<String>>,
}

/// What is checked out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WorktreeHead {
    /// A branch, without `refs/heads/`.
    Branch(String),
    /// A branch that has no commit yet.
    Unborn(String),
    /// A commit.
    Detached(String),
    /// It cannot be told.
    #[default]
    Unknown,
}

/// What was begun in a worktree and is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A rebase, of this branch where it is one.
    Rebase(Option<String>),
    /// Patches are applied.
    Am,
    /// A merge.
    Merge,
    /// A cherry-pick.
    CherryPick,
    /// A revert.
    Revert,
    /// A bisection, begun on this branch where it was one.
    Bisect(Option<String>),
}

impl Worktree {
    /// The branch that what happens here counts for: a rebase has detached its branch, and comes back to it.
    pub fn branch(&self) -> Option<&str> {
        match (&self.operation, &self.head) {
            (Some(Operation::Rebase(Some(branch))), WorktreeHead::Detached(_)) => Some(branch),
            (_, WorktreeHead::Branch(branch) | WorktreeHead::Unborn(branch)) => Some(branch),
            (_, WorktreeHead::Detached(_) | WorktreeHead::Unknown) => None,
        }
    }
}

/// The flow that a session works in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowContext {
    /// Its task.
    pub task: String,
    /// The phase that it is in.
    pub phase: String,
    /// The issue that it claims, by its number.
    pub issue: Option<u64>,
    /// The issue that it claims, by a tracker's key.
    pub issue_key: Option<String>,
    /// The branch that it claims.
    pub branch: Option<String>,
}

/// What is known of the type check, for the present content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TypecheckVerdict {
    /// It passed.
    Passed,
    /// It failed, and with what.
    Failed(String),
    /// Nobody ran it.
    #[default]
    Unknown,
    /// There is none.
    NotConfigured,
}

/// What there is to find out before a tool call can be judged. Paths are absolute, as they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactRequest {
    /// Files that would be written: the places that they have once symlinks are followed.
    pub paths: BTreeSet<String>,
    /// Folders that git would work in.
    pub folders: BTreeSet<String>,
    /// What programs are told of that may write it, and folders in which patterns are looked for.
    pub named: BTreeSet<String>,
    /// Files that commit messages are taken from.
    pub messages: BTreeSet<String>,
    /// Pull requests that would be merged, by their numbers.
    pub requests: BTreeSet<u64>,
    /// The aliases of git: a subcommand is none of its own. The reading must be expanded with them, and asked again.
    pub aliases: bool,
    /// Whether the type check passed.
    pub typecheck: bool,
}
