//! A server whose clients have tokens of an authorization server: calls that their scopes do not allow.
//! `tests/clients/oauth.py` tries the tokens themselves, with the Python SDK and another program as the authorization server.

use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpListener;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::serve_http::{initialize, meta};
use crate::served::{Answer, Served, started};
use crate::support::Project;

/// An authorization server, as far as a resource needs one: it publishes its key.
struct Issuer {
    address: String,
    key: Ed25519KeyPair,
}

impl Issuer {
    fn start() -> Issuer {
        let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("a seed");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let x = URL_SAFE_NO_PAD.encode(key.public_key());
        let key_set =
            json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "one", "alg": "EdDSA", "use": "sig", "x": x }] });
        let metadata = json!({ "issuer": address, "jwks_uri": format!("{address}/keys") });
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut lines = BufReader::new(stream.try_clone().expect("a stream")).lines().map_while(Result::ok);
                let first = lines.next().unwrap_or_default();
                let _head = lines.find(String::is_empty);
                let body = if first.contains("well-known") { metadata.to_string() } else { key_set.to_string() };
                let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
                let _gone = stream.write_all(format!("{head}{body}").as_bytes());
            }
        });
        Issuer { address, key }
    }

    /// A token with these scopes for a server.
    fn token(&self, resource: &str, scopes: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        let claims = json!({ "iss": self.address, "aud": resource, "sub": "ada", "scope": scopes, "exp": now + 300 });
        let head = json!({ "alg": "EdDSA", "typ": "at+jwt", "kid": "one" });
        let parts = [head, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = parts.join(".");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(self.key.sign(signed.as_bytes())))
    }
}

const RESOURCE: &str = "http://agents.example.org";

fn post(served: &Served, token: &str, more: &[(&str, &str)], message: &Value) -> Answer {
    let (host, bearer) = (served.host(), format!("Bearer {token}"));
    let mut headers = vec![("Host", &*host), ("Authorization", &*bearer), ("Content-Type", "application/json")];
    headers.push(("Accept", "application/json, text/event-stream"));
    headers.extend(more);
    served.with("POST", "/mcp", &headers, &message.to_string())
}

/// Calls a tool as a client of 2026-07-28.
fn call(served: &Served, token: &str, tool: &str, arguments: &Value) -> Answer {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta() });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let more = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
    post(served, token, &more, &message)
}

#[test]
fn a_client_is_told_which_scopes_a_tool_needs_and_can_call_it_with_them() {
    let project = Project::small();
    let issuer = Issuer::start();
    let words = ["serve", "--http", "127.0.0.1:0", "--oauth", &issuer.address, "--url", RESOURCE, "--format", "json"];
    let (child, said) = started(project.command(&words));
    let port = said["listening"].as_str().and_then(|address| address.rsplit_once(':')?.1.parse().ok()).expect("a port");
    let served = Served { child, port, token: String::new() };
    let (reads, leads) = (issuer.token(RESOURCE, "read"), issuer.token(RESOURCE, "read navigate"));
    let init = json!({ "workflowType": "small" });
    let challenge = |scopes: &str| {
        let metadata = format!("{RESOURCE}/.well-known/oauth-protected-resource/mcp");
        format!(r#"Bearer error="insufficient_scope", scope="{scopes}", resource_metadata="{metadata}""#)
    };

    let refused = call(&served, &reads, "Init", &init);
    assert_eq!(refused.refusal(), "403 needs_scope");
    assert_eq!(refused.header("www-authenticate"), Some(&*challenge("read navigate")));
    let done = call(&served, &leads, "Init", &init);
    assert_eq!(done.status, 200, "{}", done.body);
    assert_eq!(done.json()["result"]["isError"], json!(false), "{}", done.body);

    // The same in a session, which goes on after the refusal, also with another token of the same holder.
    let greeted = post(&served, &reads, &[], &initialize());
    let session = [("Mcp-Session-Id", greeted.header("mcp-session-id").expect("a session"))];
    let in_session = |token: &str, tool: &str, arguments: &Value| {
        let params = json!({ "name": tool, "arguments": arguments });
        let message = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
        post(&served, token, &session, &message)
    };
    let refused = in_session(&reads, "CopyWorkflows", &json!({}));
    assert_eq!(refused.refusal(), "403 needs_scope");
    assert_eq!(refused.header("www-authenticate"), Some(&*challenge("read author")));
    assert_eq!(in_session(&reads, "ListWorkflows", &json!({})).status, 200);
    let done = in_session(&leads, "Init", &init);
    assert!(done.status == 200 && done.body.contains(r#""isError":false"#), "{}", done.body);

    // What is no call of a tool that exists is answered as before.
    let unknown = call(&served, &reads, "Nothing", &json!({}));
    assert_eq!(unknown.status, 200, "{}", unknown.body);
    let runs = project.says("runs list");
    assert_eq!(runs.matches("small").count(), 2, "a refused call changes nothing: {runs}");
}
