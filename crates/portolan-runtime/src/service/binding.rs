//! A run binds the agent that begins it, or goes on with it: what its steps say of tools holds in the hooks of the agent's
//! host until the run is over.

use portolan_core::run::{Actor, Channel};

use super::hold::{Carrier, Held};
use super::{Caller, Service, StoreAt};
use crate::bindings::{self, BoundRun};
use crate::error::ServiceError;
use crate::process::lineage::Process;

impl Service {
    /// Has a run bind the agents of the hosts that this process descends from.
    ///
    /// # Errors
    /// It cannot be written down, so that nobody would be held to the steps.
    pub(super) fn bind(&self, held: &Held, caller: &Caller) -> Result<(), ServiceError> {
        let Some(run) = self.bound(held).filter(|_| works(caller) && !held.run.is_over()) else { return Ok(()) };
        bindings::bind(self.project(), &run, self.above()).map_err(|error| {
            let message = format!("it cannot be written down whom the run binds: {error}");
            ServiceError::failed("not_bound", message, "see that `.portolan` of the project can be written")
        })
    }

    /// The same for an agent that only asks where a run is, as one does that takes it up in another session. Where it
    /// cannot be written down, the call that goes on with the run says so.
    pub(super) fn bind_looker(&self, held: &Held, caller: &Caller) {
        if matches!(caller.by, Actor::Agent(_)) {
            let _unwritten = self.bind(held, caller);
        }
    }

    /// Has a run that is over bind nobody any more.
    pub(super) fn release(&self, held: &Held) {
        if let Some(run) = self.bound(held).filter(|_| held.run.is_over()) {
            bindings::release(self.project(), &run);
        }
    }

    /// The run, as hooks find it. They look in the store of the project, and a function leads no agent.
    fn bound(&self, held: &Held) -> Option<BoundRun> {
        if held.definition.workflow.root().interface.is_some() {
            return None;
        }
        let usual = self.project().join(".portolan").join("runs.db");
        match &held.carrier {
            Carrier::Stored(id) => {
                let is_usual = matches!(&self.options.store, StoreAt::File(path) if *path == usual);
                is_usual.then(|| BoundRun::Stored(id.to_string()))
            }
            Carrier::Task { file, .. } => Some(BoundRun::Task(file.path().to_string_lossy().into_owned())),
            Carrier::Token { .. } => None,
        }
    }

    /// What this process descends from: it is looked at once, because a process does not get other ancestors.
    fn above(&self) -> &[Process] {
        self.above.get_or_init(bindings::above)
    }
}

/// Whether a caller may be an agent, as whoever runs a command may be. A person who answers elsewhere does not take up the
/// work by that.
fn works(caller: &Caller) -> bool {
    match &caller.by {
        Actor::Agent(_) => true,
        Actor::Person { via, .. } => matches!(via, Channel::CommandLine | Channel::Attested),
        Actor::Engine => false,
    }
}
