//! Definitions of activities after an operation: the lines that it changes.

mod adding;
mod carrying;
mod files;
mod leading;
mod naming;

use expect_test::Expect;
use serde_json::Value;

use crate::dialect::editing::edit;
use crate::dialect::{self, Strictness};
use crate::source::{Piece, Source};

const TODAY: &str = "id: a\nversion: 1.0.0\ntitle: A\ninitialActivity: read\nvariables:\n  - { name: urgent, type: boolean, default: false }\nactivities:\n  # First.\n  - id: read\n    steps:\n      - { id: skim, kind: step, when: urgent } # once\n      - id: sure\n        kind: checkpoint\n        message: Is it?\n        options:\n          - { id: yes, label: Yes }\n          - { id: no, label: No, effect: { transitionTo: file } }\n      - technique: some::digest\n        kind: technique\n    transitions:\n      - { to: write, when: urgent } # now\n      - to: file\n  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: file }] }\n  - id: file\n";

const FIRST: &str = "id: b\nversion: 1.0.0\nname: B\nvariables: [{ name: them, type: array, default: [] }]\nactivities:\n  - id: try\n    steps:\n      - id: make\n      - id: use # it\n      - id: count\n    loops:\n      - { id: each, type: forEach, over: them, steps: [make, use] }\n    checkpoints:\n      - { id: good, message: Good?, after: count, options: [{ id: yes, label: Yes, effect: { skipActivities: [tell] } }] }\n    transitions: [{ to: tell }]\n  - id: tell\n";

fn source(files: &[(&str, &str)]) -> Source {
    let piece = |(name, text): &(&str, &str)| Piece { name: (*name).to_owned(), text: Ok((*text).to_owned()) };
    let main = Source::new(files[0].0, files[0].1);
    match &files[1..] {
        [] => main,
        others => main.joined(others.iter().map(piece).collect(), Vec::new()),
    }
}

/// Checks the lines that an operation adds and removes.
fn check_in(files: &[(&str, &str)], operation: Value, expected: Expect) {
    let source = source(files);
    let graph = dialect::parse(&source, Strictness::Strict).first().0.expect("it can be drawn");
    let operation = serde_json::from_value(operation).expect("an operation");
    let mut told = String::new();
    match edit(&super::super::DIALECT, &source, &graph, &operation) {
        Ok(edited) => {
            let before = |nth: usize| files.get(nth).map_or("", |(_, text)| *text);
            for (nth, (name, after)) in edited.files.iter().enumerate() {
                let (before, after) = (before(nth), after.as_deref());
                if nth >= files.len() {
                    told += "new ";
                }
                let Some(after) = after else {
                    told += &format!("{name} is gone\n");
                    continue;
                };
                if before == after {
                    continue;
                }
                let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
                let same = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
                let rest = before.len().min(after.len()) - same;
                let end = before.iter().rev().zip(after.iter().rev()).take(rest);
                let end = end.take_while(|(one, other)| one == other).count();
                told += &format!("{name}:{}\n", same + 1);
                before[same..before.len() - end].iter().for_each(|line| told += &format!("-{line}\n"));
                after[same..after.len() - end].iter().for_each(|line| told += &format!("+{line}\n"));
            }
            told += &edited.select.map_or(String::new(), |select| format!("at {select}\n"));
        }
        Err(refused) => told = format!("{}\nhelp: {}\n", refused.message, refused.help),
    }
    expected.assert_eq(&told);
}

fn check(operation: Value, expected: Expect) {
    check_in(&[("a.yaml", TODAY)], operation, expected);
}

fn check_first(operation: Value, expected: Expect) {
    check_in(&[("b.yaml", FIRST)], operation, expected);
}
