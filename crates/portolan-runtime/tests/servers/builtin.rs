//! The servers that are part of Portolan, called through the pool.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use expect_test::{Expect, expect};
use portolan_core::graph::{Builtin, Transport};
use portolan_runtime::servers::{CallErrorKind, PoolOptions, ServerSetup, Servers};
use serde_json::{Value, json};

use crate::support::{PATIENCE, World, block_on, call, error_text, nothing, server};

fn echo() -> World {
    World::new(|_| vec![server("s", Transport::Builtin(Builtin::Echo))], PoolOptions::default())
}

/// A folder `root` to be served, in a folder with a secret.
fn files() -> World {
    let world = World::new(
        |folder| {
            let root = folder.join("root");
            fs::create_dir_all(root.join("sub/deep")).expect("folders");
            fs::write(folder.join("secret.txt"), "secret").expect("a file");
            fs::write(root.join("b.txt"), "one\ntwo\nthree\n").expect("a file");
            fs::write(root.join("a.md"), "# é\n").expect("a file");
            fs::write(root.join("sub/c.md"), "").expect("a file");
            fs::write(root.join("sub/deep/d.md"), "deep").expect("a file");
            vec![server("s", Transport::Builtin(Builtin::Filesystem { root: "root".into() }))]
        },
        PoolOptions::default(),
    );
    assert!(world.folder.path().join("root").is_dir());
    world
}

/// What a call of the filesystem server comes to, with its folder's name taken out.
fn reply_text(world: &World, tool: &str, arguments: Value) -> String {
    let reply = block_on(world.call(tool, arguments)).expect("a reply");
    let text = reply["content"][0]["text"].as_str().expect("a text").to_owned();
    match reply["isError"].as_bool() {
        Some(true) => assert_eq!(reply.get("structuredContent"), None),
        _ => assert_eq!(reply["structuredContent"], json!({ "content": text })),
    }
    let folder = world.folder.path().canonicalize().expect("it is there");
    let text = text.replace(folder.to_str().expect("a plain path"), "FOLDER");
    if reply["isError"] == true { format!("error: {text}") } else { text }
}

fn lists(world: &World, path: &str, expected: Expect) {
    expected.assert_eq(&reply_text(world, "list_directory", json!({ "path": path })));
}

fn reads(world: &World, arguments: Value, expected: Expect) {
    expected.assert_eq(&reply_text(world, "read_text_file", arguments));
}

#[test]
fn folders_are_listed_sorted() {
    let world = files();
    lists(
        &world,
        ".",
        expect![[r#"
        [FILE] a.md
        [FILE] b.txt
        [DIR] sub"#]],
    );
    lists(
        &world,
        "",
        expect![[r#"
        [FILE] a.md
        [FILE] b.txt
        [DIR] sub"#]],
    );
    lists(
        &world,
        "sub/deep/../",
        expect![[r#"
        [FILE] c.md
        [DIR] deep"#]],
    );
    let root = world.folder.path().join("root/sub/deep");
    lists(&world, root.to_str().expect("a plain path"), expect!["[FILE] d.md"]);
    fs::create_dir(root.join("empty")).expect("a folder");
    lists(&world, "sub/deep/empty", expect![""]);
    lists(&world, "b.txt", expect!["error: `b.txt` is not a folder"]);
    lists(&world, "gone", expect!["error: `gone` does not exist"]);
}

#[test]
fn odd_names_stay_on_their_line() {
    let world = files();
    let folder = world.folder.path().join("root/sub/deep");
    fs::write(folder.join("two\n[DIR] lines"), "").expect("a file");
    fs::write(folder.join(std::ffi::OsStr::from_bytes(b"not-\xff-utf8")), "").expect("a file");
    lists(
        &world,
        "sub/deep",
        expect![[r#"
        [FILE] d.md
        [FILE] not-�-utf8
        [FILE] two\n[DIR] lines"#]],
    );
}

#[test]
fn nothing_outside_is_reached() {
    let world = files();
    let folder = world.folder.path();
    let root = folder.join("root");
    symlink(folder.join("secret.txt"), root.join("link")).expect("a symlink");
    symlink(folder, root.join("up")).expect("a symlink");
    symlink(folder.join("nowhere"), root.join("broken")).expect("a symlink");
    symlink("sub/deep", root.join("inside")).expect("a symlink");
    let absolute = folder.join("secret.txt");
    for path in [
        "../secret.txt",
        "sub/../../secret.txt",
        "/etc/passwd",
        "/etc/no-such-file",
        "link",
        "up/secret.txt",
        "up",
        "../root2",
        "/",
        absolute.to_str().expect("a plain path"),
    ] {
        let expected = format!("error: `{path}` is outside the served folder; name a path inside it");
        for tool in ["list_directory", "read_text_file", "get_file_info", "search_files"] {
            let told = reply_text(&world, tool, json!({"path": path, "pattern": "**"}));
            let folder = folder.canonicalize().expect("it is there");
            assert_eq!(told, expected.replace(folder.to_str().expect("a plain path"), "FOLDER"), "{tool}");
        }
    }
    lists(&world, "inside", expect!["[FILE] d.md"]);
    lists(
        &world,
        ".",
        expect![[r#"
        [FILE] a.md
        [FILE] b.txt
        [FILE] broken
        [DIR] inside
        [FILE] link
        [DIR] sub
        [FILE] up"#]],
    );
    let found = reply_text(&world, "search_files", json!({"path": "", "pattern": "**/secret.txt"}));
    assert_eq!(found, "No matches found");
    assert_eq!(
        reply_text(&world, "read_text_file", json!({"path": "a\0b"})),
        "error: `a\0b` cannot be read (file name contained an unexpected NUL byte)"
    );
}

#[test]
fn text_is_read_whole_or_in_part() {
    let world = files();
    reads(
        &world,
        json!({"path": "b.txt"}),
        expect![[r#"
        one
        two
        three
    "#]],
    );
    reads(
        &world,
        json!({"path": "b.txt", "head": 2}),
        expect![[r#"
        one
        two"#]],
    );
    reads(
        &world,
        json!({"path": "b.txt", "head": 9}),
        expect![[r#"
        one
        two
        three
    "#]],
    );
    reads(&world, json!({"path": "b.txt", "head": 0}), expect![""]);
    reads(
        &world,
        json!({"path": "b.txt", "tail": 2}),
        expect![[r#"
        two
        three"#]],
    );
    reads(
        &world,
        json!({"path": "b.txt", "tail": 9}),
        expect![[r#"
        one
        two
        three"#]],
    );
    reads(&world, json!({"path": "b.txt", "tail": 0}), expect![""]);
    reads(
        &world,
        json!({"path": "a.md"}),
        expect![[r#"
        # é
    "#]],
    );
    reads(
        &world,
        json!({"path": "b.txt", "head": 1, "tail": 1}),
        expect!["error: `head` and `tail` cannot be used together"],
    );
    reads(&world, json!({"path": "sub"}), expect!["error: `sub` is a folder; list it instead"]);
    reads(&world, json!({}), expect!["error: the arguments of `read_text_file` are wrong: missing field `path`"]);
}

#[test]
fn what_is_no_text_is_refused() {
    let world = files();
    let root = world.folder.path().join("root");
    fs::write(root.join("zeros"), [0; 10]).expect("a file");
    fs::write(root.join("latin1"), b"caf\xe9").expect("a file");
    let made = std::process::Command::new("mkfifo").arg(root.join("pipe")).status().expect("mkfifo runs");
    assert!(made.success());
    reads(&world, json!({"path": "zeros"}), expect!["error: `zeros` is not a text file"]);
    reads(&world, json!({"path": "latin1"}), expect!["error: `latin1` is not a text file: byte 3 is not UTF-8"]);
    reads(&world, json!({"path": "pipe"}), expect!["error: `pipe` is not a regular file"]);
}

#[test]
fn large_files_are_read_from_their_ends_only() {
    let world = files();
    let line = format!("{}é\n", "x".repeat(1_000));
    fs::write(world.folder.path().join("root/large"), line.repeat(20_000)).expect("a file");
    reads(
        &world,
        json!({"path": "large"}),
        expect!["error: `large` is larger than 4194304 bytes; read a part of it with `head` or `tail`"],
    );
    let last = reply_text(&world, "read_text_file", json!({"path": "large", "tail": 3}));
    assert_eq!(last, line.repeat(3).trim_end());
    let most = reply_text(&world, "read_text_file", json!({"path": "large", "tail": 1_000_000}));
    assert!(most.len() <= 4 << 20 && most.len() > 4 << 19, "{}", most.len());
    let first = reply_text(&world, "read_text_file", json!({"path": "large", "head": 1_000_000}));
    assert!(first.len() <= 4 << 20 && first.len() > 4 << 19, "{}", first.len());
}

#[test]
fn files_are_found_by_pattern() {
    let world = files();
    let found = |arguments: Value| reply_text(&world, "search_files", arguments);
    assert_eq!(found(json!({"path": "", "pattern": "*.md"})), "FOLDER/root/a.md");
    assert_eq!(
        found(json!({"path": "", "pattern": "**/*.md"})),
        "FOLDER/root/a.md\nFOLDER/root/sub/c.md\nFOLDER/root/sub/deep/d.md"
    );
    assert_eq!(
        found(json!({"path": "", "pattern": "**/*.md", "excludePatterns": ["**/deep"]})),
        "FOLDER/root/a.md\nFOLDER/root/sub/c.md"
    );
    assert_eq!(found(json!({"path": "sub", "pattern": "deep"})), "FOLDER/root/sub/deep");
    assert_eq!(found(json!({"path": "", "pattern": "*.rs"})), "No matches found");
    assert_eq!(found(json!({"path": "a.md", "pattern": "*"})), "error: `a.md` is not a folder");
    assert_eq!(
        found(json!({"path": "", "pattern": "x".repeat(2_000)})),
        "error: a pattern has at most 1000 characters"
    );
}

#[test]
fn a_search_that_finds_too_much_is_given_up() {
    let world = files();
    let folder = world.folder.path().join("root/sub");
    for number in 0..10_001 {
        fs::write(folder.join(format!("{number}.x")), "").expect("a file");
    }
    let found = reply_text(&world, "search_files", json!({"path": "", "pattern": "**/*.x"}));
    assert_eq!(found.lines().count(), 10_001);
    assert!(found.ends_with("[the search was stopped: more than 10000 matches; use a narrower pattern]"));
}

#[test]
fn a_file_is_described() {
    let world = files();
    let told = reply_text(&world, "get_file_info", json!({"path": "b.txt"}));
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "size: 14");
    assert!(lines[2].starts_with("modified: 20") && lines[2].ends_with('Z'), "{told}");
    assert_eq!(lines[4..6], ["isDirectory: false", "isFile: true"]);
    assert!(lines[6].starts_with("permissions: 6"), "{told}");
}

#[test]
fn every_tool_says_that_it_only_reads_and_what_it_answers() {
    let world = files();
    let tools = block_on(world.servers.tools("s")).expect("a list");
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["list_directory", "read_text_file", "search_files", "get_file_info"]);
    for tool in tools.iter() {
        assert_eq!(tool.annotations.as_ref().expect("hints")["readOnlyHint"], true);
        assert_eq!(tool.output_schema.as_ref().expect("a schema")["required"], json!(["content"]));
        assert_eq!(tool.input_schema["type"], "object");
    }
}

#[test]
fn a_root_that_is_not_there_is_named() {
    let root = Transport::Builtin(Builtin::Filesystem { root: "gone".into() });
    let setup = ServerSetup { server: server("s", root), folder: Path::new("/").to_owned() };
    let servers = Servers::new(vec![setup], PoolOptions::default());
    let error = block_on(servers.call(call("s", "list_directory", nothing(), PATIENCE))).expect_err("no folder");
    expect![[r#"
        server-not-started: server `s` cannot be started: `gone` cannot be served (No such file or directory (os error 2))
        help: name a folder that exists"#]]
    .assert_eq(&error_text(&error));
}

#[test]
fn echo_says_back_what_it_is_told() {
    block_on(async {
        let world = echo();
        let reply = world.call("echo", json!({"a": [1, {"b": null}]})).await.expect("a reply");
        assert_eq!(reply["structuredContent"], json!({"a": [1, {"b": null}]}));
        assert_eq!(world.text("echo", json!({"a": 1})).await, r#"{"a":1}"#);
        for (a, b, sum) in [
            (json!(2), json!(40), json!(42)),
            (json!(0.5), json!(1), json!(1.5)),
            (json!(i64::MAX), json!(1), json!(9_223_372_036_854_775_808.0)),
        ] {
            let reply = world.call("add", json!({"a": a, "b": b})).await.expect("a reply");
            assert_eq!(reply["structuredContent"], json!({ "sum": sum }));
        }
        let reply = world.call("fail", json!({"message": "as you wish"})).await.expect("a reply");
        assert_eq!((&reply["isError"], &reply["content"][0]["text"]), (&json!(true), &json!("as you wish")));
        let reply = world.call("add", json!({"a": "x", "b": 1})).await.expect("a reply");
        assert_eq!(reply["isError"], true);
        let reply = world.call("sleep", json!({"ms": 1})).await.expect("a reply");
        assert_eq!(reply["structuredContent"], json!({"slept": 1}));
        let error = world.call("ecko", nothing()).await.expect_err("refused");
        assert_eq!(
            error.message,
            "server `s` refused tool `ecko`: there is no tool `ecko`; did you mean `echo`? (-32602)"
        );
        assert_eq!(world.servers.about("s").await.expect("an introduction").name, "portolan-echo");
    });
}

#[test]
fn a_sleep_that_is_cancelled_is_over() {
    block_on(async {
        let world = echo();
        let error = world.call_for("sleep", json!({"ms": 600_000}), Duration::from_millis(50)).await.expect_err("long");
        assert_eq!(error.kind, CallErrorKind::Timeout);
        world.call("echo", nothing()).await.expect("the connection stands");
        world.servers.close().await;
    });
}

#[test]
fn big_is_as_big_as_asked_and_bounded_by_the_pool() {
    block_on(async {
        let world = echo();
        assert_eq!(world.text("big", json!({"bytes": 1_000_000})).await.len(), 1_000_000);
        let error = world.call("big", json!({"bytes": 20_000_000})).await.expect_err("too much");
        assert_eq!(error.kind, CallErrorKind::TooLarge);
        let reply = world.call("big", json!({"bytes": 200_000_001})).await.expect("a reply");
        assert_eq!(reply["isError"], true);
    });
}

/// A folder `outside` with a secret beside the folder `project` of a definition, in which `root` is served.
struct Rooted {
    folder: tempfile::TempDir,
    servers: Servers,
}

impl Rooted {
    fn new(root: &str) -> Rooted {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let (outside, project) = (folder.path().join("outside"), folder.path().join("project"));
        fs::create_dir(&outside).expect("a folder");
        fs::create_dir_all(project.join("inside")).expect("a folder");
        fs::write(outside.join("a.txt"), "secret").expect("a file");
        fs::write(project.join("inside/a.txt"), "open").expect("a file");
        symlink("../outside", project.join("away")).expect("a symlink");
        symlink("..", project.join("inside/up")).expect("a symlink");
        let server = server("s", Transport::Builtin(Builtin::Filesystem { root: root.into() }));
        let servers = Servers::new(vec![ServerSetup { server, folder: project }], PoolOptions::default());
        Rooted { folder, servers }
    }

    fn reads(&self) -> String {
        let called = self.servers.call(call("s", "read_text_file", json!({ "path": "a.txt" }), PATIENCE));
        match block_on(called) {
            Ok(reply) => reply["content"][0]["text"].as_str().expect("a text").to_owned(),
            Err(error) => error_text(&error).replace(self.folder.path().to_str().expect("a plain path"), "FOLDER"),
        }
    }
}

/// A root that lies below by its words needs no trust, so that where it leads is what counts.
#[test]
fn a_root_that_a_symlink_leads_outside_is_not_served() {
    expect![[r#"
        server-not-started: server `s` cannot be started: `away` leaves `FOLDER/project` through a symlink
        help: set `root` to the target of the symlink; a person must then trust it"#]]
    .assert_eq(&Rooted::new("away").reads());
    for root in ["./inside/up/away", "inside/up/away/."] {
        assert!(Rooted::new(root).reads().contains("leaves"), "{root}");
    }
}

#[test]
fn a_root_that_a_symlink_leads_elsewhere_inside_is_served_and_so_is_one_that_says_where_it_leads() {
    for (root, held) in [("inside/up/inside", "open"), ("../outside", "secret"), ("../project/away", "secret")] {
        assert_eq!(Rooted::new(root).reads(), held, "{root}");
    }
}
