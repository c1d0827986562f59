//! At the end of a turn (I-9): committed work without a pull request is not done. The agent is sent back once.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use portolan_gates::guards::{Worktree, WorktreeHead};
use portolan_gates::guidelines::{Forge, Level};
use portolan_gates::{Decision, Guidelines, bypass, guards};
use portolan_runtime::audit::Kind;
use portolan_runtime::disk;
use portolan_runtime::inspection::{self, ask};
use portolan_runtime::pins;
use portolan_runtime::program::own;
use portolan_runtime::repository::home::Home;
use serde_json::{Value, json};

use super::refs::Refs;
use super::{Answerable, Gatekeeper};

const GUARD: &str = "session-end-pr-backstop";
const RULE: &str = "I-9";
/// The timeout of `gh`.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many records of reviews are read, and how many bytes of each.
const MAX_RECORDS: usize = 1000;
const MAX_RECORD: u64 = 256 * 1024;

impl Gatekeeper {
    /// Decides whether the agent may stop. With `again`, a hook has sent it back already, and it may.
    pub fn stop(&self, again: bool) -> Answerable {
        let now = self.clock.now();
        let (Some(project), Ok(rules), Ok(gate)) = (self.project(), self.rules(), self.gate(None, &[], None)) else {
            return Answerable::allowed();
        };
        let (Some(flow), Some(worktree)) = (&gate.flow, inspection::worktree(project)) else {
            return Answerable::allowed();
        };
        if rules.level(&[GUARD, RULE]) == Level::Off {
            return Answerable::allowed();
        }
        let Some((branch, tip, count)) = ahead(project, &worktree, &rules) else { return Answerable::allowed() };
        let found = requested(project, &rules, &branch);
        if found == Ok(true) {
            return Answerable::allowed();
        }
        let phase = Some(flow.phase.as_str());
        if gate.bypasses.iter().any(|known| bypass::matches(known, RULE, phase, now)) {
            return Answerable::allowed();
        }
        let reason = block_reason(&branch, count, &found);
        let mut session = self.opened_session();
        let known = session.as_ref().is_some_and(|session| session.kept.stopped_at.as_deref() == Some(tip.as_str()));
        let warned = rules.level(&[GUARD, RULE]) == Level::Warn;
        // Without a stored session, the agent could be sent back for ever.
        if again || known || warned || session.is_none() || found.is_err() {
            return Answerable { decision: Decision::Ask, reason, ..Answerable::allowed() };
        }
        if let Some(session) = &mut session {
            session.kept.stopped_at = Some(tip);
            if !session.save() {
                return Answerable { decision: Decision::Ask, reason, ..Answerable::allowed() };
            }
        }
        let mut answer = Answerable::blocked(format!("{RULE}: {reason}"));
        answer.remedies = match &rules.pull_requests.forge {
            Forge::GitHub => {
                vec![
                    format!("git push -u origin {branch}"),
                    "gh pr create --fill, then `portolan flow tick`".to_owned(),
                ]
            }
            Forge::Files { folder } => vec![format!("write the review of `{branch}` into `{folder}/<number>.md`")],
        };
        answer.remedies.push("if the work is not ready for that, tell the person and stop again".to_owned());
        let data = json!({ "guardId": GUARD, "invariant": RULE, "reason": reason });
        let entry = self.record(Some(&gate)).entry(Kind::GuardBlock, None, data);
        self.put_on_record(&[entry], answer)
    }
}

fn block_reason(branch: &str, count: u64, found: &Result<bool, String>) -> String {
    let commits = if count == 1 { "one commit".to_owned() } else { format!("{count} commits") };
    match found {
        Ok(_) => format!("`{branch}` has {commits} without an open pull request"),
        Err(why) => format!("`{branch}` has {commits}, and it is unknown whether a pull request is open: {why}"),
    }
}

/// Returns the branch that is checked out, its commit, and how many of its commits the integration branch lacks.
fn ahead(project: &Path, worktree: &Worktree, rules: &Guidelines) -> Option<(String, String, u64)> {
    let WorktreeHead::Branch(branch) = &worktree.head else { return None };
    if guards::integrates(rules, branch) {
        return None;
    }
    let refs = Refs::of(worktree);
    let tip = refs.oid(&format!("refs/heads/{branch}"))?;
    let bases = rules.integration.iter().flat_map(|name| {
        let remote = refs.on_remotes(name).into_iter().next();
        remote.or_else(|| refs.oid(&format!("refs/heads/{name}")))
    });
    let bases: Vec<String> = bases.collect();
    if bases.is_empty() {
        return None;
    }
    let mut arguments = vec!["rev-list", "--count", "HEAD", "--not"];
    arguments.extend(bases.iter().map(String::as_str));
    let (_, count) = ask::ask(project, &arguments, Vec::new()).filter(|(status, _)| *status == 0)?;
    let count: u64 = count.trim().parse().ok()?;
    (count > 0).then(|| (branch.clone(), tip, count))
}

/// Checks whether a branch has a pull request that is open or merged.
fn requested(project: &Path, rules: &Guidelines, branch: &str) -> Result<bool, String> {
    match &rules.pull_requests.forge {
        Forge::Files { folder } => {
            let records = std::fs::read_dir(project.join(folder)).into_iter().flatten().flatten().take(MAX_RECORDS);
            let names = |path: &Path| disk::text(path, MAX_RECORD).is_some_and(|text| text.contains(branch));
            Ok(records.map(|record| record.path()).any(|path| names(&path)))
        }
        Forge::GitHub => {
            let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
            let mut command = Command::new(pins::program(project, "gh")?);
            command.env_clear().envs(own(&environment));
            command.args(["pr", "list", "--head", branch, "--state", "all", "--json", "number,state"]);
            command.args(Home::of(project).map_err(|unknown| unknown.why)?.named());
            command.current_dir(project);
            let answer = ask::run(command, Vec::new(), PATIENCE).ok_or("`gh` does not answer")?;
            let (0, text) = answer else { return Err(format!("`gh` exited with status {}", answer.0)) };
            let found: Value = serde_json::from_str(&text).map_err(|_| "`gh` does not answer with JSON".to_owned())?;
            let counts = |request: &Value| matches!(request["state"].as_str(), Some("OPEN" | "MERGED"));
            Ok(found.as_array().is_some_and(|found| found.iter().any(counts)))
        }
    }
}
