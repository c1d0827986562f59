//! What everything that speaks HTTP has to do with: one TLS, why a request failed, and server-sent events.

mod events;

use std::error::Error;
use std::sync::Once;

pub(crate) use events::{Data, Events, Passing};
use reqwest::{Client, ClientBuilder};

/// A client to be set up further, in our name.
pub(crate) fn client() -> ClientBuilder {
    static PROVIDER: Once = Once::new();
    // A program that we are part of may have chosen another one: then that is used.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    Client::builder().user_agent(concat!("portolan/", env!("CARGO_PKG_VERSION")))
}

/// What a request failed of, down to its cause, without the address: that may be a secret.
pub(crate) fn cause(error: &reqwest::Error) -> Option<String> {
    let mut cause: Option<&dyn Error> = error.source();
    while let Some(deeper) = cause.and_then(Error::source) {
        cause = Some(deeper);
    }
    cause.map(ToString::to_string)
}

/// The same, or else reqwest's own words.
pub(crate) fn explained(error: &reqwest::Error) -> String {
    cause(error).unwrap_or_else(|| error.to_string())
}
