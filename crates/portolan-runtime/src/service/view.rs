//! What a call is answered with: the situation, and beside it the fields that Navigator's clients know.

use portolan_core::graph::CheckBy;
use portolan_core::present::{Situation, Untrusted, Viewer, situation};
use portolan_core::run::{Frame, FramePath, Place, Verdict};
use portolan_core::value::{CheckId, NodeId, Outcome};
use serde::Serialize;
use serde_json::{Map, Value};

use super::hold::{Carrier, Held};
use super::{Caller, Service};
use crate::carrier::Address;
use crate::definition::Definition;
use crate::error::ServiceError;
use crate::tasks::{self, terminal};

/// Where a run is, for whoever asked.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// How calls name the run.
    pub address: Address,
    /// The identifier of the task, by which others name it as their parent; nothing for a run in the store.
    pub task: Option<String>,
    /// The situation.
    pub situation: Situation,
    /// The step, as Navigator's clients know it.
    pub current_step: String,
    /// Navigator's class of the step: nothing while work is to be done.
    pub terminal: Option<&'static str>,
    /// Navigator's metadata.
    pub metadata: Map<String, Value>,
    /// What became of the claim that the call made, when it was checked.
    pub claim: Option<Claim>,
    /// What the caller should know besides.
    pub notes: Vec<String>,
}

impl View {
    /// The same, with one more thing to know.
    #[must_use]
    pub(super) fn noting(mut self, note: Option<String>) -> View {
        self.notes.extend(note);
        self
    }
}

/// A claim that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The step.
    pub step: String,
    /// The outcome that was reported.
    pub reported: String,
    /// Whether every check held.
    pub held: bool,
    /// Each check.
    pub checks: Vec<Checked>,
}

/// A check that was performed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// The check.
    pub id: String,
    /// Whether it held.
    pub held: bool,
    /// Why it did not; what was found, where something was said of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The end of what it printed, when it did not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

impl Claim {
    pub(super) fn of(step: &NodeId, reported: &Outcome, settled: &[(CheckId, Verdict)]) -> Claim {
        let checks: Vec<Checked> = settled.iter().map(|(check, verdict)| Checked::of(check, verdict)).collect();
        let held = checks.iter().all(|check| check.held);
        Claim { step: step.to_string(), reported: reported.to_string(), held, checks }
    }
}

impl Claim {
    /// That it was not believed, and why; nothing where it was.
    pub fn refused(&self) -> Option<String> {
        let failed: Vec<String> =
            self.checks.iter().filter(|check| !check.held).map(|check| format!("`{}`", check.id)).collect();
        (!self.held).then(|| {
            format!(
                "Refused: `{}` was reported {}, but {} did not hold, so it counts as failed.",
                self.step,
                self.reported,
                failed.join(" and ")
            )
        })
    }
}

impl Checked {
    fn of(check: &CheckId, verdict: &Verdict) -> Checked {
        let (held, reason, output) = match verdict {
            Verdict::Held => (true, None, None),
            Verdict::Shown { reason, .. } => (true, Some(reason.clone()), None),
            Verdict::Excused { reason, bypass } => {
                (true, Some(format!("got past by `{bypass}`, though: {reason}")), None)
            }
            Verdict::Broken { reason, output } => {
                (false, Some(reason.clone()), Some(output.clone()).filter(|text| !text.is_empty()))
            }
            Verdict::Unknown { reason } if reason.starts_with(Verdict::CANNOT_VERIFY) => {
                (false, Some(reason.clone()), None)
            }
            Verdict::Unknown { reason } => (false, Some(format!("could not be checked: {reason}")), None),
        };
        Checked { id: check.to_string(), held, reason, output }
    }
}

impl Service {
    /// Presents a run, or one position of it.
    pub(super) fn view(&self, held: &Held, at: Option<FramePath>, caller: &Caller) -> Result<View, ServiceError> {
        let (address, task) = match &held.carrier {
            Carrier::Stored(id) | Carrier::Token { id, .. } => (Address::Stored(id.clone()), None),
            Carrier::Task { path, file, .. } => (Address::Task(path.clone()), Some(file.id().to_owned())),
        };
        let workflow = &held.definition.workflow;
        let super::children::Branches { children, doubt } = self.branches(held);
        let viewer = Viewer {
            at: at.clone(),
            untrusted: self.untrusted_at(held),
            can_ask: caller.can_ask,
            effectivities: None,
            children,
            unreadable: doubt.as_ref().map(|doubt| doubt.message.clone()),
        };
        let situation = situation(workflow, &held.run, &viewer);
        let shown = at.and_then(|path| held.run.frame(&path)).unwrap_or_else(|| whole(held));
        Ok(View {
            address,
            task,
            current_step: situation.position.step.clone(),
            terminal: terminal(workflow, shown),
            metadata: tasks::metadata(workflow, &held.run, shown),
            situation,
            claim: None,
            notes: doubt.iter().map(|doubt| format!("{}; {}", doubt.message, doubt.help)).collect(),
        })
    }

    /// How to have the commands trusted that the positions of a run lead through, when they are not.
    pub(super) fn untrusted_at(&self, held: &Held) -> Option<Untrusted> {
        let runs = held.run.positions().iter().any(|(_, frame)| runs_commands(&held.definition, frame));
        if runs { self.untrusted(&held.definition) } else { None }
    }

    /// How to have a definition's commands trusted, when they are not.
    pub(super) fn untrusted(&self, definition: &Definition) -> Option<Untrusted> {
        let commands = definition.commands.as_ref()?;
        // A record that cannot be read trusts nothing.
        if self.trust.is_trusted(commands).unwrap_or(false) {
            return None;
        }
        let workflow = definition.workflow.id().as_str();
        let Some(path) = self.library.path(workflow) else {
            return Some(Untrusted::Restore { workflow: workflow.to_owned() });
        };
        let path = path.strip_prefix(self.project()).map_or_else(|_| path.clone(), std::path::Path::to_path_buf);
        let file = path.to_string_lossy().into_owned();
        let as_begun = self.library.definition(workflow).is_ok_and(|now| now.commands.as_ref() == Some(commands));
        Some(if as_begun {
            Untrusted::Trust { file }
        } else {
            Untrusted::PutBack { workflow: workflow.to_owned(), file }
        })
    }
}

/// How commands come to be trusted, in a person's words.
pub fn lifted_by(untrusted: &Untrusted) -> String {
    let trust = |file: &str| format!("run `portolan trust {}`", shell_word(file));
    match untrusted {
        Untrusted::Trust { file } => trust(file),
        Untrusted::PutBack { workflow, file } => format!(
            "the run is held to an earlier version of `{workflow}`: begin a new run, or put that version back and {}",
            trust(file)
        ),
        // A graph's file is named where its run begins, and the run keeps what stood in it.
        Untrusted::Restore { workflow } => format!(
            "put the file that `{workflow}` came from back as it was and run `portolan trust` on it, or begin a new run"
        ),
    }
}

/// Whether the step that a frame is at is left through commands.
pub(super) fn runs_commands(definition: &Definition, frame: &Frame) -> bool {
    let checks = &definition.workflow.flow(&frame.flow).step(frame.place.node()).node.accept;
    checks.iter().any(|check| matches!(check.by, CheckBy::Run { .. }))
}

/// The frame that stands for the whole run, as for the situation: the only position there is, or the fork that has
/// several.
fn whole(held: &Held) -> &Frame {
    if let [(_, frame)] = held.run.positions().as_slice() {
        return frame;
    }
    let mut frame = &held.run.root;
    while let Place::Within { frame: inner, .. } = &frame.place {
        frame = inner;
    }
    frame
}

/// A word as a shell reads it back.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,~".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
