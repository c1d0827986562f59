//! The rules that a project holds its agents to, as data. Every rule has a default; a project writes down only what
//! differs, in a file that `read` reads and `write` writes.

mod names;
mod read;
#[cfg(test)]
mod tests;
mod words;
mod write;
pub mod xcoder;

use std::collections::BTreeMap;

use super::pattern;

pub use names::known;
pub use read::read;
pub use write::write;

/// The rules of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guidelines {
    /// The branches that work is integrated into: names, or globs such as `release/*`, as [`pattern::covers`] reads them.
    /// The first one that is a name is the one that new work starts from.
    pub integration: Vec<String>,
    /// Work is committed on the integration branch itself: I-1 and I-2 do not apply.
    pub commit_directly: bool,
    /// What cannot be told is blocked instead of asked, and a bypass without a reason is refused.
    pub strict: bool,
    /// How branches are named.
    pub branches: Branches,
    /// Where issues are tracked.
    pub issues: Issues,
    /// What must be specified.
    pub specs: Specs,
    /// How commits are written.
    pub commits: Commits,
    /// What becomes of a pull request.
    pub pull_requests: PullRequests,
    /// What must pass before a commit.
    pub typecheck: TypecheckRules,
    /// Who looks at changes.
    pub review: ReviewRules,
    /// How closely each rule is kept, by the id of a check, a guard or an invariant; what is not named blocks.
    pub levels: BTreeMap<String, Level>,
    /// Who may get past a rule, by its name.
    pub bypass: BTreeMap<String, Who>,
    /// Who may get past a rule that `bypass` does not name.
    pub bypass_unnamed: Who,
}

/// How closely a rule is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// What breaks it does not pass.
    Block,
    /// What breaks it passes, and is on record.
    Warn,
    /// It is not looked at, which is on record once.
    Off,
}

/// Who may get past a rule; the stricter is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// The agent as well.
    Anyone,
    /// A person, by a channel that the agent does not hold.
    HumanOnly,
    /// Nobody.
    Never,
}

/// How branches are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branches {
    /// What a name may begin with: literal texts.
    pub prefixes: Vec<String>,
    /// What the whole name looks like, made of `{prefix}`, `{issue}`, `{slug}` and literal text.
    pub pattern: Option<String>,
}

/// Where issues are tracked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issues {
    /// Who knows whether there is one.
    pub provider: IssueProvider,
    /// A closed one will do.
    pub allow_closed: bool,
    /// Several tasks that are under way may have the same one.
    pub allow_shared: bool,
    /// A commit may close its issue with a keyword (`fixes #1`).
    pub allow_closing_keywords: bool,
}

/// Who knows whether there is an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssueProvider {
    /// GitHub, asked with `gh`.
    GitHub,
    /// Files of the project: `<folder>/<number>.md`, `.yaml` or `.yml`.
    Files {
        /// The folder, relative to the project.
        folder: String,
    },
    /// A tracker that cannot be asked. A key that looks right is taken, and the record says that nobody looked.
    Pattern {
        /// What stands before the number: `ABC` for keys such as `ABC-12`. None means any project key.
        projects: Vec<String>,
    },
    /// Nobody is asked, which the record says.
    Offline,
}

/// What must be specified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Specs {
    /// Whether a specification is needed at all.
    pub required: bool,
    /// The folders that it may lie in, relative to the project; none means anywhere.
    pub folders: Vec<String>,
    /// What its path looks like: a glob.
    pub pattern: Option<String>,
    /// Branch prefixes whose work needs none, such as `docs/`.
    pub exempt: Vec<String>,
    /// Headings that it must have.
    pub headings: Vec<String>,
    /// It must name the issue.
    pub names_issue: bool,
}

/// How commits are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commits {
    /// The types of Conventional Commits that are used.
    pub types: Vec<String>,
    /// The scopes that are used; none means any.
    pub scopes: Vec<String>,
    /// A scope must be given.
    pub require_scope: bool,
    /// The longest first line, in characters.
    pub max_header: Option<usize>,
    /// Commits that git writes by itself or that are meant to be squashed are passed over: `fixup!`, `squash!`,
    /// `amend!`, `Revert "…"`.
    pub ignore_generated: bool,
    /// Each commit names the issue.
    pub require_reference: bool,
    /// What is not committed yet: whether it may be left when the commit phase is.
    pub clean_tree: Level,
}

/// What becomes of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequests {
    /// Where they are.
    pub forge: Forge,
    /// A draft will do.
    pub allow_draft: bool,
    /// The work is done when it is open; otherwise when it is merged.
    pub stop_at_open: bool,
    /// One is opened without being asked for when a session ends with commits that have none.
    pub open_at_stop: bool,
}

/// Where pull requests are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forge {
    /// On GitHub, asked with `gh`.
    GitHub,
    /// Nowhere: a record of the review, `<folder>/<number>.md`, stands for one.
    Files {
        /// The folder, relative to the project.
        folder: String,
    },
}

/// What must pass before a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypecheckRules {
    /// The commands, each a program and its arguments; nothing means what the project's files suggest.
    pub commands: Option<Vec<Vec<String>>>,
    /// After how many seconds a verdict is too old, though nothing has changed; nothing means never.
    pub max_age_seconds: Option<u64>,
    /// How long the commands may take together at a commit, in seconds.
    pub timeout_seconds: u64,
}

/// Who looks at changes that an agent has made, where a workflow wants somebody else to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewRules {
    /// The model, as `provider:name`; nothing means a person.
    pub model: Option<String>,
}

/// The branch prefixes of [`Guidelines::default`].
pub const PREFIXES: [&str; 12] = [
    "feat/",
    "fix/",
    "docs/",
    "refactor/",
    "perf/",
    "test/",
    "chore/",
    "ci/",
    "build/",
    "revert/",
    "hotfix/",
    "spike/",
];

/// The commit types of [`Guidelines::default`].
pub const TYPES: [&str; 11] =
    ["feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert"];

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

impl Default for Guidelines {
    /// What holds where a project says nothing: `main` and `master` are integration branches, issues and pull requests
    /// are on GitHub, no specification is needed, every rule blocks, and only a person may get past a rule by name.
    fn default() -> Guidelines {
        Guidelines {
            integration: texts(&["main", "master"]),
            commit_directly: false,
            strict: false,
            branches: Branches { prefixes: texts(&PREFIXES), pattern: None },
            issues: Issues {
                provider: IssueProvider::GitHub,
                allow_closed: false,
                allow_shared: false,
                allow_closing_keywords: true,
            },
            specs: Specs {
                required: false,
                folders: Vec::new(),
                pattern: None,
                exempt: Vec::new(),
                headings: Vec::new(),
                names_issue: false,
            },
            commits: Commits {
                types: texts(&TYPES),
                scopes: Vec::new(),
                require_scope: false,
                max_header: None,
                ignore_generated: true,
                require_reference: true,
                clean_tree: Level::Warn,
            },
            pull_requests: PullRequests {
                forge: Forge::GitHub,
                allow_draft: false,
                stop_at_open: false,
                open_at_stop: false,
            },
            typecheck: TypecheckRules { commands: None, max_age_seconds: None, timeout_seconds: 30 },
            review: ReviewRules::default(),
            levels: BTreeMap::new(),
            bypass: BTreeMap::new(),
            bypass_unnamed: Who::HumanOnly,
        }
    }
}

impl Guidelines {
    /// How closely a rule is kept that is known by any of `names`; the first that is written down counts.
    pub fn level(&self, names: &[&str]) -> Level {
        names.iter().find_map(|name| self.levels.get(*name)).copied().unwrap_or(Level::Block)
    }

    /// Whether work is integrated into `branch`: for guards, hooks and checks alike.
    pub fn integrates(&self, branch: &str) -> bool {
        self.integration.iter().any(|pattern| pattern::covers(pattern, branch))
    }

    /// The branch that new work starts from: the first integration branch that is a name and no pattern.
    pub fn main(&self) -> &str {
        self.integration.iter().find(|name| !name.contains(['*', '?'])).map_or("main", String::as_str)
    }

    /// Who may get past a rule. Nobody may get past I-13: every bypass is on record.
    pub fn who(&self, invariant: &str) -> Who {
        self.named(invariant).unwrap_or(self.bypass_unnamed)
    }

    /// Who may get past a rule, where that is said of this one.
    pub(super) fn named(&self, rule: &str) -> Option<Who> {
        if rule == "I-13" { Some(Who::Never) } else { self.bypass.get(rule).copied() }
    }
}
