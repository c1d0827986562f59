use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Vec<ScriptedModelAnswer> {
    let (answers, faults) = answers(&Source::new("answers.yaml", text));
    answers.unwrap_or_else(|| panic!("{faults:?}"))
}

fn check(text: &str, expected: &Expect) {
    let source = Source::new("answers.yaml", text);
    let (answers, faults) = answers(&source);
    assert!(answers.is_none(), "it has no faults");
    let mut said = String::new();
    for fault in faults {
        let at = source.location(fault.span.map_or(0, |span| span.start));
        said.push_str(&format!("{}:{} {}\n", at.line, at.column, fault.message));
    }
    expected.assert_eq(&said);
}

#[test]
fn all_that_can_be_said_is_read_and_written_the_same() {
    let text = "- text: Hello.\n- for: draft\n  json: {b: 1, a: [true]}\n  usage: {input: 3, output: 4}\n  repeat: true\n\
                - tool_calls: [{name: search, arguments: {q: x}}, {name: look}, {name: odd, arguments: '{\"q\": '}]\n  \
                text: One moment.\n- text: And then\n  finish: length\n  delay_ms: 20\n  model: m-1\n\
                - fail: {code: rate-limited, message: slow down, retry_after_ms: 50}\n- fail: {code: refused-key}\n";
    let answers = read(text);
    let file = written(&answers);
    expect![[r#"
        [
          {"text":"Hello.","finish":"stop"},
          {"for":"draft","text":"{\"b\":1,\"a\":[true]}","usage":{"input":3,"output":4},"finish":"stop","repeat":true},
          {"text":"One moment.","tool_calls":[{"id":"call_1","name":"search","arguments":{"q":"x"}},{"id":"call_2","name":"look","arguments":{}},{"id":"call_3","name":"odd","arguments":"{\"q\": "}],"finish":"tools"},
          {"text":"And then","finish":"length","model":"m-1","delay_ms":20},
          {"fail":{"code":"rate-limited","message":"slow down","may_pass":true,"retry_after_ms":50}},
          {"fail":{"code":"refused-key","message":"the script fails with `refused-key`","may_pass":false}}
        ]
    "#]]
    .assert_eq(&file);
    assert_eq!(read(&file), answers);
}

#[test]
fn all_faults_are_told_at_once() {
    check(
        "- {}\n- text: a\n  json: 1\n- text: a\n  fail: {code: x}\n- tool_calls: 7\n- txet: a\n- tool_calls: [{nam: x}, 3]\n\
         - fail: {message: m}\n- text: a\n  finish: done\n  usage: {input: -1}\n  delay_ms: soon\n  repeat: 2\n- 8\n",
        &expect![[r#"
            1:3 answer 1 says nothing
            2:3 answer 2 has both `text` and `json`
            4:3 answer 3 has both `text` and `fail`
            6:15 `tool_calls` of answer 4 must be a list of at most 128 tools, but is `7`
            7:3 answer 5 says nothing
            7:3 answer 5 has a field `txet`, which has no meaning here
            8:16 tool call 1 has no `name`
            8:17 tool call 1 has a field `nam`, which has no meaning here
            8:26 tool call 2 must be an object, but is a number
            9:9 `fail` of answer 7 has no `code`
            11:11 `finish` of answer 8 is `done`, which is not one of its values
            12:18 `input` of answer 8 is empty must be a whole number from 0 to 4294967295, but is `-1`
            13:13 `delay_ms` of answer 8 is `soon`, which is not a valid duration
            14:11 `repeat` of answer 8 must be `true` or `false`, but is `2`
            15:3 answer 9 must be an object, but is a number
        "#]],
    );
    check(
        "answers: []",
        &expect![[r#"
        1:1 a file of answers must be a list of answers, but is an object
    "#]],
    );
}

proptest! {
    #[test]
    fn whatever_a_model_says_comes_back_from_the_file(
        content in proptest::option::of(any::<String>()),
        arguments in any::<String>(),
        to in proptest::option::of(any::<String>()),
    ) {
        let uses = vec![ToolUse { id: "c".into(), name: "n".into(), arguments: Arguments::read(&arguments), extra: None }];
        let message = Message { content, tool_calls: uses, ..Message::text(Role::Assistant, "") };
        let answer = ModelAnswer { message, finish: Finish::Tools, usage: Usage::default(), model: None, cost_microdollars: None };
        let scripted = vec![ScriptedModelAnswer { to, repeat: false, delay_ms: 0, says: Ok(answer) }];
        prop_assert_eq!(read(&written(&scripted)), scripted);
    }
}
