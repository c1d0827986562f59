//! Random definitions keep the promises of the crate, strictly and leniently read.

mod definition;

use portolan_core::dialect::Strictness;
use portolan_core::source::{Source, Tree, TreeKind, offset_in, parse_json, parse_yaml};
use proptest::prelude::*;

/// A graph of a few nodes over a few ids, so that edges meet; one id is never defined.
fn graph() -> impl Strategy<Value = String> {
    let nodes = prop::collection::vec(node(), 0..8);
    let edges = prop::collection::vec(edge(), 0..16);
    (nodes, edges).prop_map(|(nodes, edges)| {
        let nodes: Vec<String> = nodes.iter().enumerate().map(|(at, node)| format!("\"n{at}\": {node}")).collect();
        format!("{{\n\"nodes\": {{{}}},\n\"edges\": [{}]\n}}", nodes.join(",\n"), edges.join(",\n"))
    })
}

fn id() -> impl Strategy<Value = String> {
    (0..9_usize).prop_map(|at| format!("n{at}"))
}

fn node() -> impl Strategy<Value = String> {
    let retries = prop_oneof![Just(String::new()), (0..3_u32).prop_map(|count| format!(r#", "maxRetries": {count}"#))];
    let outputs = prop_oneof![
        3 => Just(""),
        1 => Just(r#", "outputs": ["passed", "failed"]"#),
        1 => Just(r#", "outputs": ["ok", "passed", "ok"]"#),
        1 => Just(r#", "outputs": ["ok", "no"]"#),
        1 => Just(r#", "outputs": ["failed"]"#),
    ];
    let work = (prop_oneof![Just("task"), Just("gate")], retries.clone(), outputs)
        .prop_map(|(word, retries, outputs)| format!(r#"{{"type": "{word}"{retries}{outputs}}}"#));
    prop_oneof![
        2 => Just(r#"{"type": "start"}"#.to_owned()),
        6 => work,
        3 => Just(r#"{"type": "end", "result": "success"}"#.to_owned()),
        2 => Just(r#"{"type": "end", "result": "blocked", "escalation": "hitl"}"#.to_owned()),
        2 => id().prop_map(|join| format!(r#"{{"type": "fork", "join": "{join}"}}"#)),
        2 => (id(), retries).prop_map(|(fork, retries)| format!(r#"{{"type": "join", "fork": "{fork}"{retries}}}"#)),
        1 => prop_oneof![Just("random"), Just("elsewhere")]
            .prop_map(|name| format!(r#"{{"type": "subflow", "workflow": "{name}"}}"#)),
        1 => prop_oneof![Just("null"), Just("{}"), Just(r#"{"type": "step"}"#), Just(r#"{"type": "fork"}"#)]
            .prop_map(str::to_owned),
    ]
}

fn edge() -> impl Strategy<Value = String> {
    let on = prop_oneof![
        4 => Just(""),
        2 => Just(r#", "on": "passed""#),
        3 => Just(r#", "on": "failed""#),
        1 => Just(r#", "on": "ok""#),
        1 => Just(r#", "on": "no""#),
    ];
    (id(), id(), on).prop_map(|(from, to, on)| format!(r#"{{"from": "{from}", "to": "{to}"{on}}}"#))
}

/// A graph that is sound as a rule: a line of steps from a start to an end, with forks in it and random failures.
fn sound_graph() -> impl Strategy<Value = String> {
    prop::collection::vec((0..3_u8, prop::option::of(0..3_u32), any::<prop::sample::Index>()), 1..7).prop_map(|steps| {
        let mut nodes = vec![r#""n0": {"type": "start"}"#.to_owned()];
        let mut edges = Vec::new();
        let mut last = "n0".to_owned();
        for (at, (kind, retries, back)) in steps.iter().enumerate() {
            let (from, here) = (last, format!("n{}", at + 1));
            edges.push(format!(r#"{{"from": "{from}", "to": "{here}"}}"#));
            let count = retries.map_or(String::new(), |count| format!(r#", "maxRetries": {count}"#));
            last = here.clone();
            if *kind == 0 {
                nodes.push(format!(r#""{here}": {{"type": "fork", "join": "{here}j"}}"#));
                nodes.push(format!(r#""{here}a": {{"type": "task"}}, "{here}b": {{"type": "task"}}"#));
                nodes.push(format!(r#""{here}j": {{"type": "join", "fork": "{here}"{count}}}"#));
                for (from, to) in [("", "a"), ("", "b"), ("a", "j"), ("b", "j")] {
                    edges.push(format!(r#"{{"from": "{here}{from}", "to": "{here}{to}"}}"#));
                }
                last = format!("{here}j");
            } else {
                nodes.push(format!(r#""{here}": {{"type": "gate"{count}}}"#));
            }
            if *kind == 1 {
                let to = 1 + back.index(at + 1);
                edges.push(format!(r#"{{"from": "{last}", "to": "n{to}", "on": "failed"}}"#));
                edges.push(format!(r#"{{"from": "{last}", "to": "lost", "on": "failed"}}"#));
            }
        }
        if steps.iter().any(|(kind, ..)| *kind == 1) {
            nodes.push(r#""lost": {"type": "end", "result": "failure"}"#.to_owned());
        }
        nodes.push(r#""done": {"type": "end", "result": "success"}"#.to_owned());
        edges.push(format!(r#"{{"from": "{last}", "to": "done"}}"#));
        format!("{{\"nodes\": {{{}}}, \"edges\": [{}]}}", nodes.join(", "), edges.join(", "))
    })
}

/// Pieces of definitions in any order: near enough to JSON that much of it parses.
fn scraps() -> impl Strategy<Value = String> {
    let scrap = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"nodes\":{",
        "\"edges\":[",
        "\"a\":",
        "\"type\":\"task\"",
        "\"type\":\"fork\"",
        "\"join\":\"a\"",
        "{\"from\":\"a\",\"to\":\"b\"}",
        "\"accept\":[{\"id\":\"x\",\"run\":[\"y\"]}]",
        "null",
        "-1.5e3",
        "\"\\u0000\"",
        "\"é\"",
        "\\",
        "\"",
        "\u{feff}",
        "\u{a0}",
        "\t",
        "\"\\ud83d\\ude00\"",
        "// x\n",
        "true",
    ]);
    prop::collection::vec(scrap, 0..40).prop_map(|scraps| scraps.concat())
}

/// Pieces of YAML in any order: near enough to a text that much of it parses.
fn yaml_scraps() -> impl Strategy<Value = String> {
    let scrap = prop::sample::select(vec![
        "\n",
        "\n",
        "\n  ",
        "\n    ",
        "\n- ",
        "\n  - ",
        " ",
        "\t",
        "\r\n",
        "a: ",
        "b: ",
        "é: ",
        "1: ",
        "? ",
        ": ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "x",
        "→",
        "true",
        "12",
        "0x1f",
        ".inf",
        "~",
        "'",
        "\"",
        "\\",
        "''",
        "\\u00e9",
        "| ",
        "|-\n",
        ">\n",
        "|2\n",
        "&x ",
        "*x",
        "*x ",
        "<<: ",
        "!!str ",
        "!!int ",
        "!y ",
        "! ",
        "# c",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "@",
        "`",
        "\u{feff}",
        "\u{85}",
        "\u{2028}",
        "nodes:\n",
        "edges: []\n",
        "type: task",
        "\0",
    ]);
    prop::collection::vec(scrap, 0..40).prop_map(|scraps| scraps.concat())
}

/// Every span lies inside the one it belongs to, or is the copy of an anchor; and every text can be placed.
fn look_at_tree(source: &Source, tree: &Tree) {
    let written = source.text.get(tree.span.start..tree.span.end);
    assert!(written.is_some() && source.text.get(tree.head().start..tree.head().end).is_some(), "{tree:?}");
    match &tree.kind {
        TreeKind::String(text) => {
            for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let place = offset_in(source, tree, at);
                assert!(source.text.is_char_boundary(place), "{tree:?} at {at}");
                assert!(tree.span.start <= place && place <= tree.span.end, "{tree:?} at {at}");
                let (meant, found) = (text[at..].chars().next(), source.text[place..].chars().next());
                let exact = place > tree.span.start && meant.is_some_and(char::is_alphanumeric);
                assert!(!exact || found == meant || found == Some('\\'), "{tree:?} at {at}");
            }
        }
        TreeKind::Array(items) => items.iter().for_each(|item| look_at_tree(source, item)),
        TreeKind::Object(entries) => {
            for entry in entries {
                assert!(source.text.get(entry.key.span.start..entry.key.span.end).is_some(), "{entry:?}");
                look_at_tree(source, &entry.value);
            }
        }
        TreeKind::Null | TreeKind::Bool(_) | TreeKind::Number(_) => {}
    }
}

/// Sound graphs of tool calls, of one tool each.
const TOOL_GRAPHS: [&str; 4] = [
    include_str!("cases/check/toolgraph-sound/workflow.yaml"),
    include_str!("cases/check/toolgraph-switch-sound/workflow.yaml"),
    include_str!("cases/check/toolgraph-parallel-sound/workflow.yaml"),
    include_str!("cases/check/toolgraph-design-document/workflow.yaml"),
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_keep_the_promises(text in graph()) {
        let source = Source::new("flows/random.json", text);
        definition::read(&source, Strictness::Strict);
        definition::read(&source, Strictness::Lenient);
    }

    #[test]
    fn sound_graphs_are_accepted(text in sound_graph()) {
        let source = Source::new("flows/random.json", text);
        let (workflow, faults) = definition::read(&source, Strictness::Strict);
        let known = |code: &str| code == "retries-without-effect";
        prop_assert!(faults.iter().all(|fault| known(fault.code)), "{:?}\n{}", faults, source.text);
        prop_assert!(workflow.is_some());
    }

    #[test]
    fn strict_reading_accepts_no_more_than_lenient(text in graph()) {
        let source = Source::new("flows/random.json", text);
        let (strict, _) = definition::read(&source, Strictness::Strict);
        let (lenient, _) = definition::read(&source, Strictness::Lenient);
        prop_assert!(strict.is_none() || lenient.is_some());
    }

    #[test]
    fn arbitrary_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        definition::reads(&bytes);
    }

    #[test]
    fn arbitrary_scraps_are_read(text in scraps()) {
        definition::reads(text.as_bytes());
    }

    #[test]
    fn a_definition_cut_short_or_spoilt_is_read(text in graph(), cut in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = text.into_bytes();
        let at = cut.index(bytes.len());
        definition::reads(&bytes[..at]);
        bytes[at] = byte;
        definition::reads(&bytes);
    }

    #[test]
    fn strict_json_is_what_serde_json_takes_for_it(text in prop_oneof![scraps(), any::<String>(), graph()]) {
        let text = text.trim_start_matches('\u{feff}');
        let ours = parse_json(&Source::new("any.json", text)).is_ok();
        let theirs = serde_json::from_str::<serde_json::Value>(text).is_ok();
        prop_assert_eq!(ours, theirs, "{:?}", text);
    }

    #[test]
    fn any_yaml_is_read_with_its_places(text in prop_oneof![4 => yaml_scraps(), 1 => any::<String>()]) {
        let source = Source::new("flows/any.yaml", text);
        if let (Some(tree), _) = parse_yaml(&source) {
            look_at_tree(&source, &tree);
        }
        definition::reads(source.text.as_bytes());
    }

    #[test]
    fn json_is_the_same_value_as_yaml(text in graph()) {
        let json = parse_json(&Source::new("a.json", &text)).expect("it is JSON");
        let (yaml, faults) = parse_yaml(&Source::new("a.yaml", &text));
        prop_assert_eq!(faults, vec![]);
        prop_assert_eq!(yaml.expect("it is YAML").value(), json.value());
    }

    #[test]
    fn a_tool_graph_cut_short_or_spoilt_is_read(
        which in prop::sample::select(TOOL_GRAPHS.to_vec()), cut in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut bytes = which.as_bytes().to_vec();
        let at = cut.index(bytes.len());
        definition::reads(&bytes[..at]);
        bytes[at] = byte;
        definition::reads(&bytes);
    }

    #[test]
    fn a_tool_graph_with_a_line_out_of_place_is_read(
        which in prop::sample::select(TOOL_GRAPHS.to_vec()), from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(), indent in 0..12_usize,
    ) {
        let mut lines: Vec<String> = which.lines().map(str::to_owned).collect();
        let line = lines.remove(from.index(lines.len()));
        lines.insert(to.index(lines.len()), format!("{}{}", " ".repeat(indent), line.trim_start()));
        definition::reads(lines.join("\n").as_bytes());
    }
}

/// A file of several graphs, of which only one has faults: the other comes out, and the file is refused all the same.
#[test]
fn a_tool_graph_beside_a_faulty_one_is_read() {
    let (head, tool) = TOOL_GRAPHS[0].split_once("  - name: ").expect("a tool");
    definition::reads(format!("{head}  - id: which\n  - name: {tool}").as_bytes());
}
