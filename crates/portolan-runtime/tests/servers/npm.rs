//! A server that others wrote: the filesystem server of the protocol's own authors, at a pinned version.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use portolan_core::reply::{Prefer, output};
use portolan_runtime::servers::{CallErrorKind, PoolOptions};
use serde_json::json;

use crate::support::{World, block_on, not_checked, stdio};

#[test]
fn the_well_known_filesystem_server_is_called() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    if let Err(why) = install(folder.path()) {
        return not_checked(&format!("@modelcontextprotocol/server-filesystem cannot be installed: {why}"));
    }
    let program = folder.path().join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    block_on(async {
        let program = program.to_str().expect("a plain path");
        let world = World::new(
            |root| {
                fs::write(root.join("b.txt"), "").expect("a file");
                fs::create_dir(root.join("a")).expect("a folder");
                vec![stdio("s", &["node", program, root.to_str().expect("a plain path")])]
            },
            PoolOptions::default(),
        );
        let tools = world.servers.tools("s").await.expect("a list");
        assert!(tools.iter().any(|tool| tool.name == "list_directory"), "{tools:?}");
        assert_eq!(world.servers.about("s").await.expect("an introduction").name, "secure-filesystem-server");

        let reply = world.call("list_directory", json!({"path": world.folder.path()})).await.expect("a reply");
        let listed = output(&reply, Prefer::Text).expect("no error").expect("a value");
        let mut lines: Vec<&str> = listed.as_str().expect("a text").lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["[DIR] a", "[FILE] b.txt"]);
        let structured = output(&reply, Prefer::Structured).expect("no error").expect("a value");
        assert_eq!(structured, json!({ "content": listed }));

        let reply = world.call("list_directory", json!({"path": "/etc"})).await.expect("a reply");
        assert!(output(&reply, Prefer::Structured).is_err());
        match world.call("list_directory", json!({})).await {
            Ok(reply) => assert_eq!(reply["isError"], true),
            Err(error) => assert!(matches!(error.kind, CallErrorKind::Protocol { .. }), "{error:?}"),
        }
        world.servers.close().await;
    });
}

fn install(folder: &Path) -> Result<(), String> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/npm");
    for file in ["package.json", "package-lock.json"] {
        fs::copy(fixtures.join(file), folder.join(file)).map_err(|error| error.to_string())?;
    }
    succeeded(Command::new("node").arg("--version").output())?;
    let flags = ["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    succeeded(Command::new("npm").args(flags).current_dir(folder).output())
}

fn succeeded(output: std::io::Result<Output>) -> Result<(), String> {
    let output = output.map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}
