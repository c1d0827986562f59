//! What calls of the navigation tools ask for.

use std::sync::Arc;

use portolan_core::diagnostic::clip;
use portolan_core::run::Raised;
use portolan_core::value::{Outcome, PASSED};
use portolan_runtime::library::Overview;
use portolan_runtime::service::{Begin, Course, Deed, Drift, Service, ServiceError};
use rmcp::model::CallToolResult;
use serde_json::Value;

use super::answers;
use crate::mcp::arguments::Arguments;

type Call = Result<(Course, Deed), ServiceError>;

pub(super) fn begin(mut arguments: Arguments) -> Result<Begin, ServiceError> {
    let wanted = Begin {
        workflow: arguments.required("workflow_id"),
        description: arguments.text("description"),
        variables: arguments.object("variables"),
        effectivities: arguments.strings("effectivities"),
    };
    arguments.finish()?;
    Ok(wanted)
}

pub(super) fn look(mut arguments: Arguments) -> Call {
    let course = course(&mut arguments);
    let drift = arguments.string("definition");
    arguments.finish()?;
    let drift = match drift.as_deref() {
        None => None,
        Some("pinned") => Some(Drift::Pinned),
        Some("migrate") => Some(Drift::Migrate),
        Some(other) => {
            let message = format!("`definition` is `{}`, which is no way on", clip(other));
            return Err(ServiceError::refused(
                "invalid_arguments",
                message,
                "say `pinned` or `migrate`, or leave it out",
            ));
        }
    };
    Ok((Course { drift, ..course }, Deed::Look))
}

pub(super) fn complete(mut arguments: Arguments) -> Call {
    let course = course(&mut arguments);
    let deed = Deed::Complete {
        step: arguments.required("step_id"),
        outcome: Outcome::from(arguments.string("result").unwrap_or_else(|| PASSED.to_owned())),
        summary: arguments.text("summary"),
        outputs: arguments.object("outputs").map(|outputs| Arc::new(Value::Object(outputs))),
    };
    arguments.finish()?;
    Ok((course, deed))
}

pub(super) fn answer(mut arguments: Arguments) -> Call {
    let course = course(&mut arguments);
    let deed = Deed::Answer {
        checkpoint: arguments.required("checkpoint_id"),
        option: arguments.string("option_id").map(Outcome::from),
        note: arguments.text("note"),
        outputs: None,
    };
    arguments.finish()?;
    Ok((course, deed))
}

pub(super) fn raise(mut arguments: Arguments) -> Call {
    let course = course(&mut arguments);
    let question = arguments.required_text("question");
    let options = arguments.strings("options").unwrap_or_default().into_iter().map(Outcome::from).collect();
    arguments.finish()?;
    Ok((course, Deed::Raise(Raised { question, options })))
}

pub(super) fn end(mut arguments: Arguments) -> Call {
    let course = course(&mut arguments);
    let reason = arguments.required_text("reason");
    arguments.finish()?;
    Ok((course, Deed::End { reason }))
}

fn course(arguments: &mut Arguments) -> Course {
    Course {
        workflow: Some(arguments.required("workflow_id")),
        state: arguments.required_text("state"),
        effectivities: arguments.strings("effectivities"),
        drift: None,
    }
}

/// The workflows that an agent can be led through, and those that it could be if they had no faults.
pub(super) fn list(service: &Service, arguments: Arguments) -> Result<Vec<Overview>, ServiceError> {
    arguments.finish()?;
    Ok(service.library().overview())
}

pub(super) fn definition(service: &Service, mut arguments: Arguments) -> Result<CallToolResult, ServiceError> {
    let id = arguments.required("workflow_id");
    arguments.finish()?;
    let (source, origin) = service.library().text(&id)?;
    Ok(answers::definition(&id, &source, origin))
}
