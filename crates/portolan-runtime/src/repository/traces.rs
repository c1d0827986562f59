//! Traces that the guards were removed or bypassed: hooks that differ from the installed ones, and commits made here
//! that no git hook has recorded.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use portolan_core::value::Timestamp;
use portolan_gates::facts::{FactError, Tripwire};
use portolan_gates::names::is_oid;

use super::git::Git;
use crate::audit::{self, Filter, Kind, Types};
use crate::installation::installed;
use crate::program::unknown;

/// How many of the latest reflog entries are read.
const MOST_MOVES: &str = "--max-count=2000";

/// Adds the traces to the facts.
pub(super) async fn add(git: &Git, tripwire: &mut Tripwire) -> Result<(), FactError> {
    let installed = installed(git.project());
    tripwire.altered = installed.altered;
    if let Some(since) = installed.git_hooks_since {
        tripwire.unseen = unseen(git, since).await?;
    }
    Ok(())
}

/// Returns the commits that were made here since git's hooks were installed, are still in the history of the head, and
/// have no receipt.
async fn unseen(git: &Git, since: SystemTime) -> Result<Vec<String>, FactError> {
    let seconds = since.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let made = git.made_here(MOST_MOVES, seconds).await?;
    if made.is_empty() {
        return Ok(Vec::new());
    }
    let since = Timestamp(i64::try_from(seconds.saturating_mul(1_000)).unwrap_or(i64::MAX));
    let recorded = receipts(git.project(), since)?;
    let mut unseen = Vec::new();
    for oid in made.into_iter().filter(|oid| !recorded.contains(oid)) {
        if git.is_in_head(&oid).await? {
            unseen.push(oid);
        }
    }
    Ok(unseen)
}

/// Returns the commits that git's hooks have recorded.
fn receipts(project: &Path, since: Timestamp) -> Result<BTreeSet<String>, FactError> {
    let filter = Filter { types: Some(Types::One(Kind::ToolInvoked)), since: Some(since), ..Filter::default() };
    let unreadable =
        |error: audit::AuditError| unknown("log-unreadable", format!("the event log cannot be read: {error}"));
    let mut commits = BTreeSet::new();
    for line in audit::read(&audit::project_log(project), &filter).map_err(unreadable)? {
        let line = line.map_err(unreadable)?;
        commits.extend(line.data["commit"].as_str().filter(|oid| is_oid(oid)).map(str::to_owned));
    }
    Ok(commits)
}
