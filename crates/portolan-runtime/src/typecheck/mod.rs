//! Verdicts of the project's type checker, each bound to the content that it is about. An edit makes another content,
//! to which the verdict does not apply. By default a verdict on unchanged content does not expire.
//!
//! A checker runs only if a person allowed its commands. Its verdicts are stored in `.portolan/verdicts`. Looking one
//! up starts no program but git.

mod checker;
mod content;
mod environment;
#[cfg(all(test, unix))]
mod tests;
mod tool;
mod verdicts;
mod worktree;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use portolan_core::run;
use portolan_gates::Guidelines;
use portolan_gates::facts::{self, Answer, FactError};
use tokio::time::timeout;

use crate::clock::Clock;
use crate::digest::Digest;
use crate::process::Environment;
use crate::program::unknown;
use crate::runner::{self, Listener};
use crate::trust::{Trust, data_dir_from};

pub use checker::{Checker, CheckerOrigin, checker};
pub use content::Content;
pub(crate) use content::{IndexCopy, whole_index};
pub use verdicts::Verdict;

use verdicts::Verdicts;
use worktree::HeadWorktree;

/// The maximum time that a person waits for a type check, in seconds.
pub const PATIENCE_SECONDS: u64 = checker::PATIENCE_SECONDS;
/// The maximum length of a verdict's summary, in characters.
const SUMMARY_CHARS: usize = 200;

/// The stored result of the type check for the present content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypecheckState {
    /// The check passed.
    Passed,
    /// The check failed, with this summary.
    Failed(String),
    /// There is no fresh result for this content, or the content cannot be determined.
    Unknown,
    /// The project has no type checker.
    NotConfigured,
}

/// The result of running a type checker.
#[derive(Clone, Debug)]
pub enum TypecheckRun {
    /// The project has no type checker.
    NotConfigured,
    /// It exceeded its time and was stopped.
    TooLong,
    /// It reached a verdict.
    Judged {
        /// The verdict.
        verdict: Verdict,
        /// The end of the output of the command that failed.
        output: String,
        /// Why the verdict could not be stored, if so.
        unkept: Option<String>,
    },
}

/// Returns the stored result for a project's present files. Starts no program but git, and blocks until it ends. May be
/// called inside and outside of a runtime, as hooks do.
pub fn known(project: &Path, guidelines: &Guidelines) -> TypecheckState {
    known_of(project, guidelines, Content::Worktree)
}

/// Like [`known`], for the given content, such as the staged files when git is about to commit them.
pub fn known_of(project: &Path, guidelines: &Guidelines, content: Content) -> TypecheckState {
    let ask = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        Some(runtime.block_on(Typechecks::of(project).known(guidelines, content)))
    };
    // A runtime cannot block within another, so this needs its own thread.
    thread::scope(|scope| scope.spawn(ask).join()).ok().flatten().unwrap_or(TypecheckState::Unknown)
}

/// The type checks of a project, and the environment in which they run.
#[derive(Clone, Debug)]
pub struct Typechecks {
    project: PathBuf,
    environment: Vec<(OsString, OsString)>,
    data: Option<PathBuf>,
    clock: Clock,
    listener: Listener,
}

impl Typechecks {
    /// Returns the type checks of a project, in the environment of this process.
    pub fn of(project: &Path) -> Typechecks {
        Typechecks::within(project, std::env::vars_os())
    }

    /// Returns the type checks of a project, in the given environment.
    pub fn within(project: &Path, environment: impl IntoIterator<Item = (OsString, OsString)>) -> Typechecks {
        let environment = environment.into_iter().collect();
        Typechecks {
            project: project.to_owned(),
            environment,
            data: None,
            clock: Clock::System,
            listener: Listener::default(),
        }
    }

    /// Sets the user's data folder.
    #[must_use]
    pub fn trusting(self, data: Option<PathBuf>) -> Typechecks {
        Typechecks { data, ..self }
    }

    /// Sets the listener for the commands.
    #[must_use]
    pub fn with_listener(self, listener: Listener) -> Typechecks {
        Typechecks { listener, ..self }
    }

    /// Returns the stored result for some content. Starts no program but git.
    pub async fn known(&self, guidelines: &Guidelines, content: Content) -> TypecheckState {
        let Some(checker) = checker(&self.project, guidelines) else { return TypecheckState::NotConfigured };
        let Ok(tree) = content::tree(&self.project, content, &self.environment).await else {
            return TypecheckState::Unknown;
        };
        match self.remembered(&tree, &checker).filter(|verdict| self.is_fresh(verdict, guidelines)) {
            Some(verdict) if verdict.ok => TypecheckState::Passed,
            Some(verdict) => TypecheckState::Failed(verdict.summary),
            None => TypecheckState::Unknown,
        }
    }

    /// Returns the verdict on the present files and, if the branch's committed work differs, on that too. Uses a stored
    /// verdict, or else runs the checker if a person allowed it, within the time limit of the guidelines.
    pub async fn verdict(&self, guidelines: &Guidelines) -> Answer<facts::TypecheckOutcome> {
        let Some(checker) = checker(&self.project, guidelines) else {
            return Answer::Found(facts::TypecheckOutcome::NotConfigured);
        };
        let tree = match content::tree(&self.project, Content::Worktree, &self.environment).await {
            Ok(tree) => tree,
            Err(unknown) => return Answer::Unknown(unknown),
        };
        let files = match self.kept(&tree, &checker, guidelines).await {
            Ok(Some(verdict)) => Answer::Found(self.outcome(&checker, verdict)),
            Ok(None) => self.on_files(&checker, guidelines).await,
            Err(unknown) => Answer::Unknown(unknown),
        };
        if !matches!(files, Answer::Found(facts::TypecheckOutcome::Judged { passed: true, .. })) {
            return files;
        }
        match worktree::tree(&self.project, guidelines, &self.environment).await {
            Ok(Some(committed)) if committed != tree => self.on_commit(&checker, committed, guidelines).await,
            Ok(_) => files,
            Err(unknown) => Answer::Unknown(unknown),
        }
    }

    /// Returns the fresh stored verdict on a tree. Fails if there is none and the checker may not run.
    async fn kept(&self, tree: &str, checker: &Checker, rules: &Guidelines) -> Result<Option<Verdict>, FactError> {
        let allowed = self.allowed(checker);
        let kept = match &allowed {
            Ok(()) => Verdicts::of(&self.project).find(&self.unjudged(tree.to_owned(), checker).await.key()),
            // Without permission, no tool may be run for its version.
            Err(_) => self.remembered(tree, checker),
        };
        match kept.filter(|verdict| self.is_fresh(verdict, rules)) {
            Some(verdict) => Ok(Some(verdict)),
            None => allowed.map(|()| None),
        }
    }

    async fn on_files(&self, checker: &Checker, guidelines: &Guidelines) -> Answer<facts::TypecheckOutcome> {
        match self.run(guidelines, guidelines.typecheck.timeout_seconds).await {
            Ok(TypecheckRun::Judged { verdict, .. }) => Answer::Found(self.outcome(checker, verdict)),
            Ok(TypecheckRun::TooLong) => Answer::Found(facts::TypecheckOutcome::NotRun { command: checker.shown() }),
            Ok(TypecheckRun::NotConfigured) => Answer::Found(facts::TypecheckOutcome::NotConfigured),
            Err(unknown) => Answer::Unknown(unknown),
        }
    }

    /// Returns the verdict on the committed files, which differ from the present ones.
    async fn on_commit(&self, checker: &Checker, tree: String, rules: &Guidelines) -> Answer<facts::TypecheckOutcome> {
        let verdict = match self.kept(&tree, checker, rules).await {
            Ok(Some(verdict)) => Ok(verdict),
            Ok(None) => self.run_on_commit(checker, tree, rules.typecheck.timeout_seconds).await,
            Err(unknown) => Err(unknown),
        };
        match verdict {
            Ok(verdict) => {
                let summary = format!("on the committed files, which differ from the worktree: {}", verdict.summary);
                Answer::Found(self.outcome(checker, Verdict { summary, ..verdict }))
            }
            Err(unknown) => Answer::Unknown(unknown),
        }
    }

    async fn run_on_commit(&self, checker: &Checker, tree: String, seconds: u64) -> Result<Verdict, FactError> {
        let unjudged = self.unjudged(tree, checker).await;
        let committed = HeadWorktree::lay_out(&self.project, &self.environment).await?;
        let there = Typechecks { project: committed.project.clone(), ..self.clone() };
        let ended = timeout(Duration::from_secs(seconds), there.each(checker, seconds)).await;
        committed.remove().await;
        let (ok, summary, _) = ended.unwrap_or_else(|_elapsed| {
            let why = format!(
                "`{}` took longer than {seconds} s on the committed files; commit everything, and run `portolan qa typecheck`",
                checker.shown()
            );
            Err(unknown("typecheck-too-long", why))
        })?;
        let verdict = Verdict { ok, summary, at: self.clock.now(), ..unjudged };
        // A verdict that cannot be stored is computed again next time.
        let _unkept = Verdicts::of(&self.project).keep(&verdict);
        Ok(verdict)
    }

    /// Runs the checker on the present files, even if there is a stored verdict, and stores the new one.
    ///
    /// # Errors
    /// No person allowed the checker, it cannot be started, or the files changed meanwhile.
    pub async fn run(&self, guidelines: &Guidelines, seconds: u64) -> Result<TypecheckRun, FactError> {
        let Some(checker) = checker(&self.project, guidelines) else { return Ok(TypecheckRun::NotConfigured) };
        self.judge(&checker, seconds).await
    }

    /// Returns a checker's verdict on the present files: the stored one of the same content and tools if it passed, or
    /// else that of a new run. A failed check runs again, because its cause may lie outside the content.
    ///
    /// # Errors
    /// As for [`run`](Typechecks::run).
    pub(crate) async fn held(&self, checker: &Checker, seconds: u64) -> Result<TypecheckRun, FactError> {
        let kept = match content::tree(&self.project, Content::Worktree, &self.environment).await {
            Ok(tree) => self.remembered(&tree, checker).filter(|verdict| verdict.ok),
            Err(_) => None,
        };
        self.allowed(checker)?;
        match kept {
            Some(verdict) => Ok(TypecheckRun::Judged { verdict, output: String::new(), unkept: None }),
            None => self.judge(checker, seconds).await,
        }
    }

    /// Runs a checker on the present files.
    pub(crate) async fn judge(&self, checker: &Checker, seconds: u64) -> Result<TypecheckRun, FactError> {
        self.allowed(checker)?;
        let tree = match content::tree(&self.project, Content::Worktree, &self.environment).await {
            // Without a tree, the verdict of a project's own check is about the moment of the run.
            Err(_) if matches!(checker.origin, CheckerOrigin::Project(_)) => None,
            tree => Some(tree?),
        };
        let unjudged = self.unjudged(tree.clone().unwrap_or_default(), checker).await;
        // A timeout stops the commands with all processes that they started.
        let Ok(ended) = timeout(Duration::from_secs(seconds), self.each(checker, seconds)).await else {
            return Ok(TypecheckRun::TooLong);
        };
        let (ok, summary, output) = ended?;
        if tree.is_none() {
            let verdict = Verdict { ok, summary, at: self.clock.now(), ..unjudged };
            return Ok(TypecheckRun::Judged { verdict, output, unkept: None });
        }
        if content::tree(&self.project, Content::Worktree, &self.environment).await? != unjudged.tree {
            let why = format!(
                "the files changed while `{}` ran; run `{}` again, and make git ignore the files it writes",
                checker.shown(),
                checker.run_by()
            );
            return Err(unknown("content-changed", why));
        }
        let verdict = Verdict { ok, summary, at: self.clock.now(), ..unjudged };
        let unkept = Verdicts::of(&self.project).keep(&verdict).err().map(|error| error.to_string());
        Ok(TypecheckRun::Judged { verdict, output, unkept })
    }

    /// Runs the commands up to the first that fails. Returns whether all passed, the reason if not, and the output.
    async fn each(&self, checker: &Checker, seconds: u64) -> Result<(bool, String, String), FactError> {
        let environment = Environment::of(environment::own(&self.environment));
        for argv in &checker.commands {
            // The caller enforces the time limit of all commands together; this one only has to be longer.
            let printing = self.listener.begins(&argv.join(" "));
            match runner::command(argv, seconds.saturating_add(60), &self.project, &environment, printing).await {
                run::Verdict::Held | run::Verdict::Shown { .. } | run::Verdict::Excused { .. } => {}
                run::Verdict::Broken { reason, output } => return Ok((false, summary(&reason, &output), output)),
                run::Verdict::Unknown { reason } | run::Verdict::ForPerson { reason } => {
                    return Err(unknown("typecheck-not-run", reason));
                }
            }
        }
        Ok((true, "passed".to_owned(), String::new()))
    }

    /// Returns a verdict on `tree` without a result. Runs the tools to query their versions.
    async fn unjudged(&self, tree: String, checker: &Checker) -> Verdict {
        let environment = Environment::of(environment::own(&self.environment)).open;
        let mut versions = Vec::new();
        // A command of the project's own may be a script that ignores `--version` and does its work.
        let asks = !matches!(checker.origin, CheckerOrigin::Project(_));
        for argv in checker.commands.iter().filter(|_| asks) {
            versions.push(tool::version(argv, &self.project, &environment).await);
        }
        Verdict {
            ok: false,
            at: self.clock.now(),
            summary: String::new(),
            argv: checker.commands.clone(),
            tree,
            versions,
            tools: self.tools(checker),
            portolan: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Returns a checker's latest verdict on the present files. Returns `None` if there is none, or if git cannot
    /// determine the content.
    pub(crate) async fn latest(&self, checker: &Checker) -> Option<Verdict> {
        let tree = content::tree(&self.project, Content::Worktree, &self.environment).await.ok()?;
        self.remembered(&tree, checker)
    }

    fn remembered(&self, tree: &str, checker: &Checker) -> Option<Verdict> {
        Verdicts::of(&self.project).latest(tree, &checker.commands, &self.tools(checker))
    }

    fn tools(&self, checker: &Checker) -> Digest {
        tool::stamp(&checker.commands, &self.project, &self.environment)
    }

    fn is_fresh(&self, verdict: &Verdict, guidelines: &Guidelines) -> bool {
        let most = guidelines.typecheck.max_age_seconds;
        verdict.age_seconds(self.clock.now()).is_some_and(|age| most.is_none_or(|most| age <= most))
    }

    fn outcome(&self, checker: &Checker, verdict: Verdict) -> facts::TypecheckOutcome {
        facts::TypecheckOutcome::Judged {
            command: checker.shown(),
            passed: verdict.ok,
            age_seconds: verdict.age_seconds(self.clock.now()).unwrap_or(0),
            summary: verdict.summary,
        }
    }

    /// Checks whether a person allowed the commands.
    pub(crate) fn allowed(&self, checker: &Checker) -> Result<(), FactError> {
        match self.is_allowed(&checker.digest())? {
            true => Ok(()),
            false => Err(unknown(
                "not-trusted",
                format!(
                    "`{}` is not allowed to run in this project yet; ask a person to run `{}`",
                    checker.shown(),
                    checker.allowed_by()
                ),
            )),
        }
    }

    /// Checks whether a person allowed this digest in the project.
    pub(crate) fn is_allowed(&self, digest: &Digest) -> Result<bool, FactError> {
        let unreadable =
            |error: crate::trust::TrustError| unknown("trust-unreadable", format!("{}; {}", error.message, error.help));
        let data = match &self.data {
            Some(data) => data.clone(),
            None => data_dir_from(|name| self.variable(name), self.home()).map_err(unreadable)?,
        };
        let trust = Trust::open(&data, &self.project).map_err(unreadable)?;
        trust.is_trusted(digest).map_err(unreadable)
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        let last = self.environment.iter().rev().find(|(known, _)| known == OsStr::new(name));
        last.map(|(_, value)| value.clone())
    }

    fn home(&self) -> Option<PathBuf> {
        self.variable("HOME").map(PathBuf::from).or_else(std::env::home_dir)
    }
}

/// Returns the most informative line of the output of a failed command.
fn summary(reason: &str, output: &str) -> String {
    let mut lines = output.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines.clone().find(|line| line.to_ascii_lowercase().contains("error"));
    let line = error.or_else(|| lines.next_back()).unwrap_or(reason);
    line.chars().take(SUMMARY_CHARS).collect()
}
