//! States that were given out remain readable.

use tempfile::TempDir;

use super::*;
use crate::carrier::token::{Claims, Fingerprint, Tokens};
use crate::digest::Digest;
use crate::store::RunId;

/// A fixed key, so that whole tokens are fixed.
const KEY: &str = "7e87f1655f7d7984 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";

/// Variables of every kind, a loop over items, and an activity that may be skipped.
const REVIEW: &str = r#"
id: review
version: 1.0.0
title: Review
variables:
  - { name: ticket, type: string }
  - { name: findings, type: array, default: [] }
  - { name: depth, type: string, default: full }
  - { name: score, type: number, default: 0 }
  - { name: is_urgent, type: boolean, default: false }
  - { name: result, type: object, default: { passed: 0 } }
activities:
  - id: look
    name: Look
    steps:
      - { id: read, kind: step, name: Read }
      - id: how
        kind: checkpoint
        message: How deep?
        options:
          - { id: full, label: All }
          - { id: quick, label: Little, effect: { setVariable: { depth: quick }, skipActivities: [publish] } }
      - id: each
        kind: loop
        loopType: forEach
        over: findings
        variable: finding
        steps:
          - { id: answer, kind: step, name: Answer it }
          - id: settled
            kind: checkpoint
            message: Settled?
            defaultOption: yes
            autoAdvanceMs: 60000
            options: [{ id: yes, label: Yes }, { id: no, label: No }]
    transitions: [{ to: publish }]
  - { id: publish, name: Publish, steps: [{ id: post, kind: step, name: Post }] }
"#;

/// A fork of a subflow and of work with checks.
const FORKED: [(&str, &str); 2] = [
    (
        "both.json",
        r#"{
          "nodes": {
            "start": {"type": "start"},
            "fork": {"type": "fork", "join": "join"},
            "audit": {"type": "subflow", "workflow": "audit"},
            "work": {"type": "task", "accept": [{"id": "notes", "file": "notes.md"}, {"id": "more", "file": "m.md"}]},
            "join": {"type": "join", "fork": "fork"},
            "done": {"type": "end", "result": "success"},
            "stuck": {"type": "end", "result": "blocked"}
          },
          "edges": [
            {"from": "start", "to": "fork"},
            {"from": "fork", "to": "audit"},
            {"from": "fork", "to": "work"},
            {"from": "audit", "to": "join"},
            {"from": "work", "to": "join"},
            {"from": "join", "to": "done", "on": "passed"},
            {"from": "join", "to": "stuck", "on": "failed"}
          ]
        }"#,
    ),
    (
        "audit.json",
        r#"{
          "nodes": {
            "start": {"type": "start"},
            "judge": {"type": "gate", "maxRetries": 2},
            "done": {"type": "end", "result": "success"}
          },
          "edges": [{"from": "start", "to": "judge"}, {"from": "judge", "to": "done", "on": "passed"}]
        }"#,
    ),
];

/// A run, and its state that was given out. Neither is ever changed: such states are in use.
struct Frozen {
    run: &'static str,
    state: &'static str,
}

/// In the second pass of a loop, with a question that has a timeout.
const LOOPING: Frozen = Frozen {
    run: r#"{"revision":18,"opening":{"workflow":"review","description":"Prüfe alles","rules":{"human":"attested","branches":"inside","is_branch":false},"input":{"findings":["α",{"b":-1.5,"a":null},-7]}},"root":{"flow":"review","since":13,"place":{"looping":{"node":"look.each","pass":1,"items":["α",{"b":-1.5,"a":null},-7],"frame":{"flow":"review","since":18,"place":{"waiting":{"node":"look.settled","on":"answer","due":1780000060000}},"data":{"input":null,"outputs":{"latest":{},"total":0},"variables":{"finding":{"b":-1.5,"a":null}}}}}},"data":{"input":null,"outputs":{"latest":{},"total":0},"variables":{"findings":["α",{"b":-1.5,"a":null},-7],"depth":"github","score":83,"is_urgent":true,"result":{"passed":0},"ticket":"github"},"skipped":["publish"]}}}"#,
    state: "01443d0c0c5072c3bc666520616c6c65730e031d14ceb116000162201d01000161003215050401010314ceb116000162201d01000161003216000801c0c9ab84ce6700051d34676974687562346769746875629905100109",
};

/// The agent has asked something.
const RAISED: Frozen = Frozen {
    run: r#"{"revision":31,"opening":{"workflow":"review","description":"Prüfe alles","rules":{"human":"attested","branches":"inside","is_branch":false},"input":{"findings":["α",{"b":-1.5,"a":null},-7]}},"root":{"flow":"review","since":31,"place":{"waiting":{"node":"publish.post","on":"raised"}},"raised":{"question":"Which — \"this\"?","options":["this","jeneš"]},"data":{"input":null,"outputs":{"latest":{},"total":0},"variables":{"findings":["one",2,[3.5,null]],"depth":"github","score":-0.0,"is_urgent":false,"result":{},"ticket":""}}}}"#,
    state: "01443d0c0c5072c3bc666520616c6c65730e031d14ceb116000162201d0100016100329601000a0611576869636820e28094202274686973223f0200047468697300066a656e65c5a1012f041d1c6f6e651115204601003467697468756218000000000000008006",
};

/// A branch in another workflow, with feedback, and one whose checks are under way.
const BRANCHES: Frozen = Frozen {
    run: r#"{"revision":29,"opening":{"workflow":"both","rules":{"human":"attested","branches":"inside","is_branch":false}},"root":{"flow":"both","since":2,"place":{"forked":{"node":"fork","branches":[{"name":"audit","state":{"open":{"flow":"both","since":4,"place":{"within":{"node":"audit","frame":{"flow":"audit","since":23,"place":{"ready":{"node":"judge"}},"spent":[{"gate":"judge","used":2}],"feedback":{"from":"judge","note":"said so"}}}}}}},{"name":"work","state":{"open":{"flow":"both","since":28,"place":{"checking":{"node":"work","outcome":"passed","settled":[["notes",{"broken":{"reason":"exit status 1 — früh","output":"✗"}}]],"note":"said so"}},"spent":[{"gate":"work","used":1}]}}}]}}}}"#,
    state: "0144ad00071b030201020919016006050105020505077361696420736f080221010806010401176578697420737461747573203120e28094206672c3bc6803e29c9701077361696420736f010801",
};

/// Everything else, with hardly a word of the definition.
const FOREIGN: Frozen = Frozen {
    run: r#"{"revision":25,"opening":{"workflow":"review","at":"look","rules":{"human":"verified","branches":"outside","is_branch":true},"input":{"folder":"src"},"since":1780000000000,"folder":"graphs"},"executed":300,"root":{"flow":"inventory","since":26,"place":{"each":{"node":"sizes","items":["a",2,[true,false]],"begun":2,"open":[{"name":"1","index":1,"frame":{"flow":"size_of","since":24,"place":{"calling":{"node":"info","arguments":{"path":"src/a"},"retries":1,"not_before":-5}},"data":{"input":{"path":"src/a"},"outputs":{"nodes":["entry"],"records":[{"node":0,"value":null},{"node":0}]}}}}],"done":[{"bytes":-7},null,null]}},"data":{"input":{"folder":"src"},"outputs":{"latest":{"list":{"count":2,"at":3,"value":["a",0.1,1e+300]}},"total":3},"variables":{"x":18446744073709551615},"output":0.3333333333333333,"fault":{"node":"audit/fetch","code":"tool-error","message":"it failed","detail":"exit 1"}}}}"#,
    state: "01443dda03070e0006666f6c6465721c73726302ac0280a0a484ce670667726170687394020009696e76656e746f7279ffffffffffffffffff01000573697a6573030c61111510080201000131019302000773697a655f6f66010004696e666f0e0004706174682c7372632f61010109180e0004706174682c7372632f611600056e6f6465730d2c656e74727900077265636f726473151600046e6f646501000576616c7565000e00046e6f64650103010e000562797465733200007a0e0006666f6c6465721c73726301000178f9ffffffffffffffff0f1600066c61746573740e00046c6973741e0005636f756e74110002617419000576616c75651d0c612002012002d8040005746f74616c1918555555555555d53f0b61756469742f66657463680a746f6f6c2d6572726f72096974206661696c656406657869742031",
};

/// The token of the first.
const TOKEN: &str = "v1.gzB64.H4sIAAAAAAAAAwAVAOr/AX6H8WVeCBF6zZMyrXaTlJkAGpNvAX4Agf9yCJKn1iEcJ9TQ/OCEf+A/azNteDhxMnASBnJldmlldwYxLjAuMAFEPQwMUHLDvGZlIGFsbGVzDgMdFM6xFgABYiAdAQABYQAyFQUEAQEDFM6xFgABYiAdAQABYQAyFgAIAcDJq4TOZwAFHTRnaXRodWI0Z2l0aHVimQUQAQn57/7FkwAAAA==";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("digits"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("digits")).collect()
}

fn review_of_then() -> Workflow {
    workflow(&[("review.yaml", REVIEW)])
}

/// Returns a run in its present JSON, which names its form.
fn current_json(then: &str) -> String {
    then.replacen('{', "{\"form\":\"run/1\",", 1)
}

#[test]
fn states_of_layout_1_are_read() {
    let (review, both) = (review_of_then(), workflow(&FORKED));
    for (workflow, frozen) in [(&review, LOOPING), (&review, RAISED), (&both, BRANCHES), (&review, FOREIGN)] {
        let run: Run = serde_json::from_str(frozen.run).expect("a run");
        let read_back = read(workflow, run.revision, &bytes(frozen.state)).expect(frozen.state);
        assert_eq!(text(&read_back), current_json(frozen.run));
        assert_eq!(read_back, run);
    }
}

/// A change here would change the text of tokens between two releases.
#[test]
fn this_release_writes_the_states_of_the_first() {
    let (review, both) = (review_of_then(), workflow(&FORKED));
    for (workflow, frozen) in [(&review, LOOPING), (&review, RAISED), (&both, BRANCHES), (&review, FOREIGN)] {
        let run: Run = serde_json::from_str(frozen.run).expect("a run");
        assert_eq!(hex(&comes_back(workflow, &run)), frozen.state);
    }
}

#[test]
fn the_layouts_that_are_known_are_those_that_were_given_out() {
    let state = bytes(LOOPING.state);
    let is_known = |layout: &u8| read(&review_of_then(), 18, &[&[*layout], &state[1..]].concat()).is_ok();
    assert_eq!((0..=u8::MAX).filter(is_known).collect::<Vec<u8>>(), [1]);
    assert_eq!(PRESENT, 1);
}

#[test]
fn a_whole_token_opens_to_its_run() {
    let folder = TempDir::new().expect("there is room for a directory");
    let file = folder.path().join("run.keys");
    fs::write(&file, KEY).expect("it is ours");
    #[cfg(unix)]
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it is ours");
    let tokens = Tokens::in_folder(folder.path());
    let claims = Claims {
        workflow: "review".to_owned(),
        version: Some("1.0.0".to_owned()),
        definition: Fingerprint::of(&Digest::of(REVIEW)),
        run: RunId::parse("k3mx8q2p").expect("a handle"),
        revision: 18,
        state: bytes(LOOPING.state),
    };
    assert_eq!(tokens.seal(&claims).as_deref(), Ok(TOKEN));
    let opened = tokens.open(TOKEN).expect("it was given out");
    let carried = read(&review_of_then(), opened.revision, &opened.state).expect("it was written here");
    assert_eq!(text(&carried), current_json(LOOPING.run));
}
