//! The journal of runs in task files: its order, and what a crash leaves in it.

use crate::common::calls::Calls;
use std::fs::{self, OpenOptions};
use std::io::Write;

use crate::common::walk::{Choice, Restart, Walker};
use crate::common::{World, names, read, wait};
use expect_test::expect;
use portolan_core::run::Run;
use portolan_runtime::carrier::Address;
use portolan_runtime::service::RunLine;

fn lines(world: &World) -> Vec<String> {
    let text = fs::read(world.path(".portolan/tasks.jsonl")).expect("the journal is there");
    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
}

fn append(world: &World, bytes: &[u8]) {
    let journal = OpenOptions::new().append(true).open(world.path(".portolan/tasks.jsonl"));
    journal.and_then(|mut journal| journal.write_all(bytes)).expect("the journal is there");
}

fn runs(world: &World, open_only: bool) -> String {
    let runs: Vec<RunLine> = wait(world.service().list(open_only, 10)).expect("a list");
    let home = format!("{}/", world.project().display());
    runs.iter()
        .map(|run| format!("{} {} {} {} {}\n", run.run, run.status, run.workflow, run.step, run.updated_at))
        .collect::<String>()
        .replace(&home, "")
}

#[test]
fn every_move_is_a_line_and_the_run_is_the_fold_of_them() {
    let world = World::believing(&["feature-development"]);
    let task = world.init(&world.task_init("1", "feature-development")).expect("it begins").address;
    Walker::new(&world, Choice::Any(11), Restart::AfterEachCall).walk(&task);
    let records = wait(world.service().records(&task)).expect("there are records");
    assert!(records.iter().map(|record| record.seq).eq(1..=records.len() as u64));
    assert!(records.is_sorted_by_key(|record| record.event.at));
    let run = Run::fold(records.iter().flat_map(|record| &record.changes)).expect("the first one opens it");
    let state = &world.read_task("1")["metadata"]["portolan"];
    assert_eq!(serde_json::to_value(&run).expect("JSON"), state["run"]);
    assert_eq!(state["seq"], records.len());
    assert_eq!(lines(&world).len(), records.len());
}

/// What lies in the folder of the project. Whom runs bind depends on what has started the tests.
fn kept(world: &World) -> Vec<String> {
    let mut names = names(&world.path(".portolan"));
    names.retain(|name| name != "bindings");
    names
}

#[test]
fn what_is_kept_stays_out_of_version_control() {
    for stored_first in [true, false] {
        let world = World::new();
        if stored_first {
            world.open("execute");
        }
        world.begin("1", "execute");
        world.open("execute");
        let ignored = fs::read_to_string(world.path(".portolan/.gitignore")).expect("it is there");
        assert!(ignored.lines().any(|line| line == "*"), "{ignored}");
        let kept = kept(&world);
        assert!(kept.starts_with(&[".gitignore".into(), "definitions".into(), "runs.db".into()]), "{kept:?}");
        assert_eq!(names(&world.path(".portolan/definitions")).len(), 1);
    }
}

#[test]
fn a_line_that_was_cut_off_is_nothing_and_takes_nothing_with_it() {
    let world = World::believing(&["quick-task", "execute"]);
    let task = world.begin("1", "quick-task");
    let before = world.history(&task);
    let last = lines(&world).pop().expect("a line").replace("ann", "änn");
    // At every length, also in the middle of a character.
    for cut in (1..last.len()).step_by(7).chain([last.find('ä').expect("it is there") + 1]) {
        append(&world, &last.as_bytes()[..cut]);
        assert_eq!(world.history(&task), before);
        let other = world.begin("2", "execute");
        assert_eq!(world.history(&other).lines().count(), 2, "cut at {cut}");
        fs::remove_file(world.path("tasks/2.json")).expect("it is removed");
    }
    world.next(&task, "passed").expect("it goes on");
    assert_eq!(world.history(&task).lines().count(), 3);
    let whole = fs::read(world.path(".portolan/tasks.jsonl")).expect("it is there");
    assert!(whole.ends_with(b"\n"));
}

#[test]
fn a_record_that_never_reached_the_file_did_not_happen() {
    let world = World::believing(&["quick-task"]);
    let task = world.begin("1", "quick-task");
    let before = (world.text("1"), world.history(&task));
    world.next(&task, "passed").expect("it goes on");
    // As if the process had been killed between the journal and the file.
    fs::write(world.path("tasks/1.json"), &before.0).expect("it is put back");
    assert_eq!(world.history(&task), before.1);
    assert_eq!(world.current(&task).expect("it is there").current_step, "understand");
    world.next(&task, "failed").expect("another move is made in its place");
    expect![[r#"
        1 agent ann opened `quick-task`
        2 agent ann began → now at `understand`
        3 agent ann reported failed → retry 1 of 3 for `understand`, now at `understand`
    "#]]
    .assert_eq(&world.history(&task));
}

#[test]
fn a_task_that_was_begun_anew_has_a_history_of_its_own() {
    let world = World::believing(&["quick-task", "execute"]);
    world.begin("1", "quick-task");
    fs::remove_file(world.path("tasks/1.json")).expect("it is removed");
    let task = world.begin("1", "execute");
    expect![[r#"
        1 agent ann opened `execute`
        2 agent ann began → now at `execute`
    "#]]
    .assert_eq(&world.history(&task));
}

#[test]
fn runs_are_listed_by_what_moved_last() {
    let world = World::believing(&["quick-task", "hitl-test", "execute"]);
    let stored = world.open("execute");
    let first = world.begin("1", "quick-task");
    let second = world.begin("2", "hitl-test");
    world.begin("3", "execute");
    world.begin("4", "execute");
    for outcome in ["passed", "failed", "passed", "failed"] {
        world.next(&second, outcome).expect("it is accepted");
    }
    world.next(&first, "passed").expect("it goes on");
    world.next(&Address::Task(world.task("3")), "passed").expect("it ends");
    fs::remove_file(world.path("tasks/4.json")).expect("it is removed");
    expect![[r#"
        STORED working execute start 2023-11-14T22:13:20Z
        tasks/3.json success execute end_success 2023-11-14T22:13:35Z
        tasks/1.json working quick-task execute 2023-11-14T22:13:33Z
        tasks/2.json waiting hitl-test hitl_blocked 2023-11-14T22:13:32Z
    "#]]
    .assert_eq(&runs(&world, false).replace(&stored.to_string(), "STORED"));
    expect![[r#"
        STORED working execute start 2023-11-14T22:13:20Z
        tasks/1.json working quick-task execute 2023-11-14T22:13:33Z
        tasks/2.json waiting hitl-test hitl_blocked 2023-11-14T22:13:32Z
    "#]]
    .assert_eq(&runs(&world, true).replace(&stored.to_string(), "STORED"));
    assert_eq!(wait(world.service().list(false, 2)).expect("a list").len(), 2);
    assert_eq!(wait(world.service().list(false, 0)).expect("a list").len(), 0);
}

#[test]
fn a_project_without_runs_has_none_and_asking_makes_nothing() {
    let world = World::new();
    assert_eq!(runs(&world, false), "");
    assert!(!world.path(".portolan").exists());
    fs::create_dir_all(world.path(".portolan/tasks.jsonl")).expect("a folder");
    let error = wait(world.service().list(false, 10)).expect_err("a folder is no journal");
    assert_eq!((error.code, error.message.contains("cannot be read")), ("journal_failed", true), "{error}");
    let error = world.init(&world.task_init("1", "execute")).expect_err("nothing is kept");
    assert_eq!(error.code, "journal_failed");
    assert!(!world.path("tasks/1.json").exists(), "what is not in the journal is not in the file");
}

#[test]
fn a_journal_that_was_removed_is_begun_anew_by_a_service_that_goes_on() {
    let world = World::believing(&["quick-task"]);
    let service = world.service();
    let me = crate::common::agent();
    let view = wait(service.open(&world.task_init("1", "quick-task"), &me)).expect("it begins");
    fs::remove_dir_all(world.path(".portolan")).expect("it is removed");
    wait(service.start(&view.address, None, &me)).expect("it goes on");
    assert_eq!(kept(&world), [".gitignore", "definitions", "tasks.jsonl"]);
    assert_eq!(world.current(&view.address).expect("another service finds it").current_step, "understand");
    assert_eq!(lines(&world).len(), 1);
}

#[test]
fn a_run_nested_as_deep_as_workflows_may_be_is_kept_and_read_again() {
    let world = World::new();
    for level in 0..DEEPEST {
        let inner = format!("a: runs level-{}; a -passed-> join; a -failed-> join", level + 1);
        world.define(
            &format!("level-{level}"),
            &format!("start -> fork; fork -> a, b; {inner}; b -> join; join -passed-> done; join -failed-> failed"),
        );
    }
    world.define(
        &format!("level-{DEEPEST}"),
        "start -> fork; fork -> a, b; a -> join; b -> join; join -passed-> done; join -failed-> failed",
    );
    world.define("top", "start -> sub; sub: runs level-1; sub -passed-> done; sub -failed-> failed");
    let stored = world.open("level-0");
    let task = world.init(&world.task_init("1", "top")).expect("it begins").address;
    for run in [stored, task] {
        world.start(&run).expect("it starts");
        let view = world.current(&run).expect("it is there");
        assert!(read(&view).actions.required.len() >= DEEPEST, "{} positions", read(&view).actions.required.len());
        if let Address::Task(_) = &run {
            assert!(depth(&world.text("1")) > 60, "the levels are there");
        }
        let end = Walker::new(&world, Choice::First, Restart::AfterEachCall).walk(&run);
        assert_eq!(end.terminal, Some("success"));
        let records = wait(world.service().records(&run)).expect("there are records");
        let fold = Run::fold(records.iter().flat_map(|record| &record.changes)).expect("the first one opens it");
        assert!(fold.is_over());
    }
}

/// Workflows run each other so many levels below the first.
const DEEPEST: usize = portolan_core::validate::MAX_SUBFLOW_DEPTH - 1;

/// How deep lists and objects are nested in a text whose strings hold no brackets.
fn depth(text: &str) -> usize {
    let steps = text.bytes().map(|byte| match byte {
        b'{' | b'[' => 1,
        b'}' | b']' => -1,
        _ => 0,
    });
    let depths = steps.scan(0_isize, |depth, step| {
        *depth += step;
        Some(*depth)
    });
    depths.max().unwrap_or(0).unsigned_abs()
}
