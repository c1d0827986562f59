//! A question to a person, and its possible answers.

use super::is_id;
use crate::diagnostic::{Diagnostic, clip};
use crate::source::fields::{FaultList, Fields};
use crate::source::{Spanned, Tree, TreeKind};
use crate::value::FAILED;

/// The maximum number of answers to one question.
const MAX_OPTIONS: usize = 100;

/// A question.
pub(in crate::dialect) struct Ask {
    pub(in crate::dialect) question: String,
    /// The possible answers, if the question lists them.
    pub(in crate::dialect) options: Vec<Answer>,
}

/// An answer to a question.
pub(in crate::dialect) struct Answer {
    pub(in crate::dialect) id: Spanned<String>,
    pub(in crate::dialect) label: String,
}

/// Reads the question under `key`, and its `options`.
pub(in crate::dialect) fn ask(
    key: &'static str,
    fields: &mut Fields<'_>,
    named: &str,
    faults: &mut FaultList,
) -> Option<Ask> {
    let question = fields.required_string(key, faults);
    let options = options(fields, named, faults);
    Some(Ask { question: question?.value, options: options? })
}

/// Reads a list of answers, or an object with a text for each.
fn options(fields: &mut Fields<'_>, named: &str, faults: &mut FaultList) -> Option<Vec<Answer>> {
    let Some(tree) = fields.optional("options") else { return Some(Vec::new()) };
    let what = format!("`options` of {named}");
    let items: Vec<(Spanned<String>, &Tree)> = match &tree.kind {
        TreeKind::Array(items) => {
            let text = |item: &'_ Tree| Some(Spanned { value: item.as_str()?.to_owned(), span: item.span });
            let texts: Option<Vec<_>> = items.iter().map(|item| Some((text(item)?, item))).collect();
            let Some(texts) = texts else { return fields.wrong("options", "an array of strings", tree, faults) };
            texts
        }
        TreeKind::Object(_) => fields.texts("options", faults),
        _ => return fields.wrong("options", "an array of answers", tree, faults),
    };
    if items.len() > MAX_OPTIONS {
        let message = format!("{what} are {}, more than the limit of {MAX_OPTIONS}", items.len());
        faults.push(Diagnostic::error("too-large", message).at(tree.head()).help("ask in two steps"));
        return None;
    }
    let mut answers: Vec<Answer> = Vec::new();
    for (id, tree) in items {
        if !is_answer(&id, faults) {
            continue;
        }
        if answers.iter().any(|earlier| earlier.id.value == id.value) {
            let message = format!("{what} have `{}` twice", clip(&id.value));
            faults.push(Diagnostic::error("duplicate-id", message).at(id.span).help("keep one of the two"));
            continue;
        }
        let label = tree.as_str().unwrap_or(&id.value).to_owned();
        answers.push(Answer { id, label });
    }
    Some(answers)
}

/// Returns whether an answer has a valid id that cannot be confused with a failure, and reports if not.
pub(in crate::dialect) fn is_answer(id: &Spanned<String>, faults: &mut FaultList) -> bool {
    if id.value == FAILED {
        let fault = Diagnostic::error("bad-id", "`failed` cannot be an answer: it means that no answer was given");
        faults.push(fault.at(id.span).help("call it `no`, or what the answer means"));
        return false;
    }
    is_id(id, "an answer", faults)
}
