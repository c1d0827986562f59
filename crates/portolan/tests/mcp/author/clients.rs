//! The client that other programs use drives every tool.

use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};

use super::{FILE, project, says, text};

#[tokio::test]
async fn the_client_of_rmcp_drives_every_tool() {
    let project = project();
    let command = project.command(&["serve", "g.yaml", "--toolset", "author"]);
    let transport = TokioChildProcess::new(tokio::process::Command::from(command)).expect("the server starts");
    let me = ClientConfig::new(ClientCapabilities::default(), Implementation::new("rmcp", "1"));
    let client = me.serve(transport).await.expect("they understand each other");
    let tools = client.list_all_tools().await.expect("tools");
    assert_eq!(tools.len(), 15);
    assert!(tools.iter().all(|tool| tool.output_schema.is_some() && tool.annotations.is_some()));
    let call = async |name: &'static str, arguments: Value| {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let answer = client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments)).await.expect(name);
        assert_ne!(answer.is_error, Some(true), "{name}: {answer:?}");
        answer.structured_content.expect("there is structured content")
    };
    let about = call("getGraphServer", json!({})).await;
    let expected = json!({ "name": "toolbox", "version": "1.2.3", "title": "toolbox", "instructions": "Use it with care.", "file": "g.yaml", "exists": true });
    assert_eq!(about, expected);
    let listed = call("listMcpServers", json!({})).await;
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(2));
    let offered = call("listMcpServerTools", json!({ "serverName": "echo" })).await;
    assert!(offered["items"].as_array().expect("items").iter().any(|tool| tool["name"] == "add"));
    let shown = call("getMcpServerTool", json!({ "serverName": "echo", "toolName": "add" })).await;
    assert_eq!(shown["inputSchema"]["required"], json!(["a", "b"]));
    let tried = call("testMcpTool", json!({ "server": "echo", "tool": "add", "args": { "a": 1, "b": 2 } })).await;
    assert_eq!(tried["output"], json!({ "sum": 3 }));
    assert_eq!(call("testJSONata", json!({ "expression": "1+1", "context": {} })).await, json!({ "result": 2 }));
    assert_eq!(call("testJSONLogic", json!({ "expression": false, "context": {} })).await, json!({ "result": false }));
    let tool = says("hello", "hello");
    let ran = call("runGraphTool", json!({ "toolDefinition": tool, "arguments": {} })).await;
    assert_eq!(ran["result"], json!({ "said": "hello" }));
    call("addGraphTool", json!({ "tool": tool })).await;
    let items = call("listGraphTools", json!({})).await;
    assert_eq!(items["items"][1], json!({ "name": "hello", "description": "Says hello" }));
    let mut got = call("getGraphTool", json!({ "toolName": "hello" })).await;
    got["name"] = json!("bye");
    call("updateGraphTool", json!({ "toolName": "hello", "tool": got })).await;
    assert!(text(&project).contains("- name: bye"));
    let looked = call("getDefinition", json!({ "graph": "bye" })).await;
    let operation = json!({ "is": "rename", "node": "say", "to": "speak" });
    let edit = json!({ "revision": looked["revision"], "graph": "bye", "do": [operation], "dryRun": true });
    assert_eq!(call("editDefinition", edit).await["nodes"], json!(["speak"]));
    call("deleteGraphTool", json!({ "toolName": "bye" })).await;
    assert_eq!(text(&project), FILE);
    client.cancel().await.expect("a parting");
}
