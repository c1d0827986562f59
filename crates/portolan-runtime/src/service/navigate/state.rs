//! What callers hold of a run: read, and given out anew.
//!
//! ```text
//! k3mx8q2p.15        the handle of a run in the store, and the revision at which the caller knows it
//! k3mx8q2p           the handle alone, with which one can look
//! v1.gzB64.H4sIAAA…  a token: all that there is of the run, unless its runs are in the store too
//! ```

use portolan_core::diagnostic::clip;
use portolan_core::present::{Viewer, focus, situation};

use super::super::hold::{Carrier, Held};
use super::super::{Caller, Service};
use super::{Astray, Bearing, Course, States};
use crate::carrier::Address;
use crate::carrier::compact;
use crate::carrier::token::{Claims, Fingerprint, TokenFault};
use crate::error::ServiceError;
use crate::library::bare;
use crate::store::RunId;

/// A run, by what its caller holds of it.
pub(super) struct Grip {
    pub(super) held: Held,
    /// The revision at which the caller knows it.
    pub(super) known: Option<u64>,
    /// Whether the caller is given a token.
    pub(super) as_token: bool,
}

/// No handle is longer than this with any revision, and every token is.
const MAX_HANDLE_BYTES: usize = 32;

impl Service {
    /// Takes hold of the run that `state` is of.
    ///
    /// # Errors
    /// It is of none, of one of another workflow, or of one whose definition has changed.
    pub(super) async fn grip(&self, course: &Course, caller: &Caller) -> Result<Grip, Astray> {
        let text = course.state.trim();
        let able = course.effectivities.as_deref();
        if text.len() > MAX_HANDLE_BYTES {
            let claims = self.tokens.open(text).map_err(token_error)?;
            if let Some(held) = self.in_ledger(&claims.run).await? {
                let grip = Grip { held, known: Some(claims.revision), as_token: true };
                return self.of_workflow(grip, course, caller);
            }
            course.workflow.iter().try_for_each(|named| claims.check_workflow(named)).map_err(token_error)?;
            let (held, known) = (self.carried(&claims, course, caller)?, Some(claims.revision));
            return Ok(Grip { held, known, as_token: true });
        }
        let (id, known) = handle(text)?;
        let held = self.hold(&Address::Stored(id)).await?;
        let grip = Grip { held, known, as_token: self.options.states == States::Ledger };
        if course.drift.is_some() {
            let message = "the run is in the store, and held to the definition that it began with";
            let error = ServiceError::refused("bad_input", message, "leave `definition` out");
            return Err(self.astray(error, &grip, able, caller));
        }
        self.of_workflow(grip, course, caller)
    }

    /// The run of a token, where tokens are not all that there is of runs.
    async fn in_ledger(&self, id: &RunId) -> Result<Option<Held>, ServiceError> {
        if self.options.states == States::Tokens {
            return Ok(None);
        }
        match self.hold(&Address::Stored(id.clone())).await {
            Ok(held) => Ok(Some(held)),
            Err(error) if error.code == "unknown_run" && self.options.states == States::Handles => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn of_workflow(&self, grip: Grip, course: &Course, caller: &Caller) -> Result<Grip, Astray> {
        let is = grip.held.run.opening.workflow.as_str();
        let Some(named) = course.workflow.as_deref().filter(|named| bare(named) != is) else { return Ok(grip) };
        let message = format!("the run is one of `{is}`, and the call names `{}`", clip(named));
        let help = format!("name `{is}`, or send the `state` of a run of the other");
        let error = ServiceError::refused("workflow_mismatch", message, help);
        Err(self.astray(error, &grip, course.effectivities.as_deref(), caller))
    }

    /// Where a run is, what its caller holds of it from now on, and what the caller should know besides.
    ///
    /// # Errors
    /// It has no room in a token, or the keys cannot be used.
    pub(super) fn bearing(
        &self,
        grip: &Grip,
        able: Option<&[String]>,
        caller: &Caller,
        notes: Vec<String>,
    ) -> Result<Bearing, ServiceError> {
        let held = &grip.held;
        let kept = |id: &RunId| (format!("{id}.{}", held.run.revision), false);
        let (state, is_token) = match &held.carrier {
            Carrier::Token { .. } => (self.sealed(held)?, true),
            // What has no room in a token, or cannot be signed, is in the store all the same.
            Carrier::Stored(id) if grip.as_token => self.sealed(held).map_or_else(|_| kept(id), |token| (token, true)),
            Carrier::Stored(id) => kept(id),
            Carrier::Task { .. } => unreachable!("no state names a task file"),
        };
        let (run, workflow) = match &held.carrier {
            Carrier::Token { workflow, .. } => (None, workflow.clone()),
            Carrier::Stored(id) => (Some(id.to_string()), held.definition.workflow.id().to_string()),
            Carrier::Task { .. } => unreachable!("no state names a task file"),
        };
        let viewer = Viewer {
            at: Some(focus(&held.run).0),
            untrusted: self.untrusted_at(held),
            can_ask: caller.can_ask,
            effectivities: able.map(<[String]>::to_vec),
            ..Viewer::default()
        };
        let situation = situation(&held.definition.workflow, &held.run, &viewer);
        Ok(Bearing { state, is_token, run, workflow, situation, notes })
    }

    fn sealed(&self, held: &Held) -> Result<String, ServiceError> {
        let (id, workflow) = match &held.carrier {
            Carrier::Token { id, workflow, .. } => (id, workflow.as_str()),
            Carrier::Stored(id) => (id, held.run.opening.workflow.as_str()),
            Carrier::Task { .. } => unreachable!("no state names a task file"),
        };
        let definition = &held.definition;
        let claims = Claims {
            workflow: workflow.to_owned(),
            version: definition.workflow.root().version.clone(),
            definition: Fingerprint::of(&definition.digest),
            run: id.clone(),
            revision: held.run.revision,
            state: compact::write(&definition.workflow, &held.run).ok_or_else(too_large)?,
        };
        self.tokens.seal(&claims).map_err(token_error)
    }

    /// A refusal, with where the run is.
    pub(super) fn astray(&self, error: ServiceError, grip: &Grip, able: Option<&[String]>, caller: &Caller) -> Astray {
        Astray { error, bearing: self.bearing(grip, able, caller, Vec::new()).ok().map(Box::new) }
    }
}

/// Reads a handle, with a revision or without.
fn handle(text: &str) -> Result<(RunId, Option<u64>), ServiceError> {
    let (id, revision) = match text.split_once('.') {
        Some((id, revision)) if revision.bytes().all(|byte| byte.is_ascii_digit()) => {
            (id, revision.parse().ok().map(Some))
        }
        Some((id, _)) => (id, None),
        None => (text, Some(None)),
    };
    match (RunId::parse(id), revision) {
        (Some(id), Some(revision)) => Ok((id, revision)),
        _ if text.starts_with("v1.") => Err(damaged("the token is cut off")),
        _ => Err(damaged(&format!("`{}` is no state of a run", clip(text)))),
    }
}

fn damaged(message: &str) -> ServiceError {
    let help = "send `state` exactly as the last answer had it; the person can find runs with `portolan runs list`";
    ServiceError::refused("damaged", message, help)
}

fn too_large() -> ServiceError {
    ServiceError::refused(
        "too_large",
        "the run has no room in a token any more",
        "serve without `--stateless`: the run is then in the store, and its state a short handle",
    )
}

pub(super) fn token_error(fault: TokenFault) -> ServiceError {
    ServiceError::refused(fault.code.as_str(), fault.message, fault.help)
}
