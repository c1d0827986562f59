//! Functions, told as stories: a graph of tool calls, what it is given, what its tools answer, and what becomes of it.
//!
//! Every story is told again with a restart from JSON after every event, and with every order in which its branches and
//! answers can come that chance picks: all of them must end alike.

mod altered;
mod branches;
mod calls;
mod errors;
mod loops;
mod story;
mod subgraphs;
