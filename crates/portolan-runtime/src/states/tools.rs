//! The tools of a state: their presentation to models, and their handlers.

use std::sync::Arc;

use portolan_core::chat::{ModelError, ToolSpec, shown};
use portolan_core::engine::{Effect, ModelToolCall, ToolCall, shared_tool};
use portolan_core::graph::{State, Workflow};
use portolan_core::run::{Reply, ToolCallResult};
use portolan_core::schema::Schema;
use serde_json::{Value, json};

use super::Functions;
use crate::clock::Clock;
use crate::servers::CallErrorKind;
use crate::tools::Tools;

/// The available tools.
pub(super) struct AvailableTools<'t> {
    /// The tools of servers.
    pub(super) tools: &'t Tools,
    /// The workflow whose flows are tools.
    pub(super) workflow: Option<&'t Workflow>,
    /// The tools in Rust.
    pub(super) functions: &'t Functions,
}

impl AvailableTools<'_> {
    /// Returns how these tools are shown to a model, in their order.
    ///
    /// # Errors
    /// There is no such tool, or its server does not list its tools.
    pub(super) async fn specs(&self, names: &[String]) -> Result<Vec<ToolSpec>, ModelError> {
        let mut specs = Vec::with_capacity(names.len());
        for (name, shown) in names.iter().zip(shown(names.iter().map(String::as_str))) {
            let own =
                shared_tool(name).or_else(|| self.functions.spec(name).cloned()).or_else(|| self.of_workflow(name));
            let spec = match (own, name.split_once('/')) {
                (Some(spec), _) => spec,
                (None, Some((server, tool))) => of_server(name, (server, tool), self.tools).await?,
                (None, None) => {
                    return Err(unknown(name, "name it as `server/tool` or `run:workflow`, or register a function"));
                }
            };
            specs.push(ToolSpec { name: shown, ..spec });
        }
        Ok(specs)
    }

    fn of_workflow(&self, name: &str) -> Option<ToolSpec> {
        let flow = self.workflow?.find(State::workflow_of(name)?)?;
        let description = if flow.description.is_empty() { &flow.name } else { &flow.description };
        let input = flow.interface.as_ref().and_then(|interface| interface.input.as_ref());
        let parameters = input.map(|schema| schema.value.value().clone()).filter(|schema| schema["type"] == "object");
        let parameters = parameters.unwrap_or_else(|| json!({ "type": "object" }));
        Some(ToolSpec { name: name.to_owned(), description: description.clone(), parameters })
    }
}

async fn of_server(name: &str, (server, tool): (&str, &str), tools: &Tools) -> Result<ToolSpec, ModelError> {
    let open = || json!({ "type": "object" });
    let Some(listed) = tools.listed(server).await else {
        // Written answers replace the server, so the parameters of its tools are unknown.
        return Ok(ToolSpec { name: name.to_owned(), description: String::new(), parameters: open() });
    };
    let listed = listed.map_err(|error| ModelError {
        code: error.code.to_owned(),
        message: format!("{}; {}", error.message, error.help),
        // Which servers there are does not change during a run.
        may_pass: !matches!(error.kind, CallErrorKind::UnknownServer | CallErrorKind::Disabled),
        retry_after_ms: None,
    })?;
    let found = listed.iter().find(|listed| listed.name == tool);
    let found = found.ok_or_else(|| {
        let near = portolan_core::diagnostic::closest(tool, listed.iter().map(|listed| listed.name.as_str()));
        let help = near.map_or_else(
            || "check the tools that the server lists".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        unknown(name, &help)
    })?;
    let parameters = Some(found.input_schema.clone()).filter(Value::is_object).unwrap_or_else(open);
    Ok(ToolSpec { name: name.to_owned(), description: found.description.clone().unwrap_or_default(), parameters })
}

fn unknown(name: &str, help: &str) -> ModelError {
    let message = format!("there is no tool `{}`; {help}", portolan_core::diagnostic::clip(name));
    ModelError { code: "unknown-tool".to_owned(), message, may_pass: false, retry_after_ms: None }
}

/// Returns why arguments do not match the schema of a server's tool. `None` also if the kind of schema is unknown here:
/// then the server decides.
async fn unfit(used: &ModelToolCall, (server, tool): (&str, &str), tools: &Tools) -> Option<String> {
    let listed = tools.listed(server).await?.ok()?;
    let listed = listed.iter().find(|listed| listed.name == tool)?;
    let faults = Schema::compile(&listed.input_schema).ok()?.check(&used.arguments);
    if faults.is_empty() {
        return None;
    }
    let texts: Vec<String> = faults.iter().take(5).map(ToString::to_string).collect();
    Some(format!("the arguments are not valid for `{}`: {}", used.tool, texts.join("; ")))
}

/// Performs a tool call.
pub(super) async fn perform(
    (effect, used): (&Effect, &ModelToolCall),
    tools: &Tools,
    functions: &Functions,
    clock: &Clock,
) -> ToolCallResult {
    if let Some(done) = functions.answer(&used.tool, &used.arguments).await {
        return done;
    }
    let Some((server, tool)) = used.tool.split_once('/') else {
        return ToolCallResult::Failed(format!("there is no tool `{}`", used.tool));
    };
    if let Some(lacks) = unfit(used, (server, tool), tools).await {
        return ToolCallResult::Failed(lacks);
    }
    let call = ToolCall {
        server: server.to_owned(),
        tool: tool.to_owned(),
        arguments: used.arguments.clone(),
        retries: 0,
        timeout_ms: None,
        text_first: false,
    };
    let turn = tools.turn(effect);
    match tools.call((effect, &call), turn, clock, serde_json::Map::new()).await {
        Reply::Output(output) => ToolCallResult::Output(output.unwrap_or_else(|| Arc::new(Value::Null))),
        Reply::Failed(fault) => ToolCallResult::Failed(fault.message),
    }
}
