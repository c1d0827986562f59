//! The faults of the database, as errors of the store.

use std::error::Error as _;

use deadpool_postgres::{HookError, PoolError};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::address::PostgresAddress;
use crate::store::StoreError;
use crate::store::rows::Unread;

/// The reason why a request failed.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The database refused the statement, or the connection broke.
    Database(Error),
    /// No connection was had.
    Pool(PoolError),
    /// The stored data cannot be read.
    Unread(Unread),
}

impl From<PoolError> for Trouble {
    fn from(error: PoolError) -> Trouble {
        match error {
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                Trouble::Database(error)
            }
            error => Trouble::Pool(error),
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Database(error)
    }
}

impl From<Unread> for Trouble {
    fn from(unread: Unread) -> Trouble {
        Trouble::Unread(unread)
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Trouble {
        Trouble::Unread(Unread::Refused(error))
    }
}

impl Trouble {
    /// Checks whether the request may succeed if it is made again: the connection broke, the server starts, or the
    /// transaction had to give way.
    pub(super) fn is_passing(&self) -> bool {
        let Trouble::Database(error) = self else { return false };
        let passing = [
            &SqlState::T_R_SERIALIZATION_FAILURE,
            &SqlState::T_R_DEADLOCK_DETECTED,
            &SqlState::ADMIN_SHUTDOWN,
            &SqlState::CRASH_SHUTDOWN,
            &SqlState::CANNOT_CONNECT_NOW,
        ];
        error.code().map_or_else(|| is_broken(error), |code| passing.contains(&code))
    }

    pub(super) fn into_error(self, address: &PostgresAddress) -> StoreError {
        match self {
            Trouble::Database(error) => of_database(address, &error),
            Trouble::Pool(PoolError::Timeout(_)) => StoreError::Unavailable(format!(
                "no connection to `{address}` was had in 15 seconds: check that the server answers, then try again"
            )),
            Trouble::Pool(error) => StoreError::Unavailable(format!("`{address}` cannot be used ({error}): try again")),
            Trouble::Unread(unread) => unread.into_error(&format!("`{address}`"), "a backup"),
        }
    }
}

/// Checks whether an error says that the tables are not those of this release.
pub(super) fn is_of_schema(error: &Error) -> bool {
    let of_schema = [
        &SqlState::UNDEFINED_TABLE,
        &SqlState::UNDEFINED_COLUMN,
        &SqlState::UNDEFINED_FUNCTION,
        &SqlState::INVALID_SCHEMA_NAME,
    ];
    error.code().is_some_and(|code| of_schema.contains(&code))
}

fn of_database(address: &PostgresAddress, error: &Error) -> StoreError {
    let Some(code) = error.code() else { return of_connection(address, error) };
    let reason = error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned());
    let unavailable =
        |what: &str, remedy: &str| StoreError::Unavailable(format!("{what} ({}): {remedy}", plain_reason(&reason)));
    match code {
        code if *code == SqlState::DISK_FULL => StoreError::Full,
        code if *code == SqlState::READ_ONLY_SQL_TRANSACTION => StoreError::Failed {
            code: "read_only",
            message: format!("`{address}` can only be read, like a replica"),
            help: "name the primary server in the address of the store".to_owned(),
        },
        code if *code == SqlState::INVALID_PASSWORD => {
            unavailable(&format!("`{address}` refuses the password"), "correct it in the address, or set `PGPASSWORD`")
        }
        code if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION && reason.contains("no encryption") => {
            unavailable(
                &format!("`{address}` accepts encrypted connections only"),
                "add `sslmode=require` to the address",
            )
        }
        code if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            unavailable(&format!("`{address}` refuses the user"), "correct it in the address, or have it allowed")
        }
        code if *code == SqlState::INVALID_CATALOG_NAME => unavailable(
            &format!("there is no database at `{address}`"),
            "create it with `createdb`, or name another one",
        ),
        code if *code == SqlState::INSUFFICIENT_PRIVILEGE => unavailable(
            &format!("`{address}` does not allow this to its user"),
            "grant it `CREATE` on the database, or create the schema for it",
        ),
        code if *code == SqlState::TOO_MANY_CONNECTIONS => {
            unavailable(&format!("`{address}` has no connection left"), "raise `max_connections`, or end other clients")
        }
        _ if is_of_schema(error) => unavailable(
            &format!("`{address}` no longer has the tables of the run store"),
            "restore them from a backup, then start again",
        ),
        _ => unavailable(&format!("`{address}` cannot be used"), "try again when the server is ready"),
    }
}

fn of_connection(address: &PostgresAddress, error: &Error) -> StoreError {
    let why = innermost(error).map_or_else(|| error.to_string(), ToString::to_string);
    let remedy = match why.to_lowercase() {
        why if why.contains("certificate") => {
            "name the certificates to trust with `sslrootcert`, or the host as the certificate has it"
        }
        why if why.contains("does not support tls") => {
            "allow encryption there, or add `sslmode=disable` where the network is trusted"
        }
        why if why.contains("password") => "add it to the address, or set `PGPASSWORD`",
        _ => "check that the server runs there, then try again",
    };
    StoreError::Unavailable(format!("`{address}` cannot be reached ({}): {remedy}", plain_reason(&why)))
}

/// Returns a reason without the characters that separate a message from its remedy.
pub(super) fn plain_reason(why: &str) -> String {
    why.replace(": ", ", ")
}

/// Checks whether the connection ended, or could not be made, for a reason of the network.
fn is_broken(error: &Error) -> bool {
    error.is_closed() || innermost(error).is_some_and(|cause| cause.is::<std::io::Error>())
}

fn innermost(error: &Error) -> Option<&(dyn std::error::Error + 'static)> {
    let mut cause = error.source();
    while let Some(deeper) = cause.and_then(std::error::Error::source) {
        cause = Some(deeper);
    }
    cause
}
