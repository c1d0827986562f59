//! `commit-must-reference-issue` (I-8), if the command shows the message. Otherwise the hook that git runs with the
//! message decides.

use super::finding::Finding;
use super::judged_call::{self, CheckedOut, JudgedCall};
use crate::shell::git::{Action, CommitCall, Invocation, Message};
use crate::tracked::Tracked;

const RULE: &str = "I-8";

pub(super) fn look(judged: &JudgedCall<'_>) -> Vec<Finding> {
    if !judged.guidelines.commits.require_reference {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (at, _, invocation) in judged.git() {
        let Action::Commit(commit) = &invocation.action else { continue };
        if !commit.dry_run && !judged.grounds(at, invocation).iter().all(|ground| ground.on == [CheckedOut::Outside]) {
            found.push(finding(judged, invocation, commit).at(at));
        }
    }
    found
}

fn finding(judged: &JudgedCall<'_>, invocation: &Invocation, commit: &CommitCall) -> Finding {
    let Some(text) = message(judged, invocation, commit) else {
        return Finding::allow(RULE, "the message is not to be seen yet; it is looked at when git has it");
    };
    let generated = ["fixup! ", "squash! ", "amend! ", "Revert \""];
    if judged.guidelines.commits.ignore_generated && generated.iter().any(|start| text.starts_with(start)) {
        return Finding::allow(RULE, "the message is one that git writes by itself");
    }
    let flow = judged.scene.flow.as_ref();
    let (number, key) = (flow.and_then(|flow| flow.issue), flow.and_then(|flow| flow.issue_key.as_deref()));
    let own = judged.grounds_repository(invocation);
    let tracked = Tracked::new(number, key, own.as_deref(), judged.guidelines);
    match tracked.fault(&text) {
        Some(fault) => Finding::block(RULE, fault.reason).remedy(fault.help).remedy("then commit again"),
        None => Finding::allow(RULE, format!("the message names `{}`", tracked.written())),
    }
}

/// Returns the whole message, if all of it is known.
fn message(judged: &JudgedCall<'_>, invocation: &Invocation, commit: &CommitCall) -> Option<String> {
    let part = |message: &Message| match message {
        Message::Text(word) => word.known().map(str::to_owned),
        Message::Stdin(word) => word.as_ref().and_then(|word| word.known()).map(str::to_owned),
        Message::File(file) => {
            let folders = judged_call::folders(&judged.intent.folder, invocation);
            let [Some(folder)] = &folders[..] else { return None };
            judged.scene.messages.get(&judged_call::absolute(folder, file)?).cloned()
        }
        Message::Elsewhere => None,
    };
    let parts: Option<Vec<String>> = commit.message.iter().map(part).collect();
    parts.filter(|parts| !parts.is_empty()).map(|parts| parts.join("\n\n"))
}
