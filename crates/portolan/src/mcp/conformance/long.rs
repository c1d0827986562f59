//! Tools whose calls become tasks (the extension `io.modelcontextprotocol/tasks`).

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, ErrorData, InputRequest,
    InputRequiredResult,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use tokio::time::sleep;

pub(super) const TOOLS: &[(&str, &str)] = &[
    ("greet", "Greets, at once"),
    ("slow_compute", "Takes as many seconds as it is asked to"),
    ("failing_job", "Fails after a while; a client without tasks cannot call it"),
    ("protocol_error_job", "Leads to an error of the protocol after a while"),
    ("confirm_delete", "Asks for a confirmation while it works"),
    ("multi_input", "Asks for two things while it works"),
    ("test_tool_with_task", "Asks for a name, and then becomes a task; a client without tasks cannot call it"),
];

/// The longest calculation in seconds.
const MOST_SECONDS: u64 = 600;

type Answer = Result<CallToolResponse, ErrorData>;

/// Returns whether the calls of a tool become tasks unless they are answered at once.
pub(super) fn is_long(tool: &str) -> bool {
    TOOLS.iter().any(|(name, _)| *name == tool)
}

/// Calls a tool. Returns `None` if it is not one of these.
pub(super) async fn call(request: &CallToolRequestParams, context: &RequestContext<RoleServer>) -> Option<Answer> {
    let argument = |name: &str| request.arguments.as_ref().and_then(|arguments| arguments.get(name));
    let answered = |name: &str| request.input_responses.as_ref().and_then(|answers| answers.get(name));
    let name = request.name.as_ref();
    if matches!(name, "failing_job" | "test_tool_with_task") && !takes_tasks(context) {
        let needed = ClientCapabilities::builder().enable_tasks().build();
        return Some(Err(ErrorData::missing_required_client_capability(needed)));
    }
    Some(match name {
        "greet" => text(format!("Hello, {}!", argument("name").and_then(Value::as_str).unwrap_or_default())),
        "slow_compute" => {
            let seconds = argument("seconds").and_then(Value::as_u64).unwrap_or_default().min(MOST_SECONDS);
            sleep(Duration::from_secs(seconds)).await;
            text(format!("computed for {seconds} s"))
        }
        "failing_job" => {
            sleep(Duration::from_millis(500)).await;
            Ok(CallToolResult::error(vec![ContentBlock::text("the job failed")]).into())
        }
        "protocol_error_job" => {
            sleep(Duration::from_millis(500)).await;
            Err(ErrorData::internal_error("the job broke", None))
        }
        "confirm_delete" => match answered("confirm") {
            Some(answer) => text(format!("confirmed: {}", answer["content"]["confirm"])),
            None => asking(&[("confirm", form("Delete the file?", "confirm", "boolean"))]).await,
        },
        "multi_input" => match (answered("first"), answered("second")) {
            (Some(_), Some(_)) => text("both inputs are here"),
            _ => {
                let first = form("What is the first?", "name", "string");
                asking(&[("first", first), ("second", form("What is the second?", "name", "string"))]).await
            }
        },
        "test_tool_with_task" => match answered("user_name") {
            Some(answer) => {
                sleep(Duration::from_millis(100)).await;
                text(format!("Hello, {}!", answer["content"]["name"].as_str().unwrap_or_default()))
            }
            // At once, so that the call is no task yet.
            None => required(&[("user_name", form("What is your name?", "name", "string"))]),
        },
        _ => return None,
    })
}

fn takes_tasks(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

fn text(text: impl Into<String>) -> Answer {
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
}

/// Asks after a pause, so that the call is a task by then.
async fn asking(questions: &[(&str, Value)]) -> Answer {
    sleep(Duration::from_millis(50)).await;
    required(questions)
}

fn required(questions: &[(&str, Value)]) -> Answer {
    let mut requests: BTreeMap<String, InputRequest> = BTreeMap::new();
    for (name, question) in questions {
        let request = serde_json::from_value(question.clone());
        let request = request.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        requests.insert((*name).to_owned(), request);
    }
    Ok(InputRequiredResult::new(Some(requests), None).into())
}

fn form(message: &str, name: &str, kind: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { name: { "type": kind } }, "required": [name] });
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema } })
}
