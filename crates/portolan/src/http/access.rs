//! Who may use a server that listens on this machine.
//!
//! | refused | reason |
//! |---|---|
//! | another `Host` | DNS rebinding: a foreign page under a name that resolves to this machine |
//! | another `Origin`, another site by `Sec-Fetch-Site` | a foreign page sends the request |
//! | no token or another one | another user of the machine |

use axum::extract::Request;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use portolan_runtime::service::ServiceError;

use super::Refusal;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The rules by which requests are admitted.
pub(crate) struct Access {
    /// The server's names, as the `Host` header has them.
    hosts: Vec<String>,
    /// The token that requests carry. `None` if they need none.
    token: Option<String>,
}

impl Access {
    /// Admits requests to this machine's own names at `port`, with `token` if there is one.
    pub(crate) fn new(port: u16, token: Option<String>) -> Access {
        let hosts = ["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{port}"));
        Access { hosts: hosts.to_vec(), token }
    }

    /// Returns the token that requests carry, if they need one.
    pub(crate) fn bearer(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Checks the `Host` header: there must be exactly one, and it must name this server.
    pub(crate) fn host(&self, request: &Request) -> Result<(), Refusal> {
        let mut named = request.headers().get_all(HOST).iter();
        let known = |name: &HeaderValue| self.hosts.iter().any(|host| name.as_bytes() == host.as_bytes());
        // A request line with an absolute URI names a host, too.
        let authority = request.uri().authority();
        let same = authority.is_none_or(|authority| self.hosts.iter().any(|host| authority.as_str() == host));
        match (named.next(), named.next()) {
            (Some(name), None) if known(name) && same => Ok(()),
            _ => Err(Refusal::new(
                StatusCode::MISDIRECTED_REQUEST,
                "other_host",
                "the `Host` header does not name this server",
                "use the address that the server printed when it started",
            )),
        }
    }

    /// Checks that no foreign page sends the request.
    pub(crate) fn same_site(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let own = |origin: &HeaderValue| {
            let origin = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
            origin.is_some_and(|host| self.hosts.iter().any(|known| known == host))
        };
        let is_ours = |site: &HeaderValue| matches!(site.as_bytes(), b"same-origin" | b"none");
        if headers.get_all(ORIGIN).iter().all(own) && headers.get_all(SEC_FETCH_SITE).iter().all(is_ours) {
            return Ok(());
        }
        Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "other_origin",
            "the request comes from another site's page",
            "only the server's own page and programs with its token can send requests",
        ))
    }

    /// Checks the token of a request.
    pub(crate) fn token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(token) = &self.token else { return Ok(()) };
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let is_ours = |value: &HeaderValue| {
            let given = value.as_bytes().strip_prefix(b"Bearer ");
            given.is_some_and(|given| is_equal(given, token.as_bytes()))
        };
        if given.next().is_some_and(is_ours) && given.next().is_none() {
            return Ok(());
        }
        Err(Refusal::new(
            StatusCode::UNAUTHORIZED,
            "no_token",
            "the server's token is missing or wrong",
            "send `Authorization: Bearer` with the token that the server printed or keeps in `.portolan`",
        ))
    }
}

/// Compares in constant time, so that the duration does not reveal how much is right.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differ = one.iter().zip(other).fold(0, |differ, (one, other)| differ | (one ^ other));
    one.len() == other.len() && differ == 0
}

/// Creates a token of 256 random bits, in hexadecimal.
///
/// # Errors
/// The system provides no random bytes.
pub(crate) fn random_token() -> Result<String, ServiceError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        let message = format!("the system provides no random bytes: {error}");
        ServiceError::failed("no_chance", message, "try again")
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
