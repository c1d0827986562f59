//! Binds a run to the agent that begins or continues it. The hooks of the agent's host enforce the tool rules of the
//! run's steps until the run is over.

use portolan_core::run::{Actor, Channel};

use super::hold::{Carrier, HeldRun};
use super::other_stores::{Reader, usual_store};
use super::{Caller, Service};
use crate::bindings::{self, BoundRun};
use crate::carrier::Address;
use crate::error::ServiceError;
use crate::process::lineage::Process;
use crate::store::RunId;

impl Service {
    /// Binds a run to the agents of the hosts from which this process descends.
    ///
    /// # Errors
    /// The binding cannot be written, so that the steps would not be enforced.
    pub(super) fn bind(&self, held: &HeldRun, caller: &Caller) -> Result<(), ServiceError> {
        let Some(run) = self.bound(held).filter(|_| works(caller) && !held.run.is_over()) else { return Ok(()) };
        self.note_store_of(&run)?;
        bindings::bind(self.project(), &run, self.binding_processes(), &self.bindings).map_err(|error| {
            let message = format!("the binding of the run cannot be written: {error}");
            ServiceError::failed("not_bound", message, "make sure that `.portolan` of the project is writable")
        })
    }

    /// Binds an agent that only views a run, as an agent does that takes the run up in another session. If the binding
    /// cannot be written, the call that continues the run reports it.
    pub(super) fn bind_looker(&self, held: &HeldRun, caller: &Caller) {
        if matches!(caller.by, Actor::Agent(_)) {
            let _unwritten = self.bind(held, caller);
        }
    }

    /// Removes the binding of a run that is over.
    pub(super) fn release(&self, held: &HeldRun) {
        if let Some(run) = self.bound(held).filter(|_| held.run.is_over()) {
            bindings::release(self.project(), &run);
        }
    }

    /// Returns the run as hooks find it: they are other processes, and no agent navigates a function.
    fn bound(&self, held: &HeldRun) -> Option<BoundRun> {
        if held.definition.workflow.root().interface.is_some() {
            return None;
        }
        match &held.carrier {
            Carrier::Stored(id) => self.store_name().map(|_found_by_others| self.stored(id)),
            Carrier::Task { file, .. } => Some(BoundRun::Task(file.path().to_string_lossy().into_owned())),
            Carrier::Token { .. } => None,
        }
    }

    /// Returns the name of a run in the store of this service, for a session that works at it.
    pub fn stored(&self, id: &RunId) -> BoundRun {
        let run = id.to_string();
        match self.other_store() {
            Some(store) => BoundRun::Elsewhere { store, run },
            None => BoundRun::Stored(run),
        }
    }

    /// Does the same for a session whose hooks are other processes. Records that this user works in the store, so that
    /// they may ask it.
    ///
    /// # Errors
    /// It cannot be recorded.
    pub fn stored_for_hooks(&self, id: &RunId) -> Result<BoundRun, ServiceError> {
        let run = self.stored(id);
        self.note_store_of(&run).map(|()| run)
    }

    fn note_store_of(&self, run: &BoundRun) -> Result<(), ServiceError> {
        match run {
            BoundRun::Elsewhere { store, .. } => self.note_store(store),
            BoundRun::Stored(_) | BoundRun::Task(_) => Ok(()),
        }
    }

    /// Returns the processes whose agents are bound by runs that begin here: the ancestors of this process, and the
    /// process itself if its clients call tools through it. They are read once, because they do not change.
    pub fn binding_processes(&self) -> &[Process] {
        self.above.get_or_init(|| {
            let own = bindings::itself().filter(|_| self.options.is_gateway);
            own.into_iter().chain(bindings::above()).collect()
        })
    }

    /// Returns the runs that bind the agents of this process, without those of other stores.
    pub fn binding_runs(&self) -> Vec<Address> {
        let bound = bindings::of_hosts(self.project(), || self.binding_processes().to_vec());
        bound.iter().filter(|run| self.has(run)).filter_map(BoundRun::address).collect()
    }

    /// Checks whether a run is in the store of this service, or in no store.
    fn has(&self, run: &BoundRun) -> bool {
        match run {
            BoundRun::Task(_) => true,
            BoundRun::Stored(_) => self.store_name().is_none_or(|own| own == usual_store(self.project())),
            BoundRun::Elsewhere { store, .. } => self.store_name().as_ref() == Some(store),
        }
    }

    /// Returns the service that reads a run which binds an agent.
    ///
    /// # Errors
    /// As for [`Service::at_store`].
    pub(super) fn of_bound(&self, run: &BoundRun) -> Result<Reader<'_>, ServiceError> {
        match run {
            _ if self.has(run) => Ok(Reader::Own(self)),
            BoundRun::Elsewhere { store, .. } => self.at_store(store),
            BoundRun::Stored(_) | BoundRun::Task(_) => self.at_store(&usual_store(self.project())),
        }
    }
}

/// Checks whether a caller may be an agent: the caller of a command may be one. A person who answers elsewhere does not
/// take up the work.
fn works(caller: &Caller) -> bool {
    match &caller.by {
        Actor::Agent(_) => true,
        Actor::Person { via, .. } => matches!(via, Channel::CommandLine | Channel::Attested),
        Actor::Engine => false,
    }
}
