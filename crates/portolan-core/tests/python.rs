//! Expressions of Python: what CPython says of them is what we say, and what leads out of them is refused.
//!
//! `tests/cases/python/cases.txt` has the rows, and `make.py` beside it what CPython says of them. The other files are
//! taken over with `UPDATE_EXPECT=1 cargo test -p portolan-core --test python`.

#![expect(clippy::disallowed_methods, reason = "the test reads the cases; the crate reads nothing")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use portolan_core::expr::{EXPRESSION_BOUNDS, EXPRESSION_ERROR, EvalFault, Expr, ParseFault, Python, Scope};
use proptest::prelude::*;
use serde_json::{Value, json};

const BAR: &str = "  |  ";
const ARROW: &str = "  =>  ";

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/python").join(name)
}

fn lines(name: &str) -> Vec<String> {
    let text = fs::read_to_string(path(name)).expect("the cases are there");
    text.lines().map(str::to_owned).collect()
}

fn is_row(line: &str) -> bool {
    !line.is_empty() && !line.starts_with("# ")
}

/// What an expression comes to over an output.
fn evaluated(text: &str, output: &Value) -> Result<Value, EvalFault> {
    let python = Python::parse(text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
    let root = json!({ "output": output });
    python.eval(&Scope::of(&root)).map(|value| value.expect("Python always has a value"))
}

/// The same as a row has it: JSON, or the exception.
fn answer(text: &str, output: &Value) -> Result<Value, String> {
    if let Err(fault) = Python::parse(text) {
        return Err(format!("refused: {fault}"));
    }
    evaluated(text, output).map_err(|fault| match fault.message.rsplit_once(" (") {
        Some((_, name)) => format!("!{}", name.trim_end_matches(')')),
        None => format!("!{}", fault.code),
    })
}

#[test]
fn what_python_says() {
    let mut different = String::new();
    let mut count = 0;
    for line in lines("cases.txt").iter().filter(|line| is_row(line)) {
        let mut columns = line.split(BAR);
        let mut column = || columns.next().unwrap_or_else(|| panic!("three columns: {line}"));
        let (text, output, said) = (column(), serde_json::from_str(column()).expect("JSON"), column());
        let said = match said.strip_prefix('!') {
            Some(_) => Err(said.to_owned()),
            None => Ok(serde_json::from_str::<Value>(said).expect("JSON")),
        };
        let found = answer(text, &output);
        count += 1;
        // Whole numbers and floats are not the same here, nor is the order of members.
        if format!("{found:?}") != format!("{said:?}") {
            let _ = writeln!(different, "{text}  over {output}: {found:?}, and CPython says {said:?}");
        }
    }
    assert!(different.is_empty(), "{different}");
    assert!(count > 500, "{count} rows");
}

/// A fault of reading, as a line has it.
fn refusal(text: &str) -> String {
    match Python::parse(text) {
        Ok(_) => "READ".to_owned(),
        Err(ParseFault { message, help, offset, code }) => {
            assert_eq!(code, None, "{text}");
            let place = offset.filter(|at| text.is_char_boundary(*at)).unwrap_or_else(|| panic!("{text}: no place"));
            format!("{place}: {message} | {}", help.expect("every refusal has help"))
        }
    }
}

/// Takes what stands before the arrow of each line, and puts what is found behind it.
fn check(name: &str, found: fn(&str) -> String) {
    let mut checked = String::new();
    for line in lines(name) {
        let text = line.split(ARROW).next().unwrap_or_default();
        let _ = match is_row(&line) {
            true => writeln!(checked, "{text}{ARROW}{}", found(text)),
            false => writeln!(checked, "{line}"),
        };
    }
    expect_file![path(name)].assert_eq(&checked);
}

#[test]
fn what_is_refused_when_it_is_read() {
    check("refused.txt", refusal);
    assert!(!lines("refused.txt").iter().any(|line| line.ends_with("READ")));
}

#[test]
fn faults_say_what_is_wrong() {
    check("faults.txt", |row| {
        let (text, output) = row.split_once(BAR).unwrap_or((row, "null"));
        match evaluated(text, &serde_json::from_str(output).expect("JSON")) {
            Ok(value) => format!("{value}"),
            Err(EvalFault { code, message, expression }) => {
                assert_eq!(expression, text);
                assert!([EXPRESSION_ERROR, EXPRESSION_BOUNDS].contains(&code));
                format!("{message}{}", if code == EXPRESSION_BOUNDS { " [bounds]" } else { "" })
            }
        }
    });
}

/// What is nested as deep as a text is long is refused before it is a tree; what is only long is read.
#[test]
fn deep_texts_are_refused_and_long_ones_are_not() {
    let fill = |open: &str, inner: &str, close: &str, bytes: usize| {
        let times = bytes / (open.len() + close.len());
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    let nesting = [
        ("(", ""),
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("{1:", "}"),
        ("-", ""),
        ("not ", ""),
        ("2**", ""),
        ("2**-", ""),
        ("1 if 1 else ", ""),
        ("len(", ")"),
        ("abs(-(", "))"),
        ("''.join(", ")"),
        ("[x for x in ", "]"),
        ("[1 for x in [1] if ", "]"),
        ("output[", "]"),
        ("output[:", "]"),
        ("isinstance(1, ", ")"),
        ("sorted([], key=", ")"),
        ("(1 or 1 and not 1 < 1 + 1 * -", ")"),
    ];
    for (open, close) in nesting {
        for bytes in [1_000, 30_000] {
            assert!(Python::parse(&fill(open, "1", close, bytes)).is_err(), "{open}");
        }
    }
    assert!(Python::parse(&"(".repeat(1 << 20)).is_err());
    let long = ["1 + ", "1 or ", "0 == ", "1 and ", "'a' ", "1 * ", "1, "];
    for link in long {
        let text = format!("{}1", link.repeat(5_000)).replace("' 1", "'");
        assert!(evaluated(&text, &Value::Null).is_ok(), "{link}");
    }
    let subscripts = format!("{{1: output}}{}", "[1]".repeat(5_000));
    assert!(evaluated(&subscripts, &Value::Null).is_err());
}

/// As deep as it is read it is evaluated too, on the small stack that a test has.
#[test]
fn what_is_read_is_not_too_deep_to_be_evaluated() {
    let rank = |inner: &str| format!("(0 or 1 and not 0 == 0 + 1 * -{inner})");
    // Inside of it all, a value is printed that is as deep as values may be.
    let deep = (0..190).fold(json!(1), |inner, _| json!([inner]));
    let deepest = |wrap: &dyn Fn(&str) -> String| {
        let mut text = "len(str(output))".to_owned();
        while Python::parse(&wrap(&text)).is_ok() {
            text = wrap(&text);
        }
        assert!(text.len() > 60, "{text}");
        evaluated(&text, &deep)
    };
    assert!(deepest(&|inner| rank(inner)).is_ok());
    assert!(deepest(&|inner| format!("[{inner}]")).is_ok());
    assert!(deepest(&|inner| format!("[{inner} for x in [1]]")).is_ok());
    assert!(deepest(&|inner| format!("any([0 or {inner} for x in [1] for y in [1] for z in [1]])")).is_ok());
    let fors = |times: usize| " for x in [1]".repeat(times);
    assert!(deepest(&|inner| format!("(0 or 1 and not 0 == 0 + 1 * -any({inner}{}))", fors(8))).is_ok());
    assert!(deepest(&|inner| format!("(0 or 1 and 0 == 0 + 1 * sum([{inner}{}]))", fors(8))).is_ok());
    assert!(deepest(&|inner| format!("[x for x in [1]{} for x in {inner}]", fors(6))).is_err());
    assert!(deepest(&|inner| format!("[x for x in [{inner}]{} for x in [1] if 1]", fors(6))).is_ok());
    assert!(deepest(&|inner| format!("{{1: ({inner},)}}[1][0]")).is_ok());
    assert!(deepest(&|inner| format!("str({inner}).strip()")).is_ok());
    assert!(deepest(&|inner| format!("1 if 0 else {inner}")).is_ok());
}

/// A value that is lent may be deeper than what anybody reads.
#[test]
fn a_deep_value_is_a_fault() {
    let mut deep = json!(1);
    for _ in 0..1_000 {
        deep = json!([deep]);
    }
    let root = json!({ "output": deep, "input": deep });
    for text in ["output", "str(output)", "output == input", "output < input", "output in [input]", "{1: output}"] {
        let python = Python::parse(text).expect("it can be read");
        let fault = python.eval(&Scope::of(&root)).expect_err(text);
        assert_eq!(fault.code, EXPRESSION_BOUNDS, "{text}");
    }
    assert_eq!(Python::parse("len(output)").expect("read").holds(&Scope::of(&root)), Ok(true));
}

#[test]
fn names_are_those_that_there_are() {
    let names = |text: &str| Python::parse(text).expect("it can be read").names().join(" ");
    assert_eq!(names("shared['n'] + len(output) > input and output"), "input output shared");
    assert_eq!(names("[x for x in output if x != 'history']"), "output");
    assert_eq!(names("1 < 2"), "");
    let fault = Python::parse_with("output", &["result"]).expect_err("it is not among them");
    assert_eq!(fault.message, "`output` is not a name that a check can read");
    let result = Python::parse_with("result + limit", &["result", "limit"]).expect("it can be read");
    let root = json!({ "result": 1, "limit": 2 });
    assert_eq!(result.eval(&Scope::of(&root)), Ok(Some(json!(3))));
    let (own, input) = (json!({ "output": 1 }), json!(2));
    let scope = Scope { names: vec![("output", &own), ("input", &input)], ..Scope::default() };
    assert_eq!(Python::parse("output['output'] + input").expect("read").eval(&scope), Ok(Some(json!(3))));
}

#[test]
fn as_an_expression_among_others() {
    let expr = |text: &str| Expr::Python(Python::parse(text).expect("it can be read"));
    let root = json!({ "output": [0, 0] });
    // JSONata says no of a list of zeros, and Python yes.
    assert_eq!(expr("output").holds(&Scope::of(&root)), Ok(true));
    assert_eq!(expr("set()").holds(&Scope::of(&root)), Ok(false));
    assert_eq!(expr("1 == 2").text(), "1 == 2");
    assert_eq!(expr("len(output)").eval(&Scope::of(&root)), Ok(Some(json!(2))));
    for (text, heavy) in
        [("any(x for x in output)", true), ("[x for x in output]", true), ("sorted(output)[0] > 1", false)]
    {
        assert_eq!((expr(text).is_heavy(), expr(text).looks_back()), (heavy, false), "{text}");
    }
}

/// Expressions of a small grammar: right in form, and of whatever types.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("output".to_owned()),
        Just("x".to_owned()),
        prop::sample::select(
            &["None", "True", "0", "-1", "3", "2.5", "1e300", "9223372036854775807", "''", "'aé b'"][..]
        )
        .prop_map(str::to_owned),
        prop::sample::select(&["[]", "{}", "()", "set()", "'%s'", "{'a': 1}", "[3, 1]"][..]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 40, 3, |inner| {
        let one = inner.clone();
        let functions = "len str int float bool abs min max sum sorted list dict set tuple any all";
        let functions: Vec<&str> = functions.split_whitespace().collect();
        let methods = "lower upper strip split splitlines isdigit isalpha isupper keys values items";
        let methods: Vec<&str> = methods.split_whitespace().collect();
        let asking = "count find index get startswith endswith join split strip";
        let asking: Vec<&str> = asking.split_whitespace().collect();
        let operators = "+ - * / // == != < <= > >= in and or";
        let mut operators: Vec<&str> = operators.split_whitespace().collect();
        operators.push("not in");
        prop_oneof![
            (inner.clone(), prop::sample::select(operators), inner.clone())
                .prop_map(|(left, operator, right)| format!("({left} {operator} {right})")),
            // A text that is written there would be refused before `%`.
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("([{left}][0] % {right})")),
            (prop::sample::select(functions), inner.clone()).prop_map(|(name, value)| format!("{name}({value})")),
            (inner.clone(), prop::sample::select(methods)).prop_map(|(value, name)| format!("({value}).{name}()")),
            (inner.clone(), prop::sample::select(asking), inner.clone())
                .prop_map(|(value, name, with)| format!("({value}).{name}({with})")),
            (inner.clone(), inner.clone()).prop_map(|(value, index)| format!("({value})[{index}]")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(value, start, step)| format!("({value})[{start}::{step}]")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(then, condition, other)| format!("({then} if {condition} else {other})")),
            (inner.clone(), inner.clone()).prop_map(|(item, over)| format!("[{item} for x in {over}]")),
            (inner.clone(), inner.clone()).prop_map(|(item, over)| format!("{{{item} for x in {over} if x}}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{{a}: {b}}}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, ({b},)]")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(value, old, new)| format!("({value}).replace({old}, {new})")),
            one.prop_map(|value| format!("(not -{value})")),
        ]
    })
}

fn output() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ a-cé\\n]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    /// Whatever it is, it has a value of JSON or a fault, and the same each time.
    #[test]
    fn every_expression_comes_to_something(text in expression(), output in output()) {
        // `x` is a name only where a `for` binds it.
        let python = Python::parse_with(&text, &["output", "x"]);
        let python = python.unwrap_or_else(|fault| panic!("{text}: {fault} at {:?}", fault.offset));
        let root = json!({ "output": output, "x": 1 });
        let found = python.eval(&Scope::of(&root));
        prop_assert_eq!(&found, &python.eval(&Scope::of(&root)));
        let holds = python.holds(&Scope::of(&root));
        if let (Err(fault), Ok(_)) = (&holds, &found) {
            panic!("{text}: it has a value, and no truth: {fault}");
        }
    }

    /// A text in any state of disorder is read or refused, at a place that there is.
    #[test]
    fn every_text_is_read_or_refused(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..20)) {
        let text = pieces.concat();
        match Python::parse(&text) {
            Ok(python) => {
                let root = json!({ "output": "text" });
                let _ = python.eval(&Scope::of(&root));
            }
            Err(fault) => {
                let offset = fault.offset.expect("a place");
                prop_assert!(text.is_char_boundary(offset), "{} in {:?}", offset, text);
                prop_assert!(fault.help.is_some() && !fault.message.is_empty());
            }
        }
    }

    /// Brackets around it and blanks within change nothing.
    #[test]
    fn brackets_and_blanks_change_nothing(text in expression(), output in output()) {
        let root = json!({ "output": output, "x": 1 });
        let eval = |text: &str| {
            let python = Python::parse_with(text, &["output", "x"]).expect("it can be read");
            python.eval(&Scope::of(&root)).map_err(|fault| fault.message)
        };
        prop_assert_eq!(eval(&text), eval(&format!(" (\n{text} ) # why")));
    }
}

/// Pieces of which a text may be made, in whatever order.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "output",
    "x",
    "é",
    "1",
    "0x",
    "2.5",
    "1e",
    "_",
    "'",
    "\"",
    "'''",
    "'a'",
    "r'",
    "f'",
    "b'",
    "\\",
    "\\x4",
    "\\u00e9",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    ".",
    " ",
    "\n",
    "#",
    "+",
    "-",
    "*",
    "**",
    "/",
    "//",
    "%",
    "==",
    "=",
    "<",
    "!",
    "!=",
    ":=",
    "...",
    " and ",
    " or ",
    " not ",
    " in ",
    " is ",
    " if ",
    " else ",
    " for ",
    " lambda ",
    "None",
    "True",
    "len(",
    "isinstance(",
    "str",
    "sorted(",
    "key=",
    "any(",
    "range(",
    ".lower()",
    ".split(",
    ".get(",
    "__a",
    "“",
    "\0",
    "𝟙",
    "|",
    "~",
];
