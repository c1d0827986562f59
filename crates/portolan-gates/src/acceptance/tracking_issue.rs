//! I-3: the issue that tracks the work exists.

use super::{CheckFinding, CheckKind, CheckStatus, fails, holds, not_asked, of_another, quoted, unverified};
use crate::facts::{Answer, Claims, Facts, Issue, Needs};
use crate::guidelines::{Guidelines, IssueProvider};
use crate::references::is_key;
use portolan_core::diagnostic::list;

pub(super) const KIND: CheckKind = CheckKind {
    id: "trackingIssueExists",
    invariant: Some("I-3"),
    needs: Needs { issue: true, ..Needs::NOTHING },
    look,
};

fn look(claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> CheckFinding {
    let found = exists(claims, facts, guidelines);
    match &facts.rivals {
        _ if found.standing != CheckStatus::Holds || guidelines.issues.allow_shared => found,
        Answer::Unknown(unknown) => unverified(unknown),
        Answer::Found(rivals) if !rivals.is_empty() => {
            let names: Vec<&str> = rivals.iter().map(String::as_str).collect();
            let help = "finish that one first, claim another issue, or let tasks share them (`issues.allowShared`)";
            fails("claimed-twice", format!("the issue is also claimed by the task {}; {help}", list(&names)))
        }
        Answer::Found(_) | Answer::Missing | Answer::NotAsked => found,
    }
}

fn exists(claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> CheckFinding {
    match &guidelines.issues.provider {
        IssueProvider::Pattern { projects } => key(claims.issue_key.as_deref(), projects),
        IssueProvider::Offline => offline(claims),
        IssueProvider::GitHub | IssueProvider::Files { .. } => match claims.issue {
            None | Some(0) => fails(
                "no-issue",
                "no issue is claimed; open one, or find the one that this work belongs to, and claim its number",
            ),
            Some(number) => asked(number, &facts.issue, guidelines),
        },
    }
}

fn asked(number: u64, issue: &Answer<Issue>, guidelines: &Guidelines) -> CheckFinding {
    match issue {
        Answer::NotAsked => not_asked("the issue"),
        Answer::Unknown(unknown) => unverified(unknown),
        Answer::Missing => fails("issue-missing", format!("there is no issue #{number}; claim one that exists")),
        Answer::Found(Issue { elsewhere: Some(elsewhere), .. }) => of_another(&format!("issue #{number}"), elsewhere),
        Answer::Found(issue) if !issue.is_issue => {
            fails("not-an-issue", format!("#{number} is a pull request; claim the issue that it belongs to"))
        }
        Answer::Found(issue) if issue.number != number => {
            fails("another-issue", format!("the tracker answered #{number} with #{}; claim that one", issue.number))
        }
        Answer::Found(issue) if !issue.open && !guidelines.issues.allow_closed => {
            fails("issue-closed", format!("issue #{number} is closed; reopen it, or claim one that is open"))
        }
        Answer::Found(issue) => {
            let state = if issue.open { "open" } else { "closed, which is allowed" };
            holds("issue-exists", format!("issue #{number}, {}, is {state}", quoted(&issue.title)))
        }
    }
}

fn key(key: Option<&str>, projects: &[String]) -> CheckFinding {
    let Some(key) = key else {
        return fails("no-issue", "no issue is claimed; claim its key, such as `ABC-12`");
    };
    let project = key.split('-').next().unwrap_or_default();
    match is_key(key) {
        false => fails("not-a-key", format!("{} is not a tracker key; write it like `ABC-12`", quoted(key))),
        true if !projects.is_empty() && !projects.iter().any(|known| known == project) => {
            let known: Vec<&str> = projects.iter().map(String::as_str).collect();
            let known = list(&known);
            fails(
                "another-project",
                format!("{} belongs to another project; the projects here are {known}", quoted(key)),
            )
        }
        true => holds("key-only", format!("{} has the form of a key; its existence was not checked", quoted(key))),
    }
}

fn offline(claims: &Claims) -> CheckFinding {
    match (claims.issue, &claims.issue_key) {
        (Some(number @ 1..), _) => {
            holds("not-looked-up", format!("issue #{number} is claimed; its existence was not checked"))
        }
        (_, Some(claimed)) => key(Some(claimed), &[]),
        _ => fails("no-issue", "no issue is claimed; claim its number or its key"),
    }
}
