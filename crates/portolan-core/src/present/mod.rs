//! Views of a workflow for people and agents. Each is a pure function of it; none knows the engine.

mod dot;
mod mermaid;
mod outline;
mod picture;
#[cfg(test)]
mod pictures_tests;

pub use dot::dot;
pub use mermaid::{diagram_markdown, mermaid};
pub use outline::outline;
