//! Models: what is sent to providers, what comes of what they say, and what is played in their place.

mod answers;
mod bounds;
mod failures;
mod guide;
mod keys;
mod played;
mod prices;
#[path = "../common/provider.rs"]
mod provider;
mod requests;
mod retries;
mod support;
