//! Questions to the person at the client, by MCP elicitation: a channel that the agent does not hold.
//!
//! Clients of the revisions that hold a session are asked while the call waits. Clients of 2026-07-28 are handed the
//! question and call again with its answer; what they were handed is remembered here, so that an answer to a
//! question that was never asked counts for nothing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use portolan_core::present::Situation;
use portolan_core::run::{Actor, Channel};
use portolan_core::value::Outcome;
use portolan_runtime::service::{Caller, Move, ServiceError};
use portolan_runtime::store::RunId;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    EnumSchema, InputRequest, InputRequiredResult, ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde_json::Value;

/// The questions that were handed out, the oldest first.
#[derive(Default)]
pub(super) struct Asked(Mutex<VecDeque<Question>>);

struct Question {
    state: String,
    about: (String, Option<String>, u64),
}

/// How many questions are remembered: an older one is asked again.
const MAX_QUESTIONS: usize = 64;
/// The name of the one input that is asked for.
const INPUT: &str = "answer";

pub(super) enum Asking {
    Answered(Answer),
    Declined,
    Pending(InputRequiredResult),
}

pub(super) struct Answer {
    pub(super) wanted: Move,
    pub(super) caller: Caller,
}

/// Puts the question at which a call was refused to the person, or takes the answer that the call brings.
pub(super) async fn ask(
    asked: &Asked,
    wanted: &Move,
    refused: &ServiceError,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<Asking, ServiceError> {
    let Some(situation) = &refused.situation else { return Ok(Asking::Declined) };
    let answers = answers(situation);
    let revision = situation.position.revision;
    let about = (wanted.address.to_string(), wanted.branch.clone(), revision);
    let form = form(question(situation), &answers)?;
    let result = if stateless(context) {
        match brought(asked, request, &about) {
            Some(result) => result,
            None => return Ok(Asking::Pending(hand_out(asked, form, about))),
        }
    } else {
        context.peer.create_elicitation(form).await.map_err(|error| {
            ServiceError::failed(
                "not_asked",
                format!("the client could not ask its user: {error}"),
                "let the person answer with `portolan runs answer`",
            )
            .in_situation((**situation).clone())
        })?
    };
    Ok(match chosen(&result, &answers) {
        Some((outcome, note)) => {
            let by = Actor::Person { name: "the client's user".to_owned(), via: Channel::Elicitation };
            let wanted = Move { outcome, note, revision: Some(revision), ..wanted.clone() };
            Asking::Answered(Answer { wanted, caller: Caller { by, can_ask: true } })
        }
        None => Asking::Declined,
    })
}

/// The answers that the situation offers, with what each does.
fn answers(situation: &Situation) -> Vec<(String, String)> {
    let actions = &situation.actions;
    let offered =
        actions.required.iter().chain(&actions.optional).chain(actions.blocked.iter().map(|blocked| &blocked.action));
    offered
        .filter_map(|action| Some((action.arguments.get("result")?.as_str()?.to_owned(), action.title.clone())))
        .collect()
}

/// The question as the person reads it: without the heading and the lines that tell the agent what to call.
fn question(situation: &Situation) -> String {
    let position = &situation.position;
    let about = format!("{} · {}", position.workflow, position.step_name);
    let blocks = situation.message.split("\n\n").filter(|block| !block.starts_with("## ") && !block.contains("\n→ "));
    std::iter::once(about.as_str()).chain(blocks).collect::<Vec<_>>().join("\n\n")
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
                    format!("the question cannot be put: {error}"),
                    "let the person answer with `portolan runs answer`",
                )
            },
        )?;
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema })
}

fn stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn hand_out(asked: &Asked, form: ElicitRequestParams, about: (String, Option<String>, u64)) -> InputRequiredResult {
    // Two handles make a word of 80 bits that a client cannot guess.
    let state = format!("{}{}", RunId::random(), RunId::random());
    let mut questions = asked.0.lock().unwrap_or_else(PoisonError::into_inner);
    if questions.len() >= MAX_QUESTIONS {
        questions.pop_front();
    }
    questions.push_back(Question { state: state.clone(), about });
    let request = InputRequest::Elicitation(ElicitRequest::new(form));
    InputRequiredResult::new(Some(BTreeMap::from([(INPUT.to_owned(), request)])), Some(state))
}

/// The answer that a call brings to a question that was handed out about the same position.
fn brought(
    asked: &Asked,
    request: &CallToolRequestParams,
    about: &(String, Option<String>, u64),
) -> Option<ElicitResult> {
    let state = request.request_state.as_deref()?;
    let answer = request.input_responses.as_ref()?.get(INPUT)?;
    let mut questions = asked.0.lock().unwrap_or_else(PoisonError::into_inner);
    let at = questions.iter().position(|question| question.state == state && question.about == *about)?;
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
