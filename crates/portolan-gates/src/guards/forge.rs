//! `no-change-on-forge`: changes that an agent's programs make on the forge are asked about. A merged pull request
//! lands on an integration branch (I-2), and the merge gate decides whether it may. Settings, secrets and releases
//! belong to a person. Pull requests and issues themselves are an agent's work.

use super::finding::Finding;
use super::judged_call::{self, CommandCall, JudgedCall};
use crate::shell::{self, Command, Word};
use crate::{Decision, Tool};

/// The effect of a call on a forge.
#[derive(Debug, PartialEq, Eq)]
enum ForgeAction {
    /// It only reads, or is an agent's work.
    Fine,
    /// A pull request is merged. The number is known if it belongs to this repository.
    Merges(Option<u64>),
    /// A pull request is approved.
    Approves,
    /// Branches or files of a repository are written.
    Writes(String),
    /// Something else is changed.
    Changes(String),
    /// The effect cannot be determined.
    Unknown(String),
}

/// The command groups of `gh`, `glab`, `tea` and `hub`, with the commands of each that change nothing that counts (`*`
/// means all). The others are asked about.
const GROUPS: &[(&str, &str, &str)] = &[
    (
        "gh",
        "issue search status browse org attestation completion help version ruleset label gist project copilot licenses pr",
        "*",
    ),
    ("gh", "repo", "list view clone set-default gitignore license read-dir read-file"),
    ("gh", "release", "list ls view download verify verify-asset"),
    ("gh", "run", "list ls view watch download rerun cancel"),
    ("gh", "auth", "status"),
    ("gh", "variable config", "list ls get"),
    ("gh", "extension", "list ls search browse"),
    ("gh", "workflow secret ssh-key gpg-key alias codespace cache", "list ls view"),
    (
        "glab",
        "issue label milestone incident snippet user version check-update completion help changelog iteration mr",
        "*",
    ),
    ("glab", "repo project", "list view clone search contributors archive"),
    ("glab", "release", "list view download"),
    ("glab", "ci pipeline pipe", "list view status get trace lint artifact"),
    ("glab", "auth", "status"),
    ("glab", "job variable ssh-key deploy-key schedule token alias config", "list get artifact"),
    (
        "tea",
        "issues issue labels milestones comment open times notifications whoami clone organizations help pulls pull pr",
        "*",
    ),
    ("tea", "releases release repos repo branches webhooks logins login admin actions", "list ls search assets"),
    ("hub", "pull-request issue browse ci-status compare gist help version status log diff show", "*"),
    ("hub", "pr", "list show"),
];

/// Options with a value that may come before the commands.
const VALUED: &str = "-R --repo --hostname -g --group --login --remote --output -o";

pub(super) fn look(judged: &JudgedCall<'_>) -> Vec<Finding> {
    let found = |(at, call): (usize, &CommandCall<'_>)| Some(finding(judged, deed(judged, call)?)?.at(at));
    judged.calls.iter().enumerate().filter_map(found).collect()
}

fn deed(judged: &JudgedCall<'_>, call: &CommandCall<'_>) -> Option<ForgeAction> {
    let arguments = call.command.words.get(1..)?;
    Some(match call.command.program()? {
        program @ ("gh" | "glab" | "hub" | "tea") => match grouped(program, arguments) {
            ForgeAction::Merges(number) => ForgeAction::Merges(number.filter(|_| is_own(judged, call.command))),
            deed => deed,
        },
        program @ ("curl" | "wget" | "http" | "https" | "xh" | "xhs") => {
            let Tool::Shell { command } = judged.intent.tool.deed() else { return None };
            web(program, arguments, command)
        }
        _ => return None,
    })
}

/// Returns the number of the pull request that a command merges, if the text contains it.
pub(super) fn merged(command: &Command) -> Option<u64> {
    let arguments = command.words.get(1..).filter(|_| command.program() == Some("gh"))?;
    match grouped("gh", arguments) {
        ForgeAction::Merges(number) => number,
        _ => None,
    }
}

/// Checks whether a command works on the project's repository on the forge.
fn is_own(judged: &JudgedCall<'_>, command: &Command) -> bool {
    let worktree = |folder: &str| judged.place(folder).and_then(|place| place.worktree.as_deref());
    let Some(own) = worktree(&judged.intent.folder) else { return false };
    let here = |folder: &Word| {
        let folder = judged_call::absolute(&judged.intent.folder, folder);
        folder.and_then(|folder| worktree(&folder)).is_some_and(|other| other.common_dir == own.common_dir)
    };
    let is_set = command.carried.iter().chain(&command.assignments).any(|set| set.name == "GH_REPO");
    let named = value(&command.words, "-R --repo");
    let is_own = |named: &str| own.repository.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(named));
    !is_set && command.folders.iter().all(here) && named.is_none_or(|named| named.known().is_some_and(is_own))
}

fn finding(judged: &JudgedCall<'_>, deed: ForgeAction) -> Option<Finding> {
    let asked = |invariant: &'static str, reason: String| {
        let decision = match (judged.guidelines.strict, judged.guidelines.commit_directly && invariant == "I-2") {
            (_, true) => Decision::Allow,
            (true, false) => Decision::Block,
            (false, false) => Decision::Ask,
        };
        Finding::new(decision, invariant, reason)
    };
    let person = "ask the person whom you work for to do it";
    Some(match deed {
        ForgeAction::Fine => return None,
        ForgeAction::Merges(Some(number)) if judged.scene.blocked.contains_key(&number) => {
            let decision = if judged.guidelines.commit_directly { Decision::Allow } else { Decision::Block };
            let why = judged.scene.blocked.get(&number).map_or("", String::as_str);
            let reason = format!("the merge gate blocked pull request {number} in its latest recorded ruling: {why}");
            Finding::new(decision, "I-2", reason)
                .remedy("fix that and push it")
                .remedy(format!("portolan merge-gate --base origin/main --head HEAD --pr {number}"))
        }
        ForgeAction::Merges(_) => {
            let reason = "this would merge a pull request, which is for the merge gate and a person to say";
            asked("I-2", reason.to_owned())
                .remedy("portolan merge-gate --base origin/main --head HEAD --pr <number>")
                .remedy("then ask the person whom you work for to merge it")
        }
        ForgeAction::Approves => {
            asked("", "this would approve a pull request, which counts as a person's review".to_owned()).remedy(person)
        }
        ForgeAction::Writes(what) => {
            asked("I-2", format!("`{what}` writes branches or files of a repository on its forge")).remedy(person)
        }
        ForgeAction::Changes(what) => asked("", format!("`{what}` changes something on the forge")).remedy(person),
        ForgeAction::Unknown(what) => {
            Finding::ask(judged, "", format!("it is unclear what `{what}` does on the forge"))
        }
    })
}

/// Returns the effect of a command of a forge's own program.
fn grouped(program: &str, arguments: &[Word]) -> ForgeAction {
    let has = |options: &str| arguments.iter().filter_map(Word::known).any(|word| shell::lists(options, word));
    let words = operands(arguments, VALUED);
    let at = |at: usize| words.get(at).copied().and_then(Word::known);
    let (group, verb) = match (at(0), at(1)) {
        _ if has("--help") || words.is_empty() => return ForgeAction::Fine,
        (Some(group), verb) => (group, verb),
        (None, _) => return ForgeAction::Unknown(program.to_owned()),
    };
    match (group, verb) {
        ("pr" | "mr" | "pulls" | "pull", Some("merge" | "accept" | "m")) if !has("--disable-auto") => {
            return ForgeAction::Merges(number(arguments).filter(|_| program == "gh"));
        }
        ("mr" | "pulls" | "pull" | "pr", Some("approve" | "lgtm" | "a")) => return ForgeAction::Approves,
        ("pr", Some("review")) if program == "gh" => return review(arguments),
        ("api", _) => return request(&format!("{program} api"), at(1), arguments),
        ("auth", Some("status")) if has("-t --show-token") => {
            return ForgeAction::Changes(format!("{program} auth status --show-token"));
        }
        _ => {}
    }
    let known = GROUPS.iter().find(|(of, groups, _)| *of == program && shell::lists(groups, group));
    match (known, verb) {
        (Some((_, _, "*")), Some(_)) => ForgeAction::Fine,
        (Some((_, _, reads)), Some(verb)) if shell::lists(reads, verb) => ForgeAction::Fine,
        // A group alone only lists its contents, unless its command is known only at run time.
        (Some(_), None) if words.len() < 2 => ForgeAction::Fine,
        (Some(_), Some(verb)) => ForgeAction::Changes(format!("{program} {group} {verb}")),
        // An alias or an extension. `hub` also replaces git.
        (Some(_) | None, _) => ForgeAction::Unknown(format!("{program} {group}")),
    }
}

/// Returns the number of the pull request that `gh pr merge` names.
fn number(arguments: &[Word]) -> Option<u64> {
    let valued = "-R --repo -b --body -F --body-file -t --subject -A --author-email --match-head-commit";
    match operands(arguments, valued)[..] {
        [_, _, named] => named.known()?.trim_start_matches('#').parse().ok(),
        _ => None,
    }
}

fn review(arguments: &[Word]) -> ForgeAction {
    let bundled = |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains('a');
    let approves = |word: &Word| word.known().is_none_or(|text| text == "--approve" || bundled(text));
    let mut before = "";
    for word in arguments {
        // A body may begin with a hyphen without being an option.
        if !shell::lists("-b --body -F --body-file -R --repo", before) && approves(word) {
            return ForgeAction::Approves;
        }
        before = word.known().unwrap_or_default();
    }
    ForgeAction::Fine
}

/// Parts of the addresses of forge interfaces.
const FORGES: &str = "api.github.com uploads.github.com /api/graphql /api/v3/ /api/v4/ api.bitbucket.org /api/v1/repos";

/// Returns the effect of an HTTP client on a forge. `whole` is the text that contains the call.
fn web(program: &str, arguments: &[Word], whole: &str) -> ForgeAction {
    let is_forge = |text: &str| FORGES.split_ascii_whitespace().any(|forge| text.to_ascii_lowercase().contains(forge));
    let address = arguments.iter().filter_map(Word::known).find(|text| is_forge(text) && !text.starts_with('-'));
    // An address with a variable in it is unknown, but the text may still name a forge.
    let hidden = arguments.iter().any(|word| word.known().is_none()) && is_forge(whole);
    let config = |word: &Word| word.known().is_some_and(|text| text.starts_with("--config") || is_short(text, 'K'));
    match address {
        None if !hidden => ForgeAction::Fine,
        // A file contains the rest.
        _ if program == "curl" && arguments.iter().any(config) => ForgeAction::Unknown(program.to_owned()),
        address => request(program, address, arguments),
    }
}

fn is_short(text: &str, letter: char) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
}

/// Returns the effect of a request. It only reads if it sends nothing, or if it is a known query.
fn request(what: &str, address: Option<&str>, arguments: &[Word]) -> ForgeAction {
    let unknown = ForgeAction::Unknown(what.to_owned());
    let texts: Vec<&str> = arguments.iter().filter_map(Word::known).collect();
    let any = |names: &[&str]| texts.iter().any(|text| names.iter().any(|name| text.contains(name)));
    let Some(method) = method(what, arguments).filter(|_| !arguments.iter().any(Word::is_several)) else {
        return unknown;
    };
    let path = address.unwrap_or_default().split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    if path.ends_with("graphql") {
        let hidden =
            texts.len() < arguments.len() || any(&["=@", "--input"]) || texts.iter().any(|text| text.starts_with('@'));
        return match () {
            () if any(&["mergePullRequest", "enablePullRequestAutoMerge"]) => ForgeAction::Merges(None),
            () if any(&["createCommitOnBranch", "updateRef", "createRef", "deleteRef", "mergeBranch"]) => {
                ForgeAction::Writes(format!("{what} graphql"))
            }
            () if any(&["mutation"]) => ForgeAction::Changes(format!("{what} graphql")),
            () if hidden => unknown,
            () => ForgeAction::Fine,
        };
    }
    let merges = path.ends_with("/merge") && (path.contains("/pulls/") || path.contains("/merge_requests/"));
    let writes = ["/merges", "/git/refs", "/contents", "/merge-upstream", "/branches", "/repository/"];
    match method.as_str() {
        "GET" | "HEAD" | "OPTIONS" => ForgeAction::Fine,
        _ if merges => ForgeAction::Merges(None),
        _ if writes.iter().any(|part| path.contains(part)) => ForgeAction::Writes(format!("{what} {method}")),
        _ => ForgeAction::Changes(format!("{what} {method}")),
    }
}

/// Returns the method of a request: the given one, or the one implied by sent data. Returns `None` if it is unknown.
fn method(what: &str, arguments: &[Word]) -> Option<String> {
    const METHODS: &str = "GET HEAD POST PUT PATCH DELETE";
    let (named, sending) = match what {
        "curl" => ("-X --request", "-d -F -T --data --json --form --upload-file"),
        "wget" => ("--method", "--post --body"),
        "http" | "https" | "xh" | "xhs" => ("", ""),
        _ => ("-X --method", "-f -F -d --field --raw-field --form --input --data"),
    };
    if let Some(method) = value(arguments, named) {
        return method.known().map(str::to_ascii_uppercase);
    }
    let texts = || arguments.iter().filter_map(Word::known);
    if let Some(method) = texts().find(|text| named.is_empty() && shell::lists(METHODS, text)) {
        return Some(method.to_owned());
    }
    let bundled = |text: &str, letter: char| what == "curl" && is_short(text, letter);
    if let Some(bundle) = texts().find(|text| bundled(text, 'X')) {
        let rest = bundle.rsplit('X').next().unwrap_or_default();
        let next = texts().skip_while(|text| *text != bundle).nth(1).unwrap_or_default();
        return Some(if rest.is_empty() { next } else { rest }.to_ascii_uppercase());
    }
    let is_sent = |text: &str| {
        let option = |option: &str| match option.strip_prefix("--") {
            Some(_) => text.starts_with(option),
            None => text.starts_with(option) || bundled(text, option.chars().nth(1).unwrap_or_default()),
        };
        let field = named.is_empty()
            && !text.starts_with('-')
            && text.contains('=')
            && !text.contains("==")
            && !text.contains("://");
        field || sending.split_ascii_whitespace().any(option)
    };
    let gets = what == "curl" && texts().any(|text| text == "--get" || is_short(text, 'G'));
    Some(if texts().any(is_sent) && !gets { "POST" } else { "GET" }.to_owned())
}

/// Returns the words that are neither options nor values of `valued`.
fn operands<'a>(arguments: &'a [Word], valued: &str) -> Vec<&'a Word> {
    let mut found = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.known() {
            Some(option) if shell::lists(valued, option) => drop(rest.next()),
            Some(option) if option.starts_with('-') && option.len() > 1 => {}
            _ => found.push(word),
        }
    }
    found
}

/// Returns the value of one of these options, separate or attached.
fn value(arguments: &[Word], options: &str) -> Option<Word> {
    for (at, word) in arguments.iter().enumerate() {
        let Some(text) = word.known() else { continue };
        if shell::lists(options, text) {
            return Some(arguments.get(at + 1).cloned().unwrap_or(Word::Dynamic));
        }
        let attached = |option: &str| match text.strip_prefix(option)? {
            rest if option.starts_with("--") => rest.strip_prefix('='),
            rest => Some(rest.trim_start_matches('=')),
        };
        if let Some(value) = options.split_ascii_whitespace().find_map(attached) {
            return Some(Word::from(value));
        }
    }
    None
}
