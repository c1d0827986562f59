//! A Cargo project that runs a workflow with Portolan's crates.

use std::collections::BTreeSet;

use crate::graph::{Kind, Worker, Workflow};

/// The program for a workflow that is called like a function.
const FUNCTION: &str = include_str!("function.txt");
/// The program that leads through any other workflow.
const LED: &str = include_str!("led.txt");

/// The manifest with the dependencies.
const MANIFEST: &str = include_str!("manifest.txt");

/// The location of Portolan's crates for a project.
#[derive(Clone, Debug)]
pub struct Crates<'c> {
    /// The folder of the crates' sources; `None` if Cargo finds them by version.
    pub sources: Option<&'c str>,
    /// Their version.
    pub version: &'c str,
}

/// Returns the files of a Cargo project that runs a workflow: their paths from its root, and their contents. `bundle`
/// is the text of the definition with everything that it runs; `files` are the names and texts of the definitions, if
/// an agent is led through them.
///
/// Texts of the definition are data in these files: none is pasted into code.
pub fn rust_project(
    workflow: &Workflow,
    bundle: &str,
    files: &[(String, String)],
    crates: &Crates<'_>,
) -> Vec<(String, String)> {
    let name = package(workflow.id().as_str());
    let mut project = vec![("Cargo.toml".to_owned(), manifest(&name, crates))];
    if workflow.root().interface.is_some() {
        project.push(("definition.json".to_owned(), bundle.to_owned()));
        project.push(("src/main.rs".to_owned(), FUNCTION.to_owned()));
        project.push(("src/functions.rs".to_owned(), functions(workflow)));
    } else {
        let file = |name: &str| {
            format!("    ({}, include_str!({})),\n", literal(name), literal(&format!("../workflows/{name}")))
        };
        let names: String = files.iter().map(|(name, _)| file(name)).collect();
        let main = LED.replacen("@@ID@@", &literal(workflow.id().as_str()), 1);
        project.push(("src/main.rs".to_owned(), main.replacen("@@FILES@@", &names, 1)));
        project.extend(files.iter().map(|(name, text)| (format!("workflows/{name}"), text.clone())));
    }
    project
}

/// Formats a text as a Rust literal, which is also a TOML literal if it has no escapes.
fn literal(text: &str) -> String {
    format!("{text:?}")
}

fn manifest(name: &str, crates: &Crates<'_>) -> String {
    let place = |krate: &str| match crates.sources {
        // A TOML path is a string like those of JSON.
        Some(sources) => format!("{{ path = {} }}", serde_json::Value::from(format!("{sources}/{krate}"))),
        None => format!("\"{}\"", crates.version),
    };
    let manifest = MANIFEST.replacen("@@NAME@@", name, 1);
    manifest.replacen("@@CORE@@", &place("portolan-core"), 1).replacen("@@RUNTIME@@", &place("portolan-runtime"), 1)
}

/// Returns a valid package name.
fn package(id: &str) -> String {
    let plain: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    format!("{}-workflow", plain.trim_matches('-')).trim_start_matches(|c: char| !c.is_ascii_alphabetic()).to_owned()
}

/// Returns the functions to write in Rust: those that work on states, and tools of neither a server nor a workflow.
fn functions(workflow: &Workflow) -> String {
    let (mut works, mut tools) = (BTreeSet::new(), BTreeSet::new());
    for step in workflow.flows().flat_map(|(_, flow)| flow.steps.values()) {
        let Kind::State(state) = &step.node.kind else { continue };
        if let Worker::Function(name) = &state.work {
            works.insert(name.value.as_str());
        }
        let own = state.tools.iter().map(|tool| tool.value.as_str());
        tools.extend(own.filter(|tool| !tool.contains('/') && !tool.contains(':') && !tool.starts_with("shared_")));
    }
    let mut text = "//! The Rust functions that the workflow needs.\n\n".to_owned();
    if works.is_empty() && tools.is_empty() {
        text.push_str(
            "use portolan_runtime::states::{FunctionError, Functions};\n\n/// Empty: the workflow names no \
            function.\npub(crate) fn functions() -> Result<Functions, FunctionError> {\n    \
            Ok(Functions::default())\n}\n",
        );
        return text;
    }
    let mut taken = BTreeSet::new();
    let mut bodies = String::new();
    let mut registered = String::new();
    for name in &works {
        let rust = identifier(name, &mut taken);
        bodies.push_str(&work(name, &rust));
        registered.push_str(&format!("    let functions = functions.working({}, {rust});\n", literal(name)));
    }
    for name in &tools {
        let rust = identifier(name, &mut taken);
        bodies.push_str(&tool(name, &rust));
        registered.push_str(&format!("    let functions = functions.typed({0}, {0}, {rust})?;\n", literal(name)));
    }
    text.push_str(&imports(!works.is_empty(), !tools.is_empty()));
    text.push_str(&format!(
        "/// The functions, by the names that the workflow uses for them.\npub(crate) fn functions() -> \
        Result<Functions, FunctionError> {{\n    let functions = Functions::default();\n{registered}    \
        Ok(functions)\n}}\n{bodies}"
    ));
    text
}

/// Returns the imports that the functions need.
fn imports(works: bool, tools: bool) -> String {
    let mut text = String::new();
    if works {
        text.push_str("use portolan_core::engine::FunctionUse;\n");
    }
    if tools {
        text.push_str("use portolan_runtime::schemars::{self, JsonSchema};\n");
    }
    let made = if works { "FunctionOutput, " } else { "" };
    text.push_str(&format!("use portolan_runtime::states::{{FunctionError, {made}Functions}};\n"));
    if tools {
        text.push_str("use serde::Deserialize;\nuse serde_json::Value;\n");
        text.push_str(ARGUMENTS);
    }
    text.push('\n');
    text
}

const ARGUMENTS: &str = "\n/// The arguments of a tool: give each tool its own type, so models are shown its \
        fields.\n#[derive(Debug, Deserialize, JsonSchema)]\nstruct Arguments {}\n";

fn work(name: &str, rust: &str) -> String {
    let message = literal(&format!("the function `{name}` is not written yet; write it in src/functions.rs"));
    format!(
        "\nasync fn {rust}(work: FunctionUse) -> Result<FunctionOutput, FunctionError> {{\n    let _ = work.input;\n    \
         Err(FunctionError::new({message}))\n}}\n"
    )
}

fn tool(name: &str, rust: &str) -> String {
    let message = literal(&format!("the tool `{name}` is not written yet; write it in src/functions.rs"));
    format!(
        "\nasync fn {rust}(arguments: Arguments) -> Result<Value, FunctionError> {{\n    let _ = arguments;\n    \
         Err(FunctionError::new({message}))\n}}\n"
    )
}

/// Returns a unique, valid function name.
fn identifier(name: &str, taken: &mut BTreeSet<String>) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    // No keyword has this prefix, and no name begins with a digit.
    let plain = format!("do_{plain}");
    let mut unique = plain.clone();
    for nth in 2.. {
        if taken.insert(unique.clone()) {
            break;
        }
        unique = format!("{plain}_{nth}");
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_and_are_none_of_the_language() {
        let mut taken = BTreeSet::new();
        let names = ["fn", "a-b", "a_b", "A b", "9", "é"].map(|name| identifier(name, &mut taken));
        assert_eq!(names, ["do_fn", "do_a_b", "do_a_b_2", "do_a_b_3", "do_9", "do__"]);
        assert_eq!(["Bug-Fix", "9é", "--"].map(package), ["bug-fix-workflow", "workflow", "workflow"]);
    }
}
