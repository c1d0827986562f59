//! A run of states whose process is killed in the middle of each request: what was answered is not asked again.

use std::process::{Command, Stdio};

use crate::provider::{FakeProvider, Said, Turn};
use crate::support::Project;

const STATES: &str = "
objective: a greeting
states:
  draft:
    objective: Greet
    max_retries: 1
    key_results: [{name: long, description: it is long, check: \"len(output) >= 5\"}]
  end:
    objective: End it
    key_results: [{name: kind, description: it is kind}]
    is_final: true
transitions: {draft: end}
";

const YES: &str = r#"{"verdicts": [{"criterion": "kind", "reason": "it is", "evidence": "dear", "met": true}]}"#;
/// What is said, in order: an attempt that does not hold, one that does, the second state, its judge.
const SAID: [&str; 4] = ["Hi", "Hello", "Goodbye, dear", YES];

fn model(provider: &FakeProvider) -> String {
    format!("openai:m@{}/v1", provider.origin)
}

fn says(lines: &[&str]) -> Vec<Turn> {
    lines.iter().map(|line| Turn::Says(Said::text(line))).collect()
}

#[test]
fn a_run_that_is_killed_at_any_request_goes_on_without_asking_twice() {
    for answered in 0..SAID.len() {
        let project = Project::new();
        project.write("w.yaml", STATES);
        let mut turns = says(&SAID[..answered]);
        turns.push(Turn::Silence);
        let first = FakeProvider::new(turns);
        let mut process = Command::new(env!("CARGO_BIN_EXE_portolan"))
            .args(["run", "w.yaml", "name=Ada", "--model", &model(&first)])
            .current_dir(project.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        while first.requests().len() <= answered {
            assert!(process.try_wait().expect("it can be asked").is_none(), "it ended by itself");
            std::thread::yield_now();
        }
        process.kill().expect("it runs");
        process.wait().expect("it ends");

        let listed = project.says("runs list --all");
        let run = listed.split_whitespace().next().expect("a run").to_owned();
        let second = FakeProvider::new(says(&SAID[answered..]));
        let said = project.says(&format!("runs resume {run} --model {}", model(&second)));
        assert!(said.starts_with("\"Goodbye, dear\"\n"), "killed after {answered} answers: {said}");
        assert_eq!(second.requests().len(), SAID.len() - answered, "killed after {answered} answers");
    }
}

const NOTES: &str = "
objective: notes
states:
  write:
    objective: Write two notes
    tools: [notes/note]
    key_results: [{name: done, description: it says so, check: \"output == 'done'\"}]
    is_final: true
";
const MISBEHAVING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../portolan-runtime/tests/fixtures/misbehaving.py");

/// The model asks for both notes at once; of the second the server keeps silent where it is told to.
fn asks_for_notes(silent: bool) -> Turn {
    let note = |text: &str, silent: bool| {
        serde_json::json!({ "file": "side.txt", "text": text, "silent": silent }).to_string()
    };
    let both = Said::default().calling("c1", "notes_note", &note("one", false));
    Turn::Says(both.calling("c2", "notes_note", &note("two", silent)))
}

/// A run is begun with a server that takes notes, and killed as soon as `is_time`.
fn killed(project: &Project, provider: &FakeProvider, is_time: impl Fn() -> bool) -> String {
    project.write("w.yaml", NOTES);
    let server = serde_json::json!({ "command": "python3", "args": [MISBEHAVING, "normal"] });
    project.write("mcp.json", serde_json::json!({ "mcpServers": { "notes": server } }).to_string());
    let mut process = Command::new(env!("CARGO_BIN_EXE_portolan"))
        .args(["run", "w.yaml", "--mcp", "mcp.json", "--model", &model(provider)])
        .current_dir(project.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    while !is_time() {
        assert!(process.try_wait().expect("it can be asked").is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    process.kill().expect("it runs");
    process.wait().expect("it ends");
    project.says("runs list --all").split_whitespace().next().expect("a run").to_owned()
}

fn notes(project: &Project) -> Vec<String> {
    let text = std::fs::read_to_string(project.path().join("side.txt")).unwrap_or_default();
    let mut notes: Vec<String> = text.lines().map(str::to_owned).collect();
    notes.sort();
    notes
}

#[test]
fn what_tools_have_done_is_not_done_again_by_a_run_that_goes_on() {
    // The model has been told what both tools came to, and has not answered.
    let project = Project::new();
    let first = FakeProvider::new(vec![asks_for_notes(false), Turn::Silence]);
    let run = killed(&project, &first, || first.requests().len() == 2);
    assert_eq!(notes(&project), ["one", "two"]);
    let second = FakeProvider::new(says(&["done"]));
    let said = project.says(&format!("runs resume {run} --mcp mcp.json --model {}", model(&second)));
    assert!(said.starts_with("\"done\"\n"), "{said}");
    assert_eq!(notes(&project), ["one", "two"]);
    let told = second.requests()[0].body["messages"].to_string();
    assert!(told.contains("noted one") && told.contains("noted two"), "{told}");
}

#[test]
fn a_tool_that_was_under_way_is_repeated_only_where_a_person_says_so() {
    for (how, expected) in [("--repeat", vec!["one", "two", "two"]), ("--fail", vec!["one", "two"])] {
        let project = Project::new();
        let first = FakeProvider::new(vec![asks_for_notes(true)]);
        let run = killed(&project, &first, || notes(&project).len() == 2 && is_on_record(&project));
        let second = FakeProvider::new(says(&["done"]));
        let resume = format!("runs resume {run} --mcp mcp.json --model {}", model(&second));
        let said = project.says(&resume);
        assert!(said.contains("`--repeat`") && said.contains("`--fail`") && said.ends_with("exit: 4\n"), "{said}");
        assert_eq!((second.requests().len(), notes(&project)), (0, vec!["one".to_owned(), "two".to_owned()]));
        if how == "--repeat" {
            // It keeps silent again: the process is killed, and the note is there twice.
            let command = format!("{resume} {how}");
            let mut process = Command::new(env!("CARGO_BIN_EXE_portolan"))
                .args(command.split_whitespace())
                .current_dir(project.path())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("it starts");
            while notes(&project).len() < 3 {
                assert!(process.try_wait().expect("it can be asked").is_none(), "it ended by itself");
                std::thread::yield_now();
            }
            process.kill().expect("it runs");
            process.wait().expect("it ends");
        } else {
            let said = project.says(&format!("{resume} {how}"));
            assert!(said.starts_with("\"done\"\n"), "{said}");
            let told = second.requests()[0].body["messages"].to_string();
            assert!(told.contains("noted one") && told.contains("it is not known whether it was performed"), "{told}");
        }
        assert_eq!(notes(&project), expected);
    }
}

/// Whether the first tool's answer is on disk: what is not is asked for as well.
fn is_on_record(project: &Project) -> bool {
    let run = project.says("runs list --all").split_whitespace().next().expect("a run").to_owned();
    project.says(&format!("runs events {run}")).contains("used the tool of call `call-0-0`")
}
