//! The engine under random workflows and random events: against a reference that knows as little as possible, and
//! against what must hold for every agent, obedient or not.

mod activities;
mod adversary;
mod agents;
mod agreement;
mod arrival;
mod catalogue;
mod closure;
mod deep;
mod draw;
mod generate;
mod graphs;
mod mutations;
mod original;
mod picture;
mod promises;
mod proof;
mod reference;
mod walk;

use generate::Files;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// Words that somebody might report, whether or not a node has them.
const WORDS: &[&str] = &[
    "passed",
    "failed",
    "cancelled",
    "skipped",
    "changes",
    "rework",
    "redo",
    "done",
    "maybe",
    "",
    "Passed",
    "constructor",
];

#[test]
fn many_random_workflows_are_valid() {
    let valid = |files: &dyn Fn(&mut TestRunner) -> Files| {
        let mut runner = TestRunner::deterministic();
        (0..100).filter(|_| walk::workflow(&files(&mut runner).0).is_some()).count()
    };
    let drawn = |strategy: &dyn Fn(&mut TestRunner) -> Files| valid(strategy);
    let navigator = drawn(&|runner| current(&generate::files(), runner));
    let activities = drawn(&|runner| current(&activities::files(), runner));
    let phases = drawn(&|runner| current(&activities::phases(), runner));
    assert!(
        navigator > 40 && activities > 20 && phases > 66,
        "{navigator}, {activities} and {phases} of 100 are valid"
    );
}

/// One of what a strategy draws.
fn current<S: Strategy<Value = Files>>(strategy: &S, runner: &mut TestRunner) -> Files {
    strategy.new_tree(runner).expect("the generator rejects nothing").current()
}
