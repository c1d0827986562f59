//! Definitions are edited as the page does it, and written.

use std::sync::atomic::{AtomicUsize, Ordering};

use expect_test::expect;
use portolan_core::graph::DEFAULT_STATE_RETRIES;
use serde_json::{Value, json};

use super::Studio;
use crate::support::{Project, SMALL, SUM};

impl Studio {
    /// The text of a definition's file after an operation, which nobody has written.
    fn edited(&self, id: &str, text: &str, operation: &Value) -> Value {
        let wanted = json!({ "files": [{ "name": "x", "text": text }], "do": operation });
        self.post(&format!("/definitions/{id}/edits"), &wanted).json()
    }
}

fn saving(revision: &Value, text: &str) -> Value {
    json!({ "revision": revision, "files": [{ "name": "small.json", "text": text }] })
}

/// The lines of which each is only in one of two texts.
fn difference(before: &str, after: &str) -> String {
    let mut told = String::new();
    for line in before.lines().filter(|line| !after.lines().any(|other| other == *line)) {
        told += &format!("-{line}\n");
    }
    for line in after.lines().filter(|line| !before.lines().any(|other| other == *line)) {
        told += &format!("+{line}\n");
    }
    told
}

#[test]
fn an_edit_of_the_graph_is_a_change_of_the_text() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let whole = studio.get("/definitions/small").json();
    assert_eq!(whole["editable"], true);
    let kinds: Vec<&str> =
        whole["palette"].as_array().expect("a list").iter().filter_map(|form| form["kind"].as_str()).collect();
    assert_eq!(kinds, ["task", "gate", "end", "fork", "join", "subflow", "start"]);
    assert_eq!(whole["about"]["verify"]["word"], "gate");
    assert_eq!(whole["about"]["verify"]["values"]["maxRetries"], 1);
    let edge = |from: &str, to: &str| {
        let edges = whole["drawing"]["edges"].as_array().expect("edges");
        let edge = edges.iter().find(|edge| edge["from"] == from && edge["to"] == to);
        edge.unwrap_or_else(|| panic!("there is an edge from {from} to {to}"))["id"].clone()
    };
    let review = json!({ "is": "add", "kind": "gate", "id": "review", "edge": edge("work", "verify") });
    let told = studio.edited("small", SMALL, &review);
    assert_eq!((&told["select"], &told["sound"]), (&json!("review"), &json!(true)));
    let text = told["files"][0]["text"].as_str().expect("a text");
    expect![[r#"
        -    { "from": "work", "to": "verify" },
        +    "review": { "type": "gate", "maxRetries": 3 },
        +    { "from": "work", "to": "review" },
        +    { "from": "review", "to": "verify", "on": "passed" },
        +    { "from": "review", "to": "work", "on": "failed" },
    "#]]
    .assert_eq(&difference(SMALL, text));
    assert!(told["drawing"]["nodes"].as_array().expect("nodes").iter().any(|node| node["id"] == "review"));
    // Retries are set where they stand.
    let retries = json!({ "is": "set", "node": "verify", "field": "maxRetries", "value": 4 });
    let told = studio.edited("small", SMALL, &retries);
    expect![[r#"
        -    "verify": { "type": "gate", "maxRetries": 1, "instructions": "Is it right?" },
        +    "verify": { "type": "gate", "maxRetries": 4, "instructions": "Is it right?" },
    "#]]
    .assert_eq(&difference(SMALL, told["files"][0]["text"].as_str().expect("a text")));
    // What led to a node leads to the fork around it, and their join leads on.
    let branch = json!({ "is": "wrap", "node": "verify", "kind": "fork", "id": "both" });
    let told = studio.edited("small", SMALL, &branch);
    assert_eq!((&told["select"], &told["sound"]), (&json!("both"), &json!(true)));
    expect![[r#"
        -    { "from": "work", "to": "verify" },
        -    { "from": "verify", "to": "done", "on": "passed" },
        -    { "from": "verify", "to": "work", "on": "failed" },
        -    { "from": "verify", "to": "stuck", "on": "failed" },
        +    "both": { "type": "fork", "join": "both_join" },
        +    "both_join": { "type": "join", "fork": "both" },
        +    { "from": "work", "to": "both" },
        +    { "from": "both_join", "to": "done", "on": "passed" },
        +    { "from": "both_join", "to": "work", "on": "failed" },
        +    { "from": "both_join", "to": "stuck", "on": "failed" },
        +    { "from": "both", "to": "verify" },
        +    { "from": "verify", "to": "both_join" },
    "#]]
    .assert_eq(&difference(SMALL, told["files"][0]["text"].as_str().expect("a text")));
    // Nothing was written.
    assert_eq!(std::fs::read_to_string(project.path().join(".flow/workflows/small.json")).expect("it is there"), SMALL);
}

#[test]
fn what_cannot_be_edited_says_why() {
    let project = Project::small();
    project.write(".flow/workflows/sums.yaml", SUM);
    let studio = Studio::of(&project, &[]);
    let refused = |id: &str, text: &str, operation: Value| {
        let wanted = json!({ "files": [{ "name": "x", "text": text }], "do": operation });
        let answer = studio.post(&format!("/definitions/{id}/edits"), &wanted);
        let error = answer.json()["error"].clone();
        format!(
            "{} {}: {}",
            answer.status,
            error["code"].as_str().unwrap_or_default(),
            error["message"].as_str().unwrap_or_default()
        )
    };
    let taken = json!({ "is": "rename", "node": "work", "to": "verify" });
    expect!["422 not_editable: it cannot be changed in place: `verify` already exists"]
        .assert_eq(&refused("small", SMALL, taken));
    let unknown = json!({ "is": "delete", "nodes": ["nothing"] });
    expect!["422 not_editable: there is no node `nothing` in the definition"]
        .assert_eq(&refused("small", SMALL, unknown));
    let kind = json!({ "is": "add", "kind": "dance" });
    expect!["422 not_editable: there is no node kind `dance` in the definition"]
        .assert_eq(&refused("small", SMALL, kind));
    let join = json!({ "is": "add", "kind": "join" });
    expect!["422 not_editable: a node of the kind `join` cannot be added by itself"]
        .assert_eq(&refused("small", SMALL, join));
    let broken = json!({ "is": "duplicate", "node": "work" });
    expect!["422 not_editable: its text cannot be read well enough to be edited piece by piece"].assert_eq(&refused(
        "small",
        "{ \"nodes\": ",
        broken,
    ));
    let nothing = json!({ "is": "fly" });
    assert!(refused("small", SMALL, nothing).starts_with("400 bad_request: the operation cannot be read"));
}

#[test]
fn a_definition_is_written_and_nothing_else_of_it_changes() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let path = project.path().join(".flow/workflows/small.json");
    let whole = studio.get("/definitions/small").json();
    let text = SMALL.replace("Do it.", "Do it well.");
    let saved = studio.put("/definitions/small/source", &saving(&whole["revision"], &text));
    assert_eq!(saved.status, 200);
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), text);
    // With the revision that it has now, it is written again; with the old one it is not.
    let again = saving(&saved.json()["revision"], SMALL);
    assert_eq!(studio.put("/definitions/small/source", &again).status, 200);
    let late = studio.put("/definitions/small/source", &saving(&saved.json()["revision"], "{}"));
    assert_eq!(late.refusal(), "409 changed");
    assert_eq!(late.json()["current"]["files"][0]["text"], SMALL);
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), SMALL);
}

#[test]
fn line_ends_and_the_mark_at_the_beginning_stay() {
    let project = Project::new();
    let long = format!("\u{feff}{}", SMALL.replace('\n', "\r\n"));
    project.write(".flow/workflows/small.json", &long);
    let studio = Studio::of(&project, &[]);
    let whole = studio.get("/definitions/small").json();
    assert_eq!(whole["files"][0]["text"], SMALL);
    // Places are those of the text that the page has.
    let place = &whole["about"]["verify"]["place"];
    let at = usize::try_from(place["from"].as_u64().expect("an offset")).expect("it is small");
    assert!(SMALL[at..].starts_with("\"verify\""));
    let text = SMALL.replace("Do it.", "Do it well.");
    assert_eq!(studio.put("/definitions/small/source", &saving(&whole["revision"], &text)).status, 200);
    let written = std::fs::read_to_string(project.path().join(".flow/workflows/small.json")).expect("it is there");
    assert_eq!(written, long.replace("Do it.", "Do it well."));
    // Of lines that end differently it cannot be told which is which.
    project.write(".flow/workflows/small.json", SMALL.replacen('\n', "\r\n", 3));
    let revision = studio.get("/definitions/small").json()["revision"].clone();
    assert_eq!(studio.put("/definitions/small/source", &saving(&revision, &text)).refusal(), "422 mixed_line_ends");
}

#[test]
fn what_is_not_the_projects_is_not_written() {
    let project = Project::small();
    let studio = Studio::of(&project, &["--read-only"]);
    let revision = studio.get("/definitions/small").json()["revision"].clone();
    assert_eq!(studio.put("/definitions/small/source", &saving(&revision, "{}")).refusal(), "403 read_only");
    drop(studio);
    let studio = Studio::of(&project, &[]);
    let whole = studio.get("/definitions/bug-fix").json();
    assert_eq!(whole["writable"], false);
    assert_eq!(studio.put("/definitions/bug-fix/source", &saving(&whole["revision"], "{}")).refusal(), "422 not_yours");
    let large = saving(&revision, &"x".repeat(5 << 20));
    assert_eq!(studio.put("/definitions/small/source", &large).refusal(), "400 too_large");
}

#[test]
#[cfg(unix)]
fn a_file_that_cannot_be_written_is_whole_afterwards() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let path = project.path().join(".flow/workflows/small.json");
    let revision = studio.get("/definitions/small").json()["revision"].clone();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).expect("it is ours");
    let refused = studio.put("/definitions/small/source", &saving(&revision, "{}"));
    assert_eq!(refused.refusal(), "500 read_only");
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), SMALL);
}

#[test]
#[cfg(unix)]
fn of_several_files_all_are_written_or_none() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    let head = "id: look\nversion: 1.0.0\ntitle: Look\ninitialActivity: one\n";
    let activity = |id: &str| {
        format!("id: {id}\nversion: 1.0.0\nname: {id}\nsteps:\n  - {{ id: read, name: Read, kind: step }}\n")
    };
    project.write(".flow/workflows/look/workflow.yaml", head);
    let texts = [head.to_owned(), activity("one"), format!("{}transitions: []\n", activity("two"))];
    for (nth, text) in texts.iter().enumerate().skip(1) {
        project.write(&format!(".flow/workflows/look/activities/0{nth}-part.yaml"), text);
    }
    let studio = Studio::of(&project, &[]);
    let whole = studio.get("/definitions/look").json();
    assert_eq!(whole["files"].as_array().map(Vec::len), Some(3));
    let names = whole["files"].as_array().expect("files").iter().map(|file| file["name"].clone());
    let files = names.zip(&texts).map(|(name, text)| json!({ "name": name, "text": format!("# Changed.\n{text}") }));
    let wanted = json!({ "revision": whole["revision"], "files": files.collect::<Vec<_>>() });
    let last = project.path().join(".flow/workflows/look/activities/02-part.yaml");
    let mode = |mode| std::fs::set_permissions(&last, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    mode(0o444);
    assert_eq!(studio.put("/definitions/look/source", &wanted).refusal(), "500 read_only");
    assert_eq!(studio.get("/definitions/look").json()["revision"], whole["revision"], "nothing was written");
    mode(0o644);
    assert_eq!(studio.put("/definitions/look/source", &wanted).status, 200);
    let written = studio.get("/definitions/look").json();
    let all = written["files"].as_array().expect("files");
    assert!(all.iter().all(|file| file["text"].as_str().is_some_and(|text| text.starts_with("# Changed.\n"))));
}

/// A folder of two activities, the second of them called `02-two.yaml`.
fn folder(project: &Project) -> Studio {
    project
        .write(".flow/workflows/look/workflow.yaml", "id: look\nversion: 1.0.0\ntitle: Look\ninitialActivity: one\n");
    for (file, id, more) in [("01-one", "one", "transitions: [{ to: two }]\n"), ("02-two", "two", "")] {
        let text = format!("id: {id}\nname: {id}\nsteps:\n  - {{ id: read, name: Read, kind: step }}\n{more}");
        project.write(&format!(".flow/workflows/look/activities/{file}.yaml"), &text);
    }
    Studio::of(project, &[])
}

/// The names of files, without their folder, each with whether it is there.
fn names(files: &Value) -> Vec<(String, bool)> {
    let name = |file: &Value| file["name"].as_str().expect("a name").rsplit('/').next().map(str::to_owned);
    let files = files.as_array().expect("files").iter();
    files.map(|file| (name(file).expect("a word"), file["text"].is_string())).collect()
}

/// The files as a request has them.
fn sent(files: &Value) -> Value {
    let file = |file: &Value| json!({ "name": file["name"], "text": file["text"] });
    files.as_array().expect("files").iter().map(file).collect()
}

#[test]
fn an_activity_comes_and_goes_as_a_file() {
    let project = Project::new();
    let studio = folder(&project);
    let whole = studio.get("/definitions/look").json();
    let edit = |files: &Value, operation: Value| {
        studio.post("/definitions/look/edits", &json!({ "files": sent(files), "do": operation })).json()
    };
    let added = edit(&whole["files"], json!({ "is": "add", "kind": "activity", "id": "more", "after": "one" }));
    let there = |name: &str, is: bool| (name.to_owned(), is);
    let all = [("workflow.yaml", true), ("01-one.yaml", true), ("02-two.yaml", true), ("03-more.yaml", true)];
    assert_eq!(names(&added["files"]), all.map(|(name, is)| there(name, is)));
    assert_eq!(added["select"], "more");
    assert_eq!(studio.get("/definitions/look").json()["revision"], whole["revision"], "nothing is written");
    // A file that goes keeps its number, and what is found behind it lies where the page has it.
    let gone = edit(&added["files"], json!({ "is": "delete", "nodes": ["two"] }));
    let all = [("workflow.yaml", true), ("01-one.yaml", true), ("02-two.yaml", false), ("03-more.yaml", true)];
    assert_eq!(names(&gone["files"]), all.map(|(name, is)| there(name, is)));
    assert_eq!(gone["about"]["more"]["place"]["file"], 3, "{gone:#}");
    let wanted = json!({ "revision": whole["revision"], "files": sent(&gone["files"]) });
    let saved = studio.put("/definitions/look/source", &wanted);
    assert_eq!(saved.status, 200, "{}", saved.body);
    assert_eq!(saved.json()["about"]["more"]["place"]["file"], 3);
    let folder = project.path().join(".flow/workflows/look/activities");
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("it is there");
    expect![[r#"
        id: one
        name: one
        steps:
          - { id: read, name: Read, kind: step }
        transitions: [{ to: more }]
        ---
        id: more
    "#]]
    .assert_eq(&(text("01-one.yaml") + "---\n" + &text("03-more.yaml")));
    let mut left: Vec<String> = std::fs::read_dir(&folder)
        .expect("a folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    left.sort();
    assert_eq!(left, ["01-one.yaml", "03-more.yaml"]);
}

#[test]
fn what_somebody_else_has_made_or_changed_meanwhile_stays() {
    let project = Project::new();
    let studio = folder(&project);
    let whole = studio.get("/definitions/look").json();
    let edited = |operation: Value| {
        let wanted = json!({ "files": sent(&whole["files"]), "do": operation });
        let files = studio.post("/definitions/look/edits", &wanted).json()["files"].clone();
        json!({ "revision": whole["revision"], "files": sent(&files) })
    };
    let added = edited(json!({ "is": "add", "kind": "activity", "id": "more" }));
    let gone = edited(json!({ "is": "delete", "nodes": ["two"] }));
    let theirs = ".flow/workflows/look/activities/03-more.yaml";
    project.write(theirs, "id: more\nname: Theirs\n");
    let late = studio.put("/definitions/look/source", &added);
    assert_eq!(late.refusal(), "409 changed");
    assert_eq!(
        late.json()["current"]["files"][3],
        json!({ "name": theirs, "text": "id: more\nname: Theirs\n", "language": "yaml" })
    );
    std::fs::remove_file(project.path().join(theirs)).expect("it is there");
    // What stands there and is no activity is in nobody's list of files.
    std::fs::create_dir(project.path().join(theirs)).expect("it is free");
    let refused = studio.put("/definitions/look/source", &added);
    assert_ne!(refused.status, 200, "{}", refused.body);
    std::fs::remove_dir(project.path().join(theirs)).expect("it is empty");
    let second = ".flow/workflows/look/activities/02-two.yaml";
    project.write(second, "id: two\nname: Theirs\n");
    assert_eq!(studio.put("/definitions/look/source", &gone).refusal(), "409 changed");
    assert_eq!(std::fs::read_to_string(project.path().join(second)).expect("it is there"), "id: two\nname: Theirs\n");
}

#[test]
fn only_files_of_activities_come() {
    let project = Project::new();
    let studio = folder(&project);
    let whole = studio.get("/definitions/look").json();
    let with = |name: &str| {
        let mut files = sent(&whole["files"]);
        files.as_array_mut().expect("files").push(json!({ "name": name, "text": "id: more\n" }));
        json!({ "revision": whole["revision"], "files": files })
    };
    let around = ".flow/workflows/look";
    for name in [
        "03-more.yaml",
        "/etc/03-more.yaml",
        &format!("{around}/03-more.yaml"),
        &format!("{around}/activities/more.yaml"),
        &format!("{around}/activities/03-more.sh"),
        &format!("{around}/activities/../03-more.yaml"),
        &format!("{around}/activities/deep/03-more.yaml"),
        &project.path().join(around).join("activities/03-more.yaml").to_string_lossy(),
    ] {
        assert_eq!(studio.put("/definitions/look/source", &with(name)).refusal(), "422 other_files", "{name}");
    }
    let mut few = with("x");
    few["files"].as_array_mut().expect("files").truncate(2);
    assert_eq!(studio.put("/definitions/look/source", &few).refusal(), "422 other_files");
    let mut none = with("x");
    none["files"].as_array_mut().expect("files").truncate(3);
    none["files"][0]["text"] = Value::Null;
    assert_eq!(studio.put("/definitions/look/source", &none).refusal(), "422 other_files");
    assert_eq!(studio.get("/definitions/look").json()["revision"], whole["revision"]);
}

/// Two who write the same definition, each with a studio of their own, five hundred times each, each of them over what is
/// there: no letter of either is lost.
#[test]
fn of_a_thousand_saves_with_a_second_writer_none_is_lost() {
    let project = Project::small();
    project.write(
        ".flow/workflows/small.json",
        SMALL.replace("\"name\": \"Small\"", "\"name\": \"\", \"description\": \"\""),
    );
    // Nothing that one process alone knows keeps the two apart.
    let studios = [Studio::of(&project, &[]), Studio::of(&project, &[])];
    let conflicts = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for (field, studio) in ["name", "description"].into_iter().zip(&studios) {
            let conflicts = &conflicts;
            scope.spawn(move || {
                for nth in 0..500 {
                    loop {
                        let whole = studio.get("/definitions/small").json();
                        let text = whole["files"][0]["text"].as_str().expect("a text");
                        let told = whole["own"]["values"][field].as_str().expect("a text").to_owned();
                        let value = format!("{told}{}", char::from(b'a' + u8::try_from(nth % 26).expect("a letter")));
                        let set = json!({ "is": "set", "node": null, "field": field, "value": value });
                        let edited = studio.edited("small", text, &set);
                        let text = edited["files"][0]["text"].as_str().expect("a text");
                        match studio.put("/definitions/small/source", &saving(&whole["revision"], text)).status {
                            200 => break,
                            409 => conflicts.fetch_add(1, Ordering::Relaxed),
                            other => panic!("{other}"),
                        };
                    }
                }
            });
        }
    });
    let letters: String =
        (0..500_u32).map(|nth| char::from(b'a' + u8::try_from(nth % 26).expect("a letter"))).collect();
    for studio in &studios {
        let whole = studio.get("/definitions/small").json();
        for field in ["name", "description"] {
            assert_eq!(whole["own"]["values"][field], letters, "{field}");
        }
    }
    assert!(conflicts.load(Ordering::Relaxed) > 0, "they met");
}

#[test]
fn the_form_of_a_state_says_how_often_it_is_tried_again_where_nothing_is_written() {
    let project = Project::new();
    project.write(
        ".flow/workflows/states.yaml",
        "objective: o\nstates: { draft: { objective: Draft, is_final: true } }\ntransitions: {}\n",
    );
    let told = Studio::of(&project, &[]).get("/definitions/states").json();
    let fields = told["palette"].as_array().expect("kinds").iter().flat_map(|kind| kind["fields"].as_array());
    let retries: Vec<_> = fields.flatten().filter(|field| field["path"] == "max_retries").collect();
    assert!(!retries.is_empty(), "{:#}", told["palette"]);
    let empty = format!("Left empty: {DEFAULT_STATE_RETRIES}.");
    for field in retries {
        assert_eq!(field["default"], DEFAULT_STATE_RETRIES);
        assert!(field["help"].as_str().expect("help").ends_with(&empty), "{field}");
    }
}
