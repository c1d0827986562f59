//! What states are given and what comes back, however much it is: what models are shown of it, and where it ends.

use serde_json::{Value, json};

use crate::provider::{FakeProvider, Said, Turn};
use crate::support::Project;

const MISBEHAVING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../portolan-runtime/tests/fixtures/misbehaving.py");
const MIB: usize = 1 << 20;

fn state(fields: &str) -> String {
    format!("objective: all of it\nstates:\n  work:\n    objective: Write a text\n    is_final: true\n{fields}")
}

/// What is said of a run, and what its model was sent.
fn ran(project: &Project, more: &str, turns: Vec<Turn>) -> (String, Vec<Value>) {
    let provider = FakeProvider::new(turns);
    let said = project.says(&format!("run w.yaml {more} --model openai:m@{}/v1", provider.origin));
    (said, provider.requests().into_iter().map(|seen| seen.body).collect())
}

fn misbehaving(project: &Project) {
    let server = json!({ "command": "python3", "args": [MISBEHAVING, "normal"] });
    project.write("mcp.json", json!({ "mcpServers": { "bad": server } }).to_string());
}

fn last(request: &Value) -> &str {
    let messages = request["messages"].as_array().expect("messages");
    messages.last().and_then(|message| message["content"].as_str()).expect("a text")
}

#[test]
fn an_answer_of_fifty_mebibytes_is_not_read_on_and_the_run_waits() {
    let project = Project::new();
    project.write("w.yaml", state(""));
    let (said, asked) = ran(&project, "topic=maps", vec![Turn::Says(Said::text(&"x".repeat(50 * MIB)))]);
    assert!(
        said.contains("has more than 8388608 bytes and was not read further"),
        "{}",
        &said[..said.len().min(2_000)]
    );
    assert!(said.ends_with("exit: 4\n") && asked.len() == 1);
    // Nothing is lost by it: whoever goes on asks again.
    let run = project.says("runs list --all").split_whitespace().next().expect("a run").to_owned();
    let provider = FakeProvider::new(vec![Turn::Says(Said::text("short"))]);
    let said = project.says(&format!("runs resume {run} --go-on --model openai:m@{}/v1", provider.origin));
    assert!(said.starts_with("\"short\"\n"), "{said}");
}

#[test]
fn what_a_tool_says_is_cut_for_the_model_and_what_is_too_much_is_a_failure_that_it_is_told() {
    let project = Project::new();
    misbehaving(&project);
    project.write("w.yaml", state("    tools: [bad/huge]\n"));
    for (bytes, told) in [
        (200_000, "… [cut: 65536 of 200000 bytes are shown]"),
        (50 * MIB, "Error: the reply of tool `huge` of server `bad` was discarded: it is larger than 16777216 bytes"),
    ] {
        let huge = Said::default().calling("c", "bad_huge", &json!({ "bytes": bytes }).to_string());
        let turns = vec![Turn::Says(huge), Turn::Says(Said::text("done"))];
        let (said, asked) = ran(&project, "--mcp mcp.json", turns);
        assert!(said.starts_with("\"done\"\n"), "{said}");
        let heard = last(&asked[1]);
        assert!(heard.contains(told) && heard.len() < 70_000, "{bytes}: {}", &heard[heard.len().saturating_sub(300)..]);
    }
}

#[test]
fn what_an_expression_makes_and_what_a_run_is_given_has_an_end() {
    let project = Project::new();
    project.write("w.yaml", "objective: o\nstates:\n  a: { transform: \"$pad('x', 52428800)\", is_final: true }\n");
    let (said, _) = ran(&project, "", vec![]);
    assert!(said.contains("`a` failed") && said.ends_with("exit: 1\n"), "{}", &said[..said.len().min(2_000)]);
    project.write("big.json", json!({ "text": "x".repeat(50 * MIB) }).to_string());
    let (said, _) = ran(&project, "--input @big.json", vec![]);
    assert!(said.contains("big.json") && said.ends_with("exit: 2\n"), "{}", &said[..said.len().min(2_000)]);
}

#[test]
fn a_prompt_is_the_input_or_where_there_is_none_the_objective() {
    let project = Project::new();
    project.write("w.yaml", state(""));
    for (input, told) in [
        (json!({ "topic": "maps" }), r#"{"topic":"maps"}"#),
        (json!("maps"), "maps"),
        (json!({}), "Write a text"),
        (json!(""), "Write a text"),
        (json!(0), "Write a text"),
        (json!(7), "7"),
    ] {
        project.write("input.json", input.to_string());
        let (_, asked) = ran(&project, "--input @input.json", vec![Turn::Says(Said::text("x"))]);
        let system = asked[0]["messages"][0]["content"].as_str().expect("a text");
        assert!(system.contains("Write a text") && system.contains("all of it"), "{system}");
        assert_eq!(last(&asked[0]), told, "{input}");
    }
    // What a file without `input_schema` is given whole.
    for (given, told) in [
        ("input=maps", "maps"),
        ("input=7", "7"),
        ("input=", "Write a text"),
        ("input=a b=c", r#"{"input":"a","b":"c"}"#),
    ] {
        let (_, asked) = ran(&project, given, vec![Turn::Says(Said::text("x"))]);
        assert_eq!(last(&asked[0]), told, "{given}");
    }
    project.write("w.yaml", format!("input_schema: {{ type: object }}\n{}", state("")));
    let (_, asked) = ran(&project, "input=maps", vec![Turn::Says(Said::text("x"))]);
    assert_eq!(last(&asked[0]), r#"{"input":"maps"}"#);
}

#[test]
fn tools_keep_their_schemas_and_have_names_of_their_own() {
    let project = Project::new();
    let schema = json!({ "type": "object", "required": ["of"], "properties": {
        "of": { "type": "array", "items": { "type": "integer" }, "description": "what to add up" },
        "how": { "enum": ["up", "down"], "default": "up" } } });
    let sum = json!({ "objective": "adds up", "input_schema": schema,
        "states": { "add": { "transform": "$sum(input.of)", "is_final": true } } });
    project.write(".flow/workflows/sum.json", sum.to_string());
    project.write(
        "w.yaml",
        state("    tools: [run:sum, x.y/echo, x_y/echo]\nmcpServers: { x.y: { builtin: echo }, x_y: { builtin: echo } }\n"),
    );
    let (said, asked) = ran(&project, "", vec![Turn::Says(Said::text("x"))]);
    assert!(said.ends_with("exit: 0\n"), "{said}");
    let tools = asked[0]["tools"].as_array().expect("tools");
    assert_eq!(tools[0]["function"]["parameters"], schema);
    let mut names: Vec<&str> = tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')));
}

#[test]
fn a_state_is_shown_its_own_tools_and_no_others() {
    let project = Project::new();
    project.write(
        "w.yaml",
        "objective: o\nstates:\n  a: { objective: a, tools: [shared_get] }\n  b: { objective: b, tools: [shared_set] }\n  c: { objective: c, is_final: true }\ntransitions: { a: b, b: c }\n",
    );
    let other = Said::default().calling("c", "shared_get", "{}");
    let turns = vec![Turn::Says(Said::text("x")), Turn::Says(other), Turn::Says(Said::text("y"))];
    let (said, asked) = ran(&project, "", turns);
    assert!(said.ends_with("exit: 0\n"), "{said}");
    let shown = |nth: usize| asked[nth]["tools"].as_array().map(|tools| tools[0]["function"]["name"].clone());
    assert_eq!([shown(0), shown(1), shown(3)], [Some(json!("shared_get")), Some(json!("shared_set")), None]);
    let told = last(&asked[2]);
    assert!(told.starts_with("Error: there is no tool `shared_get` here; there are `shared_set`"), "{told}");
}

#[test]
fn a_state_that_takes_too_long_waits_for_a_person() {
    let project = Project::new();
    let never = "    key_results: [{ name: n, description: d, check: \"False\" }]\n";
    project.write("w.yaml", state(&format!("    limits: {{ seconds: 0.02 }}\n{never}")));
    // The model takes longer for its first answer than the state may for all of them.
    project.write("answers.yaml", "- { text: x, delay_ms: 200 }\n- { text: y }\n");
    let said = project.says("run w.yaml --model scripted:answers.yaml");
    assert!(said.contains("of 20 `ms`") && said.contains("\nstderr: 1 model call, "), "{said}");
    assert!(said.ends_with("exit: 4\n"), "{said}");
}
