//! The location of a project's runs: one of the stores of this crate, or any other.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::ServiceError;

use super::{Keyring, MemoryStore, PostgresAddress, PostgresStore, RestateAddress, RestateStore, SqliteStore, Store};

/// The location of runs.
#[derive(Clone)]
pub enum StoreAt {
    /// In memory: runs end with the process.
    Memory,
    /// In a SQLite file.
    File(PathBuf),
    /// In a PostgreSQL database.
    Postgres(Box<PostgresAddress>),
    /// In Restate.
    Restate(RestateAddress),
    /// In any other store.
    Custom(Arc<dyn Store>),
}

impl StoreAt {
    /// Returns the location that a file or an address names. What is secret may be in the environment, in the variables of
    /// each server's own programs: `PGPASSWORD` and `RESTATE_AUTH_TOKEN`.
    ///
    /// # Errors
    /// The address is malformed.
    pub fn of_environment(store: &Path) -> Result<StoreAt, ServiceError> {
        let secret = |variable: &str| std::env::var(variable).ok();
        let at = match store.to_str() {
            Some("memory") => Ok(StoreAt::Memory),
            Some(text) if PostgresAddress::is_meant(text) => text.parse().map(|address: PostgresAddress| {
                StoreAt::Postgres(Box::new(address.with_password(secret("PGPASSWORD").as_deref())))
            }),
            Some(text) if RestateAddress::is_meant(text) => text
                .parse()
                .map(|address: RestateAddress| StoreAt::Restate(address.with_token(secret("RESTATE_AUTH_TOKEN")))),
            _ => Ok(StoreAt::File(store.to_owned())),
        };
        at.map_err(|error: BadAddress| {
            let text = error.to_string();
            let (message, help) = text.split_once("; ").unwrap_or((&text, "correct the address"));
            ServiceError::refused("bad_store", message, help)
        })
    }

    /// Returns the store. `data` is the folder of the keys that seal runs with secrets, `definitions` the folder of
    /// definitions of runs outside the store.
    pub(crate) fn open(&self, data: &Path, definitions: PathBuf) -> Arc<dyn Store> {
        match self {
            StoreAt::Memory => Arc::new(MemoryStore::default().definitions_in(definitions)),
            StoreAt::File(path) => {
                Arc::new(SqliteStore::at(path, Keyring::in_folder(data)).definitions_in(definitions))
            }
            StoreAt::Postgres(address) => Arc::new(PostgresStore::at((**address).clone(), Keyring::in_folder(data))),
            StoreAt::Restate(address) => Arc::new(RestateStore::at(address.clone(), Keyring::in_folder(data))),
            StoreAt::Custom(store) => Arc::clone(store),
        }
    }

    /// Returns the kind of the store in one word: `memory`, `sqlite`, `postgres`, `restate` or `custom`.
    pub fn kind(&self) -> &'static str {
        match self {
            StoreAt::Memory => "memory",
            StoreAt::File(_) => "sqlite",
            StoreAt::Postgres(_) => "postgres",
            StoreAt::Restate(_) => "restate",
            StoreAt::Custom(_) => "custom",
        }
    }
}

/// The file, or the address without its password or token.
impl fmt::Display for StoreAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreAt::Memory => f.write_str("memory"),
            StoreAt::File(path) => path.display().fmt(f),
            StoreAt::Postgres(address) => address.fmt(f),
            StoreAt::Restate(address) => address.fmt(f),
            StoreAt::Custom(_) => f.write_str("a store of the program"),
        }
    }
}

impl fmt::Debug for StoreAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreAt::Memory => f.write_str("Memory"),
            StoreAt::File(path) => f.debug_tuple("File").field(path).finish(),
            StoreAt::Postgres(address) => f.debug_tuple("Postgres").field(address).finish(),
            StoreAt::Restate(address) => f.debug_tuple("Restate").field(address).finish(),
            StoreAt::Custom(_) => f.write_str("Custom"),
        }
    }
}

/// The reason why an address is refused, as a sentence with what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadAddress(pub(super) String);

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadAddress {}
