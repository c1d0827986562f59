//! The examples through the real program, and the page about the navigation tools held against it: its answers are
//! those of the program, and it has every code that a call can be refused with.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{headline, send, serving};
use crate::support::{Project, Wire};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A project with the examples.
fn examples() -> Project {
    let project = Project::new();
    let mut folders = vec![root().join("examples/activities")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(root().join("examples/activities")).expect("it lies there");
            let text = std::fs::read_to_string(&path).expect("it is text");
            project.write(&format!(".flow/workflows/{}", name.display()), &text);
        }
    }
    project
}

/// What an agent at work reports of the variables of the examples.
fn report() -> Value {
    json!({
        "unclear": 0,
        "design": { "summary": "one pass", "files": ["parse.rs"] },
        "public_api": true,
        "risks": ["slow input"],
        "tasks": [{ "title": "the parser", "checks": ["unit", "fuzz"] }, { "title": "the flag", "checks": [] }],
        "branch": "ab-12",
        "tests_pass": true,
        "open_comments": 0,
        "leftovers": ["docs"],
        "filed": 1,
    })
}

/// Sends what is required back until nothing is; returns how many calls that took.
fn walk(project: &Project, more: &[&str], id: &str, is_fresh: bool) -> usize {
    let mut wire = serving(project, more);
    let variables = if id == "work-package" { json!({ "ticket": "AB-12" }) } else { json!({}) };
    let mut now = wire.done("start_workflow", &json!({ "workflow_id": id, "variables": variables }));
    for calls in 1..MOST_CALLS {
        if now["complete"] == json!(true) {
            assert!(now["message"].as_str().is_some_and(|text| text.contains("success")), "{now:#}");
            return calls;
        }
        assert!(now.to_string().len() < 3_000, "{} bytes: {now:#}", now.to_string().len());
        let action = now["availableActions"]["required"][0].clone();
        now = send(&mut wire, &action, &filled(&now, &action));
        if is_fresh {
            wire = serving(project, more);
        }
    }
    panic!("{id} does not end: {now:#}");
}

const MOST_CALLS: usize = 250;

/// The first option, and the variables that the message asks for.
fn filled(now: &Value, action: &Value) -> Value {
    let mut fill = json!({ "option_id": now["checkpoint"]["options"][0]["id"] });
    let takes = |name: &str| action["fill"].as_array().is_some_and(|fill| fill.contains(&json!(name)));
    if takes("outputs") {
        let message = now["message"].as_str().expect("a message");
        let names = message.lines().find_map(|line| line.strip_prefix("Outputs: ")).expect("the message names them");
        let known = report();
        fill["outputs"] = names.split(", ").map(|name| (name.to_owned(), known[name].clone())).collect();
    }
    fill
}

#[test]
fn each_example_is_walked_to_its_end_by_handles_and_by_tokens() {
    let project = examples();
    for more in [&[][..], &["--stateless"]] {
        for (id, least) in [("work-package", 60), ("follow-up", 3), ("release", 14)] {
            let calls = walk(&project, more, id, false);
            assert!(calls >= least, "{id} was over after {calls} calls");
        }
    }
}

#[test]
fn each_call_of_a_walk_may_be_made_to_another_server() {
    let project = examples();
    for more in [&[][..], &["--stateless"], &["--stateless", "--ledger"]] {
        walk(&project, more, "release", true);
    }
}

#[test]
fn the_examples_have_no_faults_and_no_warnings_but_of_questions_that_answer_themselves() {
    let project = Project::new();
    let folder = root().join("examples/activities");
    let checked = project.command(&["check", &folder.to_string_lossy()]).output().expect("the command runs");
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    let warnings: Vec<&str> = said.lines().filter(|line| line.starts_with("warning[")).collect();
    // A person turns the rehearsal on, and never before the release begins: nothing begins in that mode.
    let expected = |line: &&&str| line.contains("answers-itself") || line.contains("mode.dry-run");
    let known = warnings.iter().filter(expected).count();
    assert!(checked.status.success() && (warnings.len(), known) == (5, 5), "{said}");
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/navigation-api.md")).expect("the page")
}

/// The blocks of the page that begin with a line like that.
fn blocks(fence: &str) -> Vec<String> {
    let page = page();
    let mut parts = page.split("\n```");
    parts.next();
    // Every other part is outside of a block.
    parts.step_by(2).filter_map(|part| part.strip_prefix(fence)?.strip_prefix('\n')).map(str::to_owned).collect()
}

/// The handle that the page has in all its answers.
const SHOWN: &str = "3jycfyuc";

/// The page's session: a call, and below it the answer of the program.
#[test]
fn the_answers_on_the_page_are_those_of_the_program() {
    let project = Project::new();
    let script = &blocks("sh")[0];
    let (_, text) = script.split_once("<<'EOF'\n").expect("the page writes a workflow");
    project.write(".flow/workflows/review.yaml", text.split_once("EOF\n").expect("it ends").0);
    let shown: Vec<Value> = blocks("json")
        .iter()
        .map(|text| serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}")))
        .collect();
    assert!(shown.len() >= 8 && shown.len().is_multiple_of(2), "{} pieces of JSON", shown.len());
    let mut wire = serving(&project, &[]);
    let mut handle = SHOWN.to_owned();
    for pair in shown.chunks(2) {
        let call: Value = serde_json::from_str(&pair[0].to_string().replace(SHOWN, &handle)).expect("JSON");
        let answer = wire.call(call["name"].as_str().expect("a tool"), &call["arguments"]).value;
        if let Some((begun, _)) = answer["state"].as_str().and_then(|state| state.split_once('.')) {
            begun.clone_into(&mut handle);
        }
        let answer: Value = serde_json::from_str(&answer.to_string().replace(&handle, SHOWN)).expect("JSON");
        assert_eq!(answer, pair[1], "{call:#}\nis answered with\n{answer:#}");
    }
}

/// The codes that the page has in the tables of its section about refusals.
fn codes_on_the_page() -> BTreeSet<String> {
    let page = page();
    let section = page.split("\n## ").find(|section| section.starts_with("Refusals")).expect("a section");
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    cells.map(|(codes, _)| codes).flat_map(|codes| codes.split("`, `")).map(str::to_owned).collect()
}

/// What the tools do is written in these files; their codes stand in them as words of their own.
const SOURCES: [&str; 19] = [
    "portolan/src/mcp/leading.rs",
    "portolan/src/mcp/navigate/calls.rs",
    "portolan/src/mcp/navigate/schemas.rs",
    "portolan/src/mcp/arguments.rs",
    "portolan/src/mcp/ask.rs",
    "portolan-core/src/engine/rejection.rs",
    "portolan-runtime/src/carrier/token/fault.rs",
    "portolan-runtime/src/library.rs",
    "portolan-runtime/src/library/folder.rs",
    "portolan-runtime/src/disk/read.rs",
    "portolan-runtime/src/service/hold.rs",
    "portolan-runtime/src/service/lease.rs",
    "portolan-runtime/src/service/definitions.rs",
    "portolan-runtime/src/service/report.rs",
    "portolan-runtime/src/store/definitions.rs",
    "portolan-runtime/src/store/error.rs",
    "portolan-runtime/src/store/lease.rs",
    "portolan-runtime/src/trust/error.rs",
    "portolan-runtime/src/service/navigate",
];

/// Words of these files that no navigation tool answers with: the sources of definitions, which are no codes; what is
/// said at the start of the server, of task files, and of the moves of `Init`, `Start` and `Next`; and what becomes a
/// note in the message.
const ELSEWHERE: [&str; 14] = [
    "bad_bypass",
    "catalog",
    "external",
    "project",
    "duplicate_id",
    "task_not_found",
    "other_project",
    "not_begun",
    "no_outgoing_edges",
    "no_matching_edge",
    "branches_open",
    "unknown_branch",
    "unknown_step",
    "under_way",
];

/// The words in a source that are codes: what an error is made with, and what a code is turned into.
fn codes_in(source: &str) -> BTreeSet<String> {
    let source = source.split("#[cfg(test)]").next().expect("a part");
    let marks = ["ServiceError::refused(", "ServiceError::failed(", "ServiceError::of(", "code: ", "=> "];
    let after = marks.iter().flat_map(|mark| source.split(mark).skip(1));
    let code = |rest: &str| {
        let rest = rest.trim_start();
        let rest =
            rest.strip_prefix("ErrorKind::").and_then(|rest| rest.split_once(',')).map_or(rest, |(_, rest)| rest);
        let (word, _) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
        (!word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
            .then(|| word.to_owned())
    };
    after.filter_map(code).collect()
}

#[test]
fn every_code_of_the_sources_is_on_the_page() {
    let mut files: Vec<PathBuf> = SOURCES.iter().map(|file| root().join("crates").join(file)).collect();
    let folder = files.pop().expect("a folder");
    files.extend(std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()));
    let read = |file: &PathBuf| std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let known: BTreeSet<String> = files.iter().flat_map(|file| codes_in(&read(file))).collect();
    for code in ["stale", "bad_outputs", "keys_unusable", "invalid_arguments", "unknown_workflow", "disk_full"] {
        assert!(known.contains(code), "`{code}` was not found: {known:?}");
    }
    let shown = codes_on_the_page();
    let wanted: BTreeSet<String> = known.into_iter().filter(|code| !ELSEWHERE.contains(&code.as_str())).collect();
    assert_eq!(wanted.difference(&shown).collect::<Vec<_>>(), Vec::<&String>::new(), "they are not on the page");
    assert_eq!(shown.difference(&wanted).collect::<Vec<_>>(), Vec::<&String>::new(), "nobody is refused with them");
}

/// Calls that are refused, as many as a client alone can bring about, each with a code that the page has.
#[test]
fn who_is_refused_finds_the_code_on_the_page() {
    let project = examples();
    project.write(".flow/workflows/faulty.yaml", "id: faulty");
    let mut wire = serving(&project, &[]);
    let started = wire.done("start_workflow", &json!({ "workflow_id": "follow-up" }));
    let (state, shown) = (started["state"].as_str().expect("a state").to_owned(), codes_on_the_page());
    assert_eq!(headline(&started), "Follow-up · step 1: Look through the notes on no ticket");
    let of = |more: Value| {
        let mut arguments = json!({ "workflow_id": "follow-up", "state": state });
        arguments.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        arguments
    };
    let begin = |id: &str, variables: Value| json!({ "workflow_id": id, "variables": variables });
    let refused = [
        ("get_workflow", json!({ "workflow_id": "follow-up" }), "unknown_tool"),
        ("get_position", json!({ "workflow_id": "follow-up" }), "invalid_arguments"),
        ("start_workflow", begin("nowhere", json!({})), "unknown_workflow"),
        ("start_workflow", begin("../follow-up", json!({})), "bad_id"),
        ("start_workflow", begin("faulty", json!({})), "invalid_definition"),
        ("start_workflow", begin("work-package", json!({})), "bad_input"),
        ("start_workflow", json!({ "workflow_id": "follow-up", "description": "x".repeat(5_000) }), "too_large"),
        ("get_position", json!({ "workflow_id": "follow-up", "state": "?" }), "damaged"),
        ("get_position", json!({ "workflow_id": "follow-up", "state": "22222222" }), "unknown_run"),
        ("get_position", json!({ "workflow_id": "release", "state": state }), "workflow_mismatch"),
        ("get_position", of(json!({ "definition": "pinned" })), "bad_input"),
        ("complete_step", of(json!({ "step_id": "count" })), "step_mismatch"),
        ("complete_step", of(json!({ "step_id": "collect", "result": "failed" })), "unknown_result"),
        ("complete_step", of(json!({ "step_id": "collect", "outputs": { "leftovers": 3 } })), "bad_outputs"),
        ("complete_step", of(json!({ "step_id": "collect", "state": &state[..8] })), "revision_required"),
        ("complete_step", of(json!({ "step_id": "collect", "state": format!("{}.1", &state[..8]) })), "stale"),
        ("respond_to_checkpoint", of(json!({ "checkpoint_id": "worth", "option_id": "yes" })), "checkpoint_mismatch"),
        ("end_workflow", of(json!({ "reason": " " })), "bad_input"),
    ];
    for (tool, arguments, code) in refused {
        let answer = wire.call(tool, &arguments);
        assert!(answer.is_error, "{tool} {arguments}");
        assert_eq!(answer.value["error"]["code"], code, "{tool} {arguments}: {}", answer.value);
        assert!(shown.contains(code), "`{code}` is not on the page");
    }
    at_a_question_and_after_the_end(&mut wire, &state, &shown);
    without_a_store(&project, &shown);
}

fn at_a_question_and_after_the_end(wire: &mut Wire, state: &str, shown: &BTreeSet<String>) {
    let refuse = |wire: &mut Wire, now: &Value, tool: &str, mut arguments: Value, code: &str| {
        arguments["workflow_id"] = json!("follow-up");
        arguments["state"] = now["state"].clone();
        let answer = wire.call(tool, &arguments).value;
        assert_eq!(answer["error"]["code"], code, "{answer:#}");
        assert_eq!(answer["state"], now["state"], "a refusal shows where the run is");
        assert!(shown.contains(code), "`{code}` is not on the page");
    };
    let ask = json!({ "workflow_id": "follow-up", "state": state, "question": "How?", "options": ["so", "not"] });
    let now = wire.done("raise_checkpoint", &ask);
    refuse(wire, &now, "complete_step", json!({ "step_id": "collect" }), "checkpoint_open");
    let other = json!({ "checkpoint_id": "collect", "option_id": "yes" });
    refuse(wire, &now, "respond_to_checkpoint", other, "unknown_option");
    let end = json!({ "workflow_id": "follow-up", "state": now["state"], "reason": "that is all" });
    let now = wire.done("end_workflow", &end);
    refuse(wire, &now, "complete_step", json!({ "step_id": "collect" }), "workflow_completed");
}

fn without_a_store(project: &Project, shown: &BTreeSet<String>) {
    let begin = json!({ "workflow_id": "follow-up" });
    let now = serving(project, &["--stateless"]).done("start_workflow", &begin);
    let token = now["state"].as_str().expect("a token").to_owned();
    let look = |project: &Project, state: &str, code: &str| {
        let known = json!({ "workflow_id": "follow-up", "state": state });
        let answer = serving(project, &["--stateless"]).call("get_position", &known).value;
        assert_eq!(answer["error"]["code"], code, "{answer:#}");
        assert!(shown.contains(code), "`{code}` is not on the page");
    };
    look(project, &token[..token.len() - 4], "damaged");
    look(project, &token.replacen("v1.", "v2.", 1), "unsupported_version");
    let other = examples();
    serving(&other, &["--stateless"]).done("start_workflow", &begin);
    look(&other, &token, "not_authentic");
    let path = ".flow/workflows/follow-up.yaml";
    let text = std::fs::read_to_string(project.path().join(path)).expect("it is there");
    project.write(path, &text.replace("version: 1.0.0", "version: 1.0.1"));
    let known = json!({ "workflow_id": "follow-up", "state": token });
    let told = serving(project, &["--stateless"]).done("get_position", &known);
    assert!(
        told["guidance"]["message"]
            .as_str()
            .or(told["message"].as_str())
            .is_some_and(|text| text.contains("has changed since")),
        "{told:#}"
    );
    let migrate = json!({ "workflow_id": "follow-up", "state": token, "definition": "migrate" });
    let refused = serving(project, &["--stateless"]).call("get_position", &migrate).value;
    assert_eq!(refused["error"]["code"], "needs_person", "{refused:#}");
    assert!(shown.contains("needs_person"), "`needs_person` is not on the page");
    std::fs::remove_dir_all(project.path().join(".portolan/definitions")).expect("copies are kept");
    look(project, &token, "definition_changed");
}
