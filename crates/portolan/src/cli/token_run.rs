//! Runs that exist only in their token: a person views one, or answers its question, and passes the new token on.

use portolan_core::present::QuestionView;
use portolan_core::value::Outcome;
use portolan_runtime::service::{Act, DefinitionChange, Request, Service, ServiceError, View};
use serde_json::json;

use super::output::{Output, Paint, command_line, one_line, safe, table};
use super::runs::{self, ANSWERS, PersonInput, pick};
use super::{Exit, person};
use crate::words::navigation::guidance;

/// Returns whether a run's name is a token.
pub(super) fn is_token(text: &str) -> bool {
    text.trim().strip_prefix('v').and_then(|rest| rest.split_once('.')).is_some_and(|(version, rest)| {
        !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) && rest.len() > 32
    })
}

pub(super) async fn show(output: &Output, service: &Service, token: &str) -> anyhow::Result<Exit> {
    let view = service.view(&Request::led(token), &runs::person()).await?;
    print(output, &view)?;
    Ok(if view.situation.question.is_some() { Exit::Waiting } else { Exit::Done })
}

pub(super) async fn answer(output: &Output, service: &Service, given: &PersonInput<'_>) -> anyhow::Result<Exit> {
    if given.branch.is_some() {
        let help = "leave `--branch` out: the answer goes to the open question";
        return Err(ServiceError::refused("usage", "a token has only one position", help).into());
    }
    let now = service.view(&Request::led(given.run), &runs::person()).await?;
    let Some(open_question) = now.situation.question.as_ref().map(|question| &question.asked) else {
        let help = "the agent is working, or the run has ended: `portolan runs show` says which";
        return Err(ServiceError::refused("nothing_asked", "the run has no open question", help).into());
    };
    let word = match given.answer {
        Some(answer) => answer.to_owned(),
        None => pick(output, &open_question.message, &options(open_question))?,
    };
    let (option, note) = (Some(Outcome::from(word)), given.note.map(str::to_owned));
    if now.asks_person {
        person::confirmed(service, ANSWERS)?;
    }
    let answer = Act::Answer { checkpoint: open_question.id.clone(), option, note, outputs: given.outputs() };
    let after = service.act(&Request::led(&now.state), &answer, &runs::person()).await?;
    print(output, &after)?;
    output.remark("give the agent this state to continue with");
    Ok(Exit::Done)
}

/// Migrates the run of a token to the current version of its workflow.
pub(super) async fn migrate(output: &Output, service: &Service, token: &str) -> anyhow::Result<Exit> {
    if !is_token(token) {
        let help = "a stored run continues with the workflow that it began with; start a new run for the new workflow";
        return Err(ServiceError::refused("bad_input", "only the run of a token can be migrated", help).into());
    }
    let caller = person::confirmed(service, "may migrate a run to a changed workflow")?;
    let request = Request { definition: Some(DefinitionChange::Migrate), ..Request::led(token) };
    let now = service.view(&request, &caller).await?;
    print(output, &now)?;
    output.remark("give the agent this state to continue with");
    Ok(Exit::Done)
}

fn options(question: &QuestionView) -> Vec<(String, String)> {
    question.options.iter().map(|option| (option.id.clone(), option.label.clone())).collect()
}

fn print(output: &Output, view: &View) -> anyhow::Result<()> {
    let guidance = guidance(view);
    if output.is_json() {
        return output.json(&json!({ "state": view.state, "guidance": guidance }));
    }
    let Some(open_question) = &guidance.checkpoint else {
        output.line(safe(&guidance.message))?;
        output.line("")?;
        return output.line(one_line(&view.state));
    };
    let headline = guidance.message.lines().next().unwrap_or_default();
    output.line(one_line(headline))?;
    output.line("")?;
    output.line(safe(&open_question.message))?;
    output.line("")?;
    let command = |id: &str| command_line(&["portolan", "runs", "answer", &view.state, id].map(str::to_owned));
    let rows: Vec<Vec<String>> =
        options(open_question).into_iter().map(|(id, label)| vec!["answer".to_owned(), label, command(&id)]).collect();
    output.line(output.paint(Paint::Faint, &table(&rows)))
}
