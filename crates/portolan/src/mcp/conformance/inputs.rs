//! Tools and a prompt that are called in several rounds: the client answers a request by repeating the call (MRTR,
//! 2026-07-28).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use portolan_runtime::store::RunId;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, InputRequest, InputRequiredResult, InputResponses, PromptMessage, Role,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

pub(super) const TOOLS: &[(&str, &str)] = &[
    ("test_input_required_result_elicitation", "Asks for a name"),
    ("test_input_required_result_sampling", "Asks the client's model"),
    ("test_input_required_result_list_roots", "Asks for the client's roots"),
    ("test_input_required_result_request_state", "Asks, and checks its state"),
    ("test_input_required_result_multiple_inputs", "Asks for several things at once"),
    ("test_input_required_result_multi_round", "Asks twice"),
    ("test_input_required_result_tampered_state", "Asks, and refuses a changed state"),
    ("test_input_required_result_capabilities", "Asks only for what the client offers"),
];

/// The most states that are kept.
const MOST: usize = 1_000;

/// The states that were handed out and have not come back.
#[derive(Default)]
pub(super) struct States(Mutex<BTreeSet<String>>);

impl States {
    fn hand_out(&self) -> String {
        let state = format!("{}{}", RunId::random(), RunId::random());
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if states.len() >= MOST {
            states.clear();
        }
        states.insert(state.clone());
        state
    }

    /// Takes a state back. It counts once.
    fn take(&self, state: Option<&str>) -> Result<(), ErrorData> {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state.is_some_and(|state| states.remove(state)) {
            true => Ok(()),
            false => Err(ErrorData::invalid_params("`requestState` is not one that was handed out", None)),
        }
    }
}

type Answer = Result<CallToolResponse, ErrorData>;
type Requests = Vec<(&'static str, Value)>;

fn form(message: &str, name: &str, kind: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { name: { "type": kind } }, "required": [name] });
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema } })
}

fn sample(text: &str, tokens: u32) -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
    json!({ "method": "sampling/createMessage", "params": { "messages": [message], "maxTokens": tokens } })
}

fn roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}

fn required(requests: Requests, state: Option<String>) -> Result<InputRequiredResult, ErrorData> {
    let mut all: BTreeMap<String, InputRequest> = BTreeMap::new();
    for (key, request) in requests {
        let request =
            serde_json::from_value(request).map_err(|error| ErrorData::internal_error(error.to_string(), None));
        all.insert(key.to_owned(), request?);
    }
    Ok(InputRequiredResult::new(Some(all), state))
}

fn text_answer(text: impl Into<String>) -> Answer {
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
}

/// Returns the answer to one request, which must be an object.
fn answer<'r>(responses: Option<&'r InputResponses>, key: &str) -> Option<&'r Value> {
    responses?.get(key).filter(|answer| answer.is_object())
}

/// Calls a tool. Returns `None` if it is not one of these.
pub(super) fn call(
    states: &States,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Answer> {
    let responses = request.input_responses.as_ref();
    let given = |key: &str| answer(responses, key);
    let state = request.request_state.as_deref();
    let once = |requests: Requests| required(requests, None).map(Into::into);
    let stated = |requests: Requests| required(requests, Some(states.hand_out())).map(Into::into);
    Some(match request.name.as_ref() {
        "test_input_required_result_elicitation" => match given("user_name") {
            Some(answer) => text_answer(format!("Hello, {}!", answer["content"]["name"].as_str().unwrap_or_default())),
            None => once(vec![("user_name", form("What is your name?", "name", "string"))]),
        },
        "test_input_required_result_sampling" => match given("capital_question") {
            Some(answer) => text_answer(answer["content"]["text"].as_str().unwrap_or("no text")),
            None => once(vec![("capital_question", sample("What is the capital of France?", 100))]),
        },
        "test_input_required_result_list_roots" => match given("client_roots") {
            Some(answer) => text_answer(answer["roots"].to_string()),
            None => once(vec![("client_roots", roots())]),
        },
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            match given("confirm") {
                Some(_) => states.take(state).and_then(|()| text_answer("state-ok")),
                None => stated(vec![("confirm", form("Please confirm", "ok", "boolean"))]),
            }
        }
        "test_input_required_result_multiple_inputs" => {
            let keys = ["user_name", "greeting", "client_roots"];
            match keys.iter().all(|key| given(key).is_some()) {
                true => states.take(state).and_then(|()| text_answer("all inputs are here")),
                false => stated(vec![
                    ("user_name", form("What is your name?", "name", "string")),
                    ("greeting", sample("Generate a greeting", 50)),
                    ("client_roots", roots()),
                ]),
            }
        }
        "test_input_required_result_multi_round" => match (given("step1"), given("step2")) {
            (_, Some(_)) => states.take(state).and_then(|()| text_answer("both steps are done")),
            (Some(_), None) => states.take(state).and_then(|()| {
                stated(vec![("step2", form("Step 2: What is your favorite color?", "color", "string"))])
            }),
            (None, None) => stated(vec![("step1", form("Step 1: What is your name?", "name", "string"))]),
        },
        "test_input_required_result_capabilities" => match responses {
            Some(_) => text_answer("the inputs are here"),
            None => offered(context),
        },
        _ => return None,
    })
}

/// Asks for what the client offers, and nothing else.
fn offered(context: &RequestContext<RoleServer>) -> Answer {
    let capabilities = context.client_capabilities().unwrap_or_default();
    let mut requests: Requests = Vec::new();
    if capabilities.elicitation.is_some() {
        requests.push(("user_name", form("What is your name?", "name", "string")));
    }
    if capabilities.sampling.is_some() {
        requests.push(("greeting", sample("Generate a greeting", 50)));
    }
    match requests.is_empty() {
        true => text_answer("the client offers nothing"),
        false => required(requests, None).map(Into::into),
    }
}

/// Returns the answer to the prompt that asks for its context. Returns `None` for other prompts.
pub(super) fn prompt(request: &GetPromptRequestParams) -> Option<GetPromptResponse> {
    if request.name != "test_input_required_result_prompt" {
        return None;
    }
    let Some(answer) = answer(request.input_responses.as_ref(), "user_context") else {
        let question = form("What context should the prompt use?", "context", "string");
        return required(vec![("user_context", question)], None).ok().map(Into::into);
    };
    let text = format!("The context is {}", answer["content"]["context"].as_str().unwrap_or_default());
    Some(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into())
}
