//! Init, Start, Current, Next.

use std::sync::Arc;

use portolan_core::present::Act as Offered;
use portolan_core::value::Outcome;
use portolan_runtime::carrier::Address;
use portolan_runtime::service::{Act, Caller, ErrorKind, Open, Report, Request, RunCarrier, Service, ServiceError};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::RequestContext;
use serde_json::{Map, Value};

use super::Server;
use super::answers::{navigation, success};
use crate::mcp::arguments::Arguments;
use crate::mcp::ask::{self, Answer, AskResult, Question};
use crate::mcp::leading;
use crate::mcp::progress::act;
use crate::words::tasks as words;

type CallResult = Result<Map<String, Value>, ServiceError>;

pub(super) async fn init(service: &Service, mut arguments: Arguments, caller: &Caller) -> CallResult {
    let wanted = Open {
        carrier: arguments.string("taskFilePath").map_or(RunCarrier::Store, RunCarrier::Task),
        workflow: arguments.string("workflowType"),
        description: arguments.text("description"),
        step: arguments.string("stepId"),
        parent: arguments.string("parentTaskId"),
        ..Open::default()
    };
    arguments.finish()?;
    Ok(navigation(&service.open(&wanted, caller).await?))
}

pub(super) async fn start(service: &Service, mut arguments: Arguments, caller: &Caller) -> CallResult {
    let address = address(&mut arguments);
    let revision = arguments.number("revision");
    arguments.finish()?;
    let request = Request { revision, ..Request::of(address?) };
    Ok(navigation(&service.act(&request, &Act::Begin, caller).await?))
}

pub(super) async fn current(service: &Service, mut arguments: Arguments, caller: &Caller) -> CallResult {
    let address = address(&mut arguments);
    let branch = arguments.string("branch");
    arguments.finish()?;
    let request = Request { branch, ..Request::of(address?) };
    Ok(navigation(&service.view(&request, caller).await?))
}

/// Returns the run that a call names. Its errors are reported after those of the arguments' types.
fn address(arguments: &mut Arguments) -> Result<Address, ServiceError> {
    let task_file = arguments.string("taskFilePath");
    let run = arguments.string("run");
    Service::address(run.as_deref(), task_file.as_deref())
}

/// Returns the metadata of a refused call's run, which Navigator's clients read in errors, too.
pub(super) async fn metadata(
    service: &Service,
    request: &CallToolRequestParams,
    refused: &ServiceError,
) -> Option<Map<String, Value>> {
    refused.view.as_ref()?;
    let text = |name: &str| request.arguments.as_ref()?.get(name)?.as_str();
    let address = Service::address(text("run"), text("taskFilePath")).ok()?;
    let view = service.view(&Request::of(address), &Caller::agent("")).await.ok()?;
    let mut metadata = view.metadata;
    metadata.entry("retrySourceGate").or_insert(Value::Null);
    Some(metadata)
}

impl Server {
    /// Performs Next. If only a person may answer, asks the person at the client.
    pub(super) async fn next(
        &self,
        mut arguments: Arguments,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
        caller: Caller,
    ) -> Result<CallToolResponse, ServiceError> {
        let address = address(&mut arguments);
        let result = arguments.required("result");
        let branch = arguments.string("branch");
        let revision = arguments.number("revision");
        let note = arguments.text("note");
        let outputs = arguments.object("outputs").map(|outputs| Arc::new(Value::Object(outputs)));
        arguments.finish()?;
        let wanted = Request { branch, revision, ..Request::of(address?) };
        let report = Report { outcome: Outcome::from(result), note, outputs };
        match act(&self.service, &wanted, &Act::Report(report.clone()), &caller, context).await {
            Err(error) if error.kind == ErrorKind::NeedsPerson && caller.can_ask => {
                let Some((question, revision)) = question(&wanted, &error) else { return Err(error) };
                let situated = |failed: ServiceError| ServiceError { view: error.view.clone(), ..failed };
                leading::client_may_ask(&self.service, context, "portolan runs answer").map_err(situated)?;
                match ask::ask(&self.pending, &question, request, context).await.map_err(situated)? {
                    AskResult::Answered(Answer { word, note, caller }) => {
                        let wanted = Request { revision: Some(revision), ..wanted };
                        let report = Act::Report(Report { outcome: word, note, ..report });
                        Ok(success(navigation(&act(&self.service, &wanted, &report, &caller, context).await?)).into())
                    }
                    AskResult::Declined => Err(ask::unanswered(&error)),
                    AskResult::Pending(question) => Ok(question.into()),
                }
            }
            Err(error) => Err(error),
            Ok(view) => Ok(success(navigation(&view)).into()),
        }
    }
}

/// Returns the question at which a call was refused, and the revision of its position.
fn question(wanted: &Request, refused: &ServiceError) -> Option<(Question, u64)> {
    let situation = &refused.view.as_deref()?.situation;
    let revision = situation.position.revision;
    let about = format!("{} {revision} {}", wanted.address, wanted.branch.as_deref().unwrap_or_default());
    let answers = situation.offers.iter().filter(|offer| matches!(offer.act, Offered::Answer { .. }));
    let answers = answers.filter_map(|offer| Some((offer.outcome()?.to_string(), words::title(offer)))).collect();
    Some((Question { about, message: words::headline(situation), answers }, revision))
}
