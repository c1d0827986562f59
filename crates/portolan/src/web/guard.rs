//! Access control: requests of the studio's own page, and of programs that have its token, are admitted.
//!
//! [`Access`](crate::http::Access) checks the `Host`, the origin and the token. Here stands what only the studio asks for:
//! a body that is JSON, because forms of foreign pages can send other bodies without a preflight request, and the right
//! to change anything.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Studio;
use crate::http::Refusal;

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
    studio.access.host(request)?;
    let path = request.uri().path();
    if !is_opened(path, headers) {
        studio.access.same_site(headers)?;
    }
    if path != "/api" && !path.starts_with("/api/") {
        return Ok(());
    }
    studio.access.principal(headers, path)?;
    if request.method() == Method::GET {
        return Ok(());
    }
    json(headers)?;
    if studio.enrolled.is_some() && path.starts_with("/api/v1/passkeys") {
        return Ok(());
    }
    if is_look(path) { Ok(()) } else { studio.may_change() }
}

/// Returns whether a browser opens the page itself, possibly by a link on another site. Without the token the page
/// shows nothing, and no other page can read it.
fn is_opened(path: &str, headers: &HeaderMap) -> bool {
    let says = |name: &'static str, value: &str| headers.get(name).is_some_and(|header| header == value);
    path == "/" && says("sec-fetch-mode", "navigate") && says("sec-fetch-dest", "document")
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
        "the body of a request must be JSON",
        "send it with `content-type: application/json`",
    ))
}

/// Returns whether a request with a body only reads: its parameters are too long for a URL.
fn is_look(path: &str) -> bool {
    ["/checks", "/edits", "/drawing"].iter().any(|look| path.ends_with(look))
}

impl Studio {
    /// Returns why nothing can be changed, as a sentence; `None` if the studio is not read-only.
    pub(super) fn only_shows(&self) -> Option<&str> {
        self.told_by.as_deref().or(self.read_only.then_some("This studio was started with --read-only."))
    }

    /// Refuses if the studio is read-only.
    pub(super) fn may_change(&self) -> Result<(), Refusal> {
        if self.enrolled.is_some() {
            let message = "this page can only enrol a passkey";
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "read_only",
                message,
                "use `portolan studio` for everything else",
            ));
        }
        if self.read_only {
            let help = "start it without `--read-only`";
            return Err(Refusal::new(StatusCode::FORBIDDEN, "read_only", "this studio is read-only", help));
        }
        match &self.told_by {
            None => Ok(()),
            Some(sign) => Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "needs_person",
                format!("this studio is read-only, because {sign}"),
                "a person must start `portolan studio` in a terminal that was not opened by an agent's program",
            )),
        }
    }
}
