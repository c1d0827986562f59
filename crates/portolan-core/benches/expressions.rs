//! How many expressions are evaluated a second on one core, the conversion of the context and of the result included.
//!
//! `benches/jsonata.mjs` does the same with the reference implementation, over the same cases.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use portolan_core::expr::{Expr, JsonLogic, Jsonata, Scope};
use serde_json::{Value, json};

/// The cases: `filter, sort and map` is over a hundred items, which both benches make of its one.
const CASES: &str = include_str!("expressions.json");

fn cases() -> Vec<(String, String, Value)> {
    let Value::Array(cases) = serde_json::from_str(CASES).expect("JSON") else { panic!("cases") };
    let text = |case: &Value, field: &str| case[field].as_str().expect("text").to_owned();
    let mut found = Vec::new();
    for case in cases {
        let mut data = case["data"].clone();
        if let Some(times) = case["times"].as_u64() {
            let items =
                (0..times).map(|nth| json!({ "id": format!("item {nth}"), "price": (nth * 37) % 100, "qty": nth % 7 }));
            data["items"] = items.collect();
        }
        found.push((text(&case, "name"), text(&case, "expression"), data));
    }
    found
}

fn evaluate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("jsonata");
    group.throughput(Throughput::Elements(1));
    for (name, text, data) in cases() {
        let expression = Expr::Jsonata(Jsonata::parse(&text).expect("it can be read"));
        group.bench_function(&name, |bencher| {
            bencher.iter(|| expression.eval(&Scope::of(&data)).expect("it has a value"));
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("jsonlogic");
    group.throughput(Throughput::Elements(1));
    let rule = json!({ ">": [{ "var": "entry.value" }, 10] });
    let rule = Expr::Logic(JsonLogic::parse(&rule).expect("it is a rule"));
    let data = json!({ "entry": { "value": 12 } });
    group.bench_function("a comparison", |bencher| {
        bencher.iter(|| rule.holds(&Scope::of(&data)).expect("it has a value"));
    });
}

fn parse(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parse");
    group.throughput(Throughput::Elements(1));
    for (name, text, _) in cases() {
        group.bench_function(&name, |bencher| bencher.iter(|| Jsonata::parse(&text).expect("it can be read")));
    }
}

criterion_group!(expressions, evaluate, parse);
criterion_main!(expressions);
