//! The engine under random workflows and random events: against a reference that knows as little as possible, and
//! against what must hold for every agent, obedient or not.

mod agents;
mod agreement;
mod catalogue;
mod closure;
mod deep;
mod generate;
mod original;
mod picture;
mod reference;
mod walk;

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
    let mut runner = TestRunner::deterministic();
    let mut valid = 0;
    for _ in 0..300 {
        let files = generate::files().new_tree(&mut runner).expect("the generator rejects nothing").current();
        valid += u32::from(walk::workflow(&files.0).is_some());
    }
    assert!(valid > 120, "{valid} of 300 are valid");
}
