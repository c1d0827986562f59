//! The largest definitions that are read, in the shapes that cost the most. None of them may take the square of its
//! size: each of these would then run for minutes. An unoptimised build reads a tenth of them.

mod definition;

use portolan_core::dialect::Strictness;
use portolan_core::source::{MAX_SOURCE_BYTES, Source};

const PART: usize = if cfg!(debug_assertions) { 10 } else { 1 };
const NODES: usize = 10_000 / PART;
const EDGES: usize = 50_000 / PART;

struct Large {
    nodes: Vec<String>,
    edges: Vec<String>,
}

impl Large {
    /// A start, `count` tasks in a line, and an end.
    fn line(count: usize) -> Large {
        let mut large = Large { nodes: Vec::new(), edges: Vec::new() };
        large.node("s", r#""type":"start""#);
        for at in 0..count {
            large.node(&format!("t{at}"), r#""type":"task""#);
            large.edge(&if at == 0 { "s".to_owned() } else { format!("t{}", at - 1) }, &format!("t{at}"), "");
        }
        large.node("e", r#""type":"end","result":"success""#);
        large.edge(&format!("t{}", count - 1), "e", "");
        large
    }

    fn node(&mut self, id: &str, fields: &str) {
        self.nodes.push(format!("\"{id}\":{{{fields}}}"));
    }

    fn edge(&mut self, from: &str, to: &str, on: &str) {
        let on = if on.is_empty() { String::new() } else { format!(",\"on\":\"{on}\"") };
        self.edges.push(format!("{{\"from\":\"{from}\",\"to\":\"{to}\"{on}}}"));
    }

    /// The codes that it is reported with, strictly read, each with how often.
    fn codes(self) -> Vec<(&'static str, usize)> {
        let text = format!("{{\"nodes\":{{{}}},\"edges\":[{}]}}", self.nodes.join(","), self.edges.join(","));
        codes(text)
    }
}

fn codes(text: String) -> Vec<(&'static str, usize)> {
    assert!(text.len() <= MAX_SOURCE_BYTES, "{} bytes are not read", text.len());
    definition::reads(text.as_bytes());
    let (_, faults) = definition::read(&Source::new("large.json", text), Strictness::Strict);
    let mut codes = std::collections::BTreeMap::new();
    for fault in faults {
        *codes.entry(fault.code).or_insert(0) += 1;
    }
    codes.into_iter().collect()
}

#[test]
fn a_line_with_every_edge_that_is_allowed() {
    let mut large = Large::line(NODES - 3);
    large.node("lost", r#""type":"end","result":"failure""#);
    for at in 0..NODES - 3 {
        large.edge(&format!("t{at}"), "lost", "failed");
    }
    assert_eq!(large.codes(), []);
}

#[test]
fn every_task_fails_back_to_the_first() {
    let mut large = Large::line(NODES - 2);
    for at in 0..NODES - 2 {
        large.edge(&format!("t{at}"), "t0", "failed");
    }
    assert_eq!(large.codes(), [("retry-loop-without-exit", NODES - 2)]);
}

#[test]
fn every_edge_leads_to_another_unknown_node() {
    let mut large = Large::line(NODES - 2);
    for at in large.edges.len()..EDGES {
        large.edge("t0", &format!("node_{at}"), &format!("o{at}"));
    }
    assert_eq!(large.codes(), [("unknown-node", EDGES - NODES + 1)]);
}

#[test]
fn one_task_with_all_the_edges() {
    let mut large = Large::line(1);
    for at in large.edges.len()..EDGES {
        large.edge("t0", "e", &format!("o{at}"));
    }
    assert_eq!(large.codes(), [("edge-for-no-output", EDGES - 2)]);
}

#[test]
fn one_question_with_all_the_answers() {
    let mut large = Large::line(1);
    large.node("ask", r#""type":"end","result":"blocked","escalation":"hitl""#);
    large.edge("t0", "ask", "failed");
    for at in large.edges.len()..EDGES {
        large.edge("ask", "e", &format!("o{at}"));
    }
    assert_eq!(large.codes(), []);
}

#[test]
fn one_task_with_the_same_edge_again_and_again() {
    let mut large = Large::line(1);
    for _ in large.edges.len()..EDGES {
        large.edge("t0", "e", "");
    }
    assert_eq!(large.codes(), [("shadowed-edge", EDGES - 2)]);
}

#[test]
fn half_of_the_nodes_are_branches_into_the_other_half() {
    let mut large = Large::line(NODES / 2 - 4);
    large.edges.truncate(NODES / 2 - 4);
    large.edges.remove(0);
    large.node("f", r#""type":"fork","join":"j""#);
    large.node("j", r#""type":"join","fork":"f""#);
    large.edge("s", "f", "");
    large.edge(&format!("t{}", NODES / 2 - 5), "j", "");
    large.edge("j", "e", "");
    for at in 0..NODES / 2 {
        large.node(&format!("b{at}"), r#""type":"task""#);
        large.edge("f", &format!("b{at}"), "");
        large.edge(&format!("b{at}"), "t0", "");
    }
    assert_eq!(large.codes(), [("branches-meet", 1)]);
}

#[test]
fn a_thousand_forks_share_a_long_branch() {
    let mut large = Large::line(NODES / 2);
    for at in 0..NODES / 10 {
        large.node(&format!("f{at}"), &format!(r#""type":"fork","join":"j{at}""#));
        large.node(&format!("j{at}"), &format!(r#""type":"join","fork":"f{at}""#));
        large.edge(&format!("t{at}"), &format!("f{at}"), &format!("go{at}"));
        large.edge(&format!("f{at}"), "t0", "");
        large.edge(&format!("j{at}"), "e", "");
    }
    let codes = large.codes();
    assert!(codes.contains(&("branch-misses-join", NODES / 10)), "{codes:?}");
}

#[test]
fn a_fork_lists_very_many_branches() {
    let mut large = Large::line(1);
    let branches: Vec<String> = (0..EDGES).map(|at| format!(r#""b{at}":{{"entryStep":"a{at}"}}"#)).collect();
    large.node("f", &format!(r#""type":"fork","join":"j","branches":{{{}}}"#, branches.join(",")));
    large.node("j", r#""type":"join","fork":"f""#);
    for at in large.edges.len()..EDGES {
        large.edge("f", &format!("x{at}"), "");
    }
    let codes = large.codes();
    assert!(codes.contains(&("unknown-node", 2 * EDGES - 2)), "{codes:?}");
}

#[test]
fn a_node_has_very_many_fields() {
    let fields: Vec<String> = (0..4 * EDGES).map(|at| format!(r#""x{at}":0"#)).collect();
    let text = format!(r#"{{"nodes":{{"s":{{"type":"start",{}}}}},"edges":[]}}"#, fields.join(","));
    assert!(codes(text).contains(&("unknown-field", 4 * EDGES)));
}

#[test]
fn ids_are_as_long_as_they_may_be() {
    let id = |at: usize| format!("{at:0>200}");
    let mut large = Large::line(1);
    for at in 0..8_000 / PART {
        large.node(&id(at), r#""type":"task""#);
    }
    for at in 0..4_000 / PART {
        large.edge("t0", &id(10_000 + at), "failed");
    }
    let codes = large.codes();
    assert!(codes.contains(&("unknown-node", 4_000 / PART)), "{codes:?}");
}

/// A file of tool graphs: how the nodes of its only tool stand, and with which codes it is reported.
fn tool_codes(nodes: &[String]) -> Vec<(&'static str, usize)> {
    let tool = format!(
        "{{\"name\":\"t\",\"description\":\"d\",\"inputSchema\":{{\"type\":\"object\"}},\"outputSchema\":{{}},\"nodes\":[{}]}}",
        nodes.join(",\n")
    );
    codes(format!("{{\"version\":\"1\",\"server\":{{\"name\":\"n\",\"version\":\"1\"}},\"tools\":[{tool}]}}"))
}

fn computed(at: usize, expr: &str, next: &str) -> String {
    format!(r#"{{"id":"n{at}","type":"transform","transform":{{"expr":"{expr}"}},"next":"{next}"}}"#)
}

fn ends(first: &str) -> [String; 2] {
    [format!(r#"{{"id":"entry","type":"entry","next":"{first}"}}"#), r#"{"id":"exit","type":"exit"}"#.to_owned()]
}

#[test]
fn every_expression_asks_for_another_unknown_node() {
    let count = NODES - 2;
    let line = (0..count).map(|at| {
        let next = if at + 1 == count { "exit".to_owned() } else { format!("n{}", at + 1) };
        computed(at, &format!("$.x{at}.a & $.y{at}-z{at} & $.n{at}"), &next)
    });
    let nodes: Vec<String> = ends("n0").into_iter().chain(line).collect();
    assert_eq!(tool_codes(&nodes), [("unknown-name", 3 * count)]);
}

#[test]
fn a_tool_has_more_nodes_than_are_read() {
    let nodes: Vec<String> = (0..12_000).map(|at| format!(r#"{{"id":"n{at}"}}"#)).collect();
    assert_eq!(tool_codes(&nodes), [("too-large", 1)]);
}

#[test]
fn a_switch_leads_everywhere() {
    let count = 1_000 / PART;
    let conditions: Vec<String> =
        (0..count).map(|at| format!(r#"{{"rule":{{"==":[{{"var":"entry.a"}},{at}]}},"next":"n{at}"}}"#)).collect();
    let switch = format!(r#"{{"id":"s","type":"switch","conditions":[{}],"next":"n0"}}"#, conditions.join(","));
    let nodes: Vec<String> =
        ends("s").into_iter().chain([switch]).chain((0..count).map(|at| computed(at, "1", "exit"))).collect();
    assert_eq!(tool_codes(&nodes), []);
}

#[test]
fn arguments_nest_as_deep_as_they_may() {
    let args = format!("{}1{}", r#"{"a":["#.repeat(150), "]}".repeat(150));
    let call = format!(r#"{{"id":"c","type":"mcp","server":"echo","tool":"t","args":{args},"next":"exit"}}"#);
    let nodes: Vec<String> = ends("c").into_iter().chain([call]).collect();
    assert_eq!(tool_codes(&nodes), []);
}

#[test]
fn very_many_tools_share_very_many_nodes() {
    let tools: Vec<String> = (0..1_000)
        .map(|at| {
            format!(
                r#"{{"name":"t{at}","description":"d","inputSchema":{{"type":"object"}},"outputSchema":{{}},"entryNode":"entry"}}"#
            )
        })
        .collect();
    let line = (0..5_000)
        .map(|at| computed(at, "1", if at == 4_999 { "exit".to_owned() } else { format!("n{}", at + 1) }.as_str()));
    let nodes: Vec<String> = ends("n0").into_iter().chain(line).collect();
    let text = format!(
        r#"{{"version":"1","server":{{"name":"n","version":"1"}},"tools":[{}],"nodes":[{}]}}"#,
        tools.join(","),
        nodes.join(",")
    );
    assert_eq!(codes(text), [("too-large", 1)]);
}
