//! What servers tell about themselves and their tools.

use portolan_runtime::servers::CallErrorKind;
use serde_json::json;

use crate::support::{block_on, told, world};

#[test]
fn all_pages_are_listed_once_until_the_list_changes() {
    block_on(async {
        let world = world("normal");
        let tools = world.servers.tools("s").await.expect("a list");
        assert!(tools.len() > 10, "{tools:?}");
        let echo = tools.iter().find(|tool| tool.name == "echo").expect("it is there");
        assert_eq!(echo.description.as_deref(), Some("version 1"));
        assert_eq!(echo.input_schema, json!({"type": "object"}));
        assert_eq!(echo.output_schema, None);
        for page in ["None", "5", "10"] {
            world.hears(&format!("s: tools/list {page}")).await;
        }
        let again = world.servers.tools("s").await.expect("a list");
        assert!(std::sync::Arc::ptr_eq(&tools, &again), "it was asked for again");

        world.text("change_tools", json!({})).await;
        let changed = world.servers.tools("s").await.expect("a list");
        assert_eq!(changed[0].description.as_deref(), Some("version 2"));
        world.hears("s: tools/list None").await;
    });
}

#[test]
fn a_server_introduces_itself() {
    block_on(async {
        let about = world("normal").servers.about("s").await.expect("an introduction");
        assert_eq!(
            format!("{about:?}"),
            r#"ServerAbout { name: "misbehaving", title: Some("Misbehaving server"), version: Some("1.2.3"), instructions: Some("do not trust it") }"#
        );
    });
}

#[test]
fn a_list_that_cannot_be_used_is_an_error() {
    block_on(async {
        for (mode, why) in [("endless_list", "the same page over and over"), ("odd_list", "invalid type")] {
            let world = world(mode);
            let error = world.servers.tools("s").await.expect_err("no list");
            assert_eq!(error.kind, CallErrorKind::Unusable);
            assert!(error.message.contains(why), "{}", told(&error));
        }
    });
}

#[test]
fn a_server_that_knows_no_handshake_is_reached() {
    block_on(async {
        let world = world("newer");
        let about = world.servers.about("s").await.expect("an introduction");
        assert_eq!(about.name, "newer");
        let reply = world.call("echo", json!({"a": 1})).await.expect("a reply");
        let meta = &reply["structuredContent"]["meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        // It does not say when its list changes, so the list is asked for each time.
        world.servers.tools("s").await.expect("a list");
        world.text("change_tools", json!({})).await;
        assert_eq!(world.servers.tools("s").await.expect("a list")[0].description.as_deref(), Some("version 2"));
    });
}
