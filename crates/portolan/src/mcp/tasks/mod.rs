//! The `tasks` toolset: leads an agent through workflows with Navigator's eleven tools.

mod answers;
mod manage;
mod navigate;
mod schemas;
mod select;

use std::sync::Arc;
use std::time::Duration;

use portolan_runtime::service::{Request, Service, ServiceError};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ServerConfig, Tool};
use rmcp::service::RequestContext;
use serde_json::json;

use super::app::Names;
use super::arguments::Arguments;
use super::ask;
use super::leading;
use super::long_calls::{PATIENCE, RecalledCall};
use super::project::{Call, Project, Wording};
use super::several::ServedTools;
use super::toolset::{Answer, Recalled, Toolset};
use crate::http::Scope;

#[cfg(test)]
pub(crate) use schemas::tools;

/// The instructions for a client.
const INSTRUCTIONS: &str = "Portolan leads you through a workflow. Init a run, Start it, then loop: read the \
        instructions, do the work (or delegate it to the agent named), and send one of the calls in `actions` \
        back unchanged. Every offered call is accepted; every other call is refused, changes nothing, and \
        returns the present situation. `passed` is a claim: if a step has acceptance checks, they decide. At \
        `## HITL` stop and ask the person. After a loss of context call Current. Never edit a task file's \
        position by hand.";

/// Returns Navigator's tools. Without `draws`, it omits the tool that shows a whole workflow.
pub(crate) fn serving(service: Arc<Service>, draws: bool) -> ServedTools {
    ServedTools::alone(Arc::new(Server::new(service, draws)))
}

/// The calls that prompts name.
const WORDING: Wording = Wording {
    begin,
    then: "Then call `Start`, do what each answer says, and send one of its `actions` back, until the run has ended.",
    look: |run| match run.run.contains(['/', '\\']) {
        true => ("Current", json!({ "taskFilePath": run.run })),
        false => ("Current", json!({ "run": run.run })),
    },
};

fn begin(workflow: &str, task: Option<&str>) -> Call {
    let mut arguments = json!({ "workflowType": workflow });
    if let Some(task) = task {
        arguments["description"] = json!(task);
    }
    ("Init", arguments)
}

/// The tools of the page that shows a run.
const PAGE: Names = Names { show: "ShowRun", answer: "AnswerRun", look: "Current" };

/// The tool that shows a whole workflow.
const DRAWING: &str = "Diagram";

/// The server of one connection.
struct Server {
    service: Arc<Service>,
    project: Project,
    tools: Vec<Tool>,
    pending: ask::PendingQuestions,
}

impl Server {
    fn new(service: Arc<Service>, draws: bool) -> Server {
        let mut tools = schemas::tools();
        tools.retain(|tool| draws || tool.name != DRAWING);
        let project = Project::new(Arc::clone(&service), WORDING, PAGE, draws);
        Server { service, project, tools, pending: ask::PendingQuestions::default() }
    }

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
        let names = self.tools.iter().map(|tool| tool.name.as_ref()).filter(|name| !PAGE.has(name));
        if !names.clone().any(|name| name == request.name) {
            return Err(leading::unknown(&request.name, names));
        }
        let value = match request.name.as_ref() {
            "Init" => navigate::init(&self.service, arguments, &caller).await?,
            "Start" => navigate::start(&self.service, arguments, &caller).await?,
            "Current" => navigate::current(&self.service, arguments, &caller).await?,
            "Next" => return self.next(arguments, request, context, caller).await,
            "ListWorkflows" => manage::list_workflows(&self.service, arguments)?,
            "SelectWorkflow" => select::select_workflow(&self.service, arguments)?,
            DRAWING => manage::diagram(&self.service, arguments)?,
            "CopyWorkflows" => manage::copy_workflows(&self.service, arguments)?,
            "CopyAgents" => manage::copy_agents(&self.service, arguments)?,
            "LoadWorkflows" => manage::load_workflows(&self.service, arguments)?,
            _ => manage::list_catalog(arguments)?,
        };
        Ok(answers::success(value).into())
    }
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
        match tool {
            "CopyWorkflows" | "CopyAgents" | "LoadWorkflows" => Scope::Author,
            _ => leading::scope(&self.tools, tool),
        }
    }

    fn patience(&self, tool: &str) -> Option<Duration> {
        // The page reads results, and its client need not know tasks of calls that are not its own.
        (!PAGE.has(tool)).then_some(PATIENCE)
    }

    fn recall<'a>(&'a self, call: &'a RecalledCall, context: &'a RequestContext<RoleServer>) -> Recalled<'a> {
        Box::pin(async move {
            let caller = leading::caller(&self.service, context);
            let mut view = self.service.view(&Request::of(call.run.address()), &caller).await.ok()?;
            if let Some(error) = leading::interrupted(&view) {
                let request = CallToolRequestParams::new(call.tool.clone());
                return Some(answers::failure(&request, &error, None));
            }
            view.notes.push(leading::RECALLED.to_owned());
            Some(answers::success(answers::navigation(&view)))
        })
    }

    fn call(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Answer<'_> {
        Box::pin(async move {
            match self.perform(&request, &context).await {
                Ok(answer) => Ok(answer),
                Err(error) => {
                    let metadata = navigate::metadata(&self.service, &request, &error).await;
                    Ok(answers::failure(&request, &error, metadata).into())
                }
            }
        })
    }
}
