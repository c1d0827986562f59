//! Runs that leave a store in a file, and come back into any store.

use std::fs;

use expect_test::expect;

use crate::support::{Project, SUM};

/// A project with a run that is over and one that is open.
fn project() -> Project {
    let mut project = Project::small();
    project.run("small", "passed passed");
    project.run("small", "passed");
    project
}

fn text(project: &Project, file: &str) -> String {
    fs::read_to_string(project.path().join(file)).expect("it was written")
}

/// What a store says of its runs, in text that two stores can be compared by.
fn runs_text(project: &Project, store: &str, runs: &[&str]) -> String {
    let mut said = project.says(&format!("runs list --all --store {store}"));
    for run in runs {
        said += &project.says(&format!("runs events {run} --format json --store {store}"));
    }
    said
}

#[test]
fn runs_move_from_one_store_to_another_and_an_import_can_be_repeated() {
    let project = project();
    let listed = project.command(&["runs", "list", "--all", "--format", "json"]).output().expect("the binary starts");
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("it is JSON");
    expect![[r#"
        exported 2 runs with 8 records and 1 definition to `runs.jsonl`
        exit: 0
    "#]]
    .assert_eq(&project.says("store export runs.jsonl"));
    let lines = text(&project, "runs.jsonl");
    assert!(lines.starts_with(r#"{"export":{"version":1,"at":""#), "{lines}");
    assert!(lines.ends_with("{\"end\":{\"runs\":2,\"records\":8}}\n"), "{lines}");
    expect![[r#"
        imported 2 runs with 8 records
        exit: 0
    "#]]
    .assert_eq(&project.says("store import runs.jsonl --store other.db"));
    expect![[r#"
        imported 0 runs with 0 records; 2 runs are here already
        exit: 0
    "#]]
    .assert_eq(&project.says("store import runs.jsonl --store other.db"));
    expect![[r#"
        2 runs with 8 records verified, no faults
        exit: 0
    "#]]
    .assert_eq(&project.says("store verify --store other.db"));
    let runs: Vec<&str> =
        listed["runs"].as_array().into_iter().flatten().filter_map(|run| run["run"].as_str()).collect();
    let [here, there] = [".portolan/runs.db", "other.db"].map(|store| runs_text(&project, store, &runs));
    assert!(here.contains("\"records\": [") && here == there, "{here}\n{there}");
}

#[test]
fn an_export_to_a_pipe_is_the_same_as_one_to_a_file() {
    let project = project();
    project.says("store export runs.jsonl");
    let output = project.command(&["store", "export"]).output().expect("the binary starts");
    let without_first = |text: &str| text.split_once('\n').map(|(_, rest)| rest.to_owned());
    assert_eq!(without_first(&String::from_utf8_lossy(&output.stdout)), without_first(&text(&project, "runs.jsonl")));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "exported 2 runs with 8 records and 1 definition\n");
}

#[test]
fn an_export_is_private_and_overwrites_nothing() {
    let project = project();
    project.says("store export runs.jsonl");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(project.path().join("runs.jsonl")).expect("it was written").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    project.write("mine.txt", "mine");
    expect![[r#"
        stderr: error: `mine.txt` exists already
        stderr: help: name another file, or move it away
        exit: 2
    "#]]
    .assert_eq(&project.says("store export mine.txt"));
    assert_eq!(text(&project, "mine.txt"), "mine");
    expect![[r#"
        stderr: error: `missing/runs.jsonl` cannot be written: no such file or directory
        stderr: help: name a file in a folder that you can write to, or free some space
        exit: 1
    "#]]
    .assert_eq(&project.says("store export missing/runs.jsonl"));
}

#[test]
fn the_runs_of_an_export_are_selected() {
    let mut project = project();
    let run = project.run("small", "");
    let exported = "exported 1 run with 2 records and 1 definition to `one.jsonl`\nexit: 0\n";
    assert_eq!(project.says(&format!("store export one.jsonl --run {run}")), exported);
    let exported = "exported 1 run with 5 records and 1 definition to `old.jsonl`\nexit: 0\n";
    assert_eq!(project.says("store export old.jsonl --ended-before 30d"), exported);
    let exported = "exported 0 runs with 0 records and 0 definitions to `none.jsonl`\nexit: 0\n";
    assert_eq!(project.says("store export none.jsonl --ended-before 1000000d"), exported);
    assert_eq!(project.says("store import none.jsonl --store other.db"), "imported 0 runs with 0 records\nexit: 0\n");
    let mut all = String::new();
    for line in
        ["--run k7m2qx4p", "--run no-handle", "--ended-before 3", "--ended-before 0d", "--ended-before 9999999d"]
    {
        all += &format!("$ {line}\n{}", project.says(&format!("store export x.jsonl {line}")));
    }
    expect![[r#"
        $ --run k7m2qx4p
        stderr: error: there is no run `k7m2qx4p` in this store
        stderr: help: `portolan runs list` shows the existing runs
        exit: 2
        $ --run no-handle
        stderr: error: `no-handle` is neither the handle of a run nor the path of a task file
        stderr: help: `portolan runs list` shows the existing runs
        exit: 2
        $ --ended-before 3
        stderr: error: invalid value '3' for '--ended-before <AGE>': write a number and `m`, `h` or `d`, such as `12h`
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
        $ --ended-before 0d
        stderr: error: invalid value '0d' for '--ended-before <AGE>': the number must be at least 1 and at most 1000000
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
        $ --ended-before 9999999d
        stderr: error: invalid value '9999999d' for '--ended-before <AGE>': the number must be at least 1 and at most 1000000
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]].assert_eq(&all);
    assert!(!project.path().join("x.jsonl").exists());
}

/// The values of a run with secrets are in no file.
#[test]
fn runs_with_secrets_are_left_out_by_name() {
    let project = project();
    project.write("sum.yaml", SUM);
    assert!(project.says("run sum.yaml --durable a=1 b=2 key=hush").ends_with("exit: 0\n"));
    let listed = project.says("runs list --all");
    let sealed = listed.lines().find(|line| line.contains("sum")).and_then(|line| line.split_whitespace().next());
    let sealed = sealed.expect("it is listed").to_owned();
    let said = project.says("store export runs.jsonl").replace(&sealed, "<sealed>");
    expect![[r#"
        exported 2 runs with 8 records and 1 definition to `runs.jsonl`
        stderr: run `<sealed>` is left out: it has secrets, which would be readable in the file (run_sealed)
        stderr: 1 run is sealed: `--skip-sealed` accepts that they are left out
        exit: 1
    "#]]
    .assert_eq(&said);
    assert!(!text(&project, "runs.jsonl").contains("hush"));
    let said = project.says("store export again.jsonl --skip-sealed");
    assert!(said.ends_with("exit: 0\n"), "{said}");
    let json = project.says("store export third.jsonl --format json").replace(&sealed, "<sealed>");
    expect![[r#"
        {
          "file": "third.jsonl",
          "runs": 2,
          "records": 8,
          "definitions": 1,
          "leftOut": [
            {
              "run": "<sealed>",
              "code": "run_sealed",
              "why": "it has secrets, which would be readable in the file"
            }
          ],
          "leftOutCount": 1
        }
        exit: 1
    "#]]
    .assert_eq(&json);
}

/// Archives with a fault each, made of one without.
fn faulty(whole: &str) -> Vec<(&'static str, String)> {
    let lines: Vec<&str> = whole.lines().collect();
    let first = |count: usize| lines[..count].join("\n") + "\n";
    let records = lines.iter().position(|line| line.starts_with("{\"record\"")).expect("there are records");
    vec![
        ("empty", String::new()),
        ("text", "these are no runs\n".to_owned()),
        ("binary", "\u{0}\u{1}\u{2}".repeat(99)),
        ("json", "{\"runs\": []}\n".to_owned()),
        ("truncated", whole[..whole.len() - 40].to_owned()),
        ("no end", first(lines.len() - 1)),
        ("in a run", first(records + 1)),
        ("version 2", whole.replace("\"version\":1", "\"version\":2")),
        ("changed definition", whole.replacen("Do it.", "Do it twice.", 1)),
        ("more fields", whole.replacen("{\"record\":{", "{\"record\":{\"more\":1,", 1)),
        ("a record twice", whole.replacen(lines[records], &[lines[records], lines[records]].join("\n"), 1)),
        ("other totals", whole.replace("{\"end\":{\"runs\":2", "{\"end\":{\"runs\":3")),
        ("no records", whole.replacen("\"records\":3}", "\"records\":0}", 1)),
        ("endless", whole.replacen("\"records\":3}", "\"records\":99999999999}", 1)),
        (
            "no definition",
            whole.lines().filter(|line| !line.starts_with("{\"definition\"")).collect::<Vec<_>>().join("\n"),
        ),
        ("deep", format!("{}{}\n", first(1), "[".repeat(100_000))),
    ]
}

/// What is wrong with a file is said, and what was complete before is stored.
#[test]
fn what_is_no_archive_is_refused() {
    let mut project = Project::small();
    project.run("small", "passed");
    project.run("small", "passed");
    project.says("store export runs.jsonl");
    let mut all = String::new();
    for (name, text) in faulty(&text(&project, "runs.jsonl")) {
        project.write("case.jsonl", text);
        let _old = fs::remove_file(project.path().join("case.db"));
        all += &format!("# {name}\n{}", project.says("store import case.jsonl --store case.db"));
    }
    for file in ["missing.jsonl", "."] {
        all += &format!("# {file}\n{}", project.says(&format!("store import {file} --store case.db")));
    }
    all += &format!("# memory\n{}", project.says("store import runs.jsonl --store memory"));
    // The order of the runs is that of their random handles.
    let all = all.replace("<run1>", "<run>").replace("<run2>", "<run>");
    expect![[r#"
        # empty
        stderr: error: `case.jsonl` is empty
        stderr: help: name a file that `portolan store export` has written
        exit: 2
        # text
        stderr: error: `case.jsonl` is not an archive of runs
        stderr: help: name a file that `portolan store export` has written
        exit: 2
        # binary
        stderr: error: `case.jsonl` is not an archive of runs
        stderr: help: name a file that `portolan store export` has written
        exit: 2
        # json
        stderr: error: `case.jsonl` is not an archive of runs
        stderr: help: name a file that `portolan store export` has written
        exit: 2
        # truncated
        imported 1 run with 3 records
        stderr: error: `case.jsonl` ends after line 10, in the middle of an export
        stderr: help: export the runs again: those that are complete here can be imported, and are skipped the next time
        exit: 2
        # no end
        imported 2 runs with 6 records
        stderr: error: `case.jsonl` ends after line 10, in the middle of an export
        stderr: help: export the runs again: those that are complete here can be imported, and are skipped the next time
        exit: 2
        # in a run
        stderr: error: `case.jsonl` ends after line 4, in the middle of an export
        stderr: help: export the runs again: those that are complete here can be imported, and are skipped the next time
        exit: 2
        # version 2
        stderr: error: `case.jsonl` is an archive of version 2, and this release reads version 1
        stderr: help: use the release of portolan that wrote it, or a newer one
        exit: 2
        # changed definition
        stderr: error: line 2 of `case.jsonl` has a definition whose text was changed
        stderr: help: export the runs again, or restore the file from a copy
        exit: 2
        # more fields
        stderr: error: line 4 of `case.jsonl` is not a line of an archive (unknown field `more`, expected one of `seq`, `event`, `changes` at line 1 column 17)
        stderr: help: export the runs again, or restore the file from a copy
        exit: 2
        # a record twice
        imported 0 runs with 0 records
        stderr: run `<run>` is refused: record 1 follows record 1 (run_invalid)
        stderr: error: line 7 of `case.jsonl` has a record outside of a run
        stderr: help: export the runs again, or restore the file from a copy
        exit: 2
        # other totals
        imported 2 runs with 6 records
        stderr: error: line 11 of `case.jsonl` ends an export of 3 runs with 6 records, and it has 2 with 6
        stderr: help: export the runs again, or restore the file from a copy
        exit: 2
        # no records
        stderr: error: line 3 of `case.jsonl` has a run of 0 records; a run has 1 to 1000000
        stderr: help: export the runs again, or restore the file from a copy
        exit: 2
        # endless
        stderr: error: line 3 of `case.jsonl` has a run of 99999999999 records; a run has 1 to 1000000
        stderr: help: export the runs again, or restore the file from a copy
        exit: 2
        # no definition
        stderr: error: line 2 of `case.jsonl` has a run whose definition is not before it
        stderr: help: export the runs again, or restore the file from a copy
        exit: 2
        # deep
        stderr: error: line 2 of `case.jsonl` is not a line of an archive (nested deeper than 256 levels)
        stderr: help: export the runs again, or restore the file from a copy
        exit: 2
        # missing.jsonl
        stderr: error: `missing.jsonl` cannot be read: no such file or directory
        stderr: help: name a file that `portolan store export` has written
        exit: 1
        # .
        stderr: error: `.` is not a file
        stderr: help: write the export to a file first, and name that file
        exit: 2
        # memory
        stderr: error: a store in memory ends with its process: there is nothing to show
        stderr: help: name the file that `serve` keeps runs in
        exit: 2
    "#]].assert_eq(&all);
}

/// A run is stored only if its records are a journal, and never over another one.
#[test]
fn a_run_that_differs_is_refused_and_the_others_are_imported() {
    let project = project();
    project.says("store export runs.jsonl");
    let whole = text(&project, "runs.jsonl");
    project.write("later.jsonl", whole.replacen("make it so", "make it otherwise", 2));
    let said = project.says("store import later.jsonl");
    assert!(said.contains("1 run is here already") && said.ends_with("exit: 1\n"), "{said}");
    let refused: Vec<&str> = said.lines().filter(|line| line.contains("is refused")).collect();
    assert_eq!(refused.len(), 1, "{said}");
    assert!(refused[0].ends_with("the store has a run with this handle and another record 1 (run_differs)"), "{said}");
    project.write("forged.jsonl", whole.replacen("\"seq\":2", "\"seq\":7", 1));
    let said = project.says("store import forged.jsonl --store new.db");
    assert!(said.starts_with("imported 1 run with "), "{said}");
    assert!(said.contains("is refused: record 7 follows record 1 (run_invalid)\nexit: 1\n"), "{said}");
}

/// Such a run could be stored, and nothing else: it is not known what of it must be sealed.
#[test]
fn a_run_whose_definition_cannot_be_read_is_refused() {
    const DIGEST: &str = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    let mut project = Project::small();
    project.run("small", "passed");
    project.says("store export runs.jsonl");
    let whole = text(&project, "runs.jsonl");
    let lines: Vec<&str> = whole.lines().collect();
    let head: serde_json::Value = serde_json::from_str(lines[2]).expect("the line of the run");
    let digest = head["run"]["definition"].as_str().expect("a digest");
    let empty = format!("{{\"definition\":{{\"digest\":\"{DIGEST}\",\"text\":\"{{}}\"}}}}");
    project.write("empty.jsonl", whole.replace(lines[1], &empty).replace(digest, DIGEST));
    expect![[r#"
        imported 0 runs with 0 records
        stderr: run `<run1>` is refused: the stored definition is damaged: missing field `root` at line 1 column 2 (run_invalid)
        exit: 1
    "#]].assert_eq(&project.says("store import empty.jsonl --store new.db"));
}

/// The records of an import count as decisions of persons, and what was deleted can no longer be verified.
#[test]
fn an_agent_imports_and_deletes_nothing() {
    let project = project();
    project.says("store export runs.jsonl");
    let says = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        project.output_text(&project.command(&words).env("CLAUDECODE", "1").output().expect("the binary starts"))
    };
    let mut all = String::new();
    for line in ["store import runs.jsonl --store other.db", "runs prune --older-than 90d", "store verify"] {
        all += &format!("$ {line}\n{}", says(line));
    }
    expect![[r#"
        $ store import runs.jsonl --store other.db
        stderr: error: only a person may import runs, and `CLAUDECODE` is set, which Claude Code does for its agent
        stderr: help: a person must run the command in a terminal that was not opened by an agent's program
        exit: 2
        $ runs prune --older-than 90d
        stderr: error: only a person may delete runs, and `CLAUDECODE` is set, which Claude Code does for its agent
        stderr: help: a person must run the command in a terminal that was not opened by an agent's program
        exit: 2
        $ store verify
        2 runs with 8 records verified, no faults
        exit: 0
    "#]]
    .assert_eq(&all);
    assert!(says("runs prune --older-than 90d --dry-run").ends_with("exit: 0\n"));
    assert!(!project.path().join("other.db").exists());
    assert_eq!(project.says("runs list --all").lines().count(), 3);
}
