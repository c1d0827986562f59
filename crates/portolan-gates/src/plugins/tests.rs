use std::collections::BTreeMap;

use expect_test::expect;

use super::*;
use crate::{Decision, Intent, Tool};
use portolan_core::source::Source;
use serde_json::json;

fn read(text: &str) -> Plugins {
    let (plugins, faults) = Plugins::read(&Source::new("plugins.yaml", text));
    plugins.unwrap_or_else(|| panic!("{faults:?}"))
}

fn faults(text: &str) -> String {
    let source = Source::new("plugins.yaml", text);
    let (plugins, faults) = Plugins::read(&source);
    assert!(plugins.is_none(), "{text}");
    let told = |fault: &portolan_core::diagnostic::Diagnostic| {
        let line = source.location(fault.span.map_or(0, |span| span.start)).line;
        format!("{line} {}: {}\n", fault.code, fault.message)
    };
    faults.iter().map(told).collect()
}

fn intent(name: &str, tool: Tool) -> Intent {
    let name = name.to_owned();
    Intent {
        session: None,
        call: None,
        agent: None,
        folder: "/p/src".into(),
        name,
        tool,
        arguments: Vec::new(),
        branch: None,
    }
}

fn edit(path: &str) -> Intent {
    intent("Write", Tool::Edit { paths: vec![path.to_owned()] })
}

fn shell(command: &str) -> Intent {
    intent("Bash", Tool::Shell { command: command.to_owned() })
}

#[test]
fn a_file_says_everything_that_a_project_adds() {
    let plugins = read(
        "budgets: {warnAt: 50, day: {costUsd: 2.5, turns: 10}, task: {wallSeconds: 60}}
guards: [{id: a, tools: [edit], reason: no}]
notifiers:
  - {id: w, webhook: 'https://example.com/x', allowPrivate: true}
  - {id: f, file: notes.jsonl}
  - {id: c, command: [say, '{body}']}
  - {id: g, github: true}
drivers: [{id: d, argv: [tool, '{prompt}']}]
",
    );
    let budgets: Vec<String> =
        plugins.budgets.iter().map(|b| format!("{:?}", (b.scope, b.unit, b.cap, b.warn_at))).collect();
    assert_eq!(budgets.join(" "), "(Day, CostUsd, 2500000, 50) (Day, Turns, 10, 50) (Task, WallSeconds, 60000, 50)");
    let commands: Vec<String> =
        plugins.commands().iter().map(|(kind, id, argv)| format!("{kind} {id} {}", argv.join(" "))).collect();
    expect![[r#"
        notifier w https://example.com/x allowPrivate
        notifier c say {body}
        notifier g gh issue comment {issue of the task}
        driver d tool {prompt}"#]]
    .assert_eq(&commands.join("\n"));
    assert_eq!(read(""), Plugins::default());
}

#[test]
fn every_fault_is_told_in_its_place() {
    expect![[r#"
        1 unknown-field: the file of plug-ins has no `guard`
        2 unknown-field: the budget of a day has no `cost`
        2 wrong-type: `turns` must be a number, 0 or more
        3 wrong-type: `warnAt` must be a whole number from 1 to 100
        4 replaces-built-in: `no-edit-on-integration` is a built-in guard that enforces an invariant
        5 unknown-word: `decision` cannot be `allow`
        6 unknown-name: `branc` is not available in `when`
        7 missing-field: guard `e` needs exactly one `reason`
        8 duplicate-id: `guards` has two items with the name `e`
        10 missing-field: notifier `n` needs exactly one `command`, `webhook`, `file` or `github`
        11 missing-field: notifier `m` needs exactly one `command`, `webhook`, `file` or `github`
        11 wrong-type: `file` must be a path inside the project
        12 missing-field: notifier `o` needs exactly one `command`, `webhook`, `file` or `github`
        12 wrong-type: `command` must be a list: a program, then its arguments; it is not run in a shell
        13 unknown-guard: `allowOverride` names `x`, which is not a guard
    "#]]
    .assert_eq(&faults(
        "guard: []
budgets: {day: {cost: 1, turns: -1},
  warnAt: 0}
guards: [{id: no-edit-on-integration, tools: [x], reason: r},
  {id: b, tools: [x], reason: r, decision: allow},
  {id: c, when: branc = 'x', reason: r},
  {id: e, tools: [x]}, {id: e, tools: [x], reason: r},
  {id: e, tools: [y], reason: r}]
notifiers:
  - {id: n, file: a, command: [b]}
  - {id: m, file: ../a}
  - {id: o, command: rm -rf /}
allowOverride: [x]
",
    ));
    assert!(faults("guards: [{id: a, tools: x, when: '((', reason: r}]").contains("bad-expression"));
    assert!(faults("[").contains("1 "));
    let notifier = |url: &str| format!("notifiers: [{{id: n, webhook: \"{url}\"}}]");
    for fine in ["https://chat.example.com/x", "http://127.0.0.1:80/x", "http://[::1]/x", "http://localhost"] {
        assert_eq!(read(&notifier(fine)).notifiers.len(), 1, "{fine}");
    }
    for elsewhere in [
        "http://chat.example.com/x",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "http://127.0.0.1:80@example.com",
        "http://[2001:db8::1]/",
        "ftp://x",
    ] {
        assert!(faults(&notifier(elsewhere)).contains("wrong-type"), "{elsewhere}");
    }
}

#[test]
fn a_guard_is_about_tools_paths_and_a_condition() {
    let plugins = read(
        r#"
guards:
  - {id: paths, tools: [edit], paths: ["secrets/**"], reason: these are secrets}
  - {id: when, tools: [shell], when: '$contains(command, "deploy") and phase != "merge"', decision: ask, reason: too early}
  - {id: servers, tools: ["mcp:github/*"], reason: not this server}
  - {id: large, tools: ["mcp:pay/*"], when: 'arguments.amount > 100', decision: ask, reason: too much}
  - {id: early, tools: ["mcp:ship/*"], when: '$not("packed" in steps)', reason: not packed yet}
  - {id: often, tools: ["mcp:pay/*"], when: 'calls.step >= 2 or calls.run >= 3', reason: too often}
"#,
    );
    let around = GuardInput {
        root: "/p",
        branch: Some("main"),
        phase: Some("qa"),
        strict: false,
        arguments: None,
        earlier: None,
        steps: &[],
        today: None,
        branches: &[],
    };
    let said = |intent: &Intent, around: &GuardInput<'_>| {
        let judged = plugins.guards.iter().filter_map(|guard| guard.judge(intent, around));
        judged.map(|said| format!("{} {:?}", said.guard, said.decision)).collect::<Vec<_>>().join(" ")
    };
    for path in ["../secrets/key", "/p/secrets/a/b", "./../src/../secrets/x"] {
        assert_eq!(said(&edit(path), &around), "paths Block", "{path}");
    }
    for path in ["secrets/key", "/p/other", "/p-evil/secrets/x", "/secrets/x"] {
        assert_eq!(said(&edit(path), &around), "", "{path}");
    }
    assert_eq!(said(&shell("make deploy"), &around), "when Ask");
    assert_eq!(said(&shell("make deploy"), &GuardInput { phase: Some("merge"), ..around }), "");
    assert_eq!(said(&shell("make test"), &around), "");
    let mcp = Tool::Mcp { server: "github".to_owned(), tool: "create_issue".to_owned(), does: None };
    assert_eq!(said(&intent("mcp__github__create_issue", mcp), &around), "servers Block");
    let pay = intent("mcp__pay__send", Tool::Mcp { server: "pay".to_owned(), tool: "send".to_owned(), does: None });
    for (amount, expected) in
        [(json!(100), ""), (json!(101), "large Ask"), (json!("much"), "large Ask"), (json!(null), "large Ask")]
    {
        let arguments = json!({ "amount": amount });
        assert_eq!(said(&pay, &GuardInput { arguments: Some(&arguments), ..around }), expected, "{arguments}");
    }
    let ship = intent("mcp__ship__it", Tool::Mcp { server: "ship".to_owned(), tool: "it".to_owned(), does: None });
    assert_eq!(said(&ship, &around), "early Block");
    assert_eq!(said(&ship, &GuardInput { steps: &["review"], ..around }), "early Block");
    assert_eq!(said(&ship, &GuardInput { steps: &["review", "packed"], ..around }), "");
    let earlier = |names: &[&str], is_of_step| EarlierCall {
        run: "first".to_owned(),
        names: names.iter().map(|&name| name.to_owned()).collect(),
        steps: Vec::new(),
        is_of_step,
        amounts: BTreeMap::new(),
        results: None,
    };
    let (here, before) = (earlier(&["mcp__pay__send", "mcp:pay/send"], true), earlier(&["mcp:pay/send"], false));
    let other = earlier(&["mcp:bank/send"], true);
    let of_second = EarlierCall { run: "second".to_owned(), ..before.clone() };
    for (calls, expected) in [
        (vec![here.clone(), other.clone(), other], ""),
        (vec![here.clone(), before.clone()], ""),
        (vec![here.clone(), here.clone()], "often Block"),
        (vec![before.clone(), before.clone(), of_second.clone()], ""),
        (vec![of_second.clone(), of_second.clone(), before.clone(), of_second], "often Block"),
        (vec![before.clone(), before, here], "often Block"),
    ] {
        assert_eq!(said(&pay, &GuardInput { earlier: Some(&calls), ..around }), expected, "{calls:?}");
    }
}

#[test]
fn a_guard_that_cannot_tell_lets_nothing_happen() {
    for when in ["$error('x')", "1 + 1", "($f := function($n) { $f($n + 1) + 1 }; $f(1))", "$number(tool) > 1"] {
        let text = format!("guards: [{{id: a, when: {}, reason: r}}]", serde_json::Value::from(when));
        let plugins = read(&text);
        let said = |strict| plugins.guards[0].judge(&shell("ls"), &GuardInput { strict, ..GuardInput::default() });
        assert_eq!(said(false).map(|said| said.decision), Some(Decision::Ask), "{when}");
        let strict = said(true).expect("it is not allowed");
        assert_eq!(strict.decision, Decision::Block, "{when}");
        assert!(strict.reason.starts_with("the guard `a` cannot decide: "), "{}", strict.reason);
    }
}

#[test]
fn a_guard_knows_the_form_of_arguments() {
    let text = "guards: [{id: a, tools: 'mcp:db/*', when: '$not(arguments.dry = true)', reason: within the limit,
        schema: {properties: {amount: {maximum: 100}}, required: [amount]}}]";
    let (plugins, faults) = Plugins::read(&Source::new("plugins.yaml", text));
    let guard = &plugins.unwrap_or_else(|| panic!("{faults:?}")).guards[0];
    assert!(guard.reads_arguments());
    let tool = Tool::Mcp { server: "db".to_owned(), tool: "pay".to_owned(), does: None };
    let intent = Intent { tool, name: "mcp__db__pay".to_owned(), ..shell("ls") };
    let said = |arguments: Option<&serde_json::Value>| {
        let around = GuardInput { arguments, ..GuardInput::default() };
        guard.judge(&intent, &around).map(|said| (said.decision, said.reason))
    };
    let block = |place: &str| {
        let reason = format!("within the limit (the argument at `{place}` is not as `schema` requires)");
        Some((Decision::Block, reason))
    };
    assert_eq!(said(Some(&serde_json::json!({ "amount": 100 }))), None);
    assert_eq!(said(Some(&serde_json::json!({ "amount": 101 }))), block("/amount"));
    assert_eq!(said(Some(&serde_json::json!({}))), block("/"));
    assert_eq!(said(Some(&serde_json::json!({ "dry": true }))), None);
    assert_eq!(said(None).map(|(decision, _)| decision), Some(Decision::Ask));
    let (none, faults) = Plugins::read(&Source::new("plugins.yaml", "guards: [{id: a, schema: {type: 7}, reason: r}]"));
    assert!(
        none.is_none() && faults.iter().any(|fault| fault.message.contains("not a valid JSON Schema")),
        "{faults:?}"
    );
}

#[test]
fn a_guard_adds_up_an_argument() {
    let plugins = read(
        "guards: [{id: money, tools: 'mcp:pay/*', total: {argument: amount, most: 100}, reason: too much},
        {id: here, tools: 'mcp:pay/*', total: {argument: amount, most: 50, per: step}, decision: ask, reason: much}]",
    );
    assert!(plugins.guards.iter().all(|guard| guard.reads_arguments() && guard.reads_calls()));
    let tool = |server: &str| Tool::Mcp { server: server.to_owned(), tool: "send".to_owned(), does: None };
    let pay = intent("mcp__pay__send", tool("pay"));
    let call = |run: &str, amount: Option<f64>, is_of_step| EarlierCall {
        run: run.to_owned(),
        names: vec!["mcp:pay/send".to_owned()],
        steps: Vec::new(),
        is_of_step,
        amounts: amount.map(|amount| ("amount".to_owned(), amount)).into_iter().collect(),
        results: None,
    };
    let said = |intent: &Intent, amount: serde_json::Value, earlier: &[EarlierCall]| {
        let arguments = json!({ "amount": amount });
        let around = GuardInput { arguments: Some(&arguments), earlier: Some(earlier), ..GuardInput::default() };
        let judged = plugins.guards.iter().filter_map(|guard| guard.judge(intent, &around));
        judged.map(|said| format!("{} {:?}", said.guard, said.decision)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(said(&pay, json!(50), &[]), "");
    assert_eq!(said(&pay, json!(51), &[]), "here Ask");
    assert_eq!(said(&pay, json!(100.5), &[]), "money Block here Ask");
    let before = [call("a", Some(60.0), false), call("a", Some(20.0), true)];
    assert_eq!(said(&pay, json!(20), &before), "");
    assert_eq!(said(&pay, json!(20.5), &before), "money Block");
    assert_eq!(said(&pay, json!(31), &before[1..]), "here Ask");
    // Runs do not add up, and a second one gives no further money.
    let of_two = [call("a", Some(60.0), false), call("b", Some(60.0), false)];
    assert_eq!(said(&pay, json!(40), &of_two), "");
    assert_eq!(said(&pay, json!(41), &of_two), "money Block");
    // What cannot be added up is asked about: a negative amount would give further money.
    for unknown in [json!(-1), json!("1"), json!(null), json!([1])] {
        assert_eq!(said(&pay, unknown.clone(), &[]), "money Ask here Ask", "{unknown}");
    }
    assert_eq!(said(&pay, json!(1), &[call("a", None, true)]), "money Ask here Ask");
    let other = EarlierCall { names: vec!["mcp:bank/send".to_owned()], ..call("a", Some(1_000.0), true) };
    assert_eq!(said(&pay, json!(1), &[other]), "");
    assert_eq!(said(&intent("mcp__bank__send", tool("bank")), json!(1_000), &[]), "");
    let arguments = json!({ "amount": 7 });
    assert_eq!(plugins.guards[0].amount(&pay, Some(&arguments)), Some(("amount", 7.0)));
    assert_eq!(plugins.guards[0].amount(&intent("mcp__bank__send", tool("bank")), Some(&arguments)), None);
    // In a run without a record of its calls nothing can be added up.
    let uncounted = |intent: &Intent| plugins.guards[0].uncounted(intent, false).map(|said| said.decision);
    assert_eq!(uncounted(&pay), Some(Decision::Ask));
    assert_eq!(uncounted(&intent("mcp__bank__send", tool("bank"))), None);
    expect![[r#"
        1 missing-field: the `total` of guard `b` needs exactly one `most`
        2 wrong-type: `most` must be a number, 0 or more
        2 unknown-word: `per` cannot be `week`
        3 missing-field: the `total` of guard `e` needs exactly one `most`
        3 unknown-field: the `total` of guard `e` has no `limit`
    "#]]
    .assert_eq(&faults(
        "guards: [{id: a, reason: r, total: {most: 1}}, {id: b, reason: r, total: {argument: a}},
        {id: c, reason: r, total: {argument: a, most: -1}}, {id: d, reason: r, total: {argument: a, most: 1, per: week}},
        {id: e, reason: r, total: {argument: a, limit: 1}}]",
    ));
}

#[test]
fn a_guard_adds_up_a_number_of_the_results() {
    let plugins = read(
        "guards: [{id: rows, tools: 'mcp:db/*', total: {result: '$count(result.rows)', most: 10}, reason: too many}]",
    );
    let guard = &plugins.guards[0];
    assert!(guard.reads_calls() && !guard.reads_arguments());
    let query = intent("mcp__db__q", Tool::Mcp { server: "db".to_owned(), tool: "q".to_owned(), does: None });
    let expression = guard.result_expression(&query).expect("it reads the result");
    assert!(guard.result_expression(&shell("ls")).is_none());
    let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    for (result, expected) in [
        (json!({ "content": [], "structuredContent": { "rows": [1, 2, 3] } }), Some(3.0)),
        (text(r#"{"rows": [1, 2]}"#), Some(2.0)),
        (text("no rows"), Some(0.0)),
        (json!({ "content": [] }), Some(0.0)),
        (json!({ "content": [], "structuredContent": { "rows": [1] }, "isError": true }), Some(0.0)),
        (json!({ "content": 7 }), None),
    ] {
        assert_eq!(result_amount(expression, &result), expected, "{result}");
    }
    let of_resource = read("guards: [{id: r, total: {result: '$count(result.contents)', most: 1}, reason: r}]");
    let expression = of_resource.guards[0].result_expression(&query).expect("it reads the result");
    assert_eq!(result_amount(expression, &json!({ "contents": [{ "text": "a" }] })), Some(1.0));
    let negative = read("guards: [{id: r, total: {result: 'result.n', most: 1}, reason: r}]");
    let expression = negative.guards[0].result_expression(&query).expect("it reads the result");
    for odd in [r#"{"n": -1}"#, r#"{"n": "1"}"#, "{}"] {
        assert_eq!(result_amount(expression, &text(odd)), None, "{odd}");
    }
    let call = |results: Option<f64>| EarlierCall {
        run: "a".to_owned(),
        names: vec!["mcp:db/q".to_owned()],
        steps: Vec::new(),
        is_of_step: true,
        amounts: BTreeMap::new(),
        results: results.map(|rows| [("$count(result.rows)".to_owned(), rows)].into_iter().collect()),
    };
    let said = |earlier: &[EarlierCall]| {
        let around = GuardInput { earlier: Some(earlier), ..GuardInput::default() };
        guard.judge(&query, &around).map(|said| (said.decision, said.reason))
    };
    assert_eq!(said(&[call(Some(4.0)), call(Some(5.0))]), None);
    let reason = "too many (12 of 10 `$count(result.rows)` were used before)".to_owned();
    assert_eq!(said(&[call(Some(4.0)), call(Some(8.0))]), Some((Decision::Block, reason)));
    let unknown = said(&[call(None)]).expect("it cannot decide");
    assert_eq!(unknown.0, Decision::Ask);
    assert!(unknown.1.ends_with("a call was made before whose result is not on record"), "{}", unknown.1);
    expect![[r#"
        1 bad-expression: `result` cannot be read: the expression ends too early
        1 unknown-name: `rows` is not available in `result`
        2 either-or: the `total` of guard `c` has both `argument` and `result`
    "#]]
    .assert_eq(&faults(
        "guards: [{id: a, reason: r, total: {result: '((', most: 1}}, {id: b, reason: r, total: {result: rows, most: 1}},
        {id: c, reason: r, total: {argument: a, result: result, most: 1}}]",
    ));
}

#[test]
fn a_guard_limits_a_day() {
    let plugins = read(
        "guards: [{id: often, tools: 'mcp:pay/*', total: {most: 2, per: day}, reason: often},
        {id: money, tools: 'mcp:pay/*', total: {argument: amount, most: 100, per: day}, reason: much}]",
    );
    assert!(plugins.guards.iter().all(DeclaredGuard::reads_day));
    let pay = intent("mcp__pay__send", Tool::Mcp { server: "pay".to_owned(), tool: "send".to_owned(), does: None });
    assert!(plugins.guards[0].counts_in_day(&pay) && !plugins.guards[0].counts_in_day(&shell("ls")));
    let call = |amount: f64| EarlierCall {
        run: String::new(),
        names: vec!["mcp:pay/send".to_owned()],
        steps: Vec::new(),
        is_of_step: false,
        amounts: BTreeMap::from([("amount".to_owned(), amount)]),
        results: None,
    };
    let said = |calls: &[f64]| {
        let arguments = json!({ "amount": 30 });
        let calls = calls.iter().map(|amount| call(*amount)).collect();
        let today = CallsOfDay { calls, until: "midnight".to_owned() };
        let around = GuardInput { arguments: Some(&arguments), today: Some(&today), ..GuardInput::default() };
        let judged = plugins.guards.iter().filter_map(|guard| guard.judge(&pay, &around));
        judged.map(|said| said.reason).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(said(&[70.0]), "");
    assert_eq!(said(&[70.5]), "much (70.5 of 100 `amount` were used before today, until midnight)");
    assert_eq!(said(&[1.0, 2.0]), "often (2 of 2 calls were used before today, until midnight)");
    let unknown = plugins.guards[0].judge(&pay, &GuardInput::default()).expect("a judgement");
    assert_eq!(unknown.reason, "the guard `often` cannot decide: the calls of the day are not on record");
}

#[test]
fn a_guard_wants_to_know_the_branch() {
    let plugins = read("guards: [{id: one, tools: 'mcp:db/write', exclusive: true, reason: one writes}]");
    let tool = Tool::Mcp { server: "db".to_owned(), tool: "write".to_owned(), does: None };
    let open = ["logs".to_owned(), "metrics".to_owned()];
    let said = |branch: Option<&str>, branches: &[&[String]]| {
        let write = Intent { branch: branch.map(str::to_owned), ..intent("mcp__db__write", tool.clone()) };
        let around = GuardInput { branches, ..GuardInput::default() };
        plugins.guards[0].judge(&write, &around).map(|said| said.reason)
    };
    let expected = "one writes (name your branch in `_meta` as `portolan/branch`: `logs` and `metrics`)";
    assert_eq!(said(None, &[&open]).as_deref(), Some(expected));
    assert_eq!(said(Some("traces"), &[&open]).as_deref(), Some(expected));
    assert_eq!(said(Some("logs"), &[&open]), None);
    assert_eq!(said(None, &[]), None);
}

#[test]
fn a_guard_knows_what_was_called_before() {
    let plugins =
        read("guards: [{id: a, tools: 'mcp:web/*', when: '\"mcp:files/read_private\" in called', reason: r}]");
    let guard = &plugins.guards[0];
    assert!(guard.reads_calls());
    let web = Tool::Mcp { server: "web".to_owned(), tool: "post".to_owned(), does: None };
    let post = intent("mcp__web__post", web);
    let call = |name: &str| EarlierCall {
        run: "a".to_owned(),
        names: vec![name.to_owned()],
        steps: Vec::new(),
        is_of_step: false,
        amounts: BTreeMap::new(),
        results: None,
    };
    let said = |earlier: Option<&[EarlierCall]>| guard.judge(&post, &GuardInput { earlier, ..GuardInput::default() });
    assert_eq!(said(None), None, "without a run");
    assert_eq!(said(Some(&[call("mcp:files/read")])), None);
    assert!(said(Some(&[call("mcp:files/read"), call("mcp:files/read_private")])).is_some());
}

#[test]
fn rules_of_records_are_read() {
    let plugins = read("records: [{id: r, tools: 'mcp:db/*', maxBytes: 5, keepDays: 30}, {id: s}]");
    let [one, other] = &plugins.records[..] else { panic!("two rules") };
    assert_eq!((one.max_bytes, one.keep_days), (5, Some(30)));
    assert!(one.is_about(&["mcp:db/query".to_owned()]) && !one.is_about(&["mcp:files/read".to_owned()]));
    assert_eq!((other.max_bytes, other.keep_days), (RecordRule::USUAL_BYTES, None));
    assert!(other.is_about(&["mcp:files/read".to_owned()]), "without `tools`, all");
    expect![[r#"
        1 wrong-type: `maxBytes` must be at most 16777216
        1 wrong-type: `keepDays` must be a whole number, 1 or more
        1 wrong-type: `keepDays` must be at most 36500
        1 unknown-field: record `c` has no `redact`
    "#]]
    .assert_eq(&faults(
        "records: [{id: a, maxBytes: 16777217, keepDays: 0}, {id: b, keepDays: 36501}, {id: c, redact: true}]",
    ));
}

#[test]
fn filters_of_results_are_read() {
    let plugins = read("results: [{id: r, tools: 'mcp:db/*', redact: true, dropMedia: true, maxBytes: 5}]");
    let filter = &plugins.results[0];
    assert!(filter.redact && filter.drop_media && filter.max_bytes == Some(5));
    assert!(
        filter.is_about(&["mcp:db/query".to_owned()])
            && filter.is_about(&["mcp:db/a/b".to_owned()])
            && !filter.is_about(&["mcp:files/read".to_owned()])
    );
    expect![[r#"
        1 missing-field: filter `a` has none of `redact`, `dropMedia` and `maxBytes`, so it does nothing
        1 wrong-type: `maxBytes` must be a whole number, 1 or more
        1 wrong-type: `redact` must be true or false
        1 unknown-field: filter `d` has no `cut`
    "#]]
    .assert_eq(&faults(
        "results: [{id: a}, {id: b, maxBytes: 0.5}, {id: c, redact: 1}, {id: d, redact: true, cut: 1}]",
    ));
}
