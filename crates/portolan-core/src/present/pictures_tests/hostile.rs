//! Checks that no text of an author can break a picture.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::dialect::{self, Strictness};
use crate::graph::{Node, Workflow};
use crate::present::{check_words, diagram_markdown, dot, mermaid, outline, picture};
use crate::source::Source;
use crate::validate;

fn read(name: &str, text: &str) -> Option<Workflow> {
    let (graph, _) = dialect::parse(&Source::new(name, text), Strictness::Lenient).first();
    validate::validate(&graph?, &|_| None, Strictness::Lenient).0
}

/// Makes a chain of a task and a gate with the same words as identifiers, names and other texts.
fn chain(ids: [&str; 4], text: &str) -> Option<Workflow> {
    let [start, task, gate, end] = ids;
    let mut nodes = serde_json::Map::new();
    let work = |kind: &str| json!({ "type": kind, "name": text, "description": text, "instructions": text, "agent": text, "emoji": text, "stage": text, "maxRetries": 2 });
    nodes.insert(start.to_owned(), json!({ "type": "start", "name": text }));
    nodes.insert(task.to_owned(), work("task"));
    nodes.insert(gate.to_owned(), work("gate"));
    nodes.insert(end.to_owned(), json!({ "type": "end", "result": "success", "name": text, "description": text }));
    let edges = json!([
        { "from": start, "to": task, "label": text },
        { "from": task, "to": gate, "label": text },
        { "from": gate, "to": task, "on": "failed", "label": text },
        { "from": gate, "to": end, "on": "passed" },
    ]);
    let file = json!({ "id": "hostile", "name": text, "description": text, "nodes": nodes, "edges": edges });
    (nodes_of(&file) == 4).then(|| read("hostile.json", &file.to_string())).flatten()
}

fn nodes_of(file: &Value) -> usize {
    file["nodes"].as_object().map_or(0, |nodes| nodes.len())
}

/// Returns the contents that a parser must find in the chart.
fn meant(workflow: &Workflow) -> Value {
    let flow = workflow.root();
    let text = |node: &Node| {
        let sign = check_words::sign_of(node).map(|sign| format!("{sign} ")).unwrap_or_default();
        format!("{sign}{}{}", picture::label(node), picture::small_print(node))
    };
    let nodes = flow.steps.values().map(|step| text(&step.node));
    let nodes: Vec<String> = nodes.chain(check_words::legend(flow).map(str::to_owned)).collect();
    let lines = picture::lines(flow).into_iter();
    let edges: Vec<Value> = lines
        .map(|line| {
            json!([flow.steps.get_index_of(line.from), flow.steps.get_index_of(line.to), line.text.unwrap_or_default()])
        })
        .collect();
    json!({ "nodes": nodes, "edges": edges, "described": check_words::sentences(flow).unwrap_or_default() })
}

const RESERVED: &str = "
    end End END class graph subgraph style click default direction flowchart linkStyle classDef interpolate call
    href accTitle accDescr _self _blank _parent _top TB TD LR RL BT BR v o x o1 xx ox foo fox endpoint
    end_success classes styled constructor prototype __proto__ toString hasOwnProperty valueOf root parent
    undefined null NaN true flowchart-elk swimlane-beta sequenceDiagram pie id section title start n_end
";

const TEXTS: &[&str] = &[
    "",
    " ",
    "\"",
    "\"\"",
    "'",
    "`",
    "```",
    "``` mermaid",
    "\"`**bold**`\"",
    "`code`",
    "~~~",
    "#",
    "##",
    "#quot;",
    "#35;",
    "&quot;",
    "&amp;",
    "&",
    "&#35;",
    "#;",
    ";",
    ";;",
    "a;b",
    "%",
    "%%",
    "%%%",
    "%% comment",
    "%%{init: {\"theme\":\"dark\"}}%%",
    "50%",
    "$",
    "$$x^2$$",
    "(",
    ")",
    "((",
    "))",
    "()",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "{{",
    "}}",
    "([x])",
    "[/x/]",
    "[\\x\\]",
    ">x]",
    "<",
    ">",
    "<b>bold</b>",
    "<br/>",
    "<script>alert(1)</script>",
    "<!-- x",
    "</small>",
    "<small>",
    "Vec<T>",
    "a < b > c",
    "|",
    "||",
    "a|b",
    "\\|",
    "\\",
    "\\\\",
    "a\\",
    "\\n",
    "C:\\new\\table",
    "a\nb",
    "a\r\nb",
    "\n\n",
    "\t",
    "a\u{b}b",
    "\u{1b}[31mred\u{1b}[0m",
    "\u{2028}",
    "\u{feff}",
    "a\u{a0}b",
    "-->",
    "--",
    "---",
    "-.->",
    "==>",
    "~~~",
    "a --> b",
    "-- text -->",
    "--x",
    "--o",
    "x--x",
    "<-->",
    "-->|yes| b",
    ":::",
    ":::warn",
    ":",
    "a: b",
    "style a fill:#f00;",
    "style:#ff0000;",
    "restyle:x#35;",
    "classDef a fill:#fff;",
    "class a b",
    "click a \"http://x\"",
    "click a call x()",
    "subgraph a",
    "end",
    "graph TD",
    "flowchart LR",
    "direction LR",
    "the direction TB is",
    "direction\u{feff}LR",
    "direction\nRL",
    "Direction LR",
    "a@b",
    "a@{ shape: x }",
    "@{",
    "x@",
    "me@example.org",
    "fa:fa-car",
    "https://example.org/?a=1&b=2#c",
    "*",
    "**bold**",
    "_it_",
    "__init__",
    "1. first",
    "- item",
    "> quote",
    "# heading",
    "=",
    "===",
    "+",
    "[x]: y",
    "[x](y)",
    "![x](y)",
    "---\ntitle: x\n---",
    "accTitle: x",
    "accDescr { x }",
    "é",
    "ß",
    "日本語のラベル",
    "العربية",
    "עברית",
    "😀",
    "👩‍👩‍👧‍👦",
    "🇩🇪",
    "e\u{301}",
    "\u{202e}abc",
    "\u{200b}",
    "ﬂ°°35¶ß",
    "ﬂ°quot¶ß",
    "ﬂ",
    "¶ß",
    "°",
    "true",
    "null",
    "constructor",
    "__proto__",
    "${x}",
    "{{x}}",
    "<%= x %>",
    "^",
    "v",
    "/",
    "/x/",
    "\\x",
    "!",
    "?",
    ",",
    "a,b",
    ".",
    "...",
    "~",
    "a very long label that goes on and on until somebody cuts it off at the fortieth character",
    "\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"",
];

/// Returns every chart for the test with Mermaid's own parser: see `tests/mermaid/check.mjs`.
fn charts() -> Vec<(String, Workflow)> {
    let long = "long".repeat(40);
    let words = RESERVED.split_whitespace().chain(TEXTS.iter().copied()).chain([long.as_str()]);
    let mut charts: Vec<(String, Workflow)> = Vec::new();
    for (count, word) in words.enumerate() {
        let near = format!("{word}_");
        let far = format!("x{word}y");
        let as_ids = chain(["start", word, &near, &far], word);
        let as_edges = chain([word, "n_end", "end", &near], "label");
        let as_text = chain(["start", "task", "gate", "finish"], word);
        let built = [("ids", as_ids), ("edges", as_edges), ("text", as_text)];
        charts.extend(built.into_iter().filter_map(|(what, built)| Some((format!("{count}-{what}"), built?))));
    }
    charts
        .extend(chain(["start", "my_direction", "LR_tests", "end"], "x").map(|built| ("direction".to_owned(), built)));
    charts.extend(catalogue());
    charts
}

#[expect(clippy::disallowed_methods, reason = "the catalogue is the best test of what people write")]
fn catalogue() -> Vec<(String, Workflow)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../portolan-runtime/catalog/workflows");
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let text = |path: &Path| std::fs::read_to_string(path).unwrap();
    let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    paths.iter().map(|path| (stem(path), read(path.to_str().unwrap(), &text(path)).unwrap())).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "hands the charts to Mermaid's own parser")]
fn charts_are_sound() {
    let charts = charts();
    assert!(charts.len() > 300, "only {} charts", charts.len());
    let folder = std::env::var("PORTOLAN_CHARTS").ok();
    for (name, workflow) in charts {
        assert_sound(&workflow);
        let Some(folder) = &folder else { continue };
        let path = |kind: &str| Path::new(folder).join(format!("{name}.{kind}"));
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(path("mmd"), mermaid(&workflow, None)).unwrap();
        std::fs::write(path("json"), meant(&workflow).to_string()).unwrap();
        std::fs::write(path("dot"), dot(&workflow)).unwrap();
        std::fs::write(path("md"), diagram_markdown(&workflow, None)).unwrap();
        std::fs::write(path("txt"), outline(&workflow)).unwrap();
    }
}

/// Asserts that no text of the definition has left its place in any picture.
fn assert_sound(workflow: &Workflow) {
    let flow = workflow.root();
    let edges = picture::lines(flow).len();
    let chart = mermaid(workflow, Some(&flow.start));
    assert_chart(&chart, flow.steps.len(), edges);
    assert_markdown(&diagram_markdown(workflow, None));
    assert_dot(&dot(workflow), flow.steps.len(), edges);
    let text = outline(workflow);
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
}

fn assert_chart(chart: &str, nodes: usize, edges: usize) {
    let parts: Vec<&str> = chart.split("\n\n").collect();
    let [first, second, _] = parts[..] else { panic!("{chart}") };
    assert_eq!(first.lines().count(), nodes + 1, "{chart}");
    assert_eq!(second.lines().count(), edges, "{chart}");
    let mut names = BTreeSet::new();
    for line in first.lines().skip(1) {
        let (name, rest) = line.trim_start().split_once(['(', '[', '{']).unwrap();
        assert!(is_plain(name) && names.insert(name), "{chart}");
        assert_eq!(rest.matches('"').count(), 2, "{line}");
    }
    for line in second.lines() {
        let (from, rest) = line.trim_start().split_once(" -->").unwrap();
        let to = match rest.strip_prefix("|\"") {
            Some(rest) => rest.split_once("\"| ").unwrap().1,
            None => rest.trim_start(),
        };
        assert!(names.contains(from) && names.contains(to), "{line}");
    }
    assert!(
        !chart.contains(['`', '\\'])
            && !chart.contains("%%")
            && !chart.contains("direction L")
            && !chart.contains("direction\n"),
        "{chart}"
    );
}

fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn assert_markdown(page: &str) {
    assert_eq!(page.lines().filter(|line| line.starts_with("```")).count(), 2, "{page}");
    assert_eq!(page.lines().filter(|line| line.starts_with('#')).count(), 3, "{page}");
    let (_, table) = page.split_once("\n### Step Instructions\n\n").unwrap();
    for line in table.lines() {
        let escapes = line.replace("\\\\", "").matches("\\|").count();
        assert_eq!(line.matches('|').count() - escapes, 6, "{line}");
    }
}

fn assert_dot(graph: &str, nodes: usize, edges: usize) {
    let mut bare = String::new();
    let mut quoted = false;
    let mut chars = graph.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if quoted => drop(chars.next()),
            '"' => quoted = !quoted,
            _ if !quoted => bare.push(c),
            _ => {}
        }
    }
    assert!(!quoted, "{graph}");
    assert_eq!(bare.matches("->").count(), edges, "{bare}");
    assert_eq!(bare.lines().filter(|line| line.trim_start().starts_with("[label=")).count(), nodes, "{bare}");
}

pub(in crate::present) fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(TEXTS).prop_map(str::to_owned),
        proptest::sample::select(RESERVED.split_whitespace().collect::<Vec<_>>()).prop_map(str::to_owned),
        ".{0,12}",
        "[\"`#|;%&<>:\\\\\\[\\](){}$ \n-]{0,12}",
    ];
    proptest::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_an_author_writes_breaks_a_picture(
        task in hostile(), gate in hostile(), end in hostile(), text in hostile(),
    ) {
        if let Some(workflow) = chain(["start", &task, &gate, &end], &text) {
            assert_sound(&workflow);
        }
    }
}
