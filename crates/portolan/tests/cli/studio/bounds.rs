//! What is too much: definitions of many nodes, a journal of many records, a disk that is full.

use std::sync::Arc;

use portolan_core::run::{Actor, Event, EventKind};
use portolan_core::value::Timestamp;
use portolan_runtime::service::Open;
use portolan_runtime::store::{NewRun, Record, RunId};
use serde_json::{Value, json};

use super::Studio;
use crate::calls::Calls;
use crate::support::{Project, SMALL};

/// A chain of so many nodes.
fn chain(count: usize) -> String {
    let task = |nth: usize| format!("t{nth}");
    let (mut nodes, mut edges) = (serde_json::Map::new(), Vec::new());
    nodes.insert("start".to_owned(), json!({ "type": "start" }));
    let mut last = "start".to_owned();
    for nth in 0..count - 2 {
        nodes.insert(task(nth), json!({ "type": "task" }));
        edges.push(json!({ "from": last, "to": task(nth) }));
        last = task(nth);
    }
    nodes.insert("done".to_owned(), json!({ "type": "end", "result": "success" }));
    edges.push(json!({ "from": last, "to": "done" }));
    json!({ "nodes": nodes, "edges": edges }).to_string()
}

#[test]
fn a_definition_is_shown_up_to_the_most_nodes_and_refused_beyond_with_what_to_do() {
    let project = Project::small();
    project.write(".flow/workflows/nine.json", chain(9_000));
    project.write(".flow/workflows/many.json", chain(10_001));
    let studio = Studio::of(&project, &[]);
    let nine = studio.get("/definitions/nine").json();
    assert_eq!(nine["drawing"]["nodes"].as_array().map(Vec::len), Some(9_000));
    assert_eq!(nine["problems"], json!([]));
    let many = studio.get("/definitions/many").json();
    assert_eq!((&many["sound"], &many["drawing"]), (&json!(false), &Value::Null));
    let problem = &many["problems"][0];
    assert_eq!(problem["message"], "the workflow has 10001 nodes, more than the limit of 10000");
    assert_eq!(problem["help"], "move parts of it into subflows");
    let listed = studio.get("/definitions").json();
    let line = listed["definitions"].as_array().expect("a list").iter().find(|line| line["id"] == "many");
    assert_eq!(line.expect("it is listed")["errors"], 1);
}

/// Work that is looked at again and again.
const ROUND: &str = r#"{ "nodes": { "start": { "type": "start" }, "fix": { "type": "task" },
  "check": { "type": "task", "outputs": ["enough", "again"] }, "done": { "type": "end", "result": "success" } },
"edges": [{ "from": "start", "to": "fix" }, { "from": "fix", "to": "check" },
  { "from": "check", "to": "fix", "on": "again" }, { "from": "check", "to": "done", "on": "enough" }] }"#;

/// A run that has a journal of so many records. What happens is decided by the engine, and kept at once.
fn long_run(project: &Project, count: u64) -> String {
    let open =
        Open { workflow: Some("round".to_owned()), description: Some("on and on".to_owned()), ..Open::default() };
    let kept = project.agent(async |service, me| {
        let view = service.open(&open, me).await?;
        let begun = service.start(&view.address, None, me).await?.address;
        let past = service.past(&begun).await?;
        let (definition, mut run) = (past.definition(), past.trail().run().expect("it has begun").clone());
        let mut records = service.page(&begun, 0, usize::MAX).await?;
        while (records.len() as u64) < count {
            let outcome = if run.positions()[0].1.place.node().as_str() == "fix" { "passed" } else { "again" };
            let at = Timestamp(1_700_000_000_000 + records.len() as i64);
            let event = Event { at, by: Actor::Agent("tester".to_owned()), what: EventKind::reported(outcome) };
            let changes = run.step(&definition.workflow, &event).expect("it may be reported");
            records.push(Record { seq: records.len() as u64 + 1, event, changes });
        }
        let (id, text) = (RunId::random(), Arc::clone(&definition.text));
        let new = NewRun {
            id: id.clone(),
            definition: definition.digest.clone(),
            definition_text: text,
            cover: None,
            run,
            records,
        };
        service.store().create(new).await.expect("it is kept");
        Ok(id)
    });
    kept.expect("it is kept").to_string()
}

#[test]
fn a_journal_of_a_hundred_thousand_records_is_read_where_it_is_looked_at() {
    const COUNT: u64 = 100_000;
    let project = Project::small();
    project.write(".flow/workflows/round.json", ROUND);
    let run = long_run(&project, COUNT);
    let studio = Studio::of(&project, &[]);
    assert_eq!(studio.get(&format!("/runs/{run}")).json()["head"], COUNT);
    for seq in [1, COUNT / 2, COUNT] {
        let moment = studio.get(&format!("/runs/{run}/at/{seq}")).json();
        assert_eq!(moment["seq"], seq);
        let here =
            moment["overlay"]["nodes"].as_object().expect("nodes").iter().find(|(_, node)| node["state"] == "here");
        assert!(here.is_some(), "{moment}");
        let page = studio.get(&format!("/runs/{run}/records?after={}&limit=1", seq - 1)).json();
        assert_eq!(page["records"][0]["seq"], seq);
    }
    // Of a node that was visited often, the last visits are told, and how many were before.
    for seq in [COUNT / 2, COUNT] {
        let moment = studio.get(&format!("/runs/{run}/at/{seq}")).json();
        for node in ["fix", "check", "start"] {
            let told = studio.get(&format!("/runs/{run}/nodes/{node}?at={seq}")).json();
            let visits = told["visits"].as_array().expect("visits");
            let all = moment["overlay"]["nodes"][node]["visits"].as_u64().expect("a number");
            assert_eq!(told["earlier"].as_u64().expect("a number") + visits.len() as u64, all, "{node} at {seq}");
            assert_eq!(visits.len() as u64, all.min(200));
            let began: Vec<u64> = visits.iter().filter_map(|visit| visit["seq"].as_u64()).collect();
            // It is visited with each second record.
            assert!(began.windows(2).all(|pair| pair[0] + 2 == pair[1]), "{began:?}");
            assert!(node == "start" || began.last().is_some_and(|last| last + 2 > seq && *last <= seq), "{began:?}");
            assert!(
                visits.iter().rev().skip(1).all(|visit| visit["reports"].as_array().is_some_and(|all| all.len() == 1))
            );
        }
    }
    assert_eq!(studio.get(&format!("/runs/{run}/at/{}", COUNT + 1)).refusal(), "404 unknown_record");
}

/// A file that grows beyond what a process may write fails like one on a full disk, in the middle of being written.
#[test]
#[cfg(unix)]
fn where_there_is_no_room_a_save_is_refused_and_nothing_has_changed() {
    let project = Project::small();
    let large = SMALL.replace("Do it.", &"Do it. ".repeat(20_000));
    project.write(".flow/workflows/large.json", &large);
    let studio = Studio::started(in_little_room(&project));
    // What has room is written.
    let small = studio.get("/definitions/small").json();
    let wanted = json!({ "revision": small["revision"], "files": [{ "name": "small.json", "text": SMALL.replace("Do it.", "Do it now.") }] });
    assert_eq!(studio.put("/definitions/small/source", &wanted).status, 200);
    let whole = studio.get("/definitions/large").json();
    let inside = |folder: &str| {
        let entries = std::fs::read_dir(project.path().join(folder)).expect("a folder");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    let before = inside(".flow/workflows");
    let wanted = json!({ "revision": whole["revision"], "files": [{ "name": "large.json", "text": large.replace("What now?", "And now?") }] });
    let answer = studio.put("/definitions/large/source", &wanted);
    assert_eq!(answer.refusal(), "500 unwritable");
    let error = &answer.json()["error"];
    assert!(error["message"].as_str().is_some_and(|message| message.contains("large.json")), "{error}");
    assert_eq!(error["help"], "check the permissions of its folder, and the space left; nothing was changed");
    let path = project.path().join(".flow/workflows/large.json");
    assert_eq!(std::fs::read_to_string(path).expect("it is there"), large);
    assert_eq!(inside(".flow/workflows"), before, "nothing is left behind");
    assert_eq!(studio.get("/definitions/large").json()["revision"], whole["revision"]);
}

/// A studio that can write no file of more than 64 KiB. That it tries is an error to it, and not its end.
#[cfg(unix)]
fn in_little_room(project: &Project) -> std::process::Command {
    let plain = project.command(&["studio", "--format", "json"]);
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", "trap '' XFSZ; ulimit -f 128; exec \"$0\" \"$@\""])
        .arg(plain.get_program())
        .args(plain.get_args());
    shell.current_dir(project.path()).stdin(std::process::Stdio::null());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

#[test]
fn a_run_outlives_its_definition_and_texts_that_are_markup_stay_texts() {
    let mut project = Project::small();
    let markup = r#"<img src=x onerror="alert(1)">"#;
    project.write(".flow/workflows/small.json", SMALL.replace("\"Small\"", &json!(markup).to_string()));
    let run = project.run("small", "passed");
    let studio = Studio::of(&project, &[]);
    std::fs::remove_file(project.path().join(".flow/workflows/small.json")).expect("it was there");
    assert_eq!(studio.get("/definitions/small").status, 404);
    let told = studio.get(&format!("/runs/{run}")).json();
    assert_eq!((&told["definition"]["name"], &told["status"]), (&json!(markup), &json!("working")));
    assert_eq!(studio.get(&format!("/runs/{run}/at/3")).status, 200);
    let drawn = studio.post(&format!("/runs/{run}/drawing"), &json!({})).json();
    assert_eq!(drawn["drawing"]["nodes"].as_array().map(Vec::len), Some(5));
}
