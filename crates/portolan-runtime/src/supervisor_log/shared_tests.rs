//! Budgets that machines share: what counts where, and what a store that was away does not lose.

use std::sync::Arc;

use portolan_gates::supervisor::Unit;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::audit::Kind;
use crate::store::{MOST_SHARED_PER_PAGE, MemoryStore, SharedEntry, SharedList, SharedRequest, StoreAt, StoreError};

const BUDGETS: &str = "budgets: {task: {turns: 10}, session: {turns: 100}}\n";
/// The first second of 2026-11-25.
const NOW: i64 = 1_764_028_800_000;

/// A machine: its copy of the project, with an event log of its own.
struct Machine {
    project: TempDir,
    clock: Clock,
}

impl Machine {
    fn new(budgets: &str) -> Machine {
        let project = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(project.path().join(".portolan")).expect("a folder");
        std::fs::write(project.path().join(plugins::FILE), budgets).expect("written");
        Machine { project, clock: Clock::stepping(NOW + i64::from(fastrand::u16(..))) }
    }

    fn log<'m>(&'m self, store: &'m dyn Store) -> SupervisorLog<'m> {
        SupervisorLog::of(self.project.path(), &self.clock).shared_through(store)
    }

    /// Records usage as the supervisor does, without sending it.
    async fn uses(&self, session: &str, turns: u64) {
        self.uses_often(session, turns, 1).await;
    }

    async fn uses_often(&self, session: &str, turns: u64, times: usize) {
        let data = json!({ "session": session, "driver": "d", "turns": turns });
        let entry = || LogEntry { task: Some("t".to_owned()), ..LogEntry::of(Kind::UsageRecorded, data.clone()) };
        let entries = (0..times).map(|_| entry()).collect();
        let log = SupervisorLog::of(self.project.path(), &self.clock);
        log.change(|_, _| Ok((entries, ()))).await.expect("it is recorded");
    }

    async fn raises(&self, window: &str, cap: u64) {
        let (scope, _) = window.split_once(':').expect("a window");
        let budget = json!({ "scope": scope, "unit": "turns", "window": window, "cap": cap });
        let data = json!({ "stage": "recorded", "invariant": "I-15", "by": "ann", "budget": budget });
        let entry = LogEntry::of(Kind::Bypass, data);
        let log = SupervisorLog::of(self.project.path(), &self.clock);
        log.change(|_, _| Ok((vec![entry], ()))).await.expect("it is recorded");
    }

    /// Returns the usage and the cap of the task, as this machine knows them now.
    async fn turns(&self, store: &dyn Store) -> (Option<u64>, u64) {
        let standings = self.log(store).standings(Some("t")).await.expect("the store answers");
        let task = standings.into_iter().find(|one| (one.scope, one.unit) == (Scope::Task, Unit::Turns));
        task.map(|one| (one.used, one.cap)).expect("there is a budget")
    }

    async fn may_work(&self, store: &dyn Store) -> Result<(), String> {
        self.log(store).may_work(Some("t")).await.map_err(|error| format!("{}: {}", error.code, error.message))
    }
}

fn shared_store() -> MemoryStore {
    MemoryStore::default().shared_at("memory://team")
}

fn gone() -> Arc<dyn Store> {
    let address = "postgres://ann@127.0.0.1:1/runs".parse().expect("an address");
    StoreAt::Postgres(Box::new(address)).open(Path::new("/nowhere"), "/nowhere".into())
}

#[tokio::test]
async fn usage_of_any_machine_counts_on_all_of_them_once() {
    let store = shared_store();
    let (here, there) = (Machine::new(BUDGETS), Machine::new(BUDGETS));
    assert_eq!(there.turns(&store).await, (None, 10), "what nobody reported is unknown");
    here.uses("a", 4).await;
    for _ in ["once", "again"] {
        assert_eq!(here.turns(&store).await, (Some(4), 10));
        assert_eq!(there.turns(&store).await, (Some(4), 10));
    }
    there.uses("a", 5).await;
    here.uses("a", 1).await;
    assert_eq!(there.turns(&store).await, (Some(9), 10), "what is not sent yet is known only where it was reported");
    assert_eq!(here.turns(&store).await, (Some(10), 10));
    let halted = there.may_work(&store).await.expect_err("it is used up");
    assert_eq!(halted, "halted: budget halt: 10 of 10 turns are used in `task:t`");
    let sessions = there.log(&store).standings(None).await.expect("the store answers");
    assert_eq!(
        sessions.iter().map(|one| (one.window.as_str(), one.used)).collect::<Vec<_>>(),
        [("session:a", Some(5))]
    );
}

#[tokio::test]
async fn a_raise_counts_on_all_machines() {
    let store = shared_store();
    let (here, there) = (Machine::new(BUDGETS), Machine::new(BUDGETS));
    here.uses("a", 12).await;
    assert!(here.may_work(&store).await.is_err() && there.may_work(&store).await.is_err());
    here.raises("task:t", 20).await;
    assert_eq!(here.turns(&store).await, (Some(12), 20));
    assert_eq!(there.may_work(&store).await, Ok(()));
    assert_eq!(there.turns(&store).await, (Some(12), 20));
    there.raises("task:other", 99).await;
    assert_eq!(there.turns(&store).await, (Some(12), 20));
    // A session is that of its machine.
    there.uses("a", 1).await;
    here.raises("session:a", 500).await;
    assert_eq!(here.turns(&store).await, (Some(12), 20));
    let caps = async |machine: &Machine| {
        let standings = machine.log(&store).standings(None).await.expect("the store answers");
        standings.into_iter().map(|one| (one.used, one.cap)).collect::<Vec<_>>()
    };
    assert_eq!(caps(&there).await, [(Some(1), 100)]);
    assert_eq!(caps(&here).await, [(Some(12), 500)]);
}

#[tokio::test]
async fn what_is_reported_while_the_store_is_away_is_sent_later_and_counts_once() {
    let store = shared_store();
    let (here, there) = (Machine::new(BUDGETS), Machine::new(BUDGETS));
    here.uses("a", 3).await;
    assert_eq!(here.turns(&store).await, (Some(3), 10));
    here.uses("a", 4).await;
    let away = here.may_work(&*gone()).await.expect_err("nobody answers");
    assert!(
        away.starts_with(
            "budgets_unverified: the budgets that are shared in `postgres://127.0.0.1:1/runs?schema=portolan`"
        ),
        "{away}"
    );
    // The state beside the log is of the store that is away now, and is made anew.
    assert_eq!(here.turns(&store).await, (Some(7), 10));
    std::fs::remove_file(here.project.path().join(".portolan/shared-budgets.json")).expect("it is there");
    assert_eq!(here.turns(&store).await, (Some(7), 10));
    assert_eq!(there.turns(&store).await, (Some(7), 10));
    let entries = store.shared(&SharedRequest::of(SharedList::Budgets)).await.expect("it is read");
    assert_eq!(entries.len(), 2, "one for each report");
}

#[tokio::test]
async fn many_reports_are_sent_page_by_page() {
    let store = shared_store();
    let (here, there) = (Machine::new(BUDGETS), Machine::new(BUDGETS));
    here.uses_often("a", 1, MOST_SHARED_PER_PAGE + 2).await;
    let many = u64::try_from(MOST_SHARED_PER_PAGE + 2).expect("a small number");
    assert_eq!(here.turns(&store).await.0, Some(many));
    assert_eq!(there.turns(&store).await.0, Some(many));
}

#[tokio::test]
async fn a_store_that_was_restored_from_a_backup_gets_what_it_lost() {
    let (store, restored) = (shared_store(), shared_store());
    let (here, there) = (Machine::new(BUDGETS), Machine::new(BUDGETS));
    here.uses("a", 3).await;
    there.uses("b", 2).await;
    assert_eq!(here.turns(&store).await.0, Some(3));
    assert_eq!(there.turns(&store).await.0, Some(5));
    assert_eq!(there.turns(&restored).await.0, Some(2), "only its own is there");
    assert_eq!(here.turns(&restored).await.0, Some(5));
    assert_eq!(there.turns(&restored).await.0, Some(5));
}

#[tokio::test]
async fn a_damaged_entry_stops_work_and_says_which() {
    for text in ["", "{}", r#"{"v":2,"kind":"supervisor.usage.recorded","at":1,"task":null,"data":{},"machine":"m"}"#] {
        let store = shared_store();
        let here = Machine::new(BUDGETS);
        here.uses("a", 3).await;
        assert_eq!(here.may_work(&store).await, Ok(()));
        let damaged = SharedEntry { id: "x".to_owned(), key: String::new(), text: text.to_owned() };
        store.append_shared(SharedList::Budgets, &[damaged]).await.expect("it is stored");
        let refused = here.may_work(&store).await.expect_err("it may have been usage");
        assert!(refused.contains("entry 2 of its list of budgets is damaged or of a newer release"), "{refused}");
        here.log(&store).board().await.expect("reading works");
    }
    // A kind that a later release adds is none that this one counts.
    let store = shared_store();
    let text = r#"{"v":1,"kind":"supervisor.later","at":1,"task":null,"data":{},"machine":"m"}"#;
    let later = SharedEntry { id: "x".to_owned(), key: String::new(), text: text.to_owned() };
    store.append_shared(SharedList::Budgets, &[later]).await.expect("it is stored");
    assert_eq!(Machine::new(BUDGETS).may_work(&store).await, Ok(()));
}

#[tokio::test]
async fn a_project_without_shared_budgets_asks_no_store() {
    for budgets in ["budgets: {session: {turns: 100}}\n", ""] {
        let here = Machine::new(budgets);
        here.uses("a", 3).await;
        assert_eq!(here.may_work(&*gone()).await, Ok(()));
        here.log(&*gone()).standings(Some("t")).await.expect("nobody is asked");
        assert!(!here.project.path().join(".portolan/shared-budgets.json").exists());
    }
    // A store of one machine has no list to ask.
    let here = Machine::new(BUDGETS);
    here.uses("a", 10).await;
    let alone = MemoryStore::default();
    assert!(matches!(alone.append_shared(SharedList::Budgets, &[]).await, Err(StoreError::Failed { .. })));
    assert_eq!(here.turns(&alone).await, (Some(10), 10));
    assert!(here.may_work(&alone).await.expect_err("it is used up").starts_with("halted: "));
}
