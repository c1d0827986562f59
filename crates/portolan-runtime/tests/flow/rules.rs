//! What the rules of a project say is on record, run by run.

use expect_test::expect;
use portolan_runtime::audit::{Durability, Kind, Log, LogEntry};
use serde_json::json;

use super::stand::{Stand, me, past, person};

const RULES: &str = ".portolan/guidelines.yaml";

/// What the log says of rules, without what it says of phases.
fn rules_log(stand: &Stand) -> String {
    let lines = stand.log();
    let of_rules = |line: &&str| line.starts_with("flow.config") || line.contains(r#"source="config""#);
    let without = |line: &str| match line.split_once("configDigest=") {
        Some((before, _)) => format!("{}\n", before.trim_end()),
        None => format!("{line}\n"),
    };
    lines.lines().filter(of_rules).map(without).collect()
}

#[tokio::test]
async fn rules_are_on_record_when_a_task_begins_and_whenever_they_change() {
    let stand = Stand::new();
    stand.put(RULES, "commitDirectly: true\npolicies: { I-4: off }\n");
    stand.start("t", Some("begin")).await.expect("begun");
    let first = rules_log(&stand);
    expect![[r#"
        flow.config start t name="commitDirectly" value="true" source=".portolan/guidelines.yaml"
        flow.config start t name="policies.I-4" value="off" source=".portolan/guidelines.yaml"
        flow.bypass start t source="config" identifier="commitDirectly" invariant="I-2" invariants=["I-1","I-2"] phase="start" reason="`commitDirectly` in `.portolan/guidelines.yaml`: work is committed on integration branches" by=".portolan/guidelines.yaml" stage="applied"
    "#]]
    .assert_eq(&first);
    stand.tick().await;
    stand.tick().await;
    assert_eq!(rules_log(&stand), first, "nothing is said twice");
    stand.put(RULES, "commitDirectly: true\nstrict: true\n");
    stand.tick().await;
    stand.put(RULES, "");
    stand.tick().await;
    stand.put(RULES, "commitDirectly: true\n");
    stand.tick().await;
    let told = rules_log(&stand);
    expect![[r#"
        flow.config begin t name="strict" value="true" source=".portolan/guidelines.yaml"
        flow.config begin t name="policies.I-4" value="usual" source=".portolan/guidelines.yaml"
        flow.config begin t name="commitDirectly" value="usual" source=".portolan/guidelines.yaml"
        flow.config begin t name="strict" value="usual" source=".portolan/guidelines.yaml"
        flow.config begin t name="commitDirectly" value="true" source=".portolan/guidelines.yaml"
    "#]]
    .assert_eq(told.strip_prefix(&first).expect("what was said before"));
}

#[tokio::test]
async fn each_run_says_its_rules_for_itself() {
    let stand = Stand::new();
    stand.put(RULES, "commitDirectly: true\n");
    for _ in 0..2 {
        stand.start("t", None).await.expect("begun");
        let service = stand.service();
        service.flow().abort(portolan_runtime::service::Ending::Escalated, "again", &me()).await.expect("called off");
    }
    assert_eq!(rules_log(&stand).lines().count(), 4, "{}", rules_log(&stand));
}

#[tokio::test]
async fn rules_with_faults_pass_nothing() {
    let stand = Stand::new();
    stand.start("t", Some("begin")).await.expect("begun");
    stand.put("ready", "there");
    stand.put("open", "there");
    stand.put(RULES, "strikt: true\n");
    let tick = stand.tick().await;
    assert!(!tick.advanced && tick.reason.starts_with("cannot verify: "), "{}", tick.reason);
    assert!(tick.reason.contains(".portolan/guidelines.yaml:1:1"), "{}", tick.reason);
    stand.put(RULES, "");
    assert!(stand.tick().await.advanced);
}

/// A guard has let a tool call happen because of a bypass: the log alone says so.
#[tokio::test]
async fn a_bypass_that_let_a_tool_call_happen_is_shown_as_used() {
    let stand = Stand::new();
    stand.start("t", Some("begin")).await.expect("begun");
    let past = portolan_runtime::service::Override { once: true, ..past("I-6") };
    let service = stand.service();
    let state = service.flow().get_past(&past, &person()).await.expect("on record");
    let shown = |state: &portolan_runtime::service::FlowState| (state.bypasses[0].once, state.bypasses[0].used);
    assert_eq!(shown(&state), (true, false));
    let gate = service.flow().gate(None, None).await.expect("what guards see");
    let bypass = gate.bypasses.first().cloned().expect("it is open");
    let data = json!({ "guardId": "typecheck-must-pass-before-commit", "invariant": "I-6", "bypass": bypass.id });
    let entry = LogEntry { task: Some("t".to_owned()), ..LogEntry::of(Kind::GuardBypass, data) };
    Log::of_project(&stand.project()).expect("a log").append(&[entry], Durability::Synced).expect("on record");
    assert_eq!(shown(&stand.state().await), (true, true));
}

/// A guard was got past by it: at the exit of the phase it counts no more, and the journal says so.
#[tokio::test]
async fn a_bypass_that_a_guard_has_used_counts_at_no_exit() {
    for (once, advanced) in [(true, false), (false, true)] {
        let stand = Stand::new();
        stand.put("open", "there");
        stand.start("t", Some("begin")).await.expect("begun");
        let past = portolan_runtime::service::Override { once, ..past("X-1") };
        stand.service().flow().get_past(&past, &person()).await.expect("on record");
        let data = json!({ "guardId": "g", "invariant": "X-1", "bypass": "b1" });
        let entry = LogEntry { task: Some("t".to_owned()), ..LogEntry::of(Kind::GuardBypass, data) };
        Log::of_project(&stand.project()).expect("a log").append(&[entry], Durability::Synced).expect("on record");
        let tick = stand.tick().await;
        assert_eq!(tick.advanced, advanced, "{}", tick.reason);
        let told: Vec<_> = stand.state().await.bypasses.iter().map(|bypass| bypass.used).collect();
        assert_eq!(told, [true]);
        assert!(!stand.tick().await.advanced || !once, "a second try changes nothing");
    }
}
