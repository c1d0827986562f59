//! Revisions of the protocol, and how a conversation begins.

use rmcp::model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};

use crate::support::{Project, Wire};

#[test]
fn a_session_speaks_the_revision_that_was_asked_for() {
    let project = Project::new();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut wire = project.server(&[]);
        let hello = wire.shake_hands(version, &json!({}));
        assert_eq!(hello["protocolVersion"], version);
        assert_eq!(hello["serverInfo"]["name"], "portolan");
        assert_eq!(
            hello["capabilities"],
            json!({ "completions": {}, "prompts": {}, "resources": { "subscribe": true }, "tools": {} })
        );
        assert!(hello["instructions"].as_str().is_some_and(|text| text.len() < 700), "{hello}");
        assert!(!wire.call("ListCatalog", &json!({})).is_error);
        assert_eq!(wire.request("ping", json!({}))["result"], json!({}));
    }
}

#[test]
fn an_unknown_revision_is_answered_with_the_newest_that_has_sessions() {
    let project = Project::new();
    for version in ["1999-01-01", "2026-07-28", "9999-12-31", ""] {
        let mut wire = project.server(&[]);
        assert_eq!(wire.shake_hands(version, &json!({}))["protocolVersion"], "2025-11-25", "{version}");
        assert!(!wire.call("ListCatalog", &json!({})).is_error);
    }
}

#[test]
fn a_call_can_say_by_itself_who_asks() {
    let project = Project::new();
    let mut wire = project.server(&[]);
    wire.without_session(&json!({}));
    let found = wire.request("server/discover", json!({}));
    let versions = found["result"]["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    let opened = wire.done("Init", &json!({ "workflowType": "quick-task" }));
    assert_eq!(wire.take(&opened["actions"]["required"][0])["state"], "working");
}

#[test]
fn what_is_said_before_hello_is_answered_or_let_pass() {
    let project = Project::new();
    let mut wire = project.server(&[]);
    wire.notify("notifications/cancelled", &json!({ "requestId": 1 }));
    wire.send(&json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    assert_eq!(wire.request("ping", json!({}))["result"], json!({}));
    let early = wire.request("tools/list", json!({}));
    assert_eq!(early["error"]["code"], -32602, "{early}");
    assert_eq!(wire.shake_hands("2025-11-25", &json!({}))["protocolVersion"], "2025-11-25");
}

#[test]
fn what_is_not_announced_is_not_there() {
    let project = Project::new();
    let mut wire = project.client(&["tools.yaml", "--toolset", "author"]);
    let methods = ["resources/list", "resources/templates/list", "prompts/list", "completion/complete", "no/such"];
    for method in methods {
        assert_eq!(wire.request(method, json!({}))["error"]["code"], -32601, "{method}");
    }
    wire.notify("notifications/no-such", &json!({}));
    assert_eq!(wire.request("ping", json!({}))["result"], json!({}));
}

type Client = RunningService<RoleClient, ClientConfig>;

async fn rmcp(project: &Project, lifecycle: ClientLifecycleMode) -> Client {
    let transport = TokioChildProcess::new(tokio::process::Command::from(project.command(&["serve"])));
    let me = ClientConfig::new(ClientCapabilities::default(), Implementation::new("rmcp", "1"));
    me.serve_with_lifecycle(transport.expect("the server starts"), lifecycle).await.expect("they understand each other")
}

async fn call(client: &Client, tool: &'static str, arguments: &Value) -> Value {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let answer = client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await;
    answer.expect("an answer").structured_content.expect("structured content")
}

#[tokio::test]
async fn the_client_of_rmcp_is_led_in_every_lifecycle() {
    let project = Project::new();
    project.believe("execute");
    let newest = vec![ProtocolVersion::V_2026_07_28];
    for lifecycle in [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover { preferred_versions: newest.clone() },
        ClientLifecycleMode::Auto { preferred_versions: newest, legacy_version: None },
    ] {
        let client = rmcp(&project, lifecycle).await;
        assert_eq!(client.list_all_tools().await.expect("tools").len(), 11);
        let mut now = call(&client, "Init", &json!({ "workflowType": "execute" })).await;
        while let Some(action) = now["actions"]["required"].get(0).cloned() {
            let tool = if action["tool"] == "Start" { "Start" } else { "Next" };
            now = call(&client, tool, &action["arguments"]).await;
        }
        assert_eq!(now["terminal"], "success");
        client.cancel().await.expect("a parting");
    }
}

#[test]
fn a_log_is_lines_of_json_without_values() {
    let project = Project::new();
    let mut wire = Wire::hearing(project.command(&["serve", "--log", "json"]));
    wire.shake_hands("2025-11-25", &json!({}));
    let run =
        wire.done("Init", &json!({ "workflowType": "quick-task", "description": "a s3cret task" }))["run"].clone();
    wire.done("Start", &json!({ "run": run }));
    wire.call("no-such-s3cret-tool", &json!({}));
    wire.close();
    let lines: Vec<Value> = wire.overheard().iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let text = json!(lines).to_string();
    assert!(!text.contains("s3cret"), "{text}");
    let fields = |event: &str| {
        let is_it = |line: &&Value| line["fields"]["message"] == event;
        lines.iter().filter(is_it).map(|line| line["fields"].clone()).collect::<Vec<_>>()
    };
    let calls: Vec<(Value, Value)> =
        fields("call answered").iter().map(|call| (call["tool"].clone(), call["code"].clone())).collect();
    let unknown = (json!("unknown"), json!("unknown_tool"));
    assert_eq!(calls, [(json!("Init"), Value::Null), (json!("Start"), Value::Null), unknown]);
    assert_eq!(fields("run opened")[0]["run"], run);
    assert!(!fields("event decided").is_empty(), "{text}");
}
