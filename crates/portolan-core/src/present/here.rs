//! A position of a run with all that is told of it, in whichever words.

use serde::Serialize;
use serde_json::Value;

use super::about::about;
use super::fill::filled;
use crate::graph::{self, Flow, Kind, Node, Workflow};
use crate::run::{Frame, FramePath, Human, Move, Place, Run, WaitingFor, moves};
use crate::value::{CANCELLED, FAILED, Outcome};

/// An open question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Its identifier.
    pub id: String,
    /// What is asked.
    pub message: String,
    /// What may be answered.
    pub options: Vec<Answer>,
    /// Whether the agent asks it, and not the workflow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub raised: bool,
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

pub(super) struct Here<'r> {
    pub(super) workflow: &'r Workflow,
    pub(super) run: &'r Run,
    pub(super) path: &'r FramePath,
    pub(super) frame: &'r Frame,
    pub(super) flow: &'r Flow,
    pub(super) node: &'r Node,
}

impl<'r> Here<'r> {
    pub(super) fn at(workflow: &'r Workflow, run: &'r Run, path: &'r FramePath, frame: &'r Frame) -> Here<'r> {
        let flow = workflow.flow(&frame.flow);
        Here { workflow, run, path, frame, flow, node: &flow.step(frame.place.node()).node }
    }

    /// The identifier as the definition writes it.
    pub(super) fn id(&self) -> &'r str {
        self.node.seat.as_ref().map_or(self.node.id.as_str(), |seat| &seat.id)
    }

    /// The activity that it stands in.
    pub(super) fn activity(&self) -> Option<&'r graph::Activity> {
        self.node.seat.as_ref().and_then(|seat| self.flow.activities.get(seat.activity))
    }

    /// A text with the values of variables in the place of their names. Where there are no variables, braces are braces.
    pub(super) fn told(&self, text: &str) -> String {
        let known = self.run.variables(self.path);
        let declared = |name: &str| self.flow.variable(name).is_some();
        if known.is_empty() && self.flow.variables.is_empty() {
            return text.to_owned();
        }
        filled(text, &known, &declared)
    }

    /// Its name for people.
    pub(super) fn name(&self) -> String {
        self.told(&self.node.name)
    }

    /// The question that is open.
    pub(super) fn asked(&self) -> Option<Asked> {
        let Place::Waiting { on, .. } = &self.frame.place else { return None };
        let id = self.id().to_owned();
        let plain = |id: &str| Answer { id: id.to_owned(), label: id.to_owned(), description: None };
        if let (WaitingFor::Raised, Some(raised)) = (on, &self.frame.raised) {
            let options = raised.options.iter().map(|option| plain(option.as_str())).collect();
            return Some(Asked { id, message: raised.question.clone(), options, raised: true });
        }
        if let (WaitingFor::Answer, Kind::Checkpoint { question: Some(question), .. }) = (on, &self.node.kind) {
            let options = question.options.iter().map(|option| Answer {
                id: option.id.to_string(),
                label: self.told(&option.label),
                description: option.description.as_ref().map(|text| self.told(text)),
            });
            let message = self.told(&question.message);
            return Some(Asked { id, message, options: options.collect(), raised: false });
        }
        let options = moves(self.workflow, self.frame);
        let option = |outcome: &Outcome| Answer { label: self.meaning(*on, outcome), ..plain(outcome.as_str()) };
        let options = options.iter().filter_map(Move::outcome).map(option).collect();
        Some(Asked { id, message: self.why().unwrap_or_else(|| self.name()), options, raised: false })
    }

    /// What an answer means that no definition has a text for.
    fn meaning(&self, on: WaitingFor, answer: &Outcome) -> String {
        match (on, answer.as_str()) {
            (_, CANCELLED) => "call the run off".to_owned(),
            (WaitingFor::Budget | WaitingFor::Progress, FAILED) => format!("give `{}` up", self.node.name),
            (WaitingFor::Budget | WaitingFor::Progress, _) => "the obstacle is removed: try again".to_owned(),
            (_, other) => other.to_owned(),
        }
    }

    /// Why a person is asked, where that is not the workflow's own question.
    pub(super) fn why(&self) -> Option<String> {
        let Place::Waiting { on, .. } = &self.frame.place else { return None };
        let name = self.name();
        let says_why =
            self.frame.feedback.as_ref().is_some_and(|feedback| feedback.from.as_ref() == Some(&self.node.id));
        match on {
            WaitingFor::Answer | WaitingFor::Raised => None,
            WaitingFor::Budget if matches!(self.node.kind, Kind::Loop(_)) => {
                Some(format!("`{name}` has made all the passes that it may, and is not done."))
            }
            WaitingFor::Budget => Some(format!("`{name}` failed and its retries are spent.")),
            WaitingFor::Progress if says_why => Some(format!("The workflow does not say how to go on from `{name}`.")),
            WaitingFor::Progress => Some(format!("The workflow came back to `{name}` without any work between.")),
        }
    }

    /// What counts when nobody answers, and after how many milliseconds.
    pub(super) fn fallback(&self) -> Option<&'r graph::Fallback> {
        let counts = self.run.opening.rules.human == Human::Attested;
        let due = counts && matches!(self.frame.place, Place::Waiting { due: Some(_), .. });
        match &self.node.kind {
            Kind::Checkpoint { question: Some(question), .. } if due => question.fallback.as_ref(),
            _ => None,
        }
    }

    /// What holds during all of the activity.
    pub(super) fn about(&self) -> Vec<String> {
        let Some(activity) = self.activity() else { return Vec::new() };
        let known = self.run.variables(self.path);
        let is_true = |name: &str| known.iter().any(|(known, value)| *known == name && **value == Value::Bool(true));
        about(activity, &|text| self.told(text), &is_true)
    }
}
