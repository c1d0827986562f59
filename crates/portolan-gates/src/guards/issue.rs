//! `commit-must-reference-issue` (I-8), as far as the message is to be seen in the command. Where it is not, the hook that
//! git runs with the message decides.

use super::act::{self, Act, On};
use super::finding::Finding;
use crate::shell::git::{Action, CommitCall, Invocation, Message};
use crate::tracked::Tracked;

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

fn finding(act: &Act<'_>, told: &Invocation, commit: &CommitCall) -> Finding {
    let Some(text) = message(act, told, commit) else {
        return Finding::allow(RULE, "the message is not to be seen yet; it is looked at when git has it");
    };
    let generated = ["fixup! ", "squash! ", "amend! ", "Revert \""];
    if act.guidelines.commits.ignore_generated && generated.iter().any(|start| text.starts_with(start)) {
        return Finding::allow(RULE, "the message is one that git writes by itself");
    }
    let flow = act.scene.flow.as_ref();
    let (number, key) = (flow.and_then(|flow| flow.issue), flow.and_then(|flow| flow.issue_key.as_deref()));
    let own = act.grounds_repository(told);
    let tracked = Tracked::new(number, key, own.as_deref(), act.guidelines);
    match tracked.fault(&text) {
        Some(fault) => Finding::block(RULE, fault.reason).remedy(fault.help).remedy("then commit again"),
        None => Finding::allow(RULE, format!("the message names `{}`", tracked.written())),
    }
}

/// The whole message, where all of it is known.
fn message(act: &Act<'_>, told: &Invocation, commit: &CommitCall) -> Option<String> {
    let part = |message: &Message| match message {
        Message::Text(word) => word.known().map(str::to_owned),
        Message::Stdin(word) => word.as_ref().and_then(|word| word.known()).map(str::to_owned),
        Message::File(file) => {
            let folders = act::folders(&act.intent.folder, told);
            let [Some(folder)] = &folders[..] else { return None };
            act.scene.messages.get(&act::absolute(folder, file)?).cloned()
        }
        Message::Elsewhere => None,
    };
    let parts: Option<Vec<String>> = commit.message.iter().map(part).collect();
    parts.filter(|parts| !parts.is_empty()).map(|parts| parts.join("\n\n"))
}
