//! `protect-approvals`: an agent does not approve its own work. A command by which only a person may allow, answer or
//! raise something is not run through the agent's shell.

use super::finding::Finding;
use super::judged_call::{CommandCall, JudgedCall};
use crate::bypass;
use crate::guidelines::{self, Who};
use crate::shell::{self, Word};

pub(super) fn look(judged: &JudgedCall<'_>) -> Vec<Finding> {
    let found = |(at, call): (usize, &CommandCall<'_>)| Some(finding(judged, call)?.at(at).firm());
    judged.calls.iter().enumerate().filter_map(found).collect()
}

/// The commands that only a person may run: their groups, their names (`*` means all), and what they do.
const PERSONS: [(&str, &str, &str); 7] = [
    ("trust approve", "*", "allows what the project's files ask for"),
    ("gate", "accept allow refuse", "decides about tools and calls"),
    // An installation pins the present state of the files.
    ("install", "*", "records what the gates rely on, or removes them"),
    ("people", "passphrase passkey", "sets how a person is identified"),
    ("flow", "attach", "chooses the steps that determine which tools may be used"),
    // What it takes over counts as the decisions of persons and checks.
    ("store", "import", "puts runs into the store"),
    ("runs", "prune", "deletes runs"),
];

fn finding(judged: &JudgedCall<'_>, call: &CommandCall<'_>) -> Option<Finding> {
    if call.command.program()? != "portolan" {
        return None;
    }
    let arguments = &call.command.words[1..];
    let words: Vec<&Word> = operands(arguments);
    let text = |at: usize| words.get(at).copied().and_then(Word::known);
    let has = |option: &str| arguments.iter().any(|word| word.known() == Some(option));
    let unclear = || Some(Finding::ask(judged, "", "it is unclear what `portolan` is asked to do"));
    let Some(group) = text(0) else { return if words.is_empty() { None } else { unclear() } };
    let verb = text(1);
    let lists = (group == "trust" && words.len() == 1) || (group == "people" && words.len() == 2);
    let shows = (lists && has("--list")) || (group == "runs" && has("--dry-run"));
    let is_one = |(groups, verbs, _): &&(&str, &str, &str)| {
        shell::lists(groups, group) && (*verbs == "*" || verb.is_some_and(|verb| shell::lists(verbs, verb)))
    };
    let raises = |word: &&Word| word.known().is_none_or(|word| word == "raise");
    match (group, verb) {
        // These commands record events in the name of git and the host.
        ("guard" | "hook", _) => (!has("--help") && !has("-h")).then(of_hooks),
        ("flow", Some("override")) => overriding(judged, arguments),
        ("supervisor", Some("budget")) if words[2..].iter().any(raises) => kept(judged, "I-15", "raises a budget"),
        ("budget", Some("raise")) => kept(judged, "I-15", "raises a budget"),
        ("runs", Some("answer")) | ("supervisor", Some("reply")) => answering(judged, &words[2..]),
        // A word that is known only at run time may be any of these.
        (_, None) if words.len() > 1 && !matches!(group, "trust" | "approve" | "install") => unclear(),
        _ => PERSONS.iter().find(is_one).filter(|_| !shows).map(|(_, _, what)| for_a_person(what)),
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
