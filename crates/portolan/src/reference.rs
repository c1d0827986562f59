//! The reference pages, written from what they describe: `docs/cli.md`, `docs/mcp-tools.md`, `docs/diagnostics.md`.
//!
//! The tests fail when a page is not what the code says; `UPDATE_EXPECT=1 cargo test -p portolan` writes them anew.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::Command;
use expect_test::expect_file;
use portolan_core::validate;
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
    let mut page = "# The MCP tools\n\nGenerated from the program: the `tasks` toolset of `portolan serve`. Every answer comes as \
                    structured content and as the same JSON in text. An error has `isError`, a stable `error` code, a `message`, \
                    a `help`, and where there is a run the present `situation`.\n"
        .to_owned();
    for tool in mcp::tools() {
        let _ = write!(page, "\n## {}\n\n{}\n", tool.name, tool.description.as_deref().unwrap_or_default());
        let schema = Value::Object((*tool.input_schema).clone());
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let Some(properties) = schema["properties"].as_object().filter(|properties| !properties.is_empty()) else {
            page.push_str("\nIt takes no arguments.\n");
            continue;
        };
        page.push_str("\n| argument | type | meaning |\n|---|---|---|\n");
        for (name, property) in properties {
            let must = if required.contains(&name.as_str()) { " (required)" } else { "" };
            let kind = property["type"].as_str().unwrap_or("any");
            let meaning = property["description"].as_str().unwrap_or_default().replace('|', "\\|");
            let _ = writeln!(page, "| `{name}`{must} | {kind} | {meaning} |");
        }
    }
    expect_file!["../../../docs/mcp-tools.md"].assert_eq(&page);
}

#[test]
fn the_page_of_the_diagnostics_is_current() {
    let mut page = "# What `portolan check` reports\n\nGenerated from the rules. Each finding has a stable code, a place, and says \
                    what to do. The examples are the test cases of the rules.\n"
        .to_owned();
    for code in validate::codes() {
        let _ = write!(page, "\n## {}\n\n{}\n\n*Mend it:* {}\n", code.code, code.what, code.fix);
        if let Some(line) = example(code.code) {
            let _ = write!(page, "\n```text\n{line}\n```\n");
        }
    }
    expect_file!["../../../docs/diagnostics.md"].assert_eq(&page);
}

/// The first case that shows a code, as its expected text has it.
fn example(code: &str) -> Option<String> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../portolan-core/tests/cases/check");
    let mut folders: Vec<_> = fs::read_dir(cases).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    // The case that is called like the code shows it best.
    folders.sort_by_key(|folder| (folder.file_name().is_none_or(|name| name != code), folder.clone()));
    let needles = [format!(" error {code}: "), format!(" warning {code}: ")];
    folders.iter().find_map(|folder| {
        let text = fs::read_to_string(folder.join("expected.txt")).ok()?;
        let line = text
            .lines()
            .find(|line| needles.iter().any(|needle| line.contains(needle)) && !line.starts_with("lenient"))?;
        Some(line.replace(" | help: ", "\nhelp: "))
    })
}
