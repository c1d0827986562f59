//! The time limit of a judgement, and the state of sessions.

use std::sync::mpsc;
use std::time::Duration;

use portolan_gates::plugins::{Guard, GuardInput};
use portolan_gates::{Decision, Intent, Judgement, Tool};
use portolan_runtime::audit;
use serde_json::Value;

use super::session::path;
use super::{Gatekeeper, NotInTime, within};

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
        branch: None,
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

#[derive(Debug)]
struct NoTea;

impl Guard for NoTea {
    fn id(&self) -> &str {
        "no-tea"
    }

    fn judge(&self, intent: &Intent, around: &GuardInput<'_>) -> Option<Judgement> {
        assert_ne!(intent.name, "Kettle", "this guard has a fault");
        let Tool::Shell { command } = intent.tool.deed() else { return None };
        command
            .contains("tea")
            .then(|| Judgement::new(self.id(), Decision::Block, format!("no tea, {:?}", around.strict)))
    }
}

#[test]
fn a_guard_that_an_embedder_wrote_is_heard_and_its_fault_lets_nothing_happen() {
    let folder = tempfile::tempdir().expect("a folder");
    let keeper = Gatekeeper::of(Some(folder.path().to_owned()), "codex", None, folder.path()).with_guard(NoTea);
    let asked = |name: &str, tool: Tool| {
        let folder = folder.path().to_string_lossy().into_owned();
        let name = name.to_owned();
        let intent =
            Intent { session: None, call: None, agent: None, folder, name, tool, arguments: Vec::new(), branch: None };
        keeper.before_tool(&intent, "")
    };
    let shell = |command: &str| Tool::Shell { command: command.to_owned() };
    assert_eq!(asked("Bash", shell("ls")).decision, Decision::Allow);
    let answer = asked("Bash", shell("make tea"));
    assert_eq!((answer.decision, answer.reason.as_str()), (Decision::Block, "no tea, false"));
    let answer = asked("Kettle", Tool::Reads);
    assert_eq!(answer.decision, Decision::Ask, "{}", answer.reason);
    assert!(answer.reason.contains("`no-tea` failed"), "{}", answer.reason);
    std::fs::create_dir_all(folder.path().join(".portolan")).expect("a folder");
    std::fs::write(folder.path().join(".portolan/guidelines.yaml"), "strict: true\n").expect("rules");
    assert_eq!(asked("Kettle", shell("x")).decision, Decision::Block);
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
