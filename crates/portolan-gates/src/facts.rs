//! How a repository is, as plain data: one snapshot, which every check sees alike. Whoever takes it bounds it, and fetches
//! only what is needed.

/// What a task claims of itself. Nothing of it is believed before a check has held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// The task.
    pub task: Option<String>,
    /// The issue, by its number.
    pub issue: Option<u64>,
    /// The issue, by a tracker's key.
    pub issue_key: Option<String>,
    /// The branch that the work is done on.
    pub branch: Option<String>,
    /// What its name begins with.
    pub branch_prefix: Option<String>,
    /// The specification, relative to the project; a glob that means one file will do.
    pub spec_path: Option<String>,
    /// The pull request, by its number.
    pub pull_request: Option<u64>,
}

/// What checks need to know besides the head and the branches, which are always looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The commits of the branch.
    pub commits: bool,
    /// What is not committed.
    pub tree: bool,
    /// The specification.
    pub spec: bool,
    /// The issue, which may mean a call over the network.
    pub issue: bool,
    /// The pull request, which may mean a call over the network.
    pub pull_request: bool,
    /// Whether the pull request is ready to be merged, which the forge may take a moment to say.
    pub readiness: bool,
    /// What the type checker said.
    pub typecheck: bool,
    /// Traces of work that went past the guards.
    pub tripwire: bool,
}

impl Needs {
    /// Head and branches alone.
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

    /// What is needed by either.
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

/// Why something could not be found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactError {
    /// A stable word for the cause.
    pub code: &'static str,
    /// The cause and what to do, as the end of a sentence.
    pub why: String,
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Answer<T> {
    /// Nobody asked.
    #[default]
    NotAsked,
    /// It is so.
    Found(T),
    /// There is no such thing.
    Missing,
    /// It could not be found out.
    Unknown(FactError),
}

/// A snapshot of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Why nothing at all could be found out: there is no repository, or it has no files of its own.
    pub trouble: Option<FactError>,
    /// The repository on its forge, `owner/name` or `host/owner/name`, where that can be told.
    pub repository: Option<String>,
    /// What is checked out.
    pub head: Head,
    /// What is under way: `rebase`, `merge`, `cherry-pick`, `revert` or `bisect`.
    pub operation: Option<&'static str>,
    /// The integration branches that there are.
    pub integration: Vec<Integration>,
    /// The commit that the claimed branch stands at; nothing when there is no such branch.
    pub branch: Option<String>,
    /// Where the work branched off the integration branches.
    pub base: Answer<String>,
    /// The commits since then, merges left out, the latest first.
    pub commits: Answer<Vec<Commit>>,
    /// What is not committed.
    pub tree: Answer<Tree>,
    /// The files that the claimed specification means.
    pub spec: Answer<Vec<Spec>>,
    /// The claimed issue.
    pub issue: Answer<Issue>,
    /// The other tasks under way that claim the same issue, each with its run. Who has no runs asks nobody.
    pub rivals: Answer<Vec<String>>,
    /// The claimed pull request.
    pub pull_request: Answer<PullRequest>,
    /// What the type checker said of exactly these files.
    pub typecheck: Answer<TypecheckOutcome>,
    /// Traces of work that went past the guards.
    pub tripwire: Answer<Tripwire>,
}

/// What is checked out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The branch; nothing when the head is detached.
    pub branch: Option<String>,
    /// The commit; nothing when the branch has none yet.
    pub oid: Option<String>,
}

/// An integration branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integration {
    /// Its name, without the remote.
    pub name: String,
    /// Its commit here.
    pub local: Option<String>,
    /// Its commits as the remotes were last seen to have them.
    pub remotes: Vec<String>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its full name.
    pub oid: String,
    /// The first line of its message.
    pub subject: String,
    /// What follows the first line, as it is written.
    pub body: String,
}

/// What is not committed: how many paths of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// With conflicts.
    pub unmerged: usize,
    /// Staged.
    pub staged: usize,
    /// Changed and not staged.
    pub unstaged: usize,
    /// Unknown to git and not ignored.
    pub untracked: usize,
}

/// A file that a claimed specification means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Its path, relative to the project.
    pub path: String,
    /// It lies in the worktree, symlinks followed.
    pub inside: bool,
    /// It is a file, symlinks followed.
    pub regular: bool,
    /// It is tracked, or staged to be.
    pub tracked: bool,
    /// It is ignored.
    pub ignored: bool,
    /// What it says, as far as it was read; nothing where that is no text.
    pub text: Option<String>,
}

/// An issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Its number.
    pub number: u64,
    /// It is open.
    pub open: bool,
    /// Its title.
    pub title: String,
    /// Where it can be read.
    pub url: String,
    /// It is an issue: trackers answer with pull requests as well.
    pub is_issue: bool,
    /// It is of a repository that is not the project's.
    pub elsewhere: Option<ForeignRepository>,
}

/// A repository of a forge that is not the project's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignRepository {
    /// Which one it is: `owner/name`, or `host/owner/name`.
    pub found: String,
    /// Those of the project.
    pub own: Vec<String>,
}

/// A pull request, or what stands for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullRequest {
    /// One of a forge.
    Forge(ForgeRequest),
    /// A record of the review, where there is no forge.
    Record {
        /// Its path, relative to the project.
        path: String,
        /// It says nothing.
        blank: bool,
    },
}

/// A pull request of a forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeRequest {
    /// Its number.
    pub number: u64,
    /// How it stands.
    pub state: RequestState,
    /// It is a draft.
    pub draft: bool,
    /// The branch that it brings.
    pub head: String,
    /// The branch is another repository's.
    pub from_fork: bool,
    /// The branch that it goes to.
    pub base: String,
    /// Where it can be read.
    pub url: String,
    /// What of the head here it has.
    pub pushed: Pushed,
    /// Whether it is ready to be merged; nothing where nobody asked.
    pub readiness: Option<Readiness>,
    /// It is of a repository that is not the project's.
    pub elsewhere: Option<ForeignRepository>,
}

/// Whether a pull request is ready to be merged, as its forge says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// Whether it can be merged without a conflict; nothing where the forge has not made up its mind.
    pub mergeable: Option<bool>,
    /// The checks that the forge ran for the commit that it ends in.
    pub checks: Vec<ForgeCheck>,
}

/// A check that a forge ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeCheck {
    /// Its name.
    pub name: String,
    /// How it stands.
    pub state: ForgeCheckState,
}

/// How a check of a forge stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgeCheckState {
    /// It has passed, or was not needed.
    Passed,
    /// It has not ended.
    Running,
    /// It has ended otherwise, with this word.
    Failed(String),
}

/// How a pull request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestState {
    /// Open.
    Open,
    /// Merged.
    Merged,
    /// Closed, and not merged.
    Closed,
}

/// What a pull request has of the head here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// All of it.
    All,
    /// Not all of it.
    NotAll,
    /// Its own head is not known here.
    Unknown,
}

/// What the type checker said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypecheckOutcome {
    /// There is none.
    NotConfigured,
    /// It has not seen these files.
    NotRun {
        /// What it is, as a person would type it.
        command: String,
    },
    /// It has seen exactly these files.
    Judged {
        /// What it is, as a person would type it.
        command: String,
        /// It found nothing wrong.
        passed: bool,
        /// How old the verdict is, in seconds.
        age_seconds: u64,
        /// What it said, in short.
        summary: String,
    },
}

/// Traces of work that went past the guards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tripwire {
    /// Integration branches with commits that their remote does not have, and how many.
    pub ahead: Vec<(String, u64)>,
    /// Where hooks are looked for, when that is configured.
    pub hooks_path: Option<String>,
    /// There is a folder at that place.
    pub hooks_exist: bool,
    /// What of the installed guards is not as it was left, each as a clause.
    pub altered: Vec<String>,
    /// The commits that were made here and that no hook of git has put on record.
    pub unseen: Vec<String>,
}
