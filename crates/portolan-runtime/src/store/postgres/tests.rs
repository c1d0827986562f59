//! The store against a real server: the contract, and what becomes of requests when the server fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::super::contract::leases::free_again;
use super::super::contract::sample::Sample;
use super::super::contract::{Subject, append, check, create, new_run};
use super::super::store_error;
use super::*;
use portolan_core::run::Opening;
use portolan_core::value::Timestamp;

#[path = "../../../tests/common/postgres.rs"]
pub(super) mod server;

use server::Server;

pub(super) fn address(server: &Server, rest: &str) -> PostgresAddress {
    server.address(rest).parse().expect("an address")
}

pub(super) fn store(server: &Server, rest: &str) -> Arc<dyn Store> {
    let keys = tempfile::tempdir().expect("a folder").keep();
    Arc::new(PostgresStore::at(address(server, rest), Keyring::in_folder(&keys)))
}

/// Returns what a person reads about the fault of a request.
pub(super) async fn fault(store: &dyn Store) -> String {
    let error = store.list(ListFilter::default()).await.expect_err("it cannot be used");
    let error = store_error(error);
    format!("{}: {}; {}", error.code, error.message, error.help)
}

#[tokio::test(flavor = "multi_thread")]
async fn it_keeps_what_a_store_promises() {
    let Some(server) = Server::start() else { return };
    let server = Arc::new(server);
    let schemas = AtomicUsize::new(0);
    let keys = tempfile::tempdir().expect("a folder");
    check(async || {
        let schema = format!("promise_{}", schemas.fetch_add(1, Ordering::Relaxed));
        let (address, keys) = (address(&server, &format!("postgres?schema={schema}")), keys.path().to_owned());
        // Long enough for the renewals of a busy machine.
        let expiry = Duration::from_secs(3);
        let handle = move || -> Arc<dyn Store> {
            Arc::new(PostgresStore::at(address.clone(), Keyring::in_folder(&keys)).lease_term(expiry))
        };
        let takes = Arc::clone(&server);
        let take_away = move |id: &RunId| {
            let run = format!("(SELECT number FROM {schema}.runs WHERE id = '{id}')");
            takes.sql(&format!("UPDATE {schema}.leases SET until = '-infinity', fence = fence + 1 WHERE run = {run}"));
        };
        Subject::new(handle, ()).expiring(expiry, take_away)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_crashes_and_returns_loses_and_doubles_nothing() {
    let Some(mut server) = Server::start() else { return };
    let store = store(&server, "postgres");
    let sample = Sample::opened("mend the door");
    let id = create(&*store, &sample).await;
    append(&*store, &id, 1, &sample.clone().moved("agent", "a")).await.expect("the server runs");
    server.crash();
    let later = {
        let (store, id, next) = (Arc::clone(&store), id.clone(), sample.clone().moved("agent", "b"));
        tokio::spawn(async move { append(&*store, &id, 2, &next).await })
    };
    server.go_on();
    later.await.expect("no panic").expect("it is carried out when the server is back");
    assert_eq!(store.load(&id).await.expect("it was kept").seq, 3);
    let again = append(&*store, &id, 2, &sample.clone().moved("agent", "b")).await;
    assert_eq!(again, Err(StoreError::Conflict { actual_seq: 3 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_lost_the_lease_writes_nothing() {
    let Some(server) = Server::start() else { return };
    let sample = Sample::opened("mend the door");
    let (one, other) = (store(&server, "postgres"), store(&server, "postgres"));
    let id = create(&*one, &sample).await;
    let lease = one.lease(&id).await.expect("nobody drives it");
    append(&*one, &id, 1, &sample.clone().moved("agent", "a")).await.expect("it has the lease");
    server.sql("UPDATE portolan.leases SET until = '-infinity'");
    let next = other.lease(&id).await.expect("it has expired");
    let late = append(&*one, &id, 2, &sample.clone().moved("agent", "b")).await.expect_err("its fence is behind");
    assert!(matches!(late, StoreError::Failed { code: "lease_lost", .. }), "{late:?}");
    append(&*other, &id, 2, &sample.clone().moved("agent", "c")).await.expect("it has the lease now");
    drop((lease, next));
    append(&*one, &id, 3, &sample.clone().moved("agent", "d")).await.expect("who drives nothing quotes no fence");
}

/// Otherwise its late writes would quote the fence of the new lease: a process has one fence for each run.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_takes_no_lease_of_a_run_of_which_it_still_has_a_lost_one() {
    let Some(server) = Server::start() else { return };
    let (store, sample) = (store(&server, "postgres"), Sample::opened("mend the door"));
    let id = create(&*store, &sample).await;
    let lost = store.lease(&id).await.expect("nobody drives it");
    store.defer(&id, Some(Timestamp(7))).await.expect("it is there");
    server.sql("UPDATE portolan.leases SET until = '-infinity', fence = fence + 1");
    let again = store.lease(&id).await.map(drop);
    assert_eq!(again, Err(StoreError::UnderWay { run: id.clone(), holder: None }));
    assert!(store.claim(Timestamp(7), 1).await.expect("the server answers").is_empty());
    let late = append(&*store, &id, 1, &sample.clone().moved("agent", "a")).await.expect_err("its fence is behind");
    assert!(matches!(late, StoreError::Failed { code: "lease_lost", .. }), "{late:?}");
    drop(lost);
    let _next = free_again(&*store, &id).await;
    append(&*store, &id, 1, &sample.moved("agent", "a")).await.expect("it has the lease");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_secrets_is_sealed() {
    let Some(server) = Server::start() else { return };
    let store = store(&server, "postgres");
    let sample = Sample::opened("the word is xyzzy");
    let cover = Opening { description: None, ..sample.run.opening.clone() };
    let id = RunId::random();
    store.create(NewRun { cover: Some(cover), ..new_run(&id, &sample) }).await.expect("it is kept");
    append(&*store, &id, 1, &sample.clone().moved("agent", "say xyzzy")).await.expect("it is kept");
    assert_eq!(store.load(&id).await.expect("it opens").run.opening.description.as_deref(), Some("the word is xyzzy"));
    let stored = server.sql("SELECT r.*, c.*, s.* FROM portolan.runs r, portolan.records c, portolan.snapshots s");
    assert!(!stored.contains("xyzzy"), "{stored}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dump_is_a_backup() {
    let Some(server) = Server::start() else { return };
    let before = store(&server, "postgres");
    let sample = Sample::opened("mend the door");
    let id = create(&*before, &sample).await;
    append(&*before, &id, 1, &sample.clone().moved("agent", "a")).await.expect("it is the next one");
    server.restores("portolan", "restored");
    let after = store(&server, "restored");
    assert_eq!(after.load(&id).await, before.load(&id).await);
    append(&*after, &id, 2, &sample.clone().moved("agent", "b")).await.expect("it goes on");
    assert_eq!(before.load(&id).await.expect("it was kept").seq, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_the_first_version_are_taken_over() {
    let Some(server) = Server::start() else { return };
    let sample = Sample::opened("mend the door");
    let id = create(&*store(&server, "postgres"), &sample).await;
    server.sql(
        "SET search_path = portolan; DROP FUNCTION create_run; DROP FUNCTION append_record; DROP FUNCTION append_shared;
         DROP TABLE shared_entries; DROP INDEX due_positions;
         ALTER TABLE positions DROP COLUMN due; UPDATE portolan_store SET version = 1;
         CREATE FUNCTION append_records(ids TEXT[]) RETURNS TABLE (place BIGINT) LANGUAGE sql AS 'SELECT 1'",
    );
    let after = store(&server, "postgres");
    append(&*after, &id, 1, &sample.clone().moved("agent", "a")).await.expect("it is the next one");
    after.defer(&id, Some(Timestamp(7))).await.expect("it can be handed over");
    let claimed = after.claim(Timestamp(7), 1).await.expect("it can be claimed");
    assert_eq!(claimed.into_iter().map(|(id, _)| id).collect::<Vec<_>>(), [id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_the_third_version_get_the_shared_lists() {
    let Some(server) = Server::start() else { return };
    let sample = Sample::opened("mend the door");
    let id = create(&*store(&server, "postgres"), &sample).await;
    server.sql(
        "SET search_path = portolan; DROP FUNCTION append_shared; DROP TABLE shared_entries;
         UPDATE portolan_store SET version = 3",
    );
    let after = store(&server, "postgres");
    after.append_shared(SharedList::Trust, &[shared_entry("a")]).await.expect("there is a list");
    assert_eq!(after.shared(&SharedRequest::of(SharedList::Trust)).await, Ok(vec![(1, shared_entry("a"))]));
    append(&*after, &id, 1, &sample.moved("agent", "a")).await.expect("runs go on");
}

fn shared_entry(id: &str) -> SharedEntry {
    SharedEntry { id: id.to_owned(), key: "k".to_owned(), text: "{}".to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_entry_counts_once_although_the_server_crashes() {
    let Some(mut server) = Server::start() else { return };
    let store = store(&server, "postgres");
    store.append_shared(SharedList::Budgets, &[shared_entry("a")]).await.expect("the server runs");
    server.crash();
    let later = {
        let store = Arc::clone(&store);
        tokio::spawn(
            async move { store.append_shared(SharedList::Budgets, &[shared_entry("a"), shared_entry("b")]).await },
        )
    };
    server.go_on();
    later.await.expect("no panic").expect("it is carried out when the server is back");
    let found = store.shared(&SharedRequest::of(SharedList::Budgets)).await.expect("it is read");
    assert_eq!(found, [(1, shared_entry("a")), (2, shared_entry("b"))]);
}

/// A machine that has accepted the trust of a store has accepted that of this address.
#[test]
fn the_address_of_the_lists_names_what_decides_which_server_is_asked() {
    let of = |text: &str| {
        let keys = Keyring::in_folder(std::path::Path::new("/nowhere"));
        PostgresStore::at(text.parse().expect("an address"), keys).shared_address().expect("it has lists")
    };
    let plain = of("postgres://db.example/runs");
    assert_eq!(plain, "postgres://db.example:5432/runs?schema=portolan");
    assert_eq!(of("postgresql://ann:hush@db.example:5432/runs?sslmode=verify-full&keepalives_idle=5"), plain);
    for other in [
        "postgres://db.example/shop",
        "postgres://db.example:5433/runs",
        "postgres://one,db.example/runs",
        "postgres://db.example/runs?schema=shop",
        "postgres://db.example/runs?sslmode=disable",
        "postgres://db.example/runs?sslrootcert=/tmp/ca.pem",
        "postgres://db.example/runs?hostaddr=10.0.0.1",
    ] {
        assert_ne!(of(other), plain, "{other}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_server_is_said() {
    let Some(mut server) = Server::start() else { return };
    let port = server.address("");
    let at = |text: &str| text.replace(&port, "SERVER/");
    let said = async |server: &Server, rest: &str| at(&fault(&*store(server, rest)).await);
    assert_eq!(
        said(&server, "missing").await,
        "store_unavailable: there is no database at `SERVER/missing` (database \"missing\" does not exist); \
         create it with `createdb`, or name another one"
    );
    assert_eq!(
        said(&server, "postgres?sslmode=require").await,
        "store_unavailable: `SERVER/postgres` cannot be reached (server does not support TLS); \
         allow encryption there, or add `sslmode=disable` where the network is trusted"
    );
    drop(store(&server, "postgres").list(ListFilter::default()).await.expect("it makes the tables"));
    server.sql("ALTER ROLE ann SET default_transaction_read_only = on");
    let replica = store(&server, "postgres");
    replica.list(ListFilter::default()).await.expect("it can be read");
    let refused = replica.keep_definition(&Digest::of("{}"), &"{}".into()).await.expect_err("nothing is written");
    assert!(matches!(refused, StoreError::Failed { code: "read_only", .. }), "{refused:?}");
    server.sql("SET transaction_read_only = off; ALTER ROLE ann RESET default_transaction_read_only");
    let missing = fault(&*store(&server, "postgres?sslrootcert=/missing/ca.pem")).await;
    assert!(
        missing.starts_with("store_unavailable: the certificates in `/missing/ca.pem` cannot be read ("),
        "{missing}"
    );
    assert!(missing.ends_with("); name a PEM file with `sslrootcert`"), "{missing}");
    server.sql("UPDATE portolan.portolan_store SET version = 99");
    assert_eq!(
        said(&server, "postgres").await,
        "store_unavailable: `SERVER/postgres` has a run store of version 99, and this release knows versions up to 5; \
         use a newer release of portolan, or name another schema"
    );
    server.sql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
    assert_eq!(
        said(&server, "latin").await,
        "store_unavailable: the database `SERVER/latin` stores text as LATIN1; create a database with `ENCODING 'UTF8'`"
    );
    server.sql("CREATE ROLE bob LOGIN");
    let bob = server.address("postgres?schema=bobs").replace("ann@", "bob@").parse().expect("an address");
    let bob = PostgresStore::at(bob, Keyring::in_folder(std::path::Path::new("unused")));
    assert!(fault(&bob).await.contains("does not allow this to its user"), "{}", fault(&bob).await);
    server.crash();
    assert_eq!(
        said(&server, "postgres").await,
        "store_unavailable: `SERVER/postgres` cannot be reached (Connection refused (os error 111)); \
         check that the server runs there, then try again"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_that_are_emptied_or_replaced_meanwhile_are_noticed() {
    let Some(server) = Server::start() else { return };
    let store = store(&server, "postgres");
    let sample = Sample::opened("mend the door");
    let id = create(&*store, &sample).await;
    let lease = store.lease(&id).await.expect("nobody drives it");
    server.sql("TRUNCATE portolan.runs CASCADE");
    assert_eq!(append(&*store, &id, 1, &sample.clone().moved("agent", "a")).await, Err(StoreError::no_run(&id)));
    lease.lost().await;
    let id = create(&*store, &sample).await;
    server.sql("UPDATE portolan.portolan_store SET version = 99; DROP FUNCTION portolan.append_record");
    let newer =
        append(&*store, &id, 1, &sample.clone().moved("agent", "a")).await.expect_err("it is not this release's");
    assert!(newer.to_string().contains("run store of version 99"), "{newer}");
    server.sql("DROP SCHEMA portolan CASCADE");
    let gone = append(&*store, &id, 1, &sample.clone().moved("agent", "a")).await.expect_err("there is nothing left");
    assert!(gone.to_string().contains("no longer has the tables of the run store"), "{gone}");
}
