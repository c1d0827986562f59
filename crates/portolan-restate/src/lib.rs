//! The virtual objects in which [Restate](https://restate.dev) keeps Portolan's runs.
//!
//! Restate calls them over HTTP/2; Portolan's processes call Restate. A store `restate://HOST:8080/SPACE` of
//! `portolan-runtime` needs these objects to be registered there.
//!
//! ```
//! use restate_sdk::prelude::Endpoint;
//!
//! let endpoint = portolan_restate::bind(Endpoint::builder());
//! # drop(endpoint);
//! ```
#![warn(missing_docs)]

mod objects;

pub use objects::bind;
