//! Reads the rules for calls of tools: guards, filters of results, and rules of what is kept. A project's file and a
//! definition write them in the same form.

use super::guard::{ARGUMENTS, CALLED, CALLS};
use super::read::{Reader, number};
use super::total::RESULT;
use super::{DeclaredGuard, GuardOrigin, RecordRule, ResultFilter, Summand, Total, TotalPer};
use crate::Decision;
use portolan_core::diagnostic::{Diagnostic, clip, list};
use portolan_core::expr::Jsonata;
use portolan_core::schema::Schema;
use portolan_core::source::{Tree, TreeKind};

impl Reader {
    pub(super) fn guard(&mut self, tree: &Tree) -> Option<DeclaredGuard> {
        let (id, mut reason, mut decision) = (self.id(tree, "guard")?, None, None);
        let (mut tools, mut paths, mut when, mut schema, mut total) = (Vec::new(), Vec::new(), None, None, None);
        let mut exclusive = false;
        let of = format!("guard `{}`", clip(&id));
        let names = ["id", "tools", "paths", "when", "schema", "total", "exclusive", "decision", "reason"];
        for entry in self.fields(tree, &of, &names) {
            match entry.key.value.as_str() {
                "tools" => tools = self.texts(&entry.value, "tools"),
                "paths" => paths = self.texts(&entry.value, "paths"),
                "when" => when = self.condition(&entry.value),
                "schema" => schema = self.schema(&entry.value),
                "total" => total = self.total(&entry.value, &of),
                "exclusive" => exclusive = self.flag(&entry.value, "exclusive").unwrap_or(true),
                "decision" => decision = self.decision(&entry.value),
                "reason" => reason = self.text(&entry.value, "reason"),
                _ => {}
            }
        }
        let has_condition = when.is_some() || schema.is_some() || tree.get("total").is_some() || exclusive;
        if tools.is_empty() && paths.is_empty() && !has_condition {
            let message =
                format!("{of} has none of `tools`, `paths`, `when`, `schema` and `total`, so it applies to everything");
            self.faults.push(Diagnostic::error("missing-field", message).at(tree.head()));
        }
        let reason = self.needed(reason.filter(|reason| !reason.trim().is_empty()), tree, &of, "reason")?;
        // A guard without a decision was meant to block.
        let decision = decision.unwrap_or(Decision::Block);
        let origin = GuardOrigin::Project;
        Some(DeclaredGuard { id, tools, paths, when, schema, total, exclusive, decision, reason, origin })
    }

    fn total(&mut self, tree: &Tree, of: &str) -> Option<Total> {
        let (mut argument, mut result, mut most, mut per) = (None, None, None, Some(TotalPer::Run));
        let of = format!("the `total` of {of}");
        for entry in self.fields(tree, &of, &["argument", "result", "most", "per"]) {
            match (entry.key.value.as_str(), &entry.value) {
                ("argument", value) => argument = self.text(value, "argument"),
                ("result", value) => result = self.expression(value, "result", &[RESULT]),
                ("most", value) => {
                    most = number(value).filter(|most| *most >= 0.0);
                    if most.is_none() {
                        self.wrong("`most` must be a number, 0 or more", value.span);
                    }
                }
                ("per", value) => per = self.per(value),
                _ => {}
            }
        }
        // A faulty value was reported.
        if tree.get("most").is_none() {
            self.needed(most, tree, &of, "most")?;
        }
        let of = match (tree.get("argument"), tree.get("result")) {
            (Some(_), Some(both)) => {
                let message = format!("{of} has both `argument` and `result`");
                let fault = Diagnostic::error("either-or", message).at(both.head());
                self.faults.push(fault.help("write a guard for each of them"));
                return None;
            }
            (Some(_), None) => Summand::Argument(argument?),
            (None, Some(_)) => Summand::Result(result?),
            (None, None) => Summand::Calls,
        };
        Some(Total { of, most: most?, per: per? })
    }

    fn per(&mut self, tree: &Tree) -> Option<TotalPer> {
        match self.text(tree, "per")?.as_str() {
            "run" => Some(TotalPer::Run),
            "step" => Some(TotalPer::Step),
            "day" => Some(TotalPer::Day),
            other => {
                let message = format!("`per` cannot be `{}`", clip(other));
                let fault = Diagnostic::error("unknown-word", message).at(tree.span);
                self.faults.push(fault.help("use `run`, `step` or `day`"));
                None
            }
        }
    }

    pub(super) fn filter(&mut self, tree: &Tree) -> Option<ResultFilter> {
        let mut filter = ResultFilter { id: self.id(tree, "filter of results")?, ..ResultFilter::default() };
        let of = format!("filter `{}`", clip(&filter.id));
        for entry in self.fields(tree, &of, &["id", "tools", "redact", "dropMedia", "maxBytes"]) {
            match entry.key.value.as_str() {
                "tools" => filter.tools = self.texts(&entry.value, "tools"),
                "redact" => filter.redact = self.flag(&entry.value, "redact")?,
                "dropMedia" => filter.drop_media = self.flag(&entry.value, "dropMedia")?,
                "maxBytes" => filter.max_bytes = Some(self.size(&entry.value, "maxBytes")?),
                _ => {}
            }
        }
        if !filter.redact && !filter.drop_media && filter.max_bytes.is_none() {
            let message = format!("{of} has none of `redact`, `dropMedia` and `maxBytes`, so it does nothing");
            self.faults.push(Diagnostic::error("missing-field", message).at(tree.head()));
        }
        Some(filter)
    }

    pub(super) fn record(&mut self, tree: &Tree) -> Option<RecordRule> {
        let id = self.id(tree, "rule of records")?;
        let of = format!("record `{}`", clip(&id));
        let mut rule = RecordRule { id, tools: Vec::new(), max_bytes: RecordRule::USUAL_BYTES, keep_days: None };
        for entry in self.fields(tree, &of, &["id", "tools", "maxBytes", "keepDays"]) {
            match entry.key.value.as_str() {
                "tools" => rule.tools = self.texts(&entry.value, "tools"),
                // A faulty value is reported, and the other ones are read as well.
                "maxBytes" => {
                    let size = self.size_up_to(&entry.value, "maxBytes", RecordRule::MOST_BYTES);
                    rule.max_bytes = size.unwrap_or(rule.max_bytes);
                }
                "keepDays" => {
                    rule.keep_days = self.size_up_to(&entry.value, "keepDays", 36_500).map(|days| days as u32)
                }
                _ => {}
            }
        }
        Some(rule)
    }

    fn size_up_to(&mut self, tree: &Tree, of: &str, most: usize) -> Option<usize> {
        let size = self.size(tree, of)?;
        if size > most {
            self.wrong(&format!("`{of}` must be at most {most}"), tree.span);
        }
        (size <= most).then_some(size)
    }

    fn flag(&mut self, tree: &Tree, of: &str) -> Option<bool> {
        if let TreeKind::Bool(flag) = tree.kind {
            return Some(flag);
        }
        self.wrong(&format!("`{of}` must be true or false"), tree.span);
        None
    }

    fn size(&mut self, tree: &Tree, of: &str) -> Option<usize> {
        let size = number(tree).filter(|size| size.fract() == 0.0 && (1.0..=1e9).contains(size));
        if size.is_none() {
            self.wrong(&format!("`{of}` must be a whole number, 1 or more"), tree.span);
        }
        size.map(|size| size as usize)
    }

    fn schema(&mut self, tree: &Tree) -> Option<Schema> {
        match Schema::compile(&tree.value()) {
            Ok(schema) => Some(schema),
            Err(faults) => {
                for fault in faults {
                    let message = format!("`schema` is not a valid JSON Schema: {fault}");
                    self.faults.push(Diagnostic::error("bad-schema", message).at(tree.head()));
                }
                None
            }
        }
    }

    fn condition(&mut self, tree: &Tree) -> Option<Jsonata> {
        const NAMES: [&str; 9] = ["tool", "path", "command", ARGUMENTS, CALLS, CALLED, "branch", "phase", "steps"];
        self.expression(tree, "when", &NAMES)
    }

    /// Reads an expression over these names.
    fn expression(&mut self, tree: &Tree, of: &str, names: &[&str]) -> Option<Jsonata> {
        let text = self.text(tree, of)?;
        let parsed = match Jsonata::parse(&text) {
            Ok(parsed) => parsed,
            Err(fault) => {
                let message = format!("`{of}` cannot be read: {}", fault.message);
                let found = Diagnostic::error("bad-expression", message).at(tree.span);
                self.faults.push(match fault.help {
                    Some(help) => found.help(help),
                    None => found,
                });
                return None;
            }
        };
        for root in parsed.roots().iter().filter(|root| !names.contains(&root.as_str())) {
            let message = format!("`{}` is not available in `{of}`", clip(root));
            let fault = Diagnostic::error("unknown-name", message).at(tree.span);
            let help = match names {
                [only] => format!("the available name is `{only}`"),
                names => format!("the available names are {}", list(names)),
            };
            self.faults.push(fault.help(help).did_you_mean(root, names.iter().copied()));
        }
        Some(parsed)
    }

    fn decision(&mut self, tree: &Tree) -> Option<Decision> {
        match self.text(tree, "decision")?.as_str() {
            "block" => Some(Decision::Block),
            "ask" => Some(Decision::Ask),
            other => {
                let message = format!("`decision` cannot be `{}`", clip(other));
                let fault = Diagnostic::error("unknown-word", message).at(tree.span);
                self.faults.push(fault.help("use `block` or `ask`; a guard cannot allow what another one stops"));
                None
            }
        }
    }
}
