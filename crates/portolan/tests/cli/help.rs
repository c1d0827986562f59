//! What `--help` promises.

use crate::check::TRAPPED;
use crate::support::{Project, checked, repository};

/// The graph that examples run.
const COUNT: &str = r#"
version: "1.0"
server: {name: counter, version: "1"}
tools:
  - name: count
    description: Counts
    inputSchema: {type: object, properties: {folder: {type: string}}}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: list}
      - {id: list, type: mcp, server: filesystem, tool: list_directory, args: {path: {expr: $.entry.folder}}, next: size}
      - {id: size, type: transform, transform: {expr: '{"size": $length($.list.content)}'}, next: exit}
      - {id: exit, type: exit}
"#;

/// Every example of `--help` does what it says, in a project that has what it names.
#[test]
fn the_examples_of_help_work() {
    let mut project = Project::small();
    project.write(".flow/workflows/release.json", checked(r#"["git", "--version"]"#));
    project.write("count.yaml", COUNT);
    project.write(".xcoder/guidelines.yaml", "workflow: {commitDirectly: true}\n");
    project
        .write("count.test.yaml", "tests: [{name: two, tool: count, input: {folder: .}, mock: {list: {content: ab}}}]");
    project.write("trapped.yaml", TRAPPED);
    project.says("check trapped.yaml --counterexamples runs");
    let run = project.run("small", "passed failed passed failed");
    let page = std::fs::read_to_string(repository().join("docs/cli.md")).expect("the page");
    let examples: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("Example: ")).collect();
    assert!(examples.len() >= 12, "every command has an example: {examples:?}");
    let mut broken = Vec::new();
    for example in examples {
        let line = example.replace("k7m2qx4p", &run);
        let line = line.split('>').next().expect("a command").trim();
        let Some(line) = line.strip_prefix("portolan ") else {
            assert_eq!(line, "claude mcp add portolan -- portolan serve");
            continue;
        };
        // These have tests of their own: the demo, servers that wait for their clients, and what needs a run that was
        // interrupted, or of a token, a branch that would be merged, a task that is far enough, a question, a budget, an agent, a terminal, a tool that is withheld.
        const OWN: [&str; 16] = [
            "gate --mcp",
            "gate accept",
            "gate allow",
            "gate refuse",
            "runs resume",
            "runs migrate",
            "merge-gate",
            "flow back",
            "flow override",
            "supervisor reply",
            "supervisor budget raise",
            "autopilot start",
            "hook claude-code",
            "people passphrase",
            "people passkey",
            "studio",
        ];
        let has_own = OWN.iter().any(|verb| line.starts_with(verb));
        if ["demo", "builtin filesystem ."].contains(&line) || has_own {
            continue;
        }
        let said = project.says_to(&words(line).iter().map(String::as_str).collect::<Vec<_>>());
        let waiting = line.starts_with("runs show") && said.ends_with("exit: 4\n");
        if !said.ends_with("exit: 0\n") && !waiting {
            broken.push(format!("portolan {line}\n{said}"));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The words of a line as a shell has them, as far as double quotes go.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('"').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}
