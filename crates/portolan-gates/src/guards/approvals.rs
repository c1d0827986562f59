//! `protect-approvals`: an agent does not approve its own work. A command by which only a person may allow, answer or
//! raise something is not run through the agent's shell.

use super::finding::Finding;
use super::judged_call::{CommandCall, JudgedCall};
use crate::bypass;
use crate::guidelines::{self, Who};
use crate::shell::Word;

pub(super) fn look(judged: &JudgedCall<'_>) -> Vec<Finding> {
    let found = |(at, call): (usize, &CommandCall<'_>)| Some(finding(judged, call)?.at(at).firm());
    judged.calls.iter().enumerate().filter_map(found).collect()
}

fn finding(judged: &JudgedCall<'_>, call: &CommandCall<'_>) -> Option<Finding> {
    if call.command.program()? != "portolan" {
        return None;
    }
    let arguments = &call.command.words[1..];
    let words: Vec<&Word> = operands(arguments);
    let text = |at: usize| words.get(at).copied().and_then(Word::known);
    let has = |option: &str| arguments.iter().any(|word| word.known() == Some(option));
    match (text(0), text(1)) {
        // A word that is known only at run time may be any of these.
        (None, _) if !words.is_empty() => {
            Some(Finding::ask(judged, "", "it is unclear what `portolan` is asked to do"))
        }
        (Some("trust"), _) if has("--list") && words.len() == 1 => None,
        // These commands record events in the name of git and the host.
        (Some("guard" | "hook"), _) if has("--help") || has("-h") => None,
        (Some("guard" | "hook"), _) => Some(of_hooks()),
        (Some("trust" | "approve"), _) => Some(for_a_person("allows what the project's files ask for")),
        (Some("gate"), Some("accept" | "allow" | "refuse")) => Some(for_a_person("decides about tools and calls")),
        (Some("install"), _) if has("--uninstall") => Some(for_a_person("removes the gates")),
        // An installation pins the present state of the files.
        (Some("install"), _) => Some(for_a_person("records what the gates rely on")),
        (Some("people"), Some("passkey")) if has("--list") && words.len() == 2 => None,
        (Some("people"), Some("passphrase" | "passkey")) => Some(for_a_person("sets how a person is identified")),
        (Some("flow"), Some("override")) => overriding(judged, arguments),
        (Some("flow"), Some("attach")) => {
            Some(for_a_person("chooses the steps that determine which tools may be used"))
        }
        (Some("supervisor"), Some("budget"))
            if words[2..].iter().any(|word| word.known().is_none_or(|w| w == "raise")) =>
        {
            kept(judged, "I-15", "raises a budget")
        }
        (Some("budget"), Some("raise")) => kept(judged, "I-15", "raises a budget"),
        (Some("runs"), Some("answer")) | (Some("supervisor"), Some("reply")) => answering(judged, &words[2..]),
        // What it takes over counts as the decisions of persons and checks.
        (Some("store"), Some("import")) => Some(for_a_person("puts runs into the store")),
        (Some("runs"), Some("prune")) if has("--dry-run") => None,
        (Some("runs"), Some("prune")) => Some(for_a_person("deletes runs")),
        (Some("flow" | "budget" | "runs" | "store" | "supervisor"), None) if words.len() > 1 => {
            Some(Finding::ask(judged, "", "it is unclear what `portolan` is asked to do"))
        }
        _ => None,
    }
}

/// Returns the words that are neither options nor values of these global options. The options of subcommands have their
/// values after `=`, or come later.
fn operands(arguments: &[Word]) -> Vec<&Word> {
    const VALUED: [&str; 5] = ["--project", "--format", "--store", "--data", "-C"];
    let mut found = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.known() {
            Some(option) if VALUED.contains(&option) => drop(rest.next()),
            Some(option) if option.starts_with('-') => {}
            _ => found.push(word),
        }
    }
    found
}

fn for_a_person(what: &str) -> Finding {
    Finding::block("", format!("this command {what}; only a person is allowed to run it"))
        .remedy("ask the person whom you work for to run it in their own terminal")
}

fn of_hooks() -> Finding {
    Finding::block("", "only git and the agent's host run this command: it records what they have seen")
        .remedy("leave it to them: the hooks run it")
}

/// Judges an override. The rule may be anywhere among the options; one that only a person may bypass is enough.
fn overriding(judged: &JudgedCall<'_>, arguments: &[Word]) -> Option<Finding> {
    let kept_from = |rule: &str| bypass::who(rule, rule, judged.guidelines) != Who::Anyone;
    let known =
        arguments.iter().filter_map(Word::known).map(|word| word.split_once('=').map_or(word, |(_, rule)| rule));
    let rules = guidelines::known();
    if known.into_iter().any(|word| rules.contains(&word) && kept_from(word)) {
        return Some(for_a_person("bypasses a rule that only a person is allowed to bypass"));
    }
    if arguments.iter().any(|word| word.known().is_none()) && rules.iter().any(|rule| kept_from(rule)) {
        return Some(Finding::ask(judged, "", "it is unclear which rule this command bypasses"));
    }
    Some(Finding::allow("", "anyone is allowed to bypass this rule here, on record"))
}

fn kept(judged: &JudgedCall<'_>, invariant: &str, what: &str) -> Option<Finding> {
    match bypass::who(invariant, invariant, judged.guidelines) {
        Who::Anyone => Some(Finding::allow("", format!("anyone is allowed to bypass {invariant} here, on record"))),
        Who::HumanOnly | Who::Never => Some(for_a_person(what)),
    }
}

/// Judges an answer to a question that only a person may answer.
fn answering(judged: &JudgedCall<'_>, words: &[&Word]) -> Option<Finding> {
    let questions = &judged.scene.human_questions;
    if words.iter().any(|word| word.known().is_some_and(|word| questions.contains(word))) {
        return Some(for_a_person("answers a question that is addressed to a person"));
    }
    let invocation = words.first().is_some_and(|word| word.known().is_some());
    if questions.is_empty() || invocation {
        return Some(Finding::allow("", "the question is not one that only a person is allowed to answer"));
    }
    Some(Finding::ask(judged, "", "it is unclear which question this command answers"))
}
