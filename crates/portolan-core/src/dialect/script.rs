//! Tests of functions with scripted answers: the files that `portolan test` runs and `portolan run --mock` reads.
//!
//! A script is no definition, but the same people write it in the same editors: each fault is reported at its place.
//! Knows nothing of how a test is run.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::diagnostic::{Diagnostic, clip, list};
use crate::source::fields::{FaultList, Fields, distinct};
use crate::source::{self, Source, Span, Spanned, Tree, TreeKind};

/// The maximum number of tests in one file.
const MAX_CASES: usize = 10_000;

/// The content of a file of tests.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// The file of the tested functions, relative to the script's own folder.
    pub graph: Option<Spanned<String>>,
    /// The answers to calls in every test that does not override them.
    pub answers: Answers,
    /// The tests, in the order written.
    pub cases: Vec<Case>,
    /// The minimum percentage of edges that the tests together must take.
    pub min_edges: Option<Spanned<u32>>,
}

/// The answers to the calls of nodes, by `node` or `function.node`, with the span of the name.
pub type Answers = IndexMap<String, Spanned<Vec<ScriptedAnswer>>>;

/// The answer to one call.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptedAnswer {
    /// An output.
    Output(Value),
    /// A failure.
    Failure {
        /// Its message.
        message: String,
        /// Its code; `None` for that of a tool that reports a failure.
        code: Option<String>,
    },
}

/// One test.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name.
    pub name: Spanned<String>,
    /// The function; `None` for the only one.
    pub tool: Option<Spanned<String>>,
    /// The input.
    pub input: Value,
    /// The answers to its calls.
    pub answers: Answers,
    /// The expected result.
    pub expected: Expectation,
}

/// The expected result of a test.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// Any output.
    Success,
    /// This output.
    Output(Value),
    /// A failure that matches all of this.
    Failure {
        /// The node that fails.
        node: Option<String>,
        /// The code.
        code: Option<String>,
        /// A part of the message.
        message: Option<String>,
    },
}

/// Reads a script. Returns `None` if it has errors.
pub fn script(source: &Source) -> (Option<Script>, Vec<Diagnostic>) {
    let (tree, found) = source::parse(source);
    let mut faults = FaultList(found);
    let script = tree.and_then(|tree| read(&tree, &mut faults));
    let mut faults = faults.0;
    faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
    let sound = !faults.iter().any(Diagnostic::is_error);
    (script.filter(|_| sound), faults)
}

fn read(tree: &Tree, faults: &mut FaultList) -> Option<Script> {
    let mut fields = Fields::of(tree, "the test file", faults)?;
    let graph = fields.string("graph", faults);
    let answers = fields.optional("mock").map(|tree| answers(tree, faults)).unwrap_or_default();
    let cases = fields.optional("tests").map(|tree| cases(tree, faults)).unwrap_or_default();
    let min_edges = fields.optional("coverage").and_then(|tree| {
        let mut fields = Fields::of(tree, "`coverage`", faults)?;
        let edges = fields.count("edges", 0..=100, faults);
        fields.finish(faults);
        edges
    });
    if !fields.has("mock") && !fields.has("tests") {
        let fault = Diagnostic::error("missing-field", "the test file has neither `tests` nor `mock`").at(tree.head());
        faults.push(fault.help("write `tests`, a list, or `mock`, an object from node to answer"));
    }
    fields.finish(faults);
    Some(Script { graph, answers, cases, min_edges })
}

fn cases(tree: &Tree, faults: &mut FaultList) -> Vec<Case> {
    let TreeKind::Array(items) = &tree.kind else {
        let message = format!("`tests` must be an array of tests, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.head()));
        return Vec::new();
    };
    if items.len() > MAX_CASES {
        let message = format!("there are {} tests, more than the limit of {MAX_CASES} per file", items.len());
        faults.push(Diagnostic::error("too-large", message).at(tree.head()).help("split the file"));
        return Vec::new();
    }
    let mut cases: Vec<Case> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let Some(case) = case(item, at, faults) else { continue };
        if cases.iter().any(|other| other.name.value == case.name.value) {
            let message = format!("two tests are called `{}`", clip(&case.name.value));
            faults.push(Diagnostic::error("duplicate-id", message).at(case.name.span).help("rename one of them"));
        }
        cases.push(case);
    }
    cases
}

fn case(tree: &Tree, at: usize, faults: &mut FaultList) -> Option<Case> {
    let named = tree.get("name").and_then(Tree::as_str).map(|name| format!("test `{}`", clip(name)));
    let mut fields = Fields::of(tree, named.unwrap_or_else(|| format!("test {}", at + 1)), faults)?;
    let name = fields.required_string("name", faults);
    let tool = fields.string("tool", faults);
    let input = fields.optional("input");
    if let Some(input) = input.filter(|input| input.entries().is_none()) {
        fields.wrong::<()>("input", "an object", input, faults);
    }
    let answers = fields.optional("mock").map(|tree| answers(tree, faults)).unwrap_or_default();
    let expected = expected(tree, &mut fields, faults);
    fields.finish(faults);
    let input = input.map_or_else(|| Value::Object(Map::new()), Tree::value);
    Some(Case { name: name?, tool, input, answers, expected })
}

fn expected(tree: &Tree, fields: &mut Fields<'_>, faults: &mut FaultList) -> Expectation {
    // An output may be `null`, which other fields treat as absent.
    fields.ignored(&["expect"]);
    let failure = fields.optional("expectError");
    match (tree.get("expect"), failure) {
        (Some(_), Some(failure)) => {
            let message = "a test expects either an output or an error, not both";
            faults.push(
                Diagnostic::error("conflict", message).at(failure.head()).help("remove `expect` or `expectError`"),
            );
            Expectation::Success
        }
        (Some(output), None) => Expectation::Output(output.value()),
        (None, Some(failure)) => expected_failure(failure, faults),
        (None, None) => Expectation::Success,
    }
}

fn expected_failure(tree: &Tree, faults: &mut FaultList) -> Expectation {
    let Some(mut fields) = Fields::of(tree, "`expectError`", faults) else { return Expectation::Success };
    let mut text = |key| fields.string(key, faults).map(|text| text.value);
    let (node, code, message) = (text("node"), text("code"), text("message"));
    fields.finish(faults);
    Expectation::Failure { node, code, message }
}

/// Reads an object from node to answer.
fn answers(tree: &Tree, faults: &mut FaultList) -> Answers {
    let Some(entries) = tree.entries() else {
        let message = format!("`mock` must be an object from node to answer, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.head()));
        return Answers::new();
    };
    let mut answers = Answers::new();
    for entry in distinct(entries, "`mock`", faults) {
        let span = entry.key.span;
        if let Some(value) = several(&entry.value, faults) {
            answers.insert(entry.key.value.clone(), Spanned { value, span });
        }
    }
    answers
}

/// The words that mark an answer's kind. An object with exactly one of them, and nothing else, is no result.
const WORDS: [&str; 3] = ["result", "each", "error"];

fn several(tree: &Tree, faults: &mut FaultList) -> Option<Vec<ScriptedAnswer>> {
    let Some(("each", items)) = directive(tree) else { return one(tree, faults).map(|answer| vec![answer]) };
    match &items.kind {
        TreeKind::Array(items) if !items.is_empty() => items.iter().map(|item| one(item, faults)).collect(),
        TreeKind::Array(_) => {
            let fault = Diagnostic::error("wrong-type", "`each` is empty: it gives no answer").at(items.head());
            faults.push(fault.help("write one answer for each call; the last one is used for all later calls"));
            None
        }
        _ => wrong("each", "an array of answers", items, faults),
    }
}

fn one(tree: &Tree, faults: &mut FaultList) -> Option<ScriptedAnswer> {
    match directive(tree) {
        None => Some(ScriptedAnswer::Output(tree.value())),
        Some(("result", result)) => Some(ScriptedAnswer::Output(result.value())),
        Some(("each", each)) => wrong("each", "the whole answer of a node, not one of several", each, faults),
        Some((_, error)) => match &error.kind {
            TreeKind::String(message) => Some(ScriptedAnswer::Failure { message: message.clone(), code: None }),
            TreeKind::Object(_) => {
                let mut fields = Fields::of(error, "`error`", faults)?;
                let message = fields.required_string("message", faults);
                let code = fields.string("code", faults);
                fields.finish(faults);
                Some(ScriptedAnswer::Failure { message: message?.value, code: code.map(|code| code.value) })
            }
            _ => wrong("error", "a text, or an object with `message` and `code`", error, faults),
        },
    }
}

/// Returns the word and the value of an object that consists of one of the [`WORDS`] alone.
fn directive(tree: &Tree) -> Option<(&'static str, &Tree)> {
    let [entry] = tree.entries()? else { return None };
    let word = WORDS.iter().find(|word| **word == entry.key.value)?;
    Some((word, &entry.value))
}

fn wrong<T>(word: &str, wanted: &str, found: &Tree, faults: &mut FaultList) -> Option<T> {
    let message = format!("`{word}` of an answer must be {wanted}, but is {}", found.describe());
    let help = format!("to answer with an object whose only field is `{word}`, wrap it in `result:`");
    faults.push(Diagnostic::error("wrong-type", message).at(found.head()).help(help));
    None
}

/// Returns answers in the form that a script has.
pub fn written(answers: &[ScriptedAnswer]) -> Value {
    match answers {
        [answer] => one_written(answer),
        several => wrapped("each", Value::Array(several.iter().map(one_written).collect())),
    }
}

fn one_written(answer: &ScriptedAnswer) -> Value {
    match answer {
        ScriptedAnswer::Output(Value::Object(members))
            if members.len() == 1 && WORDS.iter().any(|word| members.contains_key(*word)) =>
        {
            wrapped("result", Value::Object(members.clone()))
        }
        ScriptedAnswer::Output(output) => output.clone(),
        ScriptedAnswer::Failure { message, code: None } => wrapped("error", Value::from(message.as_str())),
        ScriptedAnswer::Failure { message, code: Some(code) } => {
            wrapped("error", serde_json::json!({ "message": message, "code": code }))
        }
    }
}

fn wrapped(word: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(word.to_owned(), value)]))
}

/// Reports answers for nodes that are not among `known`.
pub fn unknown_answers(answers: &Answers, known: &[&str]) -> Vec<Diagnostic> {
    let unknown = answers.iter().filter(|(name, _)| !known.contains(&name.as_str()));
    unknown.map(|(name, answer)| unknown_answer(name, answer.span, known)).collect()
}

fn unknown_answer(name: &str, span: Span, known: &[&str]) -> Diagnostic {
    let message = format!("`{}` is not a node whose call can be answered", clip(name));
    let help = match known {
        [] => "no node calls a tool".to_owned(),
        known => format!("nodes that call a tool are {}", list(known)),
    };
    Diagnostic::error("unknown-node", message).at(span).help(help).did_you_mean(name, known.iter().copied())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Expect) {
        let source = Source::new("a.test.yaml", text);
        let (script, faults) = script(&source);
        let mut told = String::new();
        for fault in &faults {
            let at = fault.span.map(|span| source.location(span.start)).expect("each fault has a place");
            told += &format!("{}:{} {} | {}\n", at.line, at.column, fault.message, fault.help.as_deref().unwrap_or(""));
        }
        if let Some(script) = script {
            told += &format!(
                "graph {:?}, edges {:?}\n",
                script.graph.map(|it| it.value),
                script.min_edges.map(|it| it.value)
            );
            for (node, answers) in &script.answers {
                told += &format!("{node}: {:?}\n", answers.value);
            }
            for case in &script.cases {
                told += &format!(
                    "{} {:?} {} {:?}\n",
                    case.name.value,
                    case.tool.as_ref().map(|it| &it.value),
                    case.input,
                    case.expected
                );
                for (node, answers) in &case.answers {
                    told += &format!("  {node}: {:?}\n", answers.value);
                }
            }
        }
        expected.assert_eq(&told);
    }

    #[test]
    fn an_answer_is_a_result_unless_it_is_one_word_alone() {
        check(
            "mock:\n  a: {error: gone, data: []}\n  b: {error: gone}\n  c: {result: {error: gone}}\n  \
             d: {each: [1, {error: {message: m, code: call-timeout}}, null]}\n  e: text\n",
            expect![[r#"
                graph None, edges None
                a: [Output(Object {"error": String("gone"), "data": Array []})]
                b: [Failure { message: "gone", code: None }]
                c: [Output(Object {"error": String("gone")})]
                d: [Output(Number(1)), Failure { message: "m", code: Some("call-timeout") }, Output(Null)]
                e: [Output(String("text"))]
            "#]],
        );
    }

    #[test]
    fn tests_say_what_they_expect() {
        check(
            "graph: g.yaml\ncoverage: {edges: 80}\ntests:\n  - {name: a, tool: t, input: {x: 1}, expect: null}\n  \
             - {name: b, mock: {n: 1}, expectError: {node: n, message: gone}}\n  - {name: c}\n",
            expect![[r#"
                graph Some("g.yaml"), edges Some(80)
                a Some("t") {"x":1} Output(Null)
                b None {} Failure { node: Some("n"), code: None, message: Some("gone") }
                  n: [Output(Number(1))]
                c None {} Success
            "#]],
        );
    }

    #[test]
    fn every_fault_has_its_place() {
        check(
            "grahp: g\ncoverage: {edges: 101}\nmock:\n  a: {error: 4}\n  b: {each: []}\n  c: {each: [{each: [1]}]}\ntests:\n  \
             - {name: a, input: 1}\n  - {name: a, expect: 1, expectError: {}}\n  - {inptu: {}}\n",
            expect![[r#"
                1:1 the test file has a field `grahp`, which has no meaning here | did you mean `graph`?
                2:19 `edges` of `coverage` must be a whole number from 0 to 100, but is `101` | 
                4:14 `error` of an answer must be a text, or an object with `message` and `code`, but is a number | to answer with an object whose only field is `error`, wrap it in `result:`
                5:13 `each` is empty: it gives no answer | write one answer for each call; the last one is used for all later calls
                6:21 `each` of an answer must be the whole answer of a node, not one of several, but is an array | to answer with an object whose only field is `each`, wrap it in `result:`
                8:22 `input` of test `a` must be an object, but is `1` | 
                9:12 two tests are called `a` | rename one of them
                9:39 a test expects either an output or an error, not both | remove `expect` or `expectError`
                10:5 test 3 has no `name` | 
                10:6 test 3 has a field `inptu`, which has no meaning here | did you mean `input`?
            "#]],
        );
        check(
            "a",
            expect![[r#"
            1:1 the test file must be an object, but is a string | 
        "#]],
        );
        check(
            "graph: g",
            expect![[r#"
            1:1 the test file has neither `tests` nor `mock` | write `tests`, a list, or `mock`, an object from node to answer
        "#]],
        );
    }

    #[test]
    fn what_is_written_reads_back() {
        let failure =
            |code: Option<&str>| ScriptedAnswer::Failure { message: "m".into(), code: code.map(str::to_owned) };
        let answers = [
            vec![ScriptedAnswer::Output(json!({"error": "x"}))],
            vec![ScriptedAnswer::Output(json!({"each": [], "error": 1}))],
            vec![failure(None)],
            vec![failure(Some("c")), ScriptedAnswer::Output(json!({"result": 1})), ScriptedAnswer::Output(json!(null))],
        ];
        for answers in answers {
            let text = json!({ "mock": { "n": written(&answers) } }).to_string();
            let (read, faults) = script(&Source::new("a.json", &text));
            assert_eq!(faults, []);
            assert_eq!(read.expect("it is sound").answers["n"].value, answers, "{text}");
        }
    }

    #[test]
    fn an_answer_for_nobody_is_a_fault() {
        let (read, _) = script(&Source::new("a.yaml", "mock: {fetsh: 1}"));
        let faults = unknown_answers(&read.expect("it is sound").answers, &["fetch", "t.fetch"]);
        assert_eq!(faults[0].help.as_deref(), Some("did you mean `fetch`?"));
    }
}
