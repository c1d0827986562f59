//! The facts that are determined before a tool call is judged, and the request for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use portolan_core::run::Bypass;
use portolan_core::value::Timestamp;

/// The facts that a tool call depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuardContext {
    /// The place of each path of [`FactRequest`]. A path without one could not be inspected.
    pub places: BTreeMap<String, Place>,
    /// The home folder of the person, with symlinks resolved.
    pub home: Option<String>,
    /// The active flow of the session, if any.
    pub flow: Option<FlowContext>,
    /// The recorded bypasses that are not used up.
    pub bypasses: Vec<Bypass>,
    /// The variables of the asking process that have names of [`crate::bypass::variables`].
    pub environment: Vec<(String, String)>,
    /// Whether a person asks, at a terminal. The environment then speaks for them, and the answer is worded for them.
    pub by_person: bool,
    /// Whether the present content passed the type check.
    pub typecheck: TypecheckVerdict,
    /// The contents of files that commit messages are taken from, by their path in [`FactRequest`].
    pub messages: BTreeMap<String, String>,
    /// The pull requests that the merge gate blocked in its latest recorded ruling, with the reason.
    pub blocked: BTreeMap<u64, String>,
    /// The runs and questions that only a person may answer, by the ids that answers use.
    pub human_questions: BTreeSet<String>,
    /// Files and folders of the gates at any location: the event log, the program itself with every link to it, and a
    /// person's settings for all projects.
    pub own: BTreeSet<String>,
    /// The time at which the call is judged.
    pub now: Timestamp,
}

/// The location of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The path with symlinks resolved, as far as it exists.
    pub path: String,
    /// The worktree that contains it; `None` outside of any.
    pub worktree: Option<Arc<Worktree>>,
    /// The path relative to the root of the worktree; empty for the root itself.
    pub inside: String,
    /// Whether git ignores it.
    pub ignored: bool,
    /// Whether it belongs to a repository's own folder: `.git`, or the state folder of a linked worktree.
    pub of_git: bool,
}

/// A worktree of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worktree {
    /// Its folder with symlinks resolved; the repository itself if it is bare.
    pub root: String,
    /// The folder of its state.
    pub git_dir: String,
    /// The folder of the state that all worktrees of the repository share.
    pub common_dir: String,
    /// The checked-out branch or commit.
    pub head: WorktreeHead,
    /// The operation in progress.
    pub operation: Option<Operation>,
    /// Whether it was added to a repository (`git worktree add`).
    pub linked: bool,
    /// Whether it has no files.
    pub bare: bool,
    /// The names of its remotes.
    pub remotes: Vec<String>,
    /// The upstreams of branches, by branch name: the remote, and the name of the branch there.
    pub upstreams: BTreeMap<String, (String, String)>,
    /// The repository on its forge, `owner/name` or `host/owner/name`, if the address of a remote shows it.
    pub repository: Option<String>,
    /// The repositories of all remotes; `None` if there is no remote, or one whose address shows none.
    pub repositories: Option<BTreeSet<String>>,
}

/// The checked-out branch or commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WorktreeHead {
    /// A branch, without `refs/heads/`.
    Branch(String),
    /// A branch without a commit.
    Unborn(String),
    /// A commit.
    Detached(String),
    /// It cannot be determined.
    #[default]
    Unknown,
}

/// An operation in progress in a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A rebase, with its branch if it has one.
    Rebase(Option<String>),
    /// The application of patches.
    Am,
    /// A merge.
    Merge,
    /// A cherry-pick.
    CherryPick,
    /// A revert.
    Revert,
    /// A bisection, with the branch that it began on if there was one.
    Bisect(Option<String>),
}

impl Worktree {
    /// Returns the branch that actions here affect. A rebase detaches its branch, and returns to it.
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
    /// Its current phase.
    pub phase: String,
    /// The number of the issue that it claims.
    pub issue: Option<u64>,
    /// The tracker's key of the issue that it claims.
    pub issue_key: Option<String>,
    /// The branch that it claims.
    pub branch: Option<String>,
}

/// The verdict of the type check on the present content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TypecheckVerdict {
    /// It passed.
    Passed,
    /// It failed, with this reason.
    Failed(String),
    /// It was not run.
    #[default]
    Unknown,
    /// No type check is configured.
    NotConfigured,
}

/// The facts that are needed before a tool call can be judged. Paths are absolute, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactRequest {
    /// Files that would be written, whose places with symlinks resolved are needed.
    pub paths: BTreeSet<String>,
    /// Folders that git would work in.
    pub folders: BTreeSet<String>,
    /// Paths that programs are given and may write, and folders in which patterns are matched.
    pub named: BTreeSet<String>,
    /// Files that commit messages are taken from.
    pub messages: BTreeSet<String>,
    /// The numbers of pull requests that would be merged.
    pub requests: BTreeSet<u64>,
    /// Whether the aliases of git are needed, because a subcommand is not its own. The caller must expand the reading
    /// with them and ask again.
    pub aliases: bool,
    /// Whether the verdict of the type check is needed.
    pub typecheck: bool,
}
