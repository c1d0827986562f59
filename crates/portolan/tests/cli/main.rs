//! The command line as a person or a script meets it: the real binary, with standard output, standard error and exit
//! code compared together; and the documents that speak of it.
//!
//! `UPDATE_EXPECT=1 cargo test -p portolan --test cli` accepts what is found, also in the generated documents.

mod archive;
mod around;
mod bounds;
mod builtin;
#[path = "../../../portolan-runtime/tests/common/calls.rs"]
#[expect(dead_code, reason = "each test file makes its own part of these calls")]
mod calls;
mod catalog;
mod check;
mod check_guards;
mod checks;
mod contexts;
mod demo;
mod eval;
mod examples;
mod export;
#[path = "../mcp/support/fifo.rs"]
mod fifo;
mod flow;
mod fork;
mod gate_http;
mod guidelines;
mod help;
mod imports;
mod init;
mod install;
mod killed;
mod malformed;
mod merge_gate;
mod misuse;
mod original;
mod output;
#[path = "../../../portolan-runtime/tests/common/pair.rs"]
mod pair;
mod people;
#[cfg(unix)]
#[path = "../../../portolan-runtime/tests/common/postgres.rs"]
#[expect(dead_code, reason = "the tests of the store use more of it")]
mod postgres;
#[path = "../../../portolan-runtime/tests/common/provider.rs"]
#[expect(dead_code, reason = "the tests of models use more of it")]
mod provider;
mod prune;
mod qa;
mod read_only;
#[cfg(unix)]
#[path = "../../../portolan-runtime/tests/common/restate.rs"]
#[expect(dead_code, reason = "the tests of the store use more of it")]
mod restate;
mod resume;
mod run;
mod runs;
mod serve;
mod serve_http;
mod serve_oauth;
mod serve_projects;
mod serve_tokens;
mod served;
mod show;
mod side_by_side;
mod standing;
mod states;
mod store;
mod stores;
mod studio;
mod supervisor;
mod support;
mod team;
mod team_budgets;
mod team_trust;
mod telemetry;
mod test;
mod trust;
mod verify;
mod worker;
