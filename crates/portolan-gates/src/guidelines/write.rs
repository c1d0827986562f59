//! Writes guidelines as text: only the differences from the defaults.

use std::fmt::Write;

use super::words::{LEVELS, OTHERS, WHO};
use super::{Forge, Guidelines, IssueProvider};

/// Returns the text of guidelines, which `read` parses to the same value.
pub fn write(rules: &Guidelines) -> String {
    let usual = Guidelines::default();
    let mut text = Text::default();
    text.top(rules.integration != usual.integration, "integration", words(&rules.integration));
    text.top(rules.commit_directly, "commitDirectly", "true");
    text.top(rules.strict, "strict", "true");
    text.section("branches", branches(rules, &usual));
    text.section("issues", issues(rules, &usual));
    text.section("specs", specs(rules, &usual));
    text.section("commits", commits(rules, &usual));
    text.section("pullRequests", requests(rules, &usual));
    text.section("typecheck", typecheck(rules, &usual));
    text.section("review", review(rules, &usual));
    let named = |map: Vec<(&String, &'static str)>| {
        map.into_iter().map(|(name, spelling)| (name.clone(), spelling.to_owned())).collect()
    };
    text.section("policies", named(rules.levels.iter().map(|(name, level)| (name, spelt(&LEVELS, level))).collect()));
    let others = (rules.bypass_unnamed != usual.bypass_unnamed).then(|| spelt(&WHO, &rules.bypass_unnamed));
    let mut bypass = named(rules.bypass.iter().map(|(name, who)| (name, spelt(&WHO, who))).collect());
    match others {
        Some(word) if bypass.is_empty() => text.top(true, "bypass", word),
        others => bypass.extend(others.map(|word| (OTHERS.to_owned(), word.to_owned()))),
    }
    text.section("bypass", bypass);
    text.0
}

/// The lines of a section: keys and their values.
type Lines = Vec<(String, String)>;

fn line(differs: bool, key: &str, value: impl Into<String>) -> Option<(String, String)> {
    differs.then(|| (key.to_owned(), value.into()))
}

fn branches(rules: &Guidelines, usual: &Guidelines) -> Lines {
    let (rules, usual) = (&rules.branches, &usual.branches);
    let lines = [
        line(rules.prefixes != usual.prefixes, "prefixes", words(&rules.prefixes)),
        rules.pattern.as_ref().and_then(|pattern| line(true, "pattern", word(pattern))),
    ];
    lines.into_iter().flatten().collect()
}

fn issues(rules: &Guidelines, usual: &Guidelines) -> Lines {
    let (rules, usual) = (&rules.issues, &usual.issues);
    let provider = match &rules.provider {
        IssueProvider::GitHub => vec![],
        IssueProvider::Files { folder } => vec![line(true, "provider", "file"), line(true, "folder", word(folder))],
        IssueProvider::Pattern { projects } => {
            vec![line(true, "provider", "pattern"), line(!projects.is_empty(), "projects", words(projects))]
        }
        IssueProvider::Offline => vec![line(true, "provider", "offline")],
    };
    let flags = [
        flag("allowClosed", rules.allow_closed, usual.allow_closed),
        flag("allowShared", rules.allow_shared, usual.allow_shared),
        flag("allowClosingKeywords", rules.allow_closing_keywords, usual.allow_closing_keywords),
    ];
    provider.into_iter().chain(flags).flatten().collect()
}

fn specs(rules: &Guidelines, usual: &Guidelines) -> Lines {
    let (rules, usual) = (&rules.specs, &usual.specs);
    let lines = [
        flag("required", rules.required, usual.required),
        line(!rules.folders.is_empty(), "folders", words(&rules.folders)),
        rules.pattern.as_ref().and_then(|pattern| line(true, "pattern", word(pattern))),
        line(!rules.exempt.is_empty(), "exempt", words(&rules.exempt)),
        line(!rules.headings.is_empty(), "headings", words(&rules.headings)),
        flag("namesIssue", rules.names_issue, usual.names_issue),
    ];
    lines.into_iter().flatten().collect()
}

fn commits(rules: &Guidelines, usual: &Guidelines) -> Lines {
    let (rules, usual) = (&rules.commits, &usual.commits);
    let lines = [
        line(rules.types != usual.types, "types", words(&rules.types)),
        line(!rules.scopes.is_empty(), "scopes", words(&rules.scopes)),
        flag("requireScope", rules.require_scope, usual.require_scope),
        rules.max_header.and_then(|most| line(true, "maxHeader", most.to_string())),
        flag("ignoreGenerated", rules.ignore_generated, usual.ignore_generated),
        flag("requireReference", rules.require_reference, usual.require_reference),
        line(rules.clean_tree != usual.clean_tree, "cleanTree", spelt(&LEVELS, &rules.clean_tree)),
    ];
    lines.into_iter().flatten().collect()
}

fn requests(rules: &Guidelines, usual: &Guidelines) -> Lines {
    let (rules, usual) = (&rules.pull_requests, &usual.pull_requests);
    let forge = match &rules.forge {
        Forge::GitHub => vec![],
        Forge::Files { folder } => vec![line(true, "forge", "file"), line(true, "folder", word(folder))],
    };
    let flags = [
        flag("allowDraft", rules.allow_draft, usual.allow_draft),
        flag("stopAtOpen", rules.stop_at_open, usual.stop_at_open),
        flag("openAtStop", rules.open_at_stop, usual.open_at_stop),
    ];
    forge.into_iter().chain(flags).flatten().collect()
}

fn typecheck(rules: &Guidelines, usual: &Guidelines) -> Lines {
    let (rules, usual) = (&rules.typecheck, &usual.typecheck);
    let commands = rules.commands.as_ref().map(|commands| {
        let commands: Vec<String> = commands.iter().map(|command| words(command)).collect();
        format!("[{}]", commands.join(", "))
    });
    let lines = [
        commands.and_then(|commands| line(true, "commands", commands)),
        rules.max_age_seconds.and_then(|most| line(true, "maxAgeSeconds", most.to_string())),
        line(rules.timeout_seconds != usual.timeout_seconds, "timeoutSeconds", rules.timeout_seconds.to_string()),
    ];
    lines.into_iter().flatten().collect()
}

fn review(rules: &Guidelines, usual: &Guidelines) -> Lines {
    let (rules, usual) = (&rules.review, &usual.review);
    let lines = [
        rules.model.as_ref().and_then(|model| line(true, "model", word(model))),
        line(rules.timeout_seconds != usual.timeout_seconds, "timeoutSeconds", rules.timeout_seconds.to_string()),
    ];
    lines.into_iter().flatten().collect()
}

fn flag(key: &str, value: bool, usual: bool) -> Option<(String, String)> {
    line(value != usual, key, value.to_string())
}

fn spelt<T: PartialEq>(choices: &[(&'static str, T)], choice: &T) -> &'static str {
    choices.iter().find(|(_, one)| one == choice).map_or("", |(word, _)| word)
}

fn words(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| word(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// Returns a text as a YAML string, in quotes unless it is a plain word.
fn word(text: &str) -> String {
    let begins = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '.');
    let plain = begins && text.chars().all(|c| c.is_ascii_alphanumeric() || "._/-".contains(c));
    let other = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan"];
    let is_other = other.iter().any(|other| text.trim_start_matches('.').eq_ignore_ascii_case(other));
    if plain && !is_other { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn top(&mut self, differs: bool, key: &str, value: impl AsRef<str>) {
        if differs {
            self.line(format_args!("{key}: {}", value.as_ref()));
        }
    }

    fn section(&mut self, name: &str, lines: Lines) {
        if !lines.is_empty() {
            self.line(format_args!("{name}:"));
        }
        for (key, value) in lines {
            self.line(format_args!("  {key}: {value}"));
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a `String` cannot fail.
        let _ = writeln!(self.0, "{line}");
    }
}
