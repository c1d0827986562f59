//! What expressions come to: each file under `tests/cases/expressions` is a list of them over the outputs that it names.
//!
//! A line `output <node> <JSON>` records an output, one without JSON an undefined one; `history` keeps all of them,
//! `branch` forks, `at`, `seed` and `language` say what they say. Every other line is an expression with its result.
//! `UPDATE_EXPECT=1 cargo test -p portolan-core --test expressions` takes over what is found.

#![expect(clippy::disallowed_methods, reason = "the test reads the cases; the crate reads nothing")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use expect_test::expect_file;
use portolan_core::expr::{Expr, JsonLogic, Jsonata, Outputs, ParseFault, Scope};
use portolan_core::value::{NodeId, Timestamp};
use serde_json::{Value, json};

/// What the lines so far have set up.
struct Setting {
    /// Outermost first.
    outputs: Vec<Outputs>,
    language: String,
    at: Timestamp,
    seed: u64,
}

impl Setting {
    fn new() -> Setting {
        Setting { outputs: vec![Outputs::new(false)], language: "jsonata".to_owned(), at: Timestamp(0), seed: 0 }
    }

    /// Whether the line is one that sets up something.
    fn takes(&mut self, line: &str) -> bool {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let keeps = self.outputs.last().is_some_and(Outputs::keeps_history);
        match word {
            "output" => self.record(rest),
            "history" => self.outputs = vec![Outputs::new(true)],
            "branch" => self.outputs.push(Outputs::new(keeps)),
            "language" => self.language = rest.to_owned(),
            "at" => self.at = Timestamp(rest.parse().expect("milliseconds")),
            "seed" => self.seed = rest.parse().expect("a number"),
            _ => return line.is_empty() || line.starts_with('#'),
        }
        true
    }

    fn record(&mut self, line: &str) {
        let (node, value) = line.split_once(' ').unwrap_or((line, ""));
        let value = (!value.is_empty()).then(|| Arc::new(serde_json::from_str(value).expect("JSON")));
        self.outputs.last_mut().expect("a flow").record(&NodeId::from(node), value);
    }

    fn scope(&self) -> Scope<'_> {
        let mut scope = Scope::over(self.outputs.iter().rev());
        (scope.at, scope.seed) = (self.at, self.seed);
        scope
    }

    fn read(&self, text: &str) -> Result<Expr, ParseFault> {
        match self.language.as_str() {
            "jsonlogic" => JsonLogic::parse(&serde_json::from_str(text).expect("a rule is JSON")).map(Expr::Logic),
            _ => Jsonata::parse(text).map(Expr::Jsonata),
        }
    }

    fn result(&self, text: &str) -> String {
        let expression = match self.read(text) {
            Ok(expression) => expression,
            Err(ParseFault { message, help, offset, code }) => {
                let place = offset.map(|offset| format!("{offset}: ")).unwrap_or_default();
                let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
                let help = help.map(|help| format!(" | {help}")).unwrap_or_default();
                return format!("UNREADABLE {place}{message}{code}{help}");
            }
        };
        match expression.eval(&self.scope()) {
            Ok(Some(value)) => value.to_string(),
            Ok(None) => "undefined".to_owned(),
            Err(fault) => {
                format!("ERR {}{}", fault.message, if fault.code == "expression-bounds" { " [bounds]" } else { "" })
            }
        }
    }
}

const ARROW: &str = "  =>  ";

fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/expressions").join(name);
    let mut found = String::new();
    let mut setting = Setting::new();
    for line in fs::read_to_string(&path).expect("the cases are there").lines() {
        let text = line.split(ARROW).next().unwrap_or_default();
        let _ = match setting.takes(text) {
            true => writeln!(found, "{line}"),
            false => writeln!(found, "{text}{ARROW}{}", setting.result(text)),
        };
    }
    expect_file![path].assert_eq(&found);
}

#[test]
fn the_observed_results() {
    check("observed.txt");
}

#[test]
fn what_looks_back() {
    check("history.txt");
}

#[test]
fn what_leaves_an_expression() {
    check("values.txt");
}

#[test]
fn time_and_chance() {
    check("chance.txt");
}

#[test]
fn names_that_are_bound_and_texts_that_are_split() {
    check("names.txt");
}

#[test]
fn rules() {
    check("rules.txt");
}

#[test]
fn faults() {
    check("faults.txt");
}

#[test]
fn a_template_leaves_out_what_is_undefined() {
    let jsonata = |text: &str| Expr::Jsonata(Jsonata::parse(text).expect("it can be read"));
    let template = Expr::Object(vec![
        ("a".to_owned(), jsonata("n + 1")),
        ("b".to_owned(), jsonata("nothing")),
        ("c".to_owned(), Expr::Array(vec![jsonata("nothing"), Expr::Literal(Arc::new(json!({ "d": 1 })))])),
    ]);
    let data = json!({ "n": 1 });
    assert_eq!(template.eval(&Scope::of(&data)), Ok(Some(json!({ "a": 2, "c": [null, { "d": 1 }] }))));
    assert_eq!(template.text(), r#"{"a": n + 1, "b": nothing, "c": [nothing, {"d":1}]}"#);
    assert!(!template.looks_back());
    assert!(Expr::Array(vec![jsonata("$previousNode(2)")]).looks_back());
}

#[test]
fn what_holds() {
    let data = json!({ "empty": [], "object": {}, "zeros": [0, 0], "text": "x" });
    let jsonata = |text: &str| Expr::Jsonata(Jsonata::parse(text).expect("it can be read")).holds(&Scope::of(&data));
    let held: Vec<_> = ["empty", "object", "zeros", "text", "nothing", "[0, 1]"].map(jsonata).into_iter().collect();
    assert_eq!(held, [Ok(false), Ok(false), Ok(false), Ok(true), Ok(false), Ok(true)]);
    let rule = |name: &str| {
        let rule = json!({ "var": name });
        Expr::Logic(JsonLogic::parse(&rule).expect("it is a rule")).holds(&Scope::of(&data))
    };
    assert_eq!(
        ["empty", "object", "zeros", "text", "nothing"].map(rule),
        [Ok(false), Ok(true), Ok(true), Ok(true), Ok(false)]
    );
}

/// A path hands a number on as it is; the library would make a double of it.
#[test]
fn whole_numbers_keep_their_digits_on_a_path_from_a_variable_too() {
    let (item, big) = (json!({ "id": 9_007_199_254_740_993_i64, "ids": [1] }), json!(9_007_199_254_740_993_i64));
    let scope = Scope { bindings: vec![("item", &item), ("big", &big)], ..Scope::default() };
    let comes_to = |text: &str| Expr::Jsonata(Jsonata::parse(text).expect("it can be read")).eval(&scope);
    assert_eq!(comes_to("$item.id"), Ok(Some(big.clone())));
    assert_eq!(comes_to("$big"), Ok(Some(big.clone())));
    assert_eq!(comes_to("$item"), Ok(Some(item.clone())));
    assert_eq!(comes_to("$item.ids"), Ok(Some(json!([1]))));
    assert_eq!(comes_to("$item.id.more"), Ok(None));
    assert_eq!(comes_to("$nobody.id"), Ok(None));
    assert_eq!(comes_to("[$item.id]"), Ok(Some(json!([9_007_199_254_740_992_i64]))));
}

#[test]
fn names_and_variables_are_seen() {
    let (name, variable) = (json!({ "x": 1 }), json!([2, 3]));
    let mut scope = Scope { names: vec![("input", &name)], ..Scope::default() };
    scope.bindings = vec![("limit", &variable)];
    let sum = Expr::Jsonata(Jsonata::parse("input.x + $limit[1]").expect("it can be read"));
    assert_eq!(sum.eval(&scope), Ok(Some(Value::from(4))));
}
