//! Generates the reference pages `docs/cli.md`, `docs/mcp-tools.md` and `docs/diagnostics.md`.
//!
//! The tests fail if a page is out of date. `UPDATE_EXPECT=1 cargo test -p portolan` rewrites the pages.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::Command;
use expect_test::expect_file;
use portolan_runtime::audit::Kind;
use rmcp::model::Tool;
use serde_json::Value;

use crate::{cli, mcp};

#[test]
fn the_page_of_the_command_line_is_current() {
    let mut page = "# The command line\n\nGenerated from the program. Data goes to standard output, everything else to standard \
                    error.\n\n| exit code | meaning |\n|---|---|\n| 0 | done |\n| 1 | failed |\n| 2 | refused |\n| 3 | invalid \
                    definition |\n| 4 | waiting for a person |\n"
        .to_owned();
    let command = cli::command().term_width(100);
    describe(&mut page, &command, "portolan", 2);
    expect_file!["../../../docs/cli.md"].assert_eq(&page);
}

fn describe(page: &mut String, command: &Command, name: &str, level: usize) {
    let mut shown = command.clone().bin_name(name).term_width(100);
    let help = shown.render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n{} {name}\n\n```text\n{}\n```\n", "#".repeat(level), help.join("\n").trim_end());
    for inner in command.get_subcommands() {
        describe(page, inner, &format!("{name} {}", inner.get_name()), level + 1);
    }
}

#[test]
fn the_page_of_the_tools_is_current() {
    let mut page = "# The MCP tools\n\nGenerated from the program. Every answer comes as structured content and \
        as the same JSON in text. Names in bold are required in a call, or always present in an answer. The \
        `graph` toolset has the tools that its files define: see [graphs](tool-graphs.md).\n\n## The `navigate` \
        toolset\n\nA refusal has `isError`, `success: false` and `error`, with a stable `code`, a `message` and \
        a `help`, in addition to the present situation. [Navigation](navigation-api.md) describes how they work \
        together. `get_workflow` is available only with `--profile author`, and `show_run` and `answer_run` only for clients \
        that show [the page of a run](app.md).\n"
        .to_owned();
    tools(&mut page, &mcp::navigate_tools(mcp::Profile::Author));
    page.push_str(
        "\n## The `gates` toolset\n\nA refusal has `isError`, `success: false`, a `message` and `error`, with a \
        stable `code`, a `message` and a `help`. A tick that does not advance reports what the phase requires; \
        this is not an error.\n",
    );
    tools(&mut page, &mcp::gates_tools());
    page.push_str(
        "\n## The `tasks` toolset\n\nAn error has `isError`, a stable `error` code, a `message`, a `help`, and, \
        if there is a run, the present `situation`. `ShowRun` and `AnswerRun` are available only for clients that \
        show [the page of a run](app.md).\n",
    );
    tools(&mut page, &mcp::tools());
    page.push_str(
        "\n## The `author` toolset\n\nAn error has `isError` and `error`, with a stable `code`, a `message`, a \
        `help`, and for faults of a definition `diagnostics`, each with its place. `getDefinition` and \
        `editDefinition` are available for files of every format, the others for files of graphs of tool calls. \
        [Writing definitions](authoring.md) describes how they work together.\n",
    );
    tools(&mut page, &mcp::author_tools());
    expect_file!["../../../docs/mcp-tools.md"].assert_eq(&page);
}

fn tools(page: &mut String, tools: &[Tool]) {
    for tool in tools {
        let _ = write!(page, "\n### {}\n\n{}\n", tool.name, tool.description.as_deref().unwrap_or_default());
        let takes = Value::Object((*tool.input_schema).clone());
        fields(page, "argument", &takes);
        let gives = tool.output_schema.as_ref().map_or(Value::Null, |schema| Value::Object((**schema).clone()));
        // The other alternative is the error, which the page describes once above.
        fields(page, "answer", gives["anyOf"].get(0).unwrap_or(&gives));
    }
}

/// Writes the fields of an object as a table.
fn fields(page: &mut String, what: &str, schema: &Value) {
    let Some(properties) = schema["properties"].as_object().filter(|properties| !properties.is_empty()) else {
        let _ = write!(page, "\nIt has no {what}s.\n");
        return;
    };
    let always: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let _ = write!(page, "\n| {what} | type | meaning |\n|---|---|---|\n");
    for (name, field) in properties {
        let name = if always.contains(&name.as_str()) { format!("**`{name}`**") } else { format!("`{name}`") };
        let values: Vec<String> = field["enum"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(|word| format!("`{word}`"))
            .collect();
        let meaning = format!("{} {}", field["description"].as_str().unwrap_or_default(), values.join(", "));
        let _ = writeln!(page, "| {name} | {} | {} |", kind(field), meaning.trim().replace('|', "\\|"));
    }
}

fn kind(field: &Value) -> String {
    match (&field["type"], &field["items"]["type"]) {
        (Value::String(kind), Value::String(item)) => format!("{kind} of {item}s"),
        (Value::String(kind), _) => kind.clone(),
        (Value::Array(kinds), _) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        // A reference is to an object. A schema without constraints admits any JSON.
        _ if field.get("$ref").is_some() => "object".to_owned(),
        _ => "any".to_owned(),
    }
}

#[test]
fn the_page_of_the_diagnostics_is_current() {
    let mut page = "# What `portolan check` reports\n\nGenerated from the rules. Each finding has a stable code, a place, and says \
                    what to do. The examples are the test cases of the rules.\n"
        .to_owned();
    for code in portolan_core::codes() {
        let _ = write!(page, "\n## {}\n\n{}\n\n*Fix:* {}\n", code.code, code.what, code.fix);
        if let Some(Example { text, language, said }) = example(code.code) {
            if let Some(text) = text {
                let _ = write!(page, "\n```{language}\n{}\n```\n", text.trim_end());
            }
            let _ = write!(page, "\n```text\n{said}\n```\n");
        }
    }
    expect_file!["../../../docs/diagnostics.md"].assert_eq(&page);
}

struct Example {
    /// The definition. `None` if it is too long for the page, or has control characters.
    text: Option<String>,
    /// The language of its code block.
    language: &'static str,
    /// The diagnostic.
    said: String,
}

/// The longest definition shown on the page, in bytes.
const MAX_SHOWN_BYTES: usize = 900;

/// The file that a project attaches to the workflow of a case, and the prefix of each finding in it.
const ATTACHED: &str = "verify.yaml";

/// Returns the case that shows a code with the fewest other findings.
fn example(code: &str) -> Option<Example> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../portolan-core/tests/cases/check");
    let needles = [format!(" error {code}: "), format!(" warning {code}: ")];
    let mut shown = Vec::new();
    for folder in fs::read_dir(cases).ok()? {
        let folder = folder.ok()?.path();
        let expected = fs::read_to_string(folder.join("expected.txt")).ok()?;
        let strict: Vec<&str> = expected.lines().filter(|line| !line.starts_with("lenient")).collect();
        let Some(line) = strict.iter().find(|line| needles.iter().any(|needle| line.contains(needle))) else {
            continue;
        };
        let name = folder.file_name()?.to_string_lossy().into_owned();
        if let Some(said) = line.strip_prefix(&format!("{ATTACHED}: ")) {
            let text = fs::read_to_string(folder.join(ATTACHED)).ok()?;
            shown.push((strict.len(), text.len(), text, "yaml", said.replace(" | help: ", "\nhelp: ")));
            continue;
        }
        let spellings = [("json", "jsonc"), ("yaml", "yaml")];
        let (text, language) = spellings.iter().find_map(|(extension, language)| {
            let files = [format!("workflow.{extension}"), format!("{name}.{extension}")];
            let text = files.iter().find_map(|file| fs::read_to_string(folder.join(file)).ok())?;
            Some((text, *language))
        })?;
        shown.push((strict.len(), text.len(), text, language, line.replace(" | help: ", "\nhelp: ")));
    }
    let (_, length, text, language, said) = shown.into_iter().min()?;
    let seen = (1..=MAX_SHOWN_BYTES).contains(&length) && !text.contains(|c: char| c.is_control() && c != '\n');
    Some(Example { text: seen.then_some(text), language, said })
}

#[test]
fn the_types_of_events_are_told() {
    let page = include_str!("../../../docs/event-log.md");
    for kind in Kind::ALL {
        let about: Vec<&str> = kind.about().split_whitespace().collect();
        let row = format!("| `{}` | {} |\n", kind.name(), about.join(" "));
        assert!(page.contains(&row), "docs/event-log.md lacks the row {row}");
    }
}
