//! The pool of MCP servers, with real processes and real sockets on this machine. Nothing sleeps to wait for something:
//! what a server receives comes back on its standard error, and a named pipe tells when the last process is gone.
#![cfg(unix)]

mod builtin;
mod calls;
mod ends;
mod faults;
mod floods;
mod http;
mod lists;
mod npm;
mod sse;
mod starts;
mod support;
mod web;
