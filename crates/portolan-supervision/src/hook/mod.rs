//! The gates at a coding agent's tool call: judges what the host announces, records it, and answers.
//!
//! The process lives for one call. Almost everything is therefore read from files. The store is opened only if a task
//! is under way, and `git` is started only for what files do not show. Refusals and bypasses are in the log before the
//! answer.
//!
//! ```no_run
//! use portolan_gates::{Decision, Intent, Tool};
//! use portolan_supervision::hook::Gatekeeper;
//!
//! let gatekeeper = Gatekeeper::of(None, "claude-code", Some("s1"), "/project".as_ref());
//! let intent = Intent {
//!     session: Some("s1".into()), call: Some("c1".into()), agent: None, folder: "/project".into(),
//!     name: "Write".into(), tool: Tool::Edit { paths: vec!["src/main.rs".into()] }, arguments: vec![],
//!     branch: None,
//! };
//! let answer = gatekeeper.before_tool(&intent, "the arguments as they were given");
//! if answer.decision == Decision::Block {
//!     // `answer.reason` says why, `answer.remedies` what puts it right.
//! }
//! ```

mod above;
mod after;
mod answer;
mod extra_guards;
mod files;
pub mod git;
mod place;
mod quick;
mod record;
mod refs;
mod rulings;
mod session;
mod standing;
mod start;
mod stop;
#[cfg(all(test, unix))]
mod tests;
mod time_limit;
mod tracked_content;
mod transaction;
mod tripwire;
mod typecheck;
mod upstream;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use portolan_core::run::Bypass;
use portolan_core::value::Timestamp;
use portolan_gates::guards::{self, Edit};
use portolan_gates::plugins::Guard;
use portolan_gates::{Decision, Guidelines, Intent, Judgement, Tool, permit};
use portolan_runtime::audit::{self, Durability};
use portolan_runtime::bindings::{self, BoundRun};
use portolan_runtime::clock::Clock;
use portolan_runtime::digest::Digest;
use portolan_runtime::error::ServiceError;
use portolan_runtime::gates::own_server;
use portolan_runtime::service::{Gate, Options, Service, is_use, is_used};
use portolan_runtime::{inspection, rules};
use tokio::runtime::Handle;

use crate::people::hosts_above;
use files::{ProjectDeclarations, ProjectFiles};
use record::Record;
use session::Session;

pub use answer::Answerable;
pub(crate) use extra_guards::PERSON;
pub use place::project_of;
pub(crate) use quick::QuickJudgement;
pub(crate) use record::Record as CallRecord;
pub use standing::{HookCheck, State, pinned, stands};
pub use time_limit::{NotInTime, within};

/// The variable with which a host attaches its sessions to a run of the project's usual store.
pub const RUN: &str = "PORTOLAN_RUN";
/// The variable with which a host names the project of its sessions.
pub const PROJECT: &str = "PORTOLAN_PROJECT";

/// Judges a tool call before it happens, and checks it afterwards.
#[derive(Clone)]
pub struct Gatekeeper {
    /// The project, or `None` outside of any.
    project: Option<PathBuf>,
    host: String,
    session: Option<String>,
    /// The run that the host attaches the session to.
    attached: Option<BoundRun>,
    guards: Vec<Arc<dyn Guard>>,
    clock: Clock,
    /// The hook of git that asks.
    hook: Option<git::Hook>,
    /// The service of a process that judges many calls. `None` if each call opens its own.
    service: Option<Arc<Service>>,
    /// The files of the project, in such a process.
    files: Option<Arc<ProjectFiles>>,
    /// Whether calls are denied that no step allows by name.
    denies: bool,
}

impl Gatekeeper {
    /// Creates the gatekeeper of the named project, or else of the project that contains `folder`.
    pub fn of(named: Option<PathBuf>, host: &str, session: Option<&str>, folder: &Path) -> Gatekeeper {
        Gatekeeper {
            project: named.or_else(|| project_of(folder)),
            host: host.to_owned(),
            session: session.map(str::to_owned),
            attached: None,
            guards: Vec::new(),
            clock: Clock::System,
            hook: None,
            service: None,
            files: None,
            denies: false,
        }
    }

    /// Attaches the session to a run.
    #[must_use]
    pub fn attached_to(self, run: Option<BoundRun>) -> Gatekeeper {
        Gatekeeper { attached: run, ..self }
    }

    /// Sets the clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Gatekeeper {
        Gatekeeper { clock, ..self }
    }

    /// Uses a service that is open, in a process that judges many calls. Runs that bind the agents of that process
    /// count. Calls are judged outside of the runtime's asynchronous tasks.
    #[must_use]
    pub(crate) fn with_service(self, service: Arc<Service>) -> Gatekeeper {
        let clock = self.clock.clone();
        let files = self.project.clone().map(|project| Arc::new(ProjectFiles::of(project, clock)));
        Gatekeeper { service: Some(service), files, ..self }
    }

    /// Denies the calls that no step allows by name.
    #[must_use]
    pub(crate) fn denying_by_default(self) -> Gatekeeper {
        Gatekeeper { denies: true, ..self }
    }

    /// Adds a guard beside all others; the strictest one decides. If it panics, a person is asked, or the call is
    /// refused if the rules are strict.
    #[must_use]
    pub fn with_guard(mut self, guard: impl Guard + 'static) -> Gatekeeper {
        self.guards.push(Arc::new(guard));
        self
    }

    /// Returns the project.
    pub fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// Decides whether a tool may be used. `input` is the input of the call, in any form that is the same for the same
    /// call; guards can read arguments only in JSON. Only its digest is stored.
    pub fn before_tool(&self, intent: &Intent, input: &str) -> Answerable {
        if matches!(intent.tool, Tool::Reads) && self.says_nothing_of_tools() {
            return Answerable::allowed();
        }
        let intent = &*plain(intent);
        let now = self.clock.now();
        let call_digest = digest(intent, input);
        let mut session = self.opened_session();
        if let Some(known) = session.as_ref().and_then(|session| session.answered(intent, &call_digest, now)) {
            return known;
        }
        let (mut answer, record) = match self.judged(intent, input, &mut session, now) {
            Ok(judged) => judged,
            Err(error) => (Answerable::of_error(&error), self.record(None)),
        };
        if matches!(intent.tool, Tool::Reads) && answer.decision == Decision::Allow {
            return answer;
        }
        let entries = record.of_call(intent, &call_digest, &answer);
        answer = self.put_on_record(&entries, answer);
        if let Some(session) = &mut session {
            session.remember(intent, &call_digest, &answer, (now, record.run()));
            session.save();
        }
        answer
    }

    /// Judges a call that is made only once, and records the judgement. Returns the context of the call for later
    /// entries, too.
    pub(crate) fn judge_call(&self, intent: &Intent, input: &str) -> (Answerable, CallRecord) {
        let (answer, record) = match self.judged(intent, input, &mut None, self.clock.now()) {
            Ok(judged) => judged,
            Err(error) => (Answerable::of_error(&error), self.record(None)),
        };
        let entries = record.of_call(intent, &digest(intent, input), &answer);
        (self.put_on_record(&entries, answer), record)
    }

    /// Returns the context of a call of which nothing is known.
    pub(crate) fn blank_record(&self) -> CallRecord {
        self.record(None)
    }

    /// Returns the answer of all guards and of the run's step, and the record for it.
    fn judged(
        &self,
        intent: &Intent,
        input: &str,
        session: &mut Option<Session>,
        now: Timestamp,
    ) -> Result<(Answerable, Record), ServiceError> {
        let declared = self.declared()?;
        let gate = self.gate_of(session, Some(intent))?;
        self.weigh((intent, input), session, now, (&declared, &gate))
    }

    /// Returns the same from what is known of the project and of the runs.
    fn weigh(
        &self,
        (intent, input): (&Intent, &str),
        session: &mut Option<Session>,
        now: Timestamp,
        (declared, gate): (&ProjectDeclarations, &Gate),
    ) -> Result<(Answerable, Record), ServiceError> {
        let rules = &declared.rules;
        let (mut branch, mut context) = (None, None);
        let mut judgements = self.guarded(intent, rules, gate, now, |found| {
            if let (true, Some(project)) = (found.wanted.typecheck, &self.project) {
                found.scene.typecheck = typecheck::known(project, rules);
            }
            if let Some(project) = &self.project {
                found.scene.blocked = rulings::blocked(project, &found.wanted.requests);
            }
            branch = extra_guards::branch(&found.scene);
            let call = (intent, &found.reading);
            context = session.as_mut().and_then(|session| tripwire::before(self, session, call, rules, now));
        });
        let known = (branch.as_deref(), gate, rules.strict, now);
        let added = (self.project(), declared.guards.as_slice(), self.guards.as_slice());
        let counted = extra_guards::judge(added, (intent, input), known, &mut judgements)?;
        let mut answer = Answerable::of(judgements);
        answer.context = context;
        answer.runs = gate.runs.iter().filter(|run| !run.is_elsewhere).map(|run| run.address.clone()).collect();
        Ok((answer, self.record(Some(gate)).with(counted)))
    }

    /// Returns the judgements of the guards. `look` adds the facts that the files around the call do not show.
    fn guarded(
        &self,
        intent: &Intent,
        rules: &Guidelines,
        gate: &Gate,
        now: Timestamp,
        look: impl FnOnce(&mut inspection::InspectedCall),
    ) -> Vec<Judgement> {
        let mut found = inspection::find(intent, rules);
        found.scene.now = now;
        found.scene.flow = gate.flow.clone();
        found.scene.bypasses = gate.bypasses.clone();
        found.scene.human_questions = gate.people.clone();
        look(&mut found);
        let mut judgements = guards::judge(intent, &found.reading, &found.scene, rules);
        judgements.extend(gate.permitted.iter().cloned());
        judgements.extend(
            (self.denies && !gate.granted && gate.permitted.is_empty()).then(|| permit::denied_by_default(intent)),
        );
        if !gate.as_edit.is_empty() {
            found.mark_ignored();
            let edit = guards::edits(intent, &found.reading, &found.scene, rules);
            judgements
                .extend(edit.iter().flat_map(|edit| gate.as_edit.iter().map(|judgement| of_edit(judgement, edit))));
        }
        judgements
    }

    /// Returns the tools that the model is to see, according to the step of the run.
    pub fn allowed_tools(&self) -> Option<Vec<String>> {
        self.gate_of(&mut self.opened_session(), None).ok()?.allowed
    }

    /// Attaches the session to a run: from now on, the run's steps restrict its tools.
    ///
    /// # Errors
    /// There is no project or no session, or the session cannot be stored.
    pub fn attach(&self, run: &BoundRun) -> Result<(), ServiceError> {
        let unwritable = || {
            let help = "run it in a writable project, and name the session";
            ServiceError::failed("not_attached", "the session cannot be attached", help)
        };
        let mut session = self.opened_session().ok_or_else(unwritable)?;
        session.attach(run);
        if session.save_for_good() { Ok(()) } else { Err(unwritable()) }
    }

    /// Checks whether only the guards can restrict tools: no task is under way, and the session is attached to no run.
    fn says_nothing_of_tools(&self) -> bool {
        let Some(project) = &self.project else { return self.guards.is_empty() };
        let folder = project.join(".portolan");
        self.attached.is_none()
            && !folder.join("flow.json").exists()
            && !bindings::are_there(project)
            && self.guards.is_empty()
            && self.session.as_deref().is_none_or(|session| !session::path(project, session).exists())
    }

    /// Returns what the project declares.
    fn declared(&self) -> Result<Arc<ProjectDeclarations>, ServiceError> {
        match (&self.files, &self.project) {
            (Some(files), _) => files.declared(),
            (None, Some(project)) => ProjectDeclarations::read(project).map(Arc::new),
            (None, None) => Ok(Arc::default()),
        }
    }

    fn rules(&self) -> Result<Guidelines, ServiceError> {
        self.project.as_deref().map_or_else(|| Ok(Guidelines::default()), rules::rules)
    }

    fn opened_session(&self) -> Option<Session> {
        Session::open(self.project.as_deref()?, self.session.as_deref()?)
    }

    /// Returns the state of the task, and of the session's runs: the one that it is attached to, and all that bind the
    /// agents of its host. Those are stored with the session, so that they bind it in another process too.
    fn gate_of(&self, session: &mut Option<Session>, intent: Option<&Intent>) -> Result<Gate, ServiceError> {
        let hosts = || match &self.service {
            Some(service) => service.binding_processes().to_vec(),
            None => hosts_above(),
        };
        let mut bound = match (&self.files, self.project()) {
            (Some(files), _) => files.bound(hosts).to_vec(),
            (None, Some(project)) => bindings::of_hosts(project, hosts),
            (None, None) => Vec::new(),
        };
        if let Some(session) = session {
            session.kept.bound.extend(bound);
            bound = session.kept.bound.iter().cloned().collect();
        }
        let attached = session.as_ref().and_then(Session::attached).or(self.attached.as_ref());
        let gate = self.gate(attached, &bound, intent)?;
        for run in &gate.over {
            self.project().inspect(|project| bindings::release(project, run));
            session.as_mut().map(|session| session.kept.bound.remove(run));
        }
        Ok(gate)
    }

    /// Returns the state of the task and of these runs. The store is not opened if there is none.
    fn gate(
        &self,
        attached: Option<&BoundRun>,
        bound: &[BoundRun],
        intent: Option<&Intent>,
    ) -> Result<Gate, ServiceError> {
        let Some(project) = &self.project else { return Ok(Gate::default()) };
        if attached.is_none() && bound.is_empty() && !project.join(".portolan/flow.json").exists() {
            return Ok(Gate::default());
        }
        let mut gate = match &self.service {
            Some(service) => Handle::current().block_on(service.flow().gate_bound(attached, bound, intent))?,
            None => {
                let service = Service::new(Options { clock: self.clock.clone(), ..Options::of(project) })?;
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let runtime = runtime.map_err(|error| {
                    ServiceError::failed("no_runtime", format!("no thread is available: {error}"), "try again")
                })?;
                runtime.block_on(service.flow().gate_bound(attached, bound, intent))?
            }
        };
        let task = gate.flow.as_ref().map(|flow| flow.task.clone());
        gate.bypasses.retain(|bypass| !bypass.once || !self.is_used_up(project, task.as_deref(), bypass));
        Ok(gate)
    }

    /// Checks in the log whether a single-use bypass was used.
    fn is_used_up(&self, project: &Path, task: Option<&str>, bypass: &Bypass) -> bool {
        let counts = |line: &audit::Line| self.hook.is_none_or(|hook| hook.is_of_another_act(line));
        // An unreadable log counts as use, so that no bypass applies twice.
        is_used(project, (task, &bypass.id), bypass.at, counts).unwrap_or(true)
    }

    fn record(&self, gate: Option<&Gate>) -> Record {
        Record::new(&self.host, self.session.as_deref(), gate)
    }

    /// Returns the answer after recording it. If that fails, the call is refused.
    fn put_on_record(&self, entries: &[audit::LogEntry], answer: Answerable) -> Answerable {
        let Some(project) = &self.project else {
            return match answer.is_bypassed() {
                true => Answerable::blocked("nothing is recorded outside of a project, so no rule can be bypassed"),
                false => answer,
            };
        };
        let once: Vec<&Bypass> = answer.bypasses().filter(|bypass| bypass.counts_once()).collect();
        // All entries of a call belong to one task.
        let task = entries.iter().find_map(|entry| entry.task.as_deref());
        let counts = |line: &audit::Line| {
            once.iter().any(|bypass| {
                let since = line.at >= bypass.at && self.hook.is_none_or(|hook| hook.is_of_another_act(line));
                since && is_use(line, (task, &bypass.id))
            })
        };
        let appended = match once.iter().map(|bypass| bypass.at).min() {
            None => {
                let durability = if answer.is_bypassed() { Durability::Synced } else { Durability::Written };
                self.append(entries, durability).map(|()| true)
            }
            Some(since) => record::append_unless(project, &self.clock, entries, since, counts),
        };
        match appended {
            Ok(true) => answer,
            Ok(false) => self.used_meanwhile(project),
            Err(error) => answer.unrecorded(&error.into()),
        }
    }

    /// Returns the answer if another call has used the bypass meanwhile.
    fn used_meanwhile(&self, project: &Path) -> Answerable {
        let why = "the bypass that this relies on is valid once, and another call has used it in the meantime";
        let entry = self.record(None).refusal("gates", why, None);
        let answer = Answerable::blocked(why);
        match record::append(project, &self.clock, &[entry], Durability::Written) {
            Ok(()) => answer,
            Err(error) => answer.unrecorded(&error.into()),
        }
    }

    /// Returns the refusal of a call that was not judged, and tries to record it.
    pub fn not_judged(&self, intent: Option<&Intent>, why: NotInTime) -> Answerable {
        let answer = Answerable::blocked(why.message());
        if let Some(project) = &self.project {
            let record = self.record(None);
            let entry = record.refusal("self-deadline", &why.message(), intent);
            // The log itself may be the cause of the delay.
            let (project, clock) = (project.clone(), self.clock.clone());
            let _late =
                within(time_limit::LAST_WORDS, move || record::append(&project, &clock, &[entry], Durability::Written));
        }
        answer
    }

    /// Records that an announcement could not be parsed, although it had to be.
    pub fn not_understood(&self, message: &str) {
        if let Some(project) = &self.project {
            let entry = self.record(None).refusal("announcement", message, None);
            // The answer is a refusal already.
            let _unwritten = record::append(project, &self.clock, &[entry], Durability::Written);
        }
    }
}

/// Returns the digest of a call's input.
fn digest(intent: &Intent, input: &str) -> Digest {
    Digest::of(format!("{}\n{}\n{input}", intent.name, intent.folder))
}

/// Adapts the judgement of a step that denies edits to a call that writes a file by another way.
fn of_edit(judgement: &Judgement, edit: &Edit) -> Judgement {
    match edit {
        Edit::File(path) => {
            let path = portolan_core::diagnostic::clip(path);
            Judgement { reason: format!("{}, and `{path}` would be written", judgement.reason), ..judgement.clone() }
        }
        Edit::Unknown => {
            let reason = format!(
                "{}, and a file would be written whose name is known only when the command runs",
                judgement.reason
            );
            Judgement { decision: Decision::Ask, reason, ..judgement.clone() }
        }
    }
}

/// Returns the call without the meaning of its arguments, if it is to Portolan's own server: the notes and reports of
/// an agent may be about anything.
fn plain(intent: &Intent) -> Cow<'_, Intent> {
    let Tool::Mcp { server, tool, does: Some(_) } = &intent.tool else { return Cow::Borrowed(intent) };
    if !own_server::is_ours(Path::new(&intent.folder), server) {
        return Cow::Borrowed(intent);
    }
    let tool = Tool::Mcp { server: server.clone(), tool: tool.clone(), does: None };
    Cow::Owned(Intent { tool, ..intent.clone() })
}
