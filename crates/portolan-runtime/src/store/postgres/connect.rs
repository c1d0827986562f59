//! Connections to the database: encrypted where they leave the machine, with the schema of this release.

use std::sync::Arc;
use std::time::{Duration, Instant};

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, QueueMode, RecyclingMethod, Runtime, Timeouts,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::sync::OnceCell;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::PostgresAddress;
use super::fault::{self, Trouble};
use super::skew::Skew;
use crate::clock::Clock;
use crate::store::StoreError;
use crate::store::rows::Unread;

/// A database and its pool of connections.
pub(super) struct Database {
    address: PostgresAddress,
    pool: Result<Pool, StoreError>,
    skew: Arc<Skew>,
    /// Set when the tables were found or created.
    is_ready: OnceCell<()>,
}

/// The maximum number of connections of a process.
const MOST_CONNECTIONS: usize = 16;
/// The time for which a request may wait for a connection, and is attempted again.
const PATIENCE: Duration = Duration::from_secs(15);
/// The time before the second attempt; it grows with each one.
const PAUSE: Duration = Duration::from_millis(50);
/// The number of the advisory lock of a migration: "Port".
const MIGRATION_LOCK: i64 = 0x506f_7274;
/// The tables, version by version. A released one is never edited: add another, also where only a function changes.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
];
/// Every migration makes them anew.
const FUNCTIONS: &str = include_str!("functions.sql");

impl Database {
    pub(super) fn at(address: PostgresAddress, clock: Clock) -> Database {
        let skew = Arc::new(Skew::of(clock));
        Database { pool: pool(&address, &skew), address, skew, is_ready: OnceCell::new() }
    }

    /// Returns the difference between the clocks of this machine and of the server.
    pub(super) fn skew(&self) -> &Skew {
        &self.skew
    }

    pub(super) fn address(&self) -> &PostgresAddress {
        &self.address
    }

    /// Does something with a connection. `job` gets the number of the attempt: where a connection breaks or a
    /// transaction must give way, it is done again, and an earlier attempt may have been carried out.
    pub(super) async fn with<T>(
        &self,
        job: impl AsyncFn(&mut Object, u32) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        let begun = Instant::now();
        for attempt in 1.. {
            match self.once(&job, attempt).await {
                Ok(done) => return Ok(done),
                // A server that never answered is reported at once: its address may be wrong.
                Err(trouble) if trouble.is_passing() && self.is_ready.initialized() && begun.elapsed() < PATIENCE => {
                    tokio::time::sleep(PAUSE * attempt.min(10)).await;
                }
                Err(trouble) => return Err(trouble.into_error(&self.address)),
            }
        }
        unreachable!("attempts end with a result")
    }

    /// Does something with a connection and the version of the tables, which stay as they are.
    pub(super) async fn look<T>(
        &self,
        job: impl AsyncFn(&mut Object, usize) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        let look = async || {
            let mut connection = self.pool.as_ref().map_err(StoreError::clone)?.get().await?;
            let version = check_version(&connection, &self.address).await?;
            job(&mut connection, version).await
        };
        look().await.map_err(|trouble: Trouble| trouble.into_error(&self.address))
    }

    /// Returns the address without its password.
    pub(super) fn name(&self) -> String {
        self.address.to_string()
    }

    /// Returns the error for stored data that cannot be read.
    pub(super) fn unread(&self, unread: Unread) -> StoreError {
        Trouble::Unread(unread).into_error(&self.address)
    }

    /// Does something with a connection, and does not repeat it.
    pub(super) async fn once<T>(
        &self,
        job: &impl AsyncFn(&mut Object, u32) -> Result<T, Trouble>,
        attempt: u32,
    ) -> Result<T, Trouble> {
        let pool = self.pool.as_ref().map_err(StoreError::clone)?;
        let mut connection = pool.get().await?;
        self.is_ready.get_or_try_init(async || prepare(&mut connection, &self.address).await).await?;
        let done = job(&mut connection, attempt).await;
        // Another release may have changed the tables under an open connection.
        if matches!(&done, Err(Trouble::Database(error)) if fault::is_of_schema(error)) {
            check_version(&connection, &self.address).await?;
        }
        done
    }
}

/// Returns the version of this release.
pub(super) fn newest() -> usize {
    MIGRATIONS.len()
}

fn pool(address: &PostgresAddress, skew: &Arc<Skew>) -> Result<Pool, StoreError> {
    let settings = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let mut config = address.config.clone();
    let given = config.get_options().map(|given| format!("{given} ")).unwrap_or_default();
    config.options(format!("{given}-c search_path={}", address.schema));
    let manager = match config.get_ssl_mode() {
        SslMode::Disable => Manager::from_config(config, NoTls, settings),
        _ => Manager::from_config(config, MakeRustlsConnect::new(tls(address)?), settings),
    };
    let patience = Timeouts { wait: Some(PATIENCE), create: Some(PATIENCE), recycle: Some(PATIENCE) };
    let skew = Arc::clone(skew);
    let durable = Hook::async_fn(move |client, _| {
        let skew = Arc::clone(&skew);
        Box::pin(async move {
            client.batch_execute(DURABLE).await.map_err(HookError::Backend)?;
            skew.measure(client).await.map_err(HookError::Backend)
        })
    });
    let pool = Pool::builder(manager).max_size(MOST_CONNECTIONS).timeouts(patience).post_create(durable);
    // The connection that was used last has its plans and pages at hand.
    pool.queue_mode(QueueMode::Lifo).runtime(Runtime::Tokio1).build().map_err(|error| StoreError::Failed {
        code: "store_unavailable",
        message: format!("the connections to `{address}` cannot be prepared ({error})"),
        help: "try again".to_owned(),
    })
}

/// Returns the settings of encrypted connections: the server's certificate must be valid for its name.
pub(super) fn tls(address: &PostgresAddress) -> Result<ClientConfig, StoreError> {
    let unusable = |why: String| StoreError::Unavailable(why);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| unusable(format!("encryption cannot be prepared ({error}): try again")))?;
    let Some(path) = &address.root_certificates else {
        let trusting = builder.with_platform_verifier().map_err(|error| {
            unusable(format!("the system's certificates cannot be read ({error}): name a file with `sslrootcert`"))
        })?;
        return Ok(trusting.with_no_client_auth());
    };
    let mut roots = RootCertStore::empty();
    let unread = |why: &str| {
        let path = path.display();
        unusable(format!(
            "the certificates in `{path}` cannot be read ({}): name a PEM file with `sslrootcert`",
            fault::plain_reason(why)
        ))
    };
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unread(&error.to_string()))? {
        let certificate = certificate.map_err(|error| unread(&error.to_string()))?;
        roots.add(certificate).map_err(|error| unread(&error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(unread("it has none")),
        false => Ok(builder.with_root_certificates(roots).with_no_client_auth()),
    }
}

/// Creates or updates the tables, unless they are those of this release.
async fn prepare(client: &mut Client, address: &PostgresAddress) -> Result<(), Trouble> {
    if check_version(client, address).await? == MIGRATIONS.len() {
        return Ok(());
    }
    // Taken before the transaction begins, because only a new transaction sees which tables others made meanwhile.
    client.execute("SELECT pg_advisory_lock($1)", &[&MIGRATION_LOCK]).await?;
    let migrated = migrate(client, address).await;
    client.execute("SELECT pg_advisory_unlock($1)", &[&MIGRATION_LOCK]).await?;
    migrated
}

async fn migrate(client: &mut Client, address: &PostgresAddress) -> Result<(), Trouble> {
    let transaction = client.transaction().await?;
    let done = check_version(transaction.client(), address).await?;
    if done == MIGRATIONS.len() {
        return Ok(());
    }
    if done == 0 {
        transaction.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {}", address.schema)).await?;
        transaction.batch_execute("CREATE TABLE portolan_store (version INT NOT NULL)").await?;
        transaction.batch_execute("INSERT INTO portolan_store VALUES (0)").await?;
    }
    for migration in &MIGRATIONS[done..] {
        transaction.batch_execute(migration).await?;
    }
    transaction.batch_execute(FUNCTIONS).await?;
    let version = i32::try_from(MIGRATIONS.len()).expect("migrations are few");
    transaction.execute("UPDATE portolan_store SET version = $1", &[&version]).await?;
    transaction.commit().await?;
    Ok(())
}

/// Returns the number of migrations that were made, or 0 where there are no tables. Refuses tables of newer releases.
async fn check_version(client: &Client, address: &PostgresAddress) -> Result<usize, Trouble> {
    let found =
        client.query_one("SELECT to_regclass('portolan_store') IS NOT NULL, current_setting('server_encoding')", &[]);
    let found = found.await?;
    let (is_there, encoding): (bool, String) = (found.get(0), found.get(1));
    if encoding != "UTF8" {
        let why =
            format!("the database `{address}` stores text as {encoding}: create a database with `ENCODING 'UTF8'`");
        return Err(StoreError::Unavailable(why).into());
    }
    if !is_there {
        return Ok(0);
    }
    let version: i32 = client.query_one("SELECT version FROM portolan_store", &[]).await?.get(0);
    let known = MIGRATIONS.len();
    match usize::try_from(version) {
        Ok(version) if version <= known => Ok(version),
        _ => Err(StoreError::Unavailable(format!(
            "`{address}` has a run store of version {version}, and this release knows versions up to {known}: use a \
             newer release of portolan, or name another schema"
        ))
        .into()),
    }
}

/// What was acknowledged is on disk, whatever the database's default is.
const DURABLE: &str = "SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'";
