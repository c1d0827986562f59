//! Each kind of node before each other, in a definition that leads an agent and in one that is called.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use expect_test::expect_file;

use super::run_with_restarts;
use crate::engine::tests::notation;

/// The kinds, each with the notation of a node `X` that leads to `Y`.
const KINDS: &[(&str, &str)] = &[
    ("work", "X > Y"),
    ("question", "X(ask yes,no); X -yes-> Y; X -no-> Y"),
    ("call", "X(call) > Y"),
    ("transform", "X(computes) > Y"),
    ("switch", "X(switch) > Y"),
    ("state", "X(state) > Y"),
    ("tools", "X(state uses inner) > Y"),
    ("items", "X(each inner) > Y"),
    ("loop", "var Xs array = [1,2]; X(forEach Xs as one) > Y; X -pass-> Xw; Xw > Xr(repeat X) > X"),
    ("fork", "X => Xa | Xb => Xj; Xa > Xj; Xb(call) > Xj; Xj > Y"),
    ("workflow", "X(runs inner) > Y"),
];

const INNER: &str = "where inner: start > i1 > i2(call) > ok";

fn definition(before: &str, after: &str, takes: &str) -> String {
    let (before, after) = (before.replace('X', "a").replace('Y', "b"), after.replace('X', "b").replace('Y', "done"));
    format!("{takes}start > a; {before}; {after} {INNER}")
}

#[test]
fn each_kind_stands_before_each_other() {
    let mut text = String::new();
    for (form, takes) in [("led", ""), ("called", "takes input; ")] {
        for (first, before) in KINDS {
            for (second, after) in KINDS {
                let workflow = notation::workflow(&definition(before, after, takes));
                let told = run_with_restarts(&workflow, &BTreeMap::new());
                writeln!(text, "{form}: {first}, {second}: {} → {}", told.all.join(", "), told.ended).expect("a text");
            }
        }
    }
    expect_file!["pairs.txt"].assert_eq(&text);
}
