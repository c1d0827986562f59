//! The issue that tracks the work, and whether a text names it. Guards, git hooks and the checks at phase exits share
//! this code, so that they agree.

use super::guidelines::{Guidelines, IssueProvider};
use super::references::{Reference, Target, references};

/// The issue of a task, with the repository and the rules that references are read by.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrackedIssue<'a> {
    wanted: IssueId<'a>,
    repository: Option<&'a str>,
    guidelines: &'a Guidelines,
}

#[derive(Clone, Copy, Debug)]
enum IssueId<'a> {
    Number(u64),
    Key(&'a str),
    /// No issue is claimed.
    Any,
}

/// A fault of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The reason.
    pub(super) reason: String,
    /// How to fix it.
    pub(super) help: String,
}

impl<'a> TrackedIssue<'a> {
    /// Creates the issue that is claimed by number, by key, or not at all. A tracker of keys has no numbers. The
    /// repository is the one that the text belongs to, if known.
    pub(super) fn new(
        number: Option<u64>,
        key: Option<&'a str>,
        repository: Option<&'a str>,
        guidelines: &'a Guidelines,
    ) -> TrackedIssue<'a> {
        let number = number.filter(|_| !matches!(guidelines.issues.provider, IssueProvider::Pattern { .. }));
        let wanted = match (number, key) {
            (Some(number), _) => IssueId::Number(number),
            (None, Some(key)) => IssueId::Key(key),
            (None, None) => IssueId::Any,
        };
        TrackedIssue { wanted, repository, guidelines }
    }

    /// Checks whether an issue is claimed.
    pub(super) fn is_claimed(&self) -> bool {
        !matches!(self.wanted, IssueId::Any)
    }

    /// Returns the issue as messages write it. An unknown part is in angle brackets.
    pub(super) fn written(&self) -> String {
        match (&self.wanted, &self.guidelines.issues.provider) {
            (IssueId::Number(number), _) => format!("#{number}"),
            (IssueId::Key(key), _) => (*key).to_owned(),
            (IssueId::Any, IssueProvider::Pattern { projects }) => {
                format!("{}-<number>", projects.first().map_or("<project>", String::as_str))
            }
            (IssueId::Any, _) => "#<issue>".to_owned(),
        }
    }

    /// Checks whether `text` names the issue, or any issue if none is claimed.
    pub(super) fn is_named(&self, text: &str) -> bool {
        references(text).iter().any(|reference| self.is_meant(&reference.target))
    }

    /// Returns the fault of a commit message: it must name the issue, and close none if the guidelines forbid that.
    pub(super) fn fault(&self, message: &str) -> Option<Fault> {
        let found = references(message);
        let written = self.written();
        if !found.iter().any(|reference| self.is_meant(&reference.target)) {
            let what = if self.is_claimed() { format!("the issue `{written}`") } else { "an issue".to_owned() };
            let reason = format!("the message does not name {what}");
            return Some(Fault { reason, help: format!("name the issue: `Refs {written}`") });
        }
        let closes = |reference: &Reference| reference.closes && self.is_issue(&reference.target);
        if self.guidelines.issues.allow_closing_keywords || !found.iter().any(closes) {
            return None;
        }
        Some(Fault {
            reason: "the message closes an issue with a keyword, which is not allowed here".to_owned(),
            help: format!("name the issue without a closing keyword such as `fixes`: `Refs {written}`"),
        })
    }

    fn is_meant(&self, target: &Target) -> bool {
        match (&self.wanted, target) {
            (IssueId::Number(number), target) => target.is_issue(*number, self.repository),
            (IssueId::Key(wanted), Target::Key(key)) => key == wanted,
            (IssueId::Key(_), Target::Issue { .. }) => false,
            (IssueId::Any, Target::Key(_)) => self.is_issue(target),
            (IssueId::Any, Target::Issue { number, .. }) => {
                let by_number = !matches!(self.guidelines.issues.provider, IssueProvider::Pattern { .. });
                by_number && target.is_issue(*number, self.repository)
            }
        }
    }

    /// Checks whether it is an issue at all: `UTF-8` looks like a key, but is one only if keys are used.
    fn is_issue(&self, target: &Target) -> bool {
        match (target, &self.guidelines.issues.provider) {
            (Target::Issue { .. }, _) => true,
            (Target::Key(key), _) if matches!(self.wanted, IssueId::Key(wanted) if key == wanted) => true,
            (Target::Key(key), IssueProvider::Pattern { projects }) => {
                let project = key.split('-').next().unwrap_or_default();
                projects.is_empty() || projects.iter().any(|known| known == project)
            }
            (Target::Key(_), IssueProvider::Offline) => true,
            (Target::Key(_), IssueProvider::GitHub | IssueProvider::Files { .. }) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(provider: IssueProvider) -> Guidelines {
        let mut rules = Guidelines::default();
        rules.issues.provider = provider;
        rules.issues.allow_closing_keywords = false;
        rules
    }

    fn keys(projects: &[&str]) -> Guidelines {
        rules(IssueProvider::Pattern { projects: projects.iter().map(|&project| project.to_owned()).collect() })
    }

    /// Returns `named`, `missing` or `closing` for a claim: `42`, `ABC-12`, or an empty one.
    fn claim_outcome(claim: &str, rules: &Guidelines, message: &str) -> &'static str {
        let (number, key) = (claim.parse().ok(), Some(claim).filter(|claim| claim.contains('-')));
        let tracked = TrackedIssue::new(number, key, Some("me/it"), rules);
        match tracked.fault(message) {
            None => {
                assert!(tracked.is_named(message), "{message}");
                "named"
            }
            Some(fault) if fault.reason.contains("closes") => "closing",
            Some(_) => "missing",
        }
    }

    #[test]
    fn a_claimed_issue_is_named_by_its_number_and_by_no_other() {
        let rules = rules(IssueProvider::GitHub);
        for message in ["a (#42)", "Refs:#42", "**#42**", "gh-42", "me/it#42", "#41 and #42", "fix UTF-8 (#42)"] {
            assert_eq!(claim_outcome("42", &rules, message), "named", "{message}");
        }
        for message in ["a", "#421", "#042", "`#42`", "other/it#42", "ABC-42", "42"] {
            assert_eq!(claim_outcome("42", &rules, message), "missing", "{message}");
        }
        for message in ["fixes #42", "refs #42, closes #7", "#42\n\nResolves other/it#3"] {
            assert_eq!(claim_outcome("42", &rules, message), "closing", "{message}");
        }
        assert_eq!(claim_outcome("42", &rules, "fixes UTF-8 in #42"), "named", "no key is an issue here");
    }

    #[test]
    fn a_tracker_of_keys_knows_no_numbers() {
        for (claim, projects, message, expected) in [
            ("ABC-12", &["ABC"][..], "ABC-12 a", "named"),
            ("ABC-12", &["ABC"], "ABC-13 a", "missing"),
            ("ABC-12", &["ABC"], "#12", "missing"),
            ("ABC-12", &["ABC"], "closes ABC-12", "closing"),
            ("ABC-12", &["ABC"], "ABC-12: fixes UTF-8", "named"),
            ("12", &["ABC"], "#12", "missing"),
            ("", &["ABC"], "ABC-1", "named"),
            ("", &["ABC"], "UTF-8", "missing"),
            ("", &[], "UTF-8", "named"),
        ] {
            assert_eq!(claim_outcome(claim, &keys(projects), message), expected, "{claim} {message}");
        }
    }

    #[test]
    fn without_a_claim_any_issue_of_the_tracker_will_do() {
        for (provider, message, expected) in [
            (IssueProvider::GitHub, "#7", "named"),
            (IssueProvider::GitHub, "other/it#7", "missing"),
            (IssueProvider::GitHub, "ABC-7", "missing"),
            (IssueProvider::Offline, "ABC-7", "named"),
            (IssueProvider::Offline, "#7", "named"),
        ] {
            assert_eq!(claim_outcome("", &rules(provider.clone()), message), expected, "{provider:?} {message}");
        }
    }

    #[test]
    fn what_is_missing_is_written_as_it_would_be_right() {
        let help = |claim: &str, rules: &Guidelines| {
            let (number, key) = (claim.parse().ok(), Some(claim).filter(|claim| claim.contains('-')));
            TrackedIssue::new(number, key, None, rules).fault("a").expect("it names nothing").help
        };
        assert_eq!(help("42", &Guidelines::default()), "name the issue: `Refs #42`");
        assert_eq!(help("", &Guidelines::default()), "name the issue: `Refs #<issue>`");
        assert_eq!(help("ABC-1", &keys(&[])), "name the issue: `Refs ABC-1`");
        assert_eq!(help("", &keys(&["ABC"])), "name the issue: `Refs ABC-<number>`");
    }
}
