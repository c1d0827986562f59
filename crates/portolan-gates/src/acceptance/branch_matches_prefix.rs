//! I-4: the work is on a branch of its own, whose name has a prefix that the guidelines allow.

use std::collections::BTreeSet;

use super::{CheckFinding, CheckKind, fails, holds, quoted, unverified};
use crate::facts::{Claims, Facts, Needs};
use crate::guidelines::Guidelines;
use crate::names::is_branch;
use portolan_core::diagnostic::list;

pub(super) const KIND: CheckKind =
    CheckKind { id: "branchMatchesPrefix", invariant: Some("I-4"), needs: Needs::NOTHING, look };

fn look(claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> CheckFinding {
    if let Some(unknown) = &facts.trouble {
        return unverified(unknown);
    }
    let branch = match stands(claims, facts) {
        Ok(branch) => branch,
        Err(finding) => return *finding,
    };
    if guidelines.integrates(branch) {
        return match guidelines.commit_directly {
            true => {
                holds("commits-directly", format!("work is committed on {} itself (`commitDirectly`)", quoted(branch)))
            }
            false => {
                let help = "make a branch for the work: `git switch -c <prefix><name>`";
                fails("integration-branch", format!("{} is an integration branch; {help}", quoted(branch)))
            }
        };
    }
    let prefix = match prefix(branch, claims, guidelines) {
        Ok(prefix) => prefix,
        Err(finding) => return *finding,
    };
    if let Some(pattern) = &guidelines.branches.pattern
        && !follows(pattern, branch, prefix, claims)
    {
        let help = "rename it: `git branch -m <name>`";
        return fails(
            "wrong-pattern",
            format!("{} does not match the pattern {}; {help}", quoted(branch), quoted(pattern)),
        );
    }
    let reason = format!("Branch \"{branch}\" matches prefix \"{prefix}\".");
    CheckFinding { sets: Some(("branchPrefix", prefix.to_owned())), ..holds("prefix-matches", reason) }
}

/// Returns the claimed branch, if it is checked out.
pub(super) fn stands<'c>(claims: &'c Claims, facts: &Facts) -> Result<&'c str, Box<CheckFinding>> {
    let Some(branch) = claims.branch.as_deref() else {
        return Err(Box::new(fails("no-branch", "no branch is claimed; make one for the work and claim its name")));
    };
    let shown = quoted(branch);
    let fault = match &facts.head.branch {
        _ if !is_branch(branch) => {
            fails("invalid-name", format!("{shown} cannot be the name of a branch; claim one that git accepts"))
        }
        None => match facts.operation {
            Some(operation) => fails(
                "operation-in-progress",
                format!("a {operation} is in progress; finish or abort it to get back to {shown}"),
            ),
            None => fails("detached-head", format!("no branch is checked out; run `git switch` to get to {shown}")),
        },
        Some(head) if head != branch => fails(
            "another-branch",
            format!("{} is checked out, not {shown}; switch to it, or claim the other", quoted(head)),
        ),
        Some(_) if facts.branch.is_none() && facts.head.oid.is_some() => {
            fails("branch-missing", format!("there is no branch {shown}; create it, or claim another"))
        }
        Some(_) => return Ok(branch),
    };
    Err(Box::new(fault))
}

/// Returns the prefix of a branch: the claimed one, which must be allowed, or else the longest allowed one.
fn prefix<'g>(branch: &'g str, claims: &'g Claims, guidelines: &'g Guidelines) -> Result<&'g str, Box<CheckFinding>> {
    let allowed = &guidelines.branches.prefixes;
    let words: Vec<&str> = allowed.iter().map(String::as_str).collect();
    if let Some(claimed) = &claims.branch_prefix
        && !allowed.contains(claimed)
    {
        let reason = format!("{} is not an allowed prefix; the prefixes are {}", quoted(claimed), list(&words));
        return Err(Box::new(fails("unknown-prefix", reason)));
    }
    let fits = |prefix: &&str| branch.strip_prefix(*prefix).is_some_and(|rest| !rest.is_empty());
    let found = match &claims.branch_prefix {
        Some(claimed) => Some(claimed.as_str()).filter(fits),
        None if allowed.is_empty() => Some(""),
        None => words.iter().copied().filter(fits).max_by_key(|prefix| prefix.len()),
    };
    let wanted = match &claims.branch_prefix {
        Some(claimed) => quoted(claimed),
        None => format!("any of {}", list(&words)),
    };
    let reason = || {
        format!("{} does not begin with {wanted} followed by a name; rename it: `git branch -m <name>`", quoted(branch))
    };
    found.ok_or_else(|| Box::new(fails("wrong-prefix", reason())))
}

/// Checks whether `branch` matches `pattern`, made of `{prefix}`, `{issue}`, `{slug}` and literal text.
fn follows(pattern: &str, branch: &str, prefix: &str, claims: &Claims) -> bool {
    let issue = claims.issue.map(|number| number.to_string()).or_else(|| claims.issue_key.clone());
    let mut places = BTreeSet::from([0]);
    let mut rest = pattern;
    while !rest.is_empty() && !places.is_empty() {
        let advance = |step: &dyn Fn(&str) -> Vec<usize>| {
            places.iter().flat_map(|&at| step(&branch[at..]).into_iter().map(move |length| at + length)).collect()
        };
        let literal = |text: &str, left: &str| left.starts_with(text).then_some(text.len()).into_iter().collect();
        (places, rest) = if let Some(behind) = rest.strip_prefix("{prefix}") {
            (advance(&|left| literal(prefix, left)), behind)
        } else if let Some(behind) = rest.strip_prefix("{issue}") {
            let step = |left: &str| match &issue {
                Some(issue) => literal(issue, left),
                None => lengths(left, |c| c.is_ascii_digit()),
            };
            (advance(&step), behind)
        } else if let Some(behind) = rest.strip_prefix("{slug}") {
            (advance(&|left| lengths(left, |c| c.is_alphanumeric() || "._-".contains(c))), behind)
        } else {
            let length = rest.chars().next().map_or(1, char::len_utf8);
            (advance(&|left| literal(&rest[..length], left)), &rest[length..])
        };
    }
    places.contains(&branch.len())
}

/// Returns the possible lengths of one or more of these characters.
fn lengths(text: &str, is: impl Fn(char) -> bool) -> Vec<usize> {
    text.char_indices().take_while(|(_, c)| is(*c)).map(|(at, c)| at + c.len_utf8()).collect()
}
