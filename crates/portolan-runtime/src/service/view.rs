//! Builds the response to a call about a run.

use portolan_core::graph::CheckBy;
use portolan_core::present::{TrustRequirement, Viewer, focus, situation};
use portolan_core::run::{Frame, FramePath, Human, Place, Run, WaitingFor};

use super::hold::{Carrier, HeldRun};
use super::request::RunAddress;
use super::{Caller, Service};
use crate::attachments;
use crate::carrier::Address;
use crate::definition::Definition;
use crate::error::ServiceError;
use crate::project_checks;
use crate::tasks::{self, terminal};
use crate::trust::Digest;
use crate::view::View;

impl Service {
    /// Presents a run or one of its positions. A navigating agent always gets the focused position.
    ///
    /// # Errors
    /// The run does not fit into a token, or the keys cannot be used.
    pub(super) fn present(
        &self,
        grip: &RunAddress,
        at: Option<FramePath>,
        caller: &Caller,
    ) -> Result<View, ServiceError> {
        let held = &grip.held;
        let (workflow, run) = (&held.definition.workflow, &held.run);
        let at = if grip.is_led { Some(focus(run).0) } else { at };
        let super::children::Branches { children, doubt } = self.branches(held);
        let viewer = Viewer {
            at: at.clone(),
            untrusted: self.untrusted_at(held),
            can_ask: caller.can_ask,
            effectivities: grip.effectivities.clone(),
            children,
            unreadable: doubt.as_ref().map(|doubt| doubt.message.clone()),
            checking: self.checking(held, at.as_ref()),
        };
        let situation = situation(workflow, run, &viewer);
        let shown = at.and_then(|path| run.frame(&path)).unwrap_or_else(|| whole(held));
        let (state, is_token) = self.state(grip)?;
        let (address, task) = match &held.carrier {
            Carrier::Stored(id) => (Address::Stored(id.clone()), None),
            Carrier::Token { .. } => (Address::State(state.clone()), None),
            Carrier::Task { path, file, .. } => (Address::Task(path.clone()), Some(file.id().to_owned())),
        };
        Ok(View {
            address,
            state,
            is_token,
            workflow: held.workflow().to_owned(),
            task,
            current_step: situation.position.step.clone(),
            terminal: terminal(workflow, shown),
            metadata: tasks::metadata(workflow, run, shown),
            situation,
            asks_person: asks_a_person(run),
            claim: None,
            notes: doubt.iter().map(|doubt| format!("{}; {}", doubt.message, doubt.help)).collect(),
        })
    }

    /// Adds the situation of the run to an error.
    pub(super) fn situated(
        &self,
        error: ServiceError,
        grip: &RunAddress,
        at: Option<FramePath>,
        caller: &Caller,
    ) -> ServiceError {
        crate::logging::refused(grip.held.name(), &error);
        match self.present(grip, at, caller) {
            Ok(view) => error.at(view),
            Err(_) => error,
        }
    }

    /// Returns how to trust the commands at the positions of a run, if any is untrusted.
    pub(super) fn untrusted_at(&self, held: &HeldRun) -> Option<TrustRequirement> {
        let positions = held.run.positions();
        positions.into_iter().find_map(|(_, frame)| self.lacks_trust(&held.definition, frame))
    }

    /// Returns how to trust the commands that check a position, if any is untrusted: those of its definition and those
    /// of the project.
    pub(super) fn lacks_trust(&self, definition: &Definition, frame: &Frame) -> Option<TrustRequirement> {
        let checks = &definition.workflow.flow(&frame.flow).step(frame.place.node()).node.accept;
        let own = checks.iter().any(|check| matches!(check.by, CheckBy::Run { .. }));
        own.then(|| self.untrusted(definition)).flatten().or_else(|| {
            let named = checks.iter().filter_map(|check| match &check.by {
                CheckBy::Project { name } => Some(name.as_str()),
                _ => None,
            });
            self.untrusted_checks(named)
        })
    }

    /// Does the same for checks of the project. A check that the project does not define needs no trust: a person is
    /// asked.
    fn untrusted_checks<'n>(&self, names: impl Iterator<Item = &'n str>) -> Option<TrustRequirement> {
        let mut names = names.peekable();
        // Every move calls this: no file is read for steps without such a check.
        names.peek()?;
        // A file that has faults or cannot be read is reported when the check is performed.
        let checks = project_checks::load(self.project()).unwrap_or_default();
        let lacking = names.any(|name| checks.contains_key(name))
            && !project_checks::is_trusted(&checks, &self.trust).unwrap_or(false);
        lacking.then(|| TrustRequirement::Trust { file: project_checks::FILE.to_owned() })
    }

    /// Checks whether these commands are trusted. A trust record that cannot be read trusts nothing.
    ///
    /// # Errors
    /// The store through which machines share trust counts here, and does not say it.
    fn is_trusted(&self, commands: &Digest) -> Result<bool, TrustRequirement> {
        match self.trust.is_trusted(commands) {
            Ok(is_trusted) => Ok(is_trusted),
            Err(error) if error.is_of_store() => Err(TrustRequirement::Unverified { reason: error.to_string() }),
            Err(_) => Ok(false),
        }
    }

    /// Checks whether the project attaches untrusted commands to a definition.
    ///
    /// # Errors
    /// As for [`Service::is_trusted`].
    fn lacks_trusted_attachments(&self, definition: &Definition) -> Result<bool, TrustRequirement> {
        for commands in &definition.attached_commands {
            if !self.is_trusted(commands)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns how to trust a definition's commands, if any is untrusted. Commands attached by the project come first.
    pub fn untrusted(&self, definition: &Definition) -> Option<TrustRequirement> {
        match self.lacks_trusted_attachments(definition) {
            Ok(false) => {}
            Ok(true) => return Some(self.unattached(definition)),
            Err(unverified) => return Some(unverified),
        }
        let commands = definition.commands.as_ref()?;
        match self.is_trusted(commands) {
            Ok(true) => None,
            Ok(false) => Some(self.unallowed(definition, commands)),
            Err(unverified) => Some(unverified),
        }
    }

    fn unattached(&self, definition: &Definition) -> TrustRequirement {
        let now = attachments::digests(&attachments::load(self.project()).unwrap_or_default());
        let file = attachments::FILE.to_owned();
        match definition.attached_commands.iter().all(|begun| now.contains(begun)) {
            true => TrustRequirement::Trust { file },
            false => TrustRequirement::PutBack { workflow: file.clone(), file },
        }
    }

    fn unallowed(&self, definition: &Definition, commands: &Digest) -> TrustRequirement {
        let workflow = definition.workflow.id().as_str();
        let Some(path) = self.library.path(workflow) else {
            return TrustRequirement::Restore { workflow: workflow.to_owned() };
        };
        let path = path.strip_prefix(self.project()).map_or_else(|_| path.clone(), std::path::Path::to_path_buf);
        let file = path.to_string_lossy().into_owned();
        let as_begun = self.library.definition(workflow).is_ok_and(|now| now.commands.as_ref() == Some(commands));
        if as_begun {
            TrustRequirement::Trust { file }
        } else {
            TrustRequirement::PutBack { workflow: workflow.to_owned(), file }
        }
    }

    /// Describes to the person at this machine how to trust the commands: also through the store, if machines share trust
    /// there and this one has not accepted it.
    pub(super) fn lifted_here(&self, untrusted: &TrustRequirement) -> String {
        let lifted = lifted_by(untrusted);
        let is_verified = !matches!(untrusted, TrustRequirement::Unverified { .. });
        match self.trust.shared_address() {
            Some(address) if is_verified && !self.trust.accepts_shared().unwrap_or(true) => {
                format!("{lifted}, or accept what is trusted in `{address}` with `portolan trust --accept-shared`")
            }
            _ => lifted,
        }
    }
}

/// Describes to a person how to trust the commands.
pub fn lifted_by(untrusted: &TrustRequirement) -> String {
    let trust = |file: &str| format!("run `portolan trust {}`", shell_word(file));
    match untrusted {
        TrustRequirement::Trust { file } => trust(file),
        TrustRequirement::PutBack { workflow, file } => format!(
            "the run uses an earlier version of `{workflow}`: begin a new run, or restore that version and {}",
            trust(file)
        ),
        // A graph's file is named when its run begins. The run keeps the text of the file.
        TrustRequirement::Restore { workflow } => {
            format!("restore the file that `{workflow}` came from and run `portolan trust` on it, or begin a new run")
        }
        TrustRequirement::Unverified { reason } => reason.clone(),
    }
}

/// Returns the frame that represents the whole run, as the situation does: the only position, or the fork that has
/// several.
fn whole(held: &HeldRun) -> &Frame {
    if let [(_, frame)] = held.run.positions().as_slice() {
        return frame;
    }
    let mut frame = &held.run.root;
    while let Place::Within { frame: inner, .. } = &frame.place {
        frame = inner;
    }
    frame
}

/// Quotes a word for a shell.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,~".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Checks whether the run waits for an answer that no agent may give.
pub(super) fn asks_a_person(run: &Run) -> bool {
    run.positions().into_iter().any(|(_, frame)| match &frame.place {
        Place::Waiting { on: WaitingFor::Budget | WaitingFor::Unchecked, .. } => true,
        Place::Waiting { .. } => run.opening.rules.human == Human::Verified,
        _ => false,
    })
}
