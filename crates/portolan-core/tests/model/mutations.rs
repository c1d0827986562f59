//! Faults that authors make are put into workflows: what the analysis then says is what is so, and most of it is new.
//!
//! `PORTOLAN_PROOFS` and `PORTOLAN_SEED` say how many and which workflows are drawn.
#![expect(clippy::print_stdout, reason = "the table is what the test is for")]

use std::collections::BTreeMap;

use proptest::strategy::Strategy;
use serde_json::{Value, json};

use crate::generate::Files;
use crate::proof::{compared, number, refutations_text, runner};
use crate::walk::repaired;

/// A fault, by what it is called, and how it is made: nothing where the file has no place for it.
type Fault = (&'static str, fn(&mut Value) -> Option<()>);

const FAULTS: [Fault; 7] = [
    ("an edge removed", |file| {
        if let Some(edges) = file.get_mut("edges").and_then(Value::as_array_mut) {
            edges.remove(edges.len() / 2);
            return Some(());
        }
        let ways = first(file, &|part| part["transitions"].as_array().is_some_and(|ways| !ways.is_empty()))?;
        ways["transitions"].as_array_mut()?.remove(0);
        Some(())
    }),
    ("a guard negated", |file| {
        let part = first(file, &|part| part["when"].is_string())?;
        part["when"] = json!(format!("!({})", part["when"].as_str()?));
        Some(())
    }),
    ("a default dropped", |file| {
        let is_default = |way: &Value| way["isDefault"] == json!(true);
        let part = first(file, &|part| part["transitions"].as_array().is_some_and(|ways| ways.iter().any(is_default)))?;
        part["transitions"].as_array_mut()?.retain(|way| !is_default(way));
        Some(())
    }),
    ("an option rerouted", |file| {
        let option = first(file, &|part| part["label"].is_string() && part["effect"]["transitionTo"] != json!("a0"))?;
        option["effect"]["transitionTo"] = json!("a0");
        Some(())
    }),
    ("a budget set to 0", |file| {
        first(file, &|part| part["maxRetries"].as_u64().is_some_and(|most| most > 0))?["maxRetries"] = json!(0);
        Some(())
    }),
    ("a join's strategy changed", |file| {
        let join = first(file, &|part| part["strategy"].is_string())?;
        join["strategy"] = json!(if join["strategy"] == json!("all-pass") { "any-pass" } else { "all-pass" });
        Some(())
    }),
    ("a question's condition made impossible", |file| {
        first(file, &|part| part["kind"] == json!("checkpoint"))?["when"] = json!("b == true && b == false");
        Some(())
    }),
];

/// The first part of a file, from the outside in, that fits.
fn first<'f>(part: &'f mut Value, fits: &dyn Fn(&Value) -> bool) -> Option<&'f mut Value> {
    if part.is_object() && fits(part) {
        return Some(part);
    }
    let inner: Vec<&mut Value> = match part {
        Value::Object(members) => members.values_mut().collect(),
        Value::Array(items) => items.iter_mut().collect(),
        _ => Vec::new(),
    };
    inner.into_iter().find_map(|inner| first(inner, fits))
}

/// What became of the faults of one kind.
#[derive(Default)]
struct Row {
    made: u64,
    found: u64,
    alike: u64,
}

fn each_is_found_or_alike(what: &str, files: impl Strategy<Value = Files>) -> BTreeMap<&'static str, Row> {
    let mut runner = runner();
    let mut rows: BTreeMap<&'static str, Row> = BTreeMap::new();
    for _ in 0..number("PORTOLAN_PROOFS", 40) / 2 {
        let files = crate::current(&files, &mut runner);
        let Some((proof, _, Ok(()))) = repaired(&files.0).as_ref().and_then(compared) else { continue };
        for (name, make) in FAULTS {
            let mut faulty = files.0.clone();
            if make(&mut faulty[0]).is_none() {
                continue;
            }
            // What is too large for brute force is not compared.
            let Some((of_faulty, _, came)) = repaired(&faulty).as_ref().and_then(compared) else { continue };
            assert_eq!(came, Ok(()), "{name}: {}", faulty[0]);
            let row = rows.entry(name).or_default();
            row.made += 1;
            match refutations_text(&of_faulty) == refutations_text(&proof) {
                // Brute force agrees: what is refuted, and what never happens, is the same as before.
                true => row.alike += 1,
                false => row.found += 1,
            }
        }
    }
    for (name, row) in &rows {
        println!("{what}: {name}: {} made, {} found, {} make no difference", row.made, row.found, row.alike);
    }
    rows
}

#[test]
fn faults_that_are_put_into_workflows_are_found() {
    let navigator = each_is_found_or_alike("navigator", crate::generate::files());
    let activities = each_is_found_or_alike("activities", crate::activities::files());
    let found = |rows: &BTreeMap<&str, Row>, name: &str| rows.get(name).map_or(0, |row| row.found);
    assert!(found(&navigator, "an edge removed") > 0);
    for name in ["an edge removed", "a guard negated", "a question's condition made impossible"] {
        assert!(found(&activities, name) > 0, "{name}");
    }
}
