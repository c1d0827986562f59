//! Entries of servers in, servers and diagnostics out.

use expect_test::expect;

use super::servers;
use crate::graph::{Builtin, Server, Transport};
use crate::source::Source;

fn line(server: &Server) -> String {
    let how = match &server.transport {
        Transport::Stdio { command, args, cwd, env } => format!("stdio {command} {args:?} in {cwd:?} with {env:?}"),
        Transport::Http { url, headers, either } => {
            format!("http {url} {headers:?}{}", if *either { " or sse" } else { "" })
        }
        Transport::Sse { url, headers } => format!("sse {url} {headers:?}"),
        Transport::Builtin(Builtin::Filesystem { root }) => format!("files of {root}"),
        Transport::Builtin(Builtin::Echo) => "echo".to_owned(),
    };
    let timeout = server.timeout_ms.map_or(String::new(), |ms| format!(", {ms} ms"));
    format!("{}: {how}{timeout}{}\n", server.name, if server.disabled { ", disabled" } else { "" })
}

fn story(name: &str, text: &str) -> String {
    let source = Source::new(name, text);
    let (servers, faults) = servers(&source);
    let mut story: String = servers.iter().map(line).collect();
    for fault in &faults {
        let at = fault.span.map(|span| source.location(span.start));
        let at = at.map_or("-".to_owned(), |at| format!("{}:{}", at.line, at.column));
        let kind = if fault.is_error() { "error" } else { "warning" };
        story += &format!("{at} {kind} {}: {}\n", fault.code, fault.message);
        story += &fault.help.as_ref().map(|help| format!("    help: {help}\n")).unwrap_or_default();
    }
    story
}

#[test]
fn what_clients_write_is_read() {
    let text = r#"{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "${HOME:-/tmp}"]},
    "github": {"type": "stdio", "command": "docker", "args": [], "env": {"TOKEN": "${TOKEN}"}, "cwd": "./x",
      "disabled": true, "autoApprove": ["search"], "alwaysAllow": [], "timeout": 60000, "description": "code"},
    "bare": {"url": "https://example.com/mcp"},
    "http": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${KEY}"}},
    "streamable": {"type": "streamable-http", "url": "${BASE}/mcp", "timeout": "1.5s"},
    "graph": {"type": "streamableHttp", "url": "http://x/mcp", "headers": {"A": "2"},
      "requestInit": {"headers": {"A": "1", "B": "1"}}},
    "old": {"transport": "sse", "url": "http://x/sse", "eventSourceInit": {"headers": {"C": "3"}}, "requestInit": {}},
    "files": {"builtin": "filesystem", "root": "."},
    "say": {"builtin": "echo"}
  }
}"#;
    expect![[r#"
        filesystem: stdio npx ["-y", "@modelcontextprotocol/server-filesystem", "${HOME:-/tmp}"] in None with {}
        github: stdio docker [] in Some("./x") with {"TOKEN": "${TOKEN}"}, 60000 ms, disabled
        bare: http https://example.com/mcp {} or sse
        http: http https://example.com/mcp {"Authorization": "Bearer ${KEY}"}
        streamable: http ${BASE}/mcp {}, 1500 ms
        graph: http http://x/mcp {"A": "2", "B": "1"}
        old: sse http://x/sse {"C": "3"}
        files: files of .
        say: echo
        6:40 warning inert-field: `autoApprove` of server `github` controls other clients, not this one
            help: permission to start servers is asked for once and remembered; remove the field if no other client reads it
        6:67 warning inert-field: `alwaysAllow` of server `github` controls other clients, not this one
            help: permission to start servers is asked for once and remembered; remove the field if no other client reads it
    "#]].assert_eq(&story("mcp.json", text));
}

#[test]
fn other_names_of_the_map_are_read() {
    expect![[r#"
        a: stdio b [] in None with {}
    "#]]
    .assert_eq(&story("mcp.json", r#"{"servers": {"a": {"command": "b"}}, "inputs": []}"#));
    expect![[r#"
        a: stdio b [] in None with {"PORT": "80"}
    "#]]
    .assert_eq(&story("mcp.yaml", "mcpServers:\n  a:\n    command: b\n    env: {PORT: \"80\"}\n"));
    expect![[r#""#]].assert_eq(&story("mcp.json", r#"{"mcpServers": null}"#));
}

#[test]
fn a_file_without_servers_is_told_so() {
    expect![[r#"
        1:1 warning missing-field: the file has no `mcpServers`, so it names no server
            help: write `{"mcpServers": {"files": {"command": "npx", "args": ["…"]}}}`, each server under its name
    "#]]
    .assert_eq(&story("mcp.json", r#"{"files": {"command": "npx"}}"#));
    expect![[r#"
        1:1 error wrong-type: a list of servers must be an object, but is an array
            help: write `{"mcpServers": {"files": {"command": "npx", "args": ["…"]}}}`, each server under its name
    "#]]
    .assert_eq(&story("mcp.json", "[]"));
    expect![[r#"
        1:16 error wrong-type: `mcpServers` must be an object from name to server, but is an array
            help: write `{"mcpServers": {"files": {"command": "npx", "args": ["…"]}}}`, each server under its name
    "#]]
    .assert_eq(&story("mcp.json", r#"{"mcpServers": []}"#));
    expect![[r#"
        1:1 error syntax: not valid JSON: unterminated object
    "#]]
    .assert_eq(&story("mcp.json", "{"));
}

#[test]
fn a_faulty_server_is_reported_and_the_others_are_read() {
    let text = "mcpServers:
  good: {command: a}
  none: {}
  both: {command: a, url: http://x}
  three: {command: a, url: http://x, builtin: echo}
  empty: {command: ''}
  numbers: {command: a, args: [-p, 80], env: {PORT: 80, ON: true}}
  type: {type: webSocket, url: http://x}
  mixed: {type: stdio, url: http://x}
  other: {type: sse, command: a}
  inner: {type: stdio, builtin: echo}
  ftp: {url: ftp://x}
  rootless: {builtin: filesystem}
  rooted: {builtin: echo, root: .}
  nobody: {builtin: filesystm, root: .}
  list: [a]
  '': {command: a}
  good: {command: b}
  headers: {url: http://x, headers: {'a b': c, X: \"1\\n2\"}, requestInit: {credentials: include}}
  env: {command: a, env: {'A=B': c}}
  late: {command: a, timeout: 30}
  later: {command: a, timeout: 3 days, disabled: 'no'}
  typo: {comand: a}
  typos: {command: a, arguments: [b], disabledTools: [x]}
";
    expect![[r#"
        good: stdio b [] in None with {}
        late: stdio a [] in None with {}, 30 ms
        typos: stdio a [] in None with {}
        3:9 error bad-server: server `none` says neither how to start it nor how to reach it
            help: give it one of `command` (the program to start), `url` (its address) and `builtin`
        4:9 error bad-server: server `both` has `command` and `url` at once
            help: give it one of `command` (the program to start), `url` (its address) and `builtin`
        5:10 error bad-server: server `three` has `command`, `url` and `builtin` at once
            help: give it one of `command` (the program to start), `url` (its address) and `builtin`
        6:20 error bad-server: server `empty` has an empty `command`
            help: give it one of `command` (the program to start), `url` (its address) and `builtin`
        7:36 error wrong-type: `args` of server `numbers` must be an array of strings, but is `80`
            help: put it in quotes: `"80"`
        7:53 error wrong-type: `env` of server `numbers` must be an object of strings, but is `80`
            help: put it in quotes: `"80"`
        7:61 error wrong-type: `env` of server `numbers` must be an object of strings, but is a boolean
            help: put it in quotes: `"true"`
        8:16 error unknown-value: `type` of server `type` is `webSocket`, which is not one of its values
            help: write one of `stdio`, `http`, `streamableHttp`, `streamable-http` and `sse`
        9:17 error bad-server: server `mixed` is of the type `stdio`, but has a `url`
            help: remove the `type`: it follows from the other fields
        10:17 error bad-server: server `other` has a `command`, but a type that requires a `url`
            help: remove the `type`: it follows from the other fields
        11:17 error bad-server: server `inner` is built in, and needs no `type`
            help: remove the `type`: it follows from the other fields
        12:14 error bad-server: server `ftp` has the url `ftp://x`, which is not an HTTP URL
            help: begin it with `https://` or `http://`
        13:23 error bad-server: server `rootless` has no `root`
            help: name the folder that it may read, for example `root: ./data`
        14:33 error bad-server: server `rooted` has a `root`, which `echo` does not use
            help: remove it
        15:21 error unknown-value: `builtin` of server `nobody` is `filesystm`, which is not one of its values
            help: did you mean `filesystem`?
        16:9 error wrong-type: server `list` must be an object, but is an array
        17:3 error bad-id: `` cannot be the name of a server
            help: a name has 1 to 200 bytes and no control characters; prefer letters, digits, `_` and `-`
        18:3 warning duplicate-key: `mcpServers` has `good` twice
            help: keep one of the two: readers disagree on which one counts (until then the last one counts)
        19:38 error bad-server: server `headers` has `a b` in its `headers`, which is not a valid name there
            help: use letters, digits, `_` and `-`
        19:51 error bad-server: server `headers` has a control character in its `headers`
            help: remove it
        19:74 warning unknown-field: `requestInit` of server `headers` has a field `credentials`, which has no meaning here
            help: the fields here are `headers` (until then it is ignored)
        20:27 error bad-server: server `env` has `A=B` in its `env`, which is not a valid name there
            help: use letters, digits, `_` and `-`
        21:31 warning short-timeout: server `late` has a timeout of 30 milliseconds
            help: a bare number is in milliseconds, as in most clients: write `30s` for seconds
        22:32 warning bad-duration: `timeout` of server `later` is `3 days`, which is not a valid duration
            help: write a number of milliseconds, or a text such as `500ms`, `2s` or `1m`; from 1 to 86400000 ms (until then it counts as absent)
        22:50 error wrong-type: `disabled` of server `later` must be `true` or `false`, but is a string
        23:9 error bad-server: server `typo` says neither how to start it nor how to reach it
            help: give it one of `command` (the program to start), `url` (its address) and `builtin`
        23:10 warning unknown-field: server `typo` has a field `comand`, which has no meaning here
            help: did you mean `command`? (until then it is ignored)
        24:23 warning unknown-field: server `typos` has a field `arguments`, which has no meaning here
            help: the fields here are `transport`, `type`, `command`, `args`, `cwd`, `env`, `url`, `eventSourceInit`, `requestInit`, `headers`, `builtin`, `root`, `disabled`, `timeout`, `description`, `icon` and 10 more (until then it is ignored)
        24:39 warning unknown-field: server `typos` has a field `disabledTools`, which has no meaning here
            help: did you mean `disabled`? (until then it is ignored)
    "#]].assert_eq(&story("mcp.yaml", text));
}

#[test]
fn malformed_variables_are_shown_where_they_stand() {
    let text = "mcpServers:
  a:
    command: ${HOME}/bin/$x ${1X}
    args: [\"é ${A:-}\", \"${env:TOKEN}\", '${', \"\\t${ A }\"]
    env:
      X: >
        one
        ${two
  b: {url: 'https://${HOST:-localhost}:${PORT}/${}'}
";
    expect![[r#"
        3:29 error bad-server: server `a` names the variable `${1X}`, which is not a valid name
            help: write `${NAME}`, or `${NAME:-text}` with a default for when it is not set; a name has letters, digits and `_`
        4:25 error bad-server: server `a` names the variable `${env:TOKEN}`, which is not a valid name
            help: write `${TOKEN}`
        4:41 error bad-server: server `a` has a `${` without a closing `}`
            help: write `${NAME}`, or `${NAME:-text}` with a default for when it is not set; a name has letters, digits and `_`
        4:49 error bad-server: server `a` names the variable `${ A }`, which is not a valid name
            help: write `${NAME}`, or `${NAME:-text}` with a default for when it is not set; a name has letters, digits and `_`
        8:9 error bad-server: server `a` has a `${` without a closing `}`
            help: write `${NAME}`, or `${NAME:-text}` with a default for when it is not set; a name has letters, digits and `_`
        9:48 error bad-server: server `b` names the variable `${}`, which is not a valid name
            help: write `${NAME}`, or `${NAME:-text}` with a default for when it is not set; a name has letters, digits and `_`
    "#]].assert_eq(&story("mcp.yaml", text));
}

#[test]
fn very_many_servers_are_one_fault() {
    let servers: Vec<String> = (0..2_000).map(|at| format!("\"s{at}\": {{}}")).collect();
    let text = format!("{{\"mcpServers\": {{{}}}}}", servers.join(","));
    expect![[r#"
        1:16 error too-large: there are 2000 servers, more than the limit of 1000
            help: remove those that are not used
    "#]]
    .assert_eq(&story("mcp.json", &text));
}
