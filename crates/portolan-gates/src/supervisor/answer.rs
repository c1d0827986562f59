//! The choice of a question that a reply selects.

use serde_json::Value;

/// Returns the choice that a reply selects, or `None` if it selects none or several. Without choices any text is an
/// answer.
///
/// ```
/// use portolan_gates::supervisor::answer;
/// let choices = ["Merge".to_owned(), "wait".to_owned()];
/// assert_eq!(answer(" merge\n", &choices).as_deref(), Some("Merge"));
/// assert_eq!(answer("2", &choices).as_deref(), Some("wait"));
/// assert_eq!(answer(r#"{"choice": "wait"}"#, &choices).as_deref(), Some("wait"));
/// assert_eq!(answer("perhaps", &choices), None);
/// ```
pub fn answer(body: &str, choices: &[String]) -> Option<String> {
    let body = body.trim();
    if body.is_empty() {
        return None;
    }
    if choices.is_empty() {
        return Some(body.to_owned());
    }
    plain(body, choices).or_else(|| structured(body, choices))
}

/// Returns a choice by its text, or by its number starting at 1. The text counts first, so a choice may itself be a
/// number.
fn plain(text: &str, choices: &[String]) -> Option<String> {
    let exact = choices.iter().find(|choice| choice.trim() == text);
    exact.or_else(|| alike(text, choices)).or_else(|| numbered(text.parse().ok()?, choices)).cloned()
}

/// Returns the only choice that differs at most in case.
fn alike<'c>(text: &str, choices: &'c [String]) -> Option<&'c String> {
    let text = text.to_lowercase();
    let mut alike = choices.iter().filter(|choice| choice.trim().to_lowercase() == text);
    let first = alike.next()?;
    alike.next().is_none().then_some(first)
}

fn numbered(number: usize, choices: &[String]) -> Option<&String> {
    choices.get(number.checked_sub(1)?)
}

/// Reads a JSON string or number, or an object that has one under `choice`, `answer` or `index`.
fn structured(body: &str, choices: &[String]) -> Option<String> {
    let value: Value = serde_json::from_str(body).ok()?;
    let value = match &value {
        Value::Object(members) => ["choice", "answer", "index"].iter().find_map(|name| members.get(*name))?,
        other => other,
    };
    match value {
        Value::String(text) => plain(text.trim(), choices),
        Value::Number(number) => numbered(usize::try_from(number.as_u64()?).ok()?, choices).cloned(),
        _ => None,
    }
}
