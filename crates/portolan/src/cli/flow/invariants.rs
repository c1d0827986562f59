//! `portolan flow invariants`: the rules, what enforces them, and who may bypass them.

use portolan_gates::guidelines::{Level, Who};
use portolan_gates::{RULES, Rule};
use portolan_runtime::rules::rules;
use serde_json::json;

use super::super::output::{Output, table};
use super::super::{Common, Exit};

pub(super) fn run(common: &Common) -> anyhow::Result<Exit> {
    let guidelines = rules(&common.project()?)?;
    let output = common.output();
    let level = |rule: &Rule| match guidelines.level(&[rule.id]) {
        Level::Block => "blocks",
        Level::Warn => "warns",
        Level::Off => "off",
    };
    let who = |rule: &Rule| match guidelines.who(rule.id) {
        Who::Anyone => "anyone",
        Who::HumanOnly => "a person",
        Who::Never => "nobody",
    };
    if output.is_json() {
        let rules: Vec<_> = RULES
            .iter()
            .map(|rule| {
                json!({
                    "id": rule.id,
                    "rule": rule.says,
                    "keptBy": rule.kept_by,
                    "level": level(rule),
                    "bypass": who(rule),
                })
            })
            .collect();
        output.json(&rules)?;
        return Ok(Exit::Done);
    }
    print(output, &RULES.iter().map(|rule| (rule, level(rule), who(rule))).collect::<Vec<_>>())
}

fn print(output: Output, rules: &[(&Rule, &str, &str)]) -> anyhow::Result<Exit> {
    let head = ["RULE", "SAYS", "KEPT BY", "LEVEL", "BYPASS"].map(str::to_owned).to_vec();
    let row = |(rule, level, who): &(&Rule, &str, &str)| {
        [rule.id, rule.says, rule.kept_by, level, who].map(str::to_owned).to_vec()
    };
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rules.iter().map(row)).collect();
    output.line(table(&rows))?;
    Ok(Exit::Done)
}
