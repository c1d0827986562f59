//! Files of a task that are damaged, one after the other: what is told, that nothing moves meanwhile, and that nothing is
//! lost once they are put back.

use std::fs;
use std::path::PathBuf;

use expect_test::expect;
use portolan_runtime::audit;
use portolan_runtime::service::ServiceError;
use serde_json::json;

use super::stand::{Stand, line, me, object, past, person};

/// A task that only its next tick keeps from the next phase.
async fn ready() -> Stand {
    let stand = Stand::new();
    stand.start("t", Some("begin")).await.expect("begun");
    stand.put("ready", "there");
    stand.put("open", "there");
    stand
}

fn own(stand: &Stand, file: &str) -> PathBuf {
    stand.project().join(".portolan").join(file)
}

fn outcome_text<T>(stand: &Stand, what: Result<T, ServiceError>) -> String {
    match what {
        Ok(_) => "done".to_owned(),
        Err(error) => {
            let text = format!("{}: {}; {}", error.code, error.message, error.help);
            text.replace(&stand.project().display().to_string(), "<project>")
        }
    }
}

/// What each way of looking and moving comes to.
async fn everything(stand: &Stand, run: &str) -> String {
    let service = stand.service();
    let flow = service.flow();
    let past = past("X-1");
    let mut text = String::new();
    let tick = match flow.tick(&me()).await {
        Ok(tick) => line(&tick).replace(&stand.project().display().to_string(), "<project>"),
        error => outcome_text(stand, error),
    };
    let deeds = [
        ("status", outcome_text(stand, flow.status().await)),
        ("start", outcome_text(stand, stand.start("u", None).await)),
        ("patch", outcome_text(stand, flow.patch(&object(json!({ "branch": "feat/x" })), &me()).await)),
        ("past", outcome_text(stand, flow.get_past(&past, &person()).await)),
        ("tick", tick),
    ];
    for (deed, came) in deeds {
        text.push_str(&format!("  {deed}: {}\n", came.replace(run, "<run>")));
    }
    text
}

#[tokio::test]
async fn a_damaged_file_is_told_and_nothing_moves_and_nothing_is_lost() {
    let stand = ready().await;
    let before = stand.log();
    let run = stand.state().await.run_id.expect("a run");
    let half = {
        let bytes = fs::read(own(&stand, "runs.db")).expect("it is there");
        bytes[..bytes.len() / 2].to_vec()
    };
    let cases: [(&str, &str, &[u8]); 8] = [
        ("runs.db", "cut in half", &half),
        ("runs.db", "noise", &[0x5a; 20_000]),
        ("runs.db", "empty", b""),
        ("flow.json", "empty", b""),
        ("flow.json", "half", b"{\"run\":\"222"),
        ("flow.json", "another layout", b"[1, 2]"),
        ("flow.json", "a run that is none", br#"{"run":"22222222","task":"t","workflow":"small"}"#),
        ("guidelines.yaml", "noise", b"\xff\xfe\x00"),
    ];
    let mut all = String::new();
    for (file, how, bytes) in cases {
        let place = own(&stand, file);
        let kept = fs::read(&place).ok();
        fs::write(&place, bytes).expect("damaged");
        all.push_str(&format!("{file}: {how}\n{}", everything(&stand, &run).await));
        match kept {
            Some(kept) => fs::write(&place, kept).expect("put back"),
            None => fs::remove_file(&place).expect("removed"),
        }
        let state = stand.state().await;
        assert_eq!((state.phase.as_str(), state.task_id.as_deref()), ("begin", Some("t")), "{file}: {how}");
        assert!(state.bypasses.is_empty(), "{file}: {how}");
        assert_eq!(stand.log(), before, "{file}: {how}");
    }
    expect![[r#"
        runs.db: cut in half
          status: store_corrupt: `<project>/.portolan/runs.db` is damaged (database disk image is malformed); restore an earlier copy, or move it away to begin a new one
          start: store_corrupt: `<project>/.portolan/runs.db` is damaged (database disk image is malformed); restore an earlier copy, or move it away to begin a new one
          patch: store_corrupt: `<project>/.portolan/runs.db` is damaged (database disk image is malformed); restore an earlier copy, or move it away to begin a new one
          past: store_corrupt: `<project>/.portolan/runs.db` is damaged (database disk image is malformed); restore an earlier copy, or move it away to begin a new one
          tick: store_corrupt: `<project>/.portolan/runs.db` is damaged (database disk image is malformed); restore an earlier copy, or move it away to begin a new one
        runs.db: noise
          status: store_corrupt: `<project>/.portolan/runs.db` is not a run store; move it away, or name another file
          start: store_corrupt: `<project>/.portolan/runs.db` is not a run store; move it away, or name another file
          patch: store_corrupt: `<project>/.portolan/runs.db` is not a run store; move it away, or name another file
          past: store_corrupt: `<project>/.portolan/runs.db` is not a run store; move it away, or name another file
          tick: store_corrupt: `<project>/.portolan/runs.db` is not a run store; move it away, or name another file
        runs.db: empty
          status: task_damaged: the task `t` is in progress, but its run `<run>` is not in the store; ask a person to restore `.portolan/runs.db`, or to delete `<project>/.portolan/flow.json` in their own terminal so that no task is in progress
          start: task_damaged: the task `t` is in progress, but its run `<run>` is not in the store; ask a person to restore `.portolan/runs.db`, or to delete `<project>/.portolan/flow.json` in their own terminal so that no task is in progress
          patch: task_damaged: the task `t` is in progress, but its run `<run>` is not in the store; ask a person to restore `.portolan/runs.db`, or to delete `<project>/.portolan/flow.json` in their own terminal so that no task is in progress
          past: task_damaged: the task `t` is in progress, but its run `<run>` is not in the store; ask a person to restore `.portolan/runs.db`, or to delete `<project>/.portolan/flow.json` in their own terminal so that no task is in progress
          tick: task_damaged: the task `t` is in progress, but its run `<run>` is not in the store; ask a person to restore `.portolan/runs.db`, or to delete `<project>/.portolan/flow.json` in their own terminal so that no task is in progress
        flow.json: empty
          status: task_damaged: `<project>/.portolan/flow.json` cannot be read: EOF while parsing a value at line 1 column 0; ask a person to restore the file, or to delete it so that no task is in progress; `portolan runs list` shows the runs
          start: task_damaged: `<project>/.portolan/flow.json` cannot be read: EOF while parsing a value at line 1 column 0; ask a person to restore the file, or to delete it so that no task is in progress; `portolan runs list` shows the runs
          patch: task_damaged: `<project>/.portolan/flow.json` cannot be read: EOF while parsing a value at line 1 column 0; ask a person to restore the file, or to delete it so that no task is in progress; `portolan runs list` shows the runs
          past: task_damaged: `<project>/.portolan/flow.json` cannot be read: EOF while parsing a value at line 1 column 0; ask a person to restore the file, or to delete it so that no task is in progress; `portolan runs list` shows the runs
          tick: task_damaged: `<project>/.portolan/flow.json` cannot be read: EOF while parsing a value at line 1 column 0; ask a person to restore the file, or to delete it so that no task is in progress; `portolan runs list` shows the runs
        flow.json: half
          status: task_damaged: `<project>/.portolan/flow.json` cannot be read: EOF while parsing a string at line 1 column 11; ask a person to restore the file, or to delete it so that no task is in progress; `portolan runs list` shows the runs
          start: task_damaged: `<project>/.portolan/flow.json` cannot be read: EOF while parsing a string at line 1 column 11; ask a person to restore the file, or to delete it so that no task is in progress; `portolan runs list` shows the runs
          patch: task_damaged: `<project>/.portolan/flow.json` cannot be read: EOF while parsing a string at line 1 column 11; ask a person to restore the file, or to delete it so that no task is in progress; `portolan runs list` shows the runs
          past: task_damaged: `<project>/.portolan/flow.json` cannot be read: EOF while parsing a string at line 1 column 11; ask a person to restore the file, or to delete it so that no task is in progress; `portolan runs list` shows the runs
          tick: task_damaged: `<project>/.portolan/flow.json` cannot be read: EOF while parsing a string at line 1 column 11; ask a person to restore the file, or to delete it so that no task is in progress; `portolan runs list` shows the runs
        flow.json: another layout
          status: task_damaged: `<project>/.portolan/flow.json` cannot be read: invalid type: integer `1`, expected a string at line 1 column 2; ask a person to restore the file, or to delete it so that no task is in progress; `portolan runs list` shows the runs
          start: task_damaged: `<project>/.portolan/flow.json` cannot be read: invalid type: integer `1`, expected a string at line 1 column 2; ask a person to restore the file, or to delete it so that no task is in progress; `portolan runs list` shows the runs
          patch: task_damaged: `<project>/.portolan/flow.json` cannot be read: invalid type: integer `1`, expected a string at line 1 column 2; ask a person to restore the file, or to delete it so that no task is in progress; `portolan runs list` shows the runs
          past: task_damaged: `<project>/.portolan/flow.json` cannot be read: invalid type: integer `1`, expected a string at line 1 column 2; ask a person to restore the file, or to delete it so that no task is in progress; `portolan runs list` shows the runs
          tick: task_damaged: `<project>/.portolan/flow.json` cannot be read: invalid type: integer `1`, expected a string at line 1 column 2; ask a person to restore the file, or to delete it so that no task is in progress; `portolan runs list` shows the runs
        flow.json: a run that is none
          status: task_damaged: the task `t` is in progress, but its run `22222222` is not in the store; ask a person to restore `.portolan/runs.db`, or to delete `<project>/.portolan/flow.json` in their own terminal so that no task is in progress
          start: task_damaged: the task `t` is in progress, but its run `22222222` is not in the store; ask a person to restore `.portolan/runs.db`, or to delete `<project>/.portolan/flow.json` in their own terminal so that no task is in progress
          patch: task_damaged: the task `t` is in progress, but its run `22222222` is not in the store; ask a person to restore `.portolan/runs.db`, or to delete `<project>/.portolan/flow.json` in their own terminal so that no task is in progress
          past: task_damaged: the task `t` is in progress, but its run `22222222` is not in the store; ask a person to restore `.portolan/runs.db`, or to delete `<project>/.portolan/flow.json` in their own terminal so that no task is in progress
          tick: task_damaged: the task `t` is in progress, but its run `22222222` is not in the store; ask a person to restore `.portolan/runs.db`, or to delete `<project>/.portolan/flow.json` in their own terminal so that no task is in progress
        guidelines.yaml: noise
          status: not_utf8: `<project>/.portolan/guidelines.yaml` is not UTF-8: invalid character at byte 0; save it as UTF-8
          start: not_utf8: `<project>/.portolan/guidelines.yaml` is not UTF-8: invalid character at byte 0; save it as UTF-8
          patch: not_utf8: `<project>/.portolan/guidelines.yaml` is not UTF-8: invalid character at byte 0; save it as UTF-8
          past: not_utf8: `<project>/.portolan/guidelines.yaml` is not UTF-8: invalid character at byte 0; save it as UTF-8
          tick: no begin > begin: cannot verify: `<project>/.portolan/guidelines.yaml` is not UTF-8: invalid character at byte 0; save it as UTF-8
    "#]].assert_eq(&all);
    expect!["on begin > work: `open` holds"].assert_eq(&line(&stand.tick().await));
}

/// A line that a crash cut off is cut away, and the next one follows the last that is whole.
#[tokio::test]
async fn a_torn_line_of_the_log_is_mended_by_the_next_move() {
    let (whole, torn) = (ready().await, ready().await);
    let log = audit::project_log(&torn.project());
    let mut text = fs::read_to_string(&log).expect("a log");
    text.push_str(r#"{"v":1,"seq":3,"type":"flow.transi"#);
    fs::write(&log, text).expect("written");
    for stand in [&whole, &torn] {
        assert!(stand.tick().await.advanced);
    }
    let without_repair = |log: String| {
        let lines = log.lines().filter(|line| !line.starts_with("log.repaired"));
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    assert_eq!(without_repair(torn.log()), whole.log());
    assert_eq!(audit::verify(&log).expect("it can be read").first_fault, None);
}

/// A bypass stands in the log first. A crash before it stands in the run leaves none that counts, and it can be asked for
/// again.
#[tokio::test]
async fn a_bypass_that_only_the_log_has_does_not_count() {
    let stand = Stand::new();
    stand.put("open", "there");
    stand.start("t", Some("begin")).await.expect("begun");
    let kept = fs::read(own(&stand, "runs.db")).expect("it is there");
    let past = past("X-1");
    stand.service().flow().get_past(&past, &person()).await.expect("on record");
    fs::write(own(&stand, "runs.db"), kept).expect("as before");
    assert!(stand.state().await.bypasses.is_empty());
    assert!(!stand.tick().await.advanced);
    stand.service().flow().get_past(&past, &person()).await.expect("on record again");
    assert!(stand.tick().await.advanced);
    let recorded = stand.log().lines().filter(|line| line.contains(r#"stage="recorded""#)).count();
    assert_eq!(recorded, 2, "{}", stand.log());
}

/// Whoever writes the store can have a task where nothing has led it: it does not go on from there.
#[tokio::test]
async fn a_task_that_its_journal_does_not_lead_to_does_not_move() {
    let stand = ready().await;
    let run = stand.state().await.run_id.expect("a run");
    let place = own(&stand, "runs.db");
    let early = fs::read(&place).expect("it is there");
    assert_eq!(stand.service().flow().strays().await.expect("read"), None);
    expect!["on begin > work: `open` holds"].assert_eq(&line(&stand.tick().await));
    let honest = fs::read(&place).expect("it is there");

    // An earlier state of the store is put back.
    fs::write(&place, &early).expect("put back");
    let why = stand.service().flow().strays().await.expect("read").expect("it strays");
    assert!(why.contains("the event log has"), "{why}");
    let refused = outcome_text(&stand, stand.service().flow().tick(&me()).await);
    assert!(refused.starts_with("task_damaged: the task `t` was tampered with"), "{refused}");

    // The place that is kept of it is another, and its journal is not.
    fs::write(&place, &honest).expect("put back");
    let store = rusqlite::Connection::open(&place).expect("a store");
    let changed = store
        .execute(
            "UPDATE snapshots SET text = replace(text, '\"begin\"', '\"ship\"'),
                 seq = (SELECT max(seq) FROM records WHERE records.run = snapshots.run)",
            [],
        )
        .expect("written");
    assert_eq!(changed, 1);
    drop(store);
    assert_eq!(stand.state().await.phase, "ship");
    let refused = outcome_text(&stand, stand.service().flow().tick(&me()).await).replace(&run, "<run>");
    expect!["task_damaged: the task `t` was tampered with: its journal does not lead to its current position; ask a person to restore `.portolan/runs.db`; `portolan flow events` shows how far the task had come"].assert_eq(&refused);
    fs::write(&place, &honest).expect("put back");
    assert_eq!(stand.service().flow().strays().await.expect("read"), None);
}
