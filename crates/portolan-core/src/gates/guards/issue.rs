//! `commit-must-reference-issue` (I-8), as far as the message is to be seen in the command. Where it is not, the hook that
//! git runs with the message decides.

use super::act::{self, Act, On};
use super::finding::Finding;
use crate::gates::Guidelines;
use crate::gates::guidelines::IssueProvider;
use crate::shell::git::{Action, Commit, Invocation, Message};

const RULE: &str = "I-8";

pub(super) fn look(act: &Act<'_>) -> Vec<Finding> {
    if !act.guidelines.commits.require_reference {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (at, _, told) in act.git() {
        let Action::Commit(commit) = &told.action else { continue };
        if !commit.dry_run && !act.grounds(at, told).iter().all(|ground| ground.on == [On::Outside]) {
            found.push(finding(act, told, commit).at(at));
        }
    }
    found
}

fn finding(act: &Act<'_>, told: &Invocation, commit: &Commit) -> Finding {
    let Some(text) = message(act, told, commit) else {
        return Finding::allow(RULE, "the message is not to be seen yet; it is looked at when git has it");
    };
    let generated = ["fixup! ", "squash! ", "amend! ", "Revert \""];
    if act.guidelines.commits.ignore_generated && generated.iter().any(|start| text.starts_with(start)) {
        return Finding::allow(RULE, "the message is one that git writes by itself");
    }
    let issue = act.scene.flow.as_ref().and_then(|flow| flow.issue);
    let own = act.grounds_repository(told);
    let named = references(&text, act.guidelines, own.as_deref());
    let wanted = issue.map_or_else(|| "an issue".to_owned(), |issue| format!("issue {issue}"));
    let fits = |reference: &&Reference| issue.is_none_or(|issue| reference.number == issue);
    match named.iter().find(fits) {
        None => Finding::block(RULE, format!("the message does not name {wanted}"))
            .remedy(format!("add `{}` to the message, in words of its own", written(act.guidelines, issue)))
            .remedy("then commit again"),
        Some(_) if closing(act.guidelines, &named) => {
            Finding::block(RULE, "the message closes its issue with a keyword, which is not done here")
                .remedy(format!("write `refs {}` instead", written(act.guidelines, issue)))
        }
        Some(_) => Finding::allow(RULE, format!("the message names {wanted}")),
    }
}

fn closing(guidelines: &Guidelines, named: &[Reference]) -> bool {
    !guidelines.issues.allow_closing_keywords && named.iter().any(|reference| reference.closes)
}

fn written(guidelines: &Guidelines, issue: Option<u64>) -> String {
    let number = issue.map_or_else(|| "<issue>".to_owned(), |issue| issue.to_string());
    match &guidelines.issues.provider {
        IssueProvider::Pattern { projects } => {
            format!("{}-{number}", projects.first().map_or("<project>", String::as_str))
        }
        IssueProvider::GitHub | IssueProvider::Files { .. } | IssueProvider::Offline => format!("#{number}"),
    }
}

/// The whole message, where all of it is known.
fn message(act: &Act<'_>, told: &Invocation, commit: &Commit) -> Option<String> {
    let part = |message: &Message| match message {
        Message::Text(word) => word.known().map(str::to_owned),
        Message::Stdin(word) => word.as_ref().and_then(|word| word.known()).map(str::to_owned),
        Message::File(file) => {
            let folders = act::folders(&act.intent.folder, told);
            let [Some(folder)] = &folders[..] else { return None };
            act.scene.messages.get(&act::absolute(folder, file)?).cloned()
        }
        Message::Reuse(_) | Message::Editor => None,
    };
    let parts: Option<Vec<String>> = commit.message.iter().map(part).collect();
    parts.filter(|parts| !parts.is_empty()).map(|parts| parts.join("\n\n"))
}

/// An issue that a text names.
#[derive(Debug, PartialEq, Eq)]
struct Reference {
    number: u64,
    /// With a keyword that closes it: `fixes #1`.
    closes: bool,
}

const CLOSING: [&str; 9] = ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"];

/// The issues that a text names, but for those in code and those of other repositories.
fn references(text: &str, guidelines: &Guidelines, own: Option<&str>) -> Vec<Reference> {
    let prose = prose(text);
    let mut found = Vec::new();
    let mut closes = false;
    for word in prose.split(|char: char| char.is_whitespace() || "()[]{},;\"'<>".contains(char)) {
        let word = word.trim_end_matches(['.', ':', '!', '?']);
        if word.is_empty() {
            continue;
        }
        if let Some(number) = number(word, guidelines, own) {
            found.push(Reference { number, closes });
        } else {
            closes = CLOSING.contains(&word.to_lowercase().as_str());
        }
    }
    found
}

fn number(word: &str, guidelines: &Guidelines, own: Option<&str>) -> Option<u64> {
    if let IssueProvider::Pattern { projects } = &guidelines.issues.provider {
        let (project, number) = word.trim_start_matches('#').split_once('-')?;
        let named = projects.iter().any(|known| known == project);
        let looks = project.starts_with(|first: char| first.is_ascii_uppercase())
            && project.len() > 1
            && project.chars().all(|char| char.is_ascii_uppercase() || char.is_ascii_digit());
        return if named || (projects.is_empty() && looks) { digits(number) } else { None };
    }
    let is_own = |repository: &str| own.is_none_or(|own| own.eq_ignore_ascii_case(repository));
    if let Some(rest) = word.strip_prefix("GH-").or_else(|| word.strip_prefix("gh-")) {
        return digits(rest);
    }
    if let Some((_, rest)) = word.split_once("://") {
        let (path, rest) = rest.split_once("/issues/")?;
        let (_, repository) = path.split_once('/')?;
        let number = rest.split(['/', '#', '?']).next().unwrap_or_default();
        return is_own(repository).then(|| digits(number)).flatten();
    }
    let (repository, rest) = word.split_once('#')?;
    let slug = repository.split('/').count() == 2 && !repository.starts_with('/') && !repository.ends_with('/');
    if repository.is_empty() || (slug && is_own(repository)) { digits(rest) } else { None }
}

fn digits(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())).filter(|number| *number > 0)
}

/// The text without what stands between backticks.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('`') {
        prose.push_str(&rest[..at]);
        let ticks = rest[at..].bytes().take_while(|byte| *byte == b'`').count();
        let fence = &rest[at..at + ticks];
        rest = &rest[at + ticks..];
        match rest.find(fence) {
            Some(end) => {
                prose.push(' ');
                rest = &rest[end + ticks..];
            }
            // A single backtick is one, a fence that is never closed hides all that follows.
            None if ticks >= 3 => return prose,
            None => {}
        }
    }
    prose + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<u64> {
        references(text, &Guidelines::default(), Some("me/it")).into_iter().map(|reference| reference.number).collect()
    }

    #[test]
    fn issues_are_found_in_prose_only() {
        assert_eq!(named("fix: a (#42)"), [42]);
        assert_eq!(named("fix: a\n\nCloses: #42."), [42]);
        assert_eq!(named("refs GH-42, me/it#7 and https://github.com/me/it/issues/9#comment"), [42, 7, 9]);
        assert_eq!(named("#421"), [421]);
        assert_eq!(named("`#42` and ``` #42 ```"), [] as [u64; 0]);
        assert_eq!(named("```\n#42"), [] as [u64; 0]);
        assert_eq!(named("other/it#42 https://github.com/other/it/issues/42"), [] as [u64; 0]);
        assert_eq!(named("#42abc a#42 #-1 # 42 #0 ##42 #99999999999999999999999"), [] as [u64; 0]);
        assert_eq!(named("it's a ` lone tick, #42"), [42]);
    }

    #[test]
    fn keys_of_trackers_are_found_where_they_are_used() {
        let provider = |projects: &[&str]| {
            let mut rules = Guidelines::default();
            let projects = projects.iter().map(|&project| project.to_owned()).collect();
            rules.issues.provider = IssueProvider::Pattern { projects };
            rules
        };
        let named = |text: &str, projects: &[&str]| references(text, &provider(projects), None).len();
        assert_eq!(named("ABC-12: x", &[]), 1);
        assert_eq!(named("UTF-8 x", &["ABC"]), 0);
        assert_eq!(named("ABC-12x abc-12 A-1", &[]), 0);
        assert_eq!(named("#12", &[]), 0);
    }

    #[test]
    fn keywords_that_close_are_told() {
        let closes =
            |text: &str| references(text, &Guidelines::default(), None).iter().any(|reference| reference.closes);
        assert!(closes("fixes #1") && closes("Resolves: #1") && closes("closes #1, #2"));
        assert!(!closes("refs #1") && !closes("fix: a thing (#1)"));
    }
}
