//! The results of `failed` edges and `maxRetries`, as tables.

use expect_test::{Expect, expect};

use super::{no_library, validate};
use crate::dialect::{self, Strictness};
use crate::graph::FailureHandling;
use crate::source::Source;

/// The `failed` edges that a node may have: none, each kind alone, both in either order, and each kind twice.
const FAILED_TO: [&[&str]; 8] = [
    &[],
    &["back"],
    &["lost"],
    &["ask"],
    &["back", "lost"],
    &["lost", "back"],
    &["back", "start_over"],
    &["lost", "ask"],
];

fn failing_of(at: &str, failed_to: &[&str], max_retries: Option<u32>) -> String {
    let nodes = r#"
        "start": {"type": "start"}, "back": {"type": "task"}, "start_over": {"type": "task"},
        "split": {"type": "fork", "join": "meet"}, "branch": {"type": "task"}, "meet": {"type": "join", "fork": "split"},
        "work": {"type": "task"},
        "ask": {"type": "end", "result": "blocked", "escalation": "hitl"},
        "lost": {"type": "end", "result": "failure"}, "done": {"type": "end", "result": "success"}"#;
    let nodes = match max_retries {
        Some(count) => ["task", "join"].iter().fold(nodes.to_owned(), |nodes, word| {
            let plain = format!(r#""{at}": {{"type": "{word}""#);
            nodes.replace(&plain, &format!(r#"{plain}, "maxRetries": {count}"#))
        }),
        None => nodes.to_owned(),
    };
    let mut edges: Vec<String> = [
        ("start", "back"),
        ("start_over", "back"),
        ("back", "split"),
        ("split", "branch"),
        ("branch", "meet"),
        ("meet", "work"),
        ("work", "done"),
        ("ask", "work"),
    ]
    .map(|(from, to)| format!(r#"{{"from": "{from}", "to": "{to}"}}"#))
    .into();
    edges.extend(failed_to.iter().map(|to| format!(r#"{{"from": "{at}", "to": "{to}", "on": "failed"}}"#)));
    let text = format!(r#"{{"nodes": {{{nodes}}}, "edges": [{}]}}"#, edges.join(", "));
    let (graph, faults) = dialect::parse(&Source::new("table.json", text), Strictness::Lenient).first();
    assert!(faults.is_empty(), "{faults:?}");
    let graph = graph.unwrap();
    let (workflow, faults) = validate(&graph, &no_library, Strictness::Lenient);
    let said: Vec<&str> = faults.iter().map(|fault| fault.code).collect();
    let said = if said.is_empty() { String::new() } else { format!("   # {}", said.join(", ")) };
    match &workflow.unwrap().root().step(&at.into()).exits.failing {
        FailureHandling::Stays => "stays".to_owned(),
        FailureHandling::Ends => "ends".to_owned(),
        FailureHandling::Caught(to) => format!("is caught by {to}{said}"),
        FailureHandling::Leads(to) => format!("leads to {to}{said}"),
        FailureHandling::Retries { to, budget, exhausted } => {
            let then = exhausted.as_ref().map_or("a person".to_owned(), ToString::to_string);
            format!("{to} {budget} times, then {then}{said}")
        }
    }
}

fn table(at: &str, expected: &Expect) {
    let mut table = String::new();
    for failed_to in FAILED_TO {
        for (word, max_retries) in [("-", None), ("0", Some(0)), ("1", Some(1)), ("5", Some(5))] {
            let edges = if failed_to.is_empty() { "-".to_owned() } else { failed_to.join(" ") };
            let row = failing_of(at, failed_to, max_retries);
            table.push_str(&format!("{edges:<16} {word}  {row}\n"));
        }
    }
    expected.assert_eq(&table);
}

#[test]
fn what_failure_does_at_work() {
    table(
        "work",
        &expect![[r#"
        -                -  work 3 times, then a person
        -                0  work 0 times, then a person
        -                1  work 1 times, then a person
        -                5  work 5 times, then a person
        back             -  leads to back   # retry-loop-without-exit
        back             0  leads to back   # retry-loop-without-exit
        back             1  back 1 times, then a person
        back             5  back 5 times, then a person
        lost             -  leads to lost
        lost             0  leads to lost
        lost             1  work 1 times, then lost
        lost             5  work 5 times, then lost
        ask              -  leads to ask
        ask              0  leads to ask
        ask              1  work 1 times, then ask
        ask              5  work 5 times, then ask
        back lost        -  back 0 times, then lost   # retries-without-effect
        back lost        0  back 0 times, then lost   # retries-without-effect
        back lost        1  back 1 times, then lost
        back lost        5  back 5 times, then lost
        lost back        -  back 0 times, then lost   # retries-without-effect
        lost back        0  back 0 times, then lost   # retries-without-effect
        lost back        1  back 1 times, then lost
        lost back        5  back 5 times, then lost
        back start_over  -  leads to back   # retry-loop-without-exit, shadowed-edge
        back start_over  0  leads to back   # retry-loop-without-exit, shadowed-edge
        back start_over  1  back 1 times, then a person   # shadowed-edge
        back start_over  5  back 5 times, then a person   # shadowed-edge
        lost ask         -  leads to lost   # shadowed-edge
        lost ask         0  leads to lost   # shadowed-edge
        lost ask         1  work 1 times, then lost   # shadowed-edge
        lost ask         5  work 5 times, then lost   # shadowed-edge
    "#]],
    );
}

#[test]
fn what_failure_does_at_a_join() {
    table(
        "meet",
        &expect![[r#"
            -                -  split 0 times, then a person
            -                0  split 0 times, then a person
            -                1  split 0 times, then a person   # retries-without-effect
            -                5  split 0 times, then a person   # retries-without-effect
            back             -  leads to back   # retry-loop-without-exit
            back             0  leads to back   # retry-loop-without-exit
            back             1  back 1 times, then a person
            back             5  back 5 times, then a person
            lost             -  leads to lost
            lost             0  leads to lost
            lost             1  leads to lost   # retries-without-effect
            lost             5  leads to lost   # retries-without-effect
            ask              -  leads to ask
            ask              0  leads to ask
            ask              1  leads to ask   # retries-without-effect
            ask              5  leads to ask   # retries-without-effect
            back lost        -  back 0 times, then lost   # retries-without-effect
            back lost        0  back 0 times, then lost   # retries-without-effect
            back lost        1  back 1 times, then lost
            back lost        5  back 5 times, then lost
            lost back        -  back 0 times, then lost   # retries-without-effect
            lost back        0  back 0 times, then lost   # retries-without-effect
            lost back        1  back 1 times, then lost
            lost back        5  back 5 times, then lost
            back start_over  -  leads to back   # retry-loop-without-exit, shadowed-edge
            back start_over  0  leads to back   # retry-loop-without-exit, shadowed-edge
            back start_over  1  back 1 times, then a person   # shadowed-edge
            back start_over  5  back 5 times, then a person   # shadowed-edge
            lost ask         -  leads to lost   # shadowed-edge
            lost ask         0  leads to lost   # shadowed-edge
            lost ask         1  leads to lost   # retries-without-effect, shadowed-edge
            lost ask         5  leads to lost   # retries-without-effect, shadowed-edge
        "#]],
    );
}
