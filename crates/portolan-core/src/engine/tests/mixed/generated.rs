//! Random definitions of all kinds of node: the engine agrees with the reference, whatever the order of the answers.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::reference::{self, Block, Program};
use super::{Told, World, run_with_restarts};
use crate::engine::tests::notation;

fn leaf() -> BoxedStrategy<Block> {
    prop_oneof![
        Just(Block::Work),
        Just(Block::Ask),
        (0..2_u32, any::<bool>()).prop_map(|(fails, caught)| Block::Call { fails, caught }),
        Just(Block::Compute),
        Just(Block::Switch),
        Just(Block::State),
        (0..2_usize).prop_map(Block::Tools),
        (0..2_usize).prop_map(Block::Each),
        (0..2_usize).prop_map(Block::Run),
    ]
    .boxed()
}

fn sequence(block: BoxedStrategy<Block>, most: usize) -> impl Strategy<Value = Vec<Block>> {
    prop::collection::vec(block, 1..most)
}

/// The blocks of workflows that others run: nothing in them fails.
fn inner() -> impl Strategy<Value = Vec<Block>> {
    let leaf = prop_oneof![
        Just(Block::Work),
        Just(Block::Ask),
        Just(Block::Call { fails: 0, caught: false }),
        Just(Block::Compute),
        Just(Block::State),
    ];
    sequence(leaf.boxed(), 4)
}

fn program() -> impl Strategy<Value = Program> {
    let looping = |block: BoxedStrategy<Block>| {
        block.prop_recursive(2, 8, 3, |block| sequence(block.boxed(), 3).prop_map(Block::Loop)).boxed()
    };
    let branches = |block: BoxedStrategy<Block>, most| prop::collection::vec(sequence(block, most), 2..4);
    let forked = branches(leaf(), 2).prop_map(Block::Fork);
    let branch = prop_oneof![8 => looping(leaf()), 1 => forked].boxed();
    let block = looping(prop_oneof![6 => leaf(), 1 => branches(branch, 3).prop_map(Block::Fork)].boxed());
    let flow = || (inner(), any::<bool>());
    (sequence(block.boxed(), 5), any::<bool>(), [flow(), flow()])
        .prop_map(|(blocks, called, inner)| Program { blocks, called, inner: inner.to_vec() })
        .prop_filter("more actions than are worth their time", |program| actions(program) <= 150)
}

/// Returns how many actions a definition has. Loops in loops and forks multiply them: without a bound, one definition
/// of some ten thousand takes more events than `World::run` allows, and minutes.
fn actions(program: &Program) -> usize {
    reference::run(program).done.values().map(Vec::len).sum()
}

/// Runs the definition with its answers in another order.
fn shuffled(workflow: &crate::graph::Workflow, failures: &BTreeMap<String, u32>, mut chance: u64) -> Told {
    let mut pick = |count: usize| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(chance >> 33).unwrap_or(0) % count
    };
    World { workflow, failures: failures.clone() }.run(&mut pick, |run, _| run)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_does_what_the_reference_says(program in program(), chance in any::<u64>()) {
        let text = reference::text(&program);
        let workflow = notation::workflow(&text);
        let failures = reference::failures(&program);
        let expected = reference::run(&program);
        let (told, other) = (run_with_restarts(&workflow, &failures), shuffled(&workflow, &failures, chance));
        prop_assert_eq!(&told.ended, &expected.ended, "{}", text);
        if expected.ended.starts_with("success") {
            prop_assert_eq!(&told.done, &expected.done, "{}", text);
            prop_assert_eq!(&other, &Told { all: other.all.clone(), ..told }, "{}", text);
        } else {
            // The order decides which of several branches fails first, and what the others have done by then.
            let place = |ended: &str| ended.split(':').next().map(str::to_owned);
            prop_assert_eq!(place(&other.ended), place(&expected.ended), "{}", text);
        }
    }
}
