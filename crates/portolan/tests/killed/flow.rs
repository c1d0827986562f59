//! The task of a project.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::stage::{Death, Stage, killed, line};
use crate::wire::Wire;

/// Phases whose checks look at files.
const SMALL: &str = "
id: small
iterationCap: 2
fields: { branch: { type: string, until: begin } }
phases:
  - id: idle
  - id: scope
  - id: begin
    accept: [{ id: ready, file: ready, invariant: X-1 }, { id: open, file: open, invariant: X-2 }]
  - id: work
  - id: test
    back: work
    accept: [{ id: tested, file: tested, invariant: X-3 }]
";

fn project(stage: &Stage) {
    stage.put(".flow/workflows/small.yaml", SMALL);
    stage.put(".portolan/guidelines.yaml", "bypass: agent\n");
}

/// A task is at `begin`, and everything is there that its checks look at.
fn begun(stage: &Stage) {
    project(stage);
    stage.does("flow start t --at begin --workflow small");
    for file in ["ready", "open", "tested"] {
        stage.put(file, "there");
    }
}

/// A task is at its last phase.
fn at_its_end(stage: &Stage) {
    begun(stage);
    stage.does("flow tick");
    stage.does("flow tick");
    assert_eq!(phase(stage), "test");
}

fn state(stage: &Stage) -> Value {
    stage.does("flow status --format json").json()
}

fn phase(stage: &Stage) -> String {
    state(stage)["phase"].as_str().expect("a phase").to_owned()
}

/// The log says that the task moved like this, once, and nothing else of where it is.
fn moved(stage: &Stage, phases: &[&str]) {
    let log = stage.log();
    let moves: Vec<&str> = log.iter().filter_map(|line| line.strip_prefix("flow.transition ")).collect();
    let expected: Vec<String> = phases.windows(2).map(|pair| format!("{} {}", pair[0], pair[1])).collect();
    assert_eq!(moves, expected, "{log:#?}");
    assert_eq!(log.iter().filter(|line| line.starts_with("flow.boot")).count(), 1, "{log:#?}");
}

/// Leads the task to its end; nothing is left of it that could be in somebody's way.
fn finished(stage: &Stage) {
    for _ in 0..6 {
        if state(stage)["taskId"].is_null() {
            break;
        }
        stage.says("flow tick");
    }
    let said = stage.says("flow tick");
    assert!(said.out.contains("No active task"), "{said:?}");
    stage.does("flow start another --workflow small");
    stage.is_sound();
}

/// What a killed `flow start` leaves: nothing, or a task that stands where it was to begin.
fn goes_on(stage: &Stage, next: &str) -> String {
    let before = state(stage);
    let is_begun = !before["taskId"].is_null();
    if is_begun {
        assert_eq!((&before["taskId"], &before["phase"]), (&"t".into(), &"begin".into()), "{before:#}");
    }
    let said = stage.says(next);
    match (is_begun, next) {
        (true, "flow start t --at begin --workflow small") => {
            assert!(said.err.contains("the task `t` is in progress"), "{said:?}");
        }
        (true, _) | (false, "flow start t --at begin --workflow small") => assert!(said.is_done(), "{said:?}"),
        (false, _) => {
            assert!(format!("{}{}", said.out, said.err).to_lowercase().contains("no "), "{said:?}");
            assert!(said.exit.is_some_and(|exit| exit != 0), "{said:?}");
        }
    }
    if !is_begun {
        let again = stage.says("flow start t --at begin --workflow small");
        assert!(again.is_done() || again.err.contains("is in progress"), "{again:?}");
    }
    let runs = stage.does("runs list --all").out;
    assert_eq!(runs.lines().count(), 1, "{runs}");
    if is_begun { "begun".to_owned() } else { "nothing".to_owned() }
}

#[test]
fn start() {
    for next in ["flow start t --at begin --workflow small", "flow patch branch=feat/x", "flow override X-1 --reason x"]
    {
        killed(
            &format!("flow start --at, then {next}"),
            project,
            line("flow start t --at begin --workflow small"),
            |stage| {
                let found = goes_on(stage, next);
                for file in ["ready", "open", "tested"] {
                    stage.put(file, "there");
                }
                stage.does("flow tick");
                moved(stage, &["idle", "scope", "begin", "work"]);
                finished(stage);
                found
            },
        );
    }
}

#[test]
fn start_then_tick() {
    let ready = |stage: &Stage| {
        project(stage);
        ["ready", "open", "tested"].iter().for_each(|file| stage.put(file, "there"));
    };
    killed("flow start --at, then flow tick", ready, line("flow start t --at begin --workflow small"), |stage| {
        let said = stage.says("flow tick");
        if said.is_done() {
            assert_eq!(phase(stage), "work", "{said:?}");
            moved(stage, &["idle", "scope", "begin", "work"]);
            finished(stage);
            return "begun".to_owned();
        }
        assert!(said.out.contains("No active task"), "{said:?}");
        stage.does("flow start t --at begin --workflow small");
        "nothing".to_owned()
    });
}

#[test]
fn start_then_abort() {
    killed("flow start, then flow abort", project, line("flow start t --workflow small"), |stage| {
        let said = stage.says_to(&["flow", "abort", "--as", "escalated", "--reason", "no"]);
        let found = if said.is_done() {
            "begun"
        } else {
            assert!(said.err.contains("no task is in progress"), "{said:?}");
            "nothing"
        };
        stage.does("flow start u --workflow small");
        stage.is_sound();
        found.to_owned()
    });
}

#[test]
fn tick() {
    killed("flow tick", begun, line("flow tick"), |stage| {
        let before = phase(stage);
        assert!(["begin", "work"].contains(&before.as_str()), "{before}");
        stage.does("flow tick");
        let way = ["idle", "scope", "begin", "work", "test"];
        moved(stage, &way[..if before == "begin" { 4 } else { 5 }]);
        finished(stage);
        before
    });
}

/// A tick that was cut off while its checks were performed is in nobody's way.
#[test]
fn tick_then_something_else() {
    for next in [
        "flow back --reason no",
        "flow override X-3 --reason x",
        "flow abort --as escalated --reason no",
        "flow start u",
    ] {
        killed(&format!("flow tick of the last phase, then {next}"), at_its_end, line("flow tick"), |stage| {
            let is_over = state(stage)["taskId"].is_null();
            let said = stage.says(next);
            let is_checking = said.err.contains("the checks of `test` are running, or were interrupted");
            let expected = match (is_over, next) {
                (false, "flow back --reason no") if is_checking => "run `portolan flow tick` to perform them again",
                (true, "flow start u") => "",
                (true, _) => "no task is in progress",
                (false, "flow start u") => "the task `t` is in progress",
                (false, _) => "",
            };
            assert!(said.err.contains(expected), "{said:?}");
            assert_eq!(expected.is_empty(), said.exit != Some(2), "{said:?}");
            if next.contains("abort") || is_over && next != "flow start u" {
                stage.does("flow start u --workflow small");
            }
            if is_checking {
                stage.does("flow tick");
            }
            let ends = stage.log().iter().filter(|line| line.starts_with("task.")).count();
            assert_eq!(ends, usize::from(is_over || is_checking || next.contains("abort")), "{:#?}", stage.log());
            stage.is_sound();
            if is_over { "over".to_owned() } else { "at `test`".to_owned() }
        });
    }
}

#[test]
fn the_last_tick() {
    killed("flow tick of the last phase", at_its_end, line("flow tick"), |stage| {
        let said = stage.says("flow tick");
        let is_over = !said.is_done();
        if is_over {
            assert!(said.out.contains("No active task"), "{said:?}");
        }
        let log = stage.log();
        assert_eq!(log.iter().filter(|line| line.starts_with("task.completed")).count(), 1, "{log:#?}");
        stage.does("flow start another --workflow small");
        stage.is_sound();
        if is_over { "over".to_owned() } else { "at `test`".to_owned() }
    });
}

#[test]
fn back() {
    killed("flow back", at_its_end, line("flow back --reason no"), |stage| {
        let before = phase(stage);
        let way = ["idle", "scope", "begin", "work", "test", "work", "test"];
        if before == "test" {
            let said = stage.says("flow back --reason no");
            assert_eq!(phase(stage), "work", "{said:?}");
            moved(stage, &way[..6]);
        } else {
            stage.does("flow tick");
            moved(stage, &way);
        }
        finished(stage);
        before
    });
}

#[test]
fn patch() {
    killed("flow patch", begun, line("flow patch branch=feat/x"), |stage| {
        let before = state(stage)["branch"].clone();
        assert!(before.is_null() || before == "feat/x", "{before}");
        stage.does("flow patch branch=feat/x");
        assert_eq!(state(stage)["branch"], "feat/x");
        finished(stage);
        if before.is_null() { "not claimed" } else { "claimed" }.to_owned()
    });
}

#[test]
fn get_past() {
    let without = |stage: &Stage| {
        project(stage);
        stage.does("flow start t --at begin --workflow small");
        stage.put("open", "there");
    };
    killed("flow override", without, line("flow override X-1 --reason spike"), |stage| {
        let known = state(stage)["bypasses"].as_array().map_or(0, Vec::len);
        let on_record = |stage: &Stage| stage.log().iter().filter(|line| line.starts_with("flow.bypass")).count();
        assert!(on_record(stage) >= known, "a bypass stands in the log before it stands anywhere");
        if known == 0 {
            stage.does("flow override X-1 --reason spike");
        }
        stage.does("flow tick");
        moved(stage, &["idle", "scope", "begin", "work"]);
        stage.put("tested", "there");
        finished(stage);
        if known == 0 { "no bypass" } else { "the bypass" }.to_owned()
    });
}

#[test]
fn abort() {
    let act = |stage: &Stage, death| line("flow abort --as escalated --reason no")(stage, death);
    killed("flow abort", begun, act, |stage| {
        let said = stage.says("flow abort --as escalated --reason no");
        let found = if said.is_done() {
            "under way"
        } else {
            assert!(said.err.contains("no task is in progress"), "{said:?}");
            "called off"
        };
        let log = stage.log();
        assert_eq!(log.iter().filter(|line| line.starts_with("task.failed.escalated")).count(), 1, "{log:#?}");
        stage.does("flow start another --workflow small");
        stage.is_sound();
        found.to_owned()
    });
}

/// The task is led by an agent that navigates, to its end: nothing but the note says that it is the project's.
#[test]
fn navigated() {
    const SERVE: [&str; 2] = ["--toolset", "navigate"];
    let told: Rc<RefCell<Option<Value>>> = Rc::default();
    let says = told.clone();
    let act = move |stage: &Stage, death| {
        let run = state(stage)["runId"].clone();
        let now = Wire::to(stage, &SERVE, Death::Never)
            .done("get_position", &json!({ "workflow_id": "small", "state": run }));
        let action = &now["availableActions"]["required"][0];
        let mut arguments = action["arguments"].clone();
        for hole in action["fill"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            arguments[hole] = json!("as it was asked for");
        }
        let tool = action["tool"].as_str().expect("a tool");
        *says.borrow_mut() = Wire::to(stage, &SERVE, death).call(tool, &arguments);
    };
    killed("complete_step of the last phase", at_its_end, act, |stage| {
        let is_over = state(stage)["taskId"].is_null();
        assert!(is_over || told.borrow().is_none(), "what was acknowledged has happened");
        let said = stage.says("flow tick");
        assert_eq!(said.is_done(), !is_over, "{said:?}");
        let ends = stage.log().iter().filter(|line| line.starts_with("task.completed")).count();
        assert_eq!(ends, 1, "{:#?}", stage.log());
        stage.does("flow start u --workflow small");
        stage.is_sound();
        if is_over { "over" } else { "at `test`" }.to_owned()
    });
}
