//! The commands that operate a store.

use std::process::Command;

use expect_test::expect;

use crate::support::Project;

/// Changes the file of a store behind its back.
fn sql(project: &Project, script: &str) {
    let program = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.executescript(sys.argv[2]); db.commit()";
    let mut python = Command::new("python3");
    python.args(["-c", program]).arg(project.path().join(".portolan/runs.db")).arg(script);
    let output = python.output().expect("python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The tables of the first version.
const FIRST: &str = include_str!("../../../portolan-runtime/src/store/sqlite/schema/1.sql");

/// What is said about a store, whatever the version of this release is.
fn says(project: &Project, line: &str) -> String {
    let said = project.says(line);
    let newest = (1..).take_while(|version| schema(*version).exists()).last().expect("there are some");
    let newest = newest.to_string();
    ["version      ", "version ", "to ", "ersion\": ", "from\": ", "to\": "]
        .iter()
        .fold(said, |said, before| said.replace(&format!("{before}{newest}"), &format!("{before}<newest>")))
}

fn schema(version: usize) -> std::path::PathBuf {
    crate::support::repository().join(format!("crates/portolan-runtime/src/store/sqlite/schema/{version}.sql"))
}

/// What is said without the size of the file.
fn without_size(said: &str) -> String {
    said.lines().filter(|line| !line.starts_with("size") && !line.contains("\"bytes\"")).collect::<Vec<_>>().join("\n")
        + "\n"
}

/// A project with a run that is over and one that is open.
fn project() -> Project {
    let mut project = Project::small();
    project.run("small", "passed passed");
    project.run("small", "passed");
    project
}

#[test]
fn a_status_says_which_store_it_is_and_what_is_in_it() {
    let project = project();
    expect![[r#"
        store        <project>/.portolan/runs.db (SQLite)
        version      <newest>, that of this release
        access       it can be read and written
        runs         1 open, 1 ended
        records      8
        definitions  1
        driven now   none
        exit: 0
    "#]]
    .assert_eq(&without_size(&says(&project, "store status")));
    expect![[r#"
        {
          "store": "<project>/.portolan/runs.db",
          "kind": "sqlite",
          "exists": true,
          "version": <newest>,
          "knownVersion": <newest>,
          "writable": true,
          "problem": null,
          "runs": {
            "open": 1,
            "ended": 1
          },
          "records": 8,
          "definitions": 1,
          "driven": []
        }
        exit: 0
    "#]]
    .assert_eq(&without_size(&says(&project, "store status --format json")));
}

#[test]
fn a_store_that_is_missing_or_no_store_is_said_and_left_as_it_is() {
    let project = Project::small();
    expect![[r#"
        store    <project>/.portolan/runs.db (SQLite)
        state    it does not exist yet: the first run creates it
        runs     0 open, 0 ended
        records  0
        exit: 0
    "#]]
    .assert_eq(&project.says("store status"));
    assert!(!project.path().join(".portolan/runs.db").exists());
    expect![[r#"
        stderr: error: there is no store at `other.db`
        stderr: help: name the file that `serve` keeps runs in
        exit: 2
    "#]]
    .assert_eq(&project.says("store status --store other.db"));
    project.write(".portolan/runs.db", "these are no runs, however long this text may be".repeat(99));
    let said = project.says("store status");
    expect![[r#"
        stderr: error: `<project>/.portolan/runs.db` is not a run store
        stderr: help: move it away, or name another file
        exit: 1
    "#]]
    .assert_eq(&said);
    assert_eq!(project.says("store migrate"), said);
}

#[test]
fn a_store_is_migrated_by_its_command_and_not_by_a_look() {
    let project = Project::small();
    project.write(".portolan/runs.db", "");
    sql(&project, &format!("{FIRST}; PRAGMA application_id = 0x506f7274; PRAGMA user_version = 1"));
    for _ in ["once", "again"] {
        let said = says(&project, "store status");
        assert!(said.contains("version      1; `portolan store migrate` brings it to <newest>\n"), "{said}");
    }
    let mut all = String::new();
    for line in ["store migrate", "store migrate", "store migrate --format json"] {
        all += &says(&project, line);
    }
    sql(&project, "PRAGMA user_version = 99");
    for line in ["store status", "store migrate", "store verify"] {
        all += &says(&project, line);
    }
    all += &says(&Project::small(), "store migrate");
    expect![[r#"
        migrated `<project>/.portolan/runs.db` from version 1 to version <newest>
        exit: 0
        `<project>/.portolan/runs.db` has version <newest>, that of this release: nothing is to be done
        exit: 0
        {
          "store": "<project>/.portolan/runs.db",
          "from": <newest>,
          "to": <newest>
        }
        exit: 0
        stderr: error: `<project>/.portolan/runs.db` is a run store of version 99, and this release knows versions up to <newest>
        stderr: help: use a newer release of portolan, or name another file
        exit: 1
        stderr: error: `<project>/.portolan/runs.db` is a run store of version 99, and this release knows versions up to <newest>
        stderr: help: use a newer release of portolan, or name another file
        exit: 1
        stderr: error: `<project>/.portolan/runs.db` is a run store of version 99, and this release knows versions up to <newest>
        stderr: help: use a newer release of portolan, or name another file
        exit: 1
        `<project>/.portolan/runs.db` does not exist yet: the first run creates it, and nothing is to be done
        exit: 0
    "#]].assert_eq(&all);
}

#[test]
fn a_store_without_faults_is_verified() {
    let project = project();
    expect![[r#"
        2 runs with 8 records verified, no faults
        exit: 0
    "#]]
    .assert_eq(&project.says("store verify"));
    expect![[r#"
        0 runs with 0 records verified, no faults
        exit: 0
    "#]]
    .assert_eq(&Project::small().says("store verify"));
}

/// Every damage is named at once, with its run; the others are verified nevertheless.
#[test]
fn every_damage_of_a_store_is_named() {
    let mut project = Project::small();
    for outcomes in ["passed passed", "passed", "passed", "passed", "passed", "passed", "passed", "passed"] {
        project.run("small", outcomes);
    }
    sql(
        &project,
        "UPDATE positions SET status = 'waiting', step = 'nowhere', updated_at = 5 WHERE run = 2;
         UPDATE records SET changes = '[]' WHERE run = 3 AND seq = 1;
         DELETE FROM records WHERE run = 4 AND seq = 2;
         UPDATE records SET event = 'no JSON' WHERE run = 5 AND seq = 3;
         UPDATE snapshots SET text = replace(text, '\"small\"', '\"other\"') WHERE run = 6;
         UPDATE positions SET seq = 2 WHERE run = 7;
         UPDATE snapshots SET text = 'no JSON' WHERE run = 8;
         UPDATE runs SET opened_at = 0 WHERE number = 1;",
    );
    let said = project.says("store verify");
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    expect![[r#"
        8 runs with 16 records verified, 10 faults
        exit: 1
        run `<run1>`: it began at <time> by the store, and at <time> by its records (time_differs)
        run `<run2>`: lists show the last event `<time>`, and its records have `<time>` (list_differs)
        run `<run2>`: lists show the status `waiting`, and its records have `working` (list_differs)
        run `<run2>`: lists show the step `nowhere`, and its records have `verify` (list_differs)
        run `<run3>`: its records are not a journal: record 1 does not open a run (journal_broken)
        run `<run4>`: record 2 of run `<run4>` in `<project>/.portolan/runs.db` cannot be read (it is missing): restore an earlier copy of the file (record_unreadable)
        run `<run5>`: record 3 of run `<run5>` in `<project>/.portolan/runs.db` cannot be read (expected ident at line 1 column 2): restore an earlier copy of the file (record_unreadable)
        run `<run6>`: its snapshot is not the fold of its records (snapshot_differs)
        run `<run7>`: it is at record 2, and there are records after it (records_left)
        run `<run8>`: the snapshot of run `<run8>` in `<project>/.portolan/runs.db` cannot be read (expected ident at line 1 column 2): restore an earlier copy of the file (snapshot_unreadable)
        stderr: restore the store from a backup; every run that is not named is intact"#]].assert_eq(&lines.join("\n"));
    sql(&project, "UPDATE definitions SET text = '{}'; PRAGMA foreign_keys = OFF; DELETE FROM positions WHERE run = 2");
    let said = project.says("store verify --format json");
    let json: serde_json::Value = serde_json::from_str(said.trim_end_matches("exit: 1\n")).expect("it is JSON");
    let codes: std::collections::BTreeSet<&str> = json["faults"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|fault| fault["code"].as_str().expect("a code"))
        .collect();
    expect![[r#"{"definition_changed", "journal_broken", "list_unreadable", "record_unreadable", "records_left", "snapshot_differs", "snapshot_unreadable", "time_differs"} 8"#]].assert_eq(&format!("{codes:?} {}", json["runs"]));
}

/// Of runs whose key is elsewhere nothing is known, which is no fault.
#[test]
fn sealed_runs_are_verified_where_their_key_is() {
    let mut project = Project::small();
    project.write("sum.yaml", crate::support::SUM);
    project.write("mcp.json", r#"{"mcpServers": {"echo": {"command": "portolan", "args": ["builtin", "echo"]}}}"#);
    let said = project.says("run sum.yaml --durable a=1 b=2 key=hush");
    assert!(said.ends_with("exit: 0\n"), "{said}");
    project.run("small", "passed");
    let said = project.says("store verify");
    assert!(said.starts_with("2 runs with ") && said.ends_with(" records verified, no faults\nexit: 0\n"), "{said}");
    std::fs::remove_file(project.person().join("run.keys")).expect("it is there");
    expect![[r#"
        1 run with 3 records verified, no faults
        stderr: 1 run is not verified: sealed with a key that this user does not have (`PORTOLAN_DATA_DIR` names its folder)
        exit: 0
    "#]].assert_eq(&project.says("store verify"));
}
