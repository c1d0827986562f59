//! The tools of other servers, for clients of `portolan gate`: each call is judged, then performed or refused with the
//! present situation.

mod offers;
mod questions;
mod waiting;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use portolan_core::diagnostic::clip;
use portolan_gates::Decision;
use portolan_runtime::servers::CallError;
use portolan_runtime::service::{Caller, Request, Service, ServiceError, View};
use portolan_supervision::gateway::{Gateway, GatewayCall, JudgedCall, OfferedTool, ParkResult, about};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, GetPromptRequestParams,
    Implementation, JsonObject, Prompt, Resource, ResourceTemplate, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::hook;
use crate::http::Scope;
use crate::mcp::ask::{self, AskResult, PendingQuestions, Question};
use crate::mcp::face::result;
use crate::mcp::graph::CLOSING;
use crate::mcp::leading;
use crate::mcp::long_calls::PATIENCE;
use crate::mcp::progress::Progress;
use crate::mcp::several::ServedTools;
use crate::mcp::subscriptions::SubscriptionCounts;
use crate::mcp::toolset::{Answer, Completion, Manners, Messages, Subscribed, Text, ToolsFuture, Toolset};
use crate::mcp::transport::Bounds;
use crate::words::tasks;
use waiting::{Waiter, WaitingCalls};

/// The instructions for a client.
const INSTRUCTIONS: &str = "The tools of other servers are offered through Portolan, which decides about each call. A \
        call that the present step does not allow is refused, with the situation and what continues from there.";

/// The most characters of the arguments that a person is shown.
const MAX_SHOWN: usize = 2_000;
/// The beginning of the fields of a request's `_meta` that the protocol defines. They concern this connection only.
const PROTOCOL: &str = "io.modelcontextprotocol/";
/// The field of a request's `_meta` that names the branch of a run for which it is made.
const BRANCH: &str = "portolan/branch";
/// The most bytes of the name of a branch.
const MAX_BRANCH: usize = 1_000;
/// The answer that allows a call.
const ALLOW: &str = "allow";

/// Returns the tools of the servers behind a gateway. The servers end with the toolset.
pub(crate) fn serving(service: Arc<Service>, gateway: Arc<Gateway>) -> ServedTools {
    let (beginning, ending) = (Arc::clone(&gateway), Arc::clone(&gateway));
    let waiting = Arc::<WaitingCalls>::default();
    let left = Arc::clone(&waiting);
    ServedTools {
        toolset: Arc::new(Server {
            service,
            gateway,
            pending: PendingQuestions::default(),
            waiting,
            subscribed: Arc::default(),
        }),
        workers: 1,
        beforehand: Some(Box::pin(async move { beginning.begin().await })),
        meanwhile: None,
        afterwards: Some(Box::pin(async move {
            left.clear();
            let _left_behind = timeout(CLOSING, ending.close()).await;
        })),
    }
}

struct Server {
    service: Arc<Service>,
    gateway: Arc<Gateway>,
    /// Questions of Portolan's own.
    pending: PendingQuestions,
    /// Calls that wait for answers of their clients to questions of the servers.
    waiting: Arc<WaitingCalls>,
    /// The subscriptions of the clients.
    subscribed: Arc<SubscriptionCounts>,
}

impl Server {
    async fn perform(
        &self,
        mut request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ServiceError> {
        let tool = self.gateway.find(&request.name)?;
        let caller = leading::caller(&self.service, context);
        let arguments = request.arguments.take().unwrap_or_default();
        if WaitingCalls::has_form_of_state(&request) {
            let about = Waiter { caller: caller.name(), about: about(&tool, &arguments) };
            return self.continued(&about, &request, context).await;
        }
        let does = hook::deed(&tool.server, &tool.tool.name, &arguments).map(Box::new);
        let call = GatewayCall {
            tool,
            arguments,
            client: caller.name().to_owned(),
            does,
            offer: None,
            branch: branch_of(context),
        };
        let mut judged = self.gateway.judge(call).await;
        match judged.answer.decision {
            Decision::Allow => {}
            Decision::Block => return Ok(self.refused(&judged, &caller).await),
            Decision::Ask => match self.ask(&judged, &caller, &request, context).await? {
                AskResult::Answered(reply) if reply.word.as_str() == ALLOW => {
                    judged = self.gateway.judge_again(&judged).await;
                    if judged.answer.decision == Decision::Block {
                        return Ok(self.refused(&judged, &caller).await);
                    }
                    self.gateway.allowed_by_person(&mut judged, reply.caller.name()).await?;
                }
                AskResult::Answered(_) => return Ok(self.refused(&judged, &caller).await),
                AskResult::Declined if self.can_ask(&caller, context) => {
                    return Ok(self.refused(&judged, &caller).await);
                }
                AskResult::Declined => {
                    if !self.is_allowed_before(&mut judged).await? {
                        return Ok(self.refused(&judged, &caller).await);
                    }
                }
                AskResult::Pending(question) => return Ok(question.into()),
            },
        }
        let waiter = Waiter { caller: caller.name(), about: judged.about() };
        let call = self.begin(judged, context);
        self.lead(call, &waiter, &request, context).await
    }

    /// Performs a request that is allowed, and passes on the progress that the server reports.
    async fn passed_on(&self, judged: JudgedCall, context: &RequestContext<RoleServer>) -> Result<Value, CallError> {
        let meta = meta_of(context);
        match Progress::wanted(context) {
            None => self.gateway.perform(judged, meta, None, None).await,
            Some(progress) => {
                let performing = self.gateway.perform(judged, meta, Some(progress.of_server()), None);
                progress.notify_during(performing, &context.peer).await
            }
        }
    }

    /// Checks whether a person has allowed a call about which their client could not ask them. Otherwise, the call waits
    /// for a person, and the remedies say so.
    async fn is_allowed_before(&self, judged: &mut JudgedCall) -> Result<bool, ServiceError> {
        match self.gateway.park(judged).await {
            Ok(ParkResult::Allowed(person)) => {
                self.gateway.allowed_by_person(judged, &person).await?;
                Ok(true)
            }
            parked => {
                judged.answer.remedies.splice(0..0, [park_remedy(parked)]);
                Ok(false)
            }
        }
    }

    /// Checks whether the client can ask its person, and the answer would count.
    fn can_ask(&self, caller: &Caller, context: &RequestContext<RoleServer>) -> bool {
        caller.can_ask && leading::client_may_ask(&self.service, context, "portolan gate allow").is_ok()
    }

    /// Asks the person at the client about a call. Declined if only another person could answer.
    async fn ask(
        &self,
        judged: &JudgedCall,
        caller: &Caller,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<AskResult, ServiceError> {
        if !self.can_ask(caller, context) {
            return Ok(AskResult::Declined);
        }
        let OfferedTool { server, tool, .. } = judged.tool();
        let arguments = serde_json::to_string(judged.arguments()).expect("JSON");
        let arguments: String = arguments.chars().take(MAX_SHOWN).collect();
        let message = format!(
            "The agent wants to call {} of {} with {arguments}. {}",
            clip(&tool.name),
            clip(server),
            judged.answer.reason
        );
        let answers = [(ALLOW, "Allow this call, on record"), ("refuse", "Refuse it")];
        let question = Question {
            about: judged.about(),
            message,
            answers: answers.map(|(word, does)| (word.to_owned(), does.to_owned())).to_vec(),
        };
        ask::ask(&self.pending, &question, request, context).await
    }

    /// Returns the refusal of a call.
    async fn refused(&self, judged: &JudgedCall, caller: &Caller) -> CallToolResponse {
        let Refusal { text, data } = self.refusal(judged, caller).await;
        let mut refused = CallToolResult::error(vec![rmcp::model::ContentBlock::text(text)]);
        refused.structured_content = Some(data);
        refused.into()
    }

    /// Returns why a call is refused, with the situations of the runs that decide about it.
    async fn refusal(&self, judged: &JudgedCall, caller: &Caller) -> Refusal {
        let views = self.views(caller).await;
        let answer = &judged.answer;
        let mut text = format!("Refused: {}", answer.reason);
        for remedy in &answer.remedies {
            let _written = write!(text, "\n- {remedy}");
        }
        if !views.is_empty() {
            let _written = write!(text, "\n\n{}", tasks::of_runs(&views));
        }
        let guards: Vec<&str> = judged.objections().map(|judgement| judgement.guard.as_str()).collect();
        let situations: Vec<Value> =
            views.iter().map(|view| json!({ "run": view.address.to_string(), "situation": view.situation })).collect();
        let error = json!({ "code": "refused", "message": answer.reason, "help": answer.remedies.join("; "), "guards": guards });
        Refusal { text, data: json!({ "error": error, "situations": situations }) }
    }

    /// Returns the situations of the runs that restrict calls. One that cannot be read has been named in the reason.
    async fn views(&self, caller: &Caller) -> Vec<View> {
        let mut views = Vec::new();
        for address in self.gateway.runs().await.unwrap_or_default() {
            views.extend(self.service.view(&Request::of(address), caller).await.ok());
        }
        views
    }
}

/// Returns the fields of a request's `_meta` that are for its server.
fn meta_of(context: &RequestContext<RoleServer>) -> Map<String, Value> {
    let is_own = |name: &str| name == "progressToken" || name == BRANCH || name.starts_with(PROTOCOL);
    let meta = context.meta.iter().filter(|(name, _)| !is_own(name));
    meta.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns the branch of a run that a request names.
fn branch_of(context: &RequestContext<RoleServer>) -> Option<String> {
    context.meta.get(BRANCH).and_then(Value::as_str).filter(|branch| branch.len() <= MAX_BRANCH).map(str::to_owned)
}

/// A refusal, as text and as data.
struct Refusal {
    text: String,
    data: Value,
}

/// Returns a server's result in the form of MCP.
fn typed<T: DeserializeOwned>(what: &str, result: Value) -> Result<T, ServiceError> {
    serde_json::from_value(result).map_err(|error| {
        let message = format!("the result of `{}` is not one of MCP: {error}", clip(what));
        ServiceError::failed("server_failed", message, "report this to the author of the server")
    })
}

/// Returns what is to be done about a call that waits for a person, or was refused by one.
fn park_remedy(parked: Result<ParkResult, ServiceError>) -> String {
    match parked {
        Ok(ParkResult::Waits(token)) => format!(
            "a person must allow it: they see it with `portolan gate waiting`, and allow it with \
             `portolan gate allow {token}`; then make the same call again, which passes once"
        ),
        Ok(ParkResult::Refused(person)) => format!("{} has refused this call: do something else", clip(&person)),
        Ok(ParkResult::Allowed(person)) => format!("{} has allowed it", clip(&person)),
        Err(error) => format!("no person can be asked: {}; {}", error.message, error.help),
    }
}

/// Returns a call's error, as a result that models read.
fn failed(error: &ServiceError) -> CallToolResponse {
    let why = json!({ "code": error.code, "message": error.message, "help": error.help });
    result(json!({ "error": why }), true).into()
}

/// Returns what servers list in the form of MCP, without what has another form.
fn known<T: DeserializeOwned>(listed: Vec<Value>) -> Vec<T> {
    listed.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect()
}

/// Returns a tool as clients are shown it. `None` if its server describes it in a form that MCP does not know.
fn shown(offered: &OfferedTool) -> Option<Tool> {
    let mut tool: Value = serde_json::to_value(&offered.tool).ok()?;
    tool["name"] = json!(offered.name);
    if !tool["inputSchema"].is_object() {
        tool["inputSchema"] = json!({ "type": "object" });
    }
    serde_json::from_value(tool).ok()
}

impl Toolset for Server {
    fn manners(&self) -> Manners {
        Manners { bounds: Bounds { line: 16 << 20, values: 500_000 }, ..Manners::default() }
    }

    fn about(&self) -> ServerConfig {
        // A server may connect at any time, so that what the servers announce cannot be awaited.
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_completions()
            .enable_tasks()
            .build();
        capabilities.logging = Some(JsonObject::new());
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("portolan", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    fn tools(&self) -> Vec<Tool> {
        self.gateway.offered().iter().filter_map(|tool| shown(tool)).collect()
    }

    fn open_tools(&self) -> ToolsFuture<'_> {
        Box::pin(async { self.gateway.open().await.iter().filter_map(|tool| shown(tool)).collect() })
    }

    /// Checks whether a server has the tool, withheld or not.
    fn has(&self, tool: &str) -> bool {
        !matches!(self.gateway.find(tool), Err(error) if error.code == "unknown_tool")
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.gateway.changes())
    }

    fn offer_changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.gateway.offer_changes())
    }

    fn resources(&self) -> Vec<Resource> {
        known(self.gateway.resources())
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        known(self.gateway.templates())
    }

    fn prompts(&self) -> Vec<Prompt> {
        known(self.gateway.prompts())
    }

    fn read<'a>(&'a self, uri: &'a str, context: &'a RequestContext<RoleServer>) -> Text<'a> {
        Box::pin(self.read_resource(uri, context))
    }

    fn has_updates(&self, uri: &str) -> bool {
        self.gateway.reports_updates(uri)
    }

    fn subscribe<'a>(&'a self, uri: &'a str, context: &'a RequestContext<RoleServer>) -> Subscribed<'a> {
        Box::pin(self.subscribe_to(uri, context))
    }

    fn prompt<'a>(
        &'a self,
        request: &'a GetPromptRequestParams,
        context: &'a RequestContext<RoleServer>,
    ) -> Messages<'a> {
        Box::pin(self.get_prompt(request, context))
    }

    fn complete<'a>(
        &'a self,
        request: &'a CompleteRequestParams,
        context: &'a RequestContext<RoleServer>,
    ) -> Completion<'a> {
        Box::pin(async move { self.completed(request, context).await.unwrap_or_default() })
    }

    fn scope(&self, _tool: &str) -> Scope {
        Scope::Run
    }

    fn patience(&self, _tool: &str) -> Option<Duration> {
        Some(PATIENCE)
    }

    fn call(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Answer<'_> {
        Box::pin(async move {
            match self.perform(request, &context).await {
                Ok(answer) => Ok(answer),
                Err(error) if error.code == "unknown_tool" => Err(ErrorData::invalid_params(error.to_string(), None)),
                Err(error) => Ok(failed(&error)),
            }
        })
    }
}
