//! Trust that machines share: whose word counts on which machine.

use std::sync::Arc;

use portolan_core::value::Timestamp;
use tempfile::TempDir;

use super::*;
use crate::store::{MemoryStore, SharedEntry, SharedList, SharedRequest, Store};

/// A machine: its user's data folder, and its copy of the project.
struct Machine {
    data: TempDir,
    project: TempDir,
    store: Arc<dyn Store>,
}

impl Machine {
    fn of(store: &Arc<dyn Store>) -> Machine {
        let folder = || tempfile::tempdir().expect("a folder");
        Machine { data: folder(), project: folder(), store: Arc::clone(store) }
    }

    fn trust(&self) -> Trust {
        let trust = Trust::open(self.data.path(), self.project.path()).expect("a good place");
        trust.shared_through(self.data.path(), &self.store).expect("a good place")
    }

    fn trusts(&self, entry: &TrustEntry) -> bool {
        self.trust().is_trusted(&entry.commands).expect("the store answers")
    }
}

fn shared_store() -> Arc<dyn Store> {
    Arc::new(MemoryStore::default().shared_at("memory://team"))
}

fn machines() -> (Machine, Machine, Machine) {
    let store = shared_store();
    (Machine::of(&store), Machine::of(&store), Machine::of(&store))
}

fn entry(commands: &str) -> TrustEntry {
    let argv = vec![commands.to_owned()];
    let (flow, node, check) = (String::new(), "work".to_owned(), "tests".to_owned());
    TrustEntry {
        project: PathBuf::new(),
        commands: Digest::of(commands),
        file: Digest::of("text"),
        path: "flow.json".to_owned(),
        at: Timestamp(7),
        runs: vec![TrustedCommand { flow, node, check, argv, timeout_seconds: 600 }],
    }
}

/// Appends to the list as any program could that can write the store.
fn forge(store: &Arc<dyn Store>, key: &Digest, text: &str) {
    let id = fastrand::u64(..).to_string();
    let forged = SharedEntry { id, key: key.to_string(), text: text.to_owned() };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(store.append_shared(SharedList::Trust, &[forged])).expect("it is stored");
}

/// Returns the last text of the list.
fn last_text(store: &Arc<dyn Store>) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let page = runtime.block_on(store.shared(&SharedRequest::of(SharedList::Trust))).expect("it is read");
    page.last().expect("an entry").1.text.clone()
}

#[test]
fn shared_trust_counts_where_it_was_given_and_where_it_was_accepted() {
    let (here, there, elsewhere) = machines();
    let tests = entry("cargo test");
    there.trust().accept_shared(Timestamp(1)).expect("it is recorded");
    assert!(!there.trusts(&tests), "nothing is trusted yet");
    here.trust().share(tests.clone(), "ann").expect("it is shared");
    assert!(here.trusts(&tests) && there.trusts(&tests));
    assert!(!elsewhere.trusts(&tests), "this machine did not accept the store");
    assert!(!here.trusts(&entry("rm")) && !there.trusts(&entry("rm")), "other commands");
    there.trust().share(entry("make"), "bob").expect("it is shared");
    assert!(!here.trusts(&entry("make")), "sharing accepts nothing that others share");
    let (decisions, faults) = elsewhere.trust().shared_decisions().expect("anyone may look");
    let told: Vec<_> = decisions.iter().map(|one| (one.by.as_str(), one.runs[0].argv[0].as_str())).collect();
    assert_eq!((told, faults.len()), (vec![("ann", "cargo test"), ("bob", "make")], 0));
    assert!(decisions.iter().all(|one| !one.machine.is_empty() && one.at == Timestamp(7)), "{decisions:?}");
}

#[test]
fn a_withdrawal_counts_everywhere_at_the_next_decision() {
    let (here, there, _) = machines();
    let tests = entry("cargo test");
    let (trusting, asking) = (here.trust(), there.trust());
    asking.accept_shared(Timestamp(1)).expect("it is recorded");
    trusting.share(tests.clone(), "ann").expect("it is shared");
    assert!(asking.is_trusted(&tests.commands).expect("the store answers"));
    assert!(asking.withdraw(&tests, "bob").expect("it is withdrawn"));
    for trust in [&trusting, &asking] {
        assert!(!trust.is_trusted(&tests.commands).expect("the store answers"), "also where it was given");
    }
    assert!(!asking.withdraw(&tests, "bob").expect("it is withdrawn already"));
    trusting.share(tests.clone(), "ann").expect("it is shared again");
    assert!(asking.is_trusted(&tests.commands).expect("the store answers"));
    asking.refuse_shared().expect("it is recorded");
    assert!(!asking.is_trusted(&tests.commands).expect("nobody is asked"));
}

#[test]
fn the_record_of_one_machine_is_not_withdrawn_by_another() {
    let (here, there, _) = machines();
    let tests = entry("cargo test");
    here.trust().record(tests.clone()).expect("it is recorded");
    there.trust().share(tests.clone(), "bob").expect("it is shared");
    there.trust().withdraw(&tests, "bob").expect("it is withdrawn");
    assert!(here.trusts(&tests));
    // Whoever shares it replaces the record of the machine alone.
    here.trust().share(tests.clone(), "ann").expect("it is shared");
    there.trust().withdraw(&tests, "bob").expect("it is withdrawn");
    assert!(!here.trusts(&tests));
    assert!(!here.trust().list().0.iter().any(|kept| kept.commands == tests.commands));
}

#[test]
fn what_ends_on_one_machine_stays_in_the_store() {
    let (here, there, elsewhere) = machines();
    let tests = entry("cargo test");
    there.trust().accept_shared(Timestamp(1)).expect("it is recorded");
    here.trust().share(tests.clone(), "ann").expect("it is shared");
    assert!(here.trust().forget(&tests).expect("it is removed"));
    assert!(!here.trusts(&tests) && there.trusts(&tests));
    assert!(!elsewhere.trust().forget(&tests).expect("nothing is there"));
}

#[test]
fn an_acceptance_is_for_one_project_and_one_store() {
    let (here, there, _) = machines();
    let tests = entry("cargo test");
    here.trust().share(tests.clone(), "ann").expect("it is shared");
    there.trust().accept_shared(Timestamp(1)).expect("it is recorded");
    let (accepted, ..) = there.trust().list_stores();
    assert_eq!(accepted[0].store, "memory://team");
    let other_project = Machine { project: tempfile::tempdir().expect("a folder"), ..there };
    assert!(!other_project.trusts(&tests));
    // The same entries behind another address.
    let impostor: Arc<dyn Store> = Arc::new(MemoryStore::default().shared_at("memory://other"));
    forge(&impostor, &tests.commands, &last_text(&here.store));
    let there = Machine { store: impostor, ..other_project };
    assert!(!there.trusts(&tests));
    there.trust().accept_shared(Timestamp(1)).expect("it is recorded");
    assert!(there.trusts(&tests), "otherwise the forgery would prove nothing");
}

#[test]
fn a_forged_entry_counts_only_where_the_store_was_accepted() {
    let (here, there, elsewhere) = machines();
    let (tests, evil) = (entry("cargo test"), entry("rm -rf"));
    here.trust().share(tests.clone(), "ann").expect("it is shared");
    let forged = last_text(&here.store).replace(tests.commands.as_str(), evil.commands.as_str());
    forge(&here.store, &evil.commands, &forged);
    assert!(!here.trusts(&evil) && !elsewhere.trusts(&evil));
    there.trust().accept_shared(Timestamp(1)).expect("it is recorded");
    assert!(there.trusts(&evil), "who accepts a store trusts all who can write it");
}

#[test]
fn a_damaged_entry_ends_the_trust_in_its_commands() {
    for damage in ["", "{}", "null", "OTHER", "NEWER"] {
        let (here, there, _) = machines();
        let (tests, make) = (entry("cargo test"), entry("make"));
        there.trust().accept_shared(Timestamp(1)).expect("it is recorded");
        here.trust().share(make.clone(), "ann").expect("it is shared");
        let of_make = last_text(&here.store);
        here.trust().share(tests.clone(), "ann").expect("it is shared");
        let newer = last_text(&here.store).replace("\"v\":1", "\"v\":2");
        let damage = damage.replace("OTHER", &of_make).replace("NEWER", &newer);
        forge(&here.store, &tests.commands, &damage);
        for machine in [&here, &there] {
            let error = machine.trust().is_trusted(&tests.commands).expect_err("it may have been a withdrawal");
            assert_eq!(error.code(), "trust_damaged");
            assert!(error.is_of_store() && error.message.starts_with("entry 3 of the trust"), "{error}");
        }
        assert!(there.trusts(&make), "others are not concerned");
        let (decisions, faults) = there.trust().shared_decisions().expect("the store answers");
        assert_eq!((decisions.len(), faults.len()), (2, 1));
        // The machine's own record needs no store.
        there.trust().record(tests.clone()).expect("it is recorded");
        assert!(there.trusts(&tests));
    }
}

#[test]
fn a_store_of_one_machine_shares_nothing() {
    let machine = Machine::of(&(Arc::new(MemoryStore::default()) as Arc<dyn Store>));
    let trust = machine.trust();
    assert_eq!(trust.shared_address(), None);
    for error in [
        trust.share(entry("cargo test"), "ann").expect_err("there is no list"),
        trust.accept_shared(Timestamp(1)).expect_err("there is no list"),
        trust.withdraw(&entry("cargo test"), "ann").expect_err("there is no list"),
    ] {
        assert_eq!(error.code(), "trust_not_shared");
    }
    trust.record(entry("cargo test")).expect("it is recorded");
    assert!(machine.trusts(&entry("cargo test")) && !machine.trusts(&entry("make")));
}

#[test]
fn a_store_that_cannot_be_asked_trusts_nothing() {
    let gone: Arc<dyn Store> = Arc::new(crate::store::PostgresStore::at(
        "postgres://ann@127.0.0.1:1/runs".parse().expect("an address"),
        crate::store::Keyring::in_folder(Path::new("/nowhere")),
    ));
    let machine = Machine::of(&gone);
    let tests = entry("cargo test");
    assert!(!machine.trusts(&tests), "a machine that did not accept it does not ask");
    machine.trust().accept_shared(Timestamp(1)).expect("it is recorded");
    let error = machine.trust().is_trusted(&tests.commands).expect_err("nobody answers");
    assert_eq!(error.code(), "trust_unasked");
    assert!(error.message.contains("`postgres://127.0.0.1:1/runs?schema=portolan`"), "{error}");
    machine.trust().record(tests.clone()).expect("it is recorded");
    assert!(machine.trusts(&tests), "its own record needs no store");
    let share = machine.trust().share(entry("make"), "ann").expect_err("nobody answers");
    assert_eq!(share.code(), "trust_unasked");
    assert!(machine.trust().list_stores().1.is_empty(), "nothing was shared");
}
