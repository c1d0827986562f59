//! What a process that dies leaves behind, and files that are not as they were.

use std::path::PathBuf;

use portolan_runtime::audit;
use portolan_runtime::carrier::Address;
use portolan_runtime::service::{Ending, Open, Stage};

use super::stand::{Stand, me, past, person};

/// A crash between the journal and the log: the log is what a moment before, and the next move writes what is missing.
#[tokio::test]
async fn what_a_crash_kept_from_the_log_is_written_by_the_next_move() {
    let whole = Stand::new();
    let cut = Stand::new();
    for stand in [&whole, &cut] {
        stand.start("t", Some("begin")).await.expect("begun");
        stand.tick().await;
        stand.put("ready", "there");
        stand.put("open", "there");
    }
    let log = audit::project_log(&cut.project());
    let text = std::fs::read_to_string(&log).expect("a log");
    let shortened: String = text.lines().take(text.lines().count() - 2).map(|line| format!("{line}\n")).collect();
    std::fs::write(&log, shortened).expect("written");
    for stand in [&whole, &cut] {
        assert!(stand.tick().await.advanced);
    }
    assert_eq!(whole.log(), cut.log());
    assert_eq!(audit::verify(&log).expect("it can be read").first_fault, None);
}

#[tokio::test]
async fn a_bypass_that_cannot_be_put_on_record_is_none() {
    let stand = Stand::new();
    stand.put("open", "there");
    stand.start("t", Some("begin")).await.expect("begun");
    let log = audit::project_log(&stand.project());
    let kept = std::fs::read(&log).expect("a log");
    std::fs::remove_file(&log).expect("removed");
    std::fs::create_dir(&log).expect("something else in its place");
    let past = past("X-1");
    let error = stand.service().flow().get_past(&past, &person()).await.expect_err("it is refused");
    assert!(["log_refused", "log_unreadable"].contains(&error.code), "{}", error.code);
    let error = stand.service().flow().tick(&me()).await.expect_err("nothing moves without a record");
    assert!(["log_refused", "log_unreadable"].contains(&error.code), "{}", error.code);
    std::fs::remove_dir(&log).expect("removed");
    std::fs::write(&log, kept).expect("put back");
    let state = stand.state().await;
    assert!(state.bypasses.is_empty());
    assert!(!stand.tick().await.advanced);
}

#[tokio::test]
async fn a_note_that_is_damaged_is_told() {
    let stand = Stand::new();
    stand.start("t", None).await.expect("begun");
    for text in [
        "",
        "{",
        r#"{"run":"nothing","task":"t","workflow":"small"}"#,
        r#"{"run":"22222222","task":"t","workflow":"small"}"#,
    ] {
        stand.put(".portolan/flow.json", text);
        let error = stand.service().flow().status().await.expect_err("it is told");
        assert!(["task_damaged", "unknown_run"].contains(&error.code), "{text}: {}", error.code);
    }
}

#[tokio::test]
async fn of_ticks_at_once_one_moves_the_task() {
    let stand = Stand::new();
    stand.put("ready", "there");
    stand.put("open", "there");
    stand.start("t", Some("begin")).await.expect("begun");
    let (one, two) = (stand.service(), stand.service());
    let (caller, other) = (me(), me());
    let (one, two) = (one.flow(), two.flow());
    let (first, second) = tokio::join!(one.tick(&caller), two.tick(&other));
    let ticks = [first.expect("a tick"), second.expect("a tick")];
    let advanced = ticks.iter().filter(|tick| tick.advanced).count();
    let phase = stand.state().await.phase;
    // The second may have come after the first: then it has moved the next phase, which has no checks.
    assert!((advanced == 1 && phase == "work") || (advanced == 2 && phase == "test"), "{ticks:?} {phase}");
    let transitions = stand.log().lines().filter(|line| line.starts_with("flow.transition")).count();
    assert_eq!(transitions, 1 + advanced);
}

/// Something in the way of the record: where it is put, and what lies there.
const IN_THE_WAY: [(&str, Option<&str>); 2] =
    [(".portolan/flow-events.jsonl", None), (".portolan/guidelines.yaml", Some("strikt: true\n"))];

impl Stand {
    /// What `deed` comes to while something is in the way; then everything is as it was.
    async fn hindered<T>(&self, (file, text): (&str, Option<&str>), deed: impl AsyncFnOnce() -> T) -> T {
        let path = self.project().join(file);
        let kept = std::fs::read_to_string(&path).ok();
        if kept.is_some() {
            std::fs::remove_file(&path).expect("removed");
        }
        match text {
            None => std::fs::create_dir_all(&path).expect("a folder in its place"),
            Some(text) => self.put(file, text),
        }
        let came = deed().await;
        let _dir = std::fs::remove_dir(&path);
        let _file = std::fs::remove_file(&path);
        if let Some(kept) = kept {
            std::fs::write(&path, kept).expect("put back");
        }
        came
    }

    /// The runs that are kept.
    async fn runs(&self) -> usize {
        self.service().list(false, 100).await.expect("they can be read").len()
    }
}

#[tokio::test]
async fn a_task_whose_beginning_is_refused_has_not_begun() {
    for hindrance in IN_THE_WAY {
        let stand = Stand::new();
        let error = stand.hindered(hindrance, async || stand.start("t", Some("begin")).await).await;
        assert!(error.is_err(), "{hindrance:?}");
        assert_eq!(stand.state().await.task_id, None, "{hindrance:?}");
        assert_eq!((stand.runs().await, stand.log().as_str()), (0, ""), "{hindrance:?}");
        stand.start("t", Some("begin")).await.expect("it can be begun");
    }
}

#[tokio::test]
async fn what_is_refused_changes_nothing_of_a_task() {
    for hindrance in IN_THE_WAY {
        let stand = Stand::new();
        stand.start("t", Some("begin")).await.expect("begun");
        let (before, log) = (stand.state().await, stand.log());
        let past = past("X-1");
        let claimed = super::stand::object(serde_json::json!({ "branch": "feat/x" }));
        let refused = stand
            .hindered(hindrance, async || {
                let past = stand.service().flow().get_past(&past, &person()).await.is_err();
                let claimed = stand.service().flow().patch(&claimed, &me()).await.is_err();
                let aborted = stand.service().flow().abort(Ending::Escalated, "no", &me()).await.is_err();
                (past, claimed, aborted)
            })
            .await;
        assert_eq!(refused, (true, true, true), "{hindrance:?}");
        assert_eq!((stand.state().await, stand.log()), (before, log), "{hindrance:?}");
    }
}

impl Stand {
    fn note(&self) -> PathBuf {
        self.project().join(".portolan/flow.json")
    }

    /// The run of the task, and a note that says that it is about to begin.
    async fn noted_as_beginning(&self) -> String {
        let active = self.service().flow().active().await.expect("readable").expect("a task");
        let note = format!(r#"{{ "run": "{}", "task": "t", "workflow": "small", "stage": "begins" }}"#, active.run);
        self.put(".portolan/flow.json", &note);
        active.run.to_string()
    }
}

/// The note comes first: whoever dies before the run is kept has begun nothing, and stands in nobody's way.
#[tokio::test]
async fn a_task_that_was_only_noted_has_never_begun() {
    let note = r#"{ "run": "22222222", "task": "t", "workflow": "small", "stage": "begins" }"#;
    let stand = Stand::new();
    stand.put(".portolan/flow.json", note);
    assert_eq!(stand.state().await.task_id, None);
    stand.put(".portolan/flow.json", note);
    assert_eq!(stand.tick().await.reason, "No active task.");
    assert!(!stand.note().exists());
    stand.put(".portolan/flow.json", note);
    let error = stand.service().flow().abort(Ending::Escalated, "no", &me()).await.expect_err("there is nothing");
    assert_eq!(error.code, "no_task");
    stand.put(".portolan/flow.json", note);
    assert_eq!(stand.start("u", Some("begin")).await.expect("begun").phase, "begin");
    assert_eq!(stand.runs().await, 1);
}

/// A run that is kept has begun: whoever died before it was noted as under way has only not said so.
#[tokio::test]
async fn a_task_that_was_kept_is_under_way_whatever_its_note_says() {
    let stand = Stand::new();
    stand.start("t", Some("begin")).await.expect("begun");
    let run = stand.noted_as_beginning().await;
    std::fs::remove_file(audit::project_log(&stand.project())).expect("nothing was put on record");
    let error = stand.start("u", None).await.expect_err("one task at a time");
    assert_eq!(error.code, "task_under_way");
    let state = stand.state().await;
    assert_eq!((state.phase.as_str(), state.run_id), ("begin", Some(run)));
    let active = stand.service().flow().active().await.expect("readable").expect("a task");
    assert_eq!(active.stage, Stage::UnderWay);
    stand.put("ready", "there");
    stand.put("open", "there");
    assert!(stand.tick().await.advanced);
    assert!(stand.log().starts_with("flow.boot idle t workflow=\"small\"\nflow.transition idle t"), "{}", stand.log());
}

/// What earlier versions left: a run that is kept and has not begun.
#[tokio::test]
async fn a_task_whose_run_has_not_begun_begins_when_somebody_comes() {
    let stand = Stand::new();
    let init = Open { workflow: Some("small".to_owned()), description: Some("t".to_owned()), ..Open::default() };
    let Address::Stored(run) = stand.service().open(&init, &me()).await.expect("opened").address else {
        panic!("it is kept in the store")
    };
    stand.put(".portolan/flow.json", &format!(r#"{{ "run": "{run}", "task": "t", "workflow": "small" }}"#));
    assert!(stand.tick().await.advanced);
    assert_eq!(stand.state().await.phase, "begin");
}

/// Somebody died between the last record of a run and what follows from it.
#[tokio::test]
async fn a_task_that_is_over_is_in_nobodys_way_and_is_on_record() {
    for deed in ["start", "tick", "abort", "status"] {
        let stand = Stand::new();
        stand.start("t", Some("begin")).await.expect("begun");
        let note = std::fs::read(stand.note()).expect("it is noted");
        stand.service().flow().abort(Ending::Escalated, "no", &me()).await.expect("called off");
        let log = stand.log();
        std::fs::write(stand.note(), note).expect("written");
        let path = audit::project_log(&stand.project());
        let text = std::fs::read_to_string(&path).expect("a log");
        let cut = text.lines().filter(|line| !line.contains("task.failed.escalated")).map(|line| format!("{line}\n"));
        std::fs::write(&path, cut.collect::<String>()).expect("written");
        assert_ne!(stand.log(), log);
        match deed {
            "start" => drop(stand.start("u", None).await.expect("begun")),
            "tick" => assert_eq!(stand.tick().await.reason, "No active task: `t` has ended."),
            "status" => assert_eq!(stand.state().await.task_id, None),
            _ => {
                let error = stand.service().flow().abort(Ending::Escalated, "no", &me()).await.expect_err("it is over");
                assert_eq!(error.message, "no task is in progress: `t` has ended");
            }
        }
        assert!(stand.log().starts_with(&log), "{deed}: {}", stand.log());
    }
}
