//! The one API that every face calls. [`Service::open`] begins runs, [`Service::view`] shows them, [`Service::act`]
//! moves them and [`Service::drive`] drives them. [`Service::list`] lists runs, and [`Service::history`] returns the
//! events of one.
//!
//! ```text
//! hold (load or lock) → decide → commit (journal, then snapshot) → perform what follows → decide → … → view
//! ```
//! Knows tokio, stores and runners, but no protocol and no terminal.

mod act;
mod binding;
mod checking;
mod children;
mod create;
mod definitions;
mod ended;
mod feed;
mod flow;
mod foresight;
mod fork;
mod functions;
mod halt;
mod hold;
mod interruption;
mod lease;
mod led_drive;
mod live;
mod navigate;
mod open;
mod operate;
mod other_stores;
mod past;
mod prune;
mod question_outputs;
mod questions;
mod records;
mod report;
mod request;
mod resume;
mod run_cache;
mod standing;
mod state_workers;
mod traces;
mod view;
mod worker;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use portolan_core::dialect::Strictness;
use portolan_core::run::{Actor, Channel, Human};
use portolan_core::value::Timestamp;

use crate::bindings::CompleteBindings;
use crate::carrier::TaskJournal;
use crate::carrier::compact::KnownWords;
use crate::carrier::token::Tokens;
use crate::clock::Clock;
use crate::drive::StepTimer;
use crate::library::Library;
use crate::process::lineage::Process;
use crate::store::{Digest, RunId, Store};
use crate::supervisor_log::SupervisorLog;
use crate::telemetry::Telemetry;
use crate::tools::Tools;
use crate::trust::{Trust, data_dir};

pub use crate::error::{ErrorKind, ServiceError};
pub use crate::logging::event_word;
pub use crate::store::StoreAt;
pub use crate::view::{CheckResult, Claim, View};
pub use feed::{Feed, RunEvent};
pub use flow::{
    Acceptance, Active, Brief, BypassRecord, BypassRequest, DEFAULT_WORKFLOW, DecidingRun, Ending, Flow, FlowState,
    Gate, Metrics, Override, Stage, Start, TaskStatus, Tick, VerifiedPhase,
};
pub use flow::{is_use, is_used};
pub use foresight::Consequence;
pub use fork::{Fork, Onto};
pub use functions::{FunctionResult, FunctionRun, How};
pub use halt::{Halt, Last, NextActor, NodeFailure};
pub use interruption::{InterruptionPolicy, ResumeRequest};
pub use live::Live;
pub use navigate::States;
pub use open::{Function, Open, RunCarrier};
pub use operate::{StoreReport, archived_run};
pub use past::{EarlierRecords, Moment, Past};
pub use prune::{Prune, PruneResult};
pub use question_outputs::StepOutput;
pub use questions::{PendingQuestion, ReportNote};
pub use records::{History, RunLine};
pub use request::{Act, DefinitionChange, Report, Request};
pub use resume::ResumableRun;
pub use standing::Since;
pub use view::{lifted_by, shell_word};
pub use worker::{DrivenRun, OnDriven, Worker, WorkerOptions};

/// The configuration of a service.
#[derive(Clone, Debug)]
pub struct Options {
    /// The project folder: it holds `.flow` and `.portolan`, and checks run in it.
    pub project: PathBuf,
    /// Definitions named on the command line.
    pub definitions: Vec<PathBuf>,
    /// Whether definitions with the same id are faulty ones of the library. Otherwise they are refused at once.
    pub lists_clashes: bool,
    /// How strictly definitions are checked against their format.
    pub strictness: Strictness,
    /// Who may answer a question to a person, for runs that begin here.
    pub human: Human,
    /// The location of the store.
    pub store: StoreAt,
    /// The form in which navigating agents hold their runs.
    pub states: States,
    /// The folder of the trust record and of the keys that seal runs with secrets. `None` means the user's data folder.
    pub trust: Option<PathBuf>,
    /// The source of time.
    pub clock: Clock,
    /// The seed of random numbers. `None` means the system's randomness.
    pub seed: Option<u64>,
    /// The environment of `git` and `gh`. `None` means that of this process.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// The collector of traces of functions, if any.
    pub telemetry: Option<Telemetry>,
    /// Whether clients connect from outside of the process that started this one. Whoever answers there is not known
    /// to be a person.
    pub is_remote: bool,
    /// Whether this process stands between its clients and other servers. A run then binds the clients as well, as it
    /// binds the agents of a host.
    pub is_gateway: bool,
    /// Whether this process also serves other projects, to clients that may not know of them. Task files must then be
    /// in the folder of the project.
    pub is_one_of_many: bool,
}

impl Options {
    /// Returns the usual configuration of a project: strict, attested, runs in `.portolan/runs.db`.
    pub fn of(project: impl Into<PathBuf>) -> Options {
        let project = project.into();
        Options {
            store: StoreAt::File(project.join(".portolan").join("runs.db")),
            project,
            definitions: Vec::new(),
            lists_clashes: false,
            strictness: Strictness::Strict,
            states: States::Handles,
            human: Human::Attested,
            trust: None,
            clock: Clock::System,
            seed: None,
            environment: None,
            telemetry: None,
            is_remote: false,
            is_gateway: false,
            is_one_of_many: false,
        }
    }
}

/// The caller of the service.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The actor on whose behalf the call is made.
    pub by: Actor,
    /// Whether the caller's client can ask its person a question.
    pub can_ask: bool,
}

impl Caller {
    /// Returns an agent, named after its client.
    pub fn agent(name: &str) -> Caller {
        Caller { by: Actor::Agent(name.to_owned()), can_ask: false }
    }

    /// Returns the name of the caller: a program's, or a person's.
    pub fn name(&self) -> &str {
        flow::who(&self.by)
    }

    /// Checks whether the caller is a person, on a channel that no agent can use.
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
    pinned: definitions::PinnedDefinitions,
    tokens: Tokens,
    /// The word lists of the definitions that runs in tokens use.
    words: KnownWords,
    pools: Mutex<BTreeMap<Digest, Arc<Tools>>>,
    live: Mutex<BTreeMap<RunId, Live>>,
    loaded: run_cache::LoadedRuns,
    pace: Arc<StepTimer>,
    /// The ancestors of this process.
    above: OnceLock<Vec<Process>>,
    /// The runs that are known to bind the agents of those.
    bindings: CompleteBindings,
    /// The services of other stores that runs of the project are in, by the names of the stores.
    others: Mutex<BTreeMap<String, Arc<Service>>>,
}

/// Returns the folder of the user's data.
fn data_of(options: &Options) -> Result<PathBuf, ServiceError> {
    options.trust.clone().map_or_else(|| data_dir().map_err(hold::trust_error), Ok)
}

impl Service {
    /// Creates a service. The store is opened when it is first needed.
    ///
    /// # Errors
    /// A definition named in the options cannot be read, or the trust record cannot be opened.
    pub fn new(options: Options) -> Result<Service, ServiceError> {
        let library = if options.lists_clashes { Library::with_clashes } else { Library::new };
        let library = library(&options.project, &options.definitions, options.strictness)?;
        let data = data_of(&options)?;
        let folder = options.project.join(".portolan");
        let journal = TaskJournal::new(&folder);
        let pinned = definitions::PinnedDefinitions::default();
        let store = options.store.open(&data, folder.join("definitions"));
        let trust = Trust::open(&data, &options.project).and_then(|trust| trust.shared_through(&data, &store));
        let trust = trust.map_err(hold::trust_error)?;
        let tokens = Tokens::in_folder(&data);
        let (words, pools, live) = (KnownWords::default(), Mutex::default(), Mutex::default());
        let (loaded, pace, above) = (run_cache::LoadedRuns::default(), Arc::default(), OnceLock::new());
        let (bindings, others) = (CompleteBindings::default(), Mutex::default());
        Ok(Service {
            options,
            library,
            trust,
            store,
            journal,
            pinned,
            tokens,
            words,
            pools,
            live,
            loaded,
            pace,
            above,
            bindings,
            others,
        })
    }

    /// Returns the options of the service.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the definitions that can be run.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Returns the trust record.
    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    /// Returns whether clients connect from outside, so that nobody knows whether a person answers there.
    pub fn is_remote(&self) -> bool {
        self.options.is_remote
    }

    /// Returns the project folder.
    pub fn project(&self) -> &Path {
        &self.options.project
    }

    /// Returns the user's data folder if the options name one.
    pub fn data_folder(&self) -> Option<&Path> {
        self.options.trust.as_deref()
    }

    /// Returns the present time, by the clock of the options.
    pub fn now(&self) -> Timestamp {
        self.options.clock.now()
    }

    /// Returns the records of the project's supervisor.
    pub fn supervisor_log(&self) -> SupervisorLog<'_> {
        SupervisorLog::of(self.project(), &self.options.clock).shared_through(self.store())
    }

    /// Returns the source of time.
    pub fn clock(&self) -> &Clock {
        &self.options.clock
    }

    /// Returns the journal of the runs in task files.
    pub fn task_journal(&self) -> &TaskJournal {
        &self.journal
    }

    /// Returns the store of runs. It is opened on first use.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }
}
