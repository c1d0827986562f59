use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::log_line::LogLine;
use portolan_core::value::Timestamp;

/// Applies lines of kind, task and data, one minute apart.
fn board(lines: &[(&str, &str, Value)]) -> SupervisorState {
    let mut board = SupervisorState::default();
    for (at, (kind, task, data)) in (0_i64..).zip(lines) {
        let task = (!task.is_empty()).then_some(*task);
        board.apply(&LogLine { id: "e", kind, at: Timestamp(at * 60_000), task, run: Some("r"), data });
    }
    board
}

fn queued(task: &str) -> (&'static str, &str, Value) {
    ("supervisor.task.queued", task, json!({ "goal": "g" }))
}

#[test]
fn a_reply_is_a_choice_by_words_number_or_json() {
    let choices = ["Yes".to_owned(), "no".to_owned(), "7".to_owned(), "NO WAY".to_owned()];
    for (body, meant) in [
        ("yes", Some("Yes")),
        (" NO ", Some("no")),
        ("2", Some("no")),
        ("7", Some("7")),
        ("\"no way\"", Some("NO WAY")),
        ("1", Some("Yes")),
        (r#"{"answer": 4}"#, Some("NO WAY")),
        (r#"{"index": 1}"#, Some("Yes")),
        ("0", None),
        ("5", None),
        ("-1", None),
        ("", None),
        ("yes please", None),
        (r#"{"choice": ["no"]}"#, None),
        (r#"{"word": "no"}"#, None),
        ("[1]", None),
    ] {
        assert_eq!(answer(body, &choices).as_deref(), meant, "{body}");
    }
    let alike = ["a".to_owned(), "A".to_owned()];
    assert_eq!(answer("A", &alike).as_deref(), Some("A"));
    assert_eq!(answer(" ", &[]), None);
    assert_eq!(answer(" any text ", &[]).as_deref(), Some("any text"));
}

#[test]
fn days_and_months_are_those_of_utc() {
    for (ms, date) in [
        (0, "1970-01-01"),
        (86_399_999, "1970-01-01"),
        (86_400_000, "1970-01-02"),
        (-1, "1969-12-31"),
        (951_782_400_000, "2000-02-29"),
        (951_868_800_000, "2000-03-01"),
        (1_735_689_599_999, "2024-12-31"),
        (1_735_689_600_000, "2025-01-01"),
        (4_107_542_400_000, "2100-03-01"),
    ] {
        assert_eq!(day(Timestamp(ms)), date, "{ms}");
        assert_eq!(month(Timestamp(ms)), date[..7], "{ms}");
    }
}

#[test]
fn a_budget_warns_and_halts_and_the_unknown_is_not_zero() {
    let budget = |scope, unit, cap| Budget { scope, unit, cap, warn_at: 80 };
    let budgets = [
        budget(Scope::Task, Unit::Turns, 10),
        budget(Scope::Day, Unit::CostUsd, 1_000_000),
        budget(Scope::Session, Unit::Tokens, 100),
    ];
    let used = |turns: Value, cost: Value| {
        ("supervisor.usage.recorded", "t", json!({ "session": "s", "turns": turns, "costUsd": cost }))
    };
    let told = |lines: &[(&str, &str, Value)]| {
        let standing = standings(&budgets, &board(lines), Some("t"), Some("s"), Timestamp(0));
        let told = |s: &BudgetStatus| format!("{} {:?} {} {}", s.window, s.used, s.warns, s.halts);
        standing.iter().map(told).collect::<Vec<_>>().join("; ")
    };
    let nothing = "task:t None false false; day:1970-01-01 None false false; session:s None false false";
    assert_eq!(told(&[]), nothing);
    assert_eq!(told(&[used(Value::Null, Value::Null)]), nothing);
    assert_eq!(
        told(&[used(json!(8), json!(0.5)), used(Value::Null, json!(0.3))]),
        "task:t Some(8) true false; day:1970-01-01 Some(800000) true false; session:s None false false"
    );
    let full = [used(json!(10), Value::Null)];
    assert!(told(&full).starts_with("task:t Some(10) true true"));
    let raise = json!({ "stage": "recorded", "budget": { "window": "task:t", "unit": "turns", "cap": 20 } });
    let raised = [full[0].clone(), ("flow.bypass", "t", raise)];
    assert!(told(&raised).starts_with("task:t Some(10) false false"), "{}", told(&raised));
    assert!(standings(&budgets, &board(&full), None, None, Timestamp(0)).len() == 1);
}

#[test]
fn amounts_are_read_and_shown_alike() {
    assert_eq!(Unit::CostUsd.counted(0.1), Some(100_000));
    assert_eq!(Unit::CostUsd.shown(100_000), json!(0.1));
    assert_eq!(Unit::WallSeconds.shown(60_000), json!(60));
    assert_eq!(Unit::Turns.counted(1.5), None);
    assert_eq!(Unit::Turns.counted(-1.0), None);
    assert_eq!(Unit::Turns.counted(f64::NAN), None);
}

#[test]
fn a_task_that_is_over_waits_for_nobody_and_may_be_queued_again() {
    let ask = ("supervisor.question.sent", "a", json!({ "replyToken": "q1", "body": "?" }));
    let lines = [queued("a"), queued("b"), ("flow.boot", "a", json!({})), ask];
    let at = board(&lines);
    assert_eq!(at.next(|_| false).map(|item| item.task.as_str()), Some("b"));
    let over = ("task.failed.escalated", "a", json!({}));
    let at = board(&[&lines[..], &[over, queued("a")]].concat());
    assert_eq!(at.open().count(), 0);
    let order: Vec<(&str, Progress)> = at.queue.values().map(|item| (item.task.as_str(), item.progress)).collect();
    assert_eq!(order, [("b", Progress::Queued), ("a", Progress::Queued)]);
}

proptest! {
    /// For any questions and answers: a task is next exactly if one is open that no question blocks.
    #[test]
    fn a_question_holds_up_its_task_and_no_other(steps in prop::collection::vec((0_usize..6, 0_usize..4), 0..60)) {
        const TASKS: [&str; 4] = ["a", "b", "c", "d"];
        let mut lines: Vec<(&str, &str, Value)> = Vec::new();
        for (nth, (what, which)) in steps.iter().enumerate() {
            let token = format!("q{}", if *what == 2 { which * 7 % 20 } else { nth % 20 });
            lines.push(match what {
                0 => queued(TASKS[*which]),
                1 => ("supervisor.question.sent", TASKS[*which], json!({ "replyToken": token, "body": "?" })),
                2 => ("supervisor.reply.received", "", json!({ "replyToken": token, "body": "!", "by": "me" })),
                3 => ("flow.boot", TASKS[*which], json!({})),
                4 => ("supervisor.task.parked", TASKS[*which], json!({})),
                _ => ("task.completed", TASKS[*which], json!({})),
            });
        }
        let at = board(&lines);
        let free = |task: &str| {
            at.queue.get(task).is_some_and(|item| item.progress.is_open())
                && !at.questions.values().any(|q| q.answer.is_none() && q.task.as_deref() == Some(task))
        };
        let next = at.next(|_| false).map(|item| item.task.as_str());
        prop_assert_eq!(next.is_some(), TASKS.into_iter().any(free));
        prop_assert!(next.is_none_or(free));
        // The serialized state equals the state of the log.
        let kept: SupervisorState = serde_json::from_value(serde_json::to_value(&at).expect("data")).expect("data");
        prop_assert_eq!(kept, at);
    }
}
