//! `typecheck-must-pass-before-commit` (I-6): the content that is committed has passed the type check. No option of
//! `git commit` is an exemption.

use super::act::{Act, On};
use super::finding::Finding;
use super::scene::Verdict;
use crate::shell::git::Action;

const RULE: &str = "I-6";

pub(super) fn look(act: &Act<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (at, _, told) in act.git() {
        let commits = matches!(&told.action, Action::Commit(commit) if !commit.dry_run);
        if commits && !act.grounds(at, told).iter().all(|ground| ground.on == [On::Outside]) {
            found.push(verdict(act).at(at));
        }
    }
    found
}

fn verdict(act: &Act<'_>) -> Finding {
    let run = "portolan qa typecheck";
    match &act.scene.typecheck {
        Verdict::Passed => Finding::allow(RULE, "the present content passed the type check"),
        Verdict::NotConfigured => Finding::allow(RULE, "no type checker is configured"),
        Verdict::Failed(why) => Finding::block(RULE, format!("the type check failed: {why}"))
            .remedy("put right what it says")
            .remedy(run)
            .remedy("then commit again"),
        Verdict::Unknown => Finding::block(RULE, "nobody ran the type check on the present content")
            .remedy(run)
            .remedy("then commit again"),
    }
}
