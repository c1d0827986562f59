//! `portolan hook` and `portolan guard git`, as hosts and git run them, on real repositories.
#![cfg(unix)]

mod announcements;
#[path = "../../../portolan-runtime/tests/common/calls.rs"]
mod calls;
mod git;
mod late;
mod pins;
mod record;
mod runs;
mod sessions;
mod support;
