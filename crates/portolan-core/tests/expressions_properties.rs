//! What holds of all expressions, also of those that nobody would write.

use portolan_core::expr::{EvaluationLimits, Expr, JsonLogic, Jsonata, Scope, When};
use portolan_core::value::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Pieces of which an expression may be made, in whatever order.
const PIECES: &[&str] = &[
    "a",
    "b.c",
    "xs",
    "$",
    "$$",
    "$x",
    "%",
    "*",
    "**",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "\"k\":",
    ",",
    ";",
    ".",
    ":=",
    "~>",
    "?",
    ":",
    "??",
    "?:",
    "+",
    "-",
    "*",
    "/",
    "%",
    "&",
    "=",
    "!=",
    "<",
    ">=",
    " and ",
    " or ",
    " in ",
    "..",
    "@$v",
    "#$i",
    "^(",
    "|",
    "1",
    "2.5",
    "\"s\"",
    "'é'",
    "/a/",
    "null",
    "true",
    "function($x){",
    "$string",
    "$map(",
    "$filter(",
    "$sum(",
    "$join(",
    "$pad(",
    "$split(",
    "$replace(",
    "$match(",
    "$eval(",
    "$random()",
    "$now()",
    "$shuffle(",
    "$append(",
    "$zip(",
    "$merge(",
    "$keys(",
    "$each(",
    "$reduce(",
    "$sort(",
    "$previousNode()",
    "$nodeExecution(",
    "$toMillis(",
    "$fromMillis(",
    "$formatNumber(",
    "$formatInteger(",
    "$distinct(",
    "`a b`",
    "/* c */",
    " ",
    "\n",
];

fn pieces() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..14).prop_map(|pieces| pieces.concat())
}

/// Expressions of one piece in another, most of which can be read.
fn nested() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(
        &[
            "a",
            "b.c",
            "b.d",
            "d.e",
            "xs",
            "$",
            "$$.b",
            "rows",
            "rows.k",
            "rows.m",
            "m.n",
            "k",
            "1",
            "\"s\"",
            "$x",
            "[1..3]",
            "{\"k\": a}",
            "$random()",
            "xs[0]",
        ][..],
    );
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 3, |inner| {
        let shape = prop::sample::select(
            &[
                "($1 + $2)",
                "($1 & $2)",
                "[$1, $2]",
                "{\"p\": $1, \"q\": $2}",
                "$string($1)",
                "$map($1, function($v, $i) { $2 })",
                "$1.($2)",
                "$1.*",
                "$1.**.n",
                "$1.{\"p\": $2}",
                "$1.$keys()",
                "$sum($1.($2))",
                "$1^($2)[0]",
                "$1[$2]",
                "$1 ~> $string",
                "$join([$string($1), $string($2)])",
                "($1 = $2)",
                "($1 ? $2 : a)",
                "$append($1, $2)",
                "$shuffle($1)",
                "$filter($1, function($v) { $2 })",
                "$distinct($1)",
                "$zip($1, $2)",
                "($y := $1; $y)",
                "$1^($2)",
                "$1{\"g\": $2}",
                "$eval(\"$1\")",
                "$1[]",
                "$1@$f.$2",
                "$1#$g.$2",
                "$reduce($1, function($p, $q) { $2 })",
                "$1.$uppercase($2)",
                "$replace($string($1), \"s\", $2)",
            ][..],
        );
        (shape, inner.clone(), inner)
            .prop_map(|(shape, first, second)| shape.replace("$1", &first).replace("$2", &second))
    })
}

fn data() -> Value {
    let rows = json!([{ "k": "x", "m": { "n": 1, "o": [2] } }, { "k": "y", "m": [{ "n": 3 }, [{ "n": 4 }], 5] }, "z"]);
    json!({ "a": 1, "b": { "c": ["x", null], "d": { "e": { "n": 1 }, "k": 2 } }, "xs": [1, 2, 3], "rows": rows })
}

fn scope<'a>(data: &'a Value, x: &'a Value) -> Scope<'a> {
    Scope { bindings: vec![("x", x)], at: Timestamp(1_700_000_000_000), seed: 3, ..Scope::of(data) }
}

/// Enough for what ends by itself, so that what does not is not waited for.
const LIMITS: EvaluationLimits = EvaluationLimits { time_ms: 500, depth: 500, items: 10_000 };

/// What an expression gives with what it can name of the context, and with the whole context; nothing where either fails.
fn narrow_and_whole(text: &str) -> Option<(Option<Value>, Option<Value>)> {
    if text.contains("$random") || text.contains("$shuffle") {
        return None;
    }
    let (data, x) = (data(), json!([1]));
    // `$eval` keeps the library from leaving out anything.
    let whole = format!("(({text}; $x)[false] ~> function($n) {{ $eval(\"0\") }}; {text})");
    let given = |text: &str| Jsonata::parse(text).ok()?.within(&scope(&data, &x), &LIMITS).ok();
    Some((given(text)?, given(&whole)?))
}

#[test]
fn a_context_that_a_join_keeps_is_whole() {
    for text in ["a{\"g\": $$.b@$f.$}", "rows.($$.b@$f.$)", "rows.{ \"k\": $.m@$f.$ }", "$$.b@$f.*"] {
        let (one, all) = narrow_and_whole(text).expect(text);
        assert_eq!(one, all, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_an_expression_panic(text in prop_oneof![pieces(), nested(), ".{0,40}"]) {
        let (data, x) = (data(), json!([1]));
        match Jsonata::parse(&text) {
            Ok(expression) => {
                let gave_up = expression.within(&scope(&data, &x), &LIMITS).is_err_and(|fault| fault.message.contains("gave up"));
                prop_assert!(!gave_up, "the library panics at {text:?}");
            }
            Err(fault) => prop_assert!(text.is_char_boundary(fault.offset.expect("a place")), "{text:?}"),
        }
        if let Ok(when) = When::parse(&text) {
            when.eval(&scope(&data, &x));
        }
    }

    #[test]
    fn the_same_scope_gives_the_same_answer(text in nested()) {
        let (data, x) = (data(), json!([1]));
        if let Ok(expression) = Jsonata::parse(&text) {
            let once = expression.within(&scope(&data, &x), &LIMITS);
            let again = expression.clone().within(&scope(&data, &x), &LIMITS);
            let timed_out = |said: &Result<_, portolan_core::expr::EvalFault>| said.as_ref().is_err_and(|fault| fault.message.contains(" ms"));
            prop_assert!(once == again || timed_out(&once) || timed_out(&again), "{text}");
        }
    }

    /// Only what an expression can name is converted; it must see no difference.
    #[test]
    fn what_is_left_out_of_the_context_is_not_missed(text in nested()) {
        if let Some((one, all)) = narrow_and_whole(&text) {
            prop_assert_eq!(one, all, "{}", text);
        }
    }

    /// A plain path is walked without the library.
    #[test]
    fn a_walked_path_leads_where_the_library_goes(data in json(), path in prop::collection::vec("[a-c]", 1..4), front in "(|\\$\\.|\\$\\$\\.|\\$x\\.)") {
        let path = format!("{front}{}", path.join("."));
        let scope = Scope { bindings: vec![("x", &data)], ..Scope::of(&data) };
        let walked = Expr::Jsonata(Jsonata::parse(&path).expect("a path")).eval(&scope);
        let asked = Jsonata::parse(&path).expect("a path").within(&scope, &EvaluationLimits::default());
        prop_assert_eq!(walked, asked, "{} in {}", path, data);
    }

    #[test]
    fn no_rule_panics(rule in rule(), data in json()) {
        if let Ok(rule) = JsonLogic::parse(&rule) {
            let _ = Expr::Logic(rule).eval(&Scope::of(&data));
        }
    }
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3i64..9).prop_map(Value::from),
        "[a-c1-3. ]{0,3}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(("[a-c]", inner), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn rule() -> impl Strategy<Value = Value> {
    const OPERATORS: &[&str] = &[
        "==",
        "===",
        "!=",
        "!==",
        ">",
        ">=",
        "<",
        "<=",
        "!",
        "!!",
        "and",
        "or",
        "if",
        "?:",
        "+",
        "-",
        "*",
        "/",
        "%",
        "min",
        "max",
        "in",
        "cat",
        "substr",
        "merge",
        "log",
        "missing",
        "missing_some",
        "map",
        "filter",
        "reduce",
        "all",
        "some",
        "none",
        "var",
    ];
    json().prop_recursive(3, 24, 4, move |inner| {
        (prop::sample::select(OPERATORS).prop_map(str::to_owned), prop::collection::vec(inner, 0..4))
            .prop_map(|(operator, arguments)| json!({ operator: arguments }))
    })
}
