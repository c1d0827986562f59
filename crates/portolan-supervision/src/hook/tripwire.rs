//! Finds what no guard could prevent: tracked content that changed while an integration branch was checked out,
//! integration branches that diverged from their remote, and hooks that were changed or do not run.

use std::collections::BTreeMap;
use std::path::Path;

use portolan_core::value::Timestamp;
use portolan_gates::guards::{Worktree, integrates, only_reads};
use portolan_gates::guidelines::Level;
use portolan_gates::shell::Reading;
use portolan_gates::{Guidelines, Intent, Tool};
use portolan_runtime::audit::{self, Durability, Kind, Line, LogEntry};
use portolan_runtime::digest::Digest;
use portolan_runtime::inspection;
use portolan_runtime::installation::{Finding, tampered};
use portolan_runtime::pins;
use serde::{Deserialize, Serialize};

use super::refs::{Refs, is_within};
use super::session::Session;
use super::tracked_content::{self, BranchDifferences};
use super::upstream::Upstreams;
use super::{Gatekeeper, record};

/// The state of a repository that a call must not change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Snapshot {
    /// The time of the snapshot.
    pub(super) at: i64,
    /// The branch that is checked out, if it is an integration branch.
    pub(super) branch: Option<String>,
    /// The commit of each integration branch.
    pub(super) tips: BTreeMap<String, String>,
    /// The commit of the reference that each of them follows.
    pub(super) followed: BTreeMap<String, String>,
    /// The time from which a change belongs to the call.
    pub(super) begun: u64,
    /// The uncommitted tracked content. Only set while an integration branch is checked out.
    pub(super) tracked: Option<BranchDifferences>,
}

impl Snapshot {
    /// Takes a snapshot. Reuses the tracked content in `known` if it is of the same branch.
    pub(super) fn take(
        worktree: &Worktree,
        rules: &Guidelines,
        now: Timestamp,
        known: Option<&BranchDifferences>,
    ) -> Snapshot {
        let branch = worktree.branch().filter(|branch| integrates(rules, branch)).map(str::to_owned);
        let look = |branch: &String| match known.filter(|known| known.is_of(branch)) {
            Some(known) => Some(known.clone()),
            None => BranchDifferences::look(Path::new(&worktree.root), Path::new(&worktree.git_dir), branch),
        };
        let tracked = branch.as_ref().and_then(look);
        let refs = Refs::of(worktree);
        let followed = Upstreams::of(worktree, rules).map(|upstreams| upstreams.all(&refs)).unwrap_or_default();
        Snapshot { at: now.0, branch, tips: refs.integration(rules), followed, begun: tracked_content::now(), tracked }
    }
}

/// Checks the repository before a call, and takes a snapshot if a shell may change it. Each finding is recorded once
/// per session, and reported to the agent.
pub(super) fn before(
    gatekeeper: &Gatekeeper,
    session: &mut Session,
    (intent, reading): (&Intent, &Reading),
    rules: &Guidelines,
    now: Timestamp,
) -> Option<String> {
    let project = gatekeeper.project()?;
    if matches!(intent.tool.deed(), Tool::Reads) {
        return None;
    }
    let worktree = inspection::worktree(project);
    let context = tell(gatekeeper, session, rules, worktree.as_deref());
    if let (Tool::Shell { .. }, Some(worktree)) = (intent.tool.deed(), &worktree)
        && !only_reads(reading)
    {
        let snapshot = Snapshot::take(worktree, rules, now, session.kept.tracked.as_ref());
        session.kept.tips.clone_from(&snapshot.tips);
        session.kept.tracked.clone_from(&snapshot.tracked);
        session.keep_before(intent.call.as_deref().unwrap_or("last"), snapshot);
    }
    context
}

/// Records the findings that are new in this session, and returns a sentence about them.
pub(super) fn tell(
    gatekeeper: &Gatekeeper,
    session: &mut Session,
    rules: &Guidelines,
    worktree: Option<&Worktree>,
) -> Option<String> {
    let project = gatekeeper.project()?;
    let mut found = tampered(project, worktree);
    if let Some(worktree) = worktree {
        found.extend(moved(worktree, rules, &session.kept.tips));
        session.kept.tips = Refs::of(worktree).integration(rules);
    }
    found.extend(rewritten(project, session));
    let new: Vec<Finding> = found.into_iter().filter(|finding| session.kept.told.insert(finding.key())).collect();
    if new.is_empty() {
        return None;
    }
    let about = gatekeeper.record(None);
    let entries: Vec<LogEntry> =
        new.iter().map(|finding| about.entry(Kind::GuardTamper, None, finding.data())).collect();
    // If nothing can be recorded, no call is allowed anyway.
    let _unwritten = record::append(project, &gatekeeper.clock, &entries, Durability::Written);
    let messages: Vec<&str> = new.iter().map(|finding| finding.message.as_str()).collect();
    Some(format!("{}. Tell the person whom you work for.", messages.join(". ")))
}

/// Returns a finding if the record of the installation has changed since the session last read it. Its pins may be
/// gone.
fn rewritten(project: &Path, session: &mut Session) -> Option<Finding> {
    let found = pins::text(project).map_or_else(|| "nothing".to_owned(), |text| Digest::of(text).to_string());
    let was = session.kept.installed.replace(found.clone())?;
    (was != found).then(|| Finding {
        what: "installation",
        place: pins::PLACE.to_owned(),
        expected: was,
        found,
        message: format!("the installation record `{}` has changed", pins::PLACE),
    })
}

/// Lets git's hooks find what those of the hosts find: an integration branch that moved while they did not run. It is
/// reported and recorded once.
pub(super) fn noticed(gatekeeper: &Gatekeeper, rules: &Guidelines, worktree: &Worktree) -> Option<String> {
    let project = gatekeeper.project()?;
    let log = audit::project_log(project);
    let is_told = |finding: &Finding| {
        let is_it = |line: &Line| line.kind == Kind::GuardTamper.name() && line.data["found"] == finding.found;
        audit::latest(&log, is_it).is_ok_and(|line| line.is_some())
    };
    let found: Vec<Finding> =
        moved(worktree, rules, &BTreeMap::new()).into_iter().filter(|finding| !is_told(finding)).collect();
    if found.is_empty() {
        return None;
    }
    let about = gatekeeper.record(None);
    let entries: Vec<LogEntry> =
        found.iter().map(|finding| about.entry(Kind::GuardTamper, None, finding.data())).collect();
    // The move has happened. The present operation is judged separately.
    let _unwritten = record::append(project, &gatekeeper.clock, &entries, Durability::Written);
    let messages: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
    Some(messages.join(". "))
}

/// Returns the integration branches that are at a commit that their remote does not have, that was not pinned when
/// hooks were installed, and that no guard saw them move to. Skips those that are unchanged since the last check
/// (`known`).
pub(super) fn moved(worktree: &Worktree, rules: &Guidelines, known: &BTreeMap<String, String>) -> Vec<Finding> {
    if !holds(rules, "I-2") {
        return Vec::new();
    }
    let refs = Refs::of(worktree);
    let upstreams = Upstreams::of(worktree, rules).ok();
    let pinned = |branch: &str| upstreams.as_ref()?.pins.as_ref()?.tips.get(branch).cloned();
    let mut found = Vec::new();
    for (branch, tip) in refs.integration(rules) {
        let was = known.get(&branch);
        let upstream = upstreams.as_ref().and_then(|upstreams| upstreams.tip(&refs, &branch));
        let fine: Vec<String> = upstream.into_iter().chain(pinned(&branch)).collect();
        let is_new_here = was.is_none() && pinned(&branch).is_none();
        if was == Some(&tip) || is_new_here || is_within(Path::new(&worktree.root), &tip, &fine) {
            continue;
        }
        if !is_covered(Path::new(&worktree.root), &tip) {
            found.push(Finding {
                what: "integration branch",
                place: branch.clone(),
                expected: was.cloned().or_else(|| pinned(&branch)).unwrap_or_default(),
                found: tip.clone(),
                message: format!(
                    "`{branch}` was moved to {}, which its remote does not have and no guard has checked",
                    short(&tip)
                ),
            });
        }
    }
    found
}

/// Returns the commits at which an integration branch may be: that of the remote branch it follows.
pub(super) fn followed(worktree: &Worktree, rules: &Guidelines, refs: &Refs, branch: &str) -> Vec<String> {
    Upstreams::of(worktree, rules).ok().and_then(|upstreams| upstreams.tip(refs, branch)).into_iter().collect()
}

/// Checks whether I-2 was bypassed for the commit, according to the hook that saw the branch move.
fn is_covered(project: &Path, commit: &str) -> bool {
    let is_receipt = |line: &Line| line.kind == Kind::GuardBypass.name() && line.data["commit"] == *commit;
    audit::latest(&audit::project_log(project), is_receipt).is_ok_and(|line| line.is_some())
}

/// Checks whether violations of a rule of the integration branches are blocked here.
pub(super) fn holds(rules: &Guidelines, invariant: &str) -> bool {
    !rules.commit_directly && rules.level(&["no-edit-on-integration", invariant]) == Level::Block
}

pub(super) fn short(oid: &str) -> &str {
    oid.get(..10).unwrap_or(oid)
}
