//! Who gets nothing: pages of others, names that were made to lead here, whoever lacks the token, agents.

use std::net::{Ipv6Addr, TcpListener};

use expect_test::expect;
use serde_json::json;

use super::{Answer, Studio};
use crate::support::{Project, SMALL, checked};

/// What becomes of a request, in a few words.
fn outcome_text(answer: &Answer) -> String {
    if answer.status == 200 { "200".to_owned() } else { answer.refusal() }
}

#[test]
fn hosts_origins_tokens_and_bodies_are_looked_at_in_this_order() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let port = studio.port;
    let own = format!("127.0.0.1:{port}");
    let (local, six) = (format!("localhost:{port}"), format!("[::1]:{port}"));
    let hosts =
        [&*own, &local, &six, "127.0.0.1", "localhost", "evil.example", "evil.example:80", "127.0.0.1.evil.example"];
    let (ours, other_port) = (format!("http://{own}"), "http://127.0.0.1:1".to_owned());
    let secure = format!("https://{own}");
    let origins = [None, Some(&*ours), Some(&*other_port), Some(&*secure), Some("null"), Some("http://evil.example")];
    let (right, wrong) = (studio.bearer(), format!("Bearer {}", "0".repeat(64)));
    let basic = format!("Basic {}", studio.token);
    let cut = right[..right.len() - 1].to_owned();
    let tokens = [Some(&*right), None, Some(&*wrong), Some(&*basic), Some(&*cut)];
    let kinds = [
        Some("application/json"),
        Some("application/json; charset=utf-8"),
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
    ];
    let mut tried = 0;
    for (nth_host, host) in hosts.iter().enumerate() {
        for (nth_origin, origin) in origins.iter().enumerate() {
            for (nth_token, token) in tokens.iter().enumerate() {
                for (nth_kind, kind) in kinds.iter().enumerate() {
                    let mut headers = vec![("Host", *host)];
                    headers.extend(origin.map(|origin| ("Origin", origin)));
                    headers.extend(token.map(|token| ("Authorization", token)));
                    headers.extend(kind.map(|kind| ("Content-Type", kind)));
                    let answer = studio.with("POST", "/api/v1/definitions/small/checks", &headers, "{}");
                    let expected = match (nth_host, nth_origin, nth_token, nth_kind) {
                        (3.., ..) => "421 other_host",
                        (_, 2.., ..) => "403 other_origin",
                        (_, _, 1.., _) => "401 no_token",
                        (.., 2..) => "415 no_json",
                        _ => "200",
                    };
                    assert_eq!(outcome_text(&answer), expected, "{headers:?}");
                    tried += 1;
                }
            }
        }
    }
    assert_eq!(tried, 8 * 6 * 5 * 5);
}

#[test]
fn a_host_is_named_once_and_nowhere_else() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let (host, bearer) = (studio.host(), studio.bearer());
    let twice = [("Host", &*host), ("Host", "evil.example"), ("Authorization", &*bearer)];
    assert_ne!(studio.with("GET", "/api/v1/project", &twice, "").status, 200);
    let none = [("Authorization", &*bearer)];
    assert_ne!(studio.with("GET", "/api/v1/project", &none, "").status, 200);
    let whole = [("Host", &*host), ("Authorization", &*bearer)];
    let elsewhere = studio.with("GET", "http://evil.example/api/v1/project", &whole, "");
    assert_eq!(outcome_text(&elsewhere), "421 other_host");
    let both = [("Host", &*host), ("Authorization", &*bearer), ("Authorization", "Bearer x")];
    assert_eq!(outcome_text(&studio.with("GET", "/api/v1/project", &both, "")), "401 no_token");
}

#[test]
fn a_page_of_another_site_gets_nothing_and_may_only_lead_here() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let (host, bearer) = (studio.host(), studio.bearer());
    for site in ["cross-site", "same-site"] {
        let asks = [("Host", &*host), ("Authorization", &*bearer), ("Sec-Fetch-Site", site)];
        assert_eq!(outcome_text(&studio.with("GET", "/api/v1/project", &asks, "")), "403 other_origin");
        // A script or a frame of it.
        let loads =
            [("Host", &*host), ("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "script")];
        assert_eq!(outcome_text(&studio.with("GET", "/", &loads, "")), "403 other_origin");
        let frames =
            [("Host", &*host), ("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe")];
        assert_eq!(outcome_text(&studio.with("GET", "/", &frames, "")), "403 other_origin");
        let opens = [
            ("Host", &*host),
            ("Sec-Fetch-Site", site),
            ("Sec-Fetch-Mode", "navigate"),
            ("Sec-Fetch-Dest", "document"),
        ];
        let page = studio.with("GET", "/", &opens, "");
        assert_eq!(page.status, 200);
        assert!(!page.body.contains(&studio.token));
        // Not even like that does anything but the page itself come.
        assert_eq!(studio.with("GET", "/api/v1/project", &opens, "").status, 403);
    }
    for site in ["same-origin", "none"] {
        let asks = [("Host", &*host), ("Authorization", &*bearer), ("Sec-Fetch-Site", site)];
        assert_eq!(outcome_text(&studio.with("GET", "/api/v1/project", &asks, "")), "200");
    }
}

#[test]
fn without_the_token_it_cannot_be_told_what_there_is() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let host = studio.host();
    for path in ["/api", "/api/", "/api/v1", "/api/v1/project", "/api/v1/nothing", "/api/v2/x", "/api/v1/runs/abcdefgh"]
    {
        for method in ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"] {
            let answer = studio.with(method, path, &[("Host", &*host)], "");
            assert_eq!(answer.status, 401, "{method} {path}");
        }
    }
    // No token in the address.
    let asked = studio.with("GET", &format!("/api/v1/project?token={}", studio.token), &[("Host", &*host)], "");
    assert_eq!(outcome_text(&asked), "401 no_token");
}

#[test]
fn every_answer_says_what_a_browser_may_do_with_it() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let (host, bearer) = (studio.host(), studio.bearer());
    let asks = [("Host", &*host), ("Authorization", &*bearer)];
    for (path, headers) in
        [("/", &asks[..1]), ("/nothing", &asks[..1]), ("/api/v1/project", &asks[..]), ("/api/v1/project", &asks[1..])]
    {
        let answer = studio.with("GET", path, headers, "");
        let policy = answer.header("content-security-policy").expect("there is one");
        for part in
            ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]
        {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("access-control-allow-origin"), None);
        assert_eq!(answer.header("set-cookie"), None);
    }
}

#[test]
fn a_studio_that_an_agents_host_has_started_only_shows() {
    let mut project = Project::small();
    let run = project.run("small", "passed");
    let mut command = project.command(&["studio", "--format", "json"]);
    command.env("CLAUDECODE", "1");
    let studio = Studio::started(command);
    assert!(studio.get("/project").json()["observes"].as_bool().expect("it says so"));
    let refused = studio.post(&format!("/runs/{run}/fork"), &json!({ "seq": 2 }));
    assert_eq!(outcome_text(&refused), "403 needs_person");
    let answered = studio.post(&format!("/runs/{run}/answer"), &json!({ "revision": 1, "outcome": "passed" }));
    assert_eq!(outcome_text(&answered), "403 needs_person");
    let changed = studio.post(&format!("/runs/{run}/control"), &json!({ "set": { "values": { "fix": 1 } } }));
    assert_eq!(outcome_text(&changed), "403 needs_person");
    assert_eq!(outcome_text(&studio.get(&format!("/runs/{run}"))), "200");
    assert_eq!(outcome_text(&studio.post("/definitions/small/checks", &json!({}))), "200");
}

/// Nothing in its environment says so: the host is above it.
#[test]
#[cfg(unix)]
fn a_studio_below_the_process_of_an_agents_host_only_shows() {
    let project = Project::small();
    let source = |studio: &Studio, text: &str| {
        let revision = studio.get("/definitions/small").json()["revision"].clone();
        let files = json!([{ "name": "small.json", "text": text }]);
        studio.put("/definitions/small/source", &json!({ "revision": revision, "files": files }))
    };
    let before = Studio::of(&project, &[]);
    assert_eq!(before.get("/project").json()["observes"], false);
    let text = SMALL.replace("Do it.", "Do it well.");
    assert_eq!(outcome_text(&source(&before, &text)), "200");
    drop(before);

    crate::people::become_host(&project);
    let studio = Studio::of(&project, &[]);
    let shown = studio.get("/project").json();
    assert_eq!((&shown["observes"], &shown["readOnly"]), (&json!(true), &json!(false)));
    let why = shown["onlyShows"].as_str().expect("it says why");
    assert!(why.contains("started from within `claude-code`"), "{why}");
    let refused = source(&studio, SMALL);
    assert_eq!(outcome_text(&refused), "403 needs_person");
    assert!(refused.body.contains("started from within `claude-code`"), "{}", refused.body);
    let written = std::fs::read_to_string(project.path().join(".flow/workflows/small.json")).expect("it is there");
    assert_eq!(written, text);
}

#[test]
fn a_studio_that_is_read_only_changes_nothing() {
    let mut project = Project::small();
    project.write(".flow/workflows/checked.json", checked(r#"["make", "test"]"#));
    assert!(project.says("trust .flow/workflows/checked.json").ends_with("exit: 0\n"));
    let run = project.run("small", "passed");
    let studio = Studio::of(&project, &["--read-only"]);
    let key = studio.get("/project/trust").json()["trusted"][0]["key"].clone();
    let revision = studio.get("/definitions/small").json()["revision"].clone();
    let source = json!({ "revision": revision, "files": [{ "name": "small.json", "text": "{}" }] });
    for (path, wanted) in [
        (format!("/runs/{run}/fork"), json!({ "seq": 2 })),
        (format!("/runs/{run}/control"), json!({})),
        (format!("/runs/{run}/test"), json!({})),
        ("/definitions/small/try".to_owned(), json!({})),
        ("/definitions/small/evaluate".to_owned(), json!({})),
        ("/project/trust/revoke".to_owned(), json!({ "key": key })),
    ] {
        assert_eq!(outcome_text(&studio.post(&path, &wanted)), "403 read_only", "{path}");
    }
    assert_eq!(outcome_text(&studio.put("/definitions/small/source", &source)), "403 read_only");
    assert_eq!(studio.get("/project/trust").json()["trusted"][0]["key"], key);
    assert_eq!(studio.get("/definitions/small").json()["files"][0]["text"], SMALL);
    assert_eq!(studio.get("/runs").json()["runs"].as_array().map(Vec::len), Some(1));
    assert_eq!(outcome_text(&studio.get("/runs")), "200");
    assert_eq!(outcome_text(&studio.post(&format!("/runs/{run}/drawing"), &json!({}))), "200");
}

/// Whatever the interface comes to have, a request that is no look is refused.
#[test]
fn a_studio_that_is_read_only_refuses_every_method_that_is_no_look() {
    let project = Project::small();
    let studio = Studio::of(&project, &["--read-only"]);
    let described = studio.get("/openapi.json").json();
    let mut refused = Vec::new();
    for (path, methods) in described["paths"].as_object().expect("paths") {
        let asked = path.replace("{id}", "small").replace("{run}", "abcdefgh").replace("{token}", "x");
        for method in methods.as_object().expect("methods").keys().filter(|method| *method != "get") {
            let answer = match method.as_str() {
                "put" => studio.put(&asked, &json!({})),
                "post" => studio.post(&asked, &json!({})),
                other => panic!("this test makes no `{other}`"),
            };
            if !["/checks", "/edits", "/drawing"].iter().any(|look| path.ends_with(look)) {
                assert_eq!(outcome_text(&answer), "403 read_only", "{method} {path}");
                refused.push(format!("{method} {path}"));
            }
        }
    }
    for known in ["put /definitions/{id}/source", "post /project/trust/revoke", "post /definitions/{id}/try"] {
        assert!(refused.iter().any(|one| one == known), "{refused:?}");
    }
}

/// `localhost` is either address, so that nobody else can listen at the other one.
#[test]
fn a_request_over_ipv6_reaches_the_studio() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        // A machine without IPv6 has nobody at the other address.
        assert_eq!(studio.get("/project").status, 200);
        return;
    }
    let asked = |path: &str, bearer: &str| {
        let host = format!("[::1]:{}", studio.port);
        let head =
            format!("GET {path} HTTP/1.1\r\nConnection: close\r\nHost: {host}\r\nAuthorization: {bearer}\r\n\r\n");
        studio.sent_to(Ipv6Addr::LOCALHOST.into(), &head)
    };
    let answer = asked("/api/v1/project", &studio.bearer());
    assert_eq!(outcome_text(&answer), "200");
    assert_eq!(answer.json(), studio.get("/project").json());
    assert_eq!(outcome_text(&asked("/api/v1/project", "Bearer x")), "401 no_token");
    assert_eq!(asked("/", "").status, 200);
}

#[test]
fn what_only_a_person_may_say_is_not_said_with_a_token() {
    let mut project = Project::new();
    // Where a budget is spent and no edge says what then, nobody but a person goes on.
    project.write(
        ".flow/workflows/small.json",
        r#"{ "nodes": { "start": { "type": "start" }, "work": { "type": "task" },
  "verify": { "type": "gate", "maxRetries": 1 }, "done": { "type": "end", "result": "success" } },
"edges": [ { "from": "start", "to": "work" }, { "from": "work", "to": "verify" },
  { "from": "verify", "to": "done", "on": "passed" }, { "from": "verify", "to": "work", "on": "failed" } ] }
"#,
    );
    let run = project.run("small", "passed failed passed failed");
    let studio = Studio::of(&project, &[]);
    let question = studio.get("/inbox").json()["questions"][0].clone();
    assert_eq!((&question["run"], &question["person"]), (&json!(run), &json!(true)));
    let folder = project.path();
    assert_eq!(question["command"], format!("portolan runs answer {run} --project {}", folder.display()));
    let before = studio.get(&format!("/runs/{run}/records")).json();
    for option in question["options"].as_array().expect("options") {
        let answer = json!({ "revision": question["revision"], "outcome": option["outcome"] });
        assert_eq!(outcome_text(&studio.post(&format!("/runs/{run}/answer"), &answer)), "403 needs_person");
    }
    assert_eq!(studio.get(&format!("/runs/{run}/records")).json(), before);
    // The person says it in the terminal.
    let said = project.says(&format!("runs answer {run} passed"));
    assert!(said.ends_with("exit: 0\n"), "{said}");
    assert_eq!(studio.get("/inbox").json()["questions"], json!([]));
}

#[test]
#[cfg(unix)]
fn the_token_lies_in_a_file_that_nobody_else_reads_until_the_studio_ends() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::small();
    let mut studio = Studio::of(&project, &[]);
    let path = project.path().join(".portolan/studio.json");
    let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&path).expect("it is there");
    let told: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(told["token"].as_str(), Some(&*studio.token));
    let ended = std::process::Command::new("kill").args(["-TERM", &studio.child.id().to_string()]).status();
    assert!(ended.expect("it can be told").success());
    assert!(studio.child.wait().expect("it ends").success());
    assert!(!path.exists());
}

#[test]
fn a_port_that_is_taken_is_told() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let said = project.says(&format!("studio --port {}", studio.port)).replace(&studio.port.to_string(), "<port>");
    expect![[r#"
        stderr: error: cannot listen on port <port>: another program uses it
        stderr: help: name another port, or none
        exit: 1
    "#]]
    .assert_eq(&said);
}
