//! Access control: requests of the studio's own page, and of programs that have its token, are admitted.
//!
//! | refused | reason |
//! |---|---|
//! | another `Host` | DNS rebinding: a foreign page under a name that resolves to this machine |
//! | another `Origin`, another site by `Sec-Fetch-Site` | a foreign page sends the request |
//! | under `/api`, no token or another one | another user of the machine, or a stolen link without its fragment |
//! | a body that is not JSON | forms of foreign pages can send other bodies without a preflight request |

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Studio;
use super::answer::Refusal;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The security headers of every response.
const HEADERS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
];

/// Admits or refuses a request, and adds the security headers to the response in both cases.
pub(super) async fn guard(State(studio): State<Arc<Studio>>, request: Request, next: Next) -> Response {
    let mut response = match admitted(&studio, &request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

fn admitted(studio: &Studio, request: &Request) -> Result<(), Refusal> {
    let headers = request.headers();
    host(studio, request)?;
    let path = request.uri().path();
    if !is_opened(path, headers) {
        same_site(studio, headers)?;
    }
    if path != "/api" && !path.starts_with("/api/") {
        return Ok(());
    }
    token(studio, headers)?;
    if request.method() == Method::GET {
        return Ok(());
    }
    json(headers)?;
    if studio.enrolled.is_some() && path.starts_with("/api/v1/passkeys") {
        return Ok(());
    }
    if is_look(path) { Ok(()) } else { studio.may_change() }
}

/// Checks the `Host` header: there must be exactly one, and it must name this server.
fn host(studio: &Studio, request: &Request) -> Result<(), Refusal> {
    let mut named = request.headers().get_all(HOST).iter();
    let known = |name: &HeaderValue| studio.hosts.iter().any(|host| name.as_bytes() == host.as_bytes());
    // A request line with an absolute URI names a host, too.
    let authority = request.uri().authority();
    let same = authority.is_none_or(|authority| studio.hosts.iter().any(|host| authority.as_str() == host));
    match (named.next(), named.next()) {
        (Some(name), None) if known(name) && same => Ok(()),
        _ => Err(Refusal::new(
            StatusCode::MISDIRECTED_REQUEST,
            "other_host",
            "the studio is not reached by that name",
            "use the address that `portolan studio` printed",
        )),
    }
}

/// Returns whether a browser opens the page itself, possibly by a link on another site. Without the token the page
/// shows nothing, and no other page can read it.
fn is_opened(path: &str, headers: &HeaderMap) -> bool {
    let says = |name: &'static str, value: &str| headers.get(name).is_some_and(|said| said == value);
    path == "/" && says("sec-fetch-mode", "navigate") && says("sec-fetch-dest", "document")
}

fn same_site(studio: &Studio, headers: &HeaderMap) -> Result<(), Refusal> {
    let own = |origin: &HeaderValue| {
        let origin = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
        origin.is_some_and(|host| studio.hosts.iter().any(|known| known == host))
    };
    let is_ours = |site: &HeaderValue| matches!(site.as_bytes(), b"same-origin" | b"none");
    if headers.get_all(ORIGIN).iter().all(own) && headers.get_all(SEC_FETCH_SITE).iter().all(is_ours) {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::FORBIDDEN,
        "other_origin",
        "another page asks for this",
        "only the studio's own page and programs with its token may",
    ))
}

fn token(studio: &Studio, headers: &HeaderMap) -> Result<(), Refusal> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let is_ours = |value: &HeaderValue| {
        let token = value.as_bytes().strip_prefix(b"Bearer ");
        token.is_some_and(|token| is_equal(token, studio.token.as_bytes()))
    };
    if given.next().is_some_and(is_ours) && given.next().is_none() {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::UNAUTHORIZED,
        "no_token",
        "the token of this studio is missing",
        "open the address that `portolan studio` printed, with all that stands behind the `#`",
    ))
}

/// Compares in constant time, so that the duration does not reveal how much is right.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differ = one.iter().zip(other).fold(0, |differ, (one, other)| differ | (one ^ other));
    one.len() == other.len() && differ == 0
}

fn json(headers: &HeaderMap) -> Result<(), Refusal> {
    let is_json = |kind: &HeaderValue| {
        let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
        kind.trim().eq_ignore_ascii_case("application/json")
    };
    let mut kinds = headers.get_all(CONTENT_TYPE).iter();
    if kinds.next().is_some_and(is_json) && kinds.next().is_none() {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "no_json",
        "the body of a request is JSON",
        "send it with `content-type: application/json`",
    ))
}

/// Returns whether a request with a body only reads: its parameters are too long for a URL.
fn is_look(path: &str) -> bool {
    ["/check", "/edit", "/drawing"].iter().any(|look| path.ends_with(look))
}

impl Studio {
    /// Refuses if the studio is read-only.
    pub(super) fn may_change(&self) -> Result<(), Refusal> {
        if self.enrolled.is_some() {
            let message = "this page only enrols a passkey";
            return Err(Refusal::new(StatusCode::FORBIDDEN, "read_only", message, "`portolan studio` does the rest"));
        }
        if self.read_only {
            let help = "start it without `--read-only`";
            return Err(Refusal::new(StatusCode::FORBIDDEN, "read_only", "this studio only shows", help));
        }
        match &self.told_by {
            None => Ok(()),
            Some(sign) => Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "needs_person",
                format!("this studio only shows, for {sign}"),
                "a person starts `portolan studio` in a terminal that no agent's program has opened",
            )),
        }
    }
}
