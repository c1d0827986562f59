//! What is noticed although no guard could tell before: tracked content that changed while an integration branch was
//! checked out, integration branches that moved away from their remote, hooks that were changed or are not run.

use std::collections::BTreeMap;
use std::path::Path;

use portolan_core::value::Timestamp;
use portolan_gates::guards::{Worktree, integrates, only_reads};
use portolan_gates::guidelines::Level;
use portolan_gates::shell::Reading;
use portolan_gates::{Guidelines, Intent, Tool};
use serde::{Deserialize, Serialize};

use super::refs::{Refs, is_within};
use super::session::Session;
use super::tracked::{self, Tracked};
use super::upstream::Upstreams;
use super::{Gatekeeper, record};
use crate::audit::{self, Kind, Line, LogEntry};
use crate::digest::Digest;
use crate::inspection;
use crate::installed::{Finding, tampered};
use crate::pins;

/// How a repository is, as far as it must not change under a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Snapshot {
    /// When it was looked at.
    pub(super) at: i64,
    /// The branch that is checked out, where it is one that work is integrated into.
    pub(super) branch: Option<String>,
    /// Where each integration branch is.
    pub(super) tips: BTreeMap<String, String>,
    /// Where what each of them follows is.
    pub(super) followed: BTreeMap<String, String>,
    /// From when on a change is one of the call's.
    pub(super) begun: u64,
    /// What of the tracked content is not as it was committed; only while an integration branch is checked out.
    pub(super) tracked: Option<Tracked>,
}

impl Snapshot {
    /// How it is now; what of the tracked content is `known` is not looked at again.
    pub(super) fn take(worktree: &Worktree, rules: &Guidelines, now: Timestamp, known: Option<&Tracked>) -> Snapshot {
        let branch = worktree.branch().filter(|branch| integrates(rules, branch)).map(str::to_owned);
        let look = |branch: &String| match known.filter(|known| known.is_of(branch)) {
            Some(known) => Some(known.clone()),
            None => Tracked::look(Path::new(&worktree.root), Path::new(&worktree.git_dir), branch),
        };
        let tracked = branch.as_ref().and_then(look);
        let refs = Refs::of(worktree);
        let followed = Upstreams::of(worktree, rules).map(|upstreams| upstreams.all(&refs)).unwrap_or_default();
        Snapshot { at: now.0, branch, tips: refs.integration(rules), followed, begun: tracked::now(), tracked }
    }
}

/// Looks before a call whether all is as it should be, and how it is where a shell may change it. What is found is on
/// record once for each session, and told to the agent.
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

/// Puts on record what is found for the first time in this session, and says it.
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
    // Where nothing can be put on record no call is allowed, so that this needs no answer of its own.
    let _unwritten = record::append(project, &gatekeeper.clock, &entries, false);
    let said: Vec<&str> = new.iter().map(|finding| finding.said.as_str()).collect();
    Some(format!("{}. Tell the person whom you work for.", said.join(". ")))
}

/// The record of what was installed is not what it was when the session last looked: what it pins may be gone with it.
fn rewritten(project: &Path, session: &mut Session) -> Option<Finding> {
    let found = pins::text(project).map_or_else(|| "nothing".to_owned(), |text| Digest::of(text).to_string());
    let was = session.kept.installed.replace(found.clone())?;
    (was != found).then(|| Finding {
        what: "installation",
        place: pins::PLACE.to_owned(),
        expected: was,
        found,
        said: format!("the record of what is installed, `{}`, is not what it was", pins::PLACE),
    })
}

/// What git's hooks find as those of the hosts do: an integration branch that moved while they were not run. It is said,
/// and put on record, once.
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
    // What happened has happened; whether what is done next may happen is judged by itself.
    let _unwritten = record::append(project, &gatekeeper.clock, &entries, false);
    let said: Vec<&str> = found.iter().map(|finding| finding.said.as_str()).collect();
    Some(said.join(". "))
}

/// Integration branches that are where no remote has them, where they were not when hooks were installed, and where no
/// guard saw them go. Those that are where they were when they were last looked at (`known`) are passed over.
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
                said: format!(
                    "`{branch}` was moved to {}, which its remote does not have and no guard has seen",
                    short(&tip)
                ),
            });
        }
    }
    found
}

/// What an integration branch may be at: where it is on the remote that it follows.
pub(super) fn followed(worktree: &Worktree, rules: &Guidelines, refs: &Refs, branch: &str) -> Vec<String> {
    Upstreams::of(worktree, rules).ok().and_then(|upstreams| upstreams.tip(refs, branch)).into_iter().collect()
}

/// Whether somebody got past I-2 with the commit: the hook that saw the branch move has written it down.
fn is_covered(project: &Path, commit: &str) -> bool {
    let is_receipt = |line: &Line| line.kind == Kind::GuardBypass.name() && line.data["commit"] == *commit;
    audit::latest(&audit::project_log(project), is_receipt).is_ok_and(|line| line.is_some())
}

/// Whether what breaks a rule of the integration branches is stopped here.
pub(super) fn holds(rules: &Guidelines, invariant: &str) -> bool {
    !rules.commit_directly && rules.level(&["no-edit-on-integration", invariant]) == Level::Block
}

pub(super) fn short(oid: &str) -> &str {
    oid.get(..10).unwrap_or(oid)
}
