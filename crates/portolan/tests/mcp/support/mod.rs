//! A scratch project, a client, and an agent.

mod agent;
mod fifo;
mod project;
mod schema;
mod willing;
mod wire;

pub(crate) use agent::{Chance, Obedient, offered};
pub(crate) use fifo::{Fifo, within};
pub(crate) use project::{Project, bytes};
pub(crate) use willing::Willing;
pub(crate) use wire::{Answer, Wire};
