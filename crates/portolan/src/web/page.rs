//! The built page. It is embedded in the program: it needs no files on disk and no Node.js.

use std::io::Read;
use std::sync::OnceLock;

use axum::extract::Path;
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use flate2::read::GzDecoder;
use portolan_runtime::digest::Digest;

/// A file of the page, with the entity tag under which browsers cache it.
struct Asset {
    name: &'static str,
    kind: &'static str,
    /// The content, compressed with gzip by the build.
    packed: &'static [u8],
    tag: OnceLock<String>,
}

macro_rules! assets {
    ($($name:literal: $kind:literal,)*) => {
        [$(Asset { name: $name, kind: $kind, packed: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".gz")), tag: OnceLock::new() },)*]
    };
}

static ASSETS: [Asset; 5] = assets! {
    "index.html": "text/html; charset=utf-8",
    "studio.js": "text/javascript; charset=utf-8",
    "studio.css": "text/css; charset=utf-8",
    "code.js": "text/javascript; charset=utf-8",
    "favicon.svg": "image/svg+xml",
};

/// Serves the page itself.
pub(super) async fn index(headers: HeaderMap) -> Response {
    asset("index.html", &headers)
}

/// Serves a file that the page loads.
pub(super) async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    asset(&name, &headers)
}

fn asset(name: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return (StatusCode::NOT_FOUND, "there is no such page").into_response();
    };
    let packed = takes_gzip(headers);
    // The two encodings of a file need different entity tags.
    let form = if packed { "" } else { "-plain" };
    let etag = format!("\"{}{form}\"", asset.tag.get_or_init(|| Digest::of(asset.packed).to_string()));
    let same = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == etag.as_bytes());
    // The names are the same in every release, so browsers have to revalidate.
    let common_headers =
        [(CACHE_CONTROL, "no-cache"), (ETAG, &etag), (CONTENT_TYPE, asset.kind), (VARY, "accept-encoding")]
            .map(|(name, value)| (name, value.to_owned()));
    if same {
        (StatusCode::NOT_MODIFIED, common_headers).into_response()
    } else if packed {
        (common_headers, [(CONTENT_ENCODING, "gzip")], asset.packed).into_response()
    } else {
        (common_headers, plain(asset.packed)).into_response()
    }
}

/// Returns whether a client accepts gzip: by name, and not with a weight of zero.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let listed = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    listed.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.trim().parse::<f32>().ok());
        name.trim().eq_ignore_ascii_case("gzip") && weight != Some(0.0)
    })
}

fn plain(packed: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut text).expect("it was packed by the build");
    text
}

/// The OpenAPI description of the interface.
pub(super) const OPENAPI: &str = include_str!("openapi.json");

/// Serves the OpenAPI description.
pub(super) async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

#[cfg(test)]
mod tests {
    use super::ASSETS;

    #[test]
    fn the_page_is_small() {
        let size: usize = ASSETS.iter().map(|asset| asset.packed.len()).sum();
        assert!(size <= 350 << 10, "{size} bytes, compressed");
    }
}
