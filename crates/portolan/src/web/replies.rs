//! The answers to the calls of a run in the studio: from servers, from given answers, or from an earlier run.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use portolan_core::dialect::script::written as as_written;
use portolan_core::present::Redaction;
use portolan_core::source::Source;
use portolan_runtime::definition::{Definition, DefinitionError};
use portolan_runtime::library::FunctionSet;
use portolan_runtime::script;
use portolan_runtime::servers::{PoolOptions, Servers};
use portolan_runtime::service::ServiceError;
use portolan_runtime::tools::{RecordedAnswers, ScriptedAnswer, Tools, recorded};
use serde_json::{Map, Value, json};

use super::Studio;
use super::answer::{Answer as Answered, InPath};
use super::runs::address;
use crate::http::Refusal;

/// Answers by the calls that they belong to.
pub(super) type Answers = BTreeMap<String, Vec<ScriptedAnswer>>;

/// Returns the answers to the calls of an earlier run.
pub(super) async fn answers_of(studio: &Studio, run: &str, definition: &Definition) -> Result<Answers, Refusal> {
    let past = studio.past(run).await?;
    let past = past.lock().await;
    let (earlier, wanted) = (past.definition().workflow.id(), definition.workflow.id());
    if earlier != wanted {
        let message = format!("`{run}` is a run of `{earlier}`, and not of `{wanted}`");
        return Err(Refusal::from(ServiceError::refused("other_workflow", message, "choose a run of this definition")));
    }
    let records = studio.service.page(&address(run)?, 0, usize::MAX).await?;
    Ok(recorded(&past.definition().workflow, &records).answers)
}

/// Returns the answers to the calls of a run as a script, so that they can be given again or edited.
pub(super) async fn of_run(State(studio): State<Arc<Studio>>, InPath(run): InPath<String>) -> Answered<Value> {
    let (definition, hidden) = {
        let past = studio.past(&run).await?;
        let past = past.lock().await;
        (past.definition().clone(), past.hidden().clone())
    };
    let records = studio.service.page(&address(&run)?, 0, usize::MAX).await?;
    let answers = recorded(&definition.workflow, &records).answers;
    // A cancelled call has no answer.
    let answered = |answer: &ScriptedAnswer| !matches!(answer, ScriptedAnswer::Failure { code, .. } if code.as_deref() == Some("cancelled"));
    let answers: Answers = answers
        .into_iter()
        .map(|(name, all)| (name, all.into_iter().filter(answered).collect::<Vec<_>>()))
        .filter(|(_, all)| !all.is_empty())
        .collect();
    let shown: Answers = answers.iter().map(|(name, all)| (name.clone(), masked(all, &hidden))).collect();
    let redacted = shown != answers;
    let shown: Map<String, Value> = shown.iter().map(|(name, all)| (name.clone(), as_written(all))).collect();
    Ok(Json(json!({ "answers": shown, "redacted": redacted })))
}

fn masked(answers: &[ScriptedAnswer], hidden: &Redaction) -> Vec<ScriptedAnswer> {
    let masked = |answer: &ScriptedAnswer| match answer {
        ScriptedAnswer::Output(output) => ScriptedAnswer::Output(hidden.value(output)),
        ScriptedAnswer::Failure { message, code } => {
            ScriptedAnswer::Failure { message: hidden.text(message), code: code.clone() }
        }
    };
    answers.iter().map(masked).collect()
}

/// Merges the given answers with the recorded ones. A given answer takes precedence.
pub(super) fn written(
    functions: &FunctionSet,
    answers: Option<Map<String, Value>>,
    recorded: Option<Answers>,
) -> Result<Option<Answers>, Refusal> {
    let own = match answers {
        // With recorded answers, an empty map of given ones is a missing one.
        Some(answers) if !answers.is_empty() || recorded.is_none() => {
            let text = json!({ "mock": answers }).to_string();
            script::answers_of(&Source::new("answers.json", text), functions).map_err(faulty)?
        }
        _ if recorded.is_none() => return Ok(None),
        _ => Default::default(),
    };
    let is_own = |name: &str| own.keys().any(|mine| mine == name || name.rsplit('.').next() == Some(mine.as_str()));
    let mut all = recorded.unwrap_or_default();
    all.retain(|name, _| !is_own(name));
    all.extend(own.iter().map(|(name, answers)| (name.clone(), answers.value.clone())));
    Ok(Some(all))
}

/// Returns the tools of a run: the given answers, or else the servers of the definition if they are trusted.
pub(super) fn tools(
    studio: &Studio,
    functions: &FunctionSet,
    definition: &Definition,
    answers: Option<&Answers>,
) -> Result<Arc<Tools>, Refusal> {
    if let Some(answers) = answers {
        return Ok(Arc::new(Tools::written(Arc::new(RecordedAnswers::new(answers.clone())))));
    }
    studio.service.may_start_servers(definition)?;
    Ok(Arc::new(Tools::of(Arc::new(Servers::new(functions.servers.clone(), PoolOptions::default())))))
}

/// Returns the answers that remain after the calls in `given`. The last answer of a node serves all further calls.
pub(super) fn left(answers: &Answers, given: &Answers) -> Answers {
    let bare = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
    let left = |(name, all): (&String, &Vec<ScriptedAnswer>)| {
        let is_of = |call: &str| call == name || (bare(call) == *name && !answers.contains_key(call));
        let calls: usize = given.iter().filter(|(call, _)| is_of(call)).map(|(_, given)| given.len()).sum();
        (name.clone(), all[calls.min(all.len().saturating_sub(1))..].to_vec())
    };
    answers.iter().map(left).collect()
}

pub(super) fn faulty(refused: DefinitionError) -> Refusal {
    let message = refused.to_string();
    let ServiceError { code, help, .. } = *refused.error;
    Refusal::from(ServiceError::refused(code, message, help))
}
