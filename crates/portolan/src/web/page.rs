//! The built page. It is a part of the program: nothing is read from the disk for it, and users need no Node.js.

use std::sync::OnceLock;

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use portolan_runtime::digest::Digest;

/// A file of the page, with what it is known by to browsers that have it.
struct Asset {
    name: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
    tag: OnceLock<String>,
}

macro_rules! assets {
    ($($name:literal: $kind:literal,)*) => {
        [$(Asset { name: $name, kind: $kind, bytes: include_bytes!(concat!("../../studio/dist/", $name)), tag: OnceLock::new() },)*]
    };
}

static ASSETS: [Asset; 5] = assets! {
    "index.html": "text/html; charset=utf-8",
    "studio.js": "text/javascript; charset=utf-8",
    "studio.css": "text/css; charset=utf-8",
    "code.js": "text/javascript; charset=utf-8",
    "favicon.svg": "image/svg+xml",
};

/// The page itself.
pub(super) async fn index(headers: HeaderMap) -> Response {
    asset("index.html", &headers)
}

/// A file that the page loads.
pub(super) async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    asset(&name, &headers)
}

fn asset(name: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return (StatusCode::NOT_FOUND, "there is no such page").into_response();
    };
    let etag = asset.tag.get_or_init(|| format!("\"{}\"", Digest::of(asset.bytes)));
    let same = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == etag.as_bytes());
    // The names are the same in every release, so that browsers ask each time.
    let told = [(CACHE_CONTROL, "no-cache".to_owned()), (ETAG, etag.clone()), (CONTENT_TYPE, asset.kind.to_owned())];
    if same { (StatusCode::NOT_MODIFIED, told).into_response() } else { (told, asset.bytes).into_response() }
}

/// What programs are told of the interface.
pub(super) const OPENAPI: &str = include_str!("openapi.json");

/// The description of the interface.
pub(super) async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}
