//! The address of a database: a URL as `psql` takes it.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::store::BadAddress;

/// The address of a run store in PostgreSQL.
///
/// A `postgres://` URL with two parameters besides those of PostgreSQL's own clients: `schema` names the schema of the
/// tables (`portolan` without it), so that several projects share a database. `sslrootcert` names a file with the
/// certificates to trust instead of the system's. With `sslmode=require`, `verify-ca` and `verify-full` the connection
/// is encrypted and the server's certificate is verified; this is the default unless the server is on this machine.
///
/// ```
/// use portolan_runtime::store::PostgresAddress;
///
/// let address: PostgresAddress = "postgres://ann:secret@db.example/runs?schema=shop".parse()?;
/// assert_eq!(address.to_string(), "postgres://ann@db.example:5432/runs?schema=shop");
/// # Ok::<(), portolan_runtime::store::BadAddress>(())
/// ```
#[derive(Clone)]
pub struct PostgresAddress {
    pub(super) config: Config,
    pub(super) schema: String,
    pub(super) root_certificates: Option<PathBuf>,
}

/// The time that a server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const DEFAULT_SCHEMA: &str = "portolan";
const DEFAULT_PORT: u16 = 5432;

impl PostgresAddress {
    /// Checks whether a text is meant as such an address.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Returns the address with this password, if it has none itself.
    #[must_use]
    pub fn with_password(mut self, password: Option<&str>) -> PostgresAddress {
        if let (None, Some(password)) = (self.config.get_password(), password) {
            self.config.password(password);
        }
        self
    }

    /// Returns the address of the shared lists: all that decides which server is asked, and neither the user nor the
    /// password. It shows where the server is not verified.
    pub(super) fn of_lists(&self) -> String {
        let mut parts = vec![format!("schema={}", self.schema)];
        let addresses: Vec<String> = self.config.get_hostaddrs().iter().map(ToString::to_string).collect();
        if !addresses.is_empty() {
            parts.push(format!("hostaddr={}", addresses.join(",")));
        }
        if self.config.get_ssl_mode() == SslMode::Disable && self.has_remote_host() {
            parts.push("sslmode=disable".to_owned());
        }
        if let Some(path) = &self.root_certificates {
            parts.push(format!("sslrootcert={}", path.display()));
        }
        format!("postgres://{}/{}?{}", self.hosts(), self.config.get_dbname().unwrap_or_default(), parts.join("&"))
    }

    /// Returns the hosts with their ports.
    fn hosts(&self) -> String {
        let ports = self.config.get_ports();
        let host = |(place, host): (usize, &Host)| {
            let port = ports.get(place).or(ports.first()).unwrap_or(&DEFAULT_PORT);
            match host {
                Host::Tcp(name) if name.contains(':') => format!("[{name}]:{port}"),
                Host::Tcp(name) => format!("{name}:{port}"),
                #[cfg(unix)]
                Host::Unix(folder) => format!("{}:{port}", folder.display()),
            }
        };
        self.config.get_hosts().iter().enumerate().map(host).collect::<Vec<_>>().join(",")
    }

    fn has_remote_host(&self) -> bool {
        let is_loopback = |name: &str| name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        self.config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(name) if !is_loopback(name)))
    }
}

impl FromStr for PostgresAddress {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<PostgresAddress, BadAddress> {
        let (url, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut schema, mut root_certificates, mut mode) = (DEFAULT_SCHEMA.to_owned(), None, None);
        let mut rest = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("schema", name)) => schema = schema_name(name)?,
                Some(("sslrootcert", path)) => root_certificates = Some(PathBuf::from(decoded(path)?)),
                Some(("sslmode", name)) => mode = Some(ssl_mode(name)?),
                _ => rest.push(part),
            }
        }
        let url = if rest.is_empty() { url.to_owned() } else { format!("{url}?{}", rest.join("&")) };
        let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
            let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            BadAddress(format!(
                "the address of the run store is not understood ({why}); write it like \
                 `postgres://user:password@host:5432/database`"
            ))
        })?;
        if config.get_hosts().is_empty() {
            config.host("localhost");
        }
        if config.get_dbname().is_none() {
            return Err(BadAddress(
                "the address of the run store names no database; write it like \
                 `postgres://user:password@host:5432/database`"
                    .to_owned(),
            ));
        }
        config.application_name("portolan");
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        let mut address = PostgresAddress { config, schema, root_certificates };
        let is_encrypted = address.has_remote_host() || address.root_certificates.is_some();
        address.config.ssl_mode(mode.unwrap_or(if is_encrypted { SslMode::Require } else { SslMode::Disable }));
        Ok(address)
    }
}

/// Returns the name of a schema. Only plain names are allowed, because the name becomes a part of statements.
fn schema_name(name: &str) -> Result<String, BadAddress> {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && name.len() <= 63
        && !name.starts_with("pg_");
    match is_plain {
        true => Ok(name.to_owned()),
        false => Err(BadAddress(format!(
            "`schema={name}` is not a name of a schema; use up to 63 of a-z, 0-9 and `_`, not beginning with a digit or `pg_`"
        ))),
    }
}

fn ssl_mode(name: &str) -> Result<SslMode, BadAddress> {
    match name {
        "disable" => Ok(SslMode::Disable),
        "require" | "verify-ca" | "verify-full" => Ok(SslMode::Require),
        _ => Err(BadAddress(format!(
            "`sslmode={name}` does not say whether the connection is encrypted; use `disable`, or `require`, which also \
             verifies the certificate"
        ))),
    }
}

fn decoded(text: &str) -> Result<String, BadAddress> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    decoded
        .map(Into::into)
        .map_err(|_| BadAddress(format!("`sslrootcert={text}` is not valid UTF-8; correct the path")))
}

/// Without the password.
impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        f.write_str(&self.hosts())?;
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())?;
        if self.schema != DEFAULT_SCHEMA {
            write!(f, "?schema={}", self.schema)?;
        }
        Ok(())
    }
}

/// Without the password.
impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        match text.parse::<PostgresAddress>() {
            Ok(address) => format!("{address} {:?}", address.config.get_ssl_mode()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn an_address_shows_no_password_and_says_whether_it_is_encrypted() {
        for (text, shown) in [
            ("postgres://localhost/runs", "postgres://localhost:5432/runs Disable"),
            ("postgres:///runs", "postgres://localhost:5432/runs Disable"),
            ("postgresql://ann:hush@[::1]:5433/runs", "postgres://ann@[::1]:5433/runs Disable"),
            ("postgres://ann:hush@db.example/runs", "postgres://ann@db.example:5432/runs Require"),
            (
                "postgres://ann@db.example/runs?sslmode=disable&schema=shop",
                "postgres://ann@db.example:5432/runs?schema=shop Disable",
            ),
            ("postgres://ann@localhost/runs?sslrootcert=%2Ftmp%2Fca.pem", "postgres://ann@localhost:5432/runs Require"),
            ("postgres://a,b:5433/runs?sslmode=verify-full", "postgres://a:5432,b:5433/runs Require"),
            ("postgres://ann@%2Frun%2Fpostgresql/runs", "postgres://ann@/run/postgresql:5432/runs Disable"),
        ] {
            assert_eq!(parsed(text), shown, "{text}");
        }
        let address: PostgresAddress = "postgres://ann:hush@db.example/runs".parse().unwrap();
        assert!(!format!("{address:?}").contains("hush"));
    }

    #[test]
    fn what_is_wrong_in_an_address_is_said() {
        for (text, said) in [
            ("postgres://localhost", "the address of the run store names no database"),
            ("postgres://localhost/runs?schema=Shop", "`schema=Shop` is not a name of a schema"),
            ("postgres://localhost/runs?schema=a;drop", "`schema=a;drop` is not a name of a schema"),
            ("postgres://localhost/runs?sslmode=prefer", "`sslmode=prefer` does not say whether"),
            (
                "postgres://localhost/runs?colour=red",
                "the address of the run store is not understood (unknown option `colour`)",
            ),
            ("postgres://localhost:many/runs", "the address of the run store is not understood"),
        ] {
            assert!(parsed(text).starts_with(said), "{text}: {}", parsed(text));
        }
    }

    #[test]
    fn a_password_of_the_environment_does_not_replace_that_of_the_address() {
        let password = |text: &str| {
            let address = text.parse::<PostgresAddress>().unwrap().with_password(Some("theirs"));
            String::from_utf8(address.config.get_password().unwrap().to_vec()).unwrap()
        };
        assert_eq!(password("postgres://ann@localhost/runs"), "theirs");
        assert_eq!(password("postgres://ann:mine@localhost/runs"), "mine");
    }
}
