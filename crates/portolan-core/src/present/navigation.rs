//! The situation in the words of the navigation tools: where the agent is, what to do there, and the calls that are open.
//!
//! One response holds all that the agent needs, also after it has lost its context. Of the workflow it shows what is
//! actionable now: no identifier of a step, an activity or an option that is not.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::about::about;
use super::actions::{Action, Actions, Blocked};
use super::fill::filled;
use crate::graph::{Flow, Kind, Node, Workflow};
use crate::run::{Feedback, Frame, FramePath, Human, Move, Place, Run, WaitingFor, moves};
use crate::value::{PASSED, SKIPPED};

/// How much is shown of an item of a loop.
const MAX_ITEM_CHARS: usize = 80;

/// Who looks, and how their calls name the run.
#[derive(Clone, Debug, Default)]
pub struct Navigator<'v> {
    /// What `state` is in each action: a handle or a token.
    pub state: &'v str,
    /// What the agent says that it is able to do; nothing when it has said nothing.
    pub effectivities: Option<&'v [String]>,
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

/// An open question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Its identifier.
    pub id: String,
    /// What is asked.
    pub message: String,
    /// What may be answered.
    pub options: Vec<Answer>,
}

/// An answer that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Its identifier.
    pub id: String,
    /// What people read.
    pub label: String,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(truth: &bool) -> bool {
    !truth
}

/// Presents a run to an agent that navigates it, at its first position.
pub fn navigation(workflow: &Workflow, run: &Run, viewer: &Navigator<'_>) -> Guidance {
    let positions = run.positions();
    let Some((path, frame)) = positions.first() else { unreachable!("a run is somewhere") };
    let flow = workflow.flow(&frame.flow);
    let at = Here { workflow, run, path, frame, flow, node: &flow.step(frame.place.node()).node };
    Guidance {
        position: at.whereabouts(),
        message: at.message(viewer),
        checkpoint: at.asked(),
        available_actions: at.actions(viewer),
        complete: run.is_over(),
    }
}

struct Here<'r> {
    workflow: &'r Workflow,
    run: &'r Run,
    path: &'r FramePath,
    frame: &'r Frame,
    flow: &'r Flow,
    node: &'r Node,
}

impl Here<'_> {
    fn id(&self) -> &str {
        self.node.seat.as_ref().map_or(self.node.id.as_str(), |seat| &seat.id)
    }

    /// A text with the values of variables in the place of their names.
    fn told(&self, text: &str) -> String {
        filled(text, &self.run.variables(self.path))
    }

    fn whereabouts(&self) -> Whereabouts {
        let activity = self.node.seat.as_ref().and_then(|seat| self.flow.activities.get(seat.activity));
        let activity = match activity {
            Some(activity) => Named { id: activity.id.clone(), name: activity.name.clone() },
            None => Named { id: self.frame.flow.to_string(), name: self.flow.name.clone() },
        };
        Whereabouts { workflow: self.workflow.id().to_string(), activity, step: self.step(), looping: self.pass() }
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
        Some(Numbered { id: self.id().to_owned(), index, name: self.told(&self.node.name) })
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
            item: item.map(|item| shortened(&super::fill::text(item))),
        })
    }

    fn asked(&self) -> Option<Asked> {
        let Place::Waiting { on, .. } = &self.frame.place else { return None };
        let id = self.id().to_owned();
        let plain = |id: &str| Answer { id: id.to_owned(), label: id.to_owned(), description: None };
        if let (WaitingFor::Raised, Some(raised)) = (on, &self.frame.raised) {
            let options = raised.options.iter().map(|option| plain(option.as_str())).collect();
            return Some(Asked { id, message: raised.question.clone(), options });
        }
        if let (WaitingFor::Answer, Kind::Checkpoint { question: Some(question), .. }) = (on, &self.node.kind) {
            let options = question.options.iter().map(|option| Answer {
                id: option.id.to_string(),
                label: self.told(&option.label),
                description: option.description.as_ref().map(|text| self.told(text)),
            });
            return Some(Asked { id, message: self.told(&question.message), options: options.collect() });
        }
        let options = moves(self.workflow, self.frame);
        let options = options.iter().filter_map(Move::outcome).map(|outcome| plain(outcome.as_str())).collect();
        Some(Asked { id, message: self.node.name.clone(), options })
    }

    fn message(&self, viewer: &Navigator<'_>) -> String {
        let mut blocks: Vec<String> = vec![self.headline()];
        let brief = &self.node.brief;
        if let Place::Ended { result, .. } = &self.frame.place {
            blocks.push(format!("The workflow is over: {}. Nothing more is to be done.", result.word()));
            return blocks.join("\n\n");
        }
        blocks.extend(self.frame.feedback.as_ref().and_then(noted));
        blocks.extend(brief.description.iter().chain(&brief.instructions).map(|text| self.told(text)));
        if let Some(asked) = self.asked() {
            blocks.push(asked.message);
            blocks.push(self.who_answers(viewer));
        }
        if let Some(activity) = self.node.seat.as_ref().and_then(|seat| self.flow.activities.get(seat.activity)) {
            blocks.extend(about(activity, &self.run.variables(self.path)));
        }
        blocks.join("\n\n")
    }

    fn headline(&self) -> String {
        let Whereabouts { activity, step, looping, .. } = self.whereabouts();
        let step = step.map(|step| format!(" · step {}: {}", step.index, step.name)).unwrap_or_default();
        let pass = looping.map(|pass| {
            let total = pass.total.map(|total| format!(" of {total}")).unwrap_or_default();
            let item = pass.item.map(|item| format!(", {item}")).unwrap_or_default();
            format!(" · {}, pass {}{total}{item}", pass.name, pass.iteration)
        });
        format!("{}{step}{}", activity.name, pass.unwrap_or_default())
    }

    fn who_answers(&self, viewer: &Navigator<'_>) -> String {
        match (self.run.opening.rules.human, viewer.can_ask) {
            (Human::Attested, _) => "Show this to the person, and pass on what they answer.".to_owned(),
            (Human::Verified, true) => {
                "The person is asked in your client's own dialog; your answer does not count.".to_owned()
            }
            (Human::Verified, false) => {
                format!("Your answer does not count: stop until the person has run `{}`.", viewer.answer_by)
            }
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
        let name = self.told(&self.node.name);
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
            let mut action = self.call(viewer, "complete_step", &arguments, &title, &["summary"]);
            action.delegate = self.lacking(viewer);
            if nth == 0 {
                actions.required.push(action);
            } else {
                actions.optional.push(action);
            }
        }
    }

    /// What the step needs, and the agent has said not to have.
    fn lacking(&self, viewer: &Navigator<'_>) -> Vec<String> {
        let (Some(has), Some(seat)) = (viewer.effectivities, &self.node.seat) else { return Vec::new() };
        seat.effectivities.iter().filter(|needed| !has.contains(needed)).cloned().collect()
    }

    fn answer(&self, viewer: &Navigator<'_>, actions: &mut Actions) {
        let checkpoint = ("checkpoint_id", json!(self.id()));
        let title = "pass on what the person answers";
        let action = self.call(viewer, "respond_to_checkpoint", &[checkpoint], title, &["option_id"]);
        if self.run.opening.rules.human == Human::Verified && !viewer.can_ask {
            let lifted_by = format!("the person answers: `{}`", viewer.answer_by);
            actions.blocked.push(Blocked { action, lifted_by });
        } else {
            actions.required.push(action);
        }
        if matches!(self.node.kind, Kind::Work { .. }) {
            let step = ("step_id", json!(self.id()));
            let title = format!("`{}` is done", self.told(&self.node.name));
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
        let named = [("workflow_id", json!(self.workflow.id().as_str())), ("state", json!(viewer.state))];
        let arguments: Map<String, Value> =
            named.iter().chain(arguments).map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Action { tool, arguments, title: title.to_owned(), fill: fill.to_vec(), delegate: Vec::new() }
    }
}

fn noted(feedback: &Feedback) -> Option<String> {
    let failures = feedback.failures.iter().map(|failure| format!("- {}: {}", failure.check, failure.reason));
    let lines: Vec<String> = feedback.note.iter().cloned().chain(failures).collect();
    (!lines.is_empty()).then(|| format!("Note: {}", lines.join("\n")))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_ITEM_CHARS) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}
