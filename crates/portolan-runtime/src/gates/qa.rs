//! Runs a check of a project's rules on its own. The claims of a task are given, or derived from the repository.

use std::path::Path;

use portolan_core::diagnostic::{clip, closest};
use portolan_core::run::Verdict;
use portolan_gates::acceptance::{self, CheckFinding, CheckStatus};
use portolan_gates::facts::{Answer, Claims, Facts, Needs, Tree, TypecheckOutcome};
use portolan_gates::guidelines::IssueProvider;
use portolan_gates::references::is_key;
use portolan_gates::{Guidelines, names};
use serde_json::{Map, json};

use super::{CheckWorkspace, REMOVALS};
use crate::clock::Clock;
use crate::error::ServiceError;
use crate::repository::Repository;
use crate::rules::rules;
use crate::typecheck::{TypecheckRun, Typechecks, Verdict as Judged, checker};

/// The name of the check that always runs the type checker; `typecheckPasses` runs it only if there is no verdict.
pub const TYPECHECK: &str = "typecheck";

/// A check to run, and its claims. Claims that are not given are derived from the branch that is checked out.
#[derive(Clone, Debug, Default)]
pub struct ChecklistRequest {
    /// The check.
    pub check: String,
    /// The issue: a number, or a tracker's key.
    pub issue: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// The specification.
    pub spec: Option<String>,
    /// The pull request.
    pub pull_request: Option<u64>,
    /// The time limit of the type checker, in seconds.
    pub seconds: u64,
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct ChecklistReport {
    /// The finding.
    pub finding: CheckFinding,
    /// The end of the output of a command that failed.
    pub output: String,
    /// Further remarks.
    pub remarks: Vec<String>,
}

/// Runs a check.
///
/// # Errors
/// There is no such check, the rules have faults, or a claim is malformed.
pub async fn ask(project: &Path, request: &ChecklistRequest) -> Result<ChecklistReport, ServiceError> {
    let rules = rules(project)?;
    if request.check == TYPECHECK {
        return Ok(typecheck(project, &rules, request.seconds).await);
    }
    if request.check == REMOVALS {
        return removals(project, &rules, request).await;
    }
    let kind = acceptance::find(&request.check).ok_or_else(|| no_check(&request.check))?;
    if let Some(finding) = kind.switched_off(&rules) {
        return Ok(ChecklistReport { finding, output: String::new(), remarks: Vec::new() });
    }
    let claims = claims(project, &rules, request).await?;
    let facts = Repository::of(project).probe(&claims, &rules, kind.needs).await;
    Ok(ChecklistReport { finding: kind.decide(&claims, &facts, &rules), output: String::new(), remarks: Vec::new() })
}

/// Reports the verdict of the merge gate as a finding.
async fn removals(
    project: &Path,
    rules: &Guidelines,
    request: &ChecklistRequest,
) -> Result<ChecklistReport, ServiceError> {
    let claims = claims(project, rules, request).await?;
    let claimed = json!({ "branch": claims.branch, "specPath": claims.spec_path, "prNumber": claims.pull_request });
    let ground = CheckWorkspace::of(Repository::of(project), vec![REMOVALS.to_owned()]);
    let verdict = ground.removals_match(claimed.as_object().unwrap_or(&Map::new())).await;
    let (standing, code, reason) = match verdict {
        Verdict::Shown { reason, .. } | Verdict::Excused { reason, .. } => {
            (CheckStatus::Holds, "removals-match", reason)
        }
        Verdict::Held => (CheckStatus::Holds, "removals-match", "nothing is removed without a declaration".to_owned()),
        Verdict::Broken { reason, .. } => (CheckStatus::Fails, "removals-differ", reason),
        Verdict::Unknown { reason } | Verdict::ForPerson { reason } => {
            (CheckStatus::Unverified, "removals-unknown", reason)
        }
    };
    let finding = CheckFinding { standing, code, reason, ..unasked() };
    Ok(ChecklistReport { finding, output: String::new(), remarks: Vec::new() })
}

fn no_check(name: &str) -> ServiceError {
    let known = acceptance::CHECKS.iter().map(|kind| kind.id).chain([TYPECHECK, REMOVALS]);
    let help = match closest(name, known) {
        Some(near) => format!("did you mean `{near}`? `portolan qa list` lists them all"),
        None => "`portolan qa list` lists them all".to_owned(),
    };
    ServiceError::refused("unknown_check", format!("there is no check `{}`", clip(name)), help)
}

async fn claims(project: &Path, rules: &Guidelines, request: &ChecklistRequest) -> Result<Claims, ServiceError> {
    let mut claims =
        Claims { spec_path: request.spec.clone(), pull_request: request.pull_request, ..Claims::default() };
    claims.branch = match &request.branch {
        Some(branch) if names::is_branch(branch) => Some(branch.clone()),
        Some(branch) => {
            let message = format!("`{}` is not a valid branch name", clip(branch));
            return Err(ServiceError::refused("bad_branch", message, "give the name of an existing branch"));
        }
        None => Repository::of(project).probe(&claims, rules, Needs::NOTHING).await.head.branch,
    };
    let keys = matches!(rules.issues.provider, IssueProvider::Pattern { .. });
    let named = claims.branch.as_deref().and_then(|branch| issue_in(branch, keys));
    match request.issue.as_deref().or(named.as_deref()) {
        None => {}
        Some(issue) if is_key(issue) => claims.issue_key = Some(issue.to_owned()),
        Some(issue) => {
            let number = issue.trim_start_matches('#').parse().ok().filter(|number| *number > 0);
            claims.issue = Some(number.ok_or_else(|| {
                let message = format!("`{}` does not name an issue", clip(issue));
                ServiceError::refused("bad_issue", message, "give its number, or a key such as `ABC-12`")
            })?);
        }
    }
    Ok(claims)
}

/// Returns the issue in the name of a branch: the first number that is a word, or the first key.
fn issue_in(branch: &str, keys: bool) -> Option<String> {
    let words = || branch.split(['/', '-', '_', '.']);
    if keys {
        let pairs = words().zip(words().skip(1)).map(|(project, number)| format!("{project}-{number}"));
        return pairs.into_iter().find(|key| is_key(key) && branch.contains(key.as_str()));
    }
    let is_number = |word: &&str| {
        (1..=18).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit()) && !word.starts_with('0')
    };
    words().find(is_number).map(str::to_owned)
}

async fn typecheck(project: &Path, rules: &Guidelines, seconds: u64) -> ChecklistReport {
    let mut report = ChecklistReport { finding: unasked(), output: String::new(), remarks: Vec::new() };
    let outcome = match Typechecks::of(project).run(rules, seconds).await {
        Err(unknown) => Answer::Unknown(unknown),
        Ok(TypecheckRun::NotConfigured) => Answer::Found(TypecheckOutcome::NotConfigured),
        Ok(TypecheckRun::TooLong) => {
            let command = checker(project, rules).map(|checker| checker.shown()).unwrap_or_default();
            let reason = format!("`{command}` took longer than {seconds} s and was stopped; increase `--timeout`");
            report.finding = CheckFinding { standing: CheckStatus::Fails, code: "too-long", reason, ..unasked() };
            return report;
        }
        Ok(TypecheckRun::Judged { verdict, output, unkept }) => {
            report.output = output;
            report.remarks.extend(unkept.map(|why| format!("the verdict could not be stored: {why}")));
            report.remarks.extend(partly_staged(project, rules).await);
            Answer::Found(judged(verdict))
        }
    };
    let facts = Facts { typecheck: outcome, ..Facts::default() };
    if let Some(kind) = acceptance::find("typecheckPasses") {
        report.finding = kind.decide(&Claims::default(), &facts, rules);
    }
    report
}

fn judged(verdict: Judged) -> TypecheckOutcome {
    let command = verdict.argv.iter().map(|argv| argv.join(" ")).collect::<Vec<_>>().join(" && ");
    let now = Clock::System.now();
    let age_seconds = u64::try_from(now.0.saturating_sub(verdict.at.0) / 1_000).unwrap_or(0);
    TypecheckOutcome::Judged { command, passed: verdict.ok, age_seconds, summary: verdict.summary }
}

fn unasked() -> CheckFinding {
    CheckFinding {
        standing: CheckStatus::Unverified,
        code: "not-asked",
        reason: "cannot verify: the type checker was not run".to_owned(),
        violations: Vec::new(),
        sets: None,
    }
}

/// Returns a remark if the staged content differs from the files, because a commit of it was not checked.
async fn partly_staged(project: &Path, rules: &Guidelines) -> Option<String> {
    let needs = Needs { tree: true, ..Needs::NOTHING };
    let facts = Repository::of(project).probe(&Claims::default(), rules, needs).await;
    let partly = |tree: &Tree| tree.staged > 0 && tree.unstaged + tree.untracked > 0;
    matches!(&facts.tree, Answer::Found(tree) if partly(tree)).then(|| {
        "the staged content is not what was checked: the files have further changes; stage or stash them".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::issue_in;

    #[test]
    fn branches_name_issues() {
        for (branch, keys, issue) in [
            ("feat/42-auth", false, Some("42")),
            ("fix/auth-42", false, Some("42")),
            ("feat/v2-auth", false, None),
            ("feat/042", false, None),
            ("release/1.2", false, Some("1")),
            ("feat/ABC-12-auth", true, Some("ABC-12")),
            ("feat/ABC_12", true, None),
            ("feat/abc-12", true, None),
            ("99999999999999999999", false, None),
        ] {
            assert_eq!(issue_in(branch, keys).as_deref(), issue, "{branch}");
        }
    }
}
