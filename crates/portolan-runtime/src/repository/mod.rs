//! Finds out how a repository is: one snapshot, for checks that decide over it.
//!
//! `git` and `gh` are asked as programs: `git` is there wherever a repository is, it reads every form that a repository
//! may have, and no library does so at its size. Nothing is ever changed: not the index, no ref, no file. The one thing
//! that is run besides is the type checker, where a person allowed it and nothing is known of the present content.

mod checked;
mod files;
pub(crate) mod forge;
mod git;
mod history;
pub(crate) mod home;
mod since;
mod spec;
mod traces;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portolan_gates::Guidelines;
use portolan_gates::facts::{
    Answer, Claims, FactError, Facts, ForgeRequest, Needs, PullRequest, Pushed, TypecheckOutcome,
};

use crate::program::own;
use crate::runner::Listener;
use crate::typecheck::{IndexCopy, Typechecks, whole_index};
use git::Git;
pub(crate) use since::OnRemote;
pub use since::{ChangedFile, FileChanges, FileSnapshot};

/// How long a forge has to make up its mind before it is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// A project's repository, and the environment that `git` and `gh` are started in.
#[derive(Clone, Debug)]
pub struct Repository {
    project: PathBuf,
    environment: Vec<(OsString, OsString)>,
    data: Option<PathBuf>,
    /// How long a forge has to make up its mind.
    pause: Duration,
    /// The index that is looked at; nothing where that is the repository's own.
    index: Option<Arc<IndexCopy>>,
    /// Who hears what is run for it.
    listener: Listener,
}

/// A snapshot of the repository that `project` lies in, with what `needs` names of it. What cannot be found out is told
/// in its place; it always comes to an end. It needs a runtime with I/O and time enabled.
pub async fn probe(project: &Path, claims: &Claims, guidelines: &Guidelines, needs: Needs) -> Facts {
    Repository::of(project).probe(claims, guidelines, needs).await
}

impl Repository {
    /// The repository that `project` lies in, asked in the environment of this process.
    pub fn of(project: &Path) -> Repository {
        Repository::within(project, std::env::vars_os())
    }

    /// The same, asked in another environment.
    pub fn within(project: &Path, environment: impl IntoIterator<Item = (OsString, OsString)>) -> Repository {
        let (project, environment) = (project.to_owned(), environment.into_iter().collect());
        Repository { project, environment, data: None, pause: PAUSE, index: None, listener: Listener::default() }
    }

    /// The same, where a forge that has not made up its mind is asked again after this time instead of a second.
    #[must_use]
    pub fn pausing(self, pause: Duration) -> Repository {
        Repository { pause, ..self }
    }

    /// The same, where a person's data is in this folder instead of the usual one: what is allowed to run is there.
    #[must_use]
    pub fn trusting(self, data: PathBuf) -> Repository {
        Repository { data: Some(data), ..self }
    }

    /// The same, heard by somebody while its type checks run.
    #[must_use]
    pub fn heard_by(self, listener: Listener) -> Repository {
        Repository { listener, ..self }
    }

    /// The folder that it is asked about.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// The environment that it is asked in, whole: what is looked up in it is given to no program.
    pub(crate) fn surroundings(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    /// The environment that `git` and `gh` are started in: nothing that leads them elsewhere, nobody to ask.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let index = self.index.iter().map(|index| ("GIT_INDEX_FILE".into(), index.path().into()));
        own(&self.environment).into_iter().chain(index).collect()
    }

    /// The same, where git looks at the files too that somebody told it to pass over: their changes are changes.
    pub(crate) async fn whole(&self) -> Result<Repository, FactError> {
        let index = whole_index(&self.project, &self.environment).await?;
        Ok(Repository { index: index.map(Arc::new), ..self.clone() })
    }

    /// The number of the pull request that a branch has on GitHub, the latest one.
    pub async fn request_of(&self, branch: &str) -> Answer<u64> {
        forge::request_of(self, branch).await
    }

    /// See [`probe`].
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

    /// The type checks of the project, and whatever else is run and bound to its content.
    pub(crate) fn typechecks(&self) -> Typechecks {
        Typechecks::within(&self.project, self.environment.iter().cloned())
            .trusting(self.data.clone())
            .heard_by(self.listener.clone())
    }
}

/// What a pull request whose head is `theirs` has of the head here.
async fn pushed(git: &Git, ours: Option<&str>, theirs: &str) -> Pushed {
    match ours {
        Some(ours) if ours == theirs => Pushed::All,
        Some(ours) => match git.is_ancestor(ours, theirs).await {
            Ok(true) => Pushed::All,
            // What is pushed and older than the head here is known here.
            Ok(false) => Pushed::NotAll,
            Err(_not_here) => Pushed::Unknown,
        },
        None => Pushed::Unknown,
    }
}

async fn asked<T>(needed: bool, question: impl Future<Output = Result<T, FactError>>) -> Answer<T> {
    match needed {
        true => question.await.map_or_else(Answer::Unknown, Answer::Found),
        false => Answer::NotAsked,
    }
}
