//! A workflow can end, and can end in success.

use super::{Code, Rule};
use crate::diagnostic::Diagnostic;
use crate::graph::{EndResult, Kind};
use crate::validate::map::Map;

pub(super) const RULE: Rule = Rule {
    codes: &[
        Code {
            code: "no-success",
            what: "The workflow has no end with `\"result\": \"success\"`, so no run of it can succeed.",
            fix: "Add an end with `\"result\": \"success\"`, and lead the work to it.",
        },
        Code {
            code: "edge-from-end",
            what: "An edge leaves an end that has no `\"escalation\": \"hitl\"` and therefore asks no person. A run \
                   that has ended cannot continue.",
            fix: "Remove the edge, or give the end `\"escalation\": \"hitl\"`. It then asks a person, and the run \
                  continues.",
        },
    ],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    // Every exit of a function is a success, and its dialect reports if there is none.
    if map.graph.interface.is_some() {
        return;
    }
    let succeeds = |kind: &Kind| matches!(kind, Kind::End { result: EndResult::Success, .. });
    if !map.nodes().any(|node| succeeds(&node.kind)) {
        faults.push(
            Diagnostic::warning("no-success", "the workflow has no end with the result `success`")
                .help("add `\"done\": {\"type\": \"end\", \"result\": \"success\"}` and lead the work to it"),
        );
    }
}
