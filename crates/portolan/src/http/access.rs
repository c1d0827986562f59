//! Who may use a server.
//!
//! | refused | reason |
//! |---|---|
//! | another `Host` | DNS rebinding: a foreign page under a name that resolves to this machine |
//! | another `Origin`, another site by `Sec-Fetch-Site` | a foreign page sends the request |
//! | no token or another one | another user of the machine, or another machine |

use axum::extract::Request;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use data_encoding::HEXLOWER;
use portolan_core::diagnostic::list;
use portolan_runtime::service::ServiceError;

use super::Refusal;
use super::oauth::OAuth;
use super::principal::Principal;
use super::tokens::TokenFile;

/// The beginning of the header with a token.
const BEARER: &[u8] = b"Bearer ";
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The rules by which requests are admitted.
pub(crate) struct Access {
    /// The server's addresses, as the `Origin` header has them.
    origins: Vec<String>,
    holders: Holders,
}

/// The clients that are admitted.
pub(crate) enum Holders {
    /// All.
    Everyone,
    /// Those with this token.
    Shared(String),
    /// Those with a token of the file.
    Named(TokenFile),
    /// Those with a token of the authorization server.
    Issued(OAuth),
}

impl Access {
    /// Admits requests to this machine's own names at `port`.
    pub(crate) fn new(scheme: &str, port: u16, holders: Holders) -> Access {
        let own = ["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{scheme}://{name}:{port}"));
        Access { origins: own.to_vec(), holders }
    }

    /// Also admits requests to other addresses, without a path.
    pub(crate) fn at(mut self, addresses: Vec<String>) -> Access {
        self.origins.extend(addresses);
        self
    }

    /// Checks whether a `Host` header names this server.
    fn is_own(&self, host: &[u8]) -> bool {
        self.origins.iter().filter_map(|own| own.split_once("://")).any(|(scheme, own)| {
            // Clients may write the usual port, and leave it out.
            let usual: &[u8] = if scheme == "https" { b":443" } else { b":80" };
            let host = host.strip_suffix(usual).unwrap_or(host);
            own.as_bytes().strip_suffix(usual).unwrap_or(own.as_bytes()).eq_ignore_ascii_case(host)
        })
    }

    /// Returns the token that all clients share, if they do.
    pub(crate) fn bearer(&self) -> Option<&str> {
        match &self.holders {
            Holders::Shared(token) => Some(token),
            Holders::Everyone | Holders::Named(_) | Holders::Issued(_) => None,
        }
    }

    /// Checks the `Host` header: there must be exactly one, and it must name this server.
    pub(crate) fn host(&self, request: &Request) -> Result<(), Refusal> {
        let mut named = request.headers().get_all(HOST).iter();
        // A request line with an absolute URI names a host, too.
        let authority = request.uri().authority();
        let same = authority.is_none_or(|authority| self.is_own(authority.as_str().as_bytes()));
        match (named.next(), named.next()) {
            (Some(name), None) if self.is_own(name.as_bytes()) && same => Ok(()),
            _ => Err(Refusal::new(
                StatusCode::MISDIRECTED_REQUEST,
                "other_host",
                "the `Host` header does not name this server",
                "use the address that the server printed when it started, or start it with the one that clients use: `--url`",
            )),
        }
    }

    /// Checks that no foreign page sends the request.
    pub(crate) fn same_site(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let own = |origin: &HeaderValue| self.origins.iter().any(|own| own.as_bytes() == origin.as_bytes());
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

    /// Returns the authorization server whose tokens are admitted, if one is.
    pub(crate) fn oauth(&self) -> Option<&OAuth> {
        match &self.holders {
            Holders::Issued(oauth) => Some(oauth),
            Holders::Everyone | Holders::Shared(_) | Holders::Named(_) => None,
        }
    }

    /// Checks whether a token that was admitted can be refused later.
    pub(crate) fn can_withdraw(&self) -> bool {
        matches!(self.holders, Holders::Named(_) | Holders::Issued(_))
    }

    /// Returns the sender of a request to a path, by its token.
    pub(crate) fn principal(&self, headers: &HeaderMap, path: &str) -> Result<Principal, Refusal> {
        let token = bearer(headers);
        let (holder, help) = match &self.holders {
            Holders::Everyone => return Ok(Principal::shared()),
            Holders::Shared(own) => (
                token.filter(|token| is_equal(token, own.as_bytes())).map(|_| Principal::shared()),
                "send `Authorization: Bearer` with the token that the server printed or keeps in `.portolan`",
            ),
            Holders::Named(file) => (
                token.and_then(|token| file.holder(token)),
                "send `Authorization: Bearer` with a token that `portolan token new` has issued",
            ),
            Holders::Issued(oauth) => (
                token.and_then(|token| oauth.holder(token, path)),
                "send `Authorization: Bearer` with a token of the authorization server for this server",
            ),
        };
        let holder = holder.ok_or_else(|| {
            let message = "the server's token is missing or wrong";
            let challenge = self.oauth().map_or_else(|| "Bearer".to_owned(), |it| it.challenge(path, token.is_some()));
            Refusal::new(StatusCode::UNAUTHORIZED, "no_token", message, help).challenging(&challenge)
        })?;
        match holder.may_use(path) {
            true => Ok(holder),
            false => Err(other_project(&holder)),
        }
    }
}

fn other_project(holder: &Principal) -> Refusal {
    let projects: Vec<&str> = holder.projects.iter().flat_map(|names| names.iter().map(String::as_str)).collect();
    let message = format!("the token is only for the project {}", list(&projects));
    let help = "send the request to `/projects/<name>/mcp` of this project, or use another token";
    Refusal::new(StatusCode::FORBIDDEN, "other_project", message, help)
}

/// Returns the token of a request that has exactly one.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let (first, second) = (given.next(), given.next());
    let (scheme, token) = first.filter(|_| second.is_none())?.as_bytes().split_at_checked(BEARER.len())?;
    scheme.eq_ignore_ascii_case(BEARER).then_some(token)
}

/// Compares in constant time, so that the duration does not reveal how much is right.
pub(crate) fn is_equal(one: &[u8], other: &[u8]) -> bool {
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
    Ok(HEXLOWER.encode(&bytes))
}
