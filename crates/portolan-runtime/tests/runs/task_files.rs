//! Runs in task files, as task lists and Navigator's clients meet them.

use crate::common::calls::{Calls, Move};
use std::fs;

use crate::common::walk::{Choice, Restart, Walker};
use crate::common::{
    World, agent, answer_text, names, navigator_task, person, read, refusal, step, task_lines, view_line, wait,
};
use expect_test::expect;
use portolan_runtime::carrier::Address;
use portolan_runtime::catalog;
use portolan_runtime::service::{Open, RunCarrier};
use serde_json::{Value, json};

const MEND: &str = "start -> fix; fix -> check; check: gate retries 1; check -passed-> done
    check -failed-> fix; check -failed-> ask; ask -passed-> fix";

#[test]
fn every_catalogue_workflow_is_led_to_its_end_in_task_files_and_a_restart_changes_nothing() {
    for entry in catalog::WORKFLOWS {
        for choice in [Choice::First, Choice::Any(3), Choice::Any(2026)] {
            let walked = [Restart::Never, Restart::AfterEachCall].map(|restart| {
                let world = World::believing(&[entry.id]);
                let address = world.init(&world.task_init("1", entry.id)).expect("it begins").address;
                let mut walker = Walker::new(&world, choice, restart);
                let end = walker.walk(&address);
                if matches!(choice, Choice::First) {
                    assert_eq!(end.terminal, Some("success"), "{}:\n{}", entry.id, walker.log);
                    assert_eq!(world.read_task("1")["status"], "completed");
                }
                (walker.log, world.history(&address))
            });
            assert_eq!(walked[0], walked[1], "{}", entry.id);
        }
    }
}

#[test]
fn a_file_that_init_makes_is_a_whole_task() {
    let world = World::new();
    let wanted = Open { description: Some("Add dark mode".into()), ..world.task_init("1", "feature-development") };
    let view = world.init(&wanted).expect("it begins");
    assert_eq!((view.current_step.as_str(), view.terminal), ("start", Some("start")));
    assert!(read(&view).message.starts_with("## Queued"), "{}", read(&view).message);
    let mut task = world.read_task("1");
    task["metadata"].as_object_mut().expect("an object").remove("portolan").expect("the run is in there");
    expect![[r##"
        {
          "id": "1",
          "subject": "#1 Add dark mode ✨\n→ feature-development · start",
          "description": "Add dark mode",
          "status": "pending",
          "blocks": [],
          "blockedBy": [],
          "activeForm": "Start",
          "metadata": {
            "workflowType": "feature-development",
            "currentStep": "start",
            "retryCount": 0,
            "userDescription": "Add dark mode",
            "stepName": "Start"
          }
        }
    "##]]
    .assert_eq(&format!("{task:#}\n"));
    assert_eq!(names(&world.path("tasks")), [".portolan.lock", "1.json"]);
}

#[test]
fn a_task_list_sees_each_step() {
    let world = World::with("mend", MEND);
    let wanted = Open { description: Some("the door".into()), ..world.task_init("7", "mend") };
    let task = world.init(&wanted).expect("it begins").address;
    world.start(&task).expect("it starts");
    let mut lines = task_lines(&world.read_task("7"));
    for outcome in ["passed", "failed", "passed", "failed", "passed", "passed", "passed"] {
        let view = world.next(&task, outcome).expect("it is accepted");
        let file = world.read_task("7");
        lines.push_str(&format!("\n{outcome}\n{}", task_lines(&file)));
        let metadata = Value::Object(view.metadata.clone());
        for (key, value) in metadata.as_object().expect("an object") {
            assert_eq!(file["metadata"][key], *value, "the answer and the file agree on `{key}`");
        }
        assert_eq!(file["metadata"].get("retrySourceGate").is_some(), metadata.get("retrySourceGate").is_some());
    }
    expect![[r##"
        id: "7"
        subject: "#7 the door\n→ mend · fix"
        activeForm: "fix"
        status: "in_progress"
        metadata: {"workflowType":"mend","currentStep":"fix","retryCount":0,"userDescription":"the door","stepName":"fix"}

        passed
        id: "7"
        subject: "#7 the door\n→ mend · check"
        activeForm: "check"
        status: "in_progress"
        metadata: {"workflowType":"mend","currentStep":"check","retryCount":0,"userDescription":"the door","stepName":"check"}

        failed
        id: "7"
        subject: "#7 the door\n→ mend · fix"
        activeForm: "fix"
        status: "in_progress"
        metadata: {"workflowType":"mend","currentStep":"fix","retryCount":1,"userDescription":"the door","stepName":"fix","retrySourceGate":"check"}

        passed
        id: "7"
        subject: "#7 the door\n→ mend · check"
        activeForm: "check"
        status: "in_progress"
        metadata: {"workflowType":"mend","currentStep":"check","retryCount":1,"userDescription":"the door","stepName":"check","retrySourceGate":"check"}

        failed
        id: "7"
        subject: "#7 the door\n→ mend · ask · HITL"
        activeForm: "HITL - Needs help"
        status: "in_progress"
        metadata: {"workflowType":"mend","currentStep":"ask","retryCount":1,"userDescription":"the door","stepName":"ask","retrySourceGate":"check"}

        passed
        id: "7"
        subject: "#7 the door\n→ mend · fix"
        activeForm: "fix"
        status: "in_progress"
        metadata: {"workflowType":"mend","currentStep":"fix","retryCount":0,"userDescription":"the door","stepName":"fix"}

        passed
        id: "7"
        subject: "#7 the door\n→ mend · check"
        activeForm: "check"
        status: "in_progress"
        metadata: {"workflowType":"mend","currentStep":"check","retryCount":0,"userDescription":"the door","stepName":"check"}

        passed
        id: "7"
        subject: "#7 the door\n→ mend · completed ✓"
        activeForm: "Completed"
        status: "completed"
        metadata: {"workflowType":"mend","currentStep":"done","retryCount":0,"userDescription":"the door","stepName":"done"}
    "##]].assert_eq(&lines);
}

#[test]
fn ends_are_called_by_their_names() {
    let world = World::with(
        "ends",
        "start -> work; work: outputs passed other; work -passed-> stuck_end; work -other-> failed; work -failed-> ask
         ask -passed-> work",
    );
    // Ends of other kinds than the notation has.
    let text = fs::read_to_string(world.path(".flow/workflows/ends.json")).expect("it is there");
    let mut file: Value = serde_json::from_str(&text).expect("JSON");
    file["nodes"]["stuck_end"] = json!({ "type": "end", "name": "Stuck", "result": "blocked" });
    world.write(".flow/workflows/ends.json", file.to_string());
    let mut lines = String::new();
    for (nth, outcomes) in [&["passed"][..], &["other"], &["failed"], &["failed", "cancelled"]].into_iter().enumerate()
    {
        let name = format!("{nth}");
        let task = world.begin(&name, "ends");
        for outcome in outcomes {
            world.next(&task, outcome).expect("it is accepted");
        }
        let view = world.current(&task).expect("it is there");
        let file = world.read_task(&name);
        let subject = file["subject"].as_str().and_then(|text| text.lines().nth(1)).expect("two lines");
        lines.push_str(&format!("{}  {subject} | {} | {}\n", view_line(&view), file["activeForm"], file["status"]));
    }
    expect![[r#"
        stuck_end (failure) ended
          → ends · stuck_end · blocked | "Blocked" | "in_progress"
        failed (failure) ended
          → ends · failed · failure | "Failed" | "in_progress"
        ask (hitl) waiting
          → ends · ask · HITL | "HITL - Needs help" | "in_progress"
        ask (failure) ended
          → ends · ask · cancelled | "Cancelled" | "in_progress"
    "#]]
    .assert_eq(&lines);
}

#[test]
fn foreign_keys_stay_and_what_others_change_meanwhile_too() {
    let world = World::believing(&["quick-task"]);
    let before = json!({
        "owner": "bob", "subject": "Fix the login", "description": "as it was", "blocks": ["9"], "status": "pending",
        "metadata": { "colour": "red", "portolan": null }, "zebra": { "metadata": 1 },
    });
    world.write_task("4", &before);
    let task = world.begin("4", "quick-task");
    let mut file = world.read_task("4");
    for (key, value) in before.as_object().expect("an object") {
        if !["subject", "status", "metadata"].contains(&key.as_str()) {
            assert_eq!(file[key], *value, "{key}");
        }
    }
    assert_eq!(file["metadata"]["colour"], "red");
    assert!(file.get("blockedBy").is_none(), "what a file lacks that was there is its owner's matter");
    // A client that takes no lock replaces the file between two moves.
    file["owner"] = json!("eve");
    file["metadata"]["colour"] = json!("blue");
    file["metadata"]["size"] = json!(3);
    world.write_task("4", &file);
    world.next(&task, "passed").expect("it goes on");
    let after = world.read_task("4");
    assert_eq!(
        (&after["owner"], &after["metadata"]["colour"], &after["metadata"]["size"]),
        (&json!("eve"), &json!("blue"), &json!(3))
    );
    assert_eq!(after["status"], "in_progress");
    let order: Vec<&String> = after.as_object().expect("an object").keys().take(4).collect();
    assert_eq!(order, ["owner", "subject", "description", "blocks"]);
}

#[test]
fn what_the_task_list_called_a_task_is_not_lost() {
    let world = World::new();
    world.write_task("4", &json!({ "subject": "Fix the login", "status": "pending" }));
    world.begin("4", "quick-task");
    assert_eq!(world.read_task("4")["subject"], "#4 Fix the login ⚡\n→ quick-task · understand");
    world.write_task("5", &json!({ "subject": "old", "metadata": { "userDescription": "said before" } }));
    world.begin("5", "quick-task");
    assert_eq!(world.read_task("5")["subject"], "#5 said before ⚡\n→ quick-task · understand");
    assert_eq!(world.read_task("5")["metadata"]["userDescription"], "said before");
}

#[test]
fn init_on_a_task_that_has_a_run_changes_nothing_and_says_what_it_left_unused() {
    let world = World::new();
    let task = world.begin("1", "quick-task");
    let before = world.text("1");
    let again = Open {
        workflow: Some("bug-fix".into()),
        step: Some("commit".into()),
        description: Some("something else".into()),
        ..world.task_init("1", "")
    };
    expect![[r#"
        understand working
          note: the task already runs `quick-task`; `workflowType` `bug-fix` was not used
          note: the task is already at `understand`; `stepId` `commit` was not used
          note: the task already has a description; the new one was not used
          required Next(passed)
          optional Next(failed)
    "#]]
    .assert_eq(&answer_text(&world.init(&again)));
    assert_eq!(world.text("1"), before);
    let same =
        world.init(&Open { carrier: RunCarrier::Task(world.task("1")), ..Open::default() }).expect("it is shown");
    assert_eq!(same, world.current(&task).expect("it is there"));
    let long = Open { workflow: Some("x".repeat(10_000)), ..again };
    assert!(world.init(&long).expect("it is shown").notes.iter().all(|note| note.len() < 300));
}

#[test]
fn a_task_without_a_run_or_a_file_says_what_to_do() {
    let world = World::new();
    world.write_task("2", &json!({ "subject": "x", "metadata": { "parentTaskId": "9" } }));
    let tell =
        |name: &str| answer_text(&world.current(&Address::Task(world.task(name)))).replace(&world.task(name), "FILE");
    expect![[r#"
        task_not_found: there is no task file `FILE`
          help: call Init with this path and a `workflowType` first
        no_workflow: the task `FILE` has no workflow yet
          help: call Init with a `workflowType` first
    "#]]
    .assert_eq(&format!("{}{}", tell("1"), tell("2")));
    let error = refusal(world.init(&Open { carrier: RunCarrier::Task(world.task("1")), ..Open::default() }));
    assert_eq!(error.code, "workflow_required");
    let error = refusal(world.init(&world.task_init("1", "no-such")));
    assert_eq!(error.code, "unknown_workflow");
    assert!(!world.path("tasks/1.json").exists(), "a refusal makes no file");
}

#[test]
fn files_of_navigator_are_taken_up_at_every_kind_of_node_and_written_in_the_new_form() {
    let world = World::with(
        "old",
        "start -> one; one -> check; check: gate retries 2; check -passed-> fork; check -failed-> one; check -failed-> ask
         ask -passed-> one; fork -> a, b; a -> join; b -> join; join -passed-> sub; join -failed-> failed
         sub: runs inner; sub -passed-> done; sub -failed-> failed",
    );
    world.define("inner", "start -> deep; deep -> done");
    let mut lines = String::new();
    for at in ["start", "one", "check", "fork", "join", "ask", "sub", "done", "failed"] {
        let (retries, gate) = if at == "one" { (1, Some("check")) } else { (0, None) };
        world.write_task("1", &navigator_task("old", at, retries, gate));
        let before = world.text("1");
        let task = Address::Task(world.task("1"));
        let shown = world.current(&task);
        lines.push_str(&format!("at {at}: {}", answer_text(&shown)));
        assert_eq!(world.text("1"), before, "looking writes nothing");
        let Some(action) = read(&shown.expect("it is taken up")).actions.required.first().cloned() else { continue };
        if action.tool == "Init" {
            continue;
        }
        let moved = world.send(&action).expect("what is offered is accepted");
        lines.push_str(&format!("   then {}", view_line(&moved)));
        let file = world.read_task("1");
        let moves = file["metadata"]["portolan"]["seq"].as_u64().expect("moves are counted");
        // Its own, and those of the nodes that need nobody.
        assert!((1..=3).contains(&moves), "{at}: {moves}");
        assert_eq!(file["owner"], "ann");
        assert_eq!(file["metadata"]["userDescription"], "mend it");
        assert_eq!(moved, World::current(&world, &task).expect("it is there"));
    }
    expect![[r#"
        at start: start (start) working
          required Start()
           then one working
        at one: one working
          required Next(passed)
          optional Next(failed)
           then check working
        at check: check working
          required Next(passed)
          optional Next(failed)
           then fork working
        at fork: fork working
          required Init(old, a, 1)
          required Init(old, b, 1)
          blocked Next(passed) until the branches reach the join: `a` has no task; `b` has no task
        at join: join (hitl) waiting
          required Next(passed)
          optional Next(failed)
          optional Next(cancelled)
           then fork working
        at ask: ask (hitl) waiting
          required Next(passed)
          optional Next(cancelled)
           then one working
        at sub: sub (hitl) waiting
          required Next(passed)
          optional Next(failed)
          optional Next(cancelled)
           then deep working
        at done: done (success) ended
        at failed: failed (failure) ended
    "#]]
    .assert_eq(&lines);
}

#[test]
fn the_retries_that_navigator_counted_are_those_of_their_gate() {
    let world = World::with("mend", MEND);
    // Navigator left the gate in the file for good; the count says whether it means anything.
    for (at, retries, gate, count, after_failing) in [
        ("fix", 1, Some("check"), 1, "ask"),
        ("fix", 0, Some("check"), 0, "fix"),
        ("check", 1, None, 1, "ask"),
        ("check", 1, Some("no-such-node"), 0, "fix"),
        ("check", 4_000_000_000, Some("check"), 1_000_000, "ask"),
    ] {
        world.write_task("1", &navigator_task("mend", at, retries, gate));
        let task = Address::Task(world.task("1"));
        assert_eq!(
            world.current(&task).expect("it is taken up").metadata["retryCount"],
            count,
            "{at} {retries} {gate:?}"
        );
        if at == "fix" {
            world.next(&task, "passed").expect("it goes on");
        }
        let view = world.next(&task, "failed").expect("it is accepted");
        assert_eq!(view.current_step, after_failing, "{at} {retries} {gate:?}");
    }
}

#[test]
fn the_gate_of_a_retry_leaves_the_file_when_it_has_passed() {
    let world = World::with("mend", MEND);
    world.write_task("1", &navigator_task("mend", "check", 1, Some("check")));
    let task = Address::Task(world.task("1"));
    world.next(&task, "passed").expect("it passes");
    let file = world.read_task("1");
    assert!(file["metadata"].get("retrySourceGate").is_none(), "{file}");
    assert_eq!((&file["metadata"]["retryCount"], &file["status"]), (&json!(0), &json!("completed")));
}

#[test]
fn a_file_of_navigator_that_does_not_fit_is_left_alone() {
    let world = World::with("mend", MEND);
    for (task, code) in [
        (navigator_task("mend", "gone", 0, None), "unknown_step"),
        (navigator_task("mend", "constructor", 0, None), "unknown_step"),
        (navigator_task("no-such", "fix", 0, None), "unknown_workflow"),
        (navigator_task("../mend", "fix", 0, None), "bad_id"),
    ] {
        world.write_task("1", &task);
        let (before, address) = (world.text("1"), Address::Task(world.task("1")));
        for answer in [
            world.current(&address),
            world.start(&address),
            world.next(&address, "passed"),
            world.init(&world.task_init("1", "mend")),
        ] {
            assert_eq!(refusal(answer).code, code);
        }
        assert_eq!(world.text("1"), before);
    }
}

#[test]
fn what_is_no_task_is_never_overwritten() {
    let world = World::new();
    let cases: [(&[u8], &str); 9] = [
        (b"{\"subject\": \"half", "task_file_not_json"),
        (b"", "task_file_not_json"),
        (b"[1]", "task_file_not_an_object"),
        (b"7", "task_file_not_an_object"),
        (b"\"text\"", "task_file_not_an_object"),
        (b"null", "task_file_not_an_object"),
        (b"{\"name\": \"package\"}", "task_file_not_a_task"),
        (b"{\"subject\": \"x\", \"metadata\": [1]}", "task_file_not_a_task"),
        (b"{\"subject\": \"\xff\xfe\"}", "task_file_not_json"),
    ];
    for (bytes, code) in cases {
        world.write("tasks/1.json", bytes);
        let address = Address::Task(world.task("1"));
        for answer in [
            world.current(&address),
            world.start(&address),
            world.next(&address, "passed"),
            world.init(&world.task_init("1", "execute")),
        ] {
            assert_eq!(refusal(answer).code, code);
        }
        assert_eq!(fs::read(world.path("tasks/1.json")).expect("it is there"), bytes);
    }
}

#[test]
fn a_run_that_is_damaged_or_of_a_later_release_is_left_alone() {
    let world = World::new();
    world.begin("1", "quick-task");
    let good = world.read_task("1");
    let cases: [(&str, Value, &str); 8] = [
        ("/metadata/portolan", json!("x"), "task_file_damaged"),
        ("/metadata/portolan", json!({}), "task_file_damaged"),
        ("/metadata/portolan/version", json!(2), "unsupported_version"),
        ("/metadata/portolan", json!({ "version": 2, "what it has": "is not known" }), "unsupported_version"),
        ("/metadata/portolan/run/form", json!("run/2"), "task_file_damaged"),
        ("/metadata/portolan/definition", json!("../../etc/passwd"), "task_file_damaged"),
        ("/metadata/portolan/run/root/flow", json!("no-such"), "run_damaged"),
        ("/metadata/portolan/run/opening/workflow", json!("other"), "run_damaged"),
    ];
    for (at, value, code) in cases {
        let mut task = good.clone();
        *task.pointer_mut(at).expect("it is there") = value;
        world.write_task("1", &task);
        let (before, address) = (world.text("1"), Address::Task(world.task("1")));
        for answer in
            [world.current(&address), world.next(&address, "passed"), world.init(&world.task_init("1", "quick-task"))]
        {
            assert_eq!(refusal(answer).code, code, "{at}");
        }
        assert_eq!(world.text("1"), before);
    }
}

#[test]
fn a_run_is_not_begun_anew_because_somebody_removed_the_keys_beside_it() {
    let world = World::believing(&["quick-task"]);
    let task = world.begin("1", "quick-task");
    let mut file = world.read_task("1");
    for key in ["workflowType", "currentStep"] {
        file["metadata"].as_object_mut().expect("an object").remove(key);
    }
    world.write_task("1", &file);
    assert_eq!(world.init(&world.task_init("1", "bug-fix")).expect("it is shown").current_step, "understand");
    world.next(&task, "passed").expect("it goes on");
    assert_eq!(world.read_task("1")["metadata"]["workflowType"], "quick-task");
}

#[test]
fn a_position_that_was_edited_by_hand_is_refused() {
    let world = World::believing(&["quick-task"]);
    let task = world.begin("1", "quick-task");
    let mut file = world.read_task("1");
    file["metadata"]["currentStep"] = json!("commit");
    world.write_task("1", &file);
    let before = world.text("1");
    expect![[r#"
        edited_outside: `FILE` says `commit`, but the run is at `understand`: the position was edited by hand
          help: set `metadata.currentStep` back to `understand`; positions are changed by Start and Next
    "#]]
    .assert_eq(&answer_text(&world.next(&task, "passed")).replace(&world.task("1"), "FILE"));
    for answer in [world.current(&task), world.start(&task), world.init(&world.task_init("1", "quick-task"))] {
        assert_eq!(refusal(answer).code, "edited_outside");
    }
    assert_eq!(world.text("1"), before);
    file["metadata"]["currentStep"] = json!("understand");
    world.write_task("1", &file);
    assert_eq!(world.next(&task, "passed").expect("it goes on").current_step, "execute");
}

#[test]
fn a_subflow_is_walked_inside_its_step() {
    let world = World::with("outer", "start -> sub; sub: runs inner; sub -passed-> done; sub -failed-> failed");
    world.define("inner", "start -> one; one -> two; two -> done");
    let task = world.begin("1", "outer");
    let view = world.next(&task, "passed").expect("it goes on");
    assert_eq!((view.current_step.as_str(), view.metadata["currentStep"].as_str()), ("two", Some("two")));
    assert_eq!(world.read_task("1")["metadata"]["currentStep"], "sub");
    assert_eq!(world.next(&task, "passed").expect("it goes on").terminal, Some("success"));
}

#[test]
fn a_task_goes_on_as_it_began_whatever_becomes_of_its_definition() {
    let world = World::with("mend", "start -> one; one -> two; two -> done");
    let task = world.begin("1", "mend");
    world.define("mend", "start -> other; other -> done");
    assert_eq!(world.next(&task, "passed").expect("it goes on").current_step, "two");
    fs::remove_dir_all(world.path(".flow")).expect("it is removed");
    assert_eq!(world.current(&task).expect("it is there").current_step, "two");
    // The copy that the project keeps is all that is left of it.
    fs::remove_dir_all(world.path(".portolan")).expect("it is removed");
    let before = world.text("1");
    expect![[r#"
        definition_changed: the task was begun with another version of `mend`, which is not kept in this project
          help: continue in the project where it was begun, or restore that version of the workflow
    "#]]
    .assert_eq(&answer_text(&world.next(&task, "passed")).replace(&world.task("1"), "FILE"));
    assert_eq!(world.text("1"), before);
    world.define("mend", "start -> one; one -> two; two -> done");
    assert_eq!(world.next(&task, "passed").expect("the version is back").terminal, Some("success"));
}

#[test]
fn a_damaged_copy_of_a_definition_is_replaced_by_the_same_version_and_by_no_other() {
    let world = World::with("mend", "start -> one; one -> two; two -> done");
    let task = world.begin("1", "mend");
    let folder = world.path(".portolan/definitions");
    let [copy] = &names(&folder)[..] else { panic!("one copy") };
    fs::write(folder.join(copy), "{").expect("it can be damaged");
    assert_eq!(world.next(&task, "passed").expect("it goes on").current_step, "two");
    fs::write(folder.join(copy), "{").expect("it can be damaged");
    world.define("mend", "start -> other; other -> done");
    assert_eq!(refusal(world.current(&task)).code, "definition_damaged");
}

#[test]
fn a_move_may_leave_the_revision_out_and_is_refused_an_old_one() {
    let world = World::believing(&["quick-task"]);
    let task = world.begin("1", "quick-task");
    let first = step(&world.current(&task).expect("it is there"), "passed");
    world.report(&Move { revision: None, ..first.clone() }).expect("Navigator's clients know no revision");
    let error = refusal(world.report(&first));
    assert_eq!((error.code, error.view.expect("it says where").current_step.as_str()), ("stale", "execute"));
}

#[test]
fn where_a_persons_word_is_verified_the_agent_cannot_give_it_in_a_task_file_either() {
    let world = World::with("mend", MEND).verified();
    let task = world.begin("1", "mend");
    for outcome in ["passed", "failed", "passed", "failed"] {
        world.next(&task, outcome).expect("it is accepted");
    }
    let error = refusal(world.next(&task, "passed"));
    assert_eq!(error.code, "needs_person");
    let lift = &read(&error.view.expect("it says where")).actions.blocked[0].lifted_by;
    assert_eq!(*lift, format!("a person answers it: `portolan runs answer {}`", world.task("1")));
    let question = wait(world.service().question(&task, None, &person())).expect("it is asked");
    let answered = wait(world.service().next(&step(&question, "passed"), &person())).expect("a person may");
    assert_eq!(answered.current_step, "fix");
    for step in ["check", "ask", "fork"] {
        let past = Open { step: Some(step.into()), ..world.task_init("2", "mend") };
        assert!(["needs_person", "unknown_step"].contains(&refusal(world.init(&past)).code), "{step}");
    }
}

#[test]
fn one_file_has_one_history_by_whatever_name_it_is_reached() {
    let world = World::believing(&["execute"]);
    let task = world.begin("1", "execute");
    let roundabout = world.path("tasks/../tasks/1.json").to_string_lossy().into_owned();
    let other = Address::Task(roundabout);
    world.next(&other, "passed").expect("it goes on");
    let expected = "1 agent ann opened `execute`\n2 agent ann began → now at `execute`\n3 agent ann reported passed → now at `end_success`\n4 portolan went on → ended at `end_success`: success\n";
    assert_eq!(world.history(&task), expected);
    assert_eq!(world.history(&other), expected);
    assert_eq!(wait(world.service().list(false, 10)).expect("a list").len(), 1);
}

#[test]
fn a_cancelled_task_is_over() {
    let world = World::new();
    let task = world.begin("1", "quick-task");
    wait(world.service().cancel(&task, "not needed", &person())).expect("it is called off");
    let file = world.read_task("1");
    assert_eq!(file["subject"], "#1  ⚡\n→ quick-task · understand · cancelled");
    assert_eq!((&file["activeForm"], &file["status"]), (&json!("Cancelled"), &json!("in_progress")));
    assert_eq!(refusal(world.next(&task, "passed")).code, "no_outgoing_edges");
    assert_eq!(wait(world.service().list(false, 10)).expect("a list")[0].status, "cancelled");
    let again = world.init(&world.task_init("1", "quick-task")).expect("it is shown");
    assert_eq!((again.terminal, read(&again).actions.required.len()), (Some("failure"), 0));
}

#[test]
fn of_two_writers_on_a_task_file_exactly_one_wins_each_move() {
    let world =
        World::with("long", "start -> work; work: outputs again passed; work -again-> work; work -passed-> done");
    let task = world.begin("1", "long");
    let services = [world.service(), world.service()];
    for _ in 0..50 {
        let wanted = step(&world.current(&task).expect("it is there"), "again");
        let together = std::sync::Barrier::new(2);
        let won: Vec<bool> = std::thread::scope(|scope| {
            let moves: Vec<_> = services
                .iter()
                .map(|service| {
                    scope.spawn(|| {
                        together.wait();
                        match wait(service.next(&wanted, &agent())) {
                            Ok(_) => true,
                            Err(error) => {
                                assert_eq!(error.code, "stale");
                                assert!(error.view.is_some());
                                false
                            }
                        }
                    })
                })
                .collect();
            moves.into_iter().map(|one| one.join().expect("nobody panics")).collect()
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1);
    }
    assert_eq!(world.history(&task).lines().count(), 52);
}
