//! Reads the guidelines of a project. Every fault is reported at its position, because a misspelt rule would otherwise
//! not be enforced.

use std::collections::BTreeMap;

use super::names::{self, KEPT};
use super::words::{self, Fault, LEVELS, OTHERS, WHO};
use super::{
    Branches, Commits, Forge, Guidelines, IssueProvider, Issues, Level, PullRequests, Specs, TypecheckRules, Who,
};
use portolan_core::diagnostic::{Diagnostic, clip, list};
use portolan_core::source::fields::{FaultList, Fields, distinct};
use portolan_core::source::{self, Source, Spanned, Tree, TreeKind};

/// The default folder of issue files.
pub(super) const ISSUES: &str = ".portolan/issues";
/// The default folder of the records that replace pull requests.
pub(super) const REVIEWS: &str = ".portolan/reviews";
/// The longest time limit of a type check, in seconds.
const MAX_TIMEOUT: u32 = 600;
/// The longest time limit of a review by a model, in seconds: an hour.
const MAX_REVIEW: u32 = 3_600;
/// The longest age limit of a verdict, in seconds: a year.
const MAX_AGE: u32 = 31_536_000;

/// Reads guidelines. A missing or faulty value keeps its default. Returns every fault, in the order of the text.
///
/// ```
/// use portolan_gates::guidelines::{Level, read};
/// use portolan_core::source::Source;
///
/// let (rules, faults) = read(&Source::new("guidelines.yaml", "policies: {I-4: warn, I-44: off}"));
/// assert_eq!(rules.level(&["I-4"]), Level::Warn);
/// assert_eq!(faults[0].message, "`policies` names `I-44`, which is not a rule");
/// ```
pub fn read(source: &Source) -> (Guidelines, Vec<Diagnostic>) {
    let mut rules = Guidelines::default();
    let says_something = |line: &str| !matches!(line.trim().chars().next(), None | Some('#'));
    if !source.text.lines().any(says_something) {
        return (rules, Vec::new());
    }
    let (tree, faults) = source::parse(source);
    let mut faults = FaultList(faults);
    if let Some(mut fields) = tree.as_ref().and_then(|tree| Fields::of(tree, "the file", &mut faults)) {
        whole(&mut fields, &mut rules, &mut faults);
        fields.finish(&mut faults);
    }
    let FaultList(mut faults) = faults;
    faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
    (rules, faults)
}

fn whole(fields: &mut Fields<'_>, rules: &mut Guidelines, faults: &mut FaultList) {
    integration(fields, rules, faults);
    set(&mut rules.commit_directly, fields.flag("commitDirectly", faults));
    set(&mut rules.strict, fields.flag("strict", faults));
    section(fields, "branches", faults, |fields, faults| branches(fields, &mut rules.branches, faults));
    section(fields, "issues", faults, |fields, faults| issues(fields, &mut rules.issues, faults));
    let prefixes = rules.branches.prefixes.clone();
    section(fields, "specs", faults, |fields, faults| specs(fields, &mut rules.specs, &prefixes, faults));
    section(fields, "commits", faults, |fields, faults| commits(fields, &mut rules.commits, faults));
    section(fields, "pullRequests", faults, |fields, faults| requests(fields, &mut rules.pull_requests, faults));
    section(fields, "typecheck", faults, |fields, faults| typecheck(fields, &mut rules.typecheck, faults));
    section(fields, "review", faults, |fields, faults| {
        rules.review.model = one_text(fields, "model", words::model, faults);
        if let Some(seconds) = fields.count("timeoutSeconds", 1..=MAX_REVIEW, faults) {
            rules.review.timeout_seconds = u64::from(seconds.value);
        }
    });
    rules.levels = fields
        .optional("policies")
        .map_or_else(BTreeMap::new, |tree| table("policies", tree, &names::known(), (&LEVELS, Level::Block), faults));
    if let Some(tree) = fields.optional("bypass") {
        bypass(tree, rules, faults);
    }
}

/// Reads one word for all rules, or a word for each.
fn bypass(tree: &Tree, rules: &mut Guidelines, faults: &mut FaultList) {
    let key = "bypass";
    if let Some(written) = tree.as_str() {
        match WHO.iter().find(|(word, _)| *word == written) {
            Some((_, who)) => rules.bypass_unnamed = *who,
            None => faults.push(no_choice(&format!("`{key}`"), tree, &WHO)),
        }
        return;
    }
    let known: Vec<&str> = names::known().into_iter().chain([OTHERS]).collect();
    rules.bypass = table(key, tree, &known, (&WHO, Who::Never), faults);
    if let Some(who) = rules.bypass.remove(OTHERS) {
        rules.bypass_unnamed = who;
    }
}

fn section<'t>(
    fields: &mut Fields<'t>,
    key: &'static str,
    faults: &mut FaultList,
    read: impl FnOnce(&mut Fields<'t>, &mut FaultList),
) {
    let Some(tree) = fields.optional(key) else { return };
    let Some(mut inner) = Fields::of(tree, format!("`{key}`"), faults) else { return };
    read(&mut inner, faults);
    inner.finish(faults);
}

fn integration(fields: &mut Fields<'_>, rules: &mut Guidelines, faults: &mut FaultList) {
    let Some(tree) = fields.optional("integration") else { return };
    let branches = match &tree.kind {
        TreeKind::String(text) => {
            sound("integration", vec![Spanned { value: text.clone(), span: tree.span }], words::branch, faults)
        }
        _ => texts(fields, "integration", words::branch, faults).unwrap_or_default(),
    };
    if !branches.iter().any(|branch| !branch.contains(['*', '?'])) {
        let message = "`integration` does not name a branch that work can begin from";
        faults.push(
            Diagnostic::error("no-integration", message)
                .at(tree.head())
                .help("name one that is not a glob, such as `main`"),
        );
        return;
    }
    rules.integration = branches;
}

fn branches(fields: &mut Fields<'_>, rules: &mut Branches, faults: &mut FaultList) {
    set_texts(&mut rules.prefixes, texts(fields, "prefixes", words::prefix, faults));
    rules.pattern = one_text(fields, "pattern", words::branch_pattern, faults);
}

fn issues(fields: &mut Fields<'_>, rules: &mut Issues, faults: &mut FaultList) {
    let providers = [("github", 0), ("file", 1), ("pattern", 2), ("offline", 3)];
    let provider = fields.choice("provider", &providers, faults).unwrap_or(0);
    let folder = belongs(fields, "folder", provider == 1, "it applies only to files; set `provider: file`", faults)
        .then(|| one_text(fields, "folder", words::folder, faults))
        .flatten();
    let projects =
        belongs(fields, "projects", provider == 2, "it applies only to keys; set `provider: pattern`", faults)
            .then(|| texts(fields, "projects", words::tracker, faults))
            .flatten();
    rules.provider = match provider {
        1 => IssueProvider::Files { folder: folder.unwrap_or_else(|| ISSUES.to_owned()) },
        2 => IssueProvider::Pattern { projects: projects.unwrap_or_default() },
        3 => IssueProvider::Offline,
        _ => IssueProvider::GitHub,
    };
    set(&mut rules.allow_closed, fields.flag("allowClosed", faults));
    set(&mut rules.allow_shared, fields.flag("allowShared", faults));
    set(&mut rules.allow_closing_keywords, fields.flag("allowClosingKeywords", faults));
}

fn specs(fields: &mut Fields<'_>, rules: &mut Specs, prefixes: &[String], faults: &mut FaultList) {
    set(&mut rules.required, fields.flag("required", faults));
    set_texts(&mut rules.folders, texts(fields, "folders", words::folder, faults));
    rules.pattern = one_text(fields, "pattern", words::glob, faults);
    for exempt in fields.strings("exempt", faults) {
        let known = prefixes.is_empty() || prefixes.iter().any(|prefix| exempt.value.starts_with(prefix.as_str()));
        if !known {
            let message = format!("`exempt` names `{}`, but no branch can begin with it", clip(&exempt.value));
            let fault = Diagnostic::error("unknown-prefix", message).at(exempt.span);
            let words: Vec<&str> = prefixes.iter().map(String::as_str).collect();
            let fault = fault.help(format!("the prefixes of `branches` are {}", list(&words)));
            faults.push(fault.did_you_mean(&exempt.value, words));
        }
        rules.exempt.push(exempt.value);
    }
    set_texts(&mut rules.headings, texts(fields, "headings", words::text, faults));
    set(&mut rules.names_issue, fields.flag("namesIssue", faults));
}

fn commits(fields: &mut Fields<'_>, rules: &mut Commits, faults: &mut FaultList) {
    set_texts(&mut rules.types, texts(fields, "types", words::commit_type, faults));
    set_texts(&mut rules.scopes, texts(fields, "scopes", words::scope, faults));
    set(&mut rules.require_scope, fields.flag("requireScope", faults));
    rules.max_header = fields.count("maxHeader", 10..=1_000, faults).map(|most| most.value as usize);
    set(&mut rules.ignore_generated, fields.flag("ignoreGenerated", faults));
    set(&mut rules.require_reference, fields.flag("requireReference", faults));
    if let Some(level) = fields.choice("cleanTree", &LEVELS, faults) {
        rules.clean_tree = level;
    }
}

fn requests(fields: &mut Fields<'_>, rules: &mut PullRequests, faults: &mut FaultList) {
    let files = fields.choice("forge", &[("github", false), ("file", true)], faults).unwrap_or(false);
    let folder = belongs(fields, "folder", files, "it applies only to files; set `forge: file`", faults)
        .then(|| one_text(fields, "folder", words::folder, faults))
        .flatten();
    rules.forge = match files {
        true => Forge::Files { folder: folder.unwrap_or_else(|| REVIEWS.to_owned()) },
        false => Forge::GitHub,
    };
    set(&mut rules.allow_draft, fields.flag("allowDraft", faults));
    set(&mut rules.stop_at_open, fields.flag("stopAtOpen", faults));
    set(&mut rules.open_at_stop, fields.flag("openAtStop", faults));
}

fn typecheck(fields: &mut Fields<'_>, rules: &mut TypecheckRules, faults: &mut FaultList) {
    if let Some(tree) = fields.optional("commands") {
        rules.commands = commands(tree, faults);
    }
    rules.max_age_seconds = fields.count("maxAgeSeconds", 1..=MAX_AGE, faults).map(|most| u64::from(most.value));
    if let Some(seconds) = fields.count("timeoutSeconds", 1..=MAX_TIMEOUT, faults) {
        rules.timeout_seconds = u64::from(seconds.value);
    }
}

/// Reads commands, each a list of words, because no shell runs them.
fn commands(tree: &Tree, faults: &mut FaultList) -> Option<Vec<Vec<String>>> {
    let TreeKind::Array(items) = &tree.kind else {
        faults.push(no_command(tree));
        return None;
    };
    let command = |item: &Tree| -> Option<Vec<String>> {
        let TreeKind::Array(words) = &item.kind else { return None };
        let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
        words.filter(|words| words.first().is_some_and(|program| !program.trim().is_empty()))
    };
    let mut commands = Vec::new();
    for item in items {
        match command(item) {
            Some(words) => commands.push(words),
            None => faults.push(no_command(item)),
        }
    }
    Some(commands)
}

fn no_command(tree: &Tree) -> Diagnostic {
    let message = "`commands` of `typecheck` must be a list of commands, each a list of strings";
    let help = match tree.as_str() {
        Some(line) if !line.contains(['"', '\'', '|', '&', ';', '$', '<', '>', '`', '\\']) => {
            let words: Vec<&str> = line.split_whitespace().collect();
            format!("commands are not run in a shell; write `- [{}]`", clip(&words.join(", ")))
        }
        _ => "commands are not run in a shell; write `- [cargo, check, --workspace]`".to_owned(),
    };
    Diagnostic::error("wrong-type", message).at(tree.span).help(help)
}

/// Checks whether a key applies. A key without a meaning beside the others is reported as a fault.
fn belongs(
    fields: &mut Fields<'_>,
    key: &'static str,
    means_something: bool,
    help: &'static str,
    faults: &mut FaultList,
) -> bool {
    if !means_something && let Some(tree) = fields.optional(key) {
        let message = format!("`{key}` does not apply here");
        faults.push(Diagnostic::error("unknown-field", message).at(tree.head()).help(help));
    }
    // Marked as known, so that it is not reported twice.
    fields.ignored(&[key]);
    means_something
}

/// Reads a table from rules to one of `choices`. I-13 accepts only `kept`.
fn table<T: Copy + PartialEq>(
    key: &'static str,
    tree: &Tree,
    known: &[&'static str],
    (choices, kept): (&[(&'static str, T)], T),
    faults: &mut FaultList,
) -> BTreeMap<String, T> {
    let Some(entries) = tree.entries() else {
        let message = format!("`{key}` must be an object that maps rule names to words, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.head()));
        return BTreeMap::new();
    };
    let mut found = BTreeMap::new();
    for entry in distinct(entries, &format!("`{key}`"), faults) {
        let name = &entry.key.value;
        if !known.contains(&name.as_str()) {
            let message = format!("`{key}` names `{}`, which is not a rule", clip(name));
            let fault = Diagnostic::error("unknown-rule", message).at(entry.key.span);
            let fault = fault.help("a rule is the name of a check or a guard, or one of `I-1` to `I-15`");
            faults.push(fault.did_you_mean(name, known.iter().copied()));
            continue;
        }
        let written = entry.value.as_str().unwrap_or_default();
        match choices.iter().find(|(word, _)| *word == written) {
            Some((_, choice)) if name == KEPT && *choice != kept => {
                let fault = Diagnostic::error(
                    "always-kept",
                    format!("`{KEPT}` cannot be relaxed: bypasses are always recorded"),
                );
                faults.push(fault.at(entry.value.span).help("remove the line"));
            }
            Some((_, choice)) => drop(found.insert(name.clone(), *choice)),
            None => faults.push(no_choice(&format!("`{name}` of `{key}`"), &entry.value, choices)),
        }
    }
    found
}

fn no_choice<T>(what: &str, tree: &Tree, choices: &[(&'static str, T)]) -> Diagnostic {
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
    let written = tree.as_str().map_or_else(|| tree.describe().to_owned(), |text| format!("`{}`", clip(text)));
    let message = format!("{what} is {written}, which is not one of its values");
    let fault =
        Diagnostic::error("unknown-value", message).at(tree.head()).help(format!("write one of {}", list(&words)));
    fault.did_you_mean(tree.as_str().unwrap_or_default(), words)
}

/// Reads a list that replaces the default one. Returns `None` if it is missing.
fn texts(
    fields: &mut Fields<'_>,
    key: &'static str,
    fault: fn(&str) -> Fault,
    faults: &mut FaultList,
) -> Option<Vec<String>> {
    let there = fields.has(key);
    let found = fields.strings(key, faults);
    there.then(|| sound(key, found, fault, faults))
}

fn one_text(
    fields: &mut Fields<'_>,
    key: &'static str,
    fault: fn(&str) -> Fault,
    faults: &mut FaultList,
) -> Option<String> {
    let text = fields.string(key, faults)?;
    sound(key, vec![text], fault, faults).pop()
}

/// Returns the valid texts and reports the others.
fn sound(key: &str, texts: Vec<Spanned<String>>, fault: fn(&str) -> Fault, faults: &mut FaultList) -> Vec<String> {
    let mut kept = Vec::new();
    for text in texts {
        match fault(&text.value) {
            None => kept.push(text.value),
            Some(help) => {
                let message = format!("`{key}` contains the invalid value `{}`", clip(&text.value));
                faults.push(Diagnostic::error("bad-value", message).at(text.span).help(help));
            }
        }
    }
    kept
}

fn set<T>(place: &mut T, read: Option<Spanned<T>>) {
    if let Some(read) = read {
        *place = read.value;
    }
}

fn set_texts(place: &mut Vec<String>, read: Option<Vec<String>>) {
    if let Some(read) = read {
        *place = read;
    }
}
