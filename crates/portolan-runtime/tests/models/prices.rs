//! The tables of prices, one over the other.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use expect_test::expect;
use portolan_core::chat::Usage;
use portolan_core::chat::prices::Prices;
use portolan_core::source::Source;
use portolan_runtime::models::prices::PricedModel;
use portolan_runtime::models::{Model, ModelName, ModelQuestion, Script, Variables, prices};

use crate::support::{at_once, user};

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

fn nobody() -> Variables {
    Variables::new(|_| None)
}

#[test]
fn the_project_changes_the_shipped_prices_and_the_user_has_the_last_word() {
    let folder = tempfile::tempdir().expect("a folder");
    let (project, home) = (folder.path().join("project"), folder.path().join("home"));
    write(
        &project.join(prices::FILE),
        "prices:\n  openai:gpt-4o: {input: 0, output: 0}\n  openai:own: {input: 1, output: 1}\n",
    );
    write(&home.join(".config").join(prices::USER_FILE), "prices:\n  openai:gpt-4o: {input: 3, output: 3}\n");
    let user = Variables::new(move |name| (name == "HOME").then(|| home.display().to_string()));
    let usage = Usage { input: Some(1_000_000), output: Some(0), ..Usage::default() };
    let cost =
        |variables: &Variables, name: &str| prices::load(&project, variables).expect("prices").cost(name, &usage);
    for (name, with_project, with_user) in [
        ("openai:gpt-4o", Some(0), Some(3_000_000)),
        ("openai:own", Some(1_000_000), Some(1_000_000)),
        ("openai:gpt-4o-mini", Some(150_000), Some(150_000)),
        ("openai:unheard-of", None, None),
    ] {
        assert_eq!(cost(&nobody(), name), with_project, "{name}");
        assert_eq!(cost(&user, name), with_user, "{name}");
    }
}

#[test]
fn an_answer_says_what_it_cost_where_that_is_known() {
    let source = Source::new("prices.yaml", "prices:\n  scripted:played: {input: 2.5, output: 10}\n");
    let prices = Arc::new(Prices::read(&source).0.expect("prices"));
    let answers = "- {text: a, usage: {input: 1000, output: 100}}\n- text: b\n- {fail: {code: overloaded}}\n";
    for (name, costs) in [("scripted:played", [Some(3_500), None]), ("scripted:other", [None, None])] {
        let script = Script::read(&Source::new("answers.yaml", answers), name).expect("answers");
        let model = PricedModel::new(Arc::new(script), Arc::clone(&prices));
        let request = user("Hello?");
        let ask = || at_once(model.ask(ModelQuestion { request: &request, tools: &[], asker: None }, None));
        for cost in costs {
            assert_eq!(ask().expect("an answer").cost_microdollars, cost, "{name}");
        }
        assert_eq!(ask().expect_err("a failure").code, "overloaded");
    }
}

#[test]
fn all_faults_of_a_price_file_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    write(
        &folder.path().join(prices::FILE),
        "prices:\n  openai:a: {input: cheap, output: 1}\n  openai:b: {input: 1}\n",
    );
    let error = prices::load(folder.path(), &nobody()).expect_err("faults");
    let told = format!("{}: {error}", error.code).replace(&folder.path().display().to_string(), "FOLDER");
    expect![[r#"
        bad-prices: `FOLDER/.portolan/prices.yaml` has 2 faults that must be corrected; correct what is listed
        FOLDER/.portolan/prices.yaml:2:21: `input` of the price of `openai:a` must be US dollars per million tokens, a number from 0 to 1000000 with at most 6 decimal places, but is a string
        FOLDER/.portolan/prices.yaml:3:13: the price of `openai:b` has no `output`"#]].assert_eq(&told);
}

#[test]
fn the_shipped_prices_are_of_models_that_can_be_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    prices::load(folder.path(), &nobody()).expect("the shipped prices are sound");
    let names = prices::SHIPPED.lines().filter_map(|line| line.strip_prefix("  ")?.split(": {").next());
    let names: Vec<&str> = names.collect();
    assert!(names.len() >= 12, "{names:?}");
    names.iter().for_each(|name| assert!(ModelName::parse(name).is_ok(), "{name}"));
}
