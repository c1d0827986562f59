//! What has changed in the repository since a step began, for a person who is asked.

use std::process::Command;

use serde_json::{Value, json};

use super::Studio;
use crate::support::Project;

fn git(project: &Project, words: &[&str]) {
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let said = Command::new("git").args(who).args(words).current_dir(project.path()).output().expect("git is there");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}

fn changes(studio: &Studio, run: &str) -> Value {
    studio.get(&format!("/runs/{run}/changes")).json()["since"].clone()
}

#[test]
fn what_has_changed_since_the_step_began_is_told() {
    let mut project = Project::small();
    project.write("kept.txt", "one\ntwo\n");
    project.write("loose.txt", "as it was\n");
    project.write("picture.bin", "\0\u{1}");
    git(&project, &["init", "-q"]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-qm", "as it was"]);
    // Neither of these is committed when the step begins, and only one of them changes afterwards.
    project.write("loose.txt", "not committed\n");
    project.write("early.txt", "here before\n");
    let run = project.run("small", "");
    let studio = Studio::of(&project, &[]);
    assert_eq!(changes(&studio, &run)["files"], json!([]));
    project.write("kept.txt", "one\nthree\n");
    git(&project, &["commit", "-qam", "a commit of the agent's"]);
    project.write("loose.txt", "not committed, and changed\n");
    project.write("new.txt", "fresh\n");
    project.write("picture.bin", "\0\u{2}");
    let since = changes(&studio, &run);
    assert_eq!((&since["step"], &since["cut"]), (&json!("work"), &json!(false)));
    let files = since["files"].as_array().expect("files");
    let told = |path: &str| files.iter().find(|file| file["path"] == path).unwrap_or_else(|| panic!("{path}: {since}"));
    assert_eq!(told("kept.txt")["diff"], "@@ -1,2 +1,2 @@\n one\n-two\n+three\n");
    assert_eq!((&told("new.txt")["how"], &told("new.txt")["diff"]), (&json!("added"), &json!("+fresh\n")));
    assert_eq!((&told("picture.bin")["diff"], &told("picture.bin")["note"]), (&Value::Null, &json!("it is not text")));
    assert!(told("loose.txt")["diff"].is_null(), "how it stood is not kept");
    assert!(told("loose.txt")["note"].as_str().is_some_and(|note| note.starts_with("it had uncommitted changes")));
    assert!(files.iter().all(|file| file["path"] != "early.txt"), "{since}");
    // The gate behind the work looks at that work.
    let asks = project.run("small", "passed failed");
    let again = changes(&studio, &asks);
    assert_eq!(again["step"], "work");
}

#[test]
fn much_is_cut() {
    let mut project = Project::small();
    git(&project, &["init", "-q"]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-qm", "as it was"]);
    let run = project.run("small", "");
    project.write("long.txt", "ä line that is long enough\n".repeat(20_000));
    let since = changes(&Studio::of(&project, &[]), &run);
    assert_eq!(since["cut"], true);
    let long = since["files"].as_array().expect("files").iter().find(|file| file["path"] == "long.txt").expect("it");
    assert!(long["diff"].as_str().expect("a part").len() <= 200 * 1024 && long["note"].is_string());
}

#[test]
fn nothing_is_told_where_nothing_is_on_record() {
    let mut project = Project::small();
    let run = project.run("small", "");
    let studio = Studio::of(&project, &[]);
    assert_eq!(changes(&studio, &run), Value::Null);
    assert_eq!(studio.get("/runs/zzzzzzzz/changes").refusal(), "404 unknown_run");
}
