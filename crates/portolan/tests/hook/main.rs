//! `portolan hook` and `portolan guard git`, as hosts and git run them, on real repositories.
#![cfg(unix)]

mod announcements;
#[path = "../../../portolan-runtime/tests/common/calls.rs"]
#[expect(dead_code, reason = "each test file makes its own part of these calls")]
mod calls;
mod git;
mod late;
mod left;
mod other_stores;
mod pins;
#[path = "../../../portolan-runtime/tests/common/postgres.rs"]
#[expect(dead_code, reason = "the tests of the store use more of it")]
mod postgres;
mod record;
mod runs;
mod sessions;
mod support;
