//! Questions to the person at the client, by MCP elicitation: a channel that the agent does not control.
//!
//! With protocol revisions that have sessions, the person is asked while the call waits. With 2026-07-28, the client
//! receives the question and repeats the call with its answer. Pending questions are stored, so that an answer to a
//! question that was never asked is ignored.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use portolan_core::run::{Actor, Channel};
use portolan_core::value::Outcome;
use portolan_runtime::service::{Caller, ServiceError};
use portolan_runtime::store::RunId;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    EnumSchema, InputRequest, InputRequiredResult, ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::sender;
use crate::http::Principal;

/// The pending questions, the oldest first.
#[derive(Default)]
pub(super) struct PendingQuestions(Mutex<VecDeque<HandedOut>>);

struct HandedOut {
    state: String,
    about: String,
}

/// A question to ask.
pub(super) struct Question {
    /// The run, the position and its revision. An answer counts only there.
    pub(super) about: String,
    /// The text for the person.
    pub(super) message: String,
    /// The possible answers, each with its effect.
    pub(super) answers: Vec<(String, String)>,
}

/// The most pending questions. An older one is asked again.
const MAX_QUESTIONS: usize = 64;
/// The name of the single input.
const INPUT: &str = "answer";

pub(super) enum AskResult {
    Answered(Answer),
    Declined,
    Pending(InputRequiredResult),
}

/// The answer of the person.
pub(super) struct Answer {
    pub(super) word: Outcome,
    pub(super) note: Option<String>,
    /// The person as the caller.
    pub(super) caller: Caller,
}

/// Returns the error of a call whose question got no valid answer.
pub(super) fn unanswered(refused: &ServiceError) -> ServiceError {
    ServiceError {
        message: "the person was asked in their client's dialog, and has not answered".to_owned(),
        help: "stop, and ask again only when they say so; they can also answer with `portolan runs answer`".to_owned(),
        ..refused.clone()
    }
}

/// Asks the person, or takes the answer that the call contains.
pub(super) async fn ask(
    pending: &PendingQuestions,
    question: &Question,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<AskResult, ServiceError> {
    let Question { about, message, answers } = question;
    let form = form(message.clone(), answers)?;
    let result = if stateless(context) {
        match brought(pending, request, about) {
            Some(result) => result,
            None => return Ok(AskResult::Pending(hand_out(pending, form, about.clone()))),
        }
    } else {
        context.peer.create_elicitation(form).await.map_err(|error| {
            ServiceError::failed(
                "not_asked",
                format!("the client could not ask its user: {error}"),
                "let the person answer with `portolan runs answer`",
            )
        })?
    };
    Ok(match chosen(&result, answers) {
        Some((word, note)) => AskResult::Answered(Answer { word, note, caller: user(sender::principal(context)) }),
        None => AskResult::Declined,
    })
}

/// Returns the person at the client as a caller, by the name that their token was issued to.
pub(super) fn user(principal: Option<&Principal>) -> Caller {
    let name = principal.and_then(|principal| principal.name.as_deref());
    let name = name.unwrap_or("the client's user").to_owned();
    let by = Actor::Person { name, via: Channel::Elicitation };
    Caller { by, can_ask: true }
}

fn form(message: String, answers: &[(String, String)]) -> Result<ElicitRequestParams, ServiceError> {
    let values: Vec<String> = answers.iter().map(|(word, _)| word.clone()).collect();
    let lines: Vec<String> = answers.iter().map(|(word, title)| format!("{word}: {title}")).collect();
    let choice = EnumSchema::builder(values).untitled().description(lines.join("; ")).build();
    let schema =
        ElicitationSchema::builder().required_enum_schema(INPUT, choice).optional_string("note").build().map_err(
            |error| {
                ServiceError::failed(
                    "not_asked",
                    format!("the question cannot be asked: {error}"),
                    "let the person answer with `portolan runs answer`",
                )
            },
        )?;
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema })
}

fn stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn hand_out(pending: &PendingQuestions, form: ElicitRequestParams, about: String) -> InputRequiredResult {
    // Two handles form a token of 80 bits that a client cannot guess.
    let state = format!("{}{}", RunId::random(), RunId::random());
    let mut questions = pending.0.lock().unwrap_or_else(PoisonError::into_inner);
    if questions.len() >= MAX_QUESTIONS {
        questions.pop_front();
    }
    questions.push_back(HandedOut { state: state.clone(), about });
    let request = InputRequest::Elicitation(ElicitRequest::new(form));
    InputRequiredResult::new(Some(BTreeMap::from([(INPUT.to_owned(), request)])), Some(state))
}

/// Takes the answer in a call to a pending question about the same position.
fn brought(pending: &PendingQuestions, request: &CallToolRequestParams, about: &str) -> Option<ElicitResult> {
    let state = request.request_state.as_deref()?;
    let answer = request.input_responses.as_ref()?.get(INPUT)?;
    let mut questions = pending.0.lock().unwrap_or_else(PoisonError::into_inner);
    let at = questions.iter().position(|question| question.state == state && question.about == about)?;
    questions.remove(at);
    serde_json::from_value(answer.clone()).ok()
}

fn chosen(result: &ElicitResult, answers: &[(String, String)]) -> Option<(Outcome, Option<String>)> {
    if result.action != ElicitationAction::Accept {
        return None;
    }
    let content = result.content.as_ref()?;
    let answer = content.get(INPUT).and_then(Value::as_str)?;
    let offered = answers.iter().any(|(word, _)| word == answer);
    let note = content.get("note").and_then(Value::as_str).filter(|note| !note.is_empty()).map(str::to_owned);
    offered.then(|| (Outcome::from(answer), note))
}
