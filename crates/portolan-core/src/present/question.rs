//! A position of a run with its texts, and the question that is open there.

use serde::Serialize;

use super::Viewer;
use super::fill::{MAX_VALUE_CHARS, filled};
use crate::graph::{self, Flow, Kind, Node, Workflow};
use crate::run::{Frame, FramePath, Human, Move, Place, Run, WaitingFor, moves};
use crate::value::template;
use crate::value::{CANCELLED, FAILED, Outcome};

/// An open question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QuestionView {
    /// Its identifier.
    pub id: String,
    /// The text of the question.
    pub message: String,
    /// The possible answers.
    pub options: Vec<Answer>,
    /// Whether the agent asks it, not the workflow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub raised: bool,
}

/// A possible answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Its identifier.
    pub id: String,
    /// Its text for people.
    pub label: String,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The open question at a position, and whose answer counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenQuestion {
    /// The question.
    #[serde(flatten)]
    pub asked: QuestionView,
    /// The reason that a person is asked.
    pub why: AskReason,
    /// Whose answer counts.
    pub answered_by: AnsweredBy,
    /// The answer that counts after a timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<DefaultAnswer>,
}

/// The reason that a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AskReason {
    /// The workflow asks a question of its own.
    Asked,
    /// The workflow requires a person's decision at this step.
    Step,
    /// The agent asks.
    Raised,
    /// No retries are left.
    Budget,
    /// The workflow cannot continue.
    Progress,
    /// No rule decides a check.
    Unchecked,
}

/// The party whose answer to a question counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    /// The agent, which relays the person's answer.
    Agent,
    /// The person, whom the caller's client asks.
    Client,
    /// The person, who answers elsewhere.
    Person,
}

/// The answer that counts after a timeout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DefaultAnswer {
    /// The answer.
    pub option: Outcome,
    /// The timeout, in milliseconds.
    pub after_ms: u64,
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

    /// Returns the identifier as in the definition.
    pub(super) fn id(&self) -> &'r str {
        self.node.seat.as_ref().map_or(self.node.id.as_str(), |seat| &seat.id)
    }

    /// Returns the identifier of its question. If it is asked for each of several things, the thing is appended.
    pub(super) fn asked_id(&self) -> String {
        let instance = match &self.node.kind {
            Kind::Checkpoint { question: Some(question), .. } => question.instance.as_ref(),
            _ => None,
        };
        let Some(instance) = instance else { return self.id().to_owned() };
        let of = template::filled(&instance.of, &self.run.variables(self.path), MAX_VALUE_CHARS);
        format!("{}#{}", self.id(), of.as_ref().unwrap_or(&instance.of))
    }

    /// Returns the activity around it.
    pub(super) fn activity(&self) -> Option<&'r graph::Activity> {
        self.node.seat.as_ref().and_then(|seat| self.flow.activities.get(seat.activity))
    }

    /// Fills a text with the values of variables. If there are no variables, braces stay.
    pub(super) fn fill(&self, text: &str) -> String {
        let known = self.run.variables(self.path);
        let declared = |name: &str| self.flow.variable(name).is_some();
        if known.is_empty() && self.flow.variables.is_empty() {
            return text.to_owned();
        }
        filled(text, &known, &declared)
    }

    /// Returns its name for people.
    pub(super) fn name(&self) -> String {
        self.fill(&self.node.name)
    }

    /// Returns the open question.
    fn asked(&self) -> Option<QuestionView> {
        let Place::Waiting { on, .. } = &self.frame.place else { return None };
        let id = self.asked_id();
        let plain = |id: &str| Answer { id: id.to_owned(), label: id.to_owned(), description: None };
        if let (WaitingFor::Raised | WaitingFor::Unchecked, Some(raised)) = (on, &self.frame.raised) {
            let options = raised.options.iter().map(|option| plain(option.as_str())).collect();
            let by_agent = *on == WaitingFor::Raised;
            return Some(QuestionView { id, message: raised.question.clone(), options, raised: by_agent });
        }
        if let (WaitingFor::Answer, Kind::Checkpoint { question: Some(question), .. }) = (on, &self.node.kind) {
            let options = question.options.iter().map(|option| Answer {
                id: option.id.to_string(),
                label: self.fill(&option.label),
                description: option.description.as_ref().map(|text| self.fill(text)),
            });
            let message = self.fill(&question.message);
            return Some(QuestionView { id, message, options: options.collect(), raised: false });
        }
        let options = moves(self.workflow, self.frame);
        let option = |outcome: &Outcome| Answer { label: self.meaning(*on, outcome), ..plain(outcome.as_str()) };
        let options = options.iter().filter_map(Move::outcome).map(option).collect();
        Some(QuestionView { id, message: self.why().unwrap_or_else(|| self.name()), options, raised: false })
    }

    /// Returns the meaning of an answer without a text in the definition.
    fn meaning(&self, on: WaitingFor, answer: &Outcome) -> String {
        match (on, answer.as_str()) {
            (_, CANCELLED) => "cancel the run".to_owned(),
            (WaitingFor::Budget | WaitingFor::Progress, FAILED) => format!("give `{}` up", self.node.name),
            (WaitingFor::Budget | WaitingFor::Progress, _) => "the obstacle is removed: try again".to_owned(),
            (_, other) => other.to_owned(),
        }
    }

    /// Returns the reason that a person is asked, if it is not the workflow's own question.
    fn why(&self) -> Option<String> {
        let Place::Waiting { on, .. } = &self.frame.place else { return None };
        let name = self.name();
        let says_why =
            self.frame.feedback.as_ref().is_some_and(|feedback| feedback.from.as_ref() == Some(&self.node.id));
        match on {
            WaitingFor::Answer | WaitingFor::Raised => None,
            WaitingFor::Unchecked => self.frame.raised.as_ref().map(|raised| raised.question.clone()),
            WaitingFor::Budget if matches!(self.node.kind, Kind::Loop(_)) => {
                Some(format!("`{name}` has made all its allowed passes and is not done."))
            }
            WaitingFor::Budget => Some(format!("`{name}` failed and its retries are spent.")),
            WaitingFor::Progress if says_why => {
                Some(format!("The workflow does not say how to continue from `{name}`."))
            }
            WaitingFor::Progress => Some(format!("The workflow came back to `{name}` without any work in between.")),
        }
    }

    /// Returns the open question, and whose answer counts.
    pub(super) fn question(&self, viewer: &Viewer) -> Option<OpenQuestion> {
        let Place::Waiting { on, .. } = &self.frame.place else { return None };
        let why = match (on, &self.node.kind) {
            (WaitingFor::Answer, Kind::Checkpoint { question: Some(_), .. }) => AskReason::Asked,
            (WaitingFor::Answer, _) => AskReason::Step,
            (WaitingFor::Raised, _) => AskReason::Raised,
            (WaitingFor::Unchecked, _) => AskReason::Unchecked,
            (WaitingFor::Budget, _) => AskReason::Budget,
            (WaitingFor::Progress, _) => AskReason::Progress,
        };
        let human = match on {
            WaitingFor::Unchecked => Human::Verified,
            _ => self.run.opening.rules.human,
        };
        let answered_by = match (human, viewer.can_ask) {
            (Human::Attested, _) => AnsweredBy::Agent,
            (Human::Verified, true) => AnsweredBy::Client,
            (Human::Verified, false) => AnsweredBy::Person,
        };
        let counts =
            |fallback: &graph::Fallback| DefaultAnswer { option: fallback.option.clone(), after_ms: fallback.after_ms };
        Some(OpenQuestion { asked: self.asked()?, why, answered_by, fallback: self.fallback().map(counts) })
    }

    /// Returns the answer that counts after a timeout.
    fn fallback(&self) -> Option<&'r graph::Fallback> {
        let counts = self.run.opening.rules.human == Human::Attested;
        let due = counts && matches!(self.frame.place, Place::Waiting { due: Some(_), .. });
        match &self.node.kind {
            Kind::Checkpoint { question: Some(question), .. } if due => question.fallback.as_ref(),
            _ => None,
        }
    }
}

/// Returns the open question at a position.
pub fn asked(workflow: &Workflow, run: &Run, (path, frame): (&FramePath, &Frame)) -> Option<QuestionView> {
    Here::at(workflow, run, path, frame).asked()
}
