//! Questions of a server during a call, for the client that calls: asked within its session, or returned to it if its
//! revision has none. They are the server's, and decide nothing about the call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::request::Parts;
use portolan_runtime::servers::{CallClient, CallError, ClientFeatures, LogLevel, OnQuestions, Unanswered};
use portolan_runtime::service::ServiceError;
use portolan_supervision::gateway::JudgedCall;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, InputRequest, InputRequests, InputRequiredResult,
    InputResponses, ProtocolVersion, ResultType,
};
use rmcp::service::{Peer, RequestContext, ServiceError as PeerError};
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use super::waiting::{AskedQuestions, LIFETIME, OpenCall, Return, Waiter};
use super::{Server, meta_of, typed};
use crate::mcp::progress::Progress;

/// How many sets of questions of one call wait until the ones before them are answered.
const MAX_QUEUED: usize = 4;
/// The field of a request's `_meta` that has the least severe log messages that its client wants.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The header of a session over HTTP.
const SESSION: &str = "mcp-session-id";
/// Counts the requests over HTTP without a session, each of which counts as a client of its own.
static CLIENTS: AtomicU64 = AtomicU64::new(0);

/// What a call under way comes to next.
enum Step {
    Done(Result<Value, CallError>),
    /// The client is to answer, and to make the call again.
    Asked(OpenCall, AskedQuestions),
}

impl Server {
    /// Begins a call that is allowed.
    pub(super) fn begin(&self, judged: JudgedCall, context: &RequestContext<RoleServer>) -> OpenCall {
        let features = context.client_capabilities().map(|declared| ClientFeatures::of(&declared)).unwrap_or_default();
        let level = context.meta.get(LOG_LEVEL).and_then(|level| serde_json::from_value(level.clone()).ok());
        let level = level.or_else(|| context.extensions.get::<LogLevel>().copied());
        let progress = match features.is_empty() && level.is_none() && !Progress::may_be_of_task(context) {
            true => Progress::wanted(context),
            false => Some(Progress::of_call(context)),
        };
        let log = level.zip(progress.as_ref());
        let log = log.map(|(level, progress)| (level, progress.log_of_server(&judged.tool().server)));
        let (on_questions, questions) = (!features.is_empty()).then(passing_on).unzip();
        let client = CallClient { id: client_id(context).into(), features, on_questions, log };
        let (gateway, meta) = (Arc::clone(&self.gateway), meta_of(context));
        let on_progress = progress.as_ref().map(Progress::of_server);
        let running = Box::pin(async move { gateway.perform(judged, meta, on_progress, Some(client)).await });
        OpenCall { running, questions, progress }
    }

    /// Continues a call with the answers that its client brings.
    pub(super) async fn continued(
        &self,
        waiter: &Waiter<'_>,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ServiceError> {
        match self.waiting.take(waiter, request)? {
            Return::Answered(mut call) => {
                call.progress = call.progress.map(|progress| progress.continued(context));
                self.lead(call, waiter, request, context).await
            }
            Return::Again(call, asked_questions, until) => self.ask_again(waiter, call, asked_questions, until),
        }
    }

    /// Leads a call to its result, or to a question that its client must answer first.
    pub(super) async fn lead(
        &self,
        call: OpenCall,
        waiter: &Waiter<'_>,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ServiceError> {
        let step = match call.progress.clone() {
            None => next_step(call, context).await,
            Some(progress) => progress.notify_during(next_step(call, context), &context.peer).await,
        };
        match step {
            Step::Done(done) => {
                let done = done.map_err(|error| ServiceError::failed("server_failed", error.message, error.help))?;
                let mut done: CallToolResult = typed(&request.name, done)?;
                // Servers of earlier revisions do not say it, and clients of 2026-07-28 require it.
                done.result_type.get_or_insert(ResultType::COMPLETE);
                Ok(done.into())
            }
            Step::Asked(call, asked_questions) => {
                self.ask_again(waiter, call, asked_questions, Instant::now() + LIFETIME)
            }
        }
    }

    /// Returns questions to a client, which makes the call again with the answers.
    fn ask_again(
        &self,
        waiter: &Waiter<'_>,
        call: OpenCall,
        asked_questions: AskedQuestions,
        until: Instant,
    ) -> Result<CallToolResponse, ServiceError> {
        let questions = asked_questions.questions.clone();
        let state = self.waiting.wait(waiter, call, asked_questions, until)?;
        Ok(InputRequiredResult::new(Some(questions), Some(state)).into())
    }
}

/// Returns a way for the questions of a call, and its end.
fn passing_on() -> (OnQuestions, mpsc::Receiver<AskedQuestions>) {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED);
    let on_questions: OnQuestions = Arc::new(move |questions| {
        let sender = sender.clone();
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let gone = |_gone| unanswered("the client has left, or did not answer in time");
            sender.send(AskedQuestions { questions, answer }).await.map_err(|_| gone(()))?;
            answered.await.map_err(|_| gone(()))?
        })
    });
    (on_questions, receiver)
}

/// Runs a call up to its result. A client with a session is asked meanwhile.
async fn next_step(mut call: OpenCall, context: &RequestContext<RoleServer>) -> Step {
    let is_stateless = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    loop {
        let Some(questions) = &mut call.questions else { return Step::Done(call.running.await) };
        let asked_questions = tokio::select! {
            biased;
            done = &mut call.running => return Step::Done(done),
            Some(asked_questions) = questions.recv() => asked_questions,
        };
        if is_stateless {
            return Step::Asked(call, asked_questions);
        }
        let AskedQuestions { questions, answer } = asked_questions;
        let answers = tokio::select! {
            biased;
            done = &mut call.running => return Step::Done(done),
            answers = answers_of(&context.peer, questions) => answers,
        };
        // The server may have taken the question back.
        let _nobody_waits = answer.send(answers);
    }
}

/// Asks a client within its session.
async fn answers_of(peer: &Peer<RoleServer>, questions: InputRequests) -> Result<InputResponses, Unanswered> {
    let mut answers = InputResponses::new();
    for (name, question) in questions {
        let answer = match timeout(LIFETIME, answer_of(peer, question)).await {
            Ok(answer) => answer.map_err(|error| unanswered(&format!("the client did not answer: {error}")))?,
            Err(_elapsed) => return Err(unanswered("the client did not answer within ten minutes")),
        };
        answers.insert(name, answer);
    }
    Ok(answers)
}

#[expect(deprecated, reason = "servers of earlier revisions ask for the client's model and folders")]
async fn answer_of(peer: &Peer<RoleServer>, question: InputRequest) -> Result<Value, PeerError> {
    let answer = match question {
        InputRequest::Elicitation(request) => peer.create_elicitation(request.params).await.map(serde_json::to_value),
        InputRequest::CreateMessage(request) => peer.create_message(request.params).await.map(serde_json::to_value),
        InputRequest::ListRoots(_) => peer.list_roots().await.map(serde_json::to_value),
        _ => return Err(PeerError::McpError(ErrorData::invalid_request("the question is of an unknown kind", None))),
    };
    answer.map(|answer| answer.expect("an answer is JSON"))
}

fn unanswered(message: &str) -> Unanswered {
    Unanswered { message: message.to_owned(), help: "make the call again, and answer its questions".to_owned() }
}

/// Returns what tells a client from the others: at standard input and output there is one.
fn client_id(context: &RequestContext<RoleServer>) -> String {
    let Some(parts) = context.extensions.get::<Parts>() else { return "stdio".to_owned() };
    match parts.headers.get(SESSION).and_then(|session| session.to_str().ok()) {
        Some(session) => format!("session {session}"),
        None => format!("request {}", CLIENTS.fetch_add(1, Ordering::Relaxed)),
    }
}
