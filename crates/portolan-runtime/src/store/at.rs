//! The location of a project's runs: one of the stores of this crate, or any other.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
