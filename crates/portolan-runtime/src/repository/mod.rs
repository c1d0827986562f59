//! Reads the state of a repository: one snapshot, over which checks decide.
//!
//! It runs the programs `git` and `gh`. `git` is installed wherever a repository is, and reads every form of
//! repository; no library of its size does. Nothing is changed: not the index, no ref, no file. The only other program
//! it runs is the type checker, if a person allowed it and there is no verdict on the present content.

mod files;
pub(crate) mod forge;
mod git;
mod history;
pub mod home;
mod readiness;
mod since;
mod spec;
mod traces;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portolan_gates::Guidelines;
use portolan_gates::facts::{
    Answer, Claims, FactError, Facts, ForgeRequest, Needs, PullRequest, PushStatus, TypecheckOutcome,
};

use crate::program::own;
use crate::runner::Listener;
use crate::typecheck::{IndexCopy, Typechecks, whole_index};
use git::Git;
pub(crate) use since::OnRemote;
pub use since::{ChangedFile, FileChanges, FileSnapshot};

/// The default pause before a forge is queried again about conflicts.
const PAUSE: Duration = Duration::from_secs(1);

/// A project's repository, and the environment in which `git` and `gh` are started.
#[derive(Clone, Debug)]
pub struct Repository {
    project: PathBuf,
    environment: Vec<(OsString, OsString)>,
    data: Option<PathBuf>,
    /// The pause before a forge is queried again about conflicts.
    pause: Duration,
    /// The index that is read, or `None` for the repository's own.
    index: Option<Arc<IndexCopy>>,
    /// Listens to the commands that are run.
    listener: Listener,
}

/// Takes a snapshot of the repository that contains `project`, with the facts that `needs` names. A fact that cannot be
/// determined holds the reason instead. Every query has a timeout. Requires a runtime with I/O and time enabled.
pub async fn probe(project: &Path, claims: &Claims, guidelines: &Guidelines, needs: Needs) -> Facts {
    Repository::of(project).probe(claims, guidelines, needs).await
}

impl Repository {
    /// Returns the repository that contains `project`, queried in the environment of this process.
    pub fn of(project: &Path) -> Repository {
        Repository::within(project, std::env::vars_os())
    }

    /// Returns the repository that contains `project`, queried in the given environment.
    pub fn within(project: &Path, environment: impl IntoIterator<Item = (OsString, OsString)>) -> Repository {
        let (project, environment) = (project.to_owned(), environment.into_iter().collect());
        Repository { project, environment, data: None, pause: PAUSE, index: None, listener: Listener::default() }
    }

    /// Sets the pause before a forge is queried again about conflicts. The default is one second.
    #[must_use]
    pub fn pausing(self, pause: Duration) -> Repository {
        Repository { pause, ..self }
    }

    /// Sets the user's data folder, which records the commands allowed to run.
    #[must_use]
    pub fn trusting(self, data: PathBuf) -> Repository {
        Repository { data: Some(data), ..self }
    }

    /// Sets the listener for the type checks.
    #[must_use]
    pub fn with_listener(self, listener: Listener) -> Repository {
        Repository { listener, ..self }
    }

    /// Returns the folder of the project.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// Returns the whole environment. It is only for lookups; no program receives it.
    pub(crate) fn surroundings(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    /// Returns the environment of `git` and `gh`: without variables that redirect them, and without prompts.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let index = self.index.iter().map(|index| ("GIT_INDEX_FILE".into(), index.path().into()));
        own(&self.environment).into_iter().chain(index).collect()
    }

    /// Returns the repository with an index in which git also checks the files it was told to skip, so that their
    /// changes count.
    pub(crate) async fn whole(&self) -> Result<Repository, FactError> {
        let index = whole_index(&self.project, &self.environment).await?;
        Ok(Repository { index: index.map(Arc::new), ..self.clone() })
    }

    /// Returns the number of the latest pull request of a branch on GitHub.
    pub async fn request_of(&self, branch: &str) -> Answer<u64> {
        forge::request_of(self, branch).await
    }

    /// Takes a snapshot; see [`probe`].
    pub async fn probe(&self, claims: &Claims, guidelines: &Guidelines, needs: Needs) -> Facts {
        let git = match Git::open(&self.project, self.environment()).await {
            Ok(git) => git,
            Err(unknown) => return Facts { trouble: Some(unknown), ..Facts::default() },
        };
        let (past, tree, spec, issue, request, typecheck) = tokio::join!(
            history::past(&git, claims, guidelines, needs),
            asked(needs.tree, git.tree()),
            spec::files(&git, claims, needs),
            forge::issue(self, claims, guidelines, needs),
            forge::request(self, claims, guidelines, needs),
            self.typecheck(guidelines, needs),
        );
        let head = past.head.oid.clone();
        let pull_request = match request {
            Answer::Found(forge::PullRequestRef::Forge(request, oid)) => {
                let pushed = pushed(&git, head.as_deref(), &oid).await;
                Answer::Found(PullRequest::Forge(ForgeRequest { pushed, ..request }))
            }
            Answer::Found(forge::PullRequestRef::Record(record)) => Answer::Found(record),
            Answer::NotAsked => Answer::NotAsked,
            Answer::Missing => Answer::Missing,
            Answer::Unknown(unknown) => Answer::Unknown(unknown),
        };
        Facts { tree, spec, issue, pull_request, typecheck, ..past }
    }

    async fn typecheck(&self, guidelines: &Guidelines, needs: Needs) -> Answer<TypecheckOutcome> {
        if !needs.typecheck {
            return Answer::NotAsked;
        }
        self.typechecks().verdict(guidelines).await
    }

    /// Returns the type checks of the project, which other checks bound to its content use too.
    pub(crate) fn typechecks(&self) -> Typechecks {
        Typechecks::within(&self.project, self.environment.iter().cloned())
            .trusting(self.data.clone())
            .with_listener(self.listener.clone())
    }
}

/// Returns how much of the local head a pull request with the head `theirs` has.
async fn pushed(git: &Git, ours: Option<&str>, theirs: &str) -> PushStatus {
    match ours {
        Some(ours) if ours == theirs => PushStatus::All,
        Some(ours) => match git.is_ancestor(ours, theirs).await {
            Ok(true) => PushStatus::All,
            // A pushed commit that is older than the local head is known here.
            Ok(false) => PushStatus::NotAll,
            Err(_not_here) => PushStatus::Unknown,
        },
        None => PushStatus::Unknown,
    }
}

async fn asked<T>(needed: bool, question: impl Future<Output = Result<T, FactError>>) -> Answer<T> {
    match needed {
        true => question.await.map_or_else(Answer::Unknown, Answer::Found),
        false => Answer::NotAsked,
    }
}
