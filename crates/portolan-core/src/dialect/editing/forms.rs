//! The content of forms: the fields of nodes, with labels and help for people.

use serde::Serialize;

use crate::graph::Node;
use crate::source::Tree;

/// A kind of node and its form.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NodeForm {
    /// The kind, in the word of the dialect.
    pub kind: &'static str,
    /// The label for people.
    pub label: &'static str,
    /// Its purpose, in one sentence.
    pub help: &'static str,
    /// Its fields.
    pub fields: &'static [FormField],
    /// Whether the edges that leave it name an outcome.
    pub outcomes: bool,
    /// Whether the edges that leave it may have labels.
    pub labels: bool,
    /// Whether a new edge that leaves it may have a condition.
    pub conditions: bool,
    /// Whether one can be added by itself; a join comes with its fork.
    pub addable: bool,
    /// Whether its nodes cannot change to another kind, nor others to it.
    pub apart: bool,
    /// Where one is added without a position.
    pub unplaced: DefaultPosition,
    /// Whether another node can be put into a new one.
    pub wraps: bool,
    /// Returns whether a node whose text names no kind is of this kind.
    #[serde(skip)]
    pub(crate) unsaid: fn(&Node) -> bool,
}

/// Where a node is added without a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DefaultPosition {
    /// In the definition, without an edge that leads to it.
    Unconnected,
    /// Behind the last one.
    Last,
    /// Nowhere: the addition is refused.
    Nowhere,
}

/// A field of a node.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FormField {
    /// The path in the node, such as `retry.max` for a nested field.
    pub path: &'static str,
    /// The label for people.
    pub label: &'static str,
    /// Its purpose, in one sentence.
    pub help: &'static str,
    /// The type of its value.
    #[serde(rename = "type")]
    pub kind: FieldKind,
    /// The allowed words of a choice.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub choices: &'static [&'static str],
    /// The members of the objects in a list, if its value is such a list. They may have others.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub columns: &'static [FormColumn],
    /// The default if the field is absent, if that is a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<u32>,
    /// Whether a definition without it has a fault.
    pub required: bool,
    /// Whether a person is asked for it when such a node is added: most of them have it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// An alternative name of the field in some texts, such as an older one.
    #[serde(skip)]
    pub(crate) otherwise: Option<&'static str>,
}

/// A member of the objects in a list, with a line of text.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FormColumn {
    /// The path in the object, such as `effect.transitionTo` for a nested member.
    pub path: &'static str,
    /// The label for people.
    pub label: &'static str,
}

/// The type of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldKind {
    /// A line of text.
    Text,
    /// Text of several lines.
    Long,
    /// A number.
    Number,
    /// A boolean.
    Boolean,
    /// One of a few words.
    Choice,
    /// A list of texts.
    List,
    /// An expression, in the syntax of the dialect.
    Expression,
    /// Any JSON value.
    Json,
}

/// Creates a kind of node.
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
        conditions: false,
        addable: true,
        apart: false,
        unplaced: DefaultPosition::Unconnected,
        wraps: false,
        unsaid: |_| false,
    }
}

/// Creates an optional field.
pub(in crate::dialect) const fn field(
    path: &'static str,
    label: &'static str,
    kind: FieldKind,
    help: &'static str,
) -> FormField {
    FormField {
        path,
        label,
        help,
        kind,
        choices: &[],
        columns: &[],
        default: None,
        required: false,
        asked: false,
        otherwise: None,
    }
}

/// Creates a column.
pub(in crate::dialect) const fn column(path: &'static str, label: &'static str) -> FormColumn {
    FormColumn { path, label }
}

/// The field with the guards of a definition or of a node.
pub(in crate::dialect) const GUARDS: FormField = field(
    "guards",
    "Guards",
    FieldKind::Json,
    "Which calls of tools are stopped, or need a person, by their arguments, their number or a sum. Each has an `id` and a `reason`.",
);
/// The field with the filters of what tools return.
pub(in crate::dialect) const RESULTS: FormField = field(
    "results",
    "Results",
    FieldKind::Json,
    "How results of tools are filtered: secrets are masked, images and audio left out, long texts cut. Each has an `id`.",
);

/// Returns the fields of how a failed call is repeated, for their paths: how often, the first wait, the factor of each
/// further wait, and the longest wait.
pub(in crate::dialect) const fn retries(paths: [&'static str; 4]) -> [FormField; 4] {
    let [max, backoff, factor, longest] = paths;
    let often = "How often a failed call is repeated: with 2, there are at most three calls.";
    let first = "The wait before the first repeated call, such as `500ms`.";
    [
        field(max, "Retries", FieldKind::Number, often),
        field(backoff, "First wait", FieldKind::Text, first),
        field(factor, "Wait factor", FieldKind::Number, "What a wait is multiplied by for the next one, such as `2`."),
        field(longest, "Longest wait", FieldKind::Text, "The longest wait between two calls, such as `30s`."),
    ]
}

impl NodeForm {
    /// Lets the edges of its nodes name an outcome.
    pub(in crate::dialect) const fn with_outcomes(self) -> NodeForm {
        NodeForm { outcomes: true, ..self }
    }

    /// Lets the edges of its nodes have a label.
    pub(in crate::dialect) const fn with_labels(self) -> NodeForm {
        NodeForm { labels: true, ..self }
    }

    /// Lets new edges of its nodes have a condition.
    pub(in crate::dialect) const fn with_conditions(self) -> NodeForm {
        NodeForm { conditions: true, ..self }
    }

    /// Prevents adding such a node by itself.
    pub(in crate::dialect) const fn with_others(self) -> NodeForm {
        NodeForm { addable: false, ..self }
    }

    /// Prevents changes of nodes to this kind and from it.
    pub(in crate::dialect) const fn apart(self) -> NodeForm {
        NodeForm { apart: true, ..self }
    }

    /// Lets another node be put into a new one.
    pub(in crate::dialect) const fn wrapping(self) -> NodeForm {
        NodeForm { wraps: true, ..self }
    }

    /// Says where one is added without a position.
    pub(in crate::dialect) const fn without_position(self, unplaced: DefaultPosition) -> NodeForm {
        NodeForm { unplaced, ..self }
    }

    /// Applies the kind to nodes whose text names no kind and for which `unsaid` holds.
    pub(in crate::dialect) const fn unsaid(self, unsaid: fn(&Node) -> bool) -> NodeForm {
        NodeForm { unsaid, ..self }
    }
}

impl FormField {
    /// Makes the field required.
    pub(in crate::dialect) const fn required(self) -> FormField {
        FormField { required: true, ..self }
    }

    /// Has a person asked for it when such a node is added.
    pub(in crate::dialect) const fn asked(self) -> FormField {
        FormField { asked: true, ..self }
    }

    /// Sets the number that an absent field counts as.
    pub(in crate::dialect) const fn by_default(self, default: u32) -> FormField {
        FormField { default: Some(default), ..self }
    }

    /// Sets the allowed words.
    pub(in crate::dialect) const fn of(self, choices: &'static [&'static str]) -> FormField {
        FormField { choices, ..self }
    }

    /// Sets the members of the objects in its list.
    pub(in crate::dialect) const fn rows(self, columns: &'static [FormColumn]) -> FormField {
        FormField { columns, ..self }
    }

    /// Sets the alternative name.
    pub(in crate::dialect) const fn or(self, otherwise: &'static str) -> FormField {
        FormField { otherwise: Some(otherwise), ..self }
    }

    /// Returns the name of the field in an object.
    pub(super) fn called(&self, object: &Tree) -> &'static str {
        match self.otherwise {
            Some(otherwise) if object.get(self.path).is_none() && object.get(otherwise).is_some() => otherwise,
            _ => self.path,
        }
    }
}
