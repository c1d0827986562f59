//! Agents are led by handles and tokens: each call is made to a service that knows only what is in the files.

#[path = "../common/mod.rs"]
mod common;

mod corpora;
mod drift;
mod examples;
mod field;
mod offers;
mod people;
mod races;
mod states;
mod walker;
