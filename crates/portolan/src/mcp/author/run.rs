//! Runs graphs and tools to try them out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portolan_core::graph::DEFAULT_CALL_TIMEOUT_MS;
use portolan_core::present::Redaction;
use portolan_core::reply::{Prefer, output};
use portolan_core::run::Fault;
use portolan_runtime::author::template;
use portolan_runtime::definition::DefinitionError;
use portolan_runtime::drive::{ExecutionObserver, Outcome};
use portolan_runtime::servers::ToolCall;
use portolan_runtime::service::{FunctionRun, How, ServiceError};
use portolan_runtime::tools::Tools;
use rmcp::RoleServer;
use rmcp::model::CallToolResult;
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};

use super::history::History;
use super::{Server, answers, discover, evaluate};
use crate::mcp::arguments::Arguments;
use crate::mcp::{graph::trace, sender};

/// Runs a tool of the file, or a draft. A draft takes precedence over a tool of its name, and is not stored.
pub(super) async fn graph(
    server: &Server,
    mut arguments: Arguments,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, DefinitionError> {
    let name = arguments.string("toolName");
    let draft = arguments.object("toolDefinition");
    let input = Value::Object(arguments.required_object("arguments"));
    let logging = arguments.flag("logging");
    arguments.finish()?;
    let (loaded, definition) = match (name, draft) {
        (Some(name), None) => {
            let loaded = server.author.loaded(&server.service)?;
            let definition = Arc::clone(loaded.functions.called(Some(&name))?);
            (loaded, definition)
        }
        (None, Some(mut draft)) => {
            draft.shift_remove("revision");
            server.author.drafted(&server.service, Value::Object(draft))?
        }
        _ => {
            let message = "give either `toolName`, a tool of the file, or `toolDefinition`, a draft";
            return Err(ServiceError::refused("invalid_arguments", message, "leave one of them out").into());
        }
    };
    server.service.may_start_servers(&definition)?;
    let hidden = loaded.redaction(&definition).learning(&input);
    let history = History::new(hidden.clone(), logging);
    let how = How {
        watch: [ExecutionObserver::learning(&hidden), Some(history.watch())]
            .into_iter()
            .flatten()
            .reduce(ExecutionObserver::and),
        trace: trace(context),
        ..How::with(Arc::new(Tools::of(Arc::clone(&loaded.servers))))
    };
    let call = FunctionRun::Called { definition, input, by: sender::agent(context) };
    let finished = server.service.drive(call, how).await.map_err(|error| masked(error, &hidden))?;
    Ok(match finished.outcome {
        Outcome::Done(output) => {
            let mut object = Map::new();
            object.insert("result".to_owned(), output.map_or(Value::Null, Arc::unwrap_or_clone));
            object.extend(history.take_members());
            answers::done(Value::Object(object))
        }
        Outcome::Failed(fault) => answers::failed(failure(&hidden.fault(&fault)), history.take_members()),
        Outcome::Cancelled => answers::failed(
            answers::error_of("cancelled", "the run was cancelled", "run it again"),
            history.take_members(),
        ),
        Outcome::Waiting { node, .. } => {
            let message = format!("`{node}` waits for an agent or a person, which this run cannot do");
            let help = "run it with `portolan run --durable`";
            answers::failed(answers::error_of("waiting", &message, help), history.take_members())
        }
    })
}

/// Masks an error: it may repeat hidden values of the input.
fn masked(error: ServiceError, hidden: &Redaction) -> ServiceError {
    ServiceError { message: hidden.text(&error.message), help: hidden.text(&error.help), ..error }
}

fn failure(fault: &Fault) -> Value {
    let help = match fault.node.as_str() {
        "" => "fix the arguments or the definition".to_owned(),
        node => format!("check `{node}` in `executionHistory`, and the results of the nodes before it"),
    };
    let mut object = answers::error_of(&fault.code, &fault.message, &help);
    object["node"] = json!(fault.node);
    object["detail"] = json!(fault.detail);
    object
}

/// Calls a tool of a server as a node would.
pub(super) async fn tool(server: &Server, mut arguments: Arguments) -> Result<CallToolResult, DefinitionError> {
    let name = arguments.required("server");
    let tool = arguments.required("tool");
    let args = Value::Object(arguments.required_object("args"));
    let context = arguments.any("context").unwrap_or_else(|| Value::Object(Map::new()));
    arguments.finish()?;
    let known = server.author.known(&server.service)?;
    discover::exists(&known, &name)?;
    known.may_start(&name)?;
    let (template, used) = match template(&args) {
        Ok(read) => read,
        Err(fault) => return Ok(answers::failed(evaluate_error(evaluate::unread_error(&fault)), Map::new())),
    };
    let evaluated = match template.eval(&evaluate::scope(&context)) {
        Ok(value) => value.and_then(|value| value.as_object().cloned()).unwrap_or_default(),
        Err(fault) => return Ok(answers::failed(evaluate_error(evaluate::failed_error(&fault)), Map::new())),
    };
    let mut object = Map::new();
    if used {
        object.insert("evaluatedArgs".to_owned(), Value::Object(evaluated.clone()));
    }
    let timeout = Duration::from_millis(known.servers.timeout_ms(&name).unwrap_or(DEFAULT_CALL_TIMEOUT_MS));
    let began = Instant::now();
    let call = ToolCall {
        server: &name,
        tool: &tool,
        arguments: evaluated,
        timeout,
        in_all: None,
        meta: Map::new(),
        progress: None,
    };
    let answer = known.servers.call(call).await;
    let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    object.insert("executionTime".to_owned(), json!(took));
    Ok(match answer {
        Err(error) => answers::failed(discover::failure(&error, &known.hidden), object),
        Ok(answer) => match output(&answer, Prefer::Structured) {
            Ok(output) => {
                object.shift_insert(0, "output".to_owned(), output.unwrap_or(Value::Null));
                answers::done(Value::Object(object))
            }
            Err(error) => {
                let help = format!("getMcpServerTool shows what `{tool}` takes");
                answers::failed(answers::error_of(error.code, &known.hidden.text(&error.message), &help), object)
            }
        },
    })
}

/// Converts the failure of an expression in the arguments into an error of the call.
fn evaluate_error(error: Value) -> Value {
    let help = error["details"]["help"].as_str().unwrap_or("try the expression with testJSONata").to_owned();
    let code = error["details"]["code"].as_str().unwrap_or("expression-error").to_owned();
    let mut object = answers::error_of(&code, error["message"].as_str().unwrap_or_default(), &help);
    object["details"] = error["details"].clone();
    object
}
