//! The other open tasks of a project: of two tasks with the same issue, one works in vain.

use portolan_core::run::Run;
use portolan_gates::facts::{Answer, FactError};
use serde_json::{Map, Value};

use super::super::hold::{Carrier, HeldRun};
use super::hooks::Hooks;
use super::{is_task, log};
use crate::carrier::Address;
use crate::error::ServiceError;
use crate::gates::Other;
use crate::store::{ListFilter, Summary};

/// The gate that needs them.
const GATE: &str = "trackingIssueExists";
/// The maximum number of runs that are read.
const MOST: usize = 500;

impl Hooks<'_> {
    /// Returns the claims of the other open tasks, if one of the gates needs them.
    pub(in crate::service) async fn other_tasks(&self, held: &HeldRun, gates: &[String]) -> Answer<Vec<Other>> {
        let Carrier::Stored(id) = &held.carrier else { return Answer::NotAsked };
        if !gates.iter().any(|gate| gate == GATE) {
            return Answer::NotAsked;
        }
        self.claimed_by_others(id.as_str()).await.map_or_else(
            |error| {
                let why = format!("the claims of other tasks cannot be read: {}; {}", error.message, error.help);
                Answer::Unknown(FactError { code: "others-unknown", why })
            },
            Answer::Found,
        )
    }

    async fn claimed_by_others(&self, own: &str) -> Result<Vec<Other>, ServiceError> {
        let runs = self.service.store().list(ListFilter { open_only: true, limit: MOST }).await;
        let runs = runs.map_err(crate::store::store_error)?;
        let mut others = Vec::new();
        for Summary { id, description, .. } in runs.into_iter().filter(|run| run.id.as_str() != own) {
            let Some(task) = description.filter(|text| is_task(text).is_ok()) else { continue };
            let held = self.service.hold(&Address::Stored(id.clone())).await?;
            if log::has_phases(&held.definition.workflow) {
                others.push(Other { task, run: id.to_string(), claims: claims(&held.run) });
            }
        }
        Ok(others)
    }
}

fn claims(run: &Run) -> Map<String, Value> {
    run.root.data.iter().flat_map(|data| data.variables.clone()).collect()
}
