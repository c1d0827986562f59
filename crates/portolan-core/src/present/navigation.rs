//! The situation in the words of the navigation tools: where the agent is, what to do there, and the calls that are open.
//!
//! One response holds all that the agent needs, also after it has lost its context. Of the workflow it shows what is
//! actionable now: no identifier of a step, an activity or an option that is not.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::actions::{Action, Actions, Blocked};
use super::brief::{checks, given};
use super::here::{Asked, Here};
use crate::graph::{CheckBy, Kind, Workflow};
use crate::run::{Feedback, Frame, FramePath, Human, Place, Run, moves};
use crate::value::{PASSED, SKIPPED};

/// How much is shown of an item of a loop.
const MAX_ITEM_CHARS: usize = 80;
/// How much is shown of what the user wants, at each step.
const WANTED: usize = 600;

/// Who looks, and how their calls name the run.
#[derive(Clone, Debug, Default)]
pub struct Navigator<'v> {
    /// What `state` is in each action: a handle or a token.
    pub state: &'v str,
    /// What calls call the workflow, where that is not its own id.
    pub workflow: Option<&'v str>,
    /// What the agent says that it is able to do; nothing when it has said no more than when the run began.
    pub effectivities: Option<&'v [String]>,
    /// How to lift it when the definition's commands may not be run.
    pub untrusted: Option<&'v str>,
    /// Whether the client can put a question to the person at it.
    pub can_ask: bool,
    /// How a person answers.
    pub answer_by: &'v str,
}

/// What a navigation tool answers, but for `success` and `state`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Guidance {
    /// Where the agent is.
    pub position: Whereabouts,
    /// What to do there.
    pub message: String,
    /// The calls that are open, and those that are not.
    pub available_actions: Actions,
    /// The question that is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Asked>,
    /// Whether nothing more is to be done.
    #[serde(skip_serializing_if = "is_false")]
    pub complete: bool,
}

/// Where the agent is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Whereabouts {
    /// The workflow.
    pub workflow: String,
    /// The activity; of a workflow without activities, the workflow.
    pub activity: Named,
    /// The step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Numbered>,
    /// The innermost loop.
    #[serde(rename = "loop", skip_serializing_if = "Option::is_none")]
    pub looping: Option<Pass>,
}

/// Something with an identifier and a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// Its identifier.
    pub id: String,
    /// Its name for people.
    pub name: String,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Numbered {
    /// Its identifier.
    pub id: String,
    /// Its number, from 1.
    pub index: u32,
    /// Its name for people.
    pub name: String,
}

/// A pass of a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pass {
    /// The loop.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// The number of the pass, from 1.
    pub iteration: u32,
    /// How many passes there are, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// The item, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(truth: &bool) -> bool {
    !truth
}

/// The one position that an agent is shown: the first at which there is work, else the first at all. Branches are
/// gone through one after the other; who is to answer a question is not waited for while there is other work.
pub fn focus(run: &Run) -> (FramePath, &Frame) {
    let positions = run.positions();
    let at_work = |(_, frame): &&(FramePath, &Frame)| !matches!(frame.place, Place::Waiting { .. });
    let found = positions.iter().find(at_work).or(positions.first()).cloned();
    found.unwrap_or_else(|| (FramePath::default(), &run.root))
}

/// The question that is open where an agent is, as [`navigation`] shows it.
pub fn checkpoint(workflow: &Workflow, run: &Run) -> Option<Asked> {
    let (path, frame) = focus(run);
    Here::at(workflow, run, &path, frame).asked()
}

/// Presents a run to an agent that navigates it.
pub fn navigation(workflow: &Workflow, run: &Run, viewer: &Navigator<'_>) -> Guidance {
    let (path, frame) = focus(run);
    let at = Here::at(workflow, run, &path, frame);
    Guidance {
        position: at.whereabouts(viewer),
        message: at.message(viewer),
        checkpoint: at.asked(),
        available_actions: at.actions(viewer),
        complete: run.is_over(),
    }
}

impl Here<'_> {
    fn called<'h>(&'h self, viewer: &Navigator<'h>) -> &'h str {
        viewer.workflow.unwrap_or(self.workflow.id().as_str())
    }

    fn whereabouts(&self, viewer: &Navigator<'_>) -> Whereabouts {
        let activity = match self.activity() {
            Some(activity) => Named { id: activity.id.clone(), name: activity.name.clone() },
            None => Named { id: self.frame.flow.to_string(), name: self.flow.name.clone() },
        };
        Whereabouts { workflow: self.called(viewer).to_owned(), activity, step: self.step(), looping: self.pass() }
    }

    fn step(&self) -> Option<Numbered> {
        let index = match &self.node.seat {
            Some(seat) => seat.number?,
            None => {
                let work = |kind: &Kind| matches!(kind, Kind::Work { .. } | Kind::Checkpoint { .. });
                let work = self.flow.steps.values().filter(|step| work(&step.node.kind));
                let at = work.map(|step| &step.node.id).position(|id| *id == self.node.id)?;
                u32::try_from(at + 1).unwrap_or(u32::MAX)
            }
        };
        Some(Numbered { id: self.id().to_owned(), index, name: self.name() })
    }

    fn pass(&self) -> Option<Pass> {
        let passes = self.run.way(self.path).filter_map(|frame| match &frame.place {
            Place::Looping { node, pass, items, .. } => Some((frame, node, *pass, items)),
            _ => None,
        });
        let (frame, node, pass, items) = passes.last()?;
        let node = &self.workflow.flow(&frame.flow).step(node).node;
        let item = items.as_ref().and_then(|items| items.get(pass as usize));
        Some(Pass {
            id: node.seat.as_ref().map_or_else(|| node.id.to_string(), |seat| seat.id.clone()),
            name: node.name.clone(),
            iteration: pass + 1,
            total: items.as_ref().map(|items| items.len()),
            item: item.map(|item| shortened(&super::fill::text(item), MAX_ITEM_CHARS)),
        })
    }

    fn message(&self, viewer: &Navigator<'_>) -> String {
        let mut blocks: Vec<String> = vec![self.headline(viewer)];
        let brief = &self.node.brief;
        if let Place::Ended { result, .. } = &self.frame.place {
            blocks.push(format!("The workflow is over: {}. Nothing more is to be done.", result.word()));
            return blocks.join("\n\n");
        }
        blocks.extend(self.frame.feedback.as_ref().and_then(noted));
        blocks.extend(
            self.run.opening.description.as_ref().map(|wanted| format!("Wanted: {}", shortened(wanted, WANTED))),
        );
        blocks.extend(given(self.workflow, self.run, self.path));
        if !brief.context_files.is_empty() {
            blocks.push(format!("Context: {}", brief.context_files.join(", ")));
        }
        blocks.extend(brief.description.iter().chain(&brief.instructions).map(|text| self.told(text)));
        if let Some(asked) = self.asked() {
            blocks.push(asked.message);
            blocks.push(self.who_answers(viewer));
        } else {
            blocks.extend(checks(self.node, viewer.untrusted));
            blocks.extend(brief.agent.as_ref().map(|agent| format!("Agent: {agent}")));
        }
        let lacking = self.lacking(viewer);
        if !lacking.is_empty() {
            let needs = lacking.join(", ");
            blocks.push(format!("This needs {needs}: hand it to somebody who has it, and report what they did."));
        }
        blocks.extend(self.about());
        blocks.join("\n\n")
    }

    fn headline(&self, viewer: &Navigator<'_>) -> String {
        let Whereabouts { activity, step, looping, .. } = self.whereabouts(viewer);
        let step = step.map(|step| format!(" · step {}: {}", step.index, step.name)).unwrap_or_default();
        let pass = looping.map(|pass| {
            let total = pass.total.map(|total| format!(" of {total}")).unwrap_or_default();
            let item = pass.item.map(|item| format!(", {item}")).unwrap_or_default();
            format!(" · {}, pass {}{total}{item}", pass.name, pass.iteration)
        });
        format!("{}{step}{}", activity.name, pass.unwrap_or_default())
    }

    fn who_answers(&self, viewer: &Navigator<'_>) -> String {
        let by_token = if viewer.state.starts_with("v1.") {
            " STATE is your present `state`; go on with the one that it prints, which they give you."
        } else {
            ""
        };
        let who = match (self.run.opening.rules.human, viewer.can_ask) {
            (Human::Attested, _) => "Show this to the person, and pass on what they answer.".to_owned(),
            (Human::Verified, true) => {
                "The person is asked in your client's own dialog; your answer does not count.".to_owned()
            }
            (Human::Verified, false) => {
                format!("Your answer does not count: stop until the person has run `{}`.{by_token}", viewer.answer_by)
            }
        };
        match self.fallback() {
            Some(fallback) => {
                let seconds = fallback.after_ms.div_ceil(1_000);
                format!("{who} Without an answer {seconds} s after it was asked it counts as `{}`.", fallback.option)
            }
            None => who,
        }
    }

    fn actions(&self, viewer: &Navigator<'_>) -> Actions {
        let mut actions = Actions::default();
        let waiting = matches!(self.frame.place, Place::Waiting { .. });
        if waiting {
            self.answer(viewer, &mut actions);
        } else {
            self.work(viewer, &mut actions);
        }
        if self.frame.place == (Place::Ready { node: self.node.id.clone() })
            && matches!(self.node.kind, Kind::Work { .. })
        {
            actions.optional.push(self.call(
                viewer,
                "raise_checkpoint",
                &[],
                "ask the person something that the workflow does not",
                &["question", "options"],
            ));
        }
        if !self.run.is_over() {
            let end = self.call(viewer, "end_workflow", &[], "end the run here, before it is complete", &["reason"]);
            actions.optional.push(end);
        }
        actions
    }

    fn work(&self, viewer: &Navigator<'_>, actions: &mut Actions) {
        let name = self.name();
        for (nth, offer) in moves(self.workflow, self.frame).into_iter().enumerate() {
            let Some(outcome) = offer.outcome() else { continue };
            let title = match outcome.as_str() {
                PASSED => format!("`{name}` is done"),
                SKIPPED => format!("pass over `{name}`: it need not be done"),
                other => format!("`{name}` came to `{other}`"),
            };
            let step = ("step_id", json!(self.id()));
            let result = ("result", json!(outcome.as_str()));
            let arguments = if outcome.as_str() == PASSED { vec![step] } else { vec![step, result] };
            let fill: &[_] =
                if outcome.as_str() == PASSED && self.gives() { &["summary", "outputs"] } else { &["summary"] };
            let mut action = self.call(viewer, "complete_step", &arguments, &title, fill);
            action.delegate = self.lacking(viewer);
            if let Some(lifted_by) = viewer.untrusted.filter(|_| !outcome.is_failed() && self.runs_commands()) {
                actions.blocked.push(Blocked { action, lifted_by: lifted_by.to_owned() });
            } else if nth == 0 {
                actions.required.push(action);
            } else {
                actions.optional.push(action);
            }
        }
    }

    /// Whether the step is said to give values to variables.
    fn gives(&self) -> bool {
        let reports = self.node.seat.as_ref().and_then(|seat| seat.reports.as_ref());
        reports.is_some_and(|reports| !reports.is_empty())
    }

    fn runs_commands(&self) -> bool {
        self.node.accept.iter().any(|check| matches!(check.by, CheckBy::Run { .. }))
    }

    /// What the step needs, and the agent has said not to have.
    fn lacking(&self, viewer: &Navigator<'_>) -> Vec<String> {
        let has = viewer.effectivities.or(self.run.opening.effectivities.as_deref());
        let (Some(has), Some(seat)) = (has, &self.node.seat) else { return Vec::new() };
        seat.effectivities.iter().filter(|needed| !has.contains(needed)).cloned().collect()
    }

    fn answer(&self, viewer: &Navigator<'_>, actions: &mut Actions) {
        let checkpoint = ("checkpoint_id", json!(self.id()));
        // Where only the person's own word counts, their client asks them: the agent has nothing to fill in.
        let asks = self.run.opening.rules.human == Human::Verified && viewer.can_ask;
        let (title, fill): (_, &[_]) =
            if asks { ("have the person asked", &[]) } else { ("pass on what the person answers", &["option_id"]) };
        let action = self.call(viewer, "respond_to_checkpoint", &[checkpoint], title, fill);
        if self.run.opening.rules.human == Human::Verified && !viewer.can_ask {
            let lifted_by = format!("the person answers: `{}`", viewer.answer_by);
            actions.blocked.push(Blocked { action, lifted_by });
        } else {
            actions.required.push(action);
        }
        if matches!(self.node.kind, Kind::Work { .. }) {
            let step = ("step_id", json!(self.id()));
            let title = format!("`{}` is done", self.name());
            let action = self.call(viewer, "complete_step", &[step], &title, &["summary"]);
            actions.blocked.push(Blocked { action, lifted_by: "the question is answered".to_owned() });
        }
    }

    fn call(
        &self,
        viewer: &Navigator<'_>,
        tool: &'static str,
        arguments: &[(&str, Value)],
        title: &str,
        fill: &[&'static str],
    ) -> Action {
        let named = [("workflow_id", json!(self.called(viewer))), ("state", json!(viewer.state))];
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
