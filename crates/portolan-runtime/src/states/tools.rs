//! The tools of a state: how models are shown them, and who answers.

use std::sync::Arc;

use portolan_core::chat::{ToolSpec, Unanswered, shown};
use portolan_core::engine::{AfterCrash, ToolCall, ToolUsed, shared_tool};
use portolan_core::run::{Done, Reply};
use serde_json::{Value, json};

use super::Functions;
use crate::clock::Clock;
use crate::tools::Tools;

/// How the tools of a state are shown to its model, in their order.
///
/// # Errors
/// There is no such tool, or its server does not list its tools.
pub(super) async fn specs(names: &[String], tools: &Tools, functions: &Functions) -> Result<Vec<ToolSpec>, Unanswered> {
    let mut specs = Vec::with_capacity(names.len());
    for (name, shown) in names.iter().zip(shown(names.iter().map(String::as_str))) {
        let own = shared_tool(name).or_else(|| functions.spec(name).cloned());
        let spec = match (own, name.split_once('/')) {
            (Some(spec), _) => spec,
            (None, Some((server, tool))) => of_server(name, (server, tool), tools).await?,
            (None, None) => return Err(unknown(name, "name it as `server/tool`, or register a function of that name")),
        };
        specs.push(ToolSpec { name: shown, ..spec });
    }
    Ok(specs)
}

async fn of_server(name: &str, (server, tool): (&str, &str), tools: &Tools) -> Result<ToolSpec, Unanswered> {
    let open = || json!({ "type": "object" });
    let Some(listed) = tools.listed(server).await else {
        // Written answers stand for the server, and nobody says what its tools take.
        return Ok(ToolSpec { name: name.to_owned(), description: String::new(), parameters: open() });
    };
    let listed = listed.map_err(|error| Unanswered {
        code: error.code.to_owned(),
        message: format!("{}; {}", error.message, error.help),
        may_pass: true,
        retry_after_ms: None,
    })?;
    let found = listed.iter().find(|listed| listed.name == tool);
    let found = found.ok_or_else(|| {
        let near = portolan_core::diagnostic::closest(tool, listed.iter().map(|listed| listed.name.as_str()));
        let help =
            near.map_or_else(|| "look at what the server lists".to_owned(), |near| format!("did you mean `{near}`?"));
        unknown(name, &help)
    })?;
    let parameters = Some(found.input_schema.clone()).filter(Value::is_object).unwrap_or_else(open);
    Ok(ToolSpec { name: name.to_owned(), description: found.description.clone().unwrap_or_default(), parameters })
}

fn unknown(name: &str, help: &str) -> Unanswered {
    let message = format!("there is no tool `{}`; {help}", portolan_core::diagnostic::clip(name));
    Unanswered { code: "unknown-tool".to_owned(), message, may_pass: false, retry_after_ms: None }
}

/// Uses a tool.
pub(super) async fn perform(used: &ToolUsed, tools: &Tools, functions: &Functions, clock: &Clock) -> Done {
    if let Some(done) = functions.answer(&used.tool, &used.arguments).await {
        return done;
    }
    let Some((server, tool)) = used.tool.split_once('/') else {
        return Done::Failed(format!("there is no tool `{}`", used.tool));
    };
    let call = ToolCall {
        frame: used.frame.clone(),
        node: used.node.clone(),
        since: used.since,
        flow: used.flow.clone(),
        server: server.to_owned(),
        tool: tool.to_owned(),
        arguments: used.arguments.clone(),
        retries: 0,
        timeout_ms: None,
        deadline: None,
        not_before: None,
        text_first: false,
        after_crash: AfterCrash::Ask,
    };
    let turn = tools.turn(&call);
    match tools.call(&call, turn, clock, serde_json::Map::new()).await.reply {
        Reply::Output(output) => Done::Output(output.unwrap_or_else(|| Arc::new(Value::Null))),
        Reply::Failed(fault) => Done::Failed(fault.message),
    }
}
