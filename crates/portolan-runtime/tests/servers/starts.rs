//! How servers are started, and what is said when they cannot be.

use std::time::Duration;

use expect_test::{Expect, expect};
use indexmap::IndexMap;
use portolan_core::graph::{Server, Transport};
use portolan_runtime::servers::{CallErrorKind, PoolOptions, ToolCall};
use serde_json::json;

use crate::support::{
    MISBEHAVING, PATIENCE, World, block_on, call, error_text, misbehaving, nothing, server, stdio, world, world_with,
};

fn options() -> PoolOptions {
    PoolOptions { handshake_timeout: Duration::from_secs(3), ..PoolOptions::default() }
}

fn fails(world: &World, expected: Expect) {
    let error = block_on(world.call("echo", nothing())).expect_err("no server");
    let folder = world.folder.path().to_str().expect("a plain path").to_owned();
    expected.assert_eq(&error_text(&error).replace(&folder, "FOLDER"));
}

fn fails_alone(server: Server, expected: Expect) {
    fails(&World::new(|_| vec![server], options()), expected);
}

#[test]
fn a_server_that_exits_at_once_is_quoted() {
    fails(
        &world_with("exit", options()),
        expect![[r#"
        server-not-started: server `s` exited with status 7 before the handshake was complete
        help: run `python3` by hand to see what is missing; its standard error may say
        ---
        no configuration found"#]],
    );
}

#[test]
fn a_server_that_dies_of_the_greeting_is_quoted() {
    let world = world_with("die_on_initialize", options());
    let error = block_on(world.call("echo", nothing())).expect_err("no server");
    assert!(error.message.contains("exited with status 9 before the handshake was complete"), "{}", error_text(&error));
    assert!(error.stderr.ends_with("I refuse to work without a key"), "{}", error_text(&error));
}

#[test]
fn a_server_that_says_nothing_is_given_up_in_time() {
    let options = PoolOptions { handshake_timeout: Duration::from_millis(700), ..PoolOptions::default() };
    let error = block_on(world_with("mute", options).call("echo", nothing())).expect_err("no server");
    assert_eq!(error.message, "server `s` did not complete the handshake within 700 ms");
}

#[test]
fn a_call_that_may_take_less_than_the_start_does_not_wait_for_it() {
    block_on(async {
        // Long enough for Python to begin on a machine that does much else.
        let options = PoolOptions { handshake_timeout: Duration::from_secs(5), ..PoolOptions::default() };
        let world = world_with("mute", options);
        let hasty = ToolCall { in_all: Some(Duration::from_millis(50)), ..call("s", "echo", nothing(), PATIENCE) };
        let (hasty, patient) = tokio::join!(world.servers.call(hasty), world.call("echo", nothing()));
        expect![[r#"
            call-timeout: server `s` did not complete the handshake within 50 ms, the time limit of the call of `echo`
            help: give the call more time; the server keeps starting, and a later call can use it"#]]
        .assert_eq(&error_text(&hasty.expect_err("it is late")));
        assert_eq!(patient.expect_err("no server").message, "server `s` did not complete the handshake within 5 s");
        assert_eq!(world.starts(), 1, "the start goes on for the other");
    });
}

#[test]
fn a_server_that_prints_garbage_is_given_up() {
    let world = world_with("garbage", PoolOptions::default());
    let error = block_on(world.call("echo", nothing())).expect_err("no server");
    assert_eq!(error.kind, CallErrorKind::Start);
    assert!(error.stderr.contains("it sent an invalid message"), "{}", error_text(&error));
    assert!(error.stderr.contains("Starting up, please wait..."), "{}", error_text(&error));
}

#[test]
fn a_few_lines_of_garbage_are_passed_over() {
    block_on(async {
        let world = world("chatty");
        world.call("echo", nothing()).await.expect("a reply");
        let line = world.hears("s: portolan: ").await;
        assert!(line.contains("npm notice: there is a new version"), "{line}");
    });
}

#[test]
fn odd_introductions_are_refused() {
    for (mode, why) in [
        ("refuse", "server `s` refused the handshake: not today (-32603)"),
        ("odd_introduction", "server `s` answered the handshake with an unexpected message"),
    ] {
        let error = block_on(world_with(mode, options()).call("echo", nothing())).expect_err("no server");
        assert_eq!(error.message, why);
    }
}

#[test]
fn what_cannot_be_executed_is_named() {
    fails_alone(
        stdio("s", &["no-such-program-at-all"]),
        expect![[r#"
        server-not-started: server `s` cannot be started: no executable `no-such-program-at-all` was found on the `PATH`
        help: install `no-such-program-at-all`, or correct `command` in its entry"#]],
    );
    fails_alone(
        stdio("s", &["./not/here"]),
        expect![[r#"
        server-not-started: server `s` cannot be started: `./not/here` or the interpreter in its first line does not exist
        help: install it, or correct `command` in its entry"#]],
    );
    let stdio =
        Transport::Stdio { command: "true".into(), args: vec![], cwd: Some("gone".into()), env: IndexMap::new() };
    fails_alone(
        server("s", stdio),
        expect![[r#"
        server-not-started: server `s` cannot be started: `FOLDER/gone` is not a folder
        help: correct `cwd` in its entry"#]],
    );
}

#[test]
fn a_variable_that_is_not_set_is_named() {
    let env = IndexMap::from([("KEY".to_owned(), "${PORTOLAN_TEST_NOT_SET}".to_owned())]);
    let stdio = Transport::Stdio { command: "true".into(), args: vec![], cwd: None, env };
    fails_alone(
        server("s", stdio),
        expect![[r#"
        server-not-started: the entry of server `s` uses `${PORTOLAN_TEST_NOT_SET}`, which is not set
        help: set `PORTOLAN_TEST_NOT_SET` in the environment of Portolan, or write `${PORTOLAN_TEST_NOT_SET:-default}`"#]],
    );
}

#[test]
fn unknown_and_disabled_servers_are_refused() {
    let world = World::new(
        |folder| {
            vec![
                misbehaving("files", "normal", folder),
                Server { disabled: true, ..misbehaving("off", "normal", folder) },
            ]
        },
        options(),
    );
    for (name, expected) in [
        (
            "file",
            expect![[r#"
            unknown-server: there is no server `file`
            help: did you mean `files`?"#]],
        ),
        (
            "zzz",
            expect![[r#"
            unknown-server: there is no server `zzz`
            help: configured are `files`"#]],
        ),
        (
            "off",
            expect![[r#"
            server-disabled: server `off` is disabled
            help: remove `disabled` from its entry, or call another server"#]],
        ),
    ] {
        let error = block_on(world.servers.call(call(name, "echo", nothing(), PATIENCE))).expect_err("refused");
        expected.assert_eq(&error_text(&error));
    }
    assert_eq!(world.starts(), 0);
}

#[test]
fn a_server_gets_its_entry_and_little_else_of_the_environment() {
    block_on(async {
        let world = World::new(
            |folder| {
                std::fs::create_dir(folder.join("work")).expect("a folder");
                let env =
                    IndexMap::from([("SOME_KEY".to_owned(), "for ${CARGO_PKG_NAME} and ${NOBODY:-you}".to_owned())]);
                let args = [MISBEHAVING, "${PORTOLAN_TEST_NOT_SET:-normal}"].map(String::from).to_vec();
                let command = "python3".to_owned();
                vec![server("s", Transport::Stdio { command, args, cwd: Some("work".into()), env })]
            },
            PoolOptions::default(),
        );
        let reply = world.call("world", nothing()).await.expect("a reply");
        let env = reply["structuredContent"]["env"].as_object().expect("an object");
        assert_eq!(env["SOME_KEY"], "for portolan-runtime and you");
        let path = std::env::var("PATH").expect("set");
        // A wrapper around Python may have added to it.
        assert!(env["PATH"].as_str().is_some_and(|theirs| theirs.ends_with(&path)), "{}", env["PATH"]);
        // Cargo gives tests many variables; none of them is a server's business.
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
        let foreign: Vec<_> = env.keys().filter(|name| name.contains("CARGO") || name.contains("RUST")).collect();
        assert!(foreign.is_empty(), "{foreign:?}");
        let cwd = world.folder.path().join("work").canonicalize().expect("it is there");
        assert_eq!(reply["structuredContent"]["cwd"], cwd.to_str().expect("a plain path"));
    });
}

#[test]
fn a_secret_of_the_entry_is_not_told() {
    let env = IndexMap::from([("API_TOKEN".to_owned(), "hunter2-hunter2".to_owned())]);
    let args = ["-c", "echo \"bad key $API_TOKEN\" >&2; exit 1"].map(String::from).to_vec();
    let stdio = Transport::Stdio { command: "sh".into(), args, cwd: None, env };
    fails_alone(
        server("s", stdio),
        expect![[r#"
        server-not-started: server `s` exited with status 1 before the handshake was complete
        help: run `sh` by hand to see what is missing; its standard error may say
        ---
        bad key [redacted]"#]],
    );
}

#[test]
fn a_server_that_fails_is_left_alone_for_a_while() {
    block_on(async {
        let world = world_with("exit", PoolOptions { backoff_first: PATIENCE, ..PoolOptions::default() });
        for _ in 0..2 {
            let error = world.call("echo", nothing()).await.expect_err("no server");
            assert!(error.message.contains("exited with status 7"), "{}", error_text(&error));
        }
        for _ in 0..50 {
            let error = world.call("echo", nothing()).await.expect_err("no server");
            assert!(
                error.message.starts_with("server `s` failed 2 times in a row and is not started for now"),
                "{}",
                error_text(&error)
            );
            assert!(error.message.contains("exited with status 7"), "{}", error_text(&error));
            assert_eq!(error.stderr, "no configuration found");
        }
        assert_eq!(world.starts(), 2);
    });
}

#[test]
fn after_a_while_it_is_tried_again() {
    block_on(async {
        let world =
            world_with("exit", PoolOptions { backoff_first: Duration::from_nanos(1), ..PoolOptions::default() });
        for _ in 0..4 {
            world.call("echo", nothing()).await.expect_err("no server");
        }
        assert_eq!(world.starts(), 4);
    });
}

#[test]
fn many_who_wait_for_a_server_that_fails_start_it_once() {
    block_on(async {
        let world = world_with("exit", PoolOptions::default());
        let calls = (0..20).map(|_| {
            let servers = std::sync::Arc::clone(&world.servers);
            tokio::spawn(async move { servers.call(call("s", "echo", json!({}), PATIENCE)).await })
        });
        for call in calls.collect::<Vec<_>>() {
            let error = call.await.expect("no panic").expect_err("no server");
            assert!(error.stderr.contains("no configuration found"), "{}", error_text(&error));
        }
        assert_eq!(world.starts(), 1);
    });
}

#[test]
fn whoever_gives_up_first_does_not_take_the_start_away() {
    block_on(async {
        let world = world("normal");
        let mut first = Box::pin(world.call("echo", nothing()));
        // Polled once, the start is under way.
        assert!(
            std::future::poll_fn(|context| std::task::Poll::Ready(first.as_mut().poll(context))).await.is_pending()
        );
        drop(first);
        world.call("echo", nothing()).await.expect("a reply");
        assert_eq!(world.starts(), 1);
    });
}
