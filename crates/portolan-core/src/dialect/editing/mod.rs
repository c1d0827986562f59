//! Edits definitions piece by piece: sets a field, adds a node, connects two nodes.
//!
//! Each dialect declares its kinds of node, their fields, and the text edits of each operation. This module holds what
//! all dialects share and knows none of them. `source::edit` makes the edits and leaves the rest of the text unchanged.

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
use crate::diagnostic::{clip, list};
use crate::graph::{Edge, Graph, Node};
use crate::source::{Edit, MAX_SOURCE_BYTES, NamedText, PathStep, Source, Span, Tree, edited};

pub(crate) use changes::{Changes, text_of};
pub use forms::{DefaultPosition, FieldKind, FormColumn, FormField, NodeForm};
pub(super) use forms::{GUARDS, RESULTS, column, field, form, retries};
pub(super) use mentions::Mentions;
pub use page::written_steps;
pub(crate) use page::{Page, Place, fresh};
pub(super) use pen::{Pen, filled, identifier, rule_of};

/// The parts of a dialect that can be edited piece by piece.
#[derive(Clone, Copy, Debug)]
pub struct Editing {
    /// The kinds of node, in the words of the dialect.
    pub kinds: &'static [NodeForm],
    /// The fields of a definition itself.
    pub own: &'static [FormField],
    /// The field of a node that names its kind. If `None`, a node is of the kind for which it has a field, or else of
    /// the first.
    pub kind_field: Option<&'static str>,
    /// Returns the place of a field of the definition; `None` if all are at the top of the first file.
    pub(crate) own_place: Option<fn(&Page<'_>, &str) -> Place>,
    /// The content of a node of another kind. If `None`, a required field begins with its first allowed word.
    pub(crate) begun: Option<InitialContent>,
    /// The conditions of edges. `None` if no edge has one.
    pub(crate) conditions: Option<Conditions>,
    /// Older words for kinds, each with its present word.
    pub(crate) old_kinds: &'static [(&'static str, &'static str)],
    /// Returns the edits of an operation that depends on the dialect.
    pub(crate) edits: fn(&Page<'_>, &Operation) -> Edits,
}

/// The conditions of the edges of a dialect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    /// The form of a condition, with its syntax.
    pub(crate) field: FormField,
    /// Returns the condition of an edge as it is written, empty if it has none; `None` if the edge cannot have one.
    pub(crate) of: fn(&Page<'_>, &Edge) -> Option<String>,
}

impl Editing {
    /// Returns the form of an edge's condition.
    pub fn condition(&self) -> Option<&FormField> {
        self.conditions.as_ref().map(|conditions| &conditions.field)
    }

    /// Creates the editing for nodes whose kind is the field they have, with all fields of the definition at the top.
    pub(in crate::dialect) const fn of(
        kinds: &'static [NodeForm],
        own: &'static [FormField],
        edits: fn(&Page<'_>, &Operation) -> Edits,
    ) -> Editing {
        Editing { kinds, own, kind_field: None, own_place: None, begun: None, conditions: None, old_kinds: &[], edits }
    }

    fn own(&self, page: &Page<'_>, field: &str) -> Place {
        self.own_place.map_or_else(|| page.own(), |place| place(page, field))
    }

    /// Refuses a kind whose nodes cannot be added by themselves.
    fn addable(&self, kind: &str) -> Result<(), EditError> {
        match self.kinds.iter().find(|form| form.kind == kind) {
            Some(form) if form.addable => Ok(()),
            Some(form) => {
                let message = format!("a node of the kind `{}` cannot be added by itself", form.kind);
                Err(EditError::new(message, form.help))
            }
            None => Err(EditError::unknown("node kind", kind)),
        }
    }

    /// Refuses a kind whose nodes contain no others.
    fn wrapping(&self, kind: &str) -> Result<(), EditError> {
        if self.kinds.iter().any(|form| form.kind == kind && form.wraps) {
            return Ok(());
        }
        let known: Vec<&str> = self.kinds.iter().filter(|form| form.wraps).map(|form| form.kind).collect();
        if known.is_empty() {
            return Err(EditError::not_here("a node is put into another one"));
        }
        let message = format!("no node can be put into one of the kind `{}`", clip(kind));
        Err(EditError::new(message, format!("use {}", list(&known))))
    }

    /// Returns the form of a node: of the kind that its text names or implies.
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

/// Returns the content with which a node of another kind begins, or the reason why it cannot be of that kind.
pub(crate) type InitialContent = fn(&Page<'_>, &Node, &str) -> Result<Value, EditError>;

/// The edits of an operation, or the reason why it is refused.
pub(crate) type Edits = Result<OperationResult, EditError>;

/// The result of an operation.
#[derive(Debug, Default)]
pub(crate) struct OperationResult {
    /// The edits in order, each with the index of its file.
    pub(crate) edits: Vec<(usize, Edit)>,
    /// The added files, each with its name and its text.
    pub(crate) come: Vec<(String, String)>,
    /// The indices of the deleted files.
    pub(crate) gone: Vec<usize>,
    /// The node to select afterwards.
    pub(crate) select: Option<String>,
}

impl OperationResult {
    /// Creates a result with edits of the first file.
    pub(crate) fn here(edits: Vec<Edit>) -> OperationResult {
        OperationResult::of(edits.into_iter().map(|edit| (0, edit)).collect())
    }

    /// Creates a result with edits of existing files.
    pub(crate) fn of(edits: Vec<(usize, Edit)>) -> OperationResult {
        OperationResult { edits, ..OperationResult::default() }
    }

    /// Sets the node to select afterwards.
    pub(crate) fn selecting(self, node: impl Into<String>) -> OperationResult {
        OperationResult { select: Some(node.into()), ..self }
    }
}

/// An operation on a definition. It refers to nodes by id and to edges by their index in the graph.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    /// Sets a field.
    Set {
        /// The node; `None` for the definition itself.
        node: Option<String>,
        /// The path of the field, such as `retry.max` for a nested one.
        field: String,
        /// The value; `null` removes the field.
        value: Value,
    },
    /// Adds a node.
    Add {
        /// Its kind, in the word of the dialect.
        kind: String,
        /// Its id; `None` for a free one.
        id: Option<String>,
        /// The node that it follows.
        after: Option<String>,
        /// The outcome of `after` that leads to it.
        on: Option<String>,
        /// The edge that it splits.
        edge: Option<usize>,
        /// The values of its fields, by their paths.
        values: Option<Map<String, Value>>,
    },
    /// Adds an edge.
    Connect {
        /// The node that it leaves.
        from: String,
        /// The node that it enters.
        to: String,
        /// The outcome or the condition that takes it.
        on: Option<String>,
    },
    /// Removes an edge.
    Disconnect {
        /// The edge.
        edge: usize,
    },
    /// Changes the target of an edge.
    Reconnect {
        /// The edge.
        edge: usize,
        /// The new target.
        to: String,
    },
    /// Changes the outcome or the condition that takes an edge.
    Outcome {
        /// The edge.
        edge: usize,
        /// The outcome or the condition; `None` for any outcome that counts as done.
        on: Option<String>,
    },
    /// Changes the label of an edge, which is for people.
    Label {
        /// The edge.
        edge: usize,
        /// The label; `None` for no label.
        text: Option<String>,
    },
    /// Changes the id of a node, wherever it is named.
    Rename {
        /// The node.
        node: String,
        /// The new id.
        to: String,
    },
    /// Deletes nodes, with the edges that leave and enter them.
    Delete {
        /// The nodes.
        nodes: Vec<String>,
    },
    /// Copies a node without its edges.
    Duplicate {
        /// The node.
        node: String,
    },
    /// Changes the kind of a node.
    Kind {
        /// The node.
        node: String,
        /// The kind, in the word of the dialect.
        kind: String,
    },
    /// Puts a node into a new one that contains others: into a loop, or as a branch between a new fork and its join.
    Wrap {
        /// The node.
        node: String,
        /// The kind of the new node, in the word of the dialect.
        kind: String,
        /// Its id; `None` for a free one.
        id: Option<String>,
        /// The values of its fields, by their paths.
        values: Option<Map<String, Value>>,
    },
    /// Moves a step behind another one, which may be in another part of the definition.
    Move {
        /// The step.
        node: String,
        /// The node that it follows; the part itself for its beginning.
        after: String,
    },
}

/// The reason why an operation is refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditError {
    /// The problem, in one lower-case sentence.
    pub message: String,
    /// The suggested fix.
    pub help: String,
}

impl EditError {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> EditError {
        EditError { message: message.into(), help: help.into() }
    }

    pub(crate) fn unknown(what: &str, name: &str) -> EditError {
        let name = crate::diagnostic::clip(name);
        EditError::new(format!("there is no {what} `{name}` in the definition"), "read the definition again")
    }

    /// Creates the error from a diagnostic.
    pub(crate) fn of(fault: &crate::diagnostic::Diagnostic) -> EditError {
        EditError::new(&*fault.message, fault.help.as_deref().unwrap_or("edit the text"))
    }

    pub(crate) fn not_here(what: &str) -> EditError {
        EditError::new(format!("this format cannot express that {what}"), "edit the text")
    }
}

/// The files of a definition after an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedFiles {
    /// The previous files in order, followed by the added ones.
    pub files: Vec<NamedText>,
    /// The node to select.
    pub select: Option<String>,
}

/// Applies an operation to the text of a definition.
///
/// # Errors
/// The dialect does not support the operation, a named element does not exist, or the text cannot be changed in place.
pub fn edit(
    dialect: &Dialect,
    source: &Source,
    graph: &Graph,
    operation: &Operation,
) -> Result<EditedFiles, EditError> {
    let editing = dialect.editing.ok_or_else(|| {
        EditError::new(format!("the format `{}` can only be edited as text", dialect.name), "edit the text")
    })?;
    if let Operation::Add { kind, .. } | Operation::Kind { kind, .. } = operation {
        editing.addable(kind)?;
    }
    if let Operation::Wrap { kind, .. } = operation {
        editing.wrapping(kind)?;
    }
    let page =
        Page::of(source, graph).ok_or_else(|| EditError::new("its text cannot be read", "fix the text first"))?;
    let done = match operation {
        Operation::Label { .. } if !editing.kinds.iter().any(|form| form.labels) => {
            return Err(EditError::not_here("an edge has a label of its own"));
        }
        Operation::Set { node, field, value } => set(&editing, &page, node.as_deref(), field, value)?,
        Operation::Kind { node, kind } if editing.kind_field.is_some() || editing.begun.is_some() => {
            of_kind(&editing, &page, node, kind)?
        }
        operation => (editing.edits)(&page, operation)?,
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
    Ok(EditedFiles { files, select: done.select })
}

/// Returns the text of a file after edits.
pub(crate) fn rewritten(name: &str, text: &str, edits: &[Edit]) -> Result<String, EditError> {
    edited(&Source::new(name, text), edits).map_err(|unfit| {
        let added: usize = edits.iter().map(added_bytes).sum();
        if text.len() + added > MAX_SOURCE_BYTES {
            let message =
                format!("`{name}` would have more than {MAX_SOURCE_BYTES} bytes, and could not be read again");
            return EditError::new(message, "move parts of it into another definition");
        }
        let message = format!("it cannot be changed in place: {}", unfit.0);
        EditError::new(message, "edit the text")
    })
}

/// Returns about how many bytes an edit adds to the text.
fn added_bytes(edit: &Edit) -> usize {
    match edit {
        Edit::Set { value, .. } | Edit::Insert { value, .. } => value.to_string().len(),
        Edit::Rename { to, .. } => to.len(),
        Edit::Remove { .. } | Edit::Move { .. } => 0,
    }
}

/// Returns the steps of a field's path.
pub(crate) fn steps(field: &str) -> impl Iterator<Item = PathStep> + '_ {
    field.split('.').map(PathStep::from)
}

fn set(editing: &Editing, page: &Page<'_>, node: Option<&str>, field: &str, value: &Value) -> Edits {
    let node = node.map(|node| page.node(node)).transpose()?;
    let Place { file, at: own } = node.map_or_else(|| Ok(editing.own(page, field)), |node| page.place_of(node))?;
    let object = page.tree(&Place { file, at: own.clone() });
    let goes_by = |tree: &Tree, node: &Node| {
        let written = node.seat.as_ref().map_or(node.id.as_str(), |seat| seat.id.as_str());
        tree.span == node.span && tree.as_str() == Some(written)
    };
    if object.and_then(|object| object.get(field)).zip(node).is_some_and(|(tree, node)| goes_by(tree, node)) {
        let message = format!("`{field}` identifies the node, and cannot be set like other fields");
        return Err(EditError::new(message, "rename the node, so references to it are updated"));
    }
    let fields = match node {
        Some(node) => object.and_then(|object| editing.form(node, object)).map_or(&[][..], |form| form.fields),
        None => editing.own,
    };
    let known = fields.iter().find(|known| known.path == field);
    let mut at = own.clone();
    at.extend(steps(known.zip(object).map_or(field, |(known, object)| known.called(object))));
    let edit = if value.is_null() {
        // An absent field is removed already.
        if page.value(&Place { file, at: at.clone() }).is_none() {
            return Ok(OperationResult::default());
        }
        // An object that a field's path leads into goes with its last member: alone it would be a fault.
        while at.len() > own.len() + 1 && is_alone(page, file, &at) {
            at.pop();
        }
        Edit::Remove { at }
    } else {
        Edit::Set { at, value: value.clone() }
    };
    let done = OperationResult::of(vec![(file, edit)]);
    Ok(match node {
        Some(node) => done.selecting(node.id.as_str()),
        None => done,
    })
}

/// Returns whether a member of an object is its only one.
fn is_alone(page: &Page<'_>, file: usize, at: &[PathStep]) -> bool {
    let outer = at.split_last().map_or(at, |(_, outer)| outer);
    let object = page.tree(&Place { file, at: outer.to_vec() });
    object.and_then(Tree::entries).is_some_and(|entries| entries.len() == 1)
}

/// Changes the kind of a node. Removes the fields that only the old kind has, and adds the required ones of the new
/// kind that are missing.
fn of_kind(editing: &Editing, page: &Page<'_>, node: &str, kind: &str) -> Edits {
    let found = page.node(node)?;
    let place = page.place_of(found)?;
    let new = editing.kinds.iter().find(|form| form.kind == kind);
    let old = page.tree(&place).and_then(|tree| editing.form(found, tree));
    if old.map(|form| form.kind) == Some(kind) {
        return Ok(OperationResult::default().selecting(node));
    }
    if old.into_iter().chain(new).any(|form| form.apart) {
        let message = format!(
            "`{node}` is of the kind `{}`, which cannot be changed to `{kind}`",
            old.map_or("", |form| form.kind)
        );
        return Err(EditError::new(message, "add a new node of that kind, and delete this one"));
    }
    let begun = match (editing.begun, new) {
        (Some(begun), _) => begun(page, found, kind)?,
        (None, Some(new)) => first_words(page, &place, new)?,
        (None, None) => Value::Null,
    };
    let mut pen = Pen::default();
    if let Some(field) = editing.kind_field {
        pen.set(&place.with(field), kind);
    }
    let entries = page.tree(&place).and_then(Tree::entries).unwrap_or_default();
    for key in entries.iter().map(|entry| entry.key.value.as_str()) {
        if has(old, key) && !has(new, key) {
            pen.remove(&place.with(key));
        }
    }
    for (key, value) in begun.as_object().into_iter().flatten() {
        let at = place.with(key.as_str());
        if page.tree(&at).is_none() {
            pen.set(&at, value.clone());
        }
    }
    Ok(pen.done().selecting(node))
}

/// Returns whether the nodes of a kind have a field that begins with `key`, in one of its spellings.
fn has(form: Option<&NodeForm>, key: &str) -> bool {
    let first = |path: &str| path.split('.').next() == Some(key);
    let has = |field: &FormField| first(field.path) || field.otherwise.is_some_and(first);
    form.is_some_and(|form| form.fields.iter().any(has))
}

/// Returns the missing required fields with their first allowed words; a field without such words is refused.
fn first_words(page: &Page<'_>, place: &Place, form: &NodeForm) -> Result<Value, EditError> {
    let mut words = Map::new();
    for field in form.fields.iter().filter(|field| field.required) {
        let path = page.tree(place).map_or(field.path, |tree| field.called(tree));
        if page.tree(&Place { file: place.file, at: place.at.iter().cloned().chain(steps(path)).collect() }).is_some() {
            continue;
        }
        let first = field.choices.first().ok_or_else(|| {
            let message = format!("a node of the kind `{}` needs `{}`", form.kind, field.path);
            EditError::new(message, "add a new node of that kind, and delete this one")
        })?;
        words.insert(path.to_owned(), Value::from(*first));
    }
    Ok(filled(Map::new(), Some(&words)))
}

/// The values that a form shows for a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeValues {
    /// The text of the node; without its key, if its id is one.
    pub span: Span,
    /// The kind, in the word of the dialect.
    pub word: Option<&'static str>,
    /// The values of its fields, by their paths.
    pub values: Map<String, Value>,
}

/// The values of forms for the nodes of a graph, and for the definition itself. Omits elements that cannot be edited.
pub struct Forms<'f> {
    editing: Editing,
    page: Page<'f>,
}

impl<'f> Forms<'f> {
    /// Creates the forms of a definition; `None` if its dialect or its text cannot be edited piece by piece.
    pub fn of(dialect: &Dialect, source: &Source, graph: &'f Graph) -> Option<Forms<'f>> {
        Some(Forms { editing: dialect.editing?, page: Page::of(source, graph)? })
    }

    /// Returns the values of a node.
    pub fn node(&self, node: &Node) -> Option<NodeValues> {
        let (_, tree) = self.page.object_of(node)?;
        let form = self.editing.form(node, tree);
        let values = form.map(|form| held(tree, form.fields)).unwrap_or_default();
        Some(NodeValues { span: tree.span, word: form.map(|form| form.kind), values })
    }

    /// Returns the condition of an edge as it is written, empty if it has none; `None` if the edge cannot have one.
    pub fn condition(&self, edge: &Edge) -> Option<String> {
        (self.editing.conditions?.of)(&self.page, edge)
    }

    /// Returns the values of the definition itself.
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
