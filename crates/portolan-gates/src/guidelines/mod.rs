//! The rules that a project sets for its agents, as data. Every rule has a default; a project writes only the
//! differences to a file, which `read` parses and `write` produces.

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
    /// The integration branches: names, or globs such as `release/*`, as [`pattern::covers`] reads them. New work
    /// starts from the first one that is a name.
    pub integration: Vec<String>,
    /// Whether work is committed on the integration branch itself, so that I-1 and I-2 do not apply.
    pub commit_directly: bool,
    /// Whether an undecidable call is blocked instead of asked about, and a bypass without a reason is refused.
    pub strict: bool,
    /// The naming of branches.
    pub branches: Branches,
    /// The tracking of issues.
    pub issues: Issues,
    /// The rules of specifications.
    pub specs: Specs,
    /// The format of commits.
    pub commits: Commits,
    /// The rules of pull requests.
    pub pull_requests: PullRequests,
    /// The type check that must pass before a commit.
    pub typecheck: TypecheckRules,
    /// The reviewer of changes.
    pub review: ReviewRules,
    /// The level of each rule, by the id of a check, a guard or an invariant. A rule that is not named blocks.
    pub levels: BTreeMap<String, Level>,
    /// Who may bypass a rule, by its name.
    pub bypass: BTreeMap<String, Who>,
    /// Who may bypass a rule that `bypass` does not name.
    pub bypass_unnamed: Who,
}

/// The level at which a rule is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A violation is blocked.
    Block,
    /// A violation passes, on record.
    Warn,
    /// The rule is not checked, which is recorded once.
    Off,
}

/// Who may bypass a rule. The stricter value is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// Anyone, including the agent.
    Anyone,
    /// A person, through a channel that the agent cannot use.
    HumanOnly,
    /// Nobody.
    Never,
}

/// The naming of branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branches {
    /// The allowed prefixes: literal texts.
    pub prefixes: Vec<String>,
    /// The pattern of the whole name, made of `{prefix}`, `{issue}`, `{slug}` and literal text.
    pub pattern: Option<String>,
}

/// The tracking of issues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issues {
    /// The source that knows whether an issue exists.
    pub provider: IssueProvider,
    /// Whether a closed issue is accepted.
    pub allow_closed: bool,
    /// Whether several active tasks may have the same issue.
    pub allow_shared: bool,
    /// Whether a commit may close its issue with a keyword (`fixes #1`).
    pub allow_closing_keywords: bool,
}

/// The source that knows whether an issue exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssueProvider {
    /// GitHub, queried with `gh`.
    GitHub,
    /// Files of the project: `<folder>/<number>.md`, `.yaml` or `.yml`.
    Files {
        /// The folder, relative to the project.
        folder: String,
    },
    /// A tracker that cannot be queried. A well-formed key is accepted, and the record says that it was not looked up.
    Pattern {
        /// The allowed parts before the number: `ABC` for keys such as `ABC-12`. Empty means any project key.
        projects: Vec<String>,
    },
    /// No lookup, which is recorded.
    Offline,
}

/// The rules of specifications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Specs {
    /// Whether a specification is required.
    pub required: bool,
    /// The folders that it may lie in, relative to the project. Empty means anywhere.
    pub folders: Vec<String>,
    /// A glob that its path must match.
    pub pattern: Option<String>,
    /// Branch prefixes whose work needs no specification, such as `docs/`.
    pub exempt: Vec<String>,
    /// The headings that it must have.
    pub headings: Vec<String>,
    /// Whether it must name the issue.
    pub names_issue: bool,
}

/// The format of commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commits {
    /// The allowed types of Conventional Commits.
    pub types: Vec<String>,
    /// The allowed scopes. Empty means any.
    pub scopes: Vec<String>,
    /// Whether a scope is required.
    pub require_scope: bool,
    /// The longest first line, in characters.
    pub max_header: Option<usize>,
    /// Whether to skip commits that git generates or that are meant to be squashed: `fixup!`, `squash!`, `amend!`,
    /// `Revert "…"`.
    pub ignore_generated: bool,
    /// Whether each commit must name the issue.
    pub require_reference: bool,
    /// The level for uncommitted changes at the end of the commit phase.
    pub clean_tree: Level,
}

/// The rules of pull requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequests {
    /// The forge.
    pub forge: Forge,
    /// Whether a draft is accepted.
    pub allow_draft: bool,
    /// Whether the work is done when the pull request is open rather than merged.
    pub stop_at_open: bool,
    /// Whether one is opened automatically when a session ends with commits that have none.
    pub open_at_stop: bool,
}

/// The forge of pull requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forge {
    /// GitHub, queried with `gh`.
    GitHub,
    /// None: a record of the review, `<folder>/<number>.md`, replaces the pull request.
    Files {
        /// The folder, relative to the project.
        folder: String,
    },
}

/// The type check that must pass before a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypecheckRules {
    /// The commands, each a program and its arguments. `None` means that the project's files determine them.
    pub commands: Option<Vec<Vec<String>>>,
    /// The age in seconds at which a verdict expires although nothing has changed. `None` means never.
    pub max_age_seconds: Option<u64>,
    /// The time limit of all commands together at a commit, in seconds.
    pub timeout_seconds: u64,
}

/// The reviewer of an agent's changes, for workflows that require another reviewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewRules {
    /// The model, as `provider:name`. `None` means a person.
    pub model: Option<String>,
    /// The time limit of a review by a model, with all attempts, in seconds.
    pub timeout_seconds: u64,
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
    /// Returns the defaults: `main` and `master` are integration branches, issues and pull requests are on GitHub, no
    /// specification is required, every rule blocks, and only a person may bypass a rule by name.
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
            review: ReviewRules { model: None, timeout_seconds: 300 },
            levels: BTreeMap::new(),
            bypass: BTreeMap::new(),
            bypass_unnamed: Who::HumanOnly,
        }
    }
}

impl Guidelines {
    /// Returns the level of a rule that has any of `names`. The first name that is configured counts.
    pub fn level(&self, names: &[&str]) -> Level {
        names.iter().find_map(|name| self.levels.get(*name)).copied().unwrap_or(Level::Block)
    }

    /// Checks whether `branch` is an integration branch, for guards, hooks and checks alike.
    pub fn integrates(&self, branch: &str) -> bool {
        self.integration.iter().any(|pattern| pattern::covers(pattern, branch))
    }

    /// Returns the branch that new work starts from: the first integration branch that is a name and not a pattern.
    pub fn main(&self) -> &str {
        self.integration.iter().find(|name| !name.contains(['*', '?'])).map_or("main", String::as_str)
    }

    /// Returns who may bypass a rule. Nobody may bypass I-13: every bypass is on record.
    pub fn who(&self, invariant: &str) -> Who {
        self.named(invariant).unwrap_or(self.bypass_unnamed)
    }

    /// Returns who may bypass a rule, if this one has a setting.
    pub(super) fn named(&self, rule: &str) -> Option<Who> {
        if rule == "I-13" { Some(Who::Never) } else { self.bypass.get(rule).copied() }
    }
}
