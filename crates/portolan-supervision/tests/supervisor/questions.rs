//! Questions, answers, deadlines, and the queue that goes on meanwhile.

use portolan_core::run::{Actor, Channel};
use portolan_core::value::Timestamp;
use portolan_runtime::audit;
use portolan_runtime::service::{Caller, TaskStatus};
use portolan_supervision::supervisor::{Ask, Supervisor};
use serde_json::json;

use super::stand::{Stand, error_text, me, question};

#[tokio::test]
async fn a_question_holds_up_its_task_and_not_the_queue() {
    let stand = Stand::new();
    stand.queue(&["a", "b"]).await;
    assert_eq!(stand.next().await.as_deref(), Some("a"));
    let item = Supervisor::of(&stand.service()).next_task().await.expect("known").expect("one");
    Supervisor::of(&stand.service()).bring(&item, &me()).await.expect("begun");
    let token = stand.ask("a", &["Left", "right"]).await;
    assert_eq!(stand.next().await.as_deref(), Some("b"));
    let state = stand.service().flow().status().await.expect("a state");
    assert_eq!((state.status, state.pending_questions.as_slice()), (TaskStatus::WaitingForReply, &[token.clone()][..]));
    assert_eq!(stand.reply(&token, "perhaps").await, "unparseable");
    assert_eq!(stand.next().await.as_deref(), Some("b"));
    assert_eq!(stand.reply(&token, "LEFT").await, "Left");
    assert_eq!(stand.next().await.as_deref(), Some("a"));
    assert_eq!(stand.reply(&token, "1").await, "Left again");
    assert_eq!(stand.reply(&token, "right").await, "answered");
    let state = stand.service().flow().status().await.expect("a state");
    assert_eq!((state.status, state.pending_questions.len()), (TaskStatus::Active, 0));
    assert_eq!(
        stand.log("supervisor.").join(", "),
        "supervisor.task.queued a, supervisor.task.queued b, supervisor.question.sent a, \
         supervisor.reply.unparseable a, supervisor.reply.received a"
    );
}

#[tokio::test]
async fn who_waits_for_news_sees_whether_there_may_be_any() {
    let stand = Stand::new();
    let (service, looking) = (stand.service(), stand.service());
    let mut marks = vec![Supervisor::of(&looking).mark()];
    let token = stand.ask("a", &[]).await;
    marks.push(Supervisor::of(&looking).mark());
    service.supervisor_log().board().await.expect("a board");
    assert_eq!(Supervisor::of(&looking).mark(), marks[1], "looking changes nothing");
    assert_eq!(stand.reply(&token, "yes").await, "yes");
    marks.push(Supervisor::of(&looking).mark());
    assert!(marks[0] != marks[1] && marks[1] != marks[2], "{marks:?}");
}

#[tokio::test]
async fn an_answer_is_on_record_with_the_way_that_it_came() {
    let stand = Stand::new();
    for via in [Channel::CommandLine, Channel::Elicitation] {
        let token = stand.ask("a", &[]).await;
        let by = Actor::Person { name: "Ada".to_owned(), via };
        Supervisor::of(&stand.service()).reply(&token, "yes", &Caller { by, can_ask: true }).await.expect("answered");
    }
    let token = stand.ask("a", &[]).await;
    Supervisor::of(&stand.service()).reply(&token, "yes", &Caller::agent("bot")).await.expect("answered");
    let lines = audit::read(&audit::project_log(&stand.project()), &audit::Filter::default()).expect("a log");
    let lines = lines.map(|line| line.expect("a line")).filter(|line| line.kind == "supervisor.reply.received");
    let told: Vec<_> = lines.map(|line| (line.data["by"].clone(), line.data.get("via").cloned())).collect();
    assert_eq!(
        told,
        [(json!("Ada"), Some(json!("command_line"))), (json!("Ada"), Some(json!("elicitation"))), (json!("bot"), None)]
    );
}

#[tokio::test]
async fn a_token_that_is_not_known_says_nothing_of_what_was_sent() {
    let stand = Stand::new();
    let error = Supervisor::of(&stand.service()).reply("q0", "my s3cret words", &me()).await.expect_err("refused");
    assert_eq!(error.code, "unknown_token");
    assert!(!error_text(&error).contains("s3cret"));
    assert!(stand.log("").is_empty());
}

#[tokio::test]
async fn what_is_not_answered_in_time_has_its_default_or_is_asked_for_once_more() {
    let stand = Stand::new();
    stand.queue(&["a", "b"]).await;
    let deadline = Some(Timestamp(stand.at.load(std::sync::atomic::Ordering::Relaxed) + 3_600_000));
    let default = Ask { deadline, default: Some("2".to_owned()), ..question("a", &["yes", "no"]) };
    let with = Supervisor::of(&stand.service()).ask(&default).await.expect("asked");
    let without = Supervisor::of(&stand.service()).ask(&Ask { deadline, ..question("b", &[]) }).await.expect("asked");
    assert_eq!(stand.next().await, None);
    stand.pass(3_600);
    let late = Supervisor::of(&stand.service()).settle_deadlines().await.expect("settled");
    assert_eq!(late.iter().map(|question| question.token.as_str()).collect::<Vec<_>>(), [without.as_str()]);
    assert!(Supervisor::of(&stand.service()).settle_deadlines().await.expect("settled").is_empty());
    let board = stand.service().supervisor_log().board().await.expect("a board");
    let answer = board.questions[&with].answer.as_ref().expect("the default");
    assert_eq!((answer.body.as_str(), answer.by.as_str()), ("no", "timeout"));
    assert_eq!(stand.next().await.as_deref(), Some("a"));
    assert_eq!(stand.reply(&with, "yes").await, "answered");
    assert_eq!(stand.reply(&without, "late is fine").await, "late is fine");
    assert_eq!(stand.log("supervisor.question.overdue").len(), 1);
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused() {
    let stand = Stand::new();
    let long = "x".repeat(5_000);
    for ask in [
        Ask { body: "  ".to_owned(), ..question("a", &[]) },
        Ask { body: long.clone(), ..question("a", &[]) },
        question("a", &["", "b"]),
        question("a", &["a"; 31]),
        Ask { default: Some("c".to_owned()), ..question("a", &["a", "b"]) },
    ] {
        assert_eq!(Supervisor::of(&stand.service()).ask(&ask).await.expect_err("refused").code, "bad_question");
    }
    let token = stand.ask("a", &[]).await;
    assert_eq!(stand.reply(&token, &long).await, "too_large");
    assert_eq!(stand.reply(&token, " \n").await, "unparseable");
}

/// The answer is compared by its digest: what is kept of a secret is a mask.
#[tokio::test]
async fn an_answer_that_is_masked_on_record_is_still_known_again() {
    let stand = Stand::new();
    let token = stand.ask("a", &[]).await;
    let key = format!("ghp_{}", "a1B2".repeat(9));
    stand.reply(&token, &key).await;
    let log = std::fs::read_to_string(audit::project_log(&stand.project())).expect("a log");
    assert!(!log.contains(&key), "{log}");
    assert!(stand.reply(&token, &key).await.ends_with(" again"));
    assert_eq!(stand.reply(&token, &key.replace('a', "b")).await, "answered");
}

/// Whatever is lost beside the log is made from it again: the file as it was before, none, half of one, one of another log.
#[tokio::test]
async fn a_crash_between_the_log_and_the_file_loses_nothing() {
    let stand = Stand::new();
    stand.queue(&["a", "b"]).await;
    let path = stand.project().join(".portolan/supervisor.json");
    let before = std::fs::read(&path).expect("a file");
    let token = stand.ask("a", &["x", "y"]).await;
    let after = std::fs::read(&path).expect("a file");
    let foreign = String::from_utf8(after.clone()).expect("text").replace("\"line\":\"", "\"line\":\"x");
    for left in [Some(before), None, Some(after[..after.len() / 2].to_vec()), Some(foreign.into_bytes())] {
        match left {
            Some(bytes) => std::fs::write(&path, bytes).expect("written"),
            None => std::fs::remove_file(&path).expect("removed"),
        }
        assert_eq!(stand.next().await.as_deref(), Some("b"));
        let board = stand.service().supervisor_log().board().await.expect("a board");
        assert!(board.questions[&token].answer.is_none());
    }
    assert_eq!(stand.reply(&token, "y").await, "y");
    assert_eq!(audit::verify(&audit::project_log(&stand.project())).expect("read").first_fault, None);
}

#[tokio::test]
async fn of_two_answers_at_once_one_counts() {
    let stand = Stand::new();
    let token = stand.ask("a", &["x", "y"]).await;
    let (one, two) = (stand.service(), stand.service());
    let (caller, other) = (me(), me());
    let (one, two) = (Supervisor::of(&one), Supervisor::of(&two));
    let (first, second) = tokio::join!(one.reply(&token, "x", &caller), two.reply(&token, "y", &other));
    assert_eq!([&first, &second].iter().filter(|replied| replied.is_ok()).count(), 1);
    assert_eq!(stand.log("supervisor.reply.received").len(), 1);
}
