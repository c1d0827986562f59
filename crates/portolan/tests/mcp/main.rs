//! The MCP face as clients meet it: the real binary, over its real pipes.
//!
//! Two clients: [`support::Wire`] writes and reads the lines themselves and checks every answer against its schema;
//! rmcp's own client stands for those that people use.

#![cfg(unix)]

mod adversary;
mod app;
mod author;
mod crash;
mod endings;
mod gates;
mod gateway;
mod gateway_definitions;
mod gateway_guards;
mod gateway_long_calls;
mod gateway_offers;
mod gateway_questions;
mod gateway_records;
mod gateway_subscriptions;
mod graph;
mod hostile;
mod long_calls;
mod navigate;
mod offers;
#[path = "../../../portolan-runtime/tests/common/pair.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod pair;
mod person;
mod protocol;
mod questions;
mod rivals;
mod support;
mod tools;
mod verify;
mod walks;
