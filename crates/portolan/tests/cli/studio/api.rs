//! What the interface answers.

use std::collections::BTreeSet;

use expect_test::expect;
use portolan_core::run::RaisedQuestion;
use portolan_core::value::Outcome;
use portolan_runtime::service::{Act, Open, Request, Service, ServiceError};
use portolan_runtime::trust::{Digest, TrustEntry, commands, commands_digest};
use serde_json::{Value, json};

use super::Studio;
use crate::calls::{Calls, Move};
use crate::support::{Project, SUM, reported};

#[test]
fn every_method_that_is_described_is_answered() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let described = studio.get("/openapi.json").json();
    let paths = described["paths"].as_object().expect("paths");
    let mut tried = 0;
    for (path, methods) in paths.iter().filter(|(path, _)| *path != "/events") {
        let path =
            path.replace("{id}", "small").replace("{run}", "abcdefgh").replace("{seq}", "1").replace("{node}", "x");
        for method in methods.as_object().expect("methods").keys() {
            let answer = match method.as_str() {
                "get" => studio.get(&path),
                "put" => studio.put(&path, &json!({})),
                _ => studio.post(&path, &json!({})),
            };
            let code = answer.json()["error"]["code"].as_str().unwrap_or_default().to_owned();
            assert!(!["unknown_path", "unknown_method"].contains(&&*code), "{method} {path}: {code}");
            tried += 1;
        }
        let is_read = methods.get("get").is_some();
        let other = if is_read { studio.post(&path, &json!({})) } else { studio.get(&path) };
        assert_eq!(other.refusal(), "405 unknown_method", "{path}");
    }
    assert!(tried > 12);
    assert_eq!(studio.get("/nothing").refusal(), "404 unknown_path");
}

#[test]
fn definitions_are_listed_with_their_faults() {
    let project = Project::small();
    project.write(".flow/workflows/sums.yaml", SUM);
    project.write(".flow/workflows/broken.json", "{ \"nodes\": ");
    let studio = Studio::of(&project, &[]);
    let listed = studio.get("/definitions").json();
    let of = |id: &str| {
        let lines = listed["definitions"].as_array().expect("a list");
        lines.iter().find(|line| line["id"] == id).unwrap_or_else(|| panic!("`{id}` is listed")).clone()
    };
    assert_eq!((of("small")["dialect"].as_str(), &of("small")["led"]), (Some("navigator"), &json!(true)));
    assert_eq!((of("sums")["dialect"].as_str(), &of("sums")["led"]), (Some("toolgraph"), &json!(false)));
    assert_eq!(of("bug-fix")["source"], "catalog");
    assert_ne!(of("broken")["errors"], 0);
    assert_eq!(of("small")["file"], ".flow/workflows/small.json");
    // Runs of a function have its name, not that of its file.
    assert_eq!((&of("small")["roots"], &of("sums")["roots"]), (&json!(["small"]), &json!(["sum", "sums"])));
}

/// One clash does not hide the other definitions.
#[test]
fn given_files_with_the_same_id_are_told_at_their_entries() {
    let project = Project::new();
    let small = crate::support::SMALL;
    for file in ["one/twice.json", "two/twice.json", "one/deep/inner/workflow.json", "one/lone.json"] {
        project.write(file, small);
    }
    for file in ["README.md", "one/README.md", "one/answers.yaml"] {
        project.write(file, "- text: not a workflow\n");
    }
    project.write("two/lone.md", "Lone is a workflow.\n");
    let given = ["one", "two/twice.json", "one/deep", "one/deep/inner", "README.md", "one/README.md", "two/lone.md"];
    let studio = Studio::of(&project, &given);
    let listed = studio.get("/definitions").json();
    let lines = listed["definitions"].as_array().expect("a list");
    let own = lines.iter().filter(|line| line["source"] == "project");
    let told: Vec<String> = own
        .map(|line| {
            let word = |name: &str| line[name].as_str().unwrap_or("-").to_owned();
            let told = [word("id"), word("file"), word("fault"), line["opens"].to_string(), word("description")];
            told.join(" ").trim_end().to_owned()
        })
        .collect();
    expect![[r#"
        inner one/deep/inner/workflow.json - true
        lone one/lone.json - true
        twice one/twice.json duplicate_id false `two/twice.json` has the id `twice` as well: rename one of the files, then start the studio again
        twice two/twice.json duplicate_id false `one/twice.json` has the id `twice` as well: rename one of the files, then start the studio again
        answers one/answers.yaml no_definition true this is no definition: it has none of the formats of definitions
        README README.md no_definition false this is no definition: it has none of the formats of definitions
        README one/README.md no_definition false this is no definition: it has none of the formats of definitions
        lone two/lone.md no_definition false this is no definition: it has none of the formats of definitions
    "#]].assert_eq(&(told.join("\n") + "\n"));
    assert!(studio.get("/definitions/lone").json()["sound"].as_bool().expect("it is read"));
    let refused = studio.get("/definitions/twice");
    assert_eq!(refused.json()["error"]["message"], "`one/twice.json` and `two/twice.json` both define `twice`");
}

#[test]
fn a_definition_comes_with_its_drawing_and_its_places() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let told = studio.get("/definitions/small").json();
    assert_eq!((&told["writable"], &told["sound"]), (&json!(true), &json!(true)));
    let text = told["files"][0]["text"].as_str().expect("a text");
    let drawn = told["drawing"]["nodes"].as_array().expect("nodes");
    let names: BTreeSet<&str> = drawn.iter().filter_map(|node| node["id"].as_str()).collect();
    assert_eq!(names, BTreeSet::from(["start", "work", "verify", "stuck", "done"]));
    for name in names {
        let place = &told["about"][name]["place"];
        let at = |end: &str| usize::try_from(place[end].as_u64().expect("an offset")).expect("it is small");
        assert_eq!(&text[at("from")..at("to")], format!("\"{name}\""));
    }
    let edges = told["drawing"]["edges"].as_array().expect("edges");
    assert_eq!(edges.len(), 6);
    assert_eq!(told["about"]["work"]["facts"][0], json!({ "label": "instructions", "text": "Do it." }));
}

#[test]
fn a_text_that_is_being_written_is_read_as_it_is() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let text = crate::support::SMALL.replace("\"to\": \"verify\"", "\"to\": \"verfy\"").replace("Do it.", "Tü 𝄞 it.");
    let wanted = json!({ "files": [{ "name": "small.json", "text": text }] });
    let told = studio.post("/definitions/small/checks", &wanted).json();
    assert_eq!(told["sound"], true);
    let problems = told["problems"].as_array().expect("a list");
    let problem = problems.iter().find(|problem| problem["code"] == "unknown-node").expect("it is found");
    assert_eq!(problem["message"], "an edge leads to `verfy`, which is not defined");
    assert_eq!(problem["help"], "did you mean `verify`?");
    // Places count as the page's strings do.
    let units: Vec<u16> = text.encode_utf16().collect();
    let at = |end: &str| usize::try_from(problem["place"][end].as_u64().expect("an offset")).expect("it is small");
    assert_eq!(String::from_utf16_lossy(&units[at("from")..at("to")]), "\"verfy\"");
    // On disk nothing has changed, and there everything is sound.
    assert!(studio.get("/definitions/small").json()["problems"].as_array().expect("a list").is_empty());
    let broken = json!({ "files": [{ "name": "small.json", "text": "{ \"nodes\": " }] });
    let told = studio.post("/definitions/small/checks", &broken).json();
    assert_eq!((&told["sound"], &told["drawing"]), (&json!(false), &Value::Null));
    let two = json!({ "files": [{ "name": "a", "text": "" }, { "name": "b", "text": "" }] });
    assert_eq!(studio.post("/definitions/small/checks", &two).refusal(), "422 other_files");
}

#[test]
fn a_run_is_told_at_each_of_its_moments() {
    let mut project = Project::small();
    let run = project.run("small", "passed failed");
    let studio = Studio::of(&project, &[]);
    let told = studio.get(&format!("/runs/{run}")).json();
    assert_eq!((&told["status"], &told["head"], &told["workflow"]), (&json!("working"), &json!(4), &json!("small")));
    let records = studio.get(&format!("/runs/{run}/records")).json();
    let texts: Vec<&str> =
        records["records"].as_array().expect("a list").iter().filter_map(|record| record["text"].as_str()).collect();
    expect![[r#"
        [
            "agent tester opened `small`",
            "agent tester began → now at `work`",
            "agent tester reported passed → now at `verify`",
            "agent tester reported failed → retry 1 of 1 for `verify`, now at `work`",
        ]
    "#]]
    .assert_debug_eq(&texts);
    let steps: Vec<Value> = (1..=4)
        .map(|seq| studio.get(&format!("/runs/{run}/at/{seq}")).json()["situation"]["position"]["step"].clone())
        .collect();
    assert_eq!(steps, ["start", "work", "verify", "work"]);
    let now = studio.get(&format!("/runs/{run}/at/4")).json();
    assert_eq!(
        now["overlay"]["nodes"]["verify"],
        json!({ "state": "failed", "visits": 1, "failures": 1, "used": 1, "budget": 1 })
    );
    assert!(now["words"].as_str().expect("words").contains("Do it."));
    let second = studio.get(&format!("/runs/{run}/records?after=1&limit=1")).json();
    assert_eq!(second["records"][0]["seq"], 2);
    assert_eq!(studio.get(&format!("/runs/{run}/at/5")).refusal(), "404 unknown_record");
    assert_eq!(studio.get(&format!("/runs/{run}/records/9")).refusal(), "404 unknown_record");
    assert_eq!(studio.get("/runs/abcdefgh").refusal(), "404 unknown_run");
    assert_eq!(studio.get(&format!("/runs/{run}/at/x")).refusal(), "400 bad_request");
    let whole = studio.get(&format!("/runs/{run}/records/2")).json();
    assert_eq!(whole["seq"], 2);
    // A run that moves on is told as it is then.
    project
        .agent(async |service, me| {
            let address = crate::support::address(&run);
            let view = service.view(&portolan_runtime::service::Request::of(address), me).await?;
            crate::calls::Calls::next(service, &crate::support::reported(&view, "passed"), me).await
        })
        .expect("it is accepted");
    assert_eq!(studio.get(&format!("/runs/{run}")).json()["head"], 5);
}

#[test]
fn a_failure_after_which_nobody_may_retry_is_counted_too() {
    let mut project = Project::new();
    project.write(
        ".flow/workflows/checked.json",
        r#"{ "id": "checked", "nodes": { "start": { "type": "start" }, "done": { "type": "end", "result": "success" },
  "work": { "type": "task", "maxRetries": 1, "accept": [{ "id": "there", "file": "there.txt" }] } },
"edges": [ { "from": "start", "to": "work" }, { "from": "work", "to": "done" } ] }
"#,
    );
    let run = project.run("checked", "passed passed");
    let studio = Studio::of(&project, &[]);
    let head = studio.get(&format!("/runs/{run}")).json()["head"].clone();
    let now = studio.get(&format!("/runs/{run}/at/{head}")).json();
    let work = json!({ "state": "waiting", "worst": "failed", "visits": 2, "failures": 2, "used": 1, "budget": 1 });
    assert_eq!(now["overlay"]["nodes"]["work"], work);
}

#[test]
fn the_consequence_of_an_answer_is_what_follows_the_nodes_that_nobody_works_on() {
    let mut project = Project::new();
    project.write(
        ".flow/workflows/ask.json",
        r#"{ "id": "ask", "nodes": { "start": { "type": "start" }, "work": { "type": "task" },
  "ask": { "type": "end", "result": "blocked", "escalation": "hitl", "description": "Shall it go out?" },
  "way": { "type": "subflow", "workflow": "inner", "name": "Inside" },
  "notes": { "type": "task", "name": "Mend the notes" }, "done": { "type": "end", "name": "Out", "result": "success" } },
"edges": [ { "from": "start", "to": "work" }, { "from": "work", "to": "ask" },
  { "from": "ask", "to": "way", "on": "passed" }, { "from": "ask", "to": "notes", "on": "failed" },
  { "from": "way", "to": "done" }, { "from": "notes", "to": "ask" } ] }
"#,
    );
    project.write(
        ".flow/workflows/inner.json",
        r#"{ "id": "inner", "nodes": { "start": { "type": "start" }, "tag": { "type": "task", "name": "Tag it" },
  "done": { "type": "end", "result": "success" } },
"edges": [ { "from": "start", "to": "tag" }, { "from": "tag", "to": "done" } ] }
"#,
    );
    project.run("ask", "passed");
    let question = Studio::of(&project, &[]).get("/inbox").json()["questions"][0].clone();
    let options = question["options"].as_array().expect("options").iter();
    let told: Vec<_> = options.map(|option| option["meaning"].clone()).collect();
    let meanings =
        ["The run continues at Tag it.", "The run continues at Mend the notes.", "The run ends as cancelled."];
    assert_eq!(told, meanings);
}

#[test]
fn the_visits_of_a_node_say_what_was_reported() {
    let mut project = Project::small();
    let run = project.run("small", "passed failed passed passed");
    let studio = Studio::of(&project, &[]);
    let told = studio.get(&format!("/runs/{run}/nodes/verify")).json();
    let visits = told["visits"].as_array().expect("a list");
    let reported: Vec<&str> = visits.iter().filter_map(|visit| visit["reports"][0]["outcome"].as_str()).collect();
    assert_eq!(reported, ["failed", "passed"]);
    assert_eq!(visits[0]["reports"][0]["by"], json!({ "is": "agent", "name": "tester" }));
    assert!(visits.iter().all(|visit| visit["ended"].is_i64()));
    let earlier = studio.get(&format!("/runs/{run}/nodes/verify?at=3")).json();
    assert_eq!(earlier["visits"].as_array().map(Vec::len), Some(1));
    assert!(earlier["visits"][0]["ended"].is_null(), "it was under way");
}

#[test]
fn commands_that_nobody_has_trusted_are_told_with_the_run_and_its_visits() {
    let mut project = Project::new();
    project.write(".flow/workflows/checked.json", crate::support::checked(r#"["make", "test"]"#));
    let run = project.run("checked", "failed");
    let studio = Studio::of(&project, &[]);
    let lacking = json!({
        "help": "run `portolan trust .flow/workflows/checked.json`",
        "runs": [{ "node": "work", "argv": ["make", "test"] }],
    });
    assert_eq!(studio.get(&format!("/runs/{run}")).json()["untrusted"], lacking);
    let visits = studio.get(&format!("/runs/{run}/nodes/work")).json()["visits"].clone();
    assert_eq!(visits[0]["unchecked"], json!(["tests"]));
    let listed = |studio: &Studio| {
        let listed = studio.get("/definitions").json();
        listed["definitions"].as_array().and_then(|all| all.iter().find(|one| one["id"] == "checked")).cloned()
    };
    assert_eq!(listed(&studio).expect("it is there")["untrusted"], true);
    project.agent(async |service, _| trusted(service)).expect("trust is recorded");
    assert!(studio.get(&format!("/runs/{run}")).json()["untrusted"].is_null());
    assert_eq!(listed(&studio).expect("it is there")["untrusted"], false);
}

#[test]
fn commands_that_the_project_attaches_are_told_alike() {
    let mut project = Project::small();
    project.write(".portolan/verify.yaml", "verify: [{ node: wo*, accept: [{ id: tests, run: [make, test] }] }]");
    let run = project.run("small", "failed");
    let lacking = json!({
        "help": "run `portolan trust .portolan/verify.yaml`",
        "runs": [{ "node": "wo*", "argv": ["make", "test"] }],
    });
    assert_eq!(Studio::of(&project, &[]).get(&format!("/runs/{run}")).json()["untrusted"], lacking);
}

#[test]
fn what_is_checked_at_a_step_stands_beside_its_picture() {
    let mut project = Project::small();
    project.write(".portolan/verify.yaml", "verify:\n  - { node: wo*, accept: [{ check: tests }] }\n");
    let run = project.run("small", "");
    let studio = Studio::of(&project, &[]);
    let told = |about: &Value| {
        let one = |id: &str| (about[id]["verification"].clone(), about[id]["checks"].clone());
        [one("work"), one("verify"), one("stuck")]
    };
    let check = |line: Value| json!([{ "id": "tests", "what": "the project's tests", "attachedBy": { "file": ".portolan/verify.yaml", "line": line } }]);
    let expected =
        |line: Value| [(json!("checked"), check(line)), (json!("believed"), Value::Null), (Value::Null, Value::Null)];
    let definition = studio.get("/definitions/small").json();
    assert_eq!(told(&definition["about"]), expected(json!(2)));
    let drawn = definition["drawing"]["nodes"].as_array().expect("nodes").iter();
    let marks: Vec<&Value> = drawn.map(|node| &node["verification"]).filter(|mark| !mark.is_null()).collect();
    assert_eq!(marks, [&json!("checked"), &json!("believed")]);
    // The run is held to what it began with, and not to the lines of a file that may have changed.
    let of_run = studio.post(&format!("/runs/{run}/drawing"), &json!({})).json();
    assert_eq!(told(&of_run["about"]), expected(Value::Null));
}

#[test]
fn a_run_is_forked() {
    let mut project = Project::small();
    let run = project.run("small", "passed");
    let studio = Studio::of(&project, &[]);
    let fork = studio.post(&format!("/runs/{run}/fork"), &json!({ "seq": 2 })).json();
    let fork = fork["run"].as_str().expect("a run").to_owned();
    let told = studio.get(&format!("/runs/{fork}")).json();
    assert_eq!((&told["origin"], &told["head"]), (&json!({ "run": run, "seq": 2 }), &json!(2)));
    assert_eq!(studio.post(&format!("/runs/{run}/fork"), &json!({ "seq": 99 })).refusal(), "404 unknown_record");
    assert_eq!(studio.post(&format!("/runs/{run}/fork"), &json!({ "seq": "x" })).refusal(), "400 bad_request");
}

#[test]
fn a_fork_stands_on_the_definition_as_it_is_now() {
    let mut project = Project::small();
    project.write(".flow/workflows/sums.yaml", SUM);
    let led = project.run("small", "passed");
    let studio = Studio::of(&project, &[]);
    let current = |run: &str, seq: u64| {
        studio.post(&format!("/runs/{run}/fork"), &json!({ "seq": seq, "definition": "current" }))
    };
    let wanted = json!({ "input": { "a": 1, "b": 2 }, "paused": true });
    let run = studio.post("/definitions/sums/try", &wanted).json()["run"].as_str().expect("a run").to_owned();
    let is_current = |run: &str| studio.get(&format!("/runs/{run}")).json()["definition"]["current"].clone();
    assert_eq!([is_current(&run), is_current(&led)], [json!(true), json!(true)]);
    project.write(".flow/workflows/sums.yaml", format!("# It is another text now.\n{SUM}"));
    assert_eq!([is_current(&run), is_current(&led)], [json!(false), json!(true)]);
    let forked = current(&run, 1).json();
    let fork = forked["run"].as_str().unwrap_or_else(|| panic!("{forked}"));
    let told = studio.get(&format!("/runs/{fork}")).json();
    let carried = &told["origin"]["carried"][0];
    assert_eq!(carried["seq"], 1);
    assert_eq!(carried["to"], told["definition"]["digest"]);
    assert_eq!(carried["from"], studio.get(&format!("/runs/{run}")).json()["definition"]["digest"]);
    // An agent's run is carried over by a person, and whoever has the token may be none.
    let text = crate::support::SMALL.replace("Do it.", "Do it well.");
    project.write(".flow/workflows/small.json", &text);
    assert_eq!(is_current(&led), json!(false));
    assert_eq!(current(&led, 2).refusal(), "403 needs_person");
    project.write(".flow/workflows/small.json", "{");
    assert_eq!(is_current(&led), json!(null), "no file has a valid one");
    let wrong = json!({ "seq": 2, "definition": "other" });
    assert_eq!(studio.post(&format!("/runs/{led}/fork"), &wrong).refusal(), "400 bad_request");
}

#[test]
fn what_is_too_large_or_no_json_is_told() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let large = json!({ "files": [{ "name": "a", "text": "x".repeat(17 << 20) }] });
    assert_eq!(studio.post("/definitions/small/checks", &large).refusal(), "413 too_large");
    let (host, bearer) = (studio.host(), studio.bearer());
    let headers = [("Host", &*host), ("Authorization", &*bearer), ("Content-Type", "application/json")];
    let answer = studio.with("POST", "/api/v1/definitions/small/checks", &headers, "{ nothing");
    assert_eq!(answer.refusal(), "400 bad_request");
}

#[test]
fn names_that_are_markup_stay_text() {
    let project = Project::new();
    let name = "<img src=x onerror=alert(1)>";
    project.write(".flow/workflows/small.json", crate::support::SMALL.replace("Small", name));
    let studio = Studio::of(&project, &[]);
    let answer = studio.get("/definitions/small");
    assert_eq!(answer.json()["name"], name);
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[test]
fn the_page_comes_compressed_to_who_takes_it_and_once() {
    let project = Project::new();
    let studio = Studio::of(&project, &[]);
    let host = studio.host();
    let file = |encoding: Option<&str>, known: Option<&str>| {
        let mut headers = vec![("Host", &*host)];
        headers.extend(encoding.map(|encoding| ("Accept-Encoding", encoding)));
        headers.extend(known.map(|known| ("If-None-Match", known)));
        studio.with("GET", "/favicon.svg", &headers, "")
    };
    for (encoding, packed) in [
        (Some("gzip, deflate, br"), true),
        (Some("br;q=1, GZIP ; q=0.5"), true),
        (Some("gzip;q=0"), false),
        (Some("identity"), false),
        (None, false),
    ] {
        let answer = file(encoding, None);
        assert_eq!(answer.header("content-encoding"), packed.then_some("gzip"), "{encoding:?}");
        assert_eq!(answer.header("vary"), Some("accept-encoding"));
        assert_eq!(answer.body.starts_with("<svg"), !packed, "{encoding:?}");
        let etag = answer.header("etag").expect("it has a tag");
        let again = file(encoding, Some(etag));
        assert_eq!((again.status, &*again.body), (304, ""), "{encoding:?}");
        let other = file(if packed { None } else { Some("gzip") }, Some(etag));
        assert_eq!(other.status, 200, "the other form has another tag: {encoding:?}");
    }
}

#[test]
fn the_project_says_what_is_trusted_and_whether_its_log_is_whole() {
    let project = Project::new();
    project.write(".flow/workflows/checked.json", crate::support::checked(r#"["make", "test"]"#));
    let studio = Studio::of(&project, &[]);
    assert_eq!(studio.get("/project/trust").json()["trusted"], json!([]));
    project.agent(async |service, _| trusted(service)).expect("trust is recorded");
    let trusted = studio.get("/project/trust").json()["trusted"].clone();
    assert_eq!(trusted[0]["runs"], json!([{ "node": "work", "argv": ["make", "test"] }]));
    let revoked = studio.post("/project/trust/revoke", &json!({ "key": trusted[0]["key"] }));
    assert_eq!(revoked.json(), json!({ "revoked": true }));
    assert_eq!(studio.get("/project/trust").json()["trusted"], json!([]));
    let log = studio.get("/project/log").json();
    assert_eq!(log["fault"], Value::Null);
    let hooks = studio.get("/project/hooks").json();
    assert_eq!(hooks["installed"], false);
}

/// Trusts the commands of the workflow `checked`, as a person does.
fn trusted(service: &Service) -> Result<(), ServiceError> {
    let definition = service.library().definition("checked")?;
    let entry = TrustEntry {
        project: service.project().to_owned(),
        commands: commands_digest(&definition.workflow).expect("it has commands"),
        file: Digest::of(b""),
        path: "checked.json".to_owned(),
        at: service.now(),
        runs: commands(&definition.workflow),
    };
    service.trust().record(entry).expect("there is room for it");
    Ok(())
}

#[test]
fn a_finding_about_an_edge_stands_at_the_step_that_it_leads_from() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let edge = "\"edges\": [\n    { \"from\": \"work\", \"to\": \"done\", \"on\": \"passed\" },";
    let text = crate::support::SMALL.replacen("\"edges\": [", edge, 1);
    let told =
        studio.post("/definitions/small/checks", &json!({ "files": [{ "name": "small.json", "text": text }] })).json();
    let problems = told["problems"].as_array().expect("a list");
    let of_edges: Vec<_> =
        problems.iter().filter(|problem| problem["message"].to_string().contains("edge from `work`")).collect();
    assert!(!of_edges.is_empty(), "{problems:?}");
    for problem in of_edges {
        assert_eq!(problem["node"], "work", "{problem}");
    }
}

#[test]
fn the_inbox_says_what_each_answer_is_called_and_leads_to() {
    let mut project = Project::new();
    project.write(
        ".flow/workflows/ship.json",
        r#"{ "nodes": { "start": { "type": "start" }, "work": { "type": "task" },
  "ask": { "type": "end", "result": "blocked", "escalation": "hitl", "description": "Shall it go out?" },
  "tag": { "type": "task", "name": "Tag the release" }, "done": { "type": "end", "result": "success" },
  "dropped": { "type": "end", "name": "Not released", "result": "cancelled" } },
"edges": [ { "from": "start", "to": "work" }, { "from": "work", "to": "ask" },
  { "from": "ask", "to": "tag", "on": "passed", "label": "Publish" },
  { "from": "ask", "to": "dropped", "on": "cancelled" }, { "from": "tag", "to": "done" } ] }
"#,
    );
    let run = project.run("ship", "passed");
    let studio = Studio::of(&project, &[]);
    let question = studio.get("/inbox").json()["questions"][0].clone();
    assert_eq!(question["run"], json!(run));
    let options = question["options"].as_array().expect("options");
    let told =
        |outcome: &str| options.iter().find(|option| option["outcome"] == outcome).expect("it is offered").clone();
    assert_eq!(told("passed")["title"], "Publish");
    assert_eq!(told("passed")["meaning"], "The run continues at Tag the release.");
    assert_eq!(told("cancelled")["meaning"], "The run ends at Not released.");
}

#[test]
fn the_inbox_has_the_notes_of_the_last_reports_and_says_who_continues() {
    let project = Project::small();
    let told = project.agent(async |service, me| {
        let init = Open { workflow: Some("small".to_owned()), ..Open::default() };
        let mut view = service.open(&init, me).await?;
        view = service.start(&view.address, None, me).await?;
        for (outcome, note) in [("passed", "1"), ("failed", "2"), ("passed", "3"), ("failed", "the tests hang")] {
            let note = Some(note.to_owned());
            view = service.next(&Move { note, ..reported(&view, outcome) }, me).await?;
        }
        Ok(view)
    });
    told.expect("the moves are accepted");
    let question = Studio::of(&project, &[]).get("/inbox").json()["questions"][0].clone();
    let notes = question["notes"].as_array().expect("notes");
    let told = |note: &Value| (note["step"].clone(), note["outcome"].clone(), note["note"].clone());
    let notes: Vec<_> = notes.iter().map(told).collect();
    let note = |step: &str, outcome: &str, note: &str| (json!(step), json!(outcome), json!(note));
    let last = [note("verify", "failed", "the tests hang"), note("work", "passed", "3"), note("verify", "failed", "2")];
    assert_eq!(notes, last);
    assert_eq!(question["led"], true);
    let options = question["options"].as_array().expect("options");
    let meaning = |outcome: &str| options.iter().find(|option| option["outcome"] == outcome).expect("it is offered");
    assert_eq!(meaning("passed")["meaning"], "The run continues at work.");
    assert_eq!(meaning("cancelled")["meaning"], "The run ends as cancelled.");
}

const GREETING: &str = r#"
objective: A greeting
states:
  draft: { objective: Greet the person }
  approve: { ask: May the greeting be sent?, options: [send, again] }
  send: { objective: The end, is_final: true }
transitions: { draft: approve, approve: { send: send, again: draft } }
"#;

fn newest(project: &Project) -> String {
    project.says("runs list --all").split_whitespace().next().expect("a run").to_owned()
}

#[test]
fn a_question_of_a_function_shows_what_is_asked_about() {
    let project = Project::new();
    project.write("greeting.yaml", GREETING);
    project.write("answers.yaml", "- text: Dear Ada\n- text: Hello Ada\n");
    let said = project.says("run greeting.yaml --model scripted:answers.yaml");
    assert!(said.ends_with("exit: 4\n"), "{said}");
    let studio = Studio::of(&project, &[]);
    let outputs = || studio.get("/inbox").json()["questions"][0]["outputs"].clone();
    let draft = |text: &str| json!([{ "step": "draft", "stepName": "draft", "text": text, "cut": false }]);
    assert_eq!(outputs(), draft("Dear Ada"));
    let run = newest(&project);
    let spent = studio.get("/halts").json()["halts"][&run]["spent"].clone();
    assert_eq!((&spent["attempts"], &spent["model_calls"]), (&json!(1), &json!(1)), "{spent}");
    project.write("more.yaml", "- text: Hello Ada\n");
    let said = project.says(&format!("runs answer {run} again"));
    assert!(said.ends_with("exit: 0\n"), "{said}");
    let said = project.says(&format!("runs resume {run} --model scripted:more.yaml"));
    assert!(said.ends_with("exit: 4\n"), "{said}");
    assert_eq!(outputs(), draft("Hello Ada"));
}

#[test]
fn a_run_without_a_model_says_why_it_waits_and_what_continues_it() {
    let project = Project::new();
    project.write("greeting.yaml", GREETING);
    assert!(project.says("run greeting.yaml").ends_with("exit: 4\n"));
    let run = newest(&project);
    let studio = Studio::of(&project, &[]);
    let halt = studio.get("/halts").json()["halts"][&run].clone();
    assert_eq!((&halt["turn"], &halt["stepName"]), (&json!("held"), &json!("draft")));
    assert_eq!(halt["asks"], "no model is set for `draft`; name one with `--model`, or in the file");
    let help = format!("`portolan runs resume {run} --go-on --model PROVIDER:MODEL` continues it");
    assert_eq!(halt["help"], help);
    let told = studio.get(&format!("/runs/{run}")).json();
    assert_eq!((&told["status"], &told["halt"]["help"]), (&json!("waiting"), &json!(help)));
}

#[test]
fn an_answer_to_an_agents_own_question_leads_back_to_its_step() {
    let project = Project::small();
    let told = project.agent(async |service, me| {
        let view = service.open(&Open { workflow: Some("small".to_owned()), ..Open::default() }, me).await?;
        let view = service.start(&view.address, None, me).await?;
        let revision = Some(view.situation.position.revision);
        let request = Request { revision, ..Request::of(view.address) };
        // One option is called like an outcome of the step, which leads elsewhere.
        let options = vec![Outcome::from("passed"), Outcome::from("later")];
        let raised = RaisedQuestion { question: "Is Friday good?".to_owned(), options };
        service.act(&request, &Act::Raise(raised), me).await
    });
    told.expect("the question is taken");
    let question = Studio::of(&project, &[]).get("/inbox").json()["questions"][0].clone();
    let meanings = question["options"].as_array().expect("options").iter().map(|option| option["meaning"].clone());
    assert_eq!(meanings.collect::<Vec<_>>(), vec![json!("The agent gets this answer and continues at work."); 2]);
}
