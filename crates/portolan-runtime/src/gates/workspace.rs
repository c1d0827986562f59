//! Performs checks. For all gates of a claim, the repository is read once, so that all of them see the same state.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use portolan_core::engine::CheckRequest;
use portolan_core::graph::CheckBy;
use portolan_core::run::Verdict;
use portolan_gates::Guidelines;
use portolan_gates::acceptance::{self, CheckFinding, CheckKind, CheckStatus, Violation};
use portolan_gates::facts::{Answer, Claims, FactError, Facts, Integration, Needs};
use portolan_gates::merge;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;

use super::evidence::{self, FileBaseline};
use super::review::ReviewBrief;
use crate::merge_gate::{MergeQuestion, MergeRulingError, rule};
use crate::project_checks;
use crate::repository::Repository;
use crate::rules::rules;
use crate::runner::{self, Listener, broken, unknown};

/// The gate that the merge gate decides. It reads the changes of a branch, not a snapshot.
pub const REMOVALS: &str = "removalsMatchIntent";

/// The workspace in which the checks of one claim are performed, and the facts its gates share.
#[derive(Debug)]
pub struct CheckWorkspace {
    repository: Repository,
    /// The gates of the claim.
    gates: Vec<String>,
    /// The claims of other tasks under way.
    others: Answer<Vec<Other>>,
    /// The snapshots from before the work.
    before: FileBaseline,
    /// The goal of the claimed work.
    wanted: ReviewBrief,
    listener: Listener,
    rules: OnceLock<Result<Guidelines, String>>,
    shared: OnceCell<SharedFacts>,
    violations: Mutex<Vec<Violation>>,
}

/// Another task under way, and its claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The task.
    pub task: String,
    /// The run of the task.
    pub run: String,
    /// The claims of the task.
    pub claims: Map<String, Value>,
}

/// The facts that all gates of a claim share.
#[derive(Debug)]
struct SharedFacts {
    claims: Claims,
    facts: Facts,
}

/// Performs a check in the project of `ground`.
///
/// Always returns a verdict. If a fact cannot be determined, it is [`Verdict::Unknown`], with what to do about it.
/// Dropping the future stops a command with everything that it started. Requires a runtime with I/O and time enabled.
///
/// A process that leaves the command's process group (a daemon that calls `setsid`) is neither waited for nor stopped.
pub async fn perform(request: &CheckRequest, ground: &CheckWorkspace) -> Verdict {
    match &request.check {
        CheckBy::Run { argv, timeout_seconds } => {
            runner::run(argv, *timeout_seconds, ground.project(), &ground.listener).await
        }
        CheckBy::File { path } => runner::file(path, ground.project()),
        CheckBy::Project { name } => {
            project_checks::look(name, ground.project(), &ground.repository.typechecks()).await
        }
        CheckBy::Gate { name } => ground.look(name, &request.claims).await,
        CheckBy::Evidence(wanted) => match ground.guidelines() {
            Ok(rules) => {
                let context = evidence::EvidenceContext {
                    claims: &request.claims,
                    repository: &ground.repository,
                    before: &ground.before,
                    wanted: &ground.wanted,
                    guidelines: rules,
                };
                evidence::look(wanted, &context).await
            }
            Err(why) => unverified(why),
        },
    }
}

impl CheckWorkspace {
    /// Creates the workspace for a claim with these gates, in the project of `repository`.
    pub fn of(repository: Repository, gates: Vec<String>) -> CheckWorkspace {
        CheckWorkspace {
            repository,
            gates,
            others: Answer::NotAsked,
            before: FileBaseline::default(),
            wanted: ReviewBrief::default(),
            listener: Listener::default(),
            rules: OnceLock::new(),
            shared: OnceCell::new(),
            violations: Mutex::default(),
        }
    }

    /// Sets the claims of other tasks under way.
    #[must_use]
    pub fn beside(self, others: Answer<Vec<Other>>) -> CheckWorkspace {
        CheckWorkspace { others, ..self }
    }

    /// Sets the snapshots from before the work.
    #[must_use]
    pub fn since(self, before: FileBaseline) -> CheckWorkspace {
        CheckWorkspace { before, ..self }
    }

    /// Sets the goal of the work.
    #[must_use]
    pub fn wanting(self, wanted: ReviewBrief) -> CheckWorkspace {
        CheckWorkspace { wanted, ..self }
    }

    /// Sets the listener for commands.
    #[must_use]
    pub fn with_listener(self, listener: Listener) -> CheckWorkspace {
        CheckWorkspace { repository: self.repository.with_listener(listener.clone()), listener, ..self }
    }

    /// Returns the project's folder.
    pub fn project(&self) -> &Path {
        self.repository.project()
    }

    /// Returns the violating commits that gates found since the last call.
    pub fn violations(&self) -> Vec<Violation> {
        std::mem::take(&mut self.violations.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the verdict of the merge gate on the branch that is checked out.
    pub async fn removals_match(&self, claims: &Map<String, Value>) -> Verdict {
        self.look(REMOVALS, claims).await
    }

    /// Returns the project's rules, the same for all checks of a claim, or why they cannot be read.
    fn guidelines(&self) -> Result<&Guidelines, &str> {
        let read = || rules(self.project()).map_err(|error| format!("{}; {}", error.message, error.help));
        self.rules.get_or_init(read).as_ref().map_err(String::as_str)
    }

    /// Returns the verdict of a gate. The claims are the same for all gates of a claim.
    async fn look(&self, gate: &str, claims: &Map<String, Value>) -> Verdict {
        let guidelines = match self.guidelines() {
            Ok(guidelines) => guidelines,
            Err(why) => return unverified(why),
        };
        let kind = acceptance::find(gate);
        if let Some(off) = kind.and_then(|kind| kind.switched_off(guidelines)) {
            return verdict(off);
        }
        let shared = self.shared.get_or_init(|| self.probe(claims, guidelines)).await;
        if gate == REMOVALS {
            return self.removals(shared).await;
        }
        let Some(kind) = kind else { return unknown(format!("there is no gate `{gate}`")) };
        let found = kind.decide(&shared.claims, &shared.facts, guidelines);
        self.violations.lock().unwrap_or_else(PoisonError::into_inner).extend(found.violations.iter().cloned());
        match verdict(found) {
            Verdict::Unknown { reason } if gate == acceptance::READY => {
                let reason = reason.strip_prefix(Verdict::CANNOT_VERIFY).map(str::to_owned).unwrap_or(reason);
                Verdict::ForPerson { reason }
            }
            verdict => verdict,
        }
    }

    /// Reads only the facts of gates that are switched on: the forge may not answer, and the type checker takes time.
    async fn probe(&self, claimed: &Map<String, Value>, guidelines: &Guidelines) -> SharedFacts {
        let kinds = self.gates.iter().filter_map(|gate| acceptance::find(gate));
        let on = kinds.filter(|kind| kind.switched_off(guidelines).is_none());
        let needs = on.map(needs_of).fold(Needs::NOTHING, Needs::and);
        let (claims, untold) = self.claims(claimed, guidelines, needs).await;
        let mut facts = self.repository.probe(&claims, guidelines, needs).await;
        facts.rivals = self.rivals(&claims);
        if let Some(unknown) = untold {
            facts.pull_request = Answer::Unknown(unknown);
        }
        SharedFacts { claims, facts }
    }

    /// Returns the claims. For a claim without a workflow variable, uses the branch that is checked out, the issue at
    /// the beginning of its name, and its pull request. Also returns why the pull request is not known, if so.
    async fn claims(
        &self,
        claimed: &Map<String, Value>,
        guidelines: &Guidelines,
        needs: Needs,
    ) -> (Claims, Option<FactError>) {
        let text = |name: &str| claimed.get(name).and_then(Value::as_str).map(str::to_owned);
        let number = |name: &str| claimed.get(name).and_then(whole);
        let mut claims = Claims {
            task: None,
            issue: number("issueNumber"),
            issue_key: text("issueKey"),
            branch: text("branch"),
            branch_prefix: text("branchPrefix"),
            spec_path: text("specPath"),
            pull_request: number("prNumber"),
        };
        if claimed.contains_key("branch") {
            return (claims, None);
        }
        let facts = self.repository.probe(&Claims::default(), guidelines, Needs::NOTHING).await;
        claims.branch = facts.head.branch;
        let Some(branch) = claims.branch.clone() else { return (claims, None) };
        if !claimed.contains_key("issueNumber") {
            claims.issue = issue_of(&branch);
        }
        if needs.pull_request && !claimed.contains_key("prNumber") {
            match self.repository.request_of(&branch).await {
                Answer::Found(number) => claims.pull_request = Some(number),
                Answer::Unknown(unknown) => return (claims, Some(unknown)),
                Answer::NotAsked | Answer::Missing => {}
            }
        }
        (claims, None)
    }

    /// Returns the other tasks that claim the same issue.
    fn rivals(&self, claims: &Claims) -> Answer<Vec<String>> {
        let others = match &self.others {
            Answer::Found(others) => others,
            Answer::Unknown(unknown) => return Answer::Unknown(unknown.clone()),
            Answer::NotAsked | Answer::Missing => return Answer::NotAsked,
        };
        let same = |other: &&Other| {
            let number = other.claims.get("issueNumber").and_then(whole);
            let key = other.claims.get("issueKey").and_then(Value::as_str);
            (number.is_some() && number == claims.issue) || (key.is_some() && key == claims.issue_key.as_deref())
        };
        Answer::Found(others.iter().filter(same).map(|other| format!("{} ({})", other.task, other.run)).collect())
    }

    async fn removals(&self, shared: &SharedFacts) -> Verdict {
        let Some(base) = shared.facts.integration.iter().find_map(tip) else {
            return unverified(
                "there is no integration branch to compare with; fetch it, or name it in the guidelines",
            );
        };
        let intent =
            shared.claims.spec_path.as_ref().map(|path| self.project().join(path)).filter(|path| path.is_file());
        let request = shared.claims.pull_request;
        let question = MergeQuestion { base, head: "HEAD".to_owned(), request, intent, evidence: None };
        let ruled = match rule(&self.repository, &question).await {
            Ok(ruled) => ruled,
            Err(MergeRulingError::Policy(..)) => {
                return unverified("the merge policy of the base commit has faults; fix it there");
            }
            Err(MergeRulingError::Failed(error)) => return unverified(&format!("{}; {}", error.message, error.help)),
        };
        let ruling = ruled.ruling;
        let weighty = ruling.reasons.iter().filter(|reason| reason.verdict == ruling.verdict);
        let reasons: Vec<String> = weighty.map(|reason| format!("{}: {}", reason.path, reason.message)).collect();
        match ruling.verdict {
            merge::MergeVerdict::Pass => shown("the branch removes only what it declares".to_owned()),
            merge::MergeVerdict::HumanReview => broken(format!("someone else must review it: {}", reasons.join("; "))),
            merge::MergeVerdict::Block => broken(reasons.join("; ")),
        }
    }
}

fn needs_of(kind: &'static CheckKind) -> Needs {
    kind.needs
}

/// Returns the newest known commit of an integration branch: the remote's, or else the local one.
fn tip(branch: &Integration) -> Option<String> {
    branch.remotes.first().cloned().or_else(|| branch.local.clone())
}

/// Returns a number without a fraction.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && (0.0..=9e15).contains(&number)).then_some(number as u64)
    })
}

/// Returns the issue at the beginning of a branch's name, after its prefix: `feat/42-login`.
fn issue_of(branch: &str) -> Option<u64> {
    let slug = branch.rsplit('/').next()?;
    let digits: String = slug.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|number| *number > 0)
}

fn verdict(found: CheckFinding) -> Verdict {
    match found.standing {
        CheckStatus::Holds => {
            let sets = found.sets.map(|(name, value)| Arc::new(json!({ name: value })));
            Verdict::Shown { reason: found.reason, sets }
        }
        CheckStatus::Fails => broken(found.reason),
        CheckStatus::Unverified => unknown(found.reason),
    }
}

fn unverified(why: &str) -> Verdict {
    unknown(format!("{}{why}", Verdict::CANNOT_VERIFY))
}

fn shown(reason: String) -> Verdict {
    Verdict::Shown { reason, sets: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issue_is_read_from_the_name_of_a_branch() {
        for (branch, issue) in
            [("feat/42-login", Some(42)), ("42", Some(42)), ("feat/login-42", None), ("feat/0-x", None), ("fix/", None)]
        {
            assert_eq!(issue_of(branch), issue, "{branch}");
        }
    }

    #[test]
    fn a_number_is_whole() {
        for (value, number) in [(json!(42), Some(42)), (json!(42.0), Some(42)), (json!(4.2), None), (json!(-1), None)] {
            assert_eq!(whole(&value), number, "{value}");
        }
    }
}
