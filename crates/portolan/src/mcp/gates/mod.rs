//! The `gates` toolset: moves the project's task only as far as the repository shows.
//!
//! It translates calls and answers. The service decides what a phase requires, and whether the repository satisfies it.

mod calls;
mod dialogs;
mod polling;
mod questions;
mod schemas;

use std::sync::Arc;
use std::time::Duration;

use portolan_core::diagnostic::clip;
use portolan_runtime::service::{Caller, FlowState, Override, Service, ServiceError, Tick};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, Resource, ServerConfig, Tool};
use rmcp::service::{Peer, RequestContext};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::arguments::Arguments;
use super::ask::{self, Answer as Said, AskResult, PendingQuestions, Question};
use super::face::{self, result};
use super::leading;
use super::long_calls::PATIENCE;
use super::progress::run_with_progress;
use super::several::ServedTools;
use super::toolset::{self, Answer, Text, Toolset, Work};
use crate::http::Scope;
use dialogs::Dialogs;
use polling::QuestionWatch;
use questions::QUESTIONS;

#[cfg(test)]
pub(crate) use schemas::tools;

/// The instructions for a client.
const INSTRUCTIONS: &str = "Portolan leads a task through phases. flow_status says where it is; do what the \
        phase asks for, report with flow_claim what you have made (issueNumber, branch, specPath, prNumber), \
        and call flow_tick: it moves the task to the next phase if the repository shows what the phase claims, \
        and otherwise says what is missing. If tests fail or a reviewer wants changes, call flow_back. A rule \
        can be bypassed only with flow_override, by name and with a reason, and this is recorded.";

/// Reports something to the person who serves.
pub(crate) type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Returns the tools of the gates, and the open questions.
pub(crate) fn serving(service: Arc<Service>, tell: Tell) -> ServedTools {
    let watched = Arc::new(QuestionWatch::new(Arc::clone(&service)));
    let looking = Arc::clone(&watched);
    let server = Server { service, watched, tell, tools: schemas::tools(), pending: PendingQuestions::default() };
    ServedTools { meanwhile: Some(Box::pin(looking.look())), ..ServedTools::alone(Arc::new(server)) }
}

struct Server {
    service: Arc<Service>,
    watched: Arc<QuestionWatch>,
    tell: Tell,
    tools: Vec<Tool>,
    pending: PendingQuestions,
}

impl Server {
    async fn perform(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ServiceError> {
        let mut arguments = Arguments::new(request.arguments.clone());
        let caller = leading::caller(&self.service, context);
        let flow = self.service.flow();
        match request.name.as_ref() {
            "flow_status" => {
                arguments.finish()?;
                Ok(state(&flow.status().await?))
            }
            "flow_start" => Ok(state(&flow.start(&calls::start(arguments)?, &caller).await?)),
            "flow_claim" => {
                let values = arguments.required_object("values");
                arguments.finish()?;
                Ok(state(&flow.patch(&values, &caller).await?))
            }
            "flow_tick" => {
                arguments.finish()?;
                let caller = &caller;
                let ticking = |listener| async move { flow.with_listener(listener).tick(caller).await };
                Ok(tick(&run_with_progress(context, ticking).await?))
            }
            "flow_back" => {
                let reason = arguments.required_text("reason");
                arguments.finish()?;
                let (reason, caller) = (&reason, &caller);
                let going = |listener| async move { flow.with_listener(listener).back(reason, caller).await };
                Ok(tick(&run_with_progress(context, going).await?))
            }
            "flow_abort" => {
                let (ending, reason) = calls::abort(arguments)?;
                Ok(state(&flow.abort(ending, &reason, &caller).await?))
            }
            "flow_override" => self.get_past(&calls::get_past(arguments)?, &caller, request, context).await,
            other => Err(leading::unknown(other, self.tools.iter().map(|tool| tool.name.as_ref()))),
        }
    }

    /// Bypasses a rule. If only a person may, asks the person in the client's own dialog.
    async fn get_past(
        &self,
        wanted: &Override,
        caller: &Caller,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ServiceError> {
        let flow = self.service.flow();
        let refused = match flow.get_past(wanted, caller).await {
            Err(error) if error.code == "needs_person" => error,
            done => return Ok(state(&done?)),
        };
        let may_ask = leading::client_may_ask(&self.service, context, "portolan flow override");
        if !caller.can_ask || may_ask.is_err() {
            flow.request(wanted, caller).await?;
            // The agent is not shown how a person does it.
            let help = format!("{}: the request is on record", refused.help);
            let error = may_ask.err().filter(|_| caller.can_ask).unwrap_or(refused);
            return Err(ServiceError { help, ..error });
        }
        let question = question(wanted, &flow.status().await?);
        match ask::ask(&self.pending, &question, request, context).await? {
            AskResult::Answered(Said { word, caller, .. }) if word.as_str() == PAST => {
                Ok(state(&flow.get_past(wanted, &caller).await?))
            }
            AskResult::Answered(_) => Err(ServiceError {
                message: format!("the person keeps the rule `{}`", clip(&wanted.invariant)),
                help: "do what the rule requires".to_owned(),
                ..refused
            }),
            AskResult::Declined => Err(ask::unanswered(&refused)),
            AskResult::Pending(question) => Ok(question.into()),
        }
    }
}

/// The answer that bypasses a rule.
const PAST: &str = "get-past";

fn question(wanted: &Override, state: &FlowState) -> Question {
    let phase = wanted.phase.as_deref().unwrap_or(&state.phase);
    let message = format!(
        "The agent wants to bypass {} in the phase {}. Its reason: {}",
        clip(&wanted.invariant),
        clip(phase),
        clip(&wanted.reason)
    );
    let answers = [(PAST, "Bypass it, on record"), ("keep", "Keep the rule")];
    Question {
        about: format!("{}@{} {}", state.run_id.as_deref().unwrap_or_default(), state.revision, wanted.invariant),
        message,
        answers: answers.map(|(word, does)| (word.to_owned(), does.to_owned())).to_vec(),
    }
}

fn state(state: &FlowState) -> CallToolResponse {
    done(json!({ "success": true, "state": shown(state) }))
}

/// Returns the state without parts that an agent does not need. The log can be read elsewhere.
fn shown(state: &FlowState) -> Value {
    let mut value = valued(state);
    for (list, most) in [("recentEvents", 0), ("acceptanceLog", 20)] {
        if let Some(items) = value.get_mut(list).and_then(Value::as_array_mut) {
            items.drain(..items.len().saturating_sub(most));
        }
    }
    value
}

fn tick(tick: &Tick) -> CallToolResponse {
    done(json!({ "success": true, "tick": valued(tick) }))
}

fn valued(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("texts, numbers and JSON are JSON")
}

fn done(value: Value) -> CallToolResponse {
    result(value, false).into()
}

impl Toolset for Server {
    fn about(&self) -> ServerConfig {
        let mut about = leading::about(INSTRUCTIONS);
        about.capabilities.resources = Some(face::resources());
        about
    }

    fn resources(&self) -> Vec<Resource> {
        questions::resources()
    }

    fn read<'a>(&'a self, uri: &'a str, _context: &'a RequestContext<RoleServer>) -> Text<'a> {
        Box::pin(async move { Some(toolset::contents(questions::read(&self.watched, uri).await?)) })
    }

    fn updates(&self, uri: &str) -> Option<watch::Receiver<u64>> {
        (uri == QUESTIONS).then(|| self.watched.updates())
    }

    fn beside(&self, peer: Peer<RoleServer>) -> Option<Work> {
        let (service, watched) = (Arc::clone(&self.service), Arc::clone(&self.watched));
        let dialogs = Dialogs { service, watched, tell: Arc::clone(&self.tell), peer };
        Some(Box::pin(dialogs.put()))
    }

    fn tools(&self) -> Vec<Tool> {
        self.tools.clone()
    }

    fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|known| known.name == tool)
    }

    fn scope(&self, tool: &str) -> Scope {
        leading::scope(&self.tools, tool)
    }

    fn patience(&self, _tool: &str) -> Option<Duration> {
        Some(PATIENCE)
    }

    fn call(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Answer<'_> {
        Box::pin(async move {
            let answer = self.perform(&request, &context).await;
            // The end of a task closes its questions.
            self.watched.look_soon();
            Ok(answer.unwrap_or_else(|error| face::refused(&error)))
        })
    }
}
