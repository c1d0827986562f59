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
    /// Something else is changed.
    Changes(String),
    /// The effect cannot be determined.
    Unknown(String),
}

/// Command groups of `gh`, `glab`, `tea` and `hub` that are an agent's work, or only read.
const WORK: &str = "attestation browse changelog check-update ci-status comment compare completion copilot diff gist help incident issue \
    issues iteration label labels licenses log milestone milestones mr notifications open org organizations pr pull pull-request \
    pulls ruleset search show snippet status times user version whoami";

/// The groups that a person decides about, and those of their commands that only read.
const KEPT: &str = "admin alias actions auth branches cache ci codespace config deploy-key extension gpg-key job logins login pipe pipeline \
    project release releases repo repos run schedule secret ssh-key token variable webhooks workflow clone";
const READING: &str = "artifact assets browse cancel clone contributors download get gitignore license lint list ls read-dir read-file rerun \
    search set-default status trace verify verify-asset view watch";

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
    let direct = judged.guidelines.commit_directly;
    let decision = if judged.guidelines.strict { Decision::Block } else { Decision::Ask };
    Some(match deed {
        ForgeAction::Fine => return None,
        ForgeAction::Merges(_) if direct => Finding::allow("I-2", "work here is merged without a review"),
        ForgeAction::Merges(Some(number)) if judged.scene.blocked.contains_key(&number) => {
            let why = judged.scene.blocked.get(&number).map_or("", String::as_str);
            let reason = format!("the merge gate blocked pull request {number} in its latest recorded ruling: {why}");
            Finding::block("I-2", reason)
                .remedy("fix that and push it")
                .remedy(format!("portolan merge-gate --base origin/main --head HEAD --pr {number}"))
        }
        ForgeAction::Merges(_) => Finding::new(
            decision,
            "I-2",
            "this would merge a pull request, which is for the merge gate and a person to say",
        )
        .remedy("portolan merge-gate --base origin/main --head HEAD --pr <number>")
        .remedy("then ask the person whom you work for to merge it"),
        ForgeAction::Changes(what) => Finding::new(decision, "", format!("`{what}` changes something on the forge"))
            .remedy("ask the person whom you work for to do it"),
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
    let (Some(group), verb) = (at(0), at(1)) else {
        return if words.is_empty() { ForgeAction::Fine } else { ForgeAction::Unknown(program.to_owned()) };
    };
    let changes = || ForgeAction::Changes(format!("{program} {group} {}", verb.unwrap_or("?")));
    match verb {
        _ if has("--help") => ForgeAction::Fine,
        Some("merge" | "accept" | "m") if shell::lists(WORK, group) => match has("--disable-auto") {
            true => ForgeAction::Fine,
            false => ForgeAction::Merges(number(arguments).filter(|_| program == "gh")),
        },
        Some("approve" | "lgtm" | "a") => changes(),
        Some("review") if approves(arguments) => changes(),
        Some("status") if has("-t --show-token") => changes(),
        verb if group == "api" => request(&format!("{program} api"), verb, arguments),
        // A group alone only lists its contents, unless its command is known only at run time.
        None if words.len() > 1 => ForgeAction::Unknown(format!("{program} {group}")),
        _ if shell::lists(WORK, group) => ForgeAction::Fine,
        None if shell::lists(KEPT, group) => ForgeAction::Fine,
        Some(verb) if shell::lists(KEPT, group) && shell::lists(READING, verb) => ForgeAction::Fine,
        Some(_) if shell::lists(KEPT, group) => changes(),
        // An alias or an extension. `hub` also replaces git.
        _ => ForgeAction::Unknown(format!("{program} {group}")),
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

/// Checks whether a review may approve.
fn approves(arguments: &[Word]) -> bool {
    let approves = |word: &Word| word.known().is_none_or(|text| text == "--approve" || is_short(text, 'a'));
    // A body may begin with a hyphen without being an option.
    let mut before = arguments.iter();
    let is_value = |before: Option<&Word>| {
        before.and_then(Word::known).is_some_and(|option| shell::lists("-b --body -F --body-file -R --repo", option))
    };
    let first = arguments.first().is_some_and(approves);
    first || arguments.iter().skip(1).any(|word| !is_value(before.next()) && approves(word))
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

/// Returns the effect of a request. It only reads if it names no other method and sends nothing, or is a known query.
fn request(what: &str, address: Option<&str>, arguments: &[Word]) -> ForgeAction {
    const METHODS: [&str; 4] = ["POST", "PUT", "PATCH", "DELETE"];
    let texts: Vec<&str> = arguments.iter().filter_map(Word::known).collect();
    let any = |parts: &[&str]| texts.iter().any(|text| parts.iter().any(|part| text.contains(part)));
    // As a word of its own, or at the end of an option: `-XPUT`.
    let named = |method: &str| {
        let is = |text: &&str| text == &method || (text.starts_with('-') && text.ends_with(method));
        texts.iter().any(|text| is(&text.to_ascii_uppercase().as_str()))
    };
    let is_sent = |text: &&str| match what {
        "curl" => {
            ["--data", "--json", "--form", "--upload"].iter().any(|long| text.starts_with(long))
                || ['d', 'F', 'T'].iter().any(|letter| is_short(text, *letter))
        }
        "wget" => text.starts_with("--post") || text.starts_with("--body"),
        "http" | "https" | "xh" | "xhs" => text.contains('=') && !text.contains("==") && !text.contains("://"),
        _ => {
            ["-f", "-F", "-d", "--field", "--raw", "--form", "--input", "--data"].iter().any(|it| text.starts_with(it))
        }
    };
    let gets = named("GET") || (what == "curl" && texts.iter().any(|text| is_short(text, 'G')));
    let of_method = |pair: &[Word]| pair[0].known().is_some_and(|text| shell::lists("-X --method --request", text));
    let unknown = arguments.windows(2).any(|pair| of_method(pair) && pair[1].known().is_none());
    let query = address.is_some_and(|address| address.split('?').next().unwrap_or_default().ends_with("graphql"));
    let hidden = texts.len() < arguments.len() || any(&["=@", "--input"]) || texts.iter().any(|it| it.starts_with('@'));
    match METHODS.iter().any(|method| named(method)) {
        false if unknown || arguments.iter().any(Word::is_several) => ForgeAction::Unknown(what.to_owned()),
        false if gets || !texts.iter().any(is_sent) => ForgeAction::Fine,
        false if query && !any(&["mutation"]) && !hidden => ForgeAction::Fine,
        _ => ForgeAction::Changes(what.to_owned()),
    }
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
