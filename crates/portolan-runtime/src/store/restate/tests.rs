//! The store against a real server: the contract, and what becomes of requests when a part fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use portolan_core::run::Opening;

use super::super::contract::sample::Sample;
use super::super::contract::{Subject, append, check, create, new_run};
use super::super::store_error;
use super::*;
use crate::error::ServiceError;

#[path = "../../../tests/common/restate.rs"]
#[expect(dead_code, reason = "the benchmark uses more of it")]
mod server;

use server::Restate;

fn store(server: &Restate, space: &str) -> Arc<RestateStore> {
    let keys = tempfile::tempdir().expect("a folder").keep();
    let address = server.address(space).parse().expect("an address");
    Arc::new(RestateStore::at(address, Keyring::in_folder(&keys)))
}

/// All handles of one space. Whoever looks waits until lists show what any of them has written.
#[derive(Clone, Default)]
struct Handles(Arc<Mutex<Vec<Arc<RestateStore>>>>);

impl Handles {
    async fn settled(&self) -> Result<(), StoreError> {
        let stores = lock(&self.0).clone();
        for store in stores {
            store.settled().await?;
        }
        Ok(())
    }
}

struct Settled {
    store: Arc<RestateStore>,
    handles: Handles,
}

impl Settled {
    fn first<'a, T: Send + 'a>(&'a self, then: impl FnOnce() -> Reply<'a, T> + Send + 'a) -> Reply<'a, T> {
        Box::pin(async move {
            self.handles.settled().await?;
            then().await
        })
    }
}

impl Store for Settled {
    fn create(&self, new: NewRun) -> Reply<'_, ()> {
        self.store.create(new)
    }

    fn append<'a>(&'a self, id: &'a RunId, expected_seq: u64, record: &'a Record, run_after: &'a Run) -> Reply<'a, ()> {
        self.store.append(id, expected_seq, record, run_after)
    }

    fn load<'a>(&'a self, id: &'a RunId) -> Reply<'a, StoredRun> {
        self.store.load(id)
    }

    fn records<'a>(&'a self, id: &'a RunId, after_seq: u64, limit: usize) -> Reply<'a, Vec<Record>> {
        self.store.records(id, after_seq, limit)
    }

    fn list(&self, filter: ListFilter) -> Reply<'_, Vec<Summary>> {
        self.first(move || self.store.list(filter))
    }

    fn version(&self) -> Reply<'_, Option<u64>> {
        self.first(|| self.store.version())
    }

    fn lease<'a>(&'a self, id: &'a RunId) -> Reply<'a, Box<dyn Lease>> {
        self.store.lease(id)
    }

    fn claim(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<(RunId, Box<dyn Lease>)>> {
        self.first(move || self.store.claim(now, limit))
    }

    fn defer<'a>(&'a self, id: &'a RunId, until: Option<Timestamp>) -> Reply<'a, ()> {
        self.store.defer(id, until)
    }

    fn changed<'a>(&'a self, mark: &'a mut Option<u64>) -> Reply<'a, ()> {
        self.store.changed(mark)
    }

    fn keep_definition<'a>(&'a self, digest: &'a Digest, text: &'a Arc<str>) -> Reply<'a, ()> {
        self.store.keep_definition(digest, text)
    }

    fn definition<'a>(&'a self, digest: &'a Digest) -> Reply<'a, Arc<str>> {
        self.store.definition(digest)
    }

    fn definition_like<'a>(&'a self, beginning: &'a str) -> Reply<'a, Option<Digest>> {
        self.store.definition_like(beginning)
    }

    fn page<'a>(&'a self, request: &'a PageRequest) -> Reply<'a, Vec<Entry>> {
        self.first(move || self.store.page(request))
    }

    fn remove<'a>(&'a self, id: &'a RunId, expected_seq: u64) -> Reply<'a, ()> {
        self.store.remove(id, expected_seq)
    }

    fn shared_address(&self) -> Option<String> {
        self.store.shared_address()
    }

    fn append_shared<'a>(&'a self, list: SharedList, entries: &'a [SharedEntry]) -> Reply<'a, ()> {
        self.store.append_shared(list, entries)
    }

    fn shared<'a>(&'a self, request: &'a SharedRequest) -> Reply<'a, Vec<(u64, SharedEntry)>> {
        self.store.shared(request)
    }

    fn status(&self) -> Reply<'_, StoreStatus> {
        self.first(|| self.store.status())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_keeps_what_a_store_promises() {
    let Some(server) = Restate::start() else { return };
    let spaces = AtomicUsize::new(0);
    let keys = tempfile::tempdir().expect("a folder");
    check(async || {
        let space = format!("promise-{}", spaces.fetch_add(1, Ordering::Relaxed));
        let (address, keys): (RestateAddress, _) =
            (server.address(&space).parse().expect("an address"), keys.path().to_owned());
        // Long enough for the renewals of a busy machine.
        let expiry = Duration::from_secs(3);
        let handles = Handles::default();
        let taking = address.clone();
        let handle = move || -> Arc<dyn Store> {
            let store = Arc::new(RestateStore::at(address.clone(), Keyring::in_folder(&keys)).lease_term(expiry));
            lock(&handles.0).push(Arc::clone(&store));
            Arc::new(Settled { store, handles: handles.clone() })
        };
        Subject::new(handle, ()).expiring(expiry, move |id| take_away(taking.clone(), id.clone()))
    })
    .await;
}

/// Ends the lease of a run as its object would if it was not renewed.
fn take_away(address: RestateAddress, id: RunId) {
    let thread = Thread::start("take-away").expect("a thread");
    let (done, waits) = std::sync::mpsc::channel();
    thread.jobs.run(async move || {
        let ingress = Ingress::at(address);
        // The first lease of a run has this fence.
        let () = ingress.call(portolan_restate_api::RUN, id.as_str(), "release", &1).await.expect("it is there");
        done.send(()).expect("it is waited for");
    });
    waits.recv().expect("it is done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_crashes_and_returns_loses_and_doubles_nothing() {
    let Some(mut server) = Restate::start() else { return };
    let store = store(&server, "shop");
    let sample = Sample::opened("mend the door");
    let id = create(&*store, &sample).await;
    append(&*store, &id, 1, &sample.clone().moved("agent", "a")).await.expect("the server runs");
    for (seq, name) in [(2, "b"), (3, "c")] {
        match name {
            "b" => server.crash(0),
            _ => server.crash_objects(),
        }
        let later = {
            let (store, id, next) = (Arc::clone(&store), id.clone(), sample.clone().moved("agent", name));
            tokio::spawn(async move { append(&*store, &id, seq, &next).await })
        };
        match name {
            "b" => server.go_on(0),
            _ => server.serve_objects(),
        }
        later.await.expect("no panic").expect("it is carried out when both are back");
        assert_eq!(store.load(&id).await.expect("it was kept").seq, seq + 1);
    }
    let again = append(&*store, &id, 2, &sample.moved("agent", "b")).await;
    assert_eq!(again, Err(StoreError::Conflict { actual_seq: 4 }));
    assert_eq!(store.list(ListFilter::default()).await.expect("it can be listed")[0].seq, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_dropped_leaves_nothing_running() {
    let Some(server) = Restate::start() else { return };
    let store = store(&server, "shop");
    let mut mark = None;
    store.changed(&mut mark).await.expect("at once");
    create(&*store, &Sample::opened("mend the door")).await;
    store.changed(&mut mark).await.expect("it is noticed");
    let shared = Arc::downgrade(&store.shared);
    drop(Arc::into_inner(store).expect("nobody else has it"));
    assert!(shared.upgrade().is_none(), "a task still uses it");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_lost_the_lease_writes_nothing() {
    let Some(server) = Restate::start() else { return };
    let sample = Sample::opened("mend the door");
    let (one, other) = (store(&server, "shop"), store(&server, "shop"));
    let id = create(&*one, &sample).await;
    let lease = one.lease(&id).await.expect("nobody drives it");
    append(&*one, &id, 1, &sample.clone().moved("agent", "a")).await.expect("it has the lease");
    take_away(server.address("shop").parse().expect("an address"), id.clone());
    let next = other.lease(&id).await.expect("it has expired");
    let late = append(&*one, &id, 2, &sample.clone().moved("agent", "b")).await.expect_err("its fence is behind");
    assert!(matches!(late, StoreError::Failed { code: "lease_lost", .. }), "{late:?}");
    append(&*other, &id, 2, &sample.clone().moved("agent", "c")).await.expect("it has the lease now");
    drop((lease, next));
    append(&*one, &id, 3, &sample.moved("agent", "d")).await.expect("who drives nothing quotes no fence");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_secrets_is_sealed_and_stays_so() {
    let Some(server) = Restate::start() else { return };
    let store = store(&server, "shop");
    let sample = Sample::opened("the word is xyzzy");
    let id = RunId::random();
    let cover = Some(Opening { description: None, ..sample.run.opening.clone() });
    store.create(NewRun { cover, ..new_run(&id, &sample) }).await.expect("it is kept");
    append(&*store, &id, 1, &sample.clone().moved("agent", "xyzzy")).await.expect("it is the next one");
    let texts = format!("{:?}", read::texts(&store.shared, &id).await.expect("it is there"));
    assert!(texts.contains("sealed:") && !texts.contains("xyzzy"), "{texts}");
    assert_eq!(store.load(&id).await.expect("it opens").seq, 2);
    // As a process would that saw another run with this handle.
    store.shared.note_sealed(&id, false);
    let plain = append(&*store, &id, 2, &sample.moved("agent", "xyzzy")).await.expect_err("it would be readable");
    assert!(matches!(plain, StoreError::Corrupt(_)), "{plain:?}");
}

/// The number of a format that no release knows.
const LATER: &str = r#"{"format": 99, "anything": "else"}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_a_newer_release_is_refused_and_stays_as_it_is() {
    let Some(server) = Restate::start() else { return };
    let store = store(&server, "shop");
    let (sample, id) = (Sample::opened("the word"), RunId::random());
    store.create(new_run(&id, &sample)).await.expect("it is stored");
    server.replace_state("PortolanRun", &format!("shop.{id}"), "head", LATER);
    let loaded = store.load(&id).await.expect_err("nobody knows how it is stored");
    let moved = append(&*store, &id, 1, &sample.moved("agent", "a")).await.expect_err("nor what follows");
    let ServiceError { code, message, help, .. } = store_error(loaded);
    assert_eq!((code, &message), ("store_corrupt", &store_error(moved).message));
    let reason =
        "has a run of a newer release (the run is stored in format 99, and these objects know formats up to 1)";
    assert!(message.ends_with(reason), "{message}");
    assert_eq!(help, "start the `portolan-restate` of that release, and register it");
}

/// Returns what a person reads about the fault of a request.
async fn fault(store: &RestateStore) -> String {
    let error = store_error(store.list(ListFilter::default()).await.expect_err("it cannot be used"));
    format!("{}: {}; {}", error.code, error.message, error.help)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_gone_or_does_not_know_the_objects_is_named() {
    let Some(mut server) = Restate::start() else { return };
    let shop = store(&server, "shop");
    server.forget_objects();
    let unknown = fault(&shop).await;
    assert!(
        unknown.contains("does not know the objects of Portolan (") && unknown.contains("PortolanIndex"),
        "{unknown}"
    );
    assert!(
        unknown.ends_with("start `portolan-restate`, and register it with `restate deployments register`"),
        "{unknown}"
    );
    server.crash(0);
    let gone = fault(&shop).await;
    assert!(gone.starts_with("store_unavailable: `restate://127.0.0.1:"), "{gone}");
    assert!(gone.contains("does not answer (Connection refused"), "{gone}");
    assert!(gone.ends_with("start Restate and `portolan-restate`, or correct the address, then try again"), "{gone}");
}

/// Answers each connection with one of these, and then with the last one.
fn answering(answers: &'static [&'static str]) -> RestateAddress {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("restate://{}/shop", listener.local_addr().expect("it has one"));
    std::thread::spawn(move || {
        for (mut stream, place) in listener.incoming().flatten().zip(0..) {
            let head = BufReader::new(stream.try_clone().expect("a socket")).lines().map_while(Result::ok);
            let head: Vec<String> = head.take_while(|line| !line.is_empty()).collect();
            let is_allowed = head.iter().any(|line| line.eq_ignore_ascii_case("authorization: bearer hush"));
            let answer = answers.get(place).or(answers.last()).expect("there is one");
            let answer = if answer.starts_with("401") && is_allowed { "200 OK\r\n\r\n" } else { answer };
            let _gone = write!(stream, "HTTP/1.1 {answer}");
        }
    });
    address.parse().expect("an address")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_refuses_is_said_with_what_to_do() {
    let keys = tempfile::tempdir().expect("a folder");
    let store = |address: RestateAddress| RestateStore::at(address, Keyring::in_folder(keys.path()));
    let mut told = String::new();
    for answers in [
        &["401 Unauthorized\r\n\r\n"][..],
        &["413 Payload Too Large\r\ncontent-type: application/json\r\n\r\n{\"message\": \"too much\\nat once\"}"],
        &["500 Internal Server Error\r\n\r\n{\"message\": \"the handler failed\"}"],
        &["200 OK\r\n\r\n{"],
        &["503 Service Unavailable\r\n\r\n", "429 Too Many Requests\r\n\r\n", "404 Not Found\r\n\r\n"],
        &["302 Found\r\nlocation: http://127.0.0.1:1/\r\n\r\n"],
    ] {
        let address = answering(answers);
        let fault = fault(&store(address.clone())).await;
        told += &format!("{}\n", fault.replace(&address.to_string(), "STORE"));
    }
    expect_test::expect![[r#"
        store_unavailable: `STORE` refuses the request (status 401 Unauthorized); put a valid token into `RESTATE_AUTH_TOKEN`
        too_large: `STORE` does not store so much at once (too much); raise the limit of messages in Restate's configuration, or keep large data in files
        store_unavailable: `STORE` failed (the handler failed); look into the logs of Restate and of `portolan-restate`
        store_corrupt: the answer of `PortolanIndex` at `STORE` cannot be read (invalid type; map, expected a sequence at line 1 column 0): use the `portolan-restate` of this release
        store_unavailable: `STORE` does not know the objects of Portolan (status 404 Not Found); start `portolan-restate`, and register it with `restate deployments register`
        store_unavailable: `STORE` failed (status 302 Found); look into the logs of Restate and of `portolan-restate`
    "#]].assert_eq(&told);
    let address = answering(&["401 Unauthorized\r\n\r\n"]).with_token(Some("hush".to_owned()));
    store(address).keep_definition(&Digest::of("{}"), &"{}".into()).await.expect("the token is sent");
}
