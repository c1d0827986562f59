//! Definitions are edited piece by piece: a field is set, a node is added, two are connected.
//!
//! Each format says which kinds of node it has, which fields they have, and what edits of its text an operation comes to.
//! What all formats share is here; no format is known. The edits change nothing else of the text: `source::edit`.

mod changes;
mod forms;
mod index;
mod mentions;
mod page;
mod pen;
mod spelling;
pub(super) mod state;
#[cfg(test)]
pub(super) mod tests;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Dialect;
use crate::graph::{Graph, Node};
use crate::source::{Edit, NamedText, PathStep, Source, Tree, edited};

pub(crate) use changes::{Changes, text_of};
pub use forms::{FieldKind, FormField, NodeForm};
pub(super) use forms::{field, form};
pub(super) use mentions::Mentions;
pub(crate) use page::{Page, Place, fresh};
pub(super) use pen::{Pen, filled, identifier, rule_of};

/// What of a format can be edited piece by piece.
#[derive(Clone, Copy, Debug)]
pub struct Editing {
    /// The kinds of node, in the words of the format.
    pub kinds: &'static [NodeForm],
    /// The fields of a definition itself.
    pub own: &'static [FormField],
    /// The field of a node that says of which kind it is. Where there is none, a node is of the kind that it has a field
    /// for, or else of the first.
    pub kind_field: Option<&'static str>,
    /// Where such a field of the definition stands; nothing where all stand at the top of the first file.
    pub(crate) own_place: Option<fn(&Page<'_>, &str) -> Place>,
    /// Older words for kinds, each with that of today.
    pub(crate) old_kinds: &'static [(&'static str, &'static str)],
    /// The edits that an operation comes to, for those that the format has its own way of.
    pub(crate) edits: fn(&Page<'_>, &Operation) -> Edits,
}

impl Editing {
    /// Of nodes that are of the kind that they have a field for, with all fields of the definition at the top.
    pub(in crate::dialect) const fn of(
        kinds: &'static [NodeForm],
        own: &'static [FormField],
        edits: fn(&Page<'_>, &Operation) -> Edits,
    ) -> Editing {
        Editing { kinds, own, kind_field: None, own_place: None, old_kinds: &[], edits }
    }

    fn own(&self, page: &Page<'_>, field: &str) -> Place {
        self.own_place.map_or_else(|| page.own(), |place| place(page, field))
    }

    /// Refuses a kind of which no node is made by itself.
    fn addable(&self, kind: &str) -> Result<(), EditError> {
        match self.kinds.iter().find(|form| form.kind == kind) {
            Some(form) if form.addable => Ok(()),
            Some(form) => {
                let message = format!("a node of the kind `{}` is not made by itself", form.kind);
                Err(EditError::new(message, form.help))
            }
            None => Err(EditError::unknown("kind of node called", kind)),
        }
    }

    /// The form of a node: of the kind that its text names, or that it has without saying so.
    pub(in crate::dialect) fn form(&self, node: &Node, tree: &Tree) -> Option<&'static NodeForm> {
        let Some(field) = self.kind_field else {
            let (first, others) = self.kinds.split_first()?;
            return Some(others.iter().find(|form| tree.get(form.kind).is_some()).unwrap_or(first));
        };
        let Some(named) = tree.get(field) else { return self.kinds.iter().find(|form| (form.unsaid)(node)) };
        let word = named.as_str()?;
        let today = self.old_kinds.iter().find(|(old, _)| *old == word).map_or(word, |(_, today)| today);
        self.kinds.iter().find(|form| form.kind == today)
    }
}

/// The edits of an operation, or why it cannot be done.
pub(crate) type Edits = Result<Done, EditError>;

/// What an operation comes to.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// The edits, each with the file that it is made in, in order.
    pub(crate) edits: Vec<(usize, Edit)>,
    /// The files that come, each with its name and its text.
    pub(crate) come: Vec<(String, String)>,
    /// The files that go, by their numbers.
    pub(crate) gone: Vec<usize>,
    /// The node that is looked at afterwards.
    pub(crate) select: Option<String>,
}

impl Done {
    /// Edits of the first file.
    pub(crate) fn here(edits: Vec<Edit>) -> Done {
        Done::of(edits.into_iter().map(|edit| (0, edit)).collect())
    }

    /// Edits of the files that there are.
    pub(crate) fn of(edits: Vec<(usize, Edit)>) -> Done {
        Done { edits, ..Done::default() }
    }

    /// The same, after which a node is looked at.
    pub(crate) fn selecting(self, node: impl Into<String>) -> Done {
        Done { select: Some(node.into()), ..self }
    }
}

/// Something that is done to a definition. Nodes go by their identifiers, edges by their places among those of the graph.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    /// A field has another value.
    Set {
        /// The node; nothing for the definition itself.
        node: Option<String>,
        /// The field: `tools.deny` is one within another.
        field: String,
        /// The value; `null` takes the field away.
        value: Value,
    },
    /// A node is added.
    Add {
        /// Its kind, in the word of the format.
        kind: String,
        /// Its identifier; nothing for one that is free.
        id: Option<String>,
        /// The node that it comes behind.
        after: Option<String>,
        /// The outcome with which that leads to it.
        on: Option<String>,
        /// The edge between whose ends it comes.
        edge: Option<usize>,
        /// What it has besides, by its fields.
        values: Option<Map<String, Value>>,
    },
    /// An edge is added.
    Connect {
        /// The node that it leaves.
        from: String,
        /// The node that it enters.
        to: String,
        /// The outcome that it is taken on.
        on: Option<String>,
    },
    /// An edge is taken away.
    Disconnect {
        /// The edge.
        edge: usize,
    },
    /// An edge enters another node.
    Reconnect {
        /// The edge.
        edge: usize,
        /// The node.
        to: String,
    },
    /// An edge is taken on another outcome.
    Outcome {
        /// The edge.
        edge: usize,
        /// The outcome; nothing for whatever counts as done.
        on: Option<String>,
    },
    /// An edge has another label, for people.
    Label {
        /// The edge.
        edge: usize,
        /// The label; nothing for none.
        text: Option<String>,
    },
    /// A node has another identifier, wherever it is named.
    Rename {
        /// The node.
        node: String,
        /// The identifier.
        to: String,
    },
    /// Nodes are taken away, with the edges that leave and enter them.
    Delete {
        /// The nodes.
        nodes: Vec<String>,
    },
    /// A node is there twice, the second time without edges.
    Duplicate {
        /// The node.
        node: String,
    },
    /// A node is of another kind.
    Kind {
        /// The node.
        node: String,
        /// The kind, in the word of the format.
        kind: String,
    },
}

/// Why an operation cannot be done. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditError {
    /// What is wrong, in one lower-case sentence.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl EditError {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> EditError {
        EditError { message: message.into(), help: help.into() }
    }

    pub(crate) fn unknown(what: &str, name: &str) -> EditError {
        let name = crate::diagnostic::clip(name);
        EditError::new(format!("there is no {what} `{name}` in it"), "look at the definition again")
    }

    /// What a finding says.
    pub(crate) fn of(fault: &crate::diagnostic::Diagnostic) -> EditError {
        EditError::new(&*fault.message, fault.help.as_deref().unwrap_or("edit the text"))
    }

    pub(crate) fn not_here(what: &str) -> EditError {
        EditError::new(format!("this format has no way to say that {what}"), "edit the text")
    }
}

/// A definition after an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// Its files: those that it had, in order, and behind them those that have come.
    pub files: Vec<NamedText>,
    /// The node to look at.
    pub select: Option<String>,
}

/// Does an operation on the text of a definition.
///
/// # Errors
/// The format cannot be edited so, what is named is not there, or the text cannot be changed in place.
pub fn edit(dialect: &Dialect, source: &Source, graph: &Graph, operation: &Operation) -> Result<Edited, EditError> {
    let editing = dialect.editing.ok_or_else(|| {
        EditError::new(format!("the format `{}` is edited as text only", dialect.name), "edit the text")
    })?;
    if let Operation::Add { kind, .. } | Operation::Kind { kind, .. } = operation {
        editing.addable(kind)?;
    }
    let page =
        Page::of(source, graph).ok_or_else(|| EditError::new("its text cannot be read", "mend the text first"))?;
    let done = match operation {
        Operation::Label { .. } if !editing.kinds.iter().any(|form| form.labels) => {
            return Err(EditError::not_here("an edge has a label of its own"));
        }
        Operation::Set { node, field, value } => set(&editing, &page, node.as_deref(), field, value)?,
        operation => match (operation, editing.kind_field) {
            (Operation::Kind { node, kind }, Some(field)) => of_kind(&editing, field, &page, node, kind)?,
            _ => (editing.edits)(&page, operation)?,
        },
    };
    let mut files = Vec::new();
    for (nth, (name, text)) in page.texts().into_iter().enumerate() {
        if done.gone.contains(&nth) {
            files.push((name, None));
            continue;
        }
        let edits: Vec<Edit> =
            done.edits.iter().filter(|(file, _)| *file == nth).map(|(_, edit)| edit.clone()).collect();
        let text = if edits.is_empty() { text } else { rewritten(&name, &text, &edits)? };
        files.push((name, Some(text)));
    }
    files.extend(done.come.into_iter().map(|(name, text)| (name, Some(text))));
    Ok(Edited { files, select: done.select })
}

/// The text of a file after edits.
pub(crate) fn rewritten(name: &str, text: &str, edits: &[Edit]) -> Result<String, EditError> {
    edited(&Source::new(name, text), edits).map_err(|unfit| {
        let message = format!("it cannot be changed in place: {}", unfit.0);
        EditError::new(message, "edit the text")
    })
}

/// The steps of a field's path.
pub(crate) fn steps(field: &str) -> impl Iterator<Item = PathStep> + '_ {
    field.split('.').map(PathStep::from)
}

fn set(editing: &Editing, page: &Page<'_>, node: Option<&str>, field: &str, value: &Value) -> Edits {
    let node = node.map(|node| page.node(node)).transpose()?;
    let Place { file, mut at } = node.map_or_else(|| Ok(editing.own(page, field)), |node| page.place_of(node))?;
    let object = page.tree(&Place { file, at: at.clone() });
    let goes_by = |tree: &Tree, node: &Node| {
        let written = node.seat.as_ref().map_or(node.id.as_str(), |seat| seat.id.as_str());
        tree.span == node.span && tree.as_str() == Some(written)
    };
    if object.and_then(|object| object.get(field)).zip(node).is_some_and(|(tree, node)| goes_by(tree, node)) {
        let message = format!("`{field}` is what the node goes by, and is not set like other fields");
        return Err(EditError::new(message, "rename the node, so that whatever names it follows"));
    }
    let fields = match node {
        Some(node) => object.and_then(|object| editing.form(node, object)).map_or(&[][..], |form| form.fields),
        None => editing.own,
    };
    let known = fields.iter().find(|known| known.path == field);
    at.extend(steps(known.zip(object).map_or(field, |(known, object)| known.called(object))));
    let edit = if value.is_null() {
        // What is not there is gone already.
        if page.value(&Place { file, at: at.clone() }).is_none() {
            return Ok(Done::default());
        }
        Edit::Remove { at }
    } else {
        Edit::Set { at, value: value.clone() }
    };
    let done = Done::of(vec![(file, edit)]);
    Ok(match node {
        Some(node) => done.selecting(node.id.as_str()),
        None => done,
    })
}

/// What a node of a kind must have is set where it is one of a few words, and else must be there.
fn of_kind(editing: &Editing, field: &str, page: &Page<'_>, node: &str, kind: &str) -> Edits {
    let found = page.node(node)?;
    let place = page.place_of(found)?;
    let form = editing.kinds.iter().find(|form| form.kind == kind);
    let now = page.tree(&place).and_then(|tree| editing.form(found, tree));
    if now.map(|form| form.kind) != Some(kind) && now.into_iter().chain(form).any(|form| form.apart) {
        let now = now.map_or("", |form| form.kind);
        let message = format!("`{node}` is of the kind `{now}`, which has nothing in common with `{kind}`");
        return Err(EditError::new(message, "add a new node of that kind, and take this one away"));
    }
    let mut done = set(editing, page, Some(node), field, &Value::from(kind))?;
    for required in form.into_iter().flat_map(|form| form.fields).filter(|field| field.required) {
        let mut at = place.at.clone();
        at.extend(steps(page.tree(&place).map_or(required.path, |tree| required.called(tree))));
        if page.tree(&Place { file: place.file, at: at.clone() }).is_some() {
            continue;
        }
        let Some(first) = required.choices.first() else {
            let message = format!("a node of the kind `{kind}` needs `{}`", required.path);
            return Err(EditError::new(message, "add a new node of that kind, and take this one away"));
        };
        done.edits.push((place.file, Edit::Set { at, value: Value::from(*first) }));
    }
    Ok(done)
}

/// What a form shows of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeValues {
    /// Of which kind it is, in the word of the format.
    pub word: Option<&'static str>,
    /// What its fields hold, by their paths.
    pub values: Map<String, Value>,
}

/// What forms show of the nodes of a graph, and of the definition itself. Nothing for what cannot be edited.
pub struct Forms<'f> {
    editing: Editing,
    page: Page<'f>,
}

impl<'f> Forms<'f> {
    /// The forms of a definition; nothing where its format, or its text, cannot be edited piece by piece.
    pub fn of(dialect: &Dialect, source: &Source, graph: &'f Graph) -> Option<Forms<'f>> {
        Some(Forms { editing: dialect.editing?, page: Page::of(source, graph)? })
    }

    /// What is shown of a node.
    pub fn node(&self, node: &Node) -> Option<NodeValues> {
        let (_, tree) = self.page.object_of(node)?;
        let form = self.editing.form(node, tree);
        let values = form.map(|form| held(tree, form.fields)).unwrap_or_default();
        Some(NodeValues { word: form.map(|form| form.kind), values })
    }

    /// What is shown of the definition itself.
    pub fn own(&self) -> Map<String, Value> {
        let own = |field: &FormField| self.page.tree(&self.editing.own(&self.page, field.path));
        self.editing
            .own
            .iter()
            .filter_map(|field| Some(held(own(field)?, std::slice::from_ref(field))))
            .flatten()
            .collect()
    }
}

fn held(tree: &Tree, fields: &[FormField]) -> Map<String, Value> {
    let value = |field: &FormField| {
        let found = steps(field.called(tree)).try_fold(tree, |here, step| match step {
            PathStep::Key(key) => here.get(&key),
            PathStep::Item(_) => None,
        });
        Some((field.path.to_owned(), found?.value()))
    };
    fields.iter().filter_map(value).collect()
}
