//! How servers end: with their pool, however badly they behave, and nobody is left behind.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use portolan_core::graph::{Server, Transport};
use portolan_runtime::servers::{CallErrorKind, PoolOptions};
use serde_json::json;

use crate::support::{Held, MISBEHAVING, PATIENCE, World, block_on, call, error_text, misbehaving, nothing, stdio};

fn quick() -> PoolOptions {
    PoolOptions { grace: Duration::from_millis(200), ..PoolOptions::default() }
}

/// A server that holds a pipe open as long as it or one of its children lives.
fn held(mode: &str) -> (World, Held) {
    held_with(mode, quick())
}

fn held_with(mode: &str, options: PoolOptions) -> (World, Held) {
    let mut held = None;
    let server = |folder: &std::path::Path| -> Vec<Server> {
        let pipe = held.insert(Held::new(folder));
        let mut server = misbehaving("s", mode, folder);
        if let Transport::Stdio { args, .. } = &mut server.transport {
            args.extend(pipe.args());
        }
        vec![server]
    };
    let world = World::new(server, options);
    (world, held.expect("it was made"))
}

#[test]
fn closing_ends_a_server_that_behaves_by_the_end_of_its_input() {
    block_on(async {
        let (world, held) = held("normal");
        world.call("echo", nothing()).await.expect("a reply");
        world.servers.close().await;
        world.hears("s: end of input").await;
        held.released().await;
        let error = world.call("echo", nothing()).await.expect_err("closed");
        assert_eq!(error.kind, CallErrorKind::Closed);
    });
}

#[test]
fn closing_ends_those_that_ignore_it_and_their_children() {
    block_on(async {
        for mode in ["normal", "ignores_eof", "stubborn"] {
            let (world, held) = held(mode);
            world.text("have_children", nothing()).await;
            world.servers.close().await;
            held.released().await;
        }
    });
}

#[test]
fn dropping_the_pool_ends_them_all() {
    block_on(async {
        for mode in ["normal", "ignores_eof", "stubborn"] {
            let (world, held) = held(mode);
            world.text("have_children", nothing()).await;
            drop(world);
            held.released().await;
        }
    });
}

#[test]
fn the_end_of_the_runtime_ends_them_too() {
    let (world, held) = held("stubborn");
    block_on(world.text("have_children", nothing()));
    block_on(held.released());
    drop(world);
}

#[test]
fn children_of_a_server_that_died_go_with_it() {
    block_on(async {
        let (world, held) = held("normal");
        world.text("have_children", nothing()).await;
        world.call("die", nothing()).await.expect_err("it died");
        held.released().await;
    });
}

#[test]
fn a_server_that_does_not_introduce_itself_is_ended() {
    block_on(async {
        let options = PoolOptions { handshake_timeout: Duration::from_millis(500), ..quick() };
        let (world, held) = held_with("mute", options);
        let error = world.call("echo", nothing()).await.expect_err("no server");
        assert!(error.message.contains("did not complete the handshake"), "{}", error_text(&error));
        held.released().await;
    });
}

#[test]
fn closing_calls_off_a_start() {
    block_on(async {
        let (world, held) = held("mute");
        let servers = Arc::clone(&world.servers);
        let waiting = tokio::spawn(async move { servers.call(call("s", "echo", json!({}), PATIENCE)).await });
        world.hears("s: initialize").await;
        world.servers.close().await;
        held.released().await;
        let error = waiting.await.expect("no panic").expect_err("called off");
        assert_eq!(error.kind, CallErrorKind::Closed, "{}", error_text(&error));
    });
}

#[test]
fn closing_ends_calls_under_way() {
    block_on(async {
        let (world, held) = held("normal");
        let servers = Arc::clone(&world.servers);
        let waiting = tokio::spawn(async move { servers.call(call("s", "slow", json!({}), PATIENCE)).await });
        world.hears("s: call slow").await;
        world.servers.close().await;
        let error = waiting.await.expect("no panic").expect_err("called off");
        assert_eq!(error.kind, CallErrorKind::Lost, "{}", error_text(&error));
        held.released().await;
    });
}

/// Not a test of its own: the Portolan that another test kills.
#[test]
fn victim() {
    let Some(pipe) = std::env::var_os("PORTOLAN_TEST_HOLD") else { return };
    let pipe = pipe.into_string().expect("a plain path");
    block_on(async {
        let world = World::new(|_| vec![stdio("s", &["python3", MISBEHAVING, "normal", "--hold", &pipe])], quick());
        world.call("echo", nothing()).await.expect("a reply");
        std::io::stdout().write_all(b"ready\n").expect("the parent reads");
        world.call("slow", nothing()).await.expect("it never answers");
    });
}

#[test]
fn a_server_that_behaves_ends_even_when_portolan_is_killed() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let held = Held::new(folder.path());
    let mut victim = Command::new(std::env::current_exe().expect("this program is a file"))
        .args(["ends::victim", "--exact", "--nocapture", "--test-threads=1"])
        .env("PORTOLAN_TEST_HOLD", &held.args()[1])
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program can be started");
    let lines = BufReader::new(victim.stdout.take().expect("it is piped")).lines();
    let ready = lines.map_while(Result::ok).any(|line| line.ends_with("ready"));
    assert!(ready, "the victim is at work");
    victim.kill().expect("it lives");
    victim.wait().expect("it has ended");
    block_on(held.released());
}
