//! Reads the calls of the gates' tools.

use portolan_core::diagnostic::clip;
use portolan_core::run::BypassSource;
use portolan_runtime::service::{Ending, Override, ServiceError, Start};

use crate::mcp::arguments::Arguments;

pub(super) fn start(mut arguments: Arguments) -> Result<Start, ServiceError> {
    let start = Start {
        task: arguments.required("task"),
        at: arguments.string("at"),
        workflow: arguments.string("workflow_id"),
    };
    arguments.finish()?;
    Ok(start)
}

pub(super) fn abort(mut arguments: Arguments) -> Result<(Ending, String), ServiceError> {
    let (outcome, reason) = (arguments.required("outcome"), arguments.required_text("reason"));
    arguments.finish()?;
    let ending = [Ending::ScopedDown, Ending::Escalated].into_iter().find(|ending| ending.word() == outcome);
    ending.map(|ending| (ending, reason)).ok_or_else(|| {
        let message = format!("`outcome` is `{}`, which is not a valid outcome", clip(&outcome));
        ServiceError::refused("invalid_arguments", message, "use `scoped-down` or `escalated`")
    })
}

pub(super) fn get_past(mut arguments: Arguments) -> Result<Override, ServiceError> {
    let wanted = Override {
        invariant: arguments.required("invariant"),
        reason: arguments.required_text("reason"),
        phase: arguments.string("phase"),
        source: BypassSource::Command,
        identifier: "flow_override".to_owned(),
        expires_at: None,
        once: arguments.flag("once"),
    };
    arguments.finish()?;
    Ok(wanted)
}
