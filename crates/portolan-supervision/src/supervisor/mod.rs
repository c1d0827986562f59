//! The supervisor of a project: asks people without blocking the queue, counts the agents' usage, and chooses the next
//! task. Its records are a [`SupervisorLog`], which stops runs when a budget is used up.

mod ask;
mod mark;
mod notices;
mod queue;
mod spend;

use portolan_runtime::service::Service;
use portolan_runtime::supervisor_log::SupervisorLog;

pub use ask::{Ask, ReplyResult};
pub use mark::Mark;
pub use notices::NotifierFailure;
pub use queue::Task;
pub use spend::{Raise, UsageReport, UsageResult};

/// The supervisor of a project.
pub struct Supervisor<'s> {
    service: &'s Service,
    log: SupervisorLog<'s>,
}

impl Supervisor<'_> {
    /// Returns the supervisor of a service's project.
    pub fn of(service: &Service) -> Supervisor<'_> {
        Supervisor { service, log: service.supervisor_log() }
    }
}
