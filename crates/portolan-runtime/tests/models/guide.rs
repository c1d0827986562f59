//! `docs/models.md`: what it shows is read, and what it lists is there.

use portolan_core::chat::prices::Prices;
use portolan_core::chat::script;
use portolan_core::source::Source;
use portolan_runtime::models::{ModelName, PROVIDERS};

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/models.md");
    std::fs::read_to_string(path).expect("the guide")
}

/// The blocks of a language, each with the line before it that says what it is.
fn blocks(language: &str) -> Vec<String> {
    let page = page();
    let parts = page.split("```").skip(1).step_by(2);
    parts.filter_map(|block| Some(block.strip_prefix(language)?.strip_prefix('\n')?.to_owned())).collect()
}

#[test]
fn the_files_of_the_guide_are_sound() {
    let (mut scripts, mut prices) = (0, 0);
    for block in blocks("yaml") {
        let source = Source::new("shown.yaml", &block);
        if block.contains("prices:") {
            assert!(Prices::read(&source).1.is_empty(), "{block}");
            prices += 1;
        } else {
            let (answers, faults) = script::answers(&source);
            assert!(faults.is_empty() && answers.is_some_and(|answers| !answers.is_empty()), "{block}");
            scripts += 1;
        }
    }
    assert!(scripts > 0 && prices > 0, "{scripts} scripts, {prices} tables of prices");
}

#[test]
fn the_names_of_the_guide_are_names() {
    let mut names = 0;
    for block in blocks("text") {
        for line in block.lines() {
            let name = line.split_whitespace().next().unwrap_or_default();
            assert!(ModelName::parse(name).is_ok(), "{line}");
            names += 1;
        }
    }
    assert!(names > 5, "{names} names");
}

#[test]
fn every_provider_and_every_failure_stands_in_the_guide() {
    let page = page();
    for provider in PROVIDERS {
        let key = provider.key.map_or("none".to_owned(), |key| format!("`{key}`"));
        let row = format!("| `{provider}` | {key} |");
        assert!(page.contains(&row), "there is no row {row}");
    }
    for code in [
        "rate-limited",
        "overloaded",
        "provider-failed",
        "unreachable",
        "timed-out",
        "cut-off",
        "bad-answer",
        "too-large",
        "too-long",
        "bad-request",
        "unknown-model",
        "refused-key",
        "no-credit",
        "not-scripted",
    ] {
        let again = if portolan_core::chat::ModelError::passes(code) { "yes" } else { "no" };
        assert!(
            page.lines().any(|line| line.starts_with(&format!("| `{code}` | {again} |"))),
            "`{code}` is not listed"
        );
    }
}
