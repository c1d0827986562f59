//! Views of a workflow for people and agents. Each is a pure function of it; none knows the engine.

mod mermaid;
mod picture;

pub use mermaid::{diagram_markdown, mermaid};
