//! Whether a pull request is ready to be merged, according to `gh`: conflicts, and the checks that the forge ran.

use std::collections::BTreeMap;

use portolan_gates::facts::{FactError, ForgeCheck, ForgeCheckState, Readiness};
use serde::{Deserialize, Deserializer};

use crate::program::unknown;

/// A check: a check run, or a commit status that an external service has set.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CheckAnswer {
    /// Fields of a check run.
    name: Option<String>,
    workflow_name: Option<String>,
    status: Option<String>,
    conclusion: Option<String>,
    details_url: Option<String>,
    started_at: Option<String>,
    /// Fields of a commit status.
    context: Option<String>,
    state: Option<String>,
}

/// Distinguishes a field that is `null` from a missing one.
pub(super) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// Parses the conflicts and checks in the answer of `gh`.
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

/// Returns each check once. Of several attempts within one workflow run, the latest counts. Checks of other workflow
/// runs count separately, even if they have the same name.
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

/// Returns the part of a check's address that identifies its workflow run: the address without the job.
fn run_of(address: &str) -> &str {
    address.split_once("/job/").map_or(address, |(run, _)| run)
}

impl CheckAnswer {
    /// Returns the key by which the latest of several attempts is found. A queued one has no start time yet.
    fn order(&self) -> (bool, Option<&str>) {
        (self.standing() == ForgeCheckState::Running, self.started_at.as_deref())
    }

    fn called(&self) -> String {
        self.name.as_ref().or(self.context.as_ref()).cloned().unwrap_or_default()
    }

    /// Returns the name, prefixed with the workflow's name.
    fn shown(&self) -> String {
        match self.workflow_name.as_deref() {
            Some(workflow) if !workflow.is_empty() => format!("{workflow} / {}", self.called()),
            _ => self.called(),
        }
    }

    /// Returns the state. Any unknown conclusion counts as a failure.
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
