//! The autopilot: what drivers do, and what the engine makes of it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portolan_gates::supervisor::Usage;
use portolan_runtime::service::Start;
use portolan_supervision::autopilot::{Autopilot, AutopilotLimits, AutopilotResult, Why};
use portolan_supervision::drivers::{
    AgentDriver, AgentQuestion, Assignment, Drivers, ScriptedDriver, SessionFuture, SessionResult,
};
use portolan_supervision::notifiers::{Notice, Notifiers, Stdout};

use super::stand::{Stand, me};

/// A driver that is a function.
struct Does<F>(F);

impl<F: Fn(&Assignment) -> SessionResult + Send + Sync> AgentDriver for Does<F> {
    fn id(&self) -> &str {
        "does"
    }

    fn available(&self) -> Result<(), String> {
        Ok(())
    }

    fn run_phase<'a>(&'a self, assignment: &'a Assignment) -> SessionFuture<'a> {
        Box::pin(async move { (self.0)(assignment) })
    }
}

async fn fly(stand: &Stand, driver: Arc<dyn AgentDriver>, limits: AutopilotLimits) -> AutopilotResult {
    let service = stand.service();
    Autopilot::new(&service, driver, Notifiers::new(), limits).fly().await.expect("it flies")
}

/// Writes what the phase's check looks for.
fn finish(assignment: &Assignment) {
    let file = match assignment.phase.as_str() {
        "begin" => "ready",
        "work" => "made",
        _ => return,
    };
    std::fs::write(assignment.project.join(file), "there").expect("written");
}

fn spent(turns: u64) -> SessionResult {
    SessionResult { usage: Usage { turns: Some(turns), ..Usage::default() }, ..SessionResult::default() }
}

const SCRIPT: &str = r#"
phases:
  begin:
    - write: { path: ready, text: there }
      attempt: 2
    - patch: { branch: feat/x }
    - usage: { turns: 2, costUsd: 0.25 }
  work:
    - ask: { body: "Which one?", choices: [one, other] }
    - run: [cp, ready, made]
"#;

#[tokio::test]
async fn a_script_is_worked_through_and_its_question_waits_without_holding_up_the_queue() {
    let stand = Stand::new();
    stand.queue(&["a", "b"]).await;
    let script = || Arc::new(ScriptedDriver::read("script.yaml", SCRIPT).expect("a script"));
    let landed = fly(&stand, script(), AutopilotLimits::default()).await;
    assert_eq!((landed.why, landed.sessions), (Why::Waiting, 7));
    assert_eq!(landed.reason, "2 tasks wait for an answer: see `portolan supervisor list`");
    let board = stand.service().supervisor_log().board().await.expect("a board");
    let tokens: Vec<String> = board.open().map(|question| question.token.clone()).collect();
    assert_eq!(tokens.len(), 2);
    assert_eq!(stand.reply(&tokens[1], "other").await, "other");
    let landed = fly(&stand, script(), AutopilotLimits::default()).await;
    assert_eq!(landed.why, Why::Waiting);
    let board = stand.service().supervisor_log().board().await.expect("a board");
    let asked: Vec<&str> = board.open().map(|question| question.body.as_str()).collect();
    assert_eq!(stand.log("task."), ["task.completed b"], "{landed:?} {asked:?}");
    assert_eq!(stand.reply(&tokens[0], "1").await, "one");
    assert_eq!(fly(&stand, script(), AutopilotLimits::default()).await.why, Why::Done);
    assert_eq!(stand.log("task."), ["task.completed b", "task.completed a"]);
    let moves = stand.log("flow.transition");
    assert_eq!(moves.len(), 6, "{moves:?}");
}

/// Phases of which the last one goes back.
const LOOP: &str = "
id: small
iterationCap: 2
phases:
  - id: idle
  - id: work
  - { id: test, back: work }
";

#[tokio::test]
async fn a_script_goes_back_once_and_not_at_every_return() {
    let stand = Stand::new();
    stand.put(".flow/workflows/small.yaml", LOOP);
    stand.queue(&["a"]).await;
    let script = "phases: {test: [{back: the tests fail, attempt: 1}]}";
    let landed =
        fly(&stand, Arc::new(ScriptedDriver::read("s.yaml", script).expect("a script")), AutopilotLimits::default())
            .await;
    assert_eq!((landed.why, landed.reason.as_str()), (Why::Done, "nothing is left to do"));
    assert_eq!(stand.log("flow.transition").len(), 5, "{:?}", stand.log("flow."));
}

#[tokio::test]
async fn a_task_that_waits_for_a_person_has_no_more_sessions() {
    let stand = Stand::new();
    stand.put(".flow/workflows/small.yaml", LOOP);
    stand.queue(&["a"]).await;
    let script = "phases: {test: [{back: the tests fail}]}";
    let landed =
        fly(&stand, Arc::new(ScriptedDriver::read("s.yaml", script).expect("a script")), AutopilotLimits::default())
            .await;
    assert_eq!(
        (landed.why, landed.reason.as_str()),
        (Why::Waiting, "1 task waits for an answer: see `portolan supervisor list`")
    );
    let board = stand.service().supervisor_log().board().await.expect("a board");
    let asked: Vec<&str> = board.open().map(|question| question.body.as_str()).collect();
    assert!(matches!(asked[..], [body] if body.contains("`portolan runs answer ")), "{asked:?}");
    assert_eq!(landed.sessions, 7, "{:?}", stand.log("flow."));
}

/// A process that ends after each session, and one that never does, have the same on record.
#[tokio::test]
async fn a_restart_after_every_session_changes_nothing() {
    let driver = || {
        Arc::new(Does(|assignment: &Assignment| {
            if assignment.attempt > 0 {
                finish(assignment);
            }
            spent(1)
        }))
    };
    let (whole, cut) = (Stand::new(), Stand::new());
    for stand in [&whole, &cut] {
        stand.queue(&["a", "b"]).await;
    }
    assert_eq!(fly(&whole, driver(), AutopilotLimits::default()).await.why, Why::Done);
    let mut flights = 0;
    while fly(&cut, driver(), AutopilotLimits { sessions: 1, ..AutopilotLimits::default() }).await.why != Why::Done {
        flights += 1;
        assert!(flights < 50, "{:?}", cut.log(""));
    }
    assert_eq!(whole.log(""), cut.log(""));
    assert_eq!(whole.log("task."), ["task.completed a", "task.completed b"]);
}

#[tokio::test]
async fn the_reason_of_a_refusal_is_the_next_prompt() {
    let stand = Stand::new();
    stand.queue(&["a"]).await;
    let prompts = Arc::new(Mutex::new(Vec::new()));
    let seen = prompts.clone();
    let driver = Does(move |assignment: &Assignment| {
        seen.lock().expect("ours").push(assignment.prompt.clone());
        if assignment.attempt > 0 {
            finish(assignment);
        }
        SessionResult::default()
    });
    assert_eq!(fly(&stand, Arc::new(driver), AutopilotLimits::default()).await.why, Why::Done);
    let prompts = prompts.lock().expect("ours");
    let of = |nth: usize| prompts[nth].as_str();
    assert!(of(1).contains("in the phase `begin`") && of(1).contains("> Begin it.") && !of(1).contains("refused"));
    assert!(of(2).contains("It was refused because:\n> `ready` does not exist"), "{}", of(2));
    assert!(of(0).contains("The goal of the task:\n> do a"));
}

#[tokio::test]
async fn a_task_that_is_stuck_is_put_to_a_person_and_the_next_one_goes_on() {
    let stand = Stand::new();
    stand.queue(&["a", "b"]).await;
    let lazy = || {
        Arc::new(Does(|assignment: &Assignment| {
            if assignment.task == "b" {
                finish(assignment);
            }
            SessionResult::default()
        }))
    };
    let landed = fly(&stand, lazy(), AutopilotLimits { attempts: 2, ..AutopilotLimits::default() }).await;
    assert_eq!(landed.why, Why::Waiting);
    assert_eq!(stand.log("task."), ["task.completed b"]);
    let board = stand.service().supervisor_log().board().await.expect("a board");
    let question = board.open().next().expect("a question").clone();
    let told = "`a` is stuck in `begin`: 2 sessions in a row did not finish its phase. It was last refused because: \
                `ready` does not exist";
    assert_eq!(question.body, told);
    // By now what `b` needed is there: the first check holds, and the second one is passed as well.
    std::fs::remove_file(stand.project().join("ready")).expect("removed");
    assert_eq!(stand.reply(&question.token, "try again").await, "try again");
    assert_eq!(
        fly(&stand, lazy(), AutopilotLimits { attempts: 2, ..AutopilotLimits::default() }).await.why,
        Why::Waiting
    );
    let board = stand.service().supervisor_log().board().await.expect("a board");
    let again = board.open().next().expect("another question").token.clone();
    assert_ne!(again, question.token);
    assert_eq!(stand.reply(&again, "ESCALATE").await, "escalate");
    assert_eq!(fly(&stand, lazy(), AutopilotLimits::default()).await.why, Why::Done);
    assert_eq!(stand.log("task."), ["task.completed b", "task.failed.escalated a"]);
}

#[tokio::test]
async fn a_task_that_does_not_move_for_an_hour_is_stuck() {
    let stand = Stand::new();
    stand.queue(&["a"]).await;
    let at = stand.at.clone();
    let slow = Does(move |_: &Assignment| {
        at.fetch_add(2_000_000, Ordering::Relaxed);
        SessionResult::default()
    });
    let landed = fly(&stand, Arc::new(slow), AutopilotLimits { attempts: 100, ..AutopilotLimits::default() }).await;
    assert_eq!(landed.why, Why::Waiting);
    let board = stand.service().supervisor_log().board().await.expect("a board");
    assert!(board.open().next().expect("one").body.contains("it has not moved for "));
    // 33 minutes a session: it was told of each.
    let beats = stand.log("supervisor.heartbeat").len();
    assert_eq!(beats, 2 * landed.sessions as usize);
}

#[tokio::test]
async fn a_budget_stops_the_autopilot_and_a_crashing_driver_does_not() {
    let stand = Stand::new();
    stand.put(".portolan/plugins.yaml", "budgets: {day: {turns: 4}}\n");
    stand.queue(&["a"]).await;
    let count = AtomicU32::new(0);
    let failing = Does(move |_: &Assignment| match count.fetch_add(1, Ordering::Relaxed) {
        0 => SessionResult { failed: Some("it crashed".to_owned()), ..spent(1) },
        _ => spent(2),
    });
    let landed = fly(&stand, Arc::new(failing), AutopilotLimits::default()).await;
    assert_eq!(
        landed,
        AutopilotResult {
            why: Why::Halted,
            reason: "budget halt: 5 of 4 turns are used in `day:2023-11-14`".to_owned(),
            sessions: 3,
        }
    );
    assert_eq!(fly(&stand, Arc::new(Does(|_: &Assignment| spent(1))), AutopilotLimits::default()).await.sessions, 0);
}

#[tokio::test]
async fn what_was_begun_by_hand_comes_into_the_queue_and_what_cannot_be_begun_waits() {
    let stand = Stand::new();
    let start = Start { task: "mine".to_owned(), at: None, workflow: Some("small".to_owned()) };
    stand.service().flow().start(&start, &me()).await.expect("begun");
    stand.queue(&["a", "not a name", "b"]).await;
    let driver = Does(|assignment: &Assignment| {
        finish(assignment);
        SessionResult::default()
    });
    let landed = fly(&stand, Arc::new(driver), AutopilotLimits::default()).await;
    assert_eq!(landed.why, Why::Waiting);
    let mut done = stand.log("task.completed");
    done.sort();
    assert_eq!(done, ["task.completed a", "task.completed b", "task.completed mine"]);
    let board = stand.service().supervisor_log().board().await.expect("a board");
    let body = &board.open().next().expect("a question").body;
    assert!(body.starts_with("`not a name` cannot be started: `not a name` cannot be the name of a task"), "{body}");
}

#[tokio::test]
async fn two_autopilots_do_not_work_on_one_project() {
    let stand = Stand::new();
    stand.queue(&["a"]).await;
    let project = stand.project();
    let other = Does(move |_: &Assignment| {
        let lock = std::fs::File::options().write(true).open(project.join(".portolan/autopilot.lock")).expect("a lock");
        assert!(lock.try_lock().is_err());
        SessionResult {
            question: Some(AgentQuestion { body: "?".to_owned(), ..AgentQuestion::default() }),
            ..SessionResult::default()
        }
    });
    assert_eq!(fly(&stand, Arc::new(other), AutopilotLimits::default()).await.why, Why::Waiting);
}

#[tokio::test]
async fn people_are_told() {
    let stand = Stand::new();
    stand.queue(&["a"]).await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let notifiers = Notifiers::new().with(Stdout(move |notice: &Notice| {
        heard.lock().expect("ours").push(format!("{} {}", notice.kind, notice.reply_token.is_some()));
    }));
    let driver = Does(|assignment: &Assignment| {
        finish(assignment);
        let asks = assignment.phase == "work" && assignment.answers.is_empty();
        let question = asks.then(|| AgentQuestion { body: "?".to_owned(), ..AgentQuestion::default() });
        SessionResult { question, ..SessionResult::default() }
    });
    let limits = AutopilotLimits { heartbeat: Duration::from_secs(3_000), ..AutopilotLimits::default() };
    let service = stand.service();
    Autopilot::new(&service, Arc::new(driver), notifiers, limits).fly().await.expect("it flies");
    assert_eq!(told.lock().expect("ours").as_slice(), ["supervisor.question.sent true"]);
}

#[tokio::test]
async fn drivers_are_known_by_name_and_the_later_one_counts() {
    let drivers = Drivers::built_in().with(Does(|_: &Assignment| spent(1))).with(Does(|_: &Assignment| spent(2)));
    assert_eq!(drivers.replaced(), ["does"]);
    let stand = Stand::new();
    let assignment = Assignment {
        project: stand.project(),
        task: "t".to_owned(),
        goal: String::new(),
        phase: "p".to_owned(),
        prompt: String::new(),
        attempt: 0,
        answers: Vec::new(),
        deadline: Duration::from_secs(1),
    };
    let worked = drivers.get("does").expect("one").run_phase(&assignment).await;
    assert_eq!(worked.usage.turns, Some(2));
    let error = drivers.get("claud").map(|_| ()).expect_err("none");
    assert_eq!(
        error.help,
        "did you mean `claude`? there are `claude`, `codex`, `gemini`, `opencode` and `does`, and `scripted` with a script"
    );
}

#[test]
fn a_script_that_cannot_be_understood_is_refused() {
    for text in ["", "phases: 1", "phases: {a: [{runs: [x]}]}", "phases: {a: [{run: x}]}", "phase: {}", "{"] {
        assert_eq!(ScriptedDriver::read("s.yaml", text).expect_err(text).code, "script_invalid", "{text}");
    }
}
