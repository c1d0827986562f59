//! What becomes of requests when the server is replaced by its replica, asks for more than it was given, or is full.

use super::tests::{fault, server, store};
use super::*;
use crate::store::contract::sample::Sample;
use crate::store::contract::{append, create};
use server::Server;

/// The local programs of the tests need no password.
const LOCAL: &str = "local all all trust\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_takes_over_has_every_acknowledged_move() {
    let Some(mut primary) = Server::start() else { return };
    let replica = primary.replica();
    let refused = {
        drop(store(&primary, "postgres").list(ListFilter::default()).await.expect("it makes the tables"));
        while replica.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'portolan'") == "0" {}
        let following = store(&replica, "postgres");
        following.list(ListFilter::default()).await.expect("it can be read");
        following.keep_definition(&Digest::of("{}"), &"{}".into()).await.expect_err("nothing is written")
    };
    assert!(matches!(refused, StoreError::Failed { code: "read_only", .. }), "{refused:?}");
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", primary.port(), replica.port());
    let either = format!("postgres://ann@{hosts}/postgres?target_session_attrs=read-write");
    let keys = tempfile::tempdir().expect("a folder");
    let either = PostgresStore::at(either.parse().expect("an address"), Keyring::in_folder(keys.path()));
    let mut sample = Sample::opened("mend the door");
    let id = create(&either, &sample).await;
    let mut acknowledged = 1;
    for _ in 0..50 {
        sample = sample.moved("agent", "implement");
        append(&either, &id, acknowledged, &sample).await.expect("it is the next one");
        acknowledged += 1;
    }
    primary.crash();
    let promoted = std::thread::spawn(move || {
        replica.promote();
        replica
    });
    // The request waits until one of the hosts takes changes.
    append(&either, &id, acknowledged, &sample.clone().moved("agent", "review")).await.expect("it goes on");
    let replica = promoted.join().expect("it takes over");
    let after = store(&replica, "postgres").load(&id).await.expect("it is there");
    assert_eq!(after.seq, acknowledged + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_requires_encryption_is_trusted_by_its_certificate() {
    let Some(mut server) = Server::start() else { return };
    let (authority, key, certificate) = certificates();
    server.keeps("server.key", &key);
    server.keeps("server.crt", &certificate);
    server.reset(&["ssl=on"], &format!("{LOCAL}hostssl all all 127.0.0.1/32 trust\n"));
    let folder = tempfile::tempdir().expect("a folder");
    let trusted = folder.path().join("authority.pem");
    std::fs::write(&trusted, authority).expect("it can be written");
    let parameters = format!("postgres?sslmode=require&sslrootcert={}", trusted.display());
    let encrypted = store(&server, &parameters);
    let sample = Sample::opened("mend the door");
    let id = create(&*encrypted, &sample).await;
    append(&*encrypted, &id, 1, &sample.clone().moved("agent", "a")).await.expect("it is the next one");
    let ours =
        "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND client_addr IS NOT NULL";
    assert_ne!(server.sql(ours), "0");
    let at = |text: String| text.replace(&server.address(""), "SERVER/");
    let plain = at(fault(&*store(&server, "postgres?sslmode=disable")).await);
    expect_test::expect![[r#"store_unavailable: `SERVER/postgres` accepts encrypted connections only (no pg_hba.conf entry for host "127.0.0.1", user "ann", database "postgres", no encryption); add `sslmode=require` to the address"#]].assert_eq(&plain);
    let unknown = at(fault(&*store(&server, "postgres?sslmode=require")).await);
    expect_test::expect!["store_unavailable: `SERVER/postgres` cannot be reached (invalid peer certificate, UnknownIssuer); name the certificates to trust with `sslrootcert`, or the host as the certificate has it"].assert_eq(&unknown);
    let other = server.address(&parameters).replace("127.0.0.1", "localhost").parse().expect("an address");
    let other = PostgresStore::at(other, Keyring::in_folder(folder.path()));
    let other = fault(&other).await.replace(&format!(":{}", server.port()), ":PORT");
    expect_test::expect![[r#"store_unavailable: `postgres://ann@localhost:PORT/postgres` cannot be reached (invalid peer certificate, certificate not valid for name "localhost"; certificate is only valid for IpAddress(127.0.0.1)); name the certificates to trust with `sslrootcert`, or the host as the certificate has it"#]].assert_eq(&other);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_refused_and_not_told() {
    let Some(mut server) = Server::start() else { return };
    server.sql("CREATE ROLE bob LOGIN SUPERUSER PASSWORD 'xyzzy'");
    server.reset(&[], &format!("{LOCAL}host all all 127.0.0.1/32 scram-sha-256\n"));
    let port = server.port();
    let said = async |user: &str| {
        let at = format!("postgres://{user}@127.0.0.1:{port}/postgres?sslmode=disable");
        let keys = Keyring::in_folder(std::path::Path::new("unused"));
        let store = PostgresStore::at(at.parse().expect("an address"), keys);
        fault(&store).await.replace(&port.to_string(), "PORT")
    };
    let wrong = said("bob:swordfish").await;
    assert!(!wrong.contains("swordfish"), "{wrong}");
    expect_test::expect![[r#"store_unavailable: `postgres://bob@127.0.0.1:PORT/postgres` refuses the password (password authentication failed for user "bob"); correct it in the address, or set `PGPASSWORD`"#]].assert_eq(&wrong);
    let none = said("bob").await;
    expect_test::expect!["store_unavailable: `postgres://bob@127.0.0.1:PORT/postgres` cannot be reached (password missing); add it to the address, or set `PGPASSWORD`"].assert_eq(&none);
    let right = format!("postgres://bob:xyzzy@127.0.0.1:{port}/postgres?sslmode=disable");
    let right =
        PostgresStore::at(right.parse().expect("an address"), Keyring::in_folder(std::path::Path::new("unused")));
    right.list(ListFilter::default()).await.expect("it is admitted");
}

/// The server answers as one whose disk is full.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_of_the_server_is_said_and_stores_nothing() {
    let Some(server) = Server::start() else { return };
    let store = store(&server, "postgres");
    let sample = Sample::opened("mend the door");
    let id = create(&*store, &sample).await;
    server.sql(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
         CREATE TRIGGER full_disk BEFORE INSERT ON portolan.records EXECUTE FUNCTION full_disk()",
    );
    let next = sample.clone().moved("agent", "a");
    assert_eq!(append(&*store, &id, 1, &next).await, Err(StoreError::Full));
    server.sql("DROP TRIGGER full_disk ON portolan.records");
    assert_eq!(store.load(&id).await.expect("it is there").seq, 1);
    append(&*store, &id, 1, &next).await.expect("there is room again");
}

/// Returns the certificate of an authority, and the key and the certificate of a server at 127.0.0.1.
fn certificates() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=authority \
                  -addext basicConstraints=critical,CA:TRUE -keyout ca.key -out ca.pem \
                  && openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=server -keyout key.pem -out request.pem \
                  && printf 'subjectAltName=IP:127.0.0.1' > names \
                  && openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem";
    let output = std::process::Command::new("sh").args(["-c", script]).current_dir(folder.path()).output();
    let output = output.expect("a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("it was written");
    (read("ca.pem"), read("key.pem"), read("server.pem"))
}

/// A run is due by the clock of the machine that has written its record, whichever that is.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_wrong_moves_no_run_to_another_time() {
    const MINUTE: i64 = 60_000;
    let Some(server) = Server::start() else { return };
    let keys = tempfile::tempdir().expect("a folder");
    let right = store(&server, "postgres");
    let now = Clock::System.now().0;
    for wrong_by in [-10 * MINUTE, 10 * MINUTE] {
        let its_now = now + wrong_by;
        let at = server.address("postgres").parse().expect("an address");
        let wrong = PostgresStore::with_clock(at, Keyring::in_folder(keys.path()), Clock::Still(Timestamp(its_now)));
        let sample = Sample::opened("mend the door");
        let (at_once, later) = (create(&wrong, &sample).await, create(&wrong, &sample).await);
        wrong.defer(&at_once, Some(Timestamp(its_now))).await.expect("it is there");
        wrong.defer(&later, Some(Timestamp(its_now + 5 * MINUTE))).await.expect("it is there");
        let claimed = async |store: &dyn Store, now: i64| {
            let claimed = store.claim(Timestamp(now), 8).await.expect("the server answers");
            claimed.into_iter().map(|(id, _lease)| id).collect::<Vec<_>>()
        };
        assert_eq!(claimed(&*right, now + MINUTE).await, std::slice::from_ref(&at_once));
        right.defer(&at_once, None).await.expect("it is there");
        assert_eq!(claimed(&wrong, its_now + MINUTE).await, []);
        assert_eq!(claimed(&wrong, its_now + 6 * MINUTE).await, std::slice::from_ref(&later));
        right.defer(&later, None).await.expect("it is there");
    }
}
