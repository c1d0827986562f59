//! Questions of a server to the client of a call: each is recorded before the client has it, and its answer before the server
//! has it. They are the server's own: an answer to them decides nothing about a call.

use std::sync::Arc;

use portolan_core::diagnostic::clip;
use portolan_gates::Intent;
use portolan_runtime::audit::Kind;
use portolan_runtime::digest::Digest;
use portolan_runtime::servers::{CallClient, OnQuestions, Unanswered};
use rmcp::model::{ElicitRequestParams, InputRequest, InputRequests, InputResponses};
use serde_json::{Value, json};

use super::{Gateway, OfferedTool};
use crate::hook::CallRecord;

/// The most characters of a question's message to a person. The rest is cut off.
const MAX_MESSAGE_CHARS: usize = 4_000;

/// A call whose server may ask.
struct AskingCall {
    gateway: Arc<Gateway>,
    record: CallRecord,
    intent: Intent,
    tool: Arc<OfferedTool>,
    answer: OnQuestions,
}

impl Gateway {
    /// Returns a client whose questions and answers are recorded.
    pub(super) fn with_recorded_questions(
        self: &Arc<Self>,
        client: CallClient,
        record: &CallRecord,
        intent: &Intent,
        tool: &Arc<OfferedTool>,
    ) -> CallClient {
        let Some(answer) = client.on_questions.clone() else { return client };
        let (gateway, record, intent, tool) = (Arc::clone(self), record.clone(), intent.clone(), Arc::clone(tool));
        let call = Arc::new(AskingCall { gateway, record, intent, tool, answer });
        let on_questions: OnQuestions = Arc::new(move |questions| {
            let call = Arc::clone(&call);
            Box::pin(async move { call.ask(questions).await })
        });
        CallClient { on_questions: Some(on_questions), ..client }
    }
}

impl AskingCall {
    async fn ask(&self, mut questions: InputRequests) -> Result<InputResponses, Unanswered> {
        let descriptions: Vec<Value> = questions.values().map(described).collect();
        self.append(Kind::ToolAsked, json!({ "questions": descriptions })).await?;
        for question in questions.values_mut() {
            self.gateway.report_question(&self.record, &self.tool, &text(question));
            name_server(&self.tool.server, question);
        }
        let answered = (self.answer)(questions).await;
        let outcome = match &answered {
            Ok(answers) => {
                let answers: Vec<Value> = answers.values().map(answer).collect();
                json!({ "outcome": "answered", "answers": answers })
            }
            Err(unanswered) => json!({ "outcome": "unanswered", "reason": clip(&unanswered.message) }),
        };
        self.append(Kind::ToolReplied, outcome).await?;
        answered
    }

    async fn append(&self, kind: Kind, mut data: Value) -> Result<(), Unanswered> {
        data["server"] = json!(self.tool.server);
        data["toolName"] = json!(self.tool.tool.name);
        let entry = self.record.entry(kind, Some(&self.intent), data);
        self.gateway.log.append(vec![entry]).done().await.map_err(|error| Unanswered {
            message: format!("the question could not be recorded: {}", error.message),
            help: error.help,
        })
    }
}

/// Returns the record of a question. What it says may be confidential, so only its digest is recorded.
fn described(question: &InputRequest) -> Value {
    let text = serde_json::to_string(question).expect("JSON");
    let method = serde_json::to_value(question).expect("JSON")["method"].clone();
    json!({ "method": method, "bytes": text.len(), "digest": Digest::of(text).as_str() })
}

/// Returns the record of an answer.
fn answer(answer: &Value) -> Value {
    let text = serde_json::to_string(answer).expect("JSON");
    let mut data = json!({ "bytes": text.len(), "digest": Digest::of(text).as_str() });
    if let Some(action) = answer["action"].as_str() {
        data["action"] = json!(clip(action));
    }
    data
}

fn text(question: &InputRequest) -> String {
    super::tool_pins::texts(&serde_json::to_value(question).expect("JSON")["params"])
}

/// Tells the person which server asks: their client only knows that Portolan does.
fn name_server(server: &str, question: &mut InputRequest) {
    let InputRequest::Elicitation(request) = question else { return };
    let (ElicitRequestParams::FormElicitationParams { message, .. }
    | ElicitRequestParams::UrlElicitationParams { message, .. }) = &mut request.params
    else {
        return;
    };
    let text: String = message.chars().take(MAX_MESSAGE_CHARS).collect();
    *message = format!("The server {} asks: {text}", clip(server));
}
