//! Whether a pull request is ready to be merged, as `gh` tells it: conflicts, and the checks that the forge ran.

use std::collections::BTreeMap;

use portolan_gates::facts::{FactError, ForgeCheck, ForgeCheckState, Readiness};
use serde::{Deserialize, Deserializer};

use crate::program::unknown;

/// A check: a run of one, or a status that somebody has set from outside.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CheckAnswer {
    /// Of a run.
    name: Option<String>,
    workflow_name: Option<String>,
    status: Option<String>,
    conclusion: Option<String>,
    details_url: Option<String>,
    started_at: Option<String>,
    /// Of a status.
    context: Option<String>,
    state: Option<String>,
}

/// Tells what is `null` from what is not there.
pub(super) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// What `gh` said of conflicts and checks.
pub(super) fn readiness(
    mergeable: Option<String>,
    checks: Option<Option<Vec<CheckAnswer>>>,
) -> Result<Readiness, FactError> {
    let lacks = |field: &str| unknown("gh-answer", format!("`gh` answered without `{field}`; update it"));
    let mergeable = match mergeable.ok_or_else(|| lacks("mergeable"))?.as_str() {
        "MERGEABLE" => Some(true),
        "CONFLICTING" => Some(false),
        _ => None,
    };
    let checks = checks.ok_or_else(|| lacks("statusCheckRollup"))?.unwrap_or_default();
    Ok(Readiness { mergeable, checks: latest(checks) })
}

/// The checks, each once: one that was run again within the same workflow run counts as it was run last. Those of other
/// workflow runs count for themselves, though they have the same name.
fn latest(all: Vec<CheckAnswer>) -> Vec<ForgeCheck> {
    let mut kept: BTreeMap<(String, String, String), CheckAnswer> = BTreeMap::new();
    for check in all {
        let run = check.details_url.as_deref().map(run_of).unwrap_or_default();
        let key = (check.workflow_name.clone().unwrap_or_default(), check.called(), run.to_owned());
        let is_older = kept.get(&key).is_some_and(|known| known.order() > check.order());
        if !is_older {
            kept.insert(key, check);
        }
    }
    kept.into_values().map(|check| ForgeCheck { name: check.shown(), state: check.standing() }).collect()
}

/// What tells the workflow run of a check from others: its address, without the job.
fn run_of(address: &str) -> &str {
    address.split_once("/job/").map_or(address, |(run, _)| run)
}

impl CheckAnswer {
    /// By what the latest of several is told. One that waits for its turn has no beginning yet.
    fn order(&self) -> (bool, Option<&str>) {
        (self.standing() == ForgeCheckState::Running, self.started_at.as_deref())
    }

    fn called(&self) -> String {
        self.name.as_ref().or(self.context.as_ref()).cloned().unwrap_or_default()
    }

    /// Its name, with that of its workflow.
    fn shown(&self) -> String {
        match self.workflow_name.as_deref() {
            Some(workflow) if !workflow.is_empty() => format!("{workflow} / {}", self.called()),
            _ => self.called(),
        }
    }

    /// What is not known to be well is not well.
    fn standing(&self) -> ForgeCheckState {
        let is_run = self.status.is_some() || self.conclusion.is_some();
        let word = if is_run { &self.conclusion } else { &self.state };
        let has_ended = !is_run || self.status.as_deref() == Some("COMPLETED");
        match word.as_deref().unwrap_or_default() {
            "PENDING" | "EXPECTED" => ForgeCheckState::Running,
            _ if !has_ended => ForgeCheckState::Running,
            "SUCCESS" | "NEUTRAL" | "SKIPPED" => ForgeCheckState::Passed,
            "" => ForgeCheckState::Failed("nothing".to_owned()),
            other => ForgeCheckState::Failed(other.to_ascii_lowercase()),
        }
    }
}
