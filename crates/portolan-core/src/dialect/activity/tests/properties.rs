//! Properties of all texts, including unlikely ones.

use proptest::prelude::*;

use crate::dialect::Strictness;
use crate::dialect::activity::activities::read_activity;
use crate::dialect::activity::lower::lower;
use crate::dialect::activity::syntax::read;
use crate::source::fields::FaultList;
use crate::source::{self, Piece, Source};

/// Reads a text as both kinds of file, and checks the span and the help of each diagnostic.
fn survives(text: &str) -> Result<(), TestCaseError> {
    let source = Source::new("w.yaml", text);
    let (Some(tree), _) = source::parse(&source) else { return Ok(()) };
    let mut faults = FaultList::default();
    let file = read(&source, &tree, &mut faults);
    prop_assert_eq!(file.is_none(), tree.entries().is_none());
    let _ = read_activity(&source, &tree, &mut faults);
    for fault in faults.0 {
        let span = fault.span.expect("every finding has a place");
        prop_assert!(span.start <= span.end && source.text.get(span.start..span.end).is_some(), "{:?}", fault);
        prop_assert!(fault.help.is_some(), "{:?}", fault);
    }
    is_placed_as_a_file_of_its_own(text)
}

/// Reads the text twice as an activity file: the diagnostics of both must be the same, each in its own file.
fn is_placed_as_a_file_of_its_own(text: &str) -> Result<(), TestCaseError> {
    let piece = |name: &str| Piece { name: name.to_owned(), text: Ok(text.to_owned()) };
    let source = Source::new("w.yaml", "id: w").joined(vec![piece("1.yaml"), piece("2.yaml")], Vec::new());
    let faults = lower(&source, &source::parse(&source).0.expect("a tree"), Strictness::Strict).faults;
    let said = |name: &str| {
        let in_file = faults.iter().filter(|fault| {
            fault.span.is_some_and(|span| {
                let (file, whole) = source.file_at(span.start);
                file == name && span.end <= whole.end && source.text.get(span.start..span.end).is_some()
            })
        });
        in_file.map(|fault| fault.code).filter(|code| *code != "duplicate-id").collect::<Vec<_>>()
    };
    let all = faults.iter().filter(|fault| fault.code != "duplicate-id").count();
    prop_assert_eq!(said("w.yaml").len() + said("1.yaml").len() + said("2.yaml").len(), all, "{:?}", faults);
    prop_assert!(said("2.yaml").iter().all(|code| said("1.yaml").contains(code)), "{:?}", faults);
    Ok(())
}

const KEYS: &[&str] = &[
    "id",
    "version",
    "title",
    "name",
    "rules",
    "variables",
    "type",
    "default",
    "activities",
    "steps",
    "kind",
    "technique",
    "inputs",
    "outputs",
    "options",
    "label",
    "effect",
    "setVariable",
    "ref",
    "message",
    "defaultOption",
    "autoAdvanceMs",
    "blocking",
    "before",
    "at",
    "scope",
    "loops",
    "loopType",
    "over",
    "variable",
    "condition",
    "when",
    "conditions",
    "operator",
    "value",
    "breakCondition",
    "maxIterations",
    "checkpoints",
    "decisions",
    "branches",
    "isDefault",
    "transitionTo",
    "transitions",
    "to",
    "triggers",
    "workflow",
    "entryActions",
    "action",
    "skills",
    "artifacts",
    "modes",
    "modeOverrides",
    "fragments",
    "artifactLocations",
    "estimatedTime",
    "unheard-of",
];

const WORDS: &[&str] = &[
    "a",
    "1.0.0",
    "a b",
    "\"\"",
    "é",
    "string",
    "boolean",
    "checkpoint",
    "loop",
    "technique",
    "forEach",
    "while",
    "doWhile",
    "simple",
    "and",
    "or",
    "not",
    "exists",
    "\"==\"",
    "\">\"",
    "entry",
    "run",
    "set",
    "1",
    "-1.5",
    "true",
    "false",
    "null",
    "\"a == 'x' && !(b > 1)\"",
    "\"a ==\"",
    "\"é é\"",
    "g::op",
    "1-4h",
];

/// Generates a value in flow style from keys and words of the format.
fn values() -> impl Strategy<Value = String> {
    let word = prop::sample::select(WORDS).prop_map(str::to_owned);
    word.prop_recursive(6, 60, 6, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(", ")));
        let entry = (prop::sample::select(KEYS), inner).prop_map(|(key, value)| format!("{key}: {value}"));
        let object = prop::collection::vec(entry, 0..8).prop_map(|entries| format!("{{{}}}", entries.join(", ")));
        prop_oneof![list, object.clone(), object]
    })
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in "(?s).{0,200}") {
        survives(&text)?;
    }

    #[test]
    fn no_structure_is_too_strange(value in values()) {
        survives(&value)?;
    }

    #[test]
    fn nothing_that_stands_in_a_field_is_too_strange(key in prop::sample::select(KEYS), value in values()) {
        survives(&format!("id: a\nversion: 1.0.0\n{key}: {value}\nactivities: [{{id: b, {key}: {value}, steps: [{{id: c, {key}: {value}}}]}}]\n"))?;
    }
}
