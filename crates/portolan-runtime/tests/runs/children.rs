//! Branches that are tasks of their own: files beside the parent's that name it.

use crate::common::calls::Calls;
use std::fs;

use crate::common::{World, answer_text, navigator_task, person, read, refusal, step, wait};
use expect_test::expect;
use portolan_runtime::carrier::Address;
use portolan_runtime::service::Open;
use serde_json::{Value, json};

const FORKED: &str = "start -> fork; fork -> a, b; a -> a2; a2 -> join; b -> join
    join -passed-> sum; join -failed-> ask; ask -passed-> fork; sum -> done";

/// A parent at its fork.
fn parent(world: &World, workflow: &str) -> Address {
    let parent = world.begin("1", workflow);
    assert!(world.read_task("1")["metadata"]["currentStep"].as_str().expect("a step").starts_with("fork"));
    parent
}

/// A child that has begun.
fn child(world: &World, name: &str, workflow: &str, branch: &str) -> Address {
    world.init(&world.child_init(name, workflow, "1", branch)).expect("the branch begins").address
}

/// A child that has been led to the join.
fn passed_child(world: &World, name: &str, workflow: &str, branch: &str) -> Address {
    let child = child(world, name, workflow, branch);
    let mut view = world.current(&child).expect("it is there");
    while view.terminal.is_none() {
        view = world.next(&child, "passed").expect("it goes on");
    }
    child
}

/// Fails a task whose step has no `failed` edge, until it waits for a person, who gives it up.
fn give_up(world: &World, child: &Address) {
    for _ in 0..5 {
        world.next(child, "failed").expect("it is accepted");
    }
}

#[test]
fn the_parent_waits_until_its_children_have_reached_the_join() {
    let world = World::with("forked", FORKED);
    let parent = parent(&world, "forked");
    expect![[r#"
        branches_open: `fork` is waiting for its branches: `a` and `b` have not reached `join`
          help: bring the task of each of them to `join`, then call again
          (at fork)
    "#]]
    .assert_eq(&answer_text(&world.next(&parent, "passed")));
    let a = child(&world, "2", "forked", "a");
    let file = world.read_task("2");
    assert_eq!((&file["metadata"]["parentTaskId"], &file["status"]), (&json!("1"), &json!("in_progress")));
    expect![[r#"
        fork working
          required Init(forked, b, 1)
          blocked Next(passed) until the branches reach the join: `a` is at `a`; `b` has no task
    "#]]
    .assert_eq(&answer_text(&world.current(&parent)));
    world.next(&a, "passed").expect("a goes on");
    passed_child(&world, "3", "forked", "b");
    expect![[r#"
        branches_open: `fork` is waiting for its branches: `a` have not reached `join`
          help: bring the task of each of them to `join`, then call again
          (at fork)
    "#]]
    .assert_eq(&answer_text(&world.next(&parent, "passed")));
    let view = world.next(&a, "passed").expect("a is done");
    assert_eq!((view.terminal, view.current_step.as_str()), (Some("join"), "join"));
    let file = world.read_task("2");
    assert_eq!((&file["status"], &file["activeForm"]), (&json!("completed"), &json!("Completed")));
    assert_eq!(file["subject"], "#2 \n→ forked · completed ✓");
    // What is reported at the fork is not what counts.
    assert_eq!(world.next(&parent, "failed").expect("the fork is left").current_step, "sum");
    assert!(world.history(&parent).ends_with("4 agent ann gathered `a` passed, `b` passed → now at `sum`\n"));
}

#[test]
fn a_child_that_forks_waits_for_children_of_its_own() {
    let world = World::with(
        "twice",
        "start -> fork; fork -> first, b; first -> fork2; fork2 -> x, y; x -> join2; y -> join2; join2 -> last; last -> join
         b -> join; join -> done",
    );
    let parent = parent(&world, "twice");
    let first = child(&world, "2", "twice", "first");
    passed_child(&world, "3", "twice", "b");
    expect![[r#"
        fork2 working
          required Init(twice, x, 2)
          required Init(twice, y, 2)
          blocked Next(passed) until the branches reach the join: `x` has no task; `y` has no task
    "#]]
    .assert_eq(&answer_text(&world.next(&first, "passed")));
    let grandchild = |name: &str, branch: &str| {
        let task = world.init(&world.child_init(name, "twice", "2", branch)).expect("the branch begins").address;
        let view = world.next(&task, "passed").expect("it goes on");
        assert_eq!((view.terminal, view.current_step.as_str()), (Some("join"), "join2"));
    };
    grandchild("4", "x");
    expect![[r#"
        branches_open: `fork2` is waiting for its branches: `y` have not reached `join2`
          help: bring the task of each of them to `join2`, then call again
          (at fork2)
    "#]]
    .assert_eq(&answer_text(&world.next(&first, "passed")));
    grandchild("5", "y");
    assert_eq!(world.next(&first, "passed").expect("the inner fork is left").current_step, "last");
    assert_eq!(refusal(world.next(&parent, "passed")).code, "branches_open");
    assert_eq!(world.next(&first, "passed").expect("it is done").terminal, Some("join"));
    assert_eq!(world.next(&parent, "passed").expect("the fork is left").terminal, Some("success"));
}

#[test]
fn a_branch_that_failed_is_not_completed_and_fails_the_join() {
    let world = World::with("forked", FORKED);
    let parent = parent(&world, "forked");
    passed_child(&world, "3", "forked", "b");
    let a = child(&world, "2", "forked", "a");
    give_up(&world, &a);
    let file = world.read_task("2");
    expect![[r##"
        "#2 \n→ forked · a · failed"
        "Failed"
        "in_progress"
    "##]]
    .assert_eq(&format!("{}\n{}\n{}\n", file["subject"], file["activeForm"], file["status"]));
    expect![[r#"
        ask (hitl) waiting
          required Next(passed)
          optional Next(cancelled)
    "#]]
    .assert_eq(&answer_text(&world.next(&parent, "passed")));
    let asked = world.current(&parent).expect("it is there");
    assert!(read(&asked).message.contains("failed branches: `a`"), "{}", read(&asked).message);
    // All of it again: the children of the earlier visit count no more.
    world.next(&parent, "passed").expect("a person has it done again");
    expect![[r#"
        fork working
          required Init(forked, a, 1)
          required Init(forked, b, 1)
          blocked Next(passed) until the branches reach the join: `a` has no task; `b` has no task
    "#]]
    .assert_eq(&answer_text(&world.current(&parent)));
    passed_child(&world, "4", "forked", "a");
    assert_eq!(refusal(world.next(&parent, "passed")).code, "branches_open");
    passed_child(&world, "5", "forked", "b");
    assert_eq!(world.next(&parent, "passed").expect("the fork is left").current_step, "sum");
}

#[test]
fn a_child_does_not_walk_the_way_of_its_parent() {
    let world = World::with("forked", FORKED);
    parent(&world, "forked");
    let a = passed_child(&world, "2", "forked", "a");
    expect![[r#"
        no_outgoing_edges: the run has ended at `join`
          help: nothing is left to do; begin a new run for new work
          (at join)
    "#]]
    .assert_eq(&answer_text(&world.next(&a, "passed")));
    assert_eq!(world.read_task("2")["status"], "completed");
    for step in ["sum", "a2", "fork", "join", ""] {
        let beyond = world.child_init("9", "forked", "1", step);
        assert_eq!(refusal(world.init(&beyond)).code, "unknown_branch", "{step}");
    }
    let own_start = Open { step: None, ..world.child_init("9", "forked", "1", "") };
    expect![[r#"
        unknown_branch: the start is not a branch of `fork`, where task `1` waits
          help: name one in `stepId`: `a` and `b`
    "#]]
    .assert_eq(&answer_text(&world.init(&own_start)));
    assert!(!world.path("tasks/9.json").exists());
}

#[test]
fn with_any_pass_the_first_child_is_enough() {
    let world = World::with("any", &format!("{FORKED}; join: any-pass"));
    let parent = parent(&world, "any");
    let a = child(&world, "2", "any", "a");
    give_up(&world, &a);
    assert_eq!(refusal(world.next(&parent, "passed")).code, "branches_open");
    passed_child(&world, "3", "any", "b");
    // A file that cannot be read could not change that.
    world.write("tasks/8.json", "{\"broken");
    assert_eq!(world.next(&parent, "passed").expect("the fork is left").current_step, "sum");
}

#[test]
fn several_tasks_may_share_one_branch_and_all_of_them_must_pass() {
    let world = World::believing(&["batch-process"]);
    let parent = world.begin("1", "batch-process");
    world.next(&parent, "passed").expect("the items are known");
    // The client makes a task for every item first, and begins three of them.
    for name in ["2", "3", "4", "5", "6"] {
        world.write_task(
            name,
            &json!({ "subject": name, "metadata": { "parentTaskId": "1", "branchStep": "process_item" } }),
        );
    }
    let first: Vec<Address> = ["2", "3", "4"].map(|name| child(&world, name, "batch-process", "process_item")).into();
    let held = world.init(&world.child_init("5", "batch-process", "1", "process_item"));
    expect![[r#"
        held_back: 3 branches of `fork_process` are running, and at most 3 are allowed
          help: wait until one of them reaches the join
    "#]]
    .assert_eq(&answer_text(&held));
    for task in &first {
        world.next(task, "passed").expect("the item is done");
    }
    expect![[r#"
        fork_process working
          required Init(batch-process, process_item, 1)
          blocked Next(passed) until the branches reach the join: `process_item` has no task
    "#]]
    .assert_eq(&answer_text(&world.current(&parent)));
    assert_eq!(refusal(world.next(&parent, "passed")).code, "branches_open", "two items have not begun");
    passed_child(&world, "5", "batch-process", "process_item");
    let last = child(&world, "6", "batch-process", "process_item");
    assert_eq!(refusal(world.next(&parent, "passed")).code, "branches_open", "one item is open");
    give_up(&world, &last);
    assert_eq!(world.next(&parent, "passed").expect("the fork is left").current_step, "hitl_partial");
}

#[test]
fn the_limit_of_a_fork_holds_children_back() {
    let world = World::with("limited", &format!("{FORKED}; fork: at-most 1"));
    let parent = parent(&world, "limited");
    expect![[r#"
        fork working
          required Init(limited, a, 1)
          blocked Init(limited, b, 1) until a running branch reaches the join: at most 1 run at once
          blocked Next(passed) until the branches reach the join: `a` has no task; `b` has no task
    "#]]
    .assert_eq(&answer_text(&world.current(&parent)));
    let a = child(&world, "2", "limited", "a");
    let error = refusal(world.init(&world.child_init("3", "limited", "1", "b")));
    assert_eq!(error.code, "held_back");
    assert!(!world.path("tasks/3.json").exists());
    give_up(&world, &a);
    child(&world, "3", "limited", "b");
}

#[test]
fn a_parent_may_be_named_by_a_number_and_in_a_file_that_is_there_already() {
    let world = World::with("forked", FORKED);
    let parent = parent(&world, "forked");
    let made = |branch: &str| json!({ "subject": "x", "metadata": { "parentTaskId": 1, "branchStep": branch } });
    world.write_task("2", &made("a"));
    world.write_task("3", &made("b"));
    for (name, branch) in [("2", "a"), ("3", "b")] {
        let wanted = Open { step: Some(branch.into()), ..world.task_init(name, "forked") };
        let child = world.init(&wanted).expect("the branch begins").address;
        while world.next(&child, "passed").expect("it goes on").terminal.is_none() {}
        assert_eq!(world.read_task(name)["metadata"]["parentTaskId"], 1);
    }
    assert_eq!(world.next(&parent, "passed").expect("the fork is left").current_step, "sum");
    world.write_task("4", &json!({ "subject": "x", "metadata": null }));
    let view = world.init(&world.child_init("4", "forked", "1", "a")).expect("it begins");
    assert_eq!(world.read_task("4")["metadata"]["parentTaskId"], "1");
    assert_eq!(view.notes, ["task `1` is not waiting at a fork, so this is not a branch of it"]);
}

#[test]
fn a_child_is_held_to_the_definition_of_its_parent() {
    let world = World::with("forked", FORKED);
    let parent = parent(&world, "forked");
    world.define(
        "forked",
        "start -> fork; fork -> a, b; a -> join; b -> join; join -passed-> done; join -failed-> failed",
    );
    let a = child(&world, "2", "forked", "a");
    assert_eq!(world.next(&a, "passed").expect("it goes on").current_step, "a2");
    fs::remove_dir_all(world.path(".flow")).expect("it is removed");
    passed_child(&world, "3", "forked", "b");
    world.next(&a, "passed").expect("a is done");
    assert_eq!(world.next(&parent, "passed").expect("the fork is left").current_step, "sum");
}

#[test]
fn what_is_no_branch_of_the_fork_counts_for_nothing_and_says_so() {
    let world = World::with("forked", FORKED);
    world.define("easy", "start -> a; a -> done");
    // Before the parent is there at all, before it has a workflow, before it is at the fork, and in another workflow.
    let early = world.init(&world.child_init("2", "forked", "1", "a")).expect("a task of its own");
    world.write_task("1", &json!({ "subject": "x" }));
    let unled = world.init(&world.child_init("3", "forked", "1", "a")).expect("a task of its own");
    let parent = world.init(&world.task_init("1", "forked")).expect("it begins").address;
    let before = world.init(&world.child_init("4", "forked", "1", "b")).expect("a task of its own");
    world.start(&parent).expect("it starts");
    let other = world.init(&world.child_init("5", "easy", "1", "a")).expect("a task of its own");
    let notes: Vec<String> = [&early, &unled, &before, &other].iter().flat_map(|view| view.notes.clone()).collect();
    expect![[r#"
        there is no task `1` beside this one, so this is not a branch of it
        task `1` has no workflow yet, so this is not a branch of it
        task `1` is not waiting at a fork, so this is not a branch of it
        task `1` waits at a fork of `forked`, but this one runs another workflow, so it is not a branch of it
    "#]]
    .assert_eq(&format!("{}\n", notes.join("\n")));
    for view in [&early, &unled, &before, &other] {
        while world.next(&view.address, "passed").expect("it goes on").terminal.is_none() {}
    }
    expect![[r#"
        branches_open: `fork` is waiting for its branches: `a` and `b` have not reached `join`
          help: bring the task of each of them to `join`, then call again
          (at fork)
    "#]]
    .assert_eq(&answer_text(&world.next(&parent, "passed")));
}

#[test]
fn children_of_a_run_that_was_in_the_parents_file_before_count_for_nothing() {
    let world = World::with("forked", FORKED);
    parent(&world, "forked");
    passed_child(&world, "2", "forked", "a");
    passed_child(&world, "3", "forked", "b");
    fs::remove_file(world.path("tasks/1.json")).expect("it is removed");
    let parent = parent(&world, "forked");
    assert_eq!(refusal(world.next(&parent, "passed")).code, "branches_open");
}

#[test]
fn neighbours_that_are_no_tasks_are_in_nobodys_way() {
    let world = World::with("forked", FORKED);
    let parent = parent(&world, "forked");
    world.write("tasks/package.json", "{\"name\": \"x\"}");
    world.write("tasks/list.json", "[1, 2]");
    world.write("tasks/notes.txt", "{");
    world.write("tasks/folder.json/x", "");
    std::os::unix::fs::symlink("nowhere", world.path("tasks/dangling.json")).expect("a link");
    world.write_task("77", &json!({ "subject": "another", "metadata": { "parentTaskId": "7" } }));
    world.write_task("78", &json!({ "subject": "another", "metadata": { "parentTaskId": "1" } }));
    world.write_task("79", &json!({ "subject": "another", "metadata": { "parentTaskId": "1", "branchStep": "gone" } }));
    passed_child(&world, "2", "forked", "a");
    passed_child(&world, "3", "forked", "b");
    assert_eq!(world.next(&parent, "passed").expect("the fork is left").current_step, "sum");
}

#[test]
fn a_neighbour_that_cannot_be_read_is_named_and_only_counting_waits_for_it() {
    let world = World::with("forked", FORKED);
    let parent = parent(&world, "forked");
    world.write("tasks/8.json", "{\"subject\": \"half a ta");
    let shown = |answer| answer_text(&answer).replace(&world.task("8"), "EIGHT");
    expect![[r#"
        fork working
          note: `EIGHT` is not valid JSON: EOF while parsing a string at line 1 column 22; repair it or move it away; it was left as it is
          required Init(forked, a, 1)
          required Init(forked, b, 1)
          blocked Next(passed) until the branches reach the join: `a` has no task; `b` has no task
    "#]].assert_eq(&shown(world.current(&parent)));
    passed_child(&world, "2", "forked", "a");
    assert_eq!(refusal(world.next(&parent, "passed")).code, "branches_open", "the branch that is open is said first");
    passed_child(&world, "3", "forked", "b");
    expect![[r#"
        fork working
          note: `EIGHT` is not valid JSON: EOF while parsing a string at line 1 column 22; repair it or move it away; it was left as it is
          blocked Next(passed) until the file is repaired or moved out of this folder, because it could be the task of a branch: `EIGHT` is not valid JSON: EOF while parsing a string at line 1 column 22
    "#]].assert_eq(&shown(world.current(&parent)));
    expect![[r#"
        branch_unreadable: `EIGHT` is not valid JSON: EOF while parsing a string at line 1 column 22, and it may be the task of a branch
          help: repair it or move it away; it was left as it is
          (at fork)
    "#]].assert_eq(&shown(world.next(&parent, "passed")));
    fs::rename(world.path("tasks/8.json"), world.path("8.json")).expect("it is moved away");
    assert_eq!(world.next(&parent, "passed").expect("the fork is left").current_step, "sum");
}

#[test]
fn a_child_whose_file_was_damaged_is_open() {
    let world = World::with("forked", FORKED);
    let parent = parent(&world, "forked");
    passed_child(&world, "2", "forked", "a");
    passed_child(&world, "3", "forked", "b");
    let mut file = world.read_task("3");
    file["metadata"]["portolan"] = json!({ "version": 1 });
    file["metadata"]["branchStep"] = json!("b");
    world.write_task("3", &file);
    assert_eq!(refusal(world.next(&parent, "passed")).code, "branches_open");
}

#[test]
fn children_that_navigator_began_are_taken_up_with_their_parent() {
    let world = World::with("forked", FORKED);
    let of_branch = |step: &str, branch: &str, status: &str| {
        let mut task = navigator_task("forked", step, 0, None);
        task["metadata"]["parentTaskId"] = json!("1");
        task["metadata"]["branchStep"] = json!(branch);
        task["status"] = json!(status);
        task
    };
    world.write_task("1", &navigator_task("forked", "fork", 0, None));
    world.write_task("2", &of_branch("a", "a", "in_progress"));
    world.write_task("3", &of_branch("join", "b", "completed"));
    let (parent, a) = (Address::Task(world.task("1")), Address::Task(world.task("2")));
    expect![[r#"
        fork working
          blocked Next(passed) until the branches reach the join: `a` is at `a`
    "#]]
    .assert_eq(&answer_text(&world.current(&parent)));
    while world.next(&a, "passed").expect("it goes on").terminal.is_none() {}
    assert_eq!(world.read_task("2")["status"], "completed");
    assert_eq!(world.next(&parent, "passed").expect("the fork is left").current_step, "sum");
    // At the next visit of a fork they are of the past.
    let world = World::with("forked", FORKED);
    world.write_task("1", &navigator_task("forked", "ask", 0, None));
    world.write_task("2", &of_branch("join", "a", "completed"));
    world.write_task("3", &of_branch("join", "b", "completed"));
    let parent = Address::Task(world.task("1"));
    world.next(&parent, "passed").expect("all of it again");
    assert_eq!(refusal(world.next(&parent, "passed")).code, "branches_open");
}

#[test]
fn a_child_waits_for_a_person_by_itself() {
    let world = World::believing(&["odd-even-test"]).verified();
    let parent = world.begin("1", "odd-even-test");
    let child = child(&world, "2", "odd-even-test", "compute");
    for _ in 0..4 {
        world.next(&child, "passed").expect("a number is drawn");
        world.next(&child, "failed").expect("it is odd");
    }
    assert_eq!(world.current(&child).expect("it is there").current_step, "hitl_failed");
    assert_eq!(refusal(world.next(&child, "passed")).code, "needs_person");
    assert_eq!(refusal(world.next(&parent, "passed")).code, "branches_open");
    let question = wait(world.service().question(&child, None, &person())).expect("it is asked");
    wait(world.service().next(&step(&question, "passed"), &person())).expect("a person may");
    assert_eq!(world.read_task("2")["status"], "completed");
    assert_eq!(world.next(&parent, "passed").expect("the fork is left").terminal, Some("success"));
}

#[test]
fn a_parent_that_cannot_be_is_refused() {
    let world = World::with("forked", FORKED);
    for id in ["../1", "/etc/passwd", "a/b", "..", &"x".repeat(10_000)] {
        let error = refusal(world.init(&world.child_init("2", "forked", id, "a")));
        assert!(error.code == "bad_id" && error.message.len() < 300, "{}: {}", error.code, error.message);
    }
    world.write("tasks/1.json", "{");
    assert_eq!(refusal(world.init(&world.child_init("2", "forked", "1", "a"))).code, "task_file_not_json");
    assert!(!world.path("tasks/2.json").exists());
    let stored = Open { workflow: Some("forked".into()), parent: Some("1".into()), ..Open::default() };
    let notes: Value = json!(world.init(&stored).expect("it begins").notes);
    assert_eq!(notes, json!(["a run in the store is not a branch of a task; `parentTaskId` was not used"]));
}
