//! The state of a repository as plain data: one snapshot, which all checks share. The code that takes it limits its
//! size and fetches only what is needed.

/// What a task claims about itself. A claim is not trusted before a check has passed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// The name of the task.
    pub task: Option<String>,
    /// The number of the issue.
    pub issue: Option<u64>,
    /// The tracker's key of the issue.
    pub issue_key: Option<String>,
    /// The branch that the work is done on.
    pub branch: Option<String>,
    /// The prefix of the branch name.
    pub branch_prefix: Option<String>,
    /// The specification, relative to the project. A glob that matches one file is accepted.
    pub spec_path: Option<String>,
    /// The number of the pull request.
    pub pull_request: Option<u64>,
}

/// The facts that checks need besides the head and the branches, which are always read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The commits of the branch.
    pub commits: bool,
    /// The uncommitted changes.
    pub tree: bool,
    /// The specification.
    pub spec: bool,
    /// The issue, which may need a network call.
    pub issue: bool,
    /// The pull request, which may need a network call.
    pub pull_request: bool,
    /// Whether the pull request is ready to be merged, which the forge may take a moment to compute.
    pub readiness: bool,
    /// The verdict of the type checker.
    pub typecheck: bool,
    /// Traces of work that bypassed the guards.
    pub tripwire: bool,
}

impl Needs {
    /// The head and the branches alone.
    pub const NOTHING: Needs = Needs {
        commits: false,
        tree: false,
        spec: false,
        issue: false,
        pull_request: false,
        readiness: false,
        typecheck: false,
        tripwire: false,
    };

    /// Returns the facts that either of the two needs.
    #[must_use]
    pub const fn and(self, other: Needs) -> Needs {
        Needs {
            commits: self.commits || other.commits,
            tree: self.tree || other.tree,
            spec: self.spec || other.spec,
            issue: self.issue || other.issue,
            pull_request: self.pull_request || other.pull_request,
            readiness: self.readiness || other.readiness,
            typecheck: self.typecheck || other.typecheck,
            tripwire: self.tripwire || other.tripwire,
        }
    }
}

/// Why a fact could not be determined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactError {
    /// A stable word for the cause.
    pub code: &'static str,
    /// The cause and what to do, as the end of a sentence.
    pub why: String,
}

/// The result of looking up a fact.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Answer<T> {
    /// The fact was not requested.
    #[default]
    NotAsked,
    /// The fact.
    Found(T),
    /// It does not exist.
    Missing,
    /// It could not be determined.
    Unknown(FactError),
}

/// A snapshot of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Why no fact could be determined: there is no repository, or it has no worktree.
    pub trouble: Option<FactError>,
    /// The repository on its forge, `owner/name` or `host/owner/name`, if known.
    pub repository: Option<String>,
    /// The checked-out branch and commit.
    pub head: Head,
    /// The operation in progress: `rebase`, `merge`, `cherry-pick`, `revert` or `bisect`.
    pub operation: Option<&'static str>,
    /// The existing integration branches.
    pub integration: Vec<Integration>,
    /// The commit of the claimed branch; `None` if there is no such branch.
    pub branch: Option<String>,
    /// The commit where the work branched off the integration branches.
    pub base: Answer<String>,
    /// The commits since then without merges, the latest first.
    pub commits: Answer<Vec<Commit>>,
    /// The uncommitted changes.
    pub tree: Answer<Tree>,
    /// The files that the claimed specification matches.
    pub spec: Answer<Vec<Spec>>,
    /// The claimed issue.
    pub issue: Answer<Issue>,
    /// The other active tasks that claim the same issue, each with its run. Not asked if the caller has no runs.
    pub rivals: Answer<Vec<String>>,
    /// The claimed pull request.
    pub pull_request: Answer<PullRequest>,
    /// The verdict of the type checker on exactly these files.
    pub typecheck: Answer<TypecheckOutcome>,
    /// Traces of work that bypassed the guards.
    pub tripwire: Answer<Tripwire>,
}

/// The checked-out branch and commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The branch; `None` if the head is detached.
    pub branch: Option<String>,
    /// The commit; `None` if the branch has no commit yet.
    pub oid: Option<String>,
}

/// An integration branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integration {
    /// Its name, without the remote.
    pub name: String,
    /// Its local commit.
    pub local: Option<String>,
    /// Its commits on the remotes, as last fetched.
    pub remotes: Vec<String>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its full object name.
    pub oid: String,
    /// The first line of its message.
    pub subject: String,
    /// The text after the first line, verbatim.
    pub body: String,
}

/// The uncommitted changes: the number of paths of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Paths with conflicts.
    pub unmerged: usize,
    /// Staged paths.
    pub staged: usize,
    /// Changed paths that are not staged.
    pub unstaged: usize,
    /// Paths that git neither tracks nor ignores.
    pub untracked: usize,
}

/// A file that a claimed specification matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Its path, relative to the project.
    pub path: String,
    /// Whether it lies in the worktree, with symlinks followed.
    pub inside: bool,
    /// Whether it is a regular file, with symlinks followed.
    pub regular: bool,
    /// Whether it is tracked or staged.
    pub tracked: bool,
    /// Whether it is ignored.
    pub ignored: bool,
    /// The part of its text that was read; `None` if it is not text.
    pub text: Option<String>,
}

/// An issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Its number.
    pub number: u64,
    /// Whether it is open.
    pub open: bool,
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// Whether it is an issue. Trackers answer with pull requests as well.
    pub is_issue: bool,
    /// Its repository, if that is not the project's.
    pub elsewhere: Option<ForeignRepository>,
}

/// A repository of a forge that is not the project's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignRepository {
    /// The repository: `owner/name`, or `host/owner/name`.
    pub found: String,
    /// The repositories of the project.
    pub own: Vec<String>,
}

/// A pull request, or the record that replaces one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullRequest {
    /// A pull request of a forge.
    Forge(ForgeRequest),
    /// A record of the review, if there is no forge.
    Record {
        /// Its path, relative to the project.
        path: String,
        /// Whether it is blank.
        blank: bool,
    },
}

/// A pull request of a forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeRequest {
    /// Its number.
    pub number: u64,
    /// Its state.
    pub state: RequestState,
    /// Whether it is a draft.
    pub draft: bool,
    /// The branch that it merges.
    pub head: String,
    /// Whether that branch is in another repository.
    pub from_fork: bool,
    /// The branch that it merges into.
    pub base: String,
    /// Its address.
    pub url: String,
    /// How much of the local head it contains.
    pub pushed: PushStatus,
    /// Whether it is ready to be merged; `None` if that was not requested.
    pub readiness: Option<Readiness>,
    /// Its repository, if that is not the project's.
    pub elsewhere: Option<ForeignRepository>,
}

/// Whether a pull request is ready to be merged, according to its forge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// Whether it can be merged without a conflict; `None` if the forge has not decided yet.
    pub mergeable: Option<bool>,
    /// The checks that the forge ran for its last commit.
    pub checks: Vec<ForgeCheck>,
}

/// A check that a forge ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeCheck {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: ForgeCheckState,
}

/// The state of a forge's check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgeCheckState {
    /// It has passed, or was not required.
    Passed,
    /// It has not ended.
    Running,
    /// It has ended with another result, which this word names.
    Failed(String),
}

/// The state of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestState {
    /// Open.
    Open,
    /// Merged.
    Merged,
    /// Closed without a merge.
    Closed,
}

/// How much of the local head a pull request contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushStatus {
    /// All of it.
    All,
    /// Not all of it.
    NotAll,
    /// The head of the pull request is not known locally.
    Unknown,
}

/// The verdict of the type checker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypecheckOutcome {
    /// There is no type checker.
    NotConfigured,
    /// It has not checked these files.
    NotRun {
        /// The command, as a person would type it.
        command: String,
    },
    /// It has checked exactly these files.
    Judged {
        /// The command, as a person would type it.
        command: String,
        /// Whether it found no error.
        passed: bool,
        /// The age of the verdict, in seconds.
        age_seconds: u64,
        /// A short summary of its output.
        summary: String,
    },
}

/// Traces of work that bypassed the guards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tripwire {
    /// Integration branches with commits that their remote lacks, and the number of these.
    pub ahead: Vec<(String, u64)>,
    /// The folder where git looks for hooks, if that is configured.
    pub hooks_path: Option<String>,
    /// Whether that folder exists.
    pub hooks_exist: bool,
    /// Changes to the installed guards since their installation, each as a clause.
    pub altered: Vec<String>,
    /// Local commits that no git hook has recorded.
    pub unseen: Vec<String>,
}
