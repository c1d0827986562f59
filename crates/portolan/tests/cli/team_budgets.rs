//! Budgets that the machines of a team share through their store.
#![cfg(unix)]

use crate::team::{Machine, Shared};

const PHASES: &str = "
id: phased
phases:
  - id: idle
  - id: work
    prompt: Do it.
";

/// Two machines of a project with budgets.
fn team(server: &Shared, budgets: &str) -> (Machine, Machine) {
    let (here, there) = server.machines();
    for machine in [&here, &there] {
        machine.project.write(".flow/workflows/phased.yaml", PHASES);
        machine.project.write(".portolan/plugins.yaml", budgets);
    }
    (here, there)
}

/// Returns the words of a machine about its budgets.
fn budgets(machine: &Machine) -> String {
    machine.says("supervisor budget --task t")
}

#[test]
fn usage_on_one_machine_halts_the_others_until_one_of_them_raises_the_budget() {
    for server in Shared::all() {
        let (here, there) = team(&server, "budgets: {task: {turns: 10}}\n");
        for machine in [&here, &there] {
            let begun = machine.says("flow start t --workflow phased");
            assert!(begun.ends_with("exit: 0\n"), "{begun}");
        }
        let used = here.says("supervisor usage --task t --session s --turns 6");
        assert_eq!(used, "task:t  6 of 10 turns  fine\nexit: 0\n");
        // The warning and the halt are those of the machine that reports.
        let used = there.says("supervisor usage --task t --session s --turns 4");
        assert_eq!(used, "task:t  10 of 10 turns  halted\nexit: 0\n");
        let halts = there.says("flow events --json --type supervisor.budget.halt");
        assert_eq!(halts.matches(r#""used":10"#).count(), 1, "{halts}");
        for machine in [&here, &there] {
            assert_eq!(budgets(machine), "task:t  10 of 10 turns  halted\nexit: 0\n");
            let tick = machine.says("flow tick");
            assert!(tick.contains("budget halt: 10 of 10 turns are used in `task:t`"), "{tick}");
            assert!(machine.says("flow status").contains("halted"), "reading works");
        }
        let mut raise = there.command("supervisor budget raise task turns --task t --to 20 --reason enough");
        let raised = there.project.output_text(&raise.output().expect("the binary starts"));
        assert_eq!(raised, "task:t  10 of 20 turns  fine\nexit: 0\n");
        assert!(there.says("flow events --type flow.bypass").contains("I-15 bypassed (recorded)"));
        assert_eq!(budgets(&here), "task:t  10 of 20 turns  fine\nexit: 0\n");
        assert!(!here.says("flow tick").contains("budget halt"), "it is free again");
        let bypass = here.says("flow events --type flow.bypass");
        assert!(bypass.contains("no such event is recorded"), "it is in the log of one machine: {bypass}");
        // A task of this name in another project is another one.
        let other = Machine::new(&server.address("other"));
        other.project.write(".portolan/plugins.yaml", "budgets: {task: {turns: 10}}\n");
        assert_eq!(budgets(&other), "task:t  unknown of 10 turns  fine\nexit: 0\n");
    }
}

#[test]
fn usage_that_is_reported_while_the_store_is_away_counts_when_it_is_back() {
    let Some(Shared::Postgres(server)) = Shared::all().into_iter().next() else { return };
    let mut shared = Shared::Postgres(server);
    let (here, there) = team(&shared, "budgets: {day: {turns: 10}}\n");
    here.says("supervisor usage --task t --turns 3");
    if let Shared::Postgres(server) = &mut shared {
        server.crash();
    }
    let used = here.says("supervisor usage --task t --turns 7");
    assert!(
        used.contains("note: it is recorded here, and is sent with the next request") && used.ends_with("exit: 0\n"),
        "{used}"
    );
    assert!(used.contains("10 of 10 turns  halted"), "its own usage counts here: {used}");
    // What cannot be verified is not passed. Reading works.
    let start = there.says("flow start t --workflow phased");
    assert!(
        start.contains("the budgets that are shared in `postgres://") && start.contains("cannot be verified"),
        "{start}"
    );
    assert!(there.says("supervisor list").ends_with("exit: 0\n"));
    let refused = there.says("supervisor budget raise day turns --to 20 --reason enough");
    assert!(refused.contains("cannot be verified") && !refused.contains("exit: 0"), "{refused}");
    // A project without budgets is not disturbed.
    there.project.write(".portolan/plugins.yaml", "");
    let start = there.says("flow start t --workflow phased");
    assert!(!start.contains("cannot be verified"), "{start}");
    there.project.write(".portolan/plugins.yaml", "budgets: {day: {turns: 10}}\n");
    if let Shared::Postgres(server) = &mut shared {
        server.go_on();
    }
    assert!(budgets(&here).contains("10 of 10 turns  halted"));
    assert!(budgets(&there).contains("10 of 10 turns  halted"), "{}", budgets(&there));
    if let Shared::Postgres(server) = &shared {
        let entries = server.sql("SELECT number, text FROM shop.shared_entries WHERE list = 'budgets'");
        assert_eq!(entries.matches("supervisor.usage.recorded").count(), 2, "each report once: {entries}");
        server.sql("UPDATE shop.shared_entries SET text = '' WHERE number = 2");
    }
    let fresh = Machine::new(&shared.address("shop"));
    fresh.project.write(".portolan/plugins.yaml", "budgets: {day: {turns: 10}}\n");
    let damaged = budgets(&fresh);
    assert!(damaged.contains("entry 2 of its list of budgets is damaged") && !damaged.contains("exit: 0"), "{damaged}");
}

#[test]
fn a_project_without_budgets_makes_no_connection_for_them() {
    let nowhere = Machine::new("postgres://ann@127.0.0.1:1/runs");
    assert!(nowhere.says("supervisor usage --task t --turns 3").ends_with("exit: 0\n"));
    assert_eq!(
        budgets(&nowhere),
        "stderr: no budget is open; budgets are defined in `.portolan/plugins.yaml`\nexit: 0\n"
    );
    nowhere.project.write(".portolan/plugins.yaml", "budgets: {session: {turns: 10}}\n");
    assert_eq!(nowhere.says("supervisor usage --session s --turns 3"), "session:s  3 of 10 turns  fine\nexit: 0\n");
    nowhere.project.write(".portolan/plugins.yaml", "budgets: {task: {turns: 10}}\n");
    assert!(budgets(&nowhere).contains("`postgres://127.0.0.1:1/runs?schema=portolan` cannot be verified"));
}
