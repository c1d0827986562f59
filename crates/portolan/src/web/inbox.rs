//! What waits for a person: questions of runs, calls, and requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use portolan_core::graph::Graph;
use portolan_core::present::{Act, AskReason, Meaning, Offer, Situation};
use portolan_core::value::{FAILED, Outcome, PASSED};
use portolan_runtime::clock::rfc3339;
use portolan_runtime::service::{Consequence, PendingQuestion, ReportNote, Service, StepOutput};
use portolan_supervision::people::People;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Studio;
use super::answer::{Answer, InPath, InQuery};
use super::definitions::broken;
use super::project::untrusted;
use super::runs::{address, by};
use crate::http::Refusal;
use crate::words::{answer_command_anywhere, tasks as words};

/// A question that waits.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WaitingQuestion {
    run: String,
    workflow: String,
    /// What people call the workflow.
    workflow_name: String,
    step: String,
    step_name: String,
    /// The run's purpose, as given when it began.
    wanted: Option<String>,
    /// The question, as a person reads it.
    words: String,
    /// The checks that failed, if they are the reason for the question.
    failures: Vec<Failure>,
    /// The commands of its workflow that are not trusted.
    untrusted: Option<Value>,
    options: Vec<Choice>,
    /// The last notes of the run's reports, the newest first.
    notes: Vec<Note>,
    /// The outputs that led a function to the question.
    outputs: Vec<Output>,
    /// Whether an agent follows the run: it continues with the agent's next call.
    led: bool,
    /// Whether only a person may answer.
    person: bool,
    /// Whether a passkey may confirm the answer on this page.
    passkey: bool,
    /// The command with which a person answers, from any folder.
    command: String,
    since: String,
    revision: u64,
    branch: Option<String>,
}

/// A failed check.
#[derive(Serialize)]
struct Failure {
    check: String,
    reason: String,
    output: String,
}

/// A note with a reported outcome.
#[derive(Serialize)]
struct Note {
    by: Value,
    at: String,
    step: String,
    outcome: String,
    note: String,
}

/// The output of a step.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Output {
    step: String,
    step_name: String,
    text: String,
    /// Whether the text is only the beginning of the output.
    cut: bool,
}

#[derive(Serialize)]
struct Choice {
    outcome: String,
    title: String,
    meaning: Option<String>,
}

/// Lists all questions, calls and requests.
pub(super) async fn list(State(studio): State<Arc<Studio>>) -> Answer<Value> {
    let waiting = studio.service.questions(&studio.person).await?;
    // An unreadable passkey confirms nothing; `portolan doctor` reports the reason.
    let passkeys = studio.may_change().is_ok() && studio.passkeys().await.is_ok_and(|passkeys| passkeys > 0);
    let to_question = |waiting| asked(&studio.service, waiting, passkeys);
    let questions: Vec<WaitingQuestion> = waiting.into_iter().map(to_question).collect();
    // Calls that cannot be read must not hide the questions.
    let (calls, unread) = match studio.waiting_calls().await {
        Ok(calls) => (calls.iter().map(|call| studio.waiting_call(call, passkeys)).collect(), None),
        Err(refusal) => (Vec::new(), Some(refusal.body())),
    };
    let requests = studio.requests().await;
    Ok(Json(json!({ "questions": questions, "calls": calls, "requests": requests, "unread": unread })))
}

/// Counts the waiting runs, calls and requests.
pub(super) async fn count(studio: &Arc<Studio>) -> Answer<usize> {
    let runs = studio.service.list(true, 1_000).await?;
    // The inbox itself reports why calls cannot be read.
    let calls = studio.waiting_calls().await.map_or(0, |calls| calls.len());
    let requests = studio.requests().await.len();
    Ok(Json(runs.iter().filter(|run| run.status == "waiting").count() + calls + requests))
}

/// Selects a position of a run.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Position {
    branch: Option<String>,
}

/// Returns the changes in the repository since the run's step began, or since the step before a question.
pub(super) async fn changes(
    State(studio): State<Arc<Studio>>,
    InPath(run): InPath<String>,
    InQuery(position): InQuery<Position>,
) -> Answer<Value> {
    let since = studio.service.changes_since(&address(&run)?, position.branch.as_deref()).await?;
    Ok(Json(json!({ "since": since })))
}

impl Studio {
    /// Returns the number of passkeys that may confirm something in this project.
    pub(super) async fn passkeys(self: &Arc<Studio>) -> Result<usize, Refusal> {
        let studio = Arc::clone(self);
        let credentials = tokio::task::spawn_blocking(move || People::of(&studio.service).credentials());
        Ok(credentials.await.map_err(broken)??.len())
    }
}

fn asked(service: &Service, waiting: PendingQuestion, passkeys: bool) -> WaitingQuestion {
    let PendingQuestion { view, since, definition, notes, outputs, consequences } = waiting;
    let position = &view.situation.position;
    let graphs = definition.graphs();
    let is_raised = view.situation.question.as_ref().is_some_and(|question| question.why == AskReason::Raised);
    let (from, step_name) = (position.step.as_str(), position.step_name.as_str());
    let ways = Ways { graphs: &graphs, from, step_name, is_raised, consequences: &consequences };
    let answers = view.situation.offers.iter().filter(|offer| matches!(offer.act, Act::Answer { .. }));
    WaitingQuestion {
        run: view.address.to_string(),
        workflow: view.workflow.clone(),
        workflow_name: definition.workflow.root().name.clone(),
        step: position.step.clone(),
        step_name: position.step_name.clone(),
        wanted: view.situation.wanted.clone(),
        words: words::short_headline(&view.situation),
        failures: failures(&view.situation),
        untrusted: untrusted(service, &definition),
        options: answers.map(|offer| ways.choice(offer)).collect(),
        notes: notes.into_iter().map(noted).collect(),
        outputs: outputs.into_iter().map(output).collect(),
        led: definition.workflow.root().interface.is_none(),
        person: view.asks_person,
        passkey: view.asks_person && passkeys,
        command: answer_command_anywhere(service.project(), &view),
        since: rfc3339(since),
        revision: position.revision,
        branch: position.branch.clone(),
    }
}

fn noted(ReportNote { by: who, at, step, outcome, note }: ReportNote) -> Note {
    Note { by: by(&who), at: rfc3339(at), step, outcome, note }
}

fn output(StepOutput { step, step_name, text, is_cut }: StepOutput) -> Output {
    Output { step, step_name, text, cut: is_cut }
}

/// The edges that leave a step, with their labels.
struct Ways<'w> {
    graphs: &'w BTreeMap<String, Graph>,
    from: &'w str,
    step_name: &'w str,
    /// Whether the agent asks, and not the workflow.
    is_raised: bool,
    /// What follows each answer.
    consequences: &'w BTreeMap<Outcome, Consequence>,
}

impl Ways<'_> {
    fn choice(&self, offer: &Offer) -> Choice {
        let outcome = offer.outcome().map(ToString::to_string).unwrap_or_default();
        let label = self.label(&outcome, offer.leads_to.as_deref());
        let title = match &offer.act {
            Act::Answer { means: Meaning::Option(label), .. } => label.clone(),
            _ if label.is_some() => label.unwrap_or_default().to_owned(),
            Act::Answer { means: Meaning::Outcome, .. } if outcome == PASSED => "Yes, continue".to_owned(),
            Act::Answer { means: Meaning::Outcome, .. } if outcome == FAILED => "No".to_owned(),
            Act::Answer { means: Meaning::CallOff, .. } => "Cancel the run".to_owned(),
            Act::Answer { means: Meaning::GiveUp, .. } => "Give up the step".to_owned(),
            Act::Answer { means: Meaning::TryAgain, .. } => "Try it again: the obstacle has been removed".to_owned(),
            _ => outcome.clone(),
        };
        let meaning = match &offer.act {
            // Its options are the agent's own words, even if they are called like outcomes of the step.
            _ if self.is_raised => Some(format!("The agent gets this answer and continues at {}.", self.step_name)),
            Act::Answer { means: Meaning::CallOff, .. } if offer.leads_to.is_none() => {
                Some("The run ends as cancelled.".to_owned())
            }
            Act::Answer { means: Meaning::TryAgain, .. } => {
                Some("The work is attempted again, with a full budget of retries.".to_owned())
            }
            Act::Answer { means: Meaning::GiveUp, .. } => Some("The step has failed permanently.".to_owned()),
            _ => offer.outcome().and_then(|outcome| self.consequences.get(outcome)).map(describe_consequence),
        };
        Choice { outcome, title, meaning }
    }

    /// Returns the label of the edge that an answer takes.
    fn label(&self, outcome: &str, to: Option<&str>) -> Option<&str> {
        let edges = self.graphs.values().flat_map(|graph| &graph.edges);
        let mut taken = edges.filter(|edge| {
            let on = edge.on.outcome().is_some_and(|on| on.as_str() == outcome);
            on && edge.from.value.as_str() == self.from && to.is_none_or(|to| edge.to.value.as_str() == to)
        });
        taken.next()?.label.as_deref()
    }
}

fn describe_consequence(consequence: &Consequence) -> String {
    match consequence {
        Consequence::Continues(names) => format!("The run continues at {}.", names.join(" and ")),
        Consequence::Ends(name) => format!("The run ends at {name}."),
    }
}

fn failures(situation: &Situation) -> Vec<Failure> {
    let failures = situation.feedback.iter().flat_map(|feedback| &feedback.failures);
    let details = failures.map(|failure| Failure {
        check: failure.check.to_string(),
        reason: failure.reason.clone(),
        output: failure.output.clone(),
    });
    details.collect()
}
