//! `no-change-on-forge`: what an agent's programs change on the forge is asked. A pull request that is merged lands on an
//! integration branch (I-2), and whether it may is for the merge gate to say; settings, secrets and releases are a
//! person's. Pull requests and issues themselves are an agent's work.

use super::act::{self, Act, Call};
use super::finding::Finding;
use crate::shell::{Command, Word};
use crate::{Decision, Tool};

mod programs;
mod web;

/// What a call does on a forge.
#[derive(Debug, PartialEq, Eq)]
enum ForgeAction {
    /// It only looks, or is an agent's work.
    Fine,
    /// A pull request is merged: the one of this number, where it is one of this repository's.
    Merges(Option<u64>),
    /// A pull request is approved.
    Approves,
    /// Branches or files of a repository are written.
    Writes(String),
    /// Something else is changed.
    Changes(String),
    /// It cannot be told.
    Unknown(String),
}

pub(super) fn look(act: &Act<'_>) -> Vec<Finding> {
    let found = |(at, call): (usize, &Call<'_>)| Some(finding(act, deed(act, call)?)?.at(at));
    act.calls.iter().enumerate().filter_map(found).collect()
}

fn deed(act: &Act<'_>, call: &Call<'_>) -> Option<ForgeAction> {
    let arguments = call.command.words.get(1..)?;
    Some(match call.command.program()? {
        "gh" => match programs::gh(arguments) {
            ForgeAction::Merges(_) => ForgeAction::Merges(merged(call.command).filter(|_| is_own(act, call.command))),
            deed => deed,
        },
        "glab" => programs::glab(arguments),
        "hub" => programs::hub(arguments),
        "tea" => programs::tea(arguments),
        program @ ("curl" | "wget" | "http" | "https" | "xh" | "xhs") => {
            let Tool::Shell { command } = act.intent.tool.deed() else { return None };
            web::deed(program, arguments, command)
        }
        _ => return None,
    })
}

/// The number of the pull request that a command merges, where it is said in plain words.
pub(super) fn merged(command: &Command) -> Option<u64> {
    let arguments = command.words.get(1..).filter(|_| command.program() == Some("gh"))?;
    match programs::gh(arguments) {
        ForgeAction::Merges(number) => number,
        _ => None,
    }
}

/// Whether a command works on the forge's repository that the project is of.
fn is_own(act: &Act<'_>, command: &Command) -> bool {
    let worktree = |folder: &str| act.place(folder).and_then(|place| place.worktree.as_deref());
    let Some(own) = worktree(&act.intent.folder) else { return false };
    let here = |folder: &Word| {
        let folder = act::absolute(&act.intent.folder, folder);
        folder.and_then(|folder| worktree(&folder)).is_some_and(|other| other.common_dir == own.common_dir)
    };
    let is_set = command.carried.iter().chain(&command.assignments).any(|set| set.name == "GH_REPO");
    !is_set
        && command.folders.iter().all(here)
        && programs::repository(&command.words).is_none_or(|named| {
            named.is_some_and(|named| own.repository.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(named)))
        })
}

fn finding(act: &Act<'_>, deed: ForgeAction) -> Option<Finding> {
    let asked = |invariant: &'static str, reason: String| {
        let decision = match (act.guidelines.strict, act.guidelines.commit_directly && invariant == "I-2") {
            (_, true) => Decision::Allow,
            (true, false) => Decision::Block,
            (false, false) => Decision::Ask,
        };
        Finding::new(decision, invariant, reason)
    };
    let person = "ask the person whom you work for to do it";
    Some(match deed {
        ForgeAction::Fine => return None,
        ForgeAction::Merges(Some(number)) if act.scene.blocked.contains_key(&number) => {
            let decision = if act.guidelines.commit_directly { Decision::Allow } else { Decision::Block };
            let why = act.scene.blocked.get(&number).map_or("", String::as_str);
            let reason =
                format!("the merge gate has blocked the pull request {number}, by its latest ruling on record: {why}");
            Finding::new(decision, "I-2", reason)
                .remedy("put that right and push it")
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
            Finding::ask(act, "", format!("it cannot be told what `{what}` does on the forge"))
        }
    })
}

/// The words that are no options and no values of `valued`.
fn operands<'a>(arguments: &'a [Word], valued: &[&str]) -> Vec<&'a Word> {
    let mut found = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.known() {
            Some(option) if valued.contains(&option) => drop(rest.next()),
            Some(option) if option.starts_with('-') && option.len() > 1 => {}
            _ => found.push(word),
        }
    }
    found
}

/// A request to the interface of a forge, as far as its words tell it.
#[derive(Default)]
struct Request<'a> {
    address: Option<&'a str>,
    method: Option<Word>,
    /// It has a body.
    sends: bool,
    /// The body, where it is told.
    body: Vec<&'a Word>,
}

impl Request<'_> {
    /// `what` is the program, for the reason.
    fn deed(&self, what: &str) -> ForgeAction {
        let address = self.address.unwrap_or_default();
        let method = match &self.method {
            None if self.sends => "POST".to_owned(),
            None => "GET".to_owned(),
            Some(word) => match word.known() {
                Some(method) => method.to_ascii_uppercase(),
                None => return ForgeAction::Unknown(what.to_owned()),
            },
        };
        if address.trim_end_matches('/').ends_with("graphql") {
            return self.graphql(what);
        }
        let path = address.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let merges = path.ends_with("/merge") && (path.contains("/pulls/") || path.contains("/merge_requests/"));
        let writes = ["/merges", "/git/refs", "/contents", "/merge-upstream", "/branches", "/repository/"];
        match method.as_str() {
            "GET" | "HEAD" | "OPTIONS" => ForgeAction::Fine,
            _ if merges => ForgeAction::Merges(None),
            _ if writes.iter().any(|part| path.contains(part)) => ForgeAction::Writes(format!("{what} {method}")),
            _ => ForgeAction::Changes(format!("{what} {method}")),
        }
    }

    fn graphql(&self, what: &str) -> ForgeAction {
        let texts: Vec<&str> = self.body.iter().filter_map(|word| word.known()).collect();
        let any = |name: &str| texts.iter().any(|text| text.contains(name));
        if any("mergePullRequest") || any("enablePullRequestAutoMerge") {
            return ForgeAction::Merges(None);
        }
        if any("createCommitOnBranch") || any("updateRef") || any("createRef") || any("deleteRef") || any("mergeBranch")
        {
            return ForgeAction::Writes(format!("{what} graphql"));
        }
        if any("mutation") {
            return ForgeAction::Changes(format!("{what} graphql"));
        }
        let hidden = texts.len() < self.body.len() || texts.iter().any(|text| text.contains("query=@"));
        if hidden || (self.sends && self.body.is_empty()) {
            ForgeAction::Unknown(what.to_owned())
        } else {
            ForgeAction::Fine
        }
    }
}
