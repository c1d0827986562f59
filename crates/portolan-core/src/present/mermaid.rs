//! A workflow as a Mermaid flowchart, and as a Markdown document around one.
//!
//! The chart parses and shows every text as written, whatever the identifiers and texts contain: unsafe identifiers get
//! another name inside the chart, and characters with a meaning in Mermaid become entity codes.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::check_words::{legend, sentences, sign_of};
use super::picture::{Look, label, lines, one_line, small_print};
use crate::graph::{Flow, Kind, Node, Workflow};
use crate::value::NodeId;

/// Returns the flowchart of the root flow, with the step `current` marked.
///
/// A `current` that is not in the root flow is ignored. Unless configured otherwise, Mermaid rejects charts of more
/// than 500 edges or 50,000 characters.
///
/// ```
/// # use portolan_core::{dialect, present, source::Source, validate};
/// # let source = Source::new("hello.json", r#"{
/// #   "nodes": { "start": {"type": "start"}, "greet": {"type": "task", "name": "Say \"hello\""}, "done": {"type": "end", "result": "success"} },
/// #   "edges": [ {"from": "start", "to": "greet"}, {"from": "greet", "to": "done"} ]
/// # }"#);
/// # let (graph, _) = dialect::parse(&source, dialect::Strictness::Strict).first();
/// # let (workflow, _) = validate::validate(graph.as_ref().unwrap(), &|_| None, dialect::Strictness::Strict);
/// let chart = present::mermaid(&workflow.unwrap(), Some(&"greet".into()));
/// assert!(chart.starts_with("flowchart TD\n"));
/// assert!(chart.contains("    greet[\"○ Say #quot;hello#quot;\"]\n"));
/// assert!(chart.ends_with("    class greet currentStep\n"));
/// ```
pub fn mermaid(workflow: &Workflow, current: Option<&NodeId>) -> String {
    let flow = workflow.root();
    let names = names(flow);
    let mut chart = String::from("flowchart TD\n");
    for step in flow.steps.values() {
        chart += &format!("    {}{}\n", names[&step.node.id], shape(&step.node));
    }
    chart.push('\n');
    for line in lines(flow) {
        let text = line.text.map(|text| format!("|\"{}\"|", escape(&text))).unwrap_or_default();
        chart += &format!("    {} -->{text} {}\n", names[line.from], names[line.to]);
    }
    chart.push('\n');
    let (explained, class_of_legend) = explained(flow, &names);
    chart += &explained;
    for (class, style) in STYLES {
        chart += &format!("    classDef {class} {style}\n");
    }
    chart += &classes(flow, &names);
    chart += &class_of_legend;
    if let Some(name) = current.and_then(|id| names.get(id)) {
        chart += &format!("    class {name} {CURRENT}\n");
    }
    chart
}

/// Returns a Markdown document of the root flow: name, description, flowchart, and a table of instructions.
///
/// Every text of the definition appears as written and in its place: none can end the chart or the table.
pub fn diagram_markdown(workflow: &Workflow, current: Option<&NodeId>) -> String {
    let flow = workflow.root();
    let name = if one_line(&flow.name).is_empty() { workflow.id().as_str() } else { &flow.name };
    let mut page = format!("## Workflow: {}\n\n", inline(name));
    let description = paragraph(&flow.description);
    if !description.is_empty() {
        page += &format!("{description}\n\n");
    }
    // No line of the chart has a backtick, so none can close the fence.
    page += &format!("### Diagram\n\n```mermaid\n{}```\n\n", mermaid(workflow, current));
    if legend(flow).is_some() {
        page += "Steps with ✓ are checked before they are left; steps with ○ are not checked, and the reported \
            outcome is believed.\n\n";
    }
    page += "### Step Instructions\n\n";
    page += "| Stage | Step | Name | Agent | Instructions |\n|-------|------|------|-------|--------------|\n";
    for step in flow.steps.values() {
        page += &row(&step.node);
    }
    page
}

const CURRENT: &str = "currentStep";

/// The class of the legend, and its node name if no other node has it.
const LEGEND: &str = "legend";

const STYLES: [(&str, &str); 7] = [
    ("startStep", "fill:#90EE90,stroke:#228B22,color:#1f2937"),
    ("successStep", "fill:#87CEEB,stroke:#4169E1,color:#1f2937"),
    ("hitlStep", "fill:#FFB6C1,stroke:#DC143C,color:#1f2937"),
    ("gateStep", "fill:#E6E6FA,stroke:#9370DB,color:#1f2937"),
    ("forkJoinStep", "fill:#FFEAA7,stroke:#FDCB6E,color:#1f2937"),
    (CURRENT, "fill:#FFD700,stroke:#FF8C00,stroke-width:3px,color:#1f2937"),
    (LEGEND, "fill:none,stroke:none"),
];

fn class(look: Look) -> Option<&'static str> {
    match look {
        Look::Start => Some("startStep"),
        Look::Success => Some("successStep"),
        Look::Person | Look::Failure => Some("hitlStep"),
        Look::Gate => Some("gateStep"),
        Look::ForkJoin => Some("forkJoinStep"),
        Look::Subflow | Look::Plain => None,
    }
}

fn classes(flow: &Flow, names: &IndexMap<&NodeId, String>) -> String {
    let mut text = String::new();
    for (name, _) in STYLES {
        let members = flow.steps.values().filter(|step| class(Look::of(&step.node.kind)) == Some(name));
        let members: Vec<&str> = members.map(|step| names[&step.node.id].as_str()).collect();
        if !members.is_empty() {
            text += &format!("    class {} {name}\n", members.join(","));
        }
    }
    text
}

/// Returns the explanation of the signs as a sentence for screen readers and as a legend, and the legend's class.
fn explained(flow: &Flow, names: &IndexMap<&NodeId, String>) -> (String, String) {
    let (Some(legend), Some(sentences)) = (legend(flow), sentences(flow)) else { return Default::default() };
    let taken: BTreeSet<&str> = names.values().map(String::as_str).collect();
    let numbered = (2_usize..).map(|count| format!("{LEGEND}_{count}"));
    let name = std::iter::once(LEGEND.to_owned()).chain(numbered).find(|name| !taken.contains(name.as_str()));
    let name = name.expect("a chart has fewer nodes than there are numbers");
    let text = format!("    accDescr: {}\n    {name}[\"{legend}\"]\n", escape(&sentences));
    (text, format!("    class {name} {LEGEND}\n"))
}

fn shape(node: &Node) -> String {
    let look = Look::of(&node.kind);
    let (open, close) = match look {
        Look::Start => ("((", "))"),
        Look::Success | Look::Subflow => ("[[", "]]"),
        Look::Person | Look::Failure => ("{{", "}}"),
        Look::Gate => ("{", "}"),
        Look::ForkJoin => ("([", "])"),
        Look::Plain => ("[", "]"),
    };
    let sign = sign_of(node).map(|sign| format!("{sign} ")).unwrap_or_default();
    let small = match small_print(node) {
        none if none.is_empty() => none,
        print => format!("<br/><small>{}</small>", escape(&print)),
    };
    format!("{open}\"{sign}{}{small}\"{close}", escape(&label(node)))
}

/// Returns the name of each node in the chart: its identifier if that is safe, else a safe name that no other node has.
fn names(flow: &Flow) -> IndexMap<&NodeId, String> {
    let safe = flow.steps.keys().map(NodeId::as_str).filter(|id| is_safe(id));
    let mut taken: BTreeSet<String> = safe.map(str::to_owned).collect();
    let mut names = IndexMap::new();
    for (index, id) in flow.steps.keys().enumerate() {
        let name = if is_safe(id.as_str()) { id.as_str().to_owned() } else { free_name(id, index, &taken) };
        taken.insert(name.clone());
        names.insert(id, name);
    }
    names
}

fn free_name(id: &NodeId, index: usize, taken: &BTreeSet<String>) -> String {
    let plain: String = id.as_str().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let plain = if plain.ends_with(DIRECTION) { format!("{plain}_") } else { plain };
    let mut name = format!("n_{plain}");
    // Counting from the node's own index avoids comparing thousands of similar ids with each other.
    for count in index.. {
        if !taken.contains(&name) {
            break;
        }
        name = format!("n_{plain}_{count}");
    }
    name
}

fn is_safe(id: &str) -> bool {
    id.starts_with(|c: char| c.is_ascii_alphabetic())
        && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !id.ends_with(DIRECTION)
        && !GRAMMAR.contains(&id)
        && !OBJECT.contains(&id)
}

/// Mermaid parses this word, followed by white space and `LR` or the like, as a command anywhere: inside a string, and
/// at the end of a line before one that begins with `LR_tests`.
const DIRECTION: &str = "direction";

/// Words of Mermaid's grammar, of this and older versions.
const GRAMMAR: [&str; 21] = [
    "BR",
    "BT",
    "LR",
    "RL",
    "TB",
    "TD",
    "accDescr",
    "accTitle",
    "call",
    "class",
    "classDef",
    "click",
    "default",
    "end",
    "flowchart",
    "graph",
    "href",
    "interpolate",
    "linkStyle",
    "style",
    "subgraph",
];

/// Members of every JavaScript object: such a node parses, but cannot be laid out.
const OBJECT: [&str; 8] = [
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "prototype",
    "toLocaleString",
    "toString",
    "valueOf",
];

/// Escapes the text of a quoted Mermaid string, with an entity code for every character that would not be shown.
fn escape(text: &str) -> String {
    let text = text.replace("direction ", "direction\0");
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        match c {
            '"' => escaped += "#quot;",
            '&' => escaped += "#amp;",
            '<' => escaped += "#lt;",
            '>' => escaped += "#gt;",
            '\0' => escaped += "#32;",
            // Mermaid replaces entity codes by `¶` and `ﬂ` while it parses.
            '#' | '`' | '\\' | '¶' | 'ﬂ' => escaped += &code(c),
            // Comments and directives begin with `%%`, formulas with `$$`.
            '%' | '$' if next == Some(c) => escaped += &code(c),
            // `style:…#…;` loses its semicolon, `fa:fa-…` becomes an icon. Before a space a colon is only a colon.
            ':' if next != Some(' ') => escaped += &code(c),
            _ => escaped.push(c),
        }
    }
    escaped
}

fn code(c: char) -> String {
    format!("#{};", u32::from(c))
}

fn row(node: &Node) -> String {
    match node.kind {
        Kind::Start | Kind::End { .. } | Kind::Checkpoint { .. } | Kind::Fork { .. } | Kind::Join { .. } => {
            return String::new();
        }
        Kind::Compute(_) | Kind::Switch | Kind::Call(_) | Kind::Each(_) => return String::new(),
        Kind::Activity | Kind::Loop(_) | Kind::Repeat { .. } => return String::new(),
        Kind::Work { .. } | Kind::Subflow { .. } | Kind::State(_) => {}
    }
    let brief = &node.brief;
    let cells = [
        brief.stage.as_deref(),
        Some(node.id.as_str()),
        Some(&*node.name),
        brief.agent.as_deref(),
        brief.instructions.as_deref().or(brief.description.as_deref()),
    ];
    let cells = cells.map(|text| text.map(inline).filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned()));
    format!("| {} |\n", cells.join(" | "))
}

/// Returns the text on one line of Markdown, without anything that ends a cell or opens a fence or HTML.
fn inline(text: &str) -> String {
    let text = one_line(text);
    let parts: Vec<&str> = text.split('`').collect();
    if !are_code_spans(&parts) {
        return escaped(&text);
    }
    let part = |(at, part): (usize, &&str)| if at % 2 == 0 { escaped(part) } else { (*part).to_owned() };
    parts.iter().enumerate().map(part).collect::<Vec<_>>().join("`")
}

/// Checks whether the backticks between the parts are paired and enclose plain words, so that they can stay.
fn are_code_spans(parts: &[&str]) -> bool {
    let inner = parts.get(1..parts.len() - 1).unwrap_or_default();
    let runs = inner.iter().any(|part| part.is_empty());
    let code = parts.iter().skip(1).step_by(2);
    parts.len() % 2 == 1 && !runs && !code.into_iter().any(|code| code.contains(['\\', '|', '<']))
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '|' | '<') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Returns the text as a paragraph that cannot be a heading, a list, a fence or a link definition.
fn paragraph(text: &str) -> String {
    let text = inline(text);
    let (number, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let begins_block = match number {
        "" => rest.starts_with(|c: char| c.is_ascii_punctuation() && !matches!(c, '\\' | '`')),
        _ => rest.starts_with(['.', ')']),
    };
    if begins_block { format!("{number}\\{rest}") } else { text }
}
