//! The `navigate` toolset: leads an agent one step at a time, and shows only what it can do.
//!
//! It translates calls and answers. The service decides which actions are open, and the result of a call.

mod answers;
mod calls;
mod schemas;

use std::sync::Arc;
use std::time::Duration;

use portolan_runtime::service::{Act, Request, Service, ServiceError};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ServerConfig, Tool};
use rmcp::service::RequestContext;
use serde_json::json;

use super::app::Names;
use super::arguments::Arguments;
use super::ask::{self, Answer as Said, AskResult, PendingQuestions, Question};
use super::leading;
use super::long_calls::{PATIENCE, RecalledCall, RunName};
use super::progress::act as act_told;
use super::project::{Call, Project, Wording};
use super::several::ServedTools;
use super::toolset::{Answer, Recalled, Toolset};
use crate::http::Scope;

#[cfg(test)]
pub(crate) use schemas::tools;

/// The instructions for a client.
const INSTRUCTIONS: &str = "Portolan leads you through a workflow, one step at a time. Call list_workflows, then \
        start_workflow. Each answer says in `message` what to do now, and lists in `availableActions` every \
        call that is open: do the work, then send the action back unchanged, with the arguments that its `fill` \
        names added. `required` actions continue the run; `optional` ones can be done instead; `blocked` ones \
        say what lifts the block. Always send the newest `state`. If a `checkpoint` is open, the person \
        decides. A refused call changes nothing and returns the present situation. After a loss of context, \
        call get_position.";

/// The calls that prompts name.
const WORDING: Wording = Wording {
    begin,
    then: "Then do what each answer says in `message`, and send one of its `availableActions` back, until the run has \
           ended.",
    look: |run| ("get_position", json!({ "workflow_id": run.workflow, "state": run.run })),
};

fn begin(workflow: &str, task: Option<&str>) -> Call {
    let mut arguments = json!({ "workflow_id": workflow });
    if let Some(task) = task {
        arguments["description"] = json!(task);
    }
    ("start_workflow", arguments)
}

/// The tools of the page that shows a run.
const PAGE: Names = Names { show: "show_run", answer: "answer_run", look: "get_position" };

/// The user of the tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Profile {
    /// An agent: it sees only what is open now.
    #[default]
    Strict,
    /// An author of workflows: definitions can be read.
    Author,
}

/// Returns the tools that lead an agent.
pub(crate) fn serving(service: Arc<Service>, profile: Profile) -> ServedTools {
    ServedTools::alone(Arc::new(Server {
        project: Project::new(Arc::clone(&service), WORDING, PAGE, profile == Profile::Author),
        service,
        profile,
        tools: schemas::tools(profile),
        pending: PendingQuestions::default(),
    }))
}

struct Server {
    service: Arc<Service>,
    project: Project,
    profile: Profile,
    tools: Vec<Tool>,
    pending: PendingQuestions,
}

impl Server {
    async fn perform(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ServiceError> {
        if let Some(answer) = self.project.app().call(request, context).await {
            return Ok(answer);
        }
        let arguments = Arguments::new(request.arguments.clone());
        let caller = leading::caller(&self.service, context);
        let (wanted, act) = match request.name.as_ref() {
            "list_workflows" => return Ok(answers::workflows(&calls::list(&self.service, arguments)?).into()),
            "get_workflow" if self.profile == Profile::Author => {
                return Ok(calls::definition(&self.service, arguments)?.into());
            }
            "start_workflow" => {
                let wanted = calls::begin(arguments)?;
                return Ok(answers::led(&self.service.open(&wanted, &caller).await?).into());
            }
            "get_position" => {
                let wanted = calls::look(arguments)?;
                return Ok(answers::led(&self.service.view(&wanted, &caller).await?).into());
            }
            "complete_step" => calls::complete(arguments)?,
            "respond_to_checkpoint" => calls::answer(arguments)?,
            "raise_checkpoint" => calls::raise(arguments)?,
            "end_workflow" => calls::end(arguments)?,
            other => return Err(self.unknown(other)),
        };
        match act_told(&self.service, &wanted, &act, &caller, context).await {
            Err(refused) if refused.code == "needs_person" && caller.can_ask => {
                self.have_asked(&wanted, &act, refused, request, context).await
            }
            Err(refused) => Err(refused),
            Ok(view) => Ok(answers::led(&view).into()),
        }
    }

    /// Returns the error of an unknown tool. It never suggests `end_workflow`, which must not be tried because of a
    /// typo.
    fn unknown(&self, name: &str) -> ServiceError {
        let names = self.tools.iter().map(|tool| tool.name.as_ref());
        leading::unknown(name, names.filter(|known| *known != "end_workflow" && !PAGE.has(known)))
    }

    /// Asks the person by the client, if only a person may answer and the client can ask.
    async fn have_asked(
        &self,
        wanted: &Request,
        act: &Act,
        refused: ServiceError,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ServiceError> {
        let Some(question) = question(&refused) else { return Err(refused) };
        let Act::Answer { checkpoint, .. } = act else { return Err(refused) };
        let situated = |failed: ServiceError| ServiceError { view: refused.view.clone(), ..failed };
        leading::client_may_ask(&self.service, context, "portolan runs answer").map_err(situated)?;
        match ask::ask(&self.pending, &question, request, context).await.map_err(situated)? {
            AskResult::Answered(Said { word, note, caller }) => {
                let answer = Act::Answer { checkpoint: checkpoint.clone(), option: Some(word), note, outputs: None };
                Ok(answers::led(&act_told(&self.service, wanted, &answer, &caller, context).await?).into())
            }
            AskResult::Declined => Err(situated(ask::unanswered(&refused))),
            AskResult::Pending(question) => Ok(question.into()),
        }
    }
}

/// Returns the question at which a call was refused. Its `state` identifies the run and its revision.
fn question(refused: &ServiceError) -> Option<Question> {
    let view = refused.view.as_deref()?;
    let open_question = &view.situation.question.as_ref()?.asked;
    let named = |label: &str, description: Option<&str>| match description {
        Some(description) => format!("{label} ({description})"),
        None => label.to_owned(),
    };
    let answers = open_question.options.iter().map(|it| (it.id.clone(), named(&it.label, it.description.as_deref())));
    let message = if open_question.raised {
        format!("The agent asks: {}", open_question.message)
    } else {
        open_question.message.clone()
    };
    Some(Question { about: view.state.clone(), message, answers: answers.collect() })
}

impl Toolset for Server {
    fn about(&self) -> ServerConfig {
        leading::about_with_project(INSTRUCTIONS)
    }

    fn tools(&self) -> Vec<Tool> {
        self.tools.clone()
    }

    fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|known| known.name == tool)
    }

    fn project(&self) -> Option<&Project> {
        Some(&self.project)
    }

    fn scope(&self, tool: &str) -> Scope {
        leading::scope(&self.tools, tool)
    }

    fn patience(&self, tool: &str) -> Option<Duration> {
        // The page reads results, and its client need not know tasks of calls that are not its own.
        (!PAGE.has(tool)).then_some(PATIENCE)
    }

    fn recall<'a>(&'a self, call: &'a RecalledCall, context: &'a RequestContext<RoleServer>) -> Recalled<'a> {
        Box::pin(async move {
            let RunName::Handle(run) = &call.run else { return None };
            let caller = leading::caller(&self.service, context);
            let mut view = self.service.view(&Request::led(run.as_str()), &caller).await.ok()?;
            if let Some(error) = leading::interrupted(&view) {
                return Some(answers::refused(&error));
            }
            view.notes.push(leading::RECALLED.to_owned());
            Some(answers::led(&view))
        })
    }

    fn call(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Answer<'_> {
        Box::pin(async move {
            let answer = match self.perform(&request, &context).await {
                Err(refused) if refused.view.is_none() => Err(self.situated(refused, &request, &context).await),
                answer => answer,
            };
            Ok(answer.unwrap_or_else(|refused| answers::refused(&refused).into()))
        })
    }
}

impl Server {
    /// Adds the situation of the run to the error of invalid arguments, if they name a run.
    async fn situated(
        &self,
        refused: ServiceError,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> ServiceError {
        let text = |name: &str| request.arguments.as_ref()?.get(name)?.as_str().map(str::to_owned);
        let (Some(workflow), Some(state)) = (text("workflow_id"), text("state")) else { return refused };
        if refused.code != "invalid_arguments" {
            return refused;
        }
        let wanted = Request { workflow: Some(workflow), ..Request::led(state) };
        match self.service.view(&wanted, &leading::caller(&self.service, context)).await {
            Ok(view) => refused.at(view),
            Err(_) => refused,
        }
    }
}
