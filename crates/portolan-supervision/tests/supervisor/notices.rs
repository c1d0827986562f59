//! Notifiers: a file, a program, and a webhook on this machine.
#![cfg(unix)]

use std::io::{Read, Write};
use std::net::TcpListener;

use portolan_core::source::Source;
use portolan_gates::plugins::Plugins;
use portolan_supervision::notifiers::{Notice, Notifiers};

use super::stand::Stand;

fn notice() -> Notice {
    Notice {
        kind: "supervisor.question.sent".to_owned(),
        at_ms: 1,
        task_id: Some("t".to_owned()),
        issue: None,
        body: "Merge; or not? $(touch evil)".to_owned(),
        reply_token: Some("q1".to_owned()),
    }
}

async fn send_notice(stand: &Stand, plugins: &str) -> Vec<(String, String)> {
    let (plugins, faults) = Plugins::read(&Source::new("plugins.yaml", plugins));
    let plugins = plugins.unwrap_or_else(|| panic!("{faults:?}"));
    Notifiers::new().with_plugins(&plugins, &stand.project()).tell(&notice()).await
}

#[tokio::test]
async fn a_file_has_a_line_each_and_a_program_is_given_the_notice() {
    let stand = Stand::new();
    let failed = send_notice(
        &stand,
        r#"notifiers:
  - {id: f, file: notes/told.jsonl}
  - {id: c, command: [sh, -c, 'cat > given; printf %s "$1" > body', "-", "{body}"]}
  - {id: broken, command: [sh, -c, 'echo no line >&2; exit 3']}
  - {id: missing, command: [no-such-program-anywhere]}
"#,
    )
    .await;
    let read = |path: &str| std::fs::read_to_string(stand.project().join(path)).expect("a file");
    let line = "{\"type\":\"supervisor.question.sent\",\"atMs\":1,\"taskId\":\"t\",\"issue\":null,\
                \"body\":\"Merge; or not? $(touch evil)\",\"replyToken\":\"q1\"}";
    assert_eq!(read("notes/told.jsonl"), format!("{line}\n"));
    assert_eq!(read("given"), line);
    assert_eq!(read("body"), "Merge; or not? $(touch evil)");
    assert!(!stand.project().join("evil").exists());
    let why: Vec<String> = failed.iter().map(|(id, why)| format!("{id}: {why}")).collect();
    assert_eq!(
        why,
        [
            "broken: `sh` exited with status 3: no line",
            "missing: `no-such-program-anywhere` was not found on the `PATH`; install it",
        ]
    );
}

#[tokio::test]
async fn a_symlink_leads_no_notice_out_of_the_project() {
    let stand = Stand::new();
    let outside = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(outside.path(), stand.project().join("notes")).expect("a link");
    std::os::unix::fs::symlink(outside.path().join("x"), stand.project().join("link")).expect("a link");
    let failed = send_notice(&stand, "notifiers: [{id: a, file: notes/x}, {id: b, file: link}]").await;
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert_eq!(std::fs::read_dir(outside.path()).expect("a folder").count(), 0);
}

/// Answers each request with the next of these, and returns what was sent.
fn answering(answers: Vec<String>) -> (u16, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let answers: Vec<String> = answers.iter().map(|answer| answer.replace("PORT", &port.to_string())).collect();
    let served = std::thread::spawn(move || {
        let mut heard = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut request = Vec::new();
            let mut chunk = [0; 4096];
            while !String::from_utf8_lossy(&request).contains("replyToken") {
                match stream.read(&mut chunk).expect("a request") {
                    0 => break,
                    read => request.extend_from_slice(&chunk[..read]),
                }
            }
            heard.push(String::from_utf8_lossy(&request).lines().next().unwrap_or_default().to_owned());
            stream.write_all(answer.as_bytes()).expect("answered");
        }
        heard
    });
    (port, served)
}

fn answer(status: &str, header: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{header}content-length: 0\r\nconnection: close\r\n\r\n")
}

#[tokio::test]
async fn a_webhook_is_sent_to_this_machine_and_follows_no_redirect_elsewhere() {
    let stand = Stand::new();
    let hop = answer("307 Temporary Redirect", "location: /b\r\n");
    let (port, served) = answering(vec![hop, answer("204 No Content", "")]);
    let failed = send_notice(&stand, &format!("notifiers: [{{id: w, webhook: 'http://127.0.0.1:{port}/a'}}]")).await;
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(served.join().expect("served"), ["POST /a HTTP/1.1", "POST /b HTTP/1.1"]);
    for (status, header, why) in [
        ("302 Found", "location: http://169.254.169.254/latest\r\n", "it redirects to another host"),
        ("302 Found", "location: http://localhost:PORT/b\r\n", "it redirects to another host"),
        ("302 Found", "", "it redirects without a valid target"),
        ("500 Oops", "", "it answered with status 500"),
    ] {
        let (port, served) = answering(vec![answer(status, header)]);
        let failed =
            send_notice(&stand, &format!("notifiers: [{{id: w, webhook: 'http://127.0.0.1:{port}/a'}}]")).await;
        assert_eq!(failed, [("w".to_owned(), why.to_owned())]);
        served.join().expect("served");
    }
}

#[tokio::test]
async fn a_webhook_reaches_no_network_of_ones_own() {
    let stand = Stand::new();
    let failed = send_notice(
        &stand,
        "notifiers: [{id: a, webhook: 'https://10.0.0.1/'}, {id: b, webhook: 'https://169.254.169.254/', allowPrivate: true}]",
    )
    .await;
    assert_eq!(failed.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(failed[1].1, "its host is at 169.254.169.254, which is not a public address");
}

#[test]
fn a_webhook_by_http_is_refused_elsewhere_than_on_this_machine() {
    let text = "notifiers: [{id: b, webhook: 'http://10.0.0.1/', allowPrivate: true}]";
    let (_, faults) = Plugins::read(&Source::new("plugins.yaml", text));
    assert!(faults.iter().any(|fault| fault.message.contains("only for this machine")), "{faults:?}");
}
