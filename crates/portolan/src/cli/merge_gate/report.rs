//! Renders a ruling: as text, Markdown and SARIF.

use portolan_gates::merge::{MergeVerdict, Reason};
use portolan_runtime::merge_gate::MergeRuling;
use serde_json::{Value, json};

use super::super::output::one_line;

/// Returns the verdict in one sentence.
pub(super) fn headline(ruled: &MergeRuling) -> String {
    let verdict = match ruled.ruling.verdict {
        MergeVerdict::Pass => "it may be merged",
        MergeVerdict::HumanReview => "a person decides",
        MergeVerdict::Block => "it may not be merged",
    };
    let shape = ruled.ruling.shape.map(|shape| format!(", a {}", shape.name())).unwrap_or_default();
    let (base, head) = (short(&ruled.base), short(&ruled.head));
    format!("{verdict}: {base}..{head}{shape}, {:.0}% of its removals announced", ruled.ruling.score * 100.0)
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

fn weight(reason: &Reason) -> &'static str {
    match reason.verdict {
        MergeVerdict::Pass => "warning",
        MergeVerdict::HumanReview => "review",
        MergeVerdict::Block => "block",
    }
}

/// Returns the reasons, one row each.
pub(super) fn rows(ruled: &MergeRuling) -> Vec<Vec<String>> {
    let row = |reason: &Reason| {
        vec![weight(reason).to_owned(), format!("{}:{}", reason.path, reason.line), reason.message.clone()]
    };
    ruled.ruling.reasons.iter().map(row).collect()
}

/// Returns the complete ruling.
pub(super) fn json(ruled: &MergeRuling) -> Value {
    json!({ "base": ruled.base, "head": ruled.head, "ruling": ruled.ruling })
}

/// Renders a comment on a pull request. Names of files are escaped: they come from the branch, and could end a cell.
pub(super) fn markdown(ruled: &MergeRuling) -> String {
    let mut text = format!("**Merge gate: {}**\n", headline(ruled));
    if ruled.ruling.reasons.is_empty() {
        return text;
    }
    text += "\n| | where | what |\n|---|---|---|\n";
    for row in rows(ruled) {
        let cells: Vec<String> = row.iter().map(|cell| escaped(&one_line(cell))).collect();
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text.trim_end().to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('|', "\\|").replace('@', "&#64;").replace("](", "]&#40;")
}

/// Renders SARIF, for tools that show findings beside the code.
pub(super) fn sarif(ruled: &MergeRuling) -> Value {
    let results: Vec<Value> = ruled.ruling.reasons.iter().map(result).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "portolan merge-gate", "version": env!("CARGO_PKG_VERSION") } },
            "results": results,
        }],
    })
}

fn result(reason: &Reason) -> Value {
    let level = match reason.verdict {
        MergeVerdict::Pass => "note",
        MergeVerdict::HumanReview => "warning",
        MergeVerdict::Block => "error",
    };
    let uri: String = reason.path.bytes().map(encoded).collect();
    json!({
        "ruleId": reason.code,
        "level": level,
        "message": { "text": reason.message },
        "locations": [{
            "physicalLocation": { "artifactLocation": { "uri": uri }, "region": { "startLine": reason.line } },
        }],
    })
}

fn encoded(byte: u8) -> String {
    let plain = byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    if plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
}
