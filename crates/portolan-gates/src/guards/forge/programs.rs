//! The programs of the forges: which of their commands change what.

use super::{ForgeAction, Request, operands};
use crate::shell::Word;

/// A group of commands, and those of it that change nothing that counts. The others are asked.
type Group = (&'static str, &'static [&'static str]);

const GH: &[Group] = &[
    ("repo", &["list", "view", "clone", "set-default", "gitignore", "license", "read-dir", "read-file"]),
    ("release", &["list", "ls", "view", "download", "verify", "verify-asset"]),
    ("workflow", &["list", "ls", "view"]),
    ("run", &["list", "ls", "view", "watch", "download", "rerun", "cancel"]),
    ("secret", &["list", "ls"]),
    ("variable", &["list", "ls", "get"]),
    ("ssh-key", &["list", "ls"]),
    ("gpg-key", &["list", "ls"]),
    ("auth", &["status"]),
    ("alias", &["list", "ls"]),
    ("extension", &["list", "ls", "search", "browse"]),
    ("config", &["list", "ls", "get"]),
    ("codespace", &["list", "ls", "view"]),
    ("cache", &["list", "ls"]),
];

/// Groups whose commands are all an agent's work.
const GH_FINE: &[&str] = &[
    "issue",
    "search",
    "status",
    "browse",
    "org",
    "attestation",
    "completion",
    "help",
    "version",
    "ruleset",
    "label",
    "gist",
    "project",
    "copilot",
    "licenses",
];

const GLAB: &[Group] = &[
    ("repo", &["list", "view", "clone", "search", "contributors", "archive"]),
    ("release", &["list", "view", "download"]),
    ("ci", &["list", "view", "status", "get", "trace", "lint", "artifact"]),
    ("job", &["artifact", "list"]),
    ("variable", &["list", "get"]),
    ("ssh-key", &["list", "get"]),
    ("deploy-key", &["list", "get"]),
    ("schedule", &["list"]),
    ("token", &["list"]),
    ("auth", &["status"]),
    ("alias", &["list"]),
    ("config", &["get"]),
];

const GLAB_FINE: &[&str] = &[
    "issue",
    "label",
    "milestone",
    "incident",
    "snippet",
    "user",
    "version",
    "check-update",
    "completion",
    "help",
    "changelog",
    "iteration",
];

const TEA: &[Group] = &[
    ("releases", &["list", "ls", "assets"]),
    ("release", &["list", "ls", "assets"]),
    ("repos", &["list", "ls", "search"]),
    ("repo", &["list", "ls", "search"]),
    ("branches", &["list", "ls"]),
    ("webhooks", &["list", "ls"]),
    ("logins", &["list", "ls"]),
    ("login", &["list", "ls"]),
    ("admin", &["list", "ls"]),
    ("actions", &["list", "ls"]),
];

const TEA_FINE: &[&str] = &[
    "issues",
    "issue",
    "labels",
    "milestones",
    "comment",
    "open",
    "times",
    "notifications",
    "whoami",
    "clone",
    "organizations",
    "help",
];

/// Options that may stand before the commands themselves, with a value.
const VALUED: &[&str] = &["-R", "--repo", "--hostname", "-g", "--group", "--login", "--remote", "--output", "-o"];

pub(super) fn gh(arguments: &[Word]) -> ForgeAction {
    if helps(arguments) {
        return ForgeAction::Fine;
    }
    match verbs(arguments) {
        (Some("pr"), Some("merge")) if !has(arguments, &["--disable-auto"]) => ForgeAction::Merges(number(arguments)),
        (Some("pr"), Some("review")) => review(arguments),
        (Some("pr"), Some(_)) => ForgeAction::Fine,
        (Some("api"), _) => api("gh api", arguments),
        (Some("auth"), Some("status")) if has(arguments, &["-t", "--show-token"]) => {
            ForgeAction::Changes("gh auth status --show-token".to_owned())
        }
        verbs => grouped("gh", verbs, GH, GH_FINE, arguments),
    }
}

pub(super) fn glab(arguments: &[Word]) -> ForgeAction {
    if helps(arguments) {
        return ForgeAction::Fine;
    }
    match verbs(arguments) {
        (Some("mr"), Some("merge" | "accept")) => ForgeAction::Merges(None),
        (Some("mr"), Some("approve")) => ForgeAction::Approves,
        (Some("mr"), Some(_)) => ForgeAction::Fine,
        (Some("api"), _) => api("glab api", arguments),
        (Some("pipeline" | "pipe"), verb) => grouped("glab", (Some("ci"), verb), GLAB, GLAB_FINE, arguments),
        (Some("project"), verb) => grouped("glab", (Some("repo"), verb), GLAB, GLAB_FINE, arguments),
        verbs => grouped("glab", verbs, GLAB, GLAB_FINE, arguments),
    }
}

pub(super) fn tea(arguments: &[Word]) -> ForgeAction {
    if helps(arguments) {
        return ForgeAction::Fine;
    }
    match verbs(arguments) {
        (Some("pulls" | "pull" | "pr"), Some("merge" | "m")) => ForgeAction::Merges(None),
        (Some("pulls" | "pull" | "pr"), Some("approve" | "lgtm" | "a")) => ForgeAction::Approves,
        (Some("pulls" | "pull" | "pr"), _) => ForgeAction::Fine,
        verbs => grouped("tea", verbs, TEA, TEA_FINE, arguments),
    }
}

/// It also stands in the place of git, and is then asked for all that it could be.
pub(super) fn hub(arguments: &[Word]) -> ForgeAction {
    match verbs(arguments) {
        _ if helps(arguments) => ForgeAction::Fine,
        (Some("api"), _) => api("hub api", arguments),
        (Some("pull-request" | "issue" | "browse" | "ci-status" | "compare" | "gist" | "help" | "version"), _) => {
            ForgeAction::Fine
        }
        (Some("pr"), Some("list" | "show")) | (Some("status" | "log" | "diff" | "show"), _) => ForgeAction::Fine,
        (Some("pr"), Some("merge")) => ForgeAction::Merges(None),
        (Some(verb), _) => ForgeAction::Unknown(format!("hub {verb}")),
        (None, _) => ForgeAction::Unknown("hub".to_owned()),
    }
}

/// The pull request that `gh pr merge` names by its number.
fn number(arguments: &[Word]) -> Option<u64> {
    const WITH_VALUE: &[&str] = &[
        "-R",
        "--repo",
        "-b",
        "--body",
        "-F",
        "--body-file",
        "-t",
        "--subject",
        "-A",
        "--author-email",
        "--match-head-commit",
    ];
    match operands(arguments, WITH_VALUE)[..] {
        [_, _, named] => named.known()?.trim_start_matches('#').parse().ok(),
        _ => None,
    }
}

/// The repository that an option names: nothing where none does, nothing known where its value is not.
pub(super) fn repository(words: &[Word]) -> Option<Option<&str>> {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else { continue };
        if matches!(text, "-R" | "--repo") {
            return Some(rest.next().and_then(Word::known));
        }
        if let Some(value) = attached(text, &["-R", "--repo"]) {
            return Some(Some(value));
        }
    }
    None
}

fn grouped(
    program: &str,
    (group, verb): (Option<&str>, Option<&str>),
    groups: &[Group],
    fine: &[&str],
    arguments: &[Word],
) -> ForgeAction {
    let Some(group) = group else {
        let nothing = operands(arguments, VALUED).is_empty();
        return if nothing { ForgeAction::Fine } else { ForgeAction::Unknown(program.to_owned()) };
    };
    let known = groups.iter().find(|(name, _)| *name == group);
    match (known, verb) {
        (Some((_, reads)), Some(verb)) if reads.contains(&verb) => ForgeAction::Fine,
        // A group alone only tells what it has, unless its command is known to the run alone.
        (Some(_), None) if operands(arguments, VALUED).len() < 2 => ForgeAction::Fine,
        (Some(_), None) => ForgeAction::Unknown(format!("{program} {group}")),
        (Some(_), Some(verb)) => ForgeAction::Changes(format!("{program} {group} {verb}")),
        (None, _) if fine.contains(&group) => ForgeAction::Fine,
        // An alias or an extension.
        (None, _) => ForgeAction::Unknown(format!("{program} {group}")),
    }
}

fn verbs(arguments: &[Word]) -> (Option<&str>, Option<&str>) {
    let words = operands(arguments, VALUED);
    let at = |at: usize| words.get(at).copied().and_then(Word::known);
    (at(0), at(1))
}

fn has(arguments: &[Word], options: &[&str]) -> bool {
    arguments.iter().filter_map(Word::known).any(|word| options.contains(&word))
}

fn helps(arguments: &[Word]) -> bool {
    has(arguments, &["--help"])
}

fn review(arguments: &[Word]) -> ForgeAction {
    let bundled = |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains('a');
    let approves = |word: &Word| word.known().is_none_or(|text| text == "--approve" || bundled(text));
    let mut before = None;
    for word in arguments {
        // A body may begin with a hyphen, and is no option.
        let is_value = matches!(before, Some("-b" | "--body" | "-F" | "--body-file" | "-R" | "--repo"));
        if !is_value && approves(word) {
            return ForgeAction::Approves;
        }
        before = word.known();
    }
    ForgeAction::Fine
}

/// `gh api`, and those that are like it.
fn api(what: &str, arguments: &[Word]) -> ForgeAction {
    const FIELDS: [&str; 8] = ["-f", "-F", "--field", "--raw-field", "--form", "--input", "-d", "--data"];
    const OTHER: [&str; 10] =
        ["-H", "--header", "-q", "--jq", "-t", "--template", "--cache", "-p", "--preview", "--hostname"];
    let mut request = Request::default();
    let mut operand = 0;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else {
            if *word == Word::Spread {
                return ForgeAction::Unknown(what.to_owned());
            }
            operand += 1;
            continue;
        };
        if matches!(text, "-X" | "--method") {
            request.method = rest.next().cloned();
        } else if let Some(method) = attached(text, &["-X", "--method"]) {
            request.method = Some(Word::from(method));
        } else if FIELDS.contains(&text) {
            request.sends = true;
            // What a file has is not to be seen.
            request.body.extend(rest.next().filter(|_| text != "--input"));
        } else if attached(text, &FIELDS).is_some() {
            request.sends = true;
            request.body.push(word);
        } else if OTHER.contains(&text) {
            rest.next();
        } else if !text.starts_with('-') {
            operand += 1;
            // The first one is `api` itself.
            request.address = if operand == 2 { Some(text) } else { request.address };
        }
    }
    request.deed(what)
}

/// The value of an option that has it attached: `-XPUT`, `--method=PUT`.
pub(super) fn attached<'a>(text: &'a str, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| {
        let rest = text.strip_prefix(name)?;
        if name.starts_with("--") { rest.strip_prefix('=') } else { Some(rest).filter(|rest| !rest.is_empty()) }
    })
}
