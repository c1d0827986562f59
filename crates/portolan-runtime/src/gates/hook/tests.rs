//! The limit on how long may be judged, and what is kept of sessions.

use std::sync::mpsc;
use std::time::Duration;

use portolan_core::gates::{Decision, Intent, Tool};
use serde_json::Value;

use super::session::path;
use super::{Gatekeeper, NotInTime, within};
use crate::audit;

#[test]
fn what_is_late_or_fails_is_not_judged() {
    let (_open, never) = mpsc::channel::<()>();
    let late = within(Duration::from_millis(20), move || never.recv().is_ok());
    assert_eq!(late, Err(NotInTime::Late(Duration::from_millis(20))));
    let failed: Result<(), NotInTime> = within(Duration::from_secs(60), || std::panic::panic_any("a fault"));
    assert_eq!(failed, Err(NotInTime::Panicked));
    assert_eq!(within(Duration::from_secs(60), || 7), Ok(7));
}

#[test]
fn what_is_not_judged_is_refused_and_on_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let keeper = Gatekeeper::of(Some(folder.path().to_owned()), "codex", Some("s"), folder.path());
    let intent = Intent {
        session: Some("s".to_owned()),
        call: Some("c".to_owned()),
        agent: None,
        folder: "/".to_owned(),
        name: "Bash".to_owned(),
        tool: Tool::Shell { command: "ls".to_owned() },
        arguments: Vec::new(),
    };
    for why in [NotInTime::Late(Duration::from_secs(58)), NotInTime::Panicked] {
        let answer = keeper.not_judged(Some(&intent), why);
        assert_eq!((answer.decision, answer.reason), (Decision::Block, why.message()));
    }
    let lines = audit::tail(&audit::project_log(folder.path()), 9).expect("a log");
    let told: Vec<&Value> = lines.iter().map(|line| &line.data["guardId"]).collect();
    assert_eq!(told, ["self-deadline", "self-deadline"]);
    assert!(lines.iter().all(|line| line.kind == "flow.guard.block" && line.data["call"] == "c"));
}

#[test]
fn sessions_have_plain_names() {
    let folder = std::path::Path::new("/p");
    assert_eq!(path(folder, "a-b_1"), folder.join(".portolan/sessions/a-b_1.json"));
    for name in ["", "..", "a/b", "é", "a.b", &"a".repeat(65)] {
        let path = path(folder, name);
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        assert!(name.starts_with("x-") && name.len() == 39, "{name}");
    }
}
