//! The page itself: one HTML file without anything from elsewhere.

use std::sync::LazyLock;

use data_encoding::BASE64;
use ring::digest::{SHA256, digest};
use rmcp::model::{MetaObject, Resource, ResourceContents};
use serde_json::json;

use super::{PAGE, URI};

const HTML: &str = include_str!("run.html");

/// The page, whose policy permits its own script and styles by their digests, and nothing else.
static TEXT: LazyLock<String> = LazyLock::new(|| {
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash("<script>", "</script>"),
        hash("<style>", "</style>")
    );
    HTML.replacen("<!-- policy -->", &format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">"), 1)
});

/// Returns the digest of the text between two tags, as policies name it.
fn hash(begin: &str, end: &str) -> String {
    let text = HTML.split_once(begin).and_then(|(_, rest)| rest.split_once(end)).map(|(text, _)| text);
    let text = text.expect("the page has one script and one style sheet");
    format!("sha256-{}", BASE64.encode(digest(&SHA256, text.as_bytes()).as_ref()))
}

/// Returns the page in the list of resources.
pub(in crate::mcp) fn resource() -> Resource {
    Resource::new(URI, "run-view")
        .with_title("A run, live")
        .with_description("Shows where a run is, and asks the person what is to be decided")
        .with_mime_type(PAGE)
}

/// Returns the contents of the page. Without domains, the client lets it reach none.
pub(in crate::mcp) fn contents() -> ResourceContents {
    let mut meta = MetaObject::new();
    meta.insert("ui".to_owned(), json!({ "prefersBorder": true }));
    ResourceContents::text(TEXT.as_str(), URI).with_mime_type(PAGE).with_meta(meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small_and_has_all_of_itself() {
        assert!(TEXT.len() < 30 << 10, "it has {} bytes", TEXT.len());
        assert_eq!(TEXT.matches("Content-Security-Policy").count(), 1);
        for elsewhere in ["http://", "https://", "src=", "href=", "@import", "url(http", "innerHTML", "eval("] {
            let found = TEXT.replace("http://www.w3.org/2000/svg", "");
            assert!(!found.contains(elsewhere), "{elsewhere}");
        }
    }
}
