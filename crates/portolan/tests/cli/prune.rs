//! Runs that ended long ago are deleted, and archived ones are still shown.

use std::fs;

use expect_test::expect;

use crate::support::Project;

/// A project with two runs that are over since long, and one that is open as long.
fn project() -> Project {
    let mut project = Project::small();
    for outcomes in ["passed passed", "passed passed", "passed"] {
        project.run("small", outcomes);
    }
    project
}

/// The handles differ each time, and with them the order of the runs.
fn any_run(said: &str) -> String {
    (1..=3).fold(said.to_owned(), |said, nth| said.replace(&format!("<run{nth}>"), "<run>"))
}

#[test]
fn only_runs_that_are_over_and_old_enough_are_deleted() {
    let project = project();
    expect![[r#"
        <run>
        <run>
        stderr: would delete 2 runs with 10 records
        exit: 0
    "#]]
    .assert_eq(&any_run(&project.says("runs prune --older-than 90d --dry-run")));
    let nothing = "deleted 0 runs with 0 records\nexit: 0\n";
    assert_eq!(project.says("runs prune --older-than 1000000d"), nothing);
    assert_eq!(project.says("runs list --all").lines().count(), 4, "a dry run deletes nothing");
    expect![[r#"
        deleted 2 runs with 10 records
        exit: 0
    "#]]
    .assert_eq(&project.says("runs prune --older-than 90d"));
    assert_eq!(project.says("runs prune --older-than 90d"), nothing);
    let left = project.says("runs list --all");
    assert!(left.starts_with("<run3>  working") && left.lines().count() == 2, "{left}");
    assert_eq!(project.says("store verify"), "1 run with 3 records verified, no faults\nexit: 0\n");
}

#[test]
fn definitions_go_with_the_last_run_that_is_pinned_to_them() {
    let mut project = Project::small();
    project.run("small", "passed passed");
    project.write(".flow/workflows/other.json", crate::support::SMALL.replace("Do it.", "Do it all."));
    project.run("other", "passed");
    expect![[r#"
        {
          "dryRun": false,
          "runs": 1,
          "records": 5,
          "definitions": 1,
          "deleted": [
            "<run1>"
          ],
          "stay": [],
          "stayCount": 0
        }
        exit: 0
    "#]]
    .assert_eq(&project.says("runs prune --older-than 1d --format json"));
    assert_eq!(project.says("store verify"), "1 run with 3 records verified, no faults\nexit: 0\n");
    assert!(project.says("store status").contains("definitions  1\n"));
}

#[test]
fn an_archived_run_is_still_shown() {
    let mut project = project();
    let run = project.run("small", "passed passed");
    let [shown, events, json] =
        [format!("runs show {run}"), format!("runs events {run}"), format!("runs events {run} --format json")]
            .map(|line| (project.says(&line), line));
    expect![[r#"
        deleted 3 runs with 15 records after archiving them in `old.jsonl`
        exit: 0
    "#]]
    .assert_eq(&project.says("runs prune --older-than 90d --archive old.jsonl"));
    for (before, line) in [&shown, &events, &json] {
        assert!(project.says(line).contains("there is no run `<run4>` in this store"));
        assert_eq!(&project.says(&format!("{line} --archive old.jsonl")), before);
    }
    project.run("small", "passed passed");
    project.says("runs prune --older-than 90d --archive old.jsonl");
    let archive = fs::read_to_string(project.path().join("old.jsonl")).expect("it was written");
    assert_eq!((archive.matches("{\"export\"").count(), archive.matches("{\"end\"").count()), (2, 2));
    assert_eq!(project.says(&format!("{} --archive old.jsonl", shown.1)), shown.0, "it is appended to");
    expect![[r#"
        imported 4 runs with 20 records
        exit: 0
    "#]]
    .assert_eq(&project.says("store import old.jsonl"));
    assert_eq!(project.says(&shown.1), shown.0);
    let mut all = String::new();
    for line in
        ["show k7m2qx4p --archive old.jsonl", "show k7m2qx4p --archive none.jsonl", "show a.json --archive old.jsonl"]
    {
        all += &format!("$ runs {line}\n{}", project.says(&format!("runs {line}")));
    }
    expect![[r#"
        $ runs show k7m2qx4p --archive old.jsonl
        stderr: error: `old.jsonl` has no run `k7m2qx4p`
        stderr: help: name another file, or leave out `--archive` for the runs of the store
        exit: 2
        $ runs show k7m2qx4p --archive none.jsonl
        stderr: error: `none.jsonl` cannot be read: no such file or directory
        stderr: help: name a file that `portolan store export` has written
        exit: 1
        $ runs show a.json --archive old.jsonl
        stderr: error: `a.json` is a task file, whose run is continued by its agent
        stderr: help: name the handle of a run; `portolan runs list` shows them
        exit: 2
    "#]]
    .assert_eq(&all);
}

/// A file that does not end with a complete export is not appended to, and nothing is deleted then.
#[test]
fn what_cannot_be_archived_is_not_deleted() {
    let project = project();
    project.write("notes.txt", "mine\n");
    project.says("store export whole.jsonl");
    let whole = fs::read_to_string(project.path().join("whole.jsonl")).expect("it was written");
    project.write("torn.jsonl", &whole[..whole.len() - 10]);
    let mut all = String::new();
    for file in ["notes.txt", "torn.jsonl", "missing/old.jsonl", "."] {
        all += &format!("# {file}\n{}", project.says(&format!("runs prune --older-than 90d --archive {file}")));
    }
    for line in ["", "--older-than 90", "--older-than -3d", "--older-than 90d --store missing.db"] {
        all += &format!("$ {line}\n{}", project.says(&format!("runs prune {line}")));
    }
    expect![[r#"
        # notes.txt
        stderr: error: `notes.txt` is not an archive of runs, or ends in the middle of an export
        stderr: help: name another file: runs that are incomplete in an archive have not been removed
        exit: 2
        # torn.jsonl
        stderr: error: `torn.jsonl` is not an archive of runs, or ends in the middle of an export
        stderr: help: name another file: runs that are incomplete in an archive have not been removed
        exit: 2
        # missing/old.jsonl
        stderr: error: `missing/old.jsonl` cannot be written: no such file or directory
        stderr: help: name a file in a folder that you can write to, or free some space
        exit: 1
        # .
        stderr: error: `.` cannot be written: is a directory
        stderr: help: name a file in a folder that you can write to, or free some space
        exit: 1
        $ 
        stderr: error: the following required arguments were not provided:
        stderr:   --older-than <AGE>
        stderr: 
        stderr: Usage: portolan runs prune --older-than <AGE>
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
        $ --older-than 90
        stderr: error: invalid value '90' for '--older-than <AGE>': write a number and `m`, `h` or `d`, such as `12h`
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
        $ --older-than -3d
        stderr: error: unexpected argument '-3' found
        stderr: 
        stderr: Usage: portolan runs prune [OPTIONS] --older-than <AGE>
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
        $ --older-than 90d --store missing.db
        stderr: error: there is no store at `missing.db`
        stderr: help: name the file that `serve` keeps runs in
        exit: 2
    "#]]
    .assert_eq(&all);
    assert_eq!(project.says("runs list --all").lines().count(), 4);
    assert_eq!(fs::read_to_string(project.path().join("notes.txt")).expect("it is there"), "mine\n");
}
