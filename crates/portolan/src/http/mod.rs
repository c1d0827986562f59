//! What every HTTP server of this program needs: its addresses, who may use it, and the form of a refusal.

mod access;
mod listeners;
mod note;
pub(crate) mod oauth;
mod principal;
pub(crate) mod project_path;
mod refusal;
pub(crate) mod tls;
pub(crate) mod tokens;
mod unread;

pub(crate) use access::{Access, Holders, is_equal, random_token};
pub(crate) use listeners::{Beside, Listeners, MOST_CONNECTIONS};
pub(crate) use note::write_private;
pub(crate) use principal::{Principal, Scope, Scopes};
pub(crate) use refusal::Refusal;
