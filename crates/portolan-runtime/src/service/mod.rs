//! The one API that every face calls. Runs are begun by [`Service::open`], looked at by [`Service::view`], moved by
//! [`Service::act`] and driven by [`Service::drive`]; [`Service::list`] has those there are, [`Service::history`] what
//! happened to one.
//!
//! ```text
//! hold (load or lock) → decide → commit (journal, then snapshot) → perform what follows → decide → … → view
//! ```
//! Knows tokio, stores and runners; knows no protocol and no terminal.

mod act;
mod binding;
mod checking;
mod children;
mod create;
mod driven;
mod feed;
mod flow;
mod fork;
mod functions;
mod halt;
mod hold;
mod interrupted;
mod lease;
mod live;
mod navigate;
mod open;
mod past;
mod pinned;
mod questions;
mod records;
mod report;
mod request;
mod resume;
mod standing;
mod view;
mod workers;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use portolan_core::dialect::Strictness;
use portolan_core::run::{Actor, Channel, Human};
use portolan_core::value::Timestamp;

use crate::carrier::TaskJournal;
use crate::carrier::compact::KnownWords;
use crate::carrier::token::Tokens;
use crate::clock::Clock;
use crate::drive::StepTimer;
use crate::library::Library;
use crate::process::lineage::Process;
use crate::store::{Digest, RunId, Store};
use crate::telemetry::Telemetry;
use crate::tools::Tools;
use crate::trust::{Trust, data_dir};

pub use crate::error::{ErrorKind, ServiceError};
pub use crate::logging::event_word;
pub use crate::store::StoreAt;
pub use crate::view::{Checked, Claim, View};
pub use feed::{Feed, Happened};
pub use flow::{
    Acceptance, Active, Brief, BypassRecord, DEFAULT_WORKFLOW, Ending, Flow, FlowState, Gate, Metrics, Override, Stage,
    Start, TaskStatus, Tick, VerifiedPhase,
};
pub(crate) use flow::{is_use, is_used};
pub use fork::{Fork, Onto};
pub use functions::{Finished, FunctionRun, How};
pub use halt::{Halt, Last, NextActor, NodeFailure};
pub use interrupted::{Interrupted, Resumed};
pub use live::Live;
pub use navigate::States;
pub use open::{Function, Open, RunCarrier};
pub use past::{EarlierRecords, Moment, Past};
pub use questions::Waiting;
pub use records::{History, RunLine};
pub use request::{Act, DefinitionChange, Report, Request};
pub use resume::ResumableRun;
pub use standing::Since;
pub use view::{lifted_by, shell_word};

/// How a service is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// The project: where `.flow` and `.portolan` are, and where checks are performed.
    pub project: PathBuf,
    /// Definitions named on the command line.
    pub definitions: Vec<PathBuf>,
    /// How closely definitions are held to their format.
    pub strictness: Strictness,
    /// Whose word counts at a question to a person, for runs that begin here.
    pub human: Human,
    /// Where runs are kept.
    pub store: StoreAt,
    /// What agents hold of the runs that they navigate.
    pub states: States,
    /// Where trust is recorded, and the keys are that runs with secrets are sealed with; nothing means the user's data
    /// folder.
    pub trust: Option<PathBuf>,
    /// Where time comes from.
    pub clock: Clock,
    /// What chance is drawn from; nothing means the system.
    pub seed: Option<u64>,
    /// The environment that `git` and `gh` are asked in; nothing means that of this process.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// Who collects the traces of functions, where somebody does.
    pub telemetry: Option<Telemetry>,
}

impl Options {
    /// The usual setup of a project: strict, attested, runs in `.portolan/runs.db`.
    pub fn of(project: impl Into<PathBuf>) -> Options {
        let project = project.into();
        Options {
            store: StoreAt::File(project.join(".portolan").join("runs.db")),
            project,
            definitions: Vec::new(),
            strictness: Strictness::Strict,
            states: States::Handles,
            human: Human::Attested,
            trust: None,
            clock: Clock::System,
            seed: None,
            environment: None,
            telemetry: None,
        }
    }
}

/// Who makes a call.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Whose doing it is.
    pub by: Actor,
    /// Whether the caller's client can put a question to the person at it.
    pub can_ask: bool,
}

impl Caller {
    /// An agent, by the name of its client.
    pub fn agent(name: &str) -> Caller {
        Caller { by: Actor::Agent(name.to_owned()), can_ask: false }
    }

    /// Whether it is a person, by a channel that no agent holds.
    pub fn is_person(&self) -> bool {
        matches!(self.by, Actor::Person { via: Channel::CommandLine | Channel::Elicitation | Channel::Passkey, .. })
    }
}

/// The service of one project.
pub struct Service {
    options: Options,
    library: Library,
    trust: Trust,
    store: Arc<dyn Store>,
    journal: TaskJournal,
    pinned: pinned::Pinned,
    tokens: Tokens,
    /// Of the definitions that runs in tokens are held to.
    words: KnownWords,
    pools: Mutex<BTreeMap<Digest, Arc<Tools>>>,
    live: Mutex<BTreeMap<RunId, Live>>,
    pace: Arc<StepTimer>,
    /// What this process descends from.
    above: OnceLock<Vec<Process>>,
}

impl Service {
    /// Sets a service up. Nothing is opened before it is needed.
    ///
    /// # Errors
    /// A definition named in the options cannot be read, or trust may not be recorded where it is.
    pub fn new(options: Options) -> Result<Service, ServiceError> {
        let library = Library::new(&options.project, &options.definitions, options.strictness)?;
        let data = match &options.trust {
            Some(data) => data.clone(),
            None => data_dir().map_err(hold::trust_error)?,
        };
        let trust = Trust::open(&data, &options.project).map_err(hold::trust_error)?;
        let folder = options.project.join(".portolan");
        let journal = TaskJournal::new(&folder);
        let pinned = pinned::Pinned::default();
        let store = options.store.open(&data, folder.join("definitions"));
        let tokens = Tokens::in_folder(&data);
        let (words, pools, live) = (KnownWords::default(), Mutex::default(), Mutex::default());
        let (pace, above) = (Arc::default(), OnceLock::new());
        Ok(Service { options, library, trust, store, journal, pinned, tokens, words, pools, live, pace, above })
    }

    /// What it was set up with.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// The definitions that can be run.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// What is trusted.
    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    /// The project.
    pub fn project(&self) -> &Path {
        &self.options.project
    }

    /// The user's data folder, where the options name another than the usual one.
    pub(crate) fn data_folder(&self) -> Option<&Path> {
        self.options.trust.as_deref()
    }

    /// What time it is, by the clock of the options.
    pub fn now(&self) -> Timestamp {
        self.options.clock.now()
    }

    /// Where time comes from.
    pub(crate) fn clock(&self) -> &Clock {
        &self.options.clock
    }

    /// The journal of runs that live in task files.
    pub fn task_journal(&self) -> &TaskJournal {
        &self.journal
    }

    /// Where runs are kept. Nothing is opened before it is first asked.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }
}
