//! The run of a token and the definition that it is held to, which may have changed since the run began. Never is gone on
//! with another one silently: the holder chooses.

use std::sync::Arc;

use portolan_core::engine::migrate;
use portolan_core::present::{Action, Actions};
use portolan_core::run::Human;
use serde_json::{Map, json};

use super::super::hold::{Carrier, Held};
use super::super::{Caller, ErrorKind, Service, ServiceError};
use super::state::{Grip, token_error};
use super::{Astray, Course, Drift};
use crate::carrier::compact::{self, Carried, Unreadable};
use crate::carrier::token::Claims;
use crate::definition::Definition;

impl Service {
    /// The run that a token carries.
    ///
    /// # Errors
    /// Its definition has changed, and the caller has not said how to go on; or it cannot be read.
    pub(super) fn carried(&self, claims: &Claims, course: &Course, caller: &Caller) -> Result<Held, Astray> {
        let now = self.library.definition(&claims.workflow);
        let (now, changed) = match now {
            Ok(now) => match claims.check_definition(&now.digest, now.workflow.root().version.as_deref()) {
                Ok(()) => return Ok(held(claims, now, false, self.options.human)?),
                Err(fault) => (Ok(now), token_error(fault)),
            },
            Err(error) if error.kind == ErrorKind::Failed => return Err(error.into()),
            Err(error) => (Err(error.message.clone()), error),
        };
        let Some(then) = self.pinned.by_fingerprint(&claims.definition)? else { return Err(changed.into()) };
        let held = held(claims, then, true, self.options.human)?;
        match course.drift {
            Some(Drift::Pinned) => return Ok(Held { carrier: carrier(claims, true), ..held }),
            None if matches!(&held.carrier, Carrier::Token { pinned: true, .. }) => return Ok(held),
            None | Some(Drift::Migrate) => {}
        }
        let changed = match &now {
            Ok(_) => changed,
            Err(why) => {
                let message = format!("the definition that the run began with is not there any more: {why}");
                ServiceError::refused("definition_changed", message, "")
            }
        };
        let migrated = now.and_then(|now| {
            let run = migrate(&held.definition.workflow, &now.workflow, &held.run)?;
            Ok(Held { definition: now, run, seq: held.seq, carrier: carrier(claims, false) })
        });
        match migrated {
            Ok(migrated) if course.drift.is_some() => Ok(migrated),
            migrated => Err(self.changed(changed, claims, held, course, caller, migrated.err().as_deref())),
        }
    }

    /// That a run of the store is held to a definition that is no longer the present one.
    pub(super) fn behind(&self, held: &Held) -> Option<String> {
        let Carrier::Stored(_) = &held.carrier else { return None };
        let now = self.library.definition(held.run.opening.workflow.as_str()).ok()?;
        (now.digest != held.definition.digest)
            .then(|| "the workflow has changed since this run began; the run is held to it as it was".to_owned())
    }

    /// The refusal that names both versions and the ways on.
    fn changed(
        &self,
        mut error: ServiceError,
        claims: &Claims,
        held: Held,
        course: &Course,
        caller: &Caller,
        no_migration: Option<&str>,
    ) -> Astray {
        error.help = match no_migration {
            None => {
                "go on with the definition as it was (`pinned`) or as it is (`migrate`), or begin a new run".to_owned()
            }
            Some(why) => format!(
                "go on with the definition as it was (`pinned`), or begin a new run; the run cannot be carried over: {why}"
            ),
        };
        let held = Held { carrier: carrier(claims, false), ..held };
        let grip = Grip { held, known: Some(claims.revision), as_token: true };
        let mut astray = self.astray(error, &grip, course.effectivities.as_deref(), caller);
        if let Some(bearing) = &mut astray.bearing {
            bearing.guidance.available_actions = ways_on(claims, &bearing.state, no_migration.is_none());
        }
        astray
    }
}

/// The calls by which the holder says how to go on.
fn ways_on(claims: &Claims, state: &str, may_migrate: bool) -> Actions {
    let way = |definition: &str, title: &str| Action {
        tool: "get_position",
        arguments: Map::from_iter([
            ("workflow_id".to_owned(), json!(claims.workflow)),
            ("state".to_owned(), json!(state)),
            ("definition".to_owned(), json!(definition)),
        ]),
        title: title.to_owned(),
        fill: Vec::new(),
        delegate: Vec::new(),
    };
    let migrate = may_migrate.then(|| way("migrate", "go on with the definition as it is now"));
    Actions {
        required: vec![way("pinned", "go on with the definition that the run began with")],
        optional: migrate.into_iter().collect(),
        blocked: Vec::new(),
    }
}

fn carrier(claims: &Claims, pinned: bool) -> Carrier {
    Carrier::Token { id: claims.run.clone(), workflow: claims.workflow.clone(), pinned }
}

/// The run of a token that is held to `definition`. `may_be_pinned`: the file has changed.
fn held(claims: &Claims, definition: Arc<Definition>, may_be_pinned: bool, human: Human) -> Result<Held, ServiceError> {
    let read = compact::read(&definition.workflow, claims.revision, &claims.state);
    let Carried { mut run, pinned } = read.map_err(unreadable)?;
    // A token may come from where an agent's word counts; here it is held to what counts here.
    if human == Human::Verified {
        run.opening.rules.human = human;
    }
    super::super::hold::check_fit(&definition, &run)?;
    Ok(Held { definition, run, seq: 0, carrier: carrier(claims, pinned && may_be_pinned) })
}

fn unreadable(why: Unreadable) -> ServiceError {
    match why {
        Unreadable::Damaged => ServiceError::refused(
            "damaged",
            "the token is whole, but what it says of the run makes no sense",
            "send the token of an earlier answer, or begin a new run",
        ),
        Unreadable::Layout(_) | Unreadable::Words => ServiceError::refused(
            "unsupported_version",
            "the state of the run was written by another release",
            "go on with the release of Portolan that made the token, or begin a new run",
        ),
    }
}
