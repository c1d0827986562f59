//! Acceptance checks: who allows them, what they come to, and what is left when they are interrupted.

#![cfg(unix)]

use crate::common::calls::Calls;
use std::fs::{File, OpenOptions};
use std::future::poll_fn;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::pin::pin;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use crate::common::words::tasks::instructions;
use crate::common::{World, agent, answer_text, person, read, refusal, step, view_line, wait};
use expect_test::expect;
use portolan_core::present::RunStatus;
use portolan_runtime::carrier::Address;
use portolan_runtime::runner::Listener;
use portolan_runtime::service::{Act, Claim, Report, Request};

/// A workflow whose one step is checked.
fn checked(accept: &str) -> World {
    World::with("checked", &format!("start -> fix; fix -> done\nfix: accept {accept}"))
}

/// The same, trusted.
fn trusted(accept: &str) -> World {
    let world = checked(accept);
    world.trust("checked");
    world
}

/// A run of it in the store and one in a task file.
fn both(world: &World) -> [Address; 2] {
    let stored = world.open("checked");
    world.start(&stored).expect("it starts");
    [stored, world.begin("1", "checked")]
}

fn claim(claim: &Claim) -> String {
    let mut text =
        format!("`{}` reported {}: {}\n", claim.step, claim.reported, if claim.held { "held" } else { "not held" });
    for check in &claim.checks {
        let reason = check.reason.as_deref().unwrap_or("held");
        text.push_str(&format!("  {}: {reason}\n", check.id));
        text.extend(check.output.iter().flat_map(|output| output.lines().map(|line| format!("    | {line}\n"))));
    }
    text
}

/// A pipe in the project that a command waits at.
struct Gate(PathBuf);

impl Gate {
    fn new(world: &World, name: &str) -> Gate {
        let path = world.path(name);
        assert!(Command::new("mkfifo").arg(&path).status().expect("there is a mkfifo").success());
        Gate(path)
    }

    /// Waits until a command reads from it, and lets it through.
    fn open(&self) {
        OpenOptions::new().write(true).open(&self.0).expect("a pipe").write_all(b"go\n").expect("somebody reads");
    }

    /// Lets so many commands through, whether they wait by now or not, until the answer is dropped.
    fn let_through(&self, many: usize) -> File {
        // Open for reading too: otherwise it would wait for a reader, and the first to go would close it for the others.
        let mut pipe = OpenOptions::new().read(true).write(true).open(&self.0).expect("a pipe");
        pipe.write_all("go\n".repeat(many).as_bytes()).expect("a pipe holds that much");
        pipe
    }

    /// Waits until a command writes into it.
    fn hear(&self) -> String {
        let mut text = String::new();
        File::open(&self.0).expect("a pipe").read_to_string(&mut text).expect("text");
        text
    }
}

#[test]
fn a_check_is_heard_and_seen_while_it_runs() {
    let world = trusted(r#"[{"id": "slow", "run": ["sh", "-c", "echo half way; cat gate"]}]"#);
    let gate = Gate::new(&world, "gate");
    for run in both(&world) {
        let (tell, told) = mpsc::channel();
        let listener = Listener::new(move |heard| {
            let _nobody_asks = tell.send(format!("{}: {:?}", heard.check, heard.line));
        });
        let service = world.service();
        let request = Request::at(&world.current(&run).expect("it is there"));
        let report = Act::Report(Report::of("passed"));
        // Nothing is looked at before the check may end: it would be waited for.
        let (heard, seen, settled) = thread::scope(|scope| {
            let acting = scope.spawn(|| wait(service.act_with_listener(&request, &report, &agent(), &listener)));
            let heard = [told.recv(), told.recv()];
            let seen = world.current(&run);
            gate.open();
            (heard, seen, acting.join())
        });
        let command = "sh -c echo half way; cat gate";
        let expected = [format!("{command}: None"), format!("{command}: Some(\"half way\")")];
        assert_eq!(heard.map(|heard| heard.expect("it prints")), expected);
        let seen = seen.expect("it is there");
        let checking = seen.situation.checking.as_ref().expect("somebody else sees it");
        assert_eq!((&*checking.check, checking.line.as_deref()), (command, Some("half way")));
        assert!(instructions(&seen).contains("` has been running since "), "{}", instructions(&seen));
        let settled = settled.expect("it is acted");
        let settled = settled.expect("it is checked");
        assert!(settled.claim.is_some_and(|claim| claim.held));
        assert_eq!(world.current(&run).expect("it is there").situation.checking, None);
    }
}

#[test]
fn what_is_not_trusted_does_not_run_and_the_situation_says_so() {
    let world = checked(r#"[{"id": "touch", "run": ["touch", "ran"]}]"#);
    for run in both(&world) {
        let before = world.current(&run).expect("it is there");
        expect![[r#"
            fix working
              optional Next(failed)
              blocked Next(passed) until run `portolan trust .flow/workflows/checked.json`
        "#]]
        .assert_eq(&answer_text(&Ok(before.clone())));
        let history = world.history(&run);
        expect![[r#"
            not_trusted: leaving `fix` requires commands that are not trusted yet
              help: run `portolan trust .flow/workflows/checked.json`; the person at this machine decides this
              (at fix)
        "#]]
        .assert_eq(&answer_text(&world.next(&run, "passed")));
        assert_eq!((world.current(&run).expect("it is there"), world.history(&run)), (before, history));
        assert!(!world.path("ran").exists());
        world.next(&run, "failed").expect("a failure needs no check");
    }
    let [stored, _] = both(&world);
    world.trust("checked");
    assert_eq!(world.next(&stored, "passed").expect("it is trusted").terminal, Some("success"));
    assert!(world.path("ran").exists());
}

#[test]
fn trust_in_what_a_file_says_now_is_none_in_what_a_run_began_with() {
    let world = checked(r#"[{"id": "old", "run": ["touch", "old"]}]"#);
    let [stored, task] = both(&world);
    world
        .define("checked", "start -> fix; fix -> done\nfix: accept [{\"id\": \"new\", \"run\": [\"touch\", \"new\"]}]");
    world.trust("checked");
    for run in [stored, task] {
        expect![[r#"
            not_trusted: leaving `fix` requires commands that are not trusted yet
              help: the run uses an earlier version of `checked`: begin a new run, or restore that version and run `portolan trust .flow/workflows/checked.json`; the person at this machine decides this
              (at fix)
        "#]]
        .assert_eq(&answer_text(&world.next(&run, "passed")));
    }
    assert!(!world.path("old").exists());
}

#[test]
fn what_a_check_printed_is_the_feedback_of_the_next_attempt() {
    let world = trusted(
        r#"[{"id": "test", "run": ["sh", "-c", "echo one; echo two >&2; exit 3"]}, {"id": "plan", "file": "plan.md"}]"#,
    );
    for run in both(&world) {
        let view = world.next(&run, "passed").expect("it is checked");
        assert_eq!(view_line(&view), "fix working\n");
        expect![[r#"
            `fix` reported passed: not held
              test: `sh -c "echo one; echo two >&2; exit 3"` exited with status 3
                | one
                | two
              plan: `plan.md` does not exist
        "#]]
        .assert_eq(&claim(view.claim.as_ref().expect("it was checked")));
        let after_restart = world.current(&run).expect("it is there");
        for line in ["Not passed at `fix`:", "  | two", "- plan: `plan.md` does not exist", "Retry 1 of 3 for `fix`"] {
            assert!(read(&after_restart).message.contains(line), "{}", read(&after_restart).message);
        }
        assert!(
            instructions(&view).starts_with("Refused: `fix` was reported passed, but `test` and `plan` did not hold")
        );
    }
}

#[test]
fn long_output_is_cut_to_its_end() {
    let world = trusted(r#"[{"id": "loud", "run": ["sh", "-c", "yes line | head -n 100000; echo last; exit 1"]}]"#);
    let [_, task] = both(&world);
    let view = world.next(&task, "passed").expect("it is checked");
    let output = view.claim.expect("it was checked").checks[0].output.clone().expect("it printed");
    assert!(output.len() <= 8 << 10 && output.ends_with("line\nlast"), "{} bytes", output.len());
    assert!(world.text("1").len() < 32 << 10);
}

#[test]
fn what_cannot_be_found_out_is_no_pass() {
    let world = trusted(r#"[{"id": "gone", "run": ["no-such-program-anywhere"]}, {"id": "readme", "file": "README"}]"#);
    world.write("README", "text");
    for run in both(&world) {
        let view = world.next(&run, "passed").expect("it is checked");
        expect![[r#"
            `fix` reported passed: not held
              gone: could not be checked: no executable `no-such-program-anywhere` was found on the `PATH`; install it, or correct the check
              readme: held
        "#]]
        .assert_eq(&claim(&view.claim.expect("it was checked")));
    }
}

#[test]
fn when_the_budget_is_spent_a_person_decides() {
    let world = trusted(r#"[{"id": "no", "run": ["false"]}]"#);
    for run in both(&world) {
        for _ in 0..3 {
            assert_eq!(world.next(&run, "passed").expect("it is checked").situation.state, RunStatus::Working);
        }
        expect![[r#"
            fix (hitl) waiting
              required Next(passed)
              optional Next(failed)
              optional Next(cancelled)
        "#]]
        .assert_eq(&answer_text(&world.next(&run, "passed")));
        // The person's word opens the work again; it does not pass the check.
        assert_eq!(world.next(&run, "passed").expect("once more").situation.state, RunStatus::Working);
        assert_eq!(world.next(&run, "passed").expect("it is checked").situation.state, RunStatus::Working);
    }
}

/// Claims, and drops the service in the middle of the check that `started` tells of.
fn interrupted(world: &World, run: &Address, started: &Gate) {
    let wanted = step(&world.current(run).expect("it is there"), "passed");
    let service = world.service();
    wait(async {
        let me = agent();
        let mut call = pin!(service.next(&wanted, &me));
        let heard = tokio::task::spawn_blocking({
            let path = started.0.clone();
            move || Gate(path).hear()
        });
        let mut heard = pin!(heard);
        // The call is dropped as soon as the command has said that it runs.
        let said = poll_fn(|context| {
            assert!(call.as_mut().poll(context).is_pending(), "the command does not end by itself");
            heard.as_mut().poll(context)
        });
        assert!(said.await.expect("it is heard").starts_with("pid "));
    });
}

#[test]
fn a_claim_that_a_crash_interrupted_is_taken_up_by_reporting_it_again() {
    let check = r#"[{"id": "first", "run": ["sh", "-c", "echo x >> first"]},
                    {"id": "slow", "run": ["sh", "-c", "echo pid $$ > started; read line < go"]}]"#
        .replace('\n', " ");
    let world = trusted(&check);
    let (started, go) = (Gate::new(&world, "started"), Gate::new(&world, "go"));
    for run in both(&world) {
        interrupted(&world, &run, &started);
        expect![[r#"
            fix checking
              required Next(passed)
        "#]]
        .assert_eq(&answer_text(&world.current(&run)));
        let message = read(&world.current(&run).expect("it is there")).message;
        assert!(message.contains("1 of 2 acceptance checks are settled"), "{message}");
        let error = refusal(world.next(&run, "failed"));
        assert_eq!((error.code, error.accepted), ("checking", vec!["passed".to_owned()]));
        let lines = world.history(&run).lines().count();
        let view = std::thread::scope(|scope| {
            let call = scope.spawn(|| world.next(&run, "passed"));
            started.hear();
            go.open();
            call.join().expect("nobody panics").expect("it is checked")
        });
        assert_eq!(view.terminal, Some("success"));
        expect![[r#"
            `fix` reported passed: held
              first: held
              slow: held
        "#]]
        .assert_eq(&claim(&view.claim.expect("it was checked")));
        // The last verdict, and the end that it leads to.
        assert_eq!(world.history(&run).lines().count(), lines + 2, "the claim was kept, and only its verdict is new");
    }
    let first = std::fs::read_to_string(world.path("first")).expect("it ran");
    assert_eq!(first, "x\nx\n", "what was settled is not performed again");
}

#[test]
fn dropping_a_call_kills_its_command() {
    let run = "trap '' TERM; exec 3> alive; echo pid $$ > started; exec cat go";
    let world = trusted(&serde_json::json!([{ "id": "slow", "run": ["sh", "-c", run] }]).to_string());
    let (started, _go, alive) = (Gate::new(&world, "started"), Gate::new(&world, "go"), Gate::new(&world, "alive"));
    let [_, task] = both(&world);
    // Its end of this pipe is closed when it is gone, and not before.
    let (gone, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || gone.send(alive.hear()));
    interrupted(&world, &task, &started);
    heard.recv_timeout(std::time::Duration::from_secs(60)).expect("its command is killed");
    assert_eq!(world.current(&task).expect("it is there").situation.state, RunStatus::Checking);
}

#[test]
fn others_may_look_and_a_person_may_call_it_off_while_a_check_runs() {
    let world = trusted(r#"[{"id": "slow", "run": ["sh", "-c", "echo pid $$ > started; read line < go"]}]"#);
    let (started, go) = (Gate::new(&world, "started"), Gate::new(&world, "go"));
    for run in both(&world) {
        let view = std::thread::scope(|scope| {
            let call = scope.spawn(|| world.next(&run, "passed"));
            started.hear();
            for _ in 0..3 {
                assert_eq!(world.current(&run).expect("it can be looked at").situation.state, RunStatus::Checking);
            }
            wait(world.service().cancel(&run, "not needed", &person())).expect("it is called off");
            go.open();
            call.join().expect("nobody panics").expect("it is shown where that led")
        });
        assert_eq!(
            view_line(&view),
            "fix (failure) ended\n  note: `fix` was left by another call while its checks were performed\n"
        );
        assert_eq!(view.claim, None);
        assert!(world.history(&run).ends_with("cancelled the run: not needed → ended at `fix`: cancelled\n"));
    }
}

#[test]
fn a_check_that_two_calls_perform_is_settled_once() {
    let world = trusted(r#"[{"id": "slow", "run": ["sh", "-c", "echo pid $$ > started; read line < go; exit 1"]}]"#);
    let (started, go) = (Gate::new(&world, "started"), Gate::new(&world, "go"));
    for run in both(&world) {
        let wanted = step(&world.current(&run).expect("it is there"), "passed");
        let views = std::thread::scope(|scope| {
            let first = scope.spawn(|| world.report(&wanted));
            started.hear();
            // Reported again while it is checked, at the revision that it has there.
            let second = scope.spawn(|| world.next(&run, "passed"));
            started.hear();
            let _open = go.let_through(2);
            [first, second].map(|call| call.join().expect("nobody panics").expect("it is checked"))
        });
        assert_eq!(views.iter().filter(|view| view.claim.is_some()).count(), 1, "one verdict counted");
        let history = world.history(&run);
        assert_eq!(history.matches("checked `slow`").count(), 1, "{history}");
        assert!(history.ends_with("retry 1 of 3 for `fix`, now at `fix`\n"), "{history}");
    }
}

#[test]
fn the_folder_of_a_task_is_free_while_its_check_runs() {
    let world = trusted(r#"[{"id": "slow", "run": ["sh", "-c", "echo pid $$ > started; read line < go"]}]"#);
    world.believe("execute");
    let (started, go) = (Gate::new(&world, "started"), Gate::new(&world, "go"));
    let [_, task] = both(&world);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| world.next(&task, "passed"));
        started.hear();
        let other = world.begin("2", "execute");
        world.next(&other, "passed").expect("another task goes on");
        go.open();
        assert_eq!(call.join().expect("nobody panics").expect("it is checked").terminal, Some("success"));
    });
}
