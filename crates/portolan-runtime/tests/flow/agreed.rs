//! Phases that nobody has agreed to hold nobody where hooks are installed.

use portolan_core::value::Timestamp;
use portolan_runtime::service::{FlowState, ServiceError, Start};
use portolan_runtime::trust::{Digest, TrustEntry, phases_digest};

use super::stand::{SMALL, Stand, me};

const LAX: &str = "id: delivery\nphases:\n  - id: idle\n  - id: work\n";

async fn start(stand: &Stand, workflow: &str) -> Result<FlowState, ServiceError> {
    let start = Start { task: "t".to_owned(), at: None, workflow: Some(workflow.to_owned()) };
    stand.service().flow().start(&start, &me()).await
}

/// What starting comes to; the task is called off again.
async fn begins(stand: &Stand, workflow: &str) -> String {
    match start(stand, workflow).await {
        Ok(_) => {
            let ending = portolan_runtime::service::Ending::ScopedDown;
            stand.service().flow().abort(ending, "enough", &me()).await.expect("called off");
            "begun".to_owned()
        }
        Err(error) => format!("{}: {}; {}", error.code, error.message, error.help),
    }
}

/// What `portolan trust` does with the phases as they are.
fn agree(stand: &Stand, workflow: &str) {
    let service = stand.service();
    let definition = service.library().definition(workflow).expect("a definition");
    let commands = phases_digest(&definition.workflow, &definition.digest).expect("it has phases");
    let (file, path) = (Digest::of(b"its text"), format!(".flow/workflows/{workflow}.yaml"));
    let entry = TrustEntry { project: stand.project(), commands, file, path, at: Timestamp(1), runs: Vec::new() };
    service.trust().record(entry).expect("recorded");
}

fn install(stand: &Stand) {
    stand.put(".portolan/installed.json", r#"{"version":1,"files":[],"pins":{}}"#);
}

#[tokio::test]
async fn phases_of_the_project_begin_no_task_before_a_person_has_agreed() {
    let stand = Stand::new();
    assert_eq!(begins(&stand, "small").await, "begun", "without hooks nothing is held");
    install(&stand);
    assert_eq!(
        begins(&stand, "small").await,
        "not_trusted: the phases of `small` come from `.flow/workflows/small.yaml`, and no person has accepted them in \
         their current form; ask the person to review them and to run `portolan trust .flow/workflows/small.yaml`, or \
         begin with shipped ones"
    );
    agree(&stand, "small");
    assert_eq!(begins(&stand, "small").await, "begun");
    for changed in
        [SMALL.replace("X-1", "X-9"), format!("{SMALL}# more\n"), SMALL.replace("file: ready, ", "file: x, ")]
    {
        stand.put(".flow/workflows/small.yaml", &changed);
        assert!(begins(&stand, "small").await.starts_with("not_trusted"), "{changed}");
    }
    stand.put(".flow/workflows/small.yaml", SMALL);
    assert_eq!(begins(&stand, "small").await, "begun", "as it was agreed to");
    stand.put(".portolan/installed.json", "oops");
    stand.put(".flow/workflows/other.yaml", &SMALL.replace("id: small", "id: other"));
    assert!(begins(&stand, "other").await.starts_with("not_trusted"), "what is installed cannot be told");
}

#[tokio::test]
async fn phases_that_hide_the_shipped_ones_are_told() {
    let stand = Stand::new();
    install(&stand);
    assert_eq!(begins(&stand, "delivery").await, "begun");
    let shipped = portolan_runtime::catalog::workflow("delivery").expect("it is shipped").text;
    stand.put(".flow/workflows/delivery/workflow.yaml", shipped);
    assert_eq!(begins(&stand, "delivery").await, "begun", "a copy is what it is a copy of");
    stand.put(".flow/workflows/delivery/workflow.yaml", LAX);
    let said = begins(&stand, "delivery").await;
    assert!(said.contains("`.flow/workflows/delivery/workflow.yaml` and hide the shipped ones"), "{said}");
    agree(&stand, "delivery");
    assert_eq!(begins(&stand, "delivery").await, "begun");
}

/// Steps that run something may be allowed, and are no phases that anybody has agreed to.
#[tokio::test]
async fn who_allows_commands_has_not_agreed_to_phases() {
    let stand = Stand::new();
    install(&stand);
    let runs = SMALL.replace("file: ready,", "run: [\"true\"],");
    stand.put(".flow/workflows/small.yaml", &runs);
    let service = stand.service();
    let definition = service.library().definition("small").expect("a definition");
    let commands = definition.commands.clone().expect("it runs something");
    let (file, path) = (Digest::of(b"its text"), "small.yaml".to_owned());
    let entry = TrustEntry { project: stand.project(), commands, file, path, at: Timestamp(1), runs: Vec::new() };
    service.trust().record(entry).expect("recorded");
    assert!(begins(&stand, "small").await.starts_with("not_trusted"));
}

#[tokio::test]
async fn a_task_under_way_keeps_the_phases_that_it_began_with() {
    let stand = Stand::new();
    install(&stand);
    agree(&stand, "small");
    start(&stand, "small").await.expect("begun");
    stand.tick().await;
    stand.put(".flow/workflows/small.yaml", "id: small\nphases:\n  - id: idle\n  - id: begin\n  - id: work\n");
    let tick = stand.tick().await;
    assert!(!tick.advanced && tick.reason.contains("`ready` does not exist"), "{tick:?}");
}
