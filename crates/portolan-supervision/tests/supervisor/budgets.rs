//! What is used up, what is said of it once, and what stops then.

use crate::calls::{Calls, Move};
use portolan_core::run::{Actor, Channel};
use portolan_core::value::Outcome;
use portolan_gates::supervisor::{Scope, Unit, Usage};
use portolan_runtime::carrier::Address;
use portolan_runtime::service::{Caller, Ending, Open, RunCarrier, ServiceError, Start, TaskStatus};
use portolan_supervision::supervisor::{Raise, Supervisor, UsageReport};

use super::stand::{Stand, error_text, me};

fn report(session: &str, turns: Option<u64>, cost_micros: Option<u64>) -> UsageReport {
    UsageReport {
        task: Some("t".to_owned()),
        phase: None,
        session: Some(session.to_owned()),
        driver: "test".to_owned(),
        usage: Usage { turns, cost_micros, ..Usage::default() },
    }
}

async fn begun(budgets: &str) -> Stand {
    let stand = Stand::new();
    stand.put(".portolan/plugins.yaml", budgets);
    let start = Start { task: "t".to_owned(), at: None, workflow: Some("small".to_owned()) };
    stand.service().flow().start(&start, &me()).await.expect("begun");
    stand
}

async fn used(stand: &Stand, turns: u64) {
    Supervisor::of(&stand.service()).record_usage(&report("s", Some(turns), None)).await.expect("recorded");
}

#[tokio::test]
async fn a_budget_warns_once_halts_once_and_is_raised_on_record() {
    let stand = begun("budgets: {task: {turns: 10}}\n").await;
    for turns in [7, 1, 1] {
        used(&stand, turns).await;
    }
    assert_eq!(stand.log("supervisor.budget"), ["supervisor.budget.warning t"]);
    assert!(stand.service().flow().tick(&me()).await.expect("a tick").advanced);
    used(&stand, 1).await;
    used(&stand, 1).await;
    assert_eq!(stand.log("supervisor.budget"), ["supervisor.budget.warning t", "supervisor.budget.halt t"]);
    let tick = stand.service().flow().tick(&me()).await.expect("a tick");
    assert!(!tick.advanced);
    assert_eq!(tick.reason, "budget halt: 11 of 10 turns are used in `task:t`");
    let patch = serde_json::json!({ "branch": "x" });
    let error = stand.service().flow().patch(patch.as_object().expect("an object"), &me()).await.expect_err("halted");
    assert_eq!(error.code, "halted");
    let state = stand.service().flow().status().await.expect("reading goes on");
    assert_eq!((state.status, state.metrics.turns, state.metrics.cost_usd), (TaskStatus::Halted, Some(11), None));

    let raise =
        |to, reason: &str| Raise { scope: Scope::Task, unit: Unit::Turns, to, reason: reason.to_owned(), task: None };
    for (wanted, code) in [(raise(20, " "), "bad_input"), (raise(10, "r"), "no_raise")] {
        assert_eq!(Supervisor::of(&stand.service()).raise(&wanted, &me()).await.expect_err("refused").code, code);
    }
    let other = Raise { unit: Unit::Tokens, ..raise(20, "r") };
    assert_eq!(Supervisor::of(&stand.service()).raise(&other, &me()).await.expect_err("refused").code, "no_budget");
    Supervisor::of(&stand.service()).raise(&raise(20, "one more attempt"), &me()).await.expect("raised");
    assert_eq!(stand.log("flow.bypass"), ["flow.bypass t"]);
    stand.put("ready", "there");
    assert!(stand.service().flow().tick(&me()).await.expect("a tick").advanced);
    // The raised one is crossed anew, and told anew.
    used(&stand, 9).await;
    assert_eq!(stand.log("supervisor.budget").len(), 3);
}

#[tokio::test]
async fn what_is_unknown_is_not_zero_and_days_end() {
    let stand = begun("budgets: {day: {costUsd: 1}}\n").await;
    let supervisor = stand.service();
    Supervisor::of(&supervisor).record_usage(&report("s", None, None)).await.expect("recorded");
    let state = stand.service().flow().status().await.expect("a state");
    assert_eq!((state.metrics.turns, state.metrics.cost_usd, state.metrics.tokens_in), (None, None, None));
    Supervisor::of(&supervisor).record_usage(&report("s", None, Some(1_000_000))).await.expect("recorded");
    let state = stand.service().flow().status().await.expect("a state");
    assert_eq!((state.status, state.metrics.cost_usd), (TaskStatus::Halted, Some(1.0)));
    stand.pass(86_400);
    assert_eq!(stand.service().flow().status().await.expect("a state").status, TaskStatus::Active);
    assert!(stand.service().flow().tick(&me()).await.expect("a tick").advanced);
}

#[tokio::test]
async fn a_halted_task_is_not_next_and_agents_raise_nothing_for_people_alone() {
    let stand = Stand::new();
    stand.put(".portolan/plugins.yaml", "budgets: {warnAt: 50, task: {turns: 1}}\n");
    stand.queue(&["t", "u"]).await;
    used(&stand, 1).await;
    assert_eq!(stand.next().await.as_deref(), Some("u"));
    let agent = Caller { by: Actor::Person { name: "a".to_owned(), via: Channel::Attested }, can_ask: false };
    let raise =
        Raise { scope: Scope::Task, unit: Unit::Turns, to: 5, reason: "r".to_owned(), task: Some("t".to_owned()) };
    let error = Supervisor::of(&stand.service()).raise(&raise, &agent).await.expect_err("it is a person's");
    assert_eq!((error.code, error.message.as_str()), ("bad_bypass", "only a person is allowed to bypass I-15"));
    stand.put(".portolan/guidelines.yaml", "bypass: agent\n");
    Supervisor::of(&stand.service()).raise(&raise, &agent).await.expect("raised");
    assert_eq!(stand.next().await.as_deref(), Some("t"));
}

#[tokio::test]
async fn a_file_with_faults_is_not_a_file_without_budgets() {
    let stand = begun("budgets: {}\n").await;
    stand.put(".portolan/plugins.yaml", "budgets: {day: {cost: 1}}\n");
    let error = stand.service().flow().tick(&me()).await.expect_err("refused");
    assert_eq!(error.code, "plugins_invalid");
    assert!(error_text(&error).contains("line 1: the budget of a day has no `cost`"), "{}", error_text(&error));
}

fn code<T>(result: Result<T, ServiceError>) -> &'static str {
    result.err().map_or("done", |error| error.code)
}

#[tokio::test]
async fn after_a_halt_nothing_moves_by_any_way_and_looking_goes_on() {
    let stand = begun("budgets: {day: {turns: 10}}\n").await;
    let run = stand.service().flow().active().await.expect("readable").expect("a task").run;
    let address = Address::Stored(run.clone());
    let view = stand.service().current(&address, None, &me()).await.expect("it is there");
    stand.put(".flow/workflows/other.json", OTHER);
    used(&stand, 10).await;
    let service = stand.service();
    let wanted = Move {
        address: address.clone(),
        branch: None,
        revision: Some(view.situation.position.revision),
        outcome: Outcome::passed(),
        note: None,
        outputs: None,
    };
    assert_eq!(code(service.next(&wanted, &me()).await), "halted");
    let init = |workflow: &str| Open { workflow: Some(workflow.to_owned()), ..Open::default() };
    assert_eq!(code(service.open(&init("small"), &me()).await), "halted");
    assert_eq!(code(service.open(&init("other"), &me()).await), "done", "it has no phases");
    let begin = Open { carrier: RunCarrier::State, workflow: Some("small".to_owned()), ..Open::default() };
    assert_eq!(code(service.open(&begin, &me()).await), "halted");
    assert_eq!(code(service.flow().back("the tests fail", &me()).await), "no_way_back", "`idle` does not go back");
    assert_eq!(code(service.current(&address, None, &me()).await), "done");
    assert_eq!(code(service.flow().status().await), "done");
    let raise = Raise { scope: Scope::Day, unit: Unit::Turns, to: 20, reason: "more".to_owned(), task: None };
    Supervisor::of(&service).raise(&raise, &me()).await.expect("raised");
    assert_eq!(code(service.next(&wanted, &me()).await), "done");
    assert_eq!(stand.log("flow.bypass"), ["flow.bypass t"]);
    used(&stand, 10).await;
    assert_eq!(code(service.flow().abort(Ending::ScopedDown, "it costs too much", &me()).await), "done");
    let start = Start { task: "u".to_owned(), at: None, workflow: Some("small".to_owned()) };
    assert_eq!(code(service.flow().start(&start, &me()).await), "halted");
    assert!(service.flow().active().await.expect("readable").is_none(), "nothing was begun");
}

#[tokio::test]
async fn going_back_is_refused_after_a_halt_and_a_session_that_is_over_keeps_nobody_from_a_task() {
    let stand = Stand::new();
    stand.put(".portolan/plugins.yaml", "budgets: {session: {turns: 10}}\n");
    stand.put(".flow/workflows/small.yaml", LOOP);
    let service = stand.service();
    let start = Start { task: "t".to_owned(), at: None, workflow: Some("small".to_owned()) };
    service.flow().start(&start, &me()).await.expect("begun");
    for _ in 0..2 {
        assert!(service.flow().tick(&me()).await.expect("a tick").advanced);
    }
    used(&stand, 10).await;
    assert_eq!(code(service.flow().back("the tests fail", &me()).await), "halted");
    service.flow().abort(Ending::ScopedDown, "enough", &me()).await.expect("called off");
    let start = Start { task: "u".to_owned(), at: None, workflow: Some("small".to_owned()) };
    assert_eq!(code(service.flow().start(&start, &me()).await), "done");
    assert!(!service.flow().tick(&me()).await.expect("a tick").advanced);
}

const LOOP: &str = "
id: small
iterationCap: 2
phases:
  - id: idle
  - id: work
  - { id: test, back: work }
";

const OTHER: &str = r#"{
  "nodes": { "start": { "type": "start" }, "work": { "type": "task" }, "done": { "type": "end", "result": "success" } },
  "edges": [{ "from": "start", "to": "work" }, { "from": "work", "to": "done" }]
}"#;
