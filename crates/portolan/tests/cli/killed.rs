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
        while first.seen().len() <= answered {
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
        assert_eq!(second.seen().len(), SAID.len() - answered, "killed after {answered} answers");
    }
}
