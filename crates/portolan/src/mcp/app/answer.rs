//! An answer from the page.

use portolan_core::diagnostic::clip;
use portolan_core::present::Act as Offered;
use portolan_core::value::Outcome;
use portolan_runtime::service::{Act, Caller, ErrorKind, Report, Request, ServiceError, View};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::RequestContext;

use super::App;
use super::show::about;
use crate::mcp::arguments::Arguments;
use crate::mcp::ask::{self, AskResult, Question};
use crate::mcp::leading;
use crate::mcp::progress::act;
use crate::words::tasks::headline;

impl App {
    /// Records an answer as one of the client's agent. If only a person's own counts, has it confirmed in the client's
    /// dialog first.
    pub(super) async fn answer(
        &self,
        mut arguments: Arguments,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ServiceError> {
        let address = App::address(&mut arguments);
        let outcome = Outcome::from(arguments.required("answer"));
        let revision = arguments.number("revision");
        let branch = arguments.string("branch");
        let note = arguments.text("note").filter(|note| !note.is_empty());
        let code = arguments.required("code");
        arguments.finish()?;
        let address = address?;
        let caller = leading::caller(&self.service, context);
        let before = self.service.view(&Request::of(address.clone()), &caller).await?;
        if !self.codes.counts(&code, &about(&before, context)) {
            return Err(unknown_code());
        }
        let wanted = Request { branch, revision, ..Request::of(address) };
        if !is_offered(&before, &wanted, &outcome) {
            return Err(not_offered(&outcome));
        }
        let report = Report { note, ..Report::of(outcome) };
        let acted = act(&self.service, &wanted, &Act::Report(report.clone()), &caller, context).await;
        let view = match acted {
            Err(error) if error.kind == ErrorKind::NeedsPerson && caller.can_ask => {
                match self.confirmed(&wanted, &report, &error, request, context).await? {
                    Confirmed::By(person) => {
                        act(&self.service, &wanted, &Act::Report(report), &person, context).await?
                    }
                    Confirmed::Later(question) => return Ok(question),
                }
            }
            acted => acted?,
        };
        self.codes.spend(&code);
        Ok(self.shown(&whole(self, view, &caller).await?, None, context).await?.into())
    }

    /// Has an answer confirmed in the client's dialog, which no agent controls.
    async fn confirmed(
        &self,
        wanted: &Request,
        report: &Report,
        refused: &ServiceError,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Confirmed, ServiceError> {
        leading::client_may_ask(&self.service, context, "portolan runs answer")?;
        let Some(view) = refused.view.as_deref() else { return Err(refused.clone()) };
        let answer = report.outcome.to_string();
        let revision = wanted.revision.unwrap_or_default();
        let question = Question {
            about: format!("{} {revision} {} {answer}", wanted.address, wanted.branch.as_deref().unwrap_or_default()),
            message: format!(
                "{}\n\nOn the page of the run, `{answer}` was chosen. Is this your answer?",
                headline(&view.situation)
            ),
            answers: vec![(answer, "what was chosen on the page".to_owned())],
        };
        match ask::ask(&self.pending, &question, request, context).await? {
            AskResult::Answered(answer) => Ok(Confirmed::By(answer.caller)),
            AskResult::Declined => Err(ask::unanswered(refused)),
            AskResult::Pending(question) => Ok(Confirmed::Later(question.into())),
        }
    }
}

enum Confirmed {
    By(Caller),
    /// The client repeats the call with the person's confirmation.
    Later(CallToolResponse),
}

/// Returns the view of the whole run after an answer at one of its positions.
async fn whole(app: &App, view: View, caller: &Caller) -> Result<View, ServiceError> {
    match view.situation.position.branch {
        None => Ok(view),
        Some(_) => app.service.view(&Request::of(view.address), caller).await,
    }
}

/// Returns whether an outcome is an answer to an open question: a button reports no work.
fn is_offered(view: &View, wanted: &Request, outcome: &Outcome) -> bool {
    view.situation.offers.iter().any(|offer| {
        matches!(&offer.act, Offered::Answer { outcome: offered, .. } if offered == outcome)
            && offer.branch == wanted.branch
            && offer.revision == wanted.revision
    })
}

fn not_offered(outcome: &Outcome) -> ServiceError {
    let message = format!("`{}` is no answer to the question that is open", clip(outcome.as_str()));
    ServiceError::refused("unknown_option", message, "answer on the page, which offers the answers")
}

fn unknown_code() -> ServiceError {
    let message = "this answer does not come from the page that shows the question, or the question has changed";
    ServiceError::refused("unknown_code", message, "answer on the page, which shows the question again")
}
