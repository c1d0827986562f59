//! States that callers hold of a run: read, and issued.
//!
//! ```text
//! k3mx8q2p.15        the handle of a run in the store, and the revision at which the caller knows it
//! k3mx8q2p           the handle alone, with which one can look
//! v1.gzB64.H4sIAAA…  a token: all that there is of the run, unless its runs are in the store too
//! ```

use portolan_core::diagnostic::clip;

use super::super::hold::{Carrier, HeldRun};
use super::super::request::{Request, RunAddress};
use super::super::{Caller, Service};
use super::States;
use crate::carrier::Address;
use crate::carrier::compact;
use crate::carrier::token::{Claims, Fingerprint, TokenFault};
use crate::error::ServiceError;
use crate::library::bare;
use crate::store::RunId;

/// The maximum length in bytes of a handle with any revision. Every token is longer.
const MAX_HANDLE_BYTES: usize = 32;

impl Service {
    /// Holds the run of `state`.
    ///
    /// # Errors
    /// The state is of no run, of a run of another workflow, or of one whose definition has changed.
    pub(in crate::service) async fn grip_state(
        &self,
        state: &str,
        request: &Request,
        caller: &Caller,
    ) -> Result<RunAddress, ServiceError> {
        let text = state.trim();
        if text.len() > MAX_HANDLE_BYTES {
            let claims = self.tokens.open(text).map_err(token_error)?;
            if let Some(held) = self.in_ledger(&claims.run).await? {
                let grip = RunAddress::led(held, Some(claims.revision), true, request);
                return self.of_workflow(grip, request, caller);
            }
            request.workflow.iter().try_for_each(|named| claims.check_workflow(named)).map_err(token_error)?;
            let held = self.carried(&claims, request, caller).await?;
            return Ok(RunAddress::led(held, Some(claims.revision), true, request));
        }
        let (id, known) = handle(text)?;
        let held = self.hold(&Address::Stored(id)).await?;
        let grip = RunAddress::led(held, known, self.options.states == States::Ledger, request);
        if request.definition.is_some() {
            let message = "the run is in the store and keeps the definition that it began with";
            let error = ServiceError::refused("bad_input", message, "leave `definition` out");
            return Err(self.situated(error, &grip, None, caller));
        }
        self.of_workflow(grip, request, caller)
    }

    /// Returns the stored run of a token. `None` if the token contains the whole run.
    async fn in_ledger(&self, id: &RunId) -> Result<Option<HeldRun>, ServiceError> {
        if self.options.states == States::Tokens {
            return Ok(None);
        }
        match self.hold(&Address::Stored(id.clone())).await {
            Ok(held) => Ok(Some(held)),
            Err(error) if error.code == "unknown_run" && self.options.states == States::Handles => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn of_workflow(&self, grip: RunAddress, request: &Request, caller: &Caller) -> Result<RunAddress, ServiceError> {
        let is = grip.held.run.opening.workflow.as_str();
        let Some(named) = request.workflow.as_deref().filter(|named| bare(named) != is) else { return Ok(grip) };
        let message = format!("the run belongs to the workflow `{is}`, but the call names `{}`", clip(named));
        let help = format!("name `{is}`, or send the `state` of a run of the other workflow");
        let error = ServiceError::refused("workflow_mismatch", message, help);
        Err(self.situated(error, &grip, None, caller))
    }

    /// Returns the caller's new state of a run, and whether that is a token.
    ///
    /// # Errors
    /// The run does not fit into a token, or the keys cannot be used.
    pub(in crate::service) fn state(&self, grip: &RunAddress) -> Result<(String, bool), ServiceError> {
        let held = &grip.held;
        let kept = |id: &RunId| (format!("{id}.{}", held.run.revision), false);
        Ok(match &held.carrier {
            Carrier::Token { .. } => (self.sealed(held)?, true),
            // A run that does not fit into a token, or cannot be signed, is in the store in any case.
            Carrier::Stored(id) if grip.as_token => self.sealed(held).map_or_else(|_| kept(id), |token| (token, true)),
            Carrier::Stored(id) => kept(id),
            Carrier::Task { path, .. } => (path.clone(), false),
        })
    }

    fn sealed(&self, held: &HeldRun) -> Result<String, ServiceError> {
        let (id, name) = match &held.carrier {
            Carrier::Token { id, workflow, .. } => (id, workflow.as_str()),
            Carrier::Stored(id) => (id, held.run.opening.workflow.as_str()),
            Carrier::Task { .. } => unreachable!("no state names a task file"),
        };
        let (definition, workflow) = (&held.definition, &held.definition.workflow);
        let claims = Claims {
            workflow: name.to_owned(),
            version: workflow.root().version.clone(),
            definition: Fingerprint::of(&definition.digest),
            run: id.clone(),
            revision: held.run.revision,
            state: compact::write(workflow, &self.words.of(workflow), &held.run).ok_or_else(too_large)?,
        };
        self.tokens.seal(&claims).map_err(token_error)
    }
}

/// Returns the handle of the stored run of a state.
///
/// # Errors
/// The state is of no stored run: a token contains its run.
pub(in crate::service) fn kept_under(state: &str) -> Result<RunId, ServiceError> {
    if state.len() > MAX_HANDLE_BYTES {
        let message = "the run of a token is stored only in the token";
        return Err(ServiceError::refused("unknown_run", message, "inspect the token itself"));
    }
    handle(state).map(|(id, _)| id)
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
        _ if text.starts_with("v1.") => Err(damaged("the token is truncated")),
        _ => Err(damaged(&format!("`{}` is not the state of a run", clip(text)))),
    }
}

fn damaged(message: &str) -> ServiceError {
    let help = "send `state` exactly as the last answer gave it; the person can find runs with `portolan runs list`";
    ServiceError::refused("damaged", message, help)
}

fn too_large() -> ServiceError {
    ServiceError::refused(
        "too_large",
        "the run no longer fits into a token",
        "serve without `--stateless`: the run is then in the store, and its state is a short handle",
    )
}

pub(super) fn token_error(fault: TokenFault) -> ServiceError {
    ServiceError::refused(fault.code.as_str(), fault.message, fault.help)
}
