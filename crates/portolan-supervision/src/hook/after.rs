//! Checks after a tool call: finds what a shell did that no guard could know before it ran.

use std::path::Path;
use std::time::Duration;

use portolan_gates::guards::Worktree;
use portolan_gates::{Decision, Guidelines, Intent, Judgement, Tool};
use portolan_runtime::audit::{self, Durability, Kind, Line};
use portolan_runtime::inspection;
use serde_json::json;

use super::git::PUSHED;
use super::refs::{Refs, is_within};
use super::session::{AllowedCall, Session};
use super::tracked_content::BranchDifferences;
use super::tripwire::{Snapshot, followed, holds, short};
use super::upstream::{Upstreams, tracking};
use super::{Answerable, Gatekeeper, PERSON, record, time_limit};

const GUARD: &str = "no-edit-on-integration";
/// The key of a snapshot from before a call whose findings are not recorded yet.
const UNRECORDED: &str = "";
/// The timeout for recording.
const PATIENCE: Duration = Duration::from_secs(2);

impl Gatekeeper {
    /// Returns the answer after a tool call. The call has happened: a refusal tells the agent to undo it.
    pub fn after_tool(&self, intent: &Intent) -> Answerable {
        if matches!(intent.tool, Tool::Reads) {
            return Answerable::allowed();
        }
        let Some((project, mut session)) = self.project().zip(self.opened_session()) else {
            return Answerable::allowed();
        };
        self.record_consent(project, &mut session, intent);
        if !matches!(intent.tool.deed(), Tool::Shell { .. }) {
            return Answerable::allowed();
        }
        let own = session.take_before(intent.call.as_deref().unwrap_or("last"));
        let before = session.take_before(UNRECORDED).or(own);
        let (Some(before), Ok(rules), Some(worktree)) = (before, self.rules(), inspection::worktree(project)) else {
            return Answerable::allowed();
        };
        let after = Snapshot::take(&worktree, &rules, self.clock.now(), None);
        let judgements = self.noticed(project, &worktree, &rules, intent, &before, &after);
        let (tips, tracked) = (after.tips, after.tracked);
        let answer = match judgements.is_empty() {
            true => Answerable::allowed(),
            false => {
                let (answer, is_recorded) = self.late(project, intent, judgements);
                if !is_recorded {
                    // The next call finds it again, until it is recorded.
                    session.keep_before(UNRECORDED, before);
                    session.save();
                    return answer;
                }
                answer
            }
        };
        (session.kept.tips, session.kept.tracked) = (tips, tracked);
        session.save();
        answer
    }

    /// Records that a person allowed the call in the host's dialog, if they were asked: it was made. Guards count it from then
    /// on.
    fn record_consent(&self, project: &Path, session: &mut Session, intent: &Intent) {
        let Some(AllowedCall { reason, run }) = intent.call.as_deref().and_then(|call| session.allowed_by_person(call))
        else {
            return;
        };
        let data = json!({ "guardId": PERSON, "reason": format!("they allowed it at {}: {reason}", self.host) });
        let entry = self.record(None).of_run(run).entry(Kind::GuardAllow, Some(intent), data);
        let (project, clock) = (project.to_owned(), self.clock.clone());
        let append = move || record::append(&project, &clock, &[entry], Durability::Written);
        if let Ok(Ok(())) = time_limit::within(PATIENCE, append) {
            session.save();
        }
    }

    /// Records the findings, and returns whether that succeeded. The wait is short, because the host may stop the hook, and
    /// another process may hold the log.
    fn late(&self, project: &Path, intent: &Intent, judgements: Vec<Judgement>) -> (Answerable, bool) {
        let about = self.record(None);
        let late = |judgement: &Judgement| {
            let data = json!({ "guardId": judgement.guard, "invariant": judgement.invariant,
                "reason": judgement.reason, "late": true });
            about.entry(Kind::GuardBlock, Some(intent), data)
        };
        let entries: Vec<audit::LogEntry> = judgements.iter().map(late).collect();
        let answer = Answerable::of(judgements);
        let (project, clock) = (project.to_owned(), self.clock.clone());
        match time_limit::within(PATIENCE, move || record::append(&project, &clock, &entries, Durability::Written)) {
            Ok(Ok(())) => (answer, true),
            Ok(Err(error)) => (answer.unrecorded(&error.into()), false),
            Err(_) => (answer, false),
        }
    }

    fn noticed(
        &self,
        project: &Path,
        worktree: &Worktree,
        rules: &Guidelines,
        intent: &Intent,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Vec<Judgement> {
        let mut found = Vec::new();
        let refs = Refs::of(worktree);
        for (branch, was) in &before.tips {
            let Some(tip) = after.tips.get(branch).filter(|tip| *tip != was) else { continue };
            if holds(rules, "I-2")
                && !is_within(project, tip, &followed(worktree, rules, &refs, branch))
                && !self.was_got_past(project, intent, before, "I-2")
            {
                let reason = format!(
                    "the command moved `{branch}` to {}, which its remote does not have; `{branch}` accepts \
                    changes through review only",
                    short(tip)
                );
                found.push(judgement(
                    "I-2",
                    reason,
                    vec![
                        format!("keep the work: git switch -c feat/<issue>-<slug> {}", short(tip)),
                        format!("restore `{branch}`: git update-ref refs/heads/{branch} {was}"),
                    ],
                ));
            }
        }
        if holds(rules, "I-2") && !self.was_got_past(project, intent, before, "I-2") {
            found.extend(forged(worktree, rules, before, after));
            found.extend(pushed(project, before));
        }
        let is_new = |then: &BranchDifferences, now: &BranchDifferences, branch| {
            then.is_of(branch) && now.was_changed(then, before.begun)
        };
        if let (Some(then), Some(now), Some(branch)) = (&before.tracked, &after.tracked, &after.branch)
            && is_new(then, now, branch)
            && found.is_empty()
            && holds(rules, "I-1")
            && !self.was_got_past(project, intent, before, "I-1")
        {
            let reason = format!("the command changed tracked files while `{branch}` is checked out");
            found.push(judgement(
                "I-1",
                reason,
                vec![
                    "move the work to a branch of its own: git switch -c feat/<issue>-<slug>".to_owned(),
                    "or discard it: git restore --staged --worktree .".to_owned(),
                ],
            ));
        }
        found
    }

    /// Checks whether the rule was bypassed for this call.
    fn was_got_past(&self, project: &Path, intent: &Intent, before: &Snapshot, invariant: &str) -> bool {
        let is_of_call = |line: &Line| {
            line.kind == Kind::GuardBypass.name()
                && line.data["invariant"] == invariant
                && line.data["call"].as_str() == intent.call.as_deref()
        };
        let is_older = |line: &Line| line.at.0 < before.at;
        audit::latest(&audit::project_log(project), |line| is_of_call(line) || is_older(line))
            .is_ok_and(|line| line.is_some_and(|line| is_of_call(&line)))
    }
}

/// Returns the judgement of a push that bypassed git's hooks. The `reference-transaction` hook recorded it afterwards.
fn pushed(project: &Path, before: &Snapshot) -> Option<Judgement> {
    let is_push = |line: &Line| line.data[PUSHED].is_string() && line.at.0 >= before.at;
    let is_older = |line: &Line| line.at.0 < before.at;
    let line = audit::latest(&audit::project_log(project), |line| is_push(line) || is_older(line)).ok()??;
    let reason = line.data["reason"].as_str().filter(|_| is_push(&line))?;
    let remedies = vec!["tell the person whom you work for: only they can restore the remote's branch".to_owned()];
    Some(judgement("I-2", reason.to_owned(), remedies))
}

/// Returns a judgement for each followed remote branch whose local reference a command moved to a commit made here, or
/// back.
fn forged(worktree: &Worktree, rules: &Guidelines, before: &Snapshot, after: &Snapshot) -> Vec<Judgement> {
    let Ok(upstreams) = Upstreams::of(worktree, rules) else { return Vec::new() };
    let root = Path::new(&worktree.root);
    let mut found = Vec::new();
    for (branch, was) in &before.followed {
        let Some(upstream) = upstreams.followed(branch) else { continue };
        let Some(tip) = after.followed.get(branch).filter(|tip| *tip != was) else { continue };
        let is_back = !is_within(root, was, &[tip.to_owned()]);
        if is_back || upstreams.was_made_here(tip, &upstream) {
            let (here, remote) = (tracking(&upstream), &upstream.remote);
            let how = if is_back {
                "which drops commits that it had"
            } else {
                "which was made here and did not go through a review"
            };
            let reason = format!(
                "the command moved `{here}` to {}, {how}; this reference mirrors what `{remote}` has",
                short(tip)
            );
            let ask = format!("check on the remote whether it was pushed: git ls-remote {remote}");
            found.push(judgement("I-2", reason, vec![ask, format!("get what the remote has: git fetch {remote}")]));
        }
    }
    found
}

fn judgement(invariant: &str, reason: String, remedies: Vec<String>) -> Judgement {
    Judgement {
        guard: GUARD.to_owned(),
        origin: None,
        invariant: Some(invariant.to_owned()),
        decision: Decision::Block,
        reason,
        remedies,
        bypass: None,
        bypassed_by: None,
    }
}
