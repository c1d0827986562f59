//! Rules and techniques: texts for everyone, or for each audience.

use super::reader::Reader;
use crate::diagnostic::{Diagnostic, clip};
use crate::source::fields::{Fields, distinct};
use crate::source::{Spanned, Tree, TreeKind};

/// Texts by their audience.
pub(super) struct ByAudience<T> {
    /// The leader of the workflow.
    pub(super) workflow: Vec<T>,
    /// The workers on an activity.
    pub(super) activity: Vec<T>,
    /// Both; also a list without audiences.
    pub(super) universal: Vec<T>,
}

impl<T> Default for ByAudience<T> {
    fn default() -> Self {
        ByAudience { workflow: Vec::new(), activity: Vec::new(), universal: Vec::new() }
    }
}

pub(super) enum Rule {
    Text(Spanned<String>),
    /// The shared rules of that name.
    Shared(Spanned<String>),
}

/// Rules under a name, to which others refer.
pub(super) struct SharedRules {
    pub(super) name: Spanned<String>,
    pub(super) texts: Vec<Spanned<String>>,
}

impl Reader<'_> {
    /// Reads a list or an object of lists under `key`; `read` reads such a list.
    pub(super) fn by_audience<'t, T>(
        &mut self,
        fields: &mut Fields<'t>,
        key: &'static str,
        what: &str,
        read: fn(&mut Self, &mut Fields<'t>, &'static str, &str) -> Vec<T>,
    ) -> ByAudience<T> {
        let tree = match fields.optional(key) {
            Some(tree) if tree.entries().is_some() => tree,
            _ => return ByAudience { universal: read(self, fields, key, what), ..ByAudience::default() },
        };
        let what = format!("`{key}` of {what}");
        let Some(mut fields) = Fields::of(tree, what.as_str(), self.faults) else { return ByAudience::default() };
        let audience = ByAudience {
            workflow: read(self, &mut fields, "workflow", &what),
            activity: read(self, &mut fields, "activity", &what),
            universal: read(self, &mut fields, "universal", &what),
        };
        fields.finish(self.faults);
        audience
    }

    /// Reads a list of rules: texts, and references to shared ones.
    pub(super) fn rules(&mut self, fields: &mut Fields<'_>, key: &'static str, what: &str) -> Vec<Rule> {
        let items = self.list(fields, key);
        items.iter().filter_map(|item| self.rule(item, what)).collect()
    }

    fn rule(&mut self, tree: &Tree, what: &str) -> Option<Rule> {
        match &tree.kind {
            TreeKind::String(text) => Some(Rule::Text(Spanned { value: text.clone(), span: tree.span })),
            TreeKind::Object(_) if tree.get("ref").is_some() => {
                let mut fields = Fields::of(tree, format!("a rule of {what}"), self.faults)?;
                let shared = fields.required_string("ref", self.faults);
                fields.finish(self.faults);
                shared.map(Rule::Shared)
            }
            _ => {
                let message = format!("a rule of {what} must be a text, but is {}", tree.describe());
                // `- name: text` is an object in YAML, but looks like a sentence to a person.
                let help = "write a text, in quotes if it contains `: `, or `ref: …` for shared rules";
                self.faults.push(Diagnostic::error("wrong-type", message).at(tree.head()).help(help));
                None
            }
        }
    }

    pub(super) fn names(&mut self, fields: &mut Fields<'_>, key: &'static str, _: &str) -> Vec<Spanned<String>> {
        fields.strings(key, self.faults)
    }

    /// Reads the shared rules, by their names.
    pub(super) fn shared_rules(&mut self, tree: &Tree) -> Vec<SharedRules> {
        let Some(entries) = tree.entries() else {
            let message = format!("`rules` of `fragments` must be an object, but is {}", tree.describe());
            let fault = Diagnostic::error("wrong-type", message).at(tree.head());
            self.faults.push(fault.help("write each list of rules under its name"));
            return Vec::new();
        };
        let mut shared = Vec::new();
        for entry in distinct(entries, "`rules` of `fragments`", self.faults) {
            if let TreeKind::String(text) = &entry.value.kind {
                let texts = vec![Spanned { value: text.clone(), span: entry.value.span }];
                shared.push(SharedRules { name: entry.key.clone(), texts });
                continue;
            }
            let TreeKind::Array(items) = &entry.value.kind else {
                let message =
                    format!("the shared rules `{}` must be a string, or an array of strings", clip(&entry.key.value));
                let fault = Diagnostic::error("wrong-type", message).at(entry.value.head());
                self.faults.push(fault.help("write each rule after a `-`"));
                continue;
            };
            let texts = items.iter().filter_map(|item| match self.rule(item, "`fragments`")? {
                Rule::Text(text) => Some(text),
                Rule::Shared(other) => {
                    let message = format!("the shared rules `{}` refer to others", clip(&entry.key.value));
                    let fault = Diagnostic::error("wrong-type", message).at(other.span);
                    self.faults.push(fault.help("write the rules out: shared rules cannot refer to others"));
                    None
                }
            });
            let texts = texts.collect();
            shared.push(SharedRules { name: entry.key.clone(), texts });
        }
        shared
    }
}
