//! Reads the calls of the navigation tools.

use std::sync::Arc;

use portolan_core::diagnostic::clip;
use portolan_core::run::RaisedQuestion;
use portolan_core::value::{Outcome, PASSED};
use portolan_runtime::library::Overview;
use portolan_runtime::service::{Act, DefinitionChange, Open, Report, Request, RunCarrier, Service, ServiceError};
use rmcp::model::CallToolResult;
use serde_json::Value;

use super::answers;
use crate::mcp::arguments::Arguments;

type Call = Result<(Request, Act), ServiceError>;

pub(super) fn begin(mut arguments: Arguments) -> Result<Open, ServiceError> {
    let wanted = Open {
        carrier: RunCarrier::State,
        workflow: Some(arguments.required("workflow_id")),
        description: arguments.text("description"),
        input: arguments.object("variables").map(|variables| Arc::new(Value::Object(variables))),
        effectivities: arguments.strings("effectivities"),
        ..Open::default()
    };
    arguments.finish()?;
    Ok(wanted)
}

pub(super) fn look(mut arguments: Arguments) -> Result<Request, ServiceError> {
    let request = request(&mut arguments);
    let definition = arguments.string("definition");
    arguments.finish()?;
    let definition = match definition.as_deref() {
        None => None,
        Some("pinned") => Some(DefinitionChange::Pinned),
        Some("migrate") => Some(DefinitionChange::Migrate),
        Some(other) => {
            let message = format!("`definition` is `{}`, which is not one of its values", clip(other));
            return Err(ServiceError::refused(
                "invalid_arguments",
                message,
                "use `pinned` or `migrate`, or leave it out",
            ));
        }
    };
    Ok(Request { definition, ..request })
}

pub(super) fn complete(mut arguments: Arguments) -> Call {
    let request = request(&mut arguments);
    let step = arguments.required("step_id");
    let report = Report {
        outcome: Outcome::from(arguments.string("result").unwrap_or_else(|| PASSED.to_owned())),
        note: arguments.text("summary"),
        outputs: arguments.object("outputs").map(|outputs| Arc::new(Value::Object(outputs))),
    };
    arguments.finish()?;
    Ok((request, Act::Complete { step, report }))
}

pub(super) fn answer(mut arguments: Arguments) -> Call {
    let request = request(&mut arguments);
    let answer = Act::Answer {
        checkpoint: arguments.required("checkpoint_id"),
        option: arguments.string("option_id").map(Outcome::from),
        note: arguments.text("note"),
        outputs: None,
    };
    arguments.finish()?;
    Ok((request, answer))
}

pub(super) fn raise(mut arguments: Arguments) -> Call {
    let request = request(&mut arguments);
    let question = arguments.required_text("question");
    let options = arguments.strings("options").unwrap_or_default().into_iter().map(Outcome::from).collect();
    arguments.finish()?;
    Ok((request, Act::Raise(RaisedQuestion { question, options })))
}

pub(super) fn end(mut arguments: Arguments) -> Call {
    let request = request(&mut arguments);
    let reason = arguments.required_text("reason");
    arguments.finish()?;
    Ok((request, Act::End { reason }))
}

fn request(arguments: &mut Arguments) -> Request {
    let workflow = Some(arguments.required("workflow_id"));
    let state = arguments.required_text("state");
    Request { workflow, effectivities: arguments.strings("effectivities"), ..Request::led(state) }
}

/// Lists the workflows for agents, including those with faults.
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
