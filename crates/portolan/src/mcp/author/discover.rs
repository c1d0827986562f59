//! Lists servers and their tools. A server that cannot be asked is listed with the reason.

use std::sync::Arc;

use portolan_core::diagnostic::{clip, closest, list};
use portolan_core::present::Redaction;
use portolan_runtime::author::ServerList;
use portolan_runtime::definition::DefinitionError;
use portolan_runtime::servers::{CallError, ServerAbout, Tool};
use portolan_runtime::service::ServiceError;
use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Server, answers};
use crate::mcp::arguments::Arguments;

pub(super) async fn servers(server: &Server, arguments: Arguments) -> Result<CallToolResult, DefinitionError> {
    arguments.finish()?;
    let known = server.author.known(&server.service)?;
    let names: Vec<String> = known.servers.names().map(str::to_owned).collect();
    let replies = each(&known, &names, |servers, name| async move { servers.about(&name).await }).await;
    let items = names.iter().zip(replies).map(|(name, about)| match about {
        Ok(about) => introduced(name, about, &known),
        Err(error) => json!({ "name": name, "definedIn": known.defined_in(name), "error": error }),
    });
    Ok(answers::done(json!({ "items": items.collect::<Vec<Value>>() })))
}

fn introduced(name: &str, about: ServerAbout, known: &ServerList) -> Value {
    let mut object = json!({ "name": name, "definedIn": known.defined_in(name) });
    for (key, text) in [("title", about.title), ("instructions", about.instructions), ("version", about.version)] {
        if let Some(text) = text {
            object[key] = json!(text);
        }
    }
    object
}

pub(super) async fn tools(server: &Server, mut arguments: Arguments) -> Result<CallToolResult, DefinitionError> {
    let name = arguments.string("serverName");
    arguments.finish()?;
    let known = server.author.known(&server.service)?;
    let names = match &name {
        Some(name) => vec![exists(&known, name)?.to_owned()],
        None => known.servers.names().map(str::to_owned).collect(),
    };
    let replies = each(&known, &names, |servers, name| async move { servers.tools(&name).await }).await;
    let (mut items, mut errors) = (Vec::new(), Vec::new());
    for (server, tools) in names.iter().zip(replies) {
        match tools {
            Ok(tools) => items.extend(tools.iter().map(|tool| {
                json!({ "name": tool.name, "description": tool.description.as_deref().unwrap_or_default(), "server": server })
            })),
            Err(mut error) => {
                error["server"] = json!(server);
                errors.push(error);
            }
        }
    }
    if let (Some(_), Some(error)) = (&name, errors.first()) {
        return Ok(answers::failed(error.clone(), serde_json::Map::new()));
    }
    let mut object = json!({ "items": items });
    if !errors.is_empty() {
        object["errors"] = json!(errors);
    }
    Ok(answers::done(object))
}

pub(super) async fn tool(server: &Server, mut arguments: Arguments) -> Result<CallToolResult, DefinitionError> {
    let name = arguments.required("serverName");
    let wanted = arguments.required("toolName");
    arguments.finish()?;
    let known = server.author.known(&server.service)?;
    exists(&known, &name)?;
    known.may_start(&name)?;
    let tools = match known.servers.tools(&name).await {
        Ok(tools) => tools,
        Err(error) => return Ok(answers::failed(failure(&error, &known.hidden), serde_json::Map::new())),
    };
    let tool = tools.iter().find(|tool| tool.name == wanted).ok_or_else(|| no_tool(&name, &wanted, &tools))?;
    let mut object = json!({
        "name": tool.name,
        "description": tool.description.as_deref().unwrap_or_default(),
        "inputSchema": tool.input_schema,
    });
    for (key, value) in [("outputSchema", &tool.output_schema), ("annotations", &tool.annotations)] {
        if let Some(value) = value {
            object[key] = value.clone();
        }
    }
    Ok(answers::done(object))
}

/// Returns the name of an existing server.
pub(super) fn exists<'n>(known: &ServerList, name: &'n str) -> Result<&'n str, ServiceError> {
    let names: Vec<&str> = known.servers.names().collect();
    if names.contains(&name) {
        return Ok(name);
    }
    let near = closest(name, names.iter().copied()).map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    let help = format!("{near}there are {}", list(&names));
    Err(ServiceError::refused("unknown_server", format!("there is no server `{}`", clip(name)), help))
}

fn no_tool(server: &str, wanted: &str, tools: &[Tool]) -> ServiceError {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let near = closest(wanted, names.iter().copied());
    let help = near.map_or_else(|| format!("it has {}", list(&names)), |near| format!("did you mean `{near}`?"));
    let message = format!("server `{}` has no tool `{}`", clip(server), clip(wanted));
    ServiceError::refused("unknown_tool", message, help)
}

/// Returns why a server could not be asked, with its last output.
pub(super) fn failure(error: &CallError, hidden: &Redaction) -> Value {
    let mut object = answers::error_of(error.code, &hidden.text(&error.message), &hidden.text(&error.help));
    if !error.stderr.is_empty() {
        object["stderr"] = json!(hidden.text(error.stderr.trim_end()));
    }
    object
}

/// Asks all servers in parallel. The answers are in the order of the names.
async fn each<T: Send + 'static, F>(
    known: &ServerList,
    names: &[String],
    ask: impl Fn(Arc<portolan_runtime::servers::Servers>, String) -> F,
) -> Vec<Result<T, Value>>
where
    F: Future<Output = Result<T, CallError>> + Send + 'static,
{
    let mut asking = JoinSet::new();
    let mut answered: Vec<Option<Result<T, Value>>> = Vec::new();
    for (nth, name) in names.iter().enumerate() {
        match known.may_start(name) {
            Err(error) => answered.push(Some(Err(answers::error_of(error.code, &error.message, &error.help)))),
            Ok(()) => {
                answered.push(None);
                let request = ask(Arc::clone(&known.servers), name.clone());
                asking.spawn(async move { (nth, request.await) });
            }
        }
    }
    while let Some(joined) = asking.join_next().await {
        if let Ok((nth, answer)) = joined {
            answered[nth] = Some(answer.map_err(|error| failure(&error, &known.hidden)));
        }
    }
    let lost = || Err(answers::error_of("servers-closed", "the servers were closed", "call again"));
    answered.into_iter().map(|answer| answer.unwrap_or_else(lost)).collect()
}
