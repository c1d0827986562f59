//! Shared functions for HTTP: one TLS provider, causes of errors, and server-sent events.

mod events;

use std::error::Error;
use std::sync::Once;

pub(crate) use events::{ByteObserver, Data, Events};
use reqwest::{Client, ClientBuilder};

/// Returns the builder of a client with our user agent and our TLS provider.
pub fn client() -> ClientBuilder {
    static PROVIDER: Once = Once::new();
    // A program that embeds this crate may have chosen another provider, which is then used.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    Client::builder().user_agent(concat!("portolan/", env!("CARGO_PKG_VERSION")))
}

/// Returns the innermost cause of a failed request, without the address, which may be secret.
pub fn cause(error: &reqwest::Error) -> Option<String> {
    let mut cause: Option<&dyn Error> = error.source();
    while let Some(deeper) = cause.and_then(Error::source) {
        cause = Some(deeper);
    }
    cause.map(ToString::to_string)
}

/// Returns the innermost cause, or else reqwest's message.
pub fn explained(error: &reqwest::Error) -> String {
    cause(error).unwrap_or_else(|| error.to_string())
}
