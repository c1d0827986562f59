//! What a form asks for: the fields of nodes, with words for people.

use serde::Serialize;

use crate::graph::Node;
use crate::source::Tree;

/// A kind of node, and what is asked for it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NodeForm {
    /// Its kind, in the word of the format.
    pub kind: &'static str,
    /// The same for people.
    pub label: &'static str,
    /// What it is for, in one sentence.
    pub help: &'static str,
    /// Its fields.
    pub fields: &'static [FormField],
    /// Whether the edges that leave it name an outcome.
    pub outcomes: bool,
    /// Whether the edges that leave it may have a label of their own.
    pub labels: bool,
    /// Whether one can be added by itself: a join comes with its fork.
    pub addable: bool,
    /// Whether a node of it never becomes one of another kind, nor another one of it.
    pub apart: bool,
    /// Whether a node is of it where its text names no kind.
    #[serde(skip)]
    pub(crate) unsaid: fn(&Node) -> bool,
}

/// A field of a node.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FormField {
    /// Its path in the node: `tools.deny` is one within another.
    pub path: &'static str,
    /// What it is called for people.
    pub label: &'static str,
    /// What it is for, in one sentence.
    pub help: &'static str,
    /// What it holds.
    #[serde(rename = "type")]
    pub kind: FieldKind,
    /// What it may hold, where that is one of a few words.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub choices: &'static [&'static str],
    /// What counts where it is left out, if that is a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<u32>,
    /// Whether a definition without it has a fault.
    pub required: bool,
    /// What it is called instead where a text was written so: another spelling, or an older one.
    #[serde(skip)]
    pub(crate) otherwise: Option<&'static str>,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldKind {
    /// A line of text.
    Text,
    /// Text of several lines.
    Long,
    /// A number.
    Number,
    /// Yes or no.
    Boolean,
    /// One of a few words.
    Choice,
    /// Texts.
    List,
    /// An expression, as the format writes it.
    Expression,
    /// Anything.
    Json,
}

/// A kind of node.
pub(in crate::dialect) const fn form(
    kind: &'static str,
    label: &'static str,
    help: &'static str,
    fields: &'static [FormField],
) -> NodeForm {
    NodeForm {
        kind,
        label,
        help,
        fields,
        outcomes: false,
        labels: false,
        addable: true,
        apart: false,
        unsaid: |_| false,
    }
}

/// A field that may be left out.
pub(in crate::dialect) const fn field(
    path: &'static str,
    label: &'static str,
    kind: FieldKind,
    help: &'static str,
) -> FormField {
    FormField { path, label, help, kind, choices: &[], default: None, required: false, otherwise: None }
}

impl NodeForm {
    /// The same, of which edges name an outcome.
    pub(in crate::dialect) const fn with_outcomes(self) -> NodeForm {
        NodeForm { outcomes: true, ..self }
    }

    /// The same, of which edges may have a label.
    pub(in crate::dialect) const fn with_labels(self) -> NodeForm {
        NodeForm { labels: true, ..self }
    }

    /// The same, of which none is added by itself.
    pub(in crate::dialect) const fn with_others(self) -> NodeForm {
        NodeForm { addable: false, ..self }
    }

    /// The same, to and from which no node changes.
    pub(in crate::dialect) const fn apart(self) -> NodeForm {
        NodeForm { apart: true, ..self }
    }

    /// The same, which a node is of where its text names no kind and this holds.
    pub(in crate::dialect) const fn unsaid(self, unsaid: fn(&Node) -> bool) -> NodeForm {
        NodeForm { unsaid, ..self }
    }
}

impl FormField {
    /// The same, that must be there.
    pub(in crate::dialect) const fn required(self) -> FormField {
        FormField { required: true, ..self }
    }

    /// The same, which counts as this number where it is left out.
    pub(in crate::dialect) const fn by_default(self, default: u32) -> FormField {
        FormField { default: Some(default), ..self }
    }

    /// The same, of one of these words.
    pub(in crate::dialect) const fn of(self, choices: &'static [&'static str]) -> FormField {
        FormField { choices, ..self }
    }

    /// The same, which a text may call otherwise.
    pub(in crate::dialect) const fn or(self, otherwise: &'static str) -> FormField {
        FormField { otherwise: Some(otherwise), ..self }
    }

    /// What it is called in an object.
    pub(super) fn called(&self, object: &Tree) -> &'static str {
        match self.otherwise {
            Some(otherwise) if object.get(self.path).is_none() && object.get(otherwise).is_some() => otherwise,
            _ => self.path,
        }
    }
}
