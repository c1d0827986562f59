//! The texts of the navigation tools: the agent's position, its instructions, and the open calls.
//!
//! One response has all that the agent needs, even after it has lost its context. It shows only the parts of the
//! workflow that are actionable now, and no identifiers of other steps, activities or options.

use portolan_core::present::{
    Act, AnsweredBy, BlockedBy, LoopPass, Offer, OpenQuestion, Point, QuestionView, Situation,
};
use portolan_core::run::Feedback;
use portolan_core::value::{PASSED, SKIPPED};
use portolan_runtime::service::{Claim, View, lifted_by};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::about::{about, checks, given, tools};
use super::{Action, Actions};

/// The most characters shown of a loop's item.
const MAX_ITEM_CHARS: usize = 80;
/// The most characters shown of the run's purpose, at each step.
const WANTED: usize = 600;

/// The response of a navigation tool, without `success` and `state`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Guidance {
    /// The agent's position.
    pub(crate) position: Position,
    /// The instructions.
    pub(crate) message: String,
    /// The calls that are open, and those that are blocked.
    pub(crate) available_actions: Actions,
    /// The open question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) checkpoint: Option<QuestionView>,
    /// Whether the run is over.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) complete: bool,
}

/// The agent's position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Position {
    /// The workflow.
    pub(crate) workflow: String,
    /// The activity, or the workflow if it has no activities.
    pub(crate) activity: NamedRef,
    /// The step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<StepRef>,
    /// The innermost loop.
    #[serde(rename = "loop", skip_serializing_if = "Option::is_none")]
    pub(crate) looping: Option<LoopPass>,
}

/// Something with an identifier and a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct NamedRef {
    /// Its identifier.
    pub(crate) id: String,
    /// Its name for people.
    pub(crate) name: String,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct StepRef {
    /// Its identifier.
    pub(crate) id: String,
    /// Its number, from 1.
    pub(crate) index: u32,
    /// Its name for people.
    pub(crate) name: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(truth: &bool) -> bool {
    !truth
}

/// Returns the response for an agent that navigates a run.
pub(crate) fn guidance(view: &View) -> Guidance {
    let situation = &view.situation;
    let teller = Teller { view, situation };
    let refused = view.claim.as_ref().and_then(Claim::refused);
    let notes: String = refused.iter().chain(&view.notes).map(|note| format!("Note: {note}\n\n")).collect();
    Guidance {
        position: teller.whereabouts(),
        message: notes + &teller.message(),
        available_actions: teller.actions(),
        checkpoint: situation.question.as_ref().map(|question| question.asked.clone()),
        complete: situation.over,
    }
}

/// Words a situation for its view.
struct Teller<'b> {
    view: &'b View,
    situation: &'b Situation,
}

impl Teller<'_> {
    fn whereabouts(&self) -> Position {
        let (work, frames) = (&self.situation.work, &self.situation.frames);
        let activity = match (&work.activity, frames.last()) {
            (Some(activity), _) => NamedRef { id: activity.id.clone(), name: activity.name.clone() },
            (None, Some(frame)) => NamedRef { id: frame.workflow.clone(), name: frame.workflow_name.clone() },
            (None, None) => NamedRef { id: String::new(), name: String::new() },
        };
        let step = work.number.map(|index| StepRef { id: work.id.clone(), index, name: work.name.clone() });
        let looping = frames
            .iter()
            .rev()
            .find_map(|frame| frame.pass.clone())
            .map(|pass| LoopPass { item: pass.item.map(|item| shortened(&item, MAX_ITEM_CHARS)), ..pass });
        Position { workflow: self.view.workflow.clone(), activity, step, looping }
    }

    fn message(&self) -> String {
        let (situation, work) = (self.situation, &self.situation.work);
        let mut blocks: Vec<String> = vec![self.headline()];
        if let Point::Ended { result, .. } = &situation.point {
            blocks.push(format!("The workflow has ended: {}. Nothing is left to do.", result.word()));
            return blocks.join("\n\n");
        }
        blocks.extend(situation.feedback.as_ref().and_then(noted));
        blocks.extend(situation.wanted.as_ref().map(|wanted| format!("Wanted: {}", shortened(wanted, WANTED))));
        blocks.extend(given(situation));
        if !work.context_files.is_empty() {
            blocks.push(format!("Context: {}", work.context_files.join(", ")));
        }
        blocks.extend(work.description.iter().chain(&work.instructions).cloned());
        if let Some(question) = &situation.question {
            blocks.push(question.asked.message.clone());
            blocks.push(self.who_answers(question));
        } else {
            blocks.extend(tools(situation));
            blocks.extend(checks(situation));
            blocks.extend(situation.position.agent.as_ref().map(|agent| format!("Agent: {agent}")));
        }
        if !work.lacks.is_empty() {
            let needs = work.lacks.join(", ");
            blocks.push(format!("This needs {needs}: delegate it to somebody who has it, and report what they did."));
        }
        blocks.extend(about(situation));
        blocks.join("\n\n")
    }

    fn headline(&self) -> String {
        let Position { activity, step, looping, .. } = self.whereabouts();
        let step = step.map(|step| format!(" · step {}: {}", step.index, step.name)).unwrap_or_default();
        let pass = looping.map(|pass| {
            let total = pass.total.map(|total| format!(" of {total}")).unwrap_or_default();
            let item = pass.item.map(|item| format!(", {item}")).unwrap_or_default();
            format!(" · {}, pass {}{total}{item}", pass.name, pass.iteration)
        });
        format!("{}{step}{}", activity.name, pass.unwrap_or_default())
    }

    /// Returns the command with which a person answers.
    fn answer_by(&self) -> String {
        let run = self.view.address.handle().map_or("STATE", |id| id.as_str());
        format!("portolan runs answer {run}")
    }

    fn who_answers(&self, question: &OpenQuestion) -> String {
        let by_token = if self.view.is_token {
            " STATE is your current `state`; continue with the one that the command prints, which they give you."
        } else {
            ""
        };
        let who = match question.answered_by {
            AnsweredBy::Agent => "Show this to the person, and pass on what they answer.".to_owned(),
            AnsweredBy::Client => {
                "The person is asked in your client's own dialog; your answer does not count.".to_owned()
            }
            AnsweredBy::Person => {
                format!("Your answer does not count: stop until the person has run `{}`.{by_token}", self.answer_by())
            }
        };
        match &question.fallback {
            Some(fallback) => {
                let seconds = fallback.after_ms.div_ceil(1_000);
                format!(
                    "{who} If there is no answer {seconds} s after it was asked, it counts as answered with `{}`.",
                    fallback.option
                )
            }
            None => who,
        }
    }

    fn actions(&self) -> Actions {
        let mut actions = Actions::default();
        self.situation.question.iter().for_each(|question| self.answer(question, &mut actions));
        for offer in &self.situation.offers {
            match &offer.act {
                Act::Report { .. } | Act::Recheck { .. } => self.report(offer, &mut actions),
                Act::Raise => {
                    let title = "ask the person something that the workflow does not ask";
                    let raise = self.call("raise_checkpoint", &[], title, &["question", "options"]);
                    actions.optional.push(raise);
                }
                Act::End => {
                    let title = "end the run here, before it is complete";
                    actions.optional.push(self.call("end_workflow", &[], title, &["reason"]));
                }
                Act::Begin | Act::Answer { .. } | Act::Open | Act::Join { .. } => {}
            }
        }
        actions
    }

    fn report(&self, offer: &Offer, actions: &mut Actions) {
        let Some(outcome) = offer.outcome() else { return };
        let (name, by_question) = (&offer.name, offer.blocked_by == Some(BlockedBy::Question));
        let title = match outcome.as_str() {
            PASSED => format!("`{name}` is done"),
            SKIPPED => format!("skip `{name}`: it is not required"),
            other => format!("`{name}` came to `{other}`"),
        };
        let step = ("step_id", json!(self.situation.work.id));
        let result = ("result", json!(outcome.as_str()));
        let arguments = if outcome.as_str() == PASSED { vec![step] } else { vec![step, result] };
        let gives = outcome.as_str() == PASSED && !by_question && !self.situation.work.gives.is_empty();
        let fill: &[_] = if gives { &["summary", "outputs"] } else { &["summary"] };
        let mut action = self.call("complete_step", &arguments, &title, fill);
        if !by_question {
            action.delegate.clone_from(&self.situation.work.lacks);
        }
        actions.add(action, offer.leads_on, offer.blocked_by.as_ref().map(|by| self.lifted(by)));
    }

    fn answer(&self, question: &OpenQuestion, actions: &mut Actions) {
        let checkpoint = ("checkpoint_id", json!(question.asked.id));
        // If only the person may answer, their client asks them, and the agent has nothing to fill in.
        let (title, fill): (_, &[_]) = match question.answered_by {
            AnsweredBy::Client => ("have the person asked", &[]),
            AnsweredBy::Agent | AnsweredBy::Person => ("pass on what the person answers", &["option_id"]),
        };
        let action = self.call("respond_to_checkpoint", &[checkpoint], title, fill);
        let blocked = question.answered_by == AnsweredBy::Person;
        actions.add(action, true, blocked.then(|| self.lifted(&BlockedBy::Person)));
    }

    /// Returns what must happen first.
    fn lifted(&self, by: &BlockedBy) -> String {
        match by {
            BlockedBy::Untrusted(untrusted) => lifted_by(untrusted),
            BlockedBy::Person => format!("the person answers: `{}`", self.answer_by()),
            BlockedBy::Question => "the question is answered".to_owned(),
            BlockedBy::Full { .. } | BlockedBy::Held { .. } => "a running branch is done".to_owned(),
            BlockedBy::Branches { .. } | BlockedBy::Unreadable { .. } => "the branches are done".to_owned(),
        }
    }

    fn call(&self, tool: &'static str, arguments: &[(&str, Value)], title: &str, fill: &[&'static str]) -> Action {
        let named = [("workflow_id", json!(self.view.workflow)), ("state", json!(self.view.state))];
        let arguments: Map<String, Value> =
            named.iter().chain(arguments).map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Action { tool, arguments, title: title.to_owned(), fill: fill.to_vec(), delegate: Vec::new() }
    }
}

fn noted(feedback: &Feedback) -> Option<String> {
    let note = feedback.note.as_ref().map(|note| format!("Note: {note}"));
    let failures = feedback.failures.iter().map(|failure| {
        let output: String = failure.output.lines().map(|line| format!("\n  | {line}")).collect();
        format!("Not passed: {}: {}{output}", failure.check, failure.reason)
    });
    let lines: Vec<String> = note.into_iter().chain(failures).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}
