//! The prompts: one for each workflow, one to continue, and one for the questions that wait for a person. In Claude Code
//! they are slash commands.

use std::fmt::Write as _;

use portolan_core::diagnostic::clip;
use portolan_runtime::service::{Caller, PendingQuestion, RunLine, ServiceError};
use rmcp::RoleServer;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role,
};
use rmcp::service::RequestContext;
use serde_json::{Map, Value};

use super::Project;
use crate::mcp::leading;
use crate::words::answer_command;
use crate::words::tasks::headline;

/// The beginning of the name of a prompt that starts a workflow.
const START: &str = "start-";
/// The prompt to continue with an open run.
const CONTINUE: &str = "where-was-i";
/// The prompt with the questions that wait for a person.
const QUESTIONS: &str = "what-waits-for-me";
/// The argument with the person's task.
const TASK: &str = "task";
/// The most runs that a prompt lists.
const MOST_RUNS: usize = 20;

/// The calls of a toolset, as prompts name them.
#[derive(Clone, Copy)]
pub(in crate::mcp) struct Wording {
    /// Returns the call that begins a run of a workflow, with the person's task.
    pub(in crate::mcp) begin: fn(&str, Option<&str>) -> Call,
    /// What follows the first call.
    pub(in crate::mcp) then: &'static str,
    /// Returns the call that shows the situation of a run.
    pub(in crate::mcp) look: fn(&RunLine) -> Call,
}

/// The name of a tool, and its arguments.
pub(in crate::mcp) type Call = (&'static str, Value);

impl Project {
    /// Returns all prompts.
    pub(in crate::mcp) fn prompts(&self) -> Vec<Prompt> {
        let task = PromptArgument::new(TASK).with_description("What is to be done, in a sentence or two");
        let lines = self.service.library().overview().into_iter().filter(|line| line.fault.is_none());
        let start = lines.map(|line| {
            let title = format!("Start: {}", line.name);
            let about = Some(line.description).filter(|about| !about.is_empty());
            Prompt::new(format!("{START}{}", line.id), about, Some(vec![task.clone()])).with_title(title)
        });
        let own = [
            Prompt::new(CONTINUE, Some("Continue the workflow that was begun last"), None).with_title("Where was I?"),
            Prompt::new(QUESTIONS, Some("The questions that wait for a person"), None)
                .with_title("What is waiting for me?"),
        ];
        own.into_iter().chain(start).collect()
    }

    /// Returns the messages of a prompt, or `None` if there is no prompt of this name.
    pub(in crate::mcp) async fn prompt(
        &self,
        request: &GetPromptRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<GetPromptResponse, ServiceError>> {
        let text = match request.name.as_str() {
            CONTINUE => self.open_runs().await,
            QUESTIONS => self.questions(&leading::caller(&self.service, context)).await,
            name => Ok(self.start(name.strip_prefix(START)?, request.arguments.as_ref())?),
        };
        Some(text.map(|text| GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into()))
    }

    fn start(&self, id: &str, arguments: Option<&Map<String, Value>>) -> Option<String> {
        let line = self.service.library().overview().into_iter().find(|line| line.id == id)?;
        let task = arguments.and_then(|given| given.get(TASK)).and_then(Value::as_str).filter(|task| !task.is_empty());
        let (tool, call) = (self.wording.begin)(id, task);
        let mut text = format!("Work through Portolan's workflow `{id}`");
        if !line.description.is_empty() {
            let _written = write!(text, " ({})", line.description.trim_end_matches('.'));
        }
        let _written = write!(text, ".\n\nCall `{tool}` with `{call}`.");
        if !line.required.is_empty() {
            let names: Vec<String> = line.required.iter().map(|(name, kind)| format!("`{name}` ({kind})")).collect();
            let _written =
                write!(text, " It requires `variables` with {}: ask me for what you do not know.", names.join(", "));
        }
        let _written = write!(text, " {}", self.wording.then);
        Some(text)
    }

    async fn open_runs(&self) -> Result<String, ServiceError> {
        let runs = self.service.list(true, MOST_RUNS).await?;
        let Some(last) = runs.first() else {
            return Ok("No workflow is in progress in this project. Say so, and ask me which one to start.".to_owned());
        };
        let mut text = "Workflows in progress, the one with the latest event first:\n".to_owned();
        for run in &runs {
            let _written = write!(text, "\n* `{}`: `{}` at `{}` ({})", run.run, run.workflow, run.step, run.status);
            if let Some(task) = &run.description {
                let _written = write!(text, ": {}", clip(task));
            }
        }
        let (tool, call) = (self.wording.look)(last);
        let _written = write!(text, "\n\nContinue the first one: call `{tool}` with `{call}`, and follow its answer.");
        Ok(text)
    }

    async fn questions(&self, caller: &Caller) -> Result<String, ServiceError> {
        let waiting = self.service.questions(caller).await?;
        if waiting.is_empty() {
            return Ok("No question waits for me in this project. Say so.".to_owned());
        }
        let mut text = "These questions wait for me. Show them to me, and do not answer them yourself:\n".to_owned();
        for PendingQuestion { view, .. } in waiting.iter().take(MOST_RUNS) {
            let question = headline(&view.situation).replace("\n\n", ": ").replace('\n', " ");
            let (run, command) = (&view.address, answer_command(view));
            let _written = write!(text, "\n* `{run}`: {question}\n  I answer with `{command}`.");
        }
        if waiting.len() > MOST_RUNS {
            let _written = write!(text, "\n\nThere are {} more.", waiting.len() - MOST_RUNS);
        }
        Ok(text)
    }
}
