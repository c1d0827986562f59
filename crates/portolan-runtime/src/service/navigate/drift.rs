//! The run of a token and its definition, which may have changed since the run began. The run continues with the
//! original definition. Only a person may migrate it to another.

use std::sync::Arc;

use portolan_core::engine::migrate;
use portolan_core::run::Human;

use super::super::hold::{Carrier, HeldRun};
use super::super::request::{DefinitionChange, Request, RunAddress};
use super::super::{Caller, Service};
use super::state::token_error;
use crate::carrier::compact::{self, Unreadable};
use crate::carrier::token::Claims;
use crate::definition::Definition;
use crate::error::{ErrorKind, ServiceError};

impl Service {
    /// Returns the run that a token carries.
    ///
    /// # Errors
    /// The original definition is neither the current one nor stored. The run cannot be read. Or the run is to be
    /// migrated by a caller who may not decide that, or past the changes of the definition.
    pub(super) async fn carried(
        &self,
        claims: &Claims,
        request: &Request,
        caller: &Caller,
    ) -> Result<HeldRun, ServiceError> {
        let (now, changed) = match self.library.definition(&claims.workflow) {
            Ok(now) => match claims.check_definition(&now.digest, now.workflow.root().version.as_deref()) {
                Ok(()) => return self.held_to(claims, now, false),
                Err(fault) => (Ok(now), token_error(fault)),
            },
            Err(error) if error.kind == ErrorKind::Failed => return Err(error),
            Err(error) => (Err(error.message.clone()), gone(&error)),
        };
        let Some(then) = self.pinned_like(&claims.definition).await? else { return Err(changed) };
        let held = self.held_to(claims, then, true)?;
        if request.definition != Some(DefinitionChange::Migrate) {
            return Ok(held);
        }
        match may_migrate(caller, CONTINUE).and_then(|()| carry_over(&held, now, &changed)) {
            Ok((definition, run)) => Ok(HeldRun { definition, run, seq: held.seq, carrier: carrier(claims, false) }),
            Err(error) => {
                let grip = RunAddress::led(held, Some(claims.revision), true, request);
                Err(self.situated(error, &grip, None, caller))
            }
        }
    }

    /// Returns the run of a token with `definition`. `behind` means that this is not the current one.
    fn held_to(&self, claims: &Claims, definition: Arc<Definition>, behind: bool) -> Result<HeldRun, ServiceError> {
        let (workflow, words) = (&definition.workflow, self.words.of(&definition.workflow));
        let mut run = compact::read(workflow, &words, claims.revision, &claims.state).map_err(unreadable)?;
        // A token may come from a service that accepts an agent's answers. The rules of this service apply here.
        if self.options.human == Human::Verified {
            run.opening.rules.human = Human::Verified;
        }
        super::super::hold::check_fit(&definition, &run)?;
        Ok(HeldRun { definition, run, seq: 0, carrier: carrier(claims, behind) })
    }

    /// Returns a note if the run's definition is no longer the current one.
    pub(in crate::service) fn behind(&self, held: &HeldRun) -> Option<String> {
        let behind = match &held.carrier {
            Carrier::Stored(_) => {
                let now = self.library.definition(held.run.opening.workflow.as_str()).ok()?;
                now.digest != held.definition.digest
            }
            Carrier::Token { behind, .. } => *behind,
            Carrier::Task { .. } => false,
        };
        behind.then(|| "the workflow has changed since this run began; the run keeps the earlier version".to_owned())
    }
}

const CONTINUE: &str = "continue without `definition`: the run keeps the earlier version of the workflow; or ask \
        the person to run `portolan runs migrate`";

/// Refuses a caller who is no person: a changed definition may ask for less than the run's own.
pub(in crate::service) fn may_migrate(caller: &Caller, help: &str) -> Result<(), ServiceError> {
    if caller.is_person() {
        return Ok(());
    }
    Err(ServiceError::of(
        ErrorKind::NeedsPerson,
        "needs_person",
        "only a person is allowed to continue a run with a definition that it did not begin with",
        help,
    ))
}

/// Migrates the run to the current definition.
fn carry_over(
    held: &HeldRun,
    now: Result<Arc<Definition>, String>,
    changed: &ServiceError,
) -> Result<(Arc<Definition>, portolan_core::run::Run), ServiceError> {
    let carried = now.and_then(|now| {
        let run = migrate(&held.definition.workflow, &now.workflow, &held.run)?;
        Ok((now, run))
    });
    carried.map_err(|why| ServiceError {
        code: "definition_changed",
        help: format!("continue with the earlier definition, or begin a new run; the run cannot be migrated: {why}"),
        ..changed.clone()
    })
}

fn gone(error: &ServiceError) -> ServiceError {
    let message = format!("the definition that the run began with is no longer available: {}", error.message);
    ServiceError::refused("definition_changed", message, "restore it, or begin a new run")
}

fn carrier(claims: &Claims, behind: bool) -> Carrier {
    Carrier::Token { id: claims.run.clone(), workflow: claims.workflow.clone(), behind }
}

fn unreadable(why: Unreadable) -> ServiceError {
    match why {
        Unreadable::Damaged => ServiceError::refused(
            "damaged",
            "the token is complete, but what it says about the run is not valid",
            "send the token of an earlier answer, or begin a new run",
        ),
        Unreadable::Layout(_) | Unreadable::Words => ServiceError::refused(
            "unsupported_version",
            "the state of the run was written by another release",
            "continue with the release of Portolan that made the token, or begin a new run",
        ),
    }
}
