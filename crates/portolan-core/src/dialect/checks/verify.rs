//! `.portolan/verify.yaml`: checks and tool rules that a project attaches to nodes of any workflow, without changing
//! the workflow's file. An entry selects nodes, and states what it adds in the syntax of a definition.

use crate::diagnostic::{Diagnostic, clip};
use crate::graph::{ATTACHMENTS, Check, is_meant};
use crate::source::fields::{FaultList, Fields};
use crate::source::{self, Source, Span, Spanned, Tree, TreeKind};

pub use super::attach::AttachmentResult;

/// The path of the file, relative to the project's folder.
pub const FILE: &str = ATTACHMENTS;

/// The maximum number of entries.
const MAX_ENTRIES: usize = 100;
/// The maximum length of a pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 200;

/// The entries that a project attaches to workflows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attachments {
    /// The entries, in the order written.
    pub entries: Vec<Attachment>,
}

/// An entry: the nodes it selects, and what it attaches to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The span of the entry.
    pub span: Span,
    /// A pattern of workflows; `None` for all.
    pub workflow: Option<Spanned<String>>,
    /// A pattern of nodes; `None` for all.
    pub node: Option<Spanned<String>>,
    /// The checks that it adds.
    pub accept: Vec<Check>,
    /// The patterns of tools that it denies.
    pub deny: Vec<String>,
    /// The entry as JSON. [`read`] gives the same entry for it in [`text_of`].
    pub text: String,
}

impl Attachment {
    /// Returns whether it selects the workflow called `id`. A workflow from another folder also matches by its name
    /// alone.
    pub fn means_workflow(&self, id: &str) -> bool {
        let bare = id.rsplit_once(':').map_or(id, |(_, name)| name);
        self.workflow.as_ref().is_none_or(|pattern| [id, bare].iter().any(|id| is_meant(&pattern.value, id)))
    }

    /// Returns whether it selects a node with one of these names.
    pub(super) fn means_node<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> bool {
        self.node.as_ref().is_none_or(|pattern| names.any(|name| is_meant(&pattern.value, name)))
    }
}

/// Returns a text with these entries, each as JSON.
pub fn text_of<'t>(entries: impl IntoIterator<Item = &'t str>) -> String {
    let entries: Vec<&str> = entries.into_iter().collect();
    format!("{{\"verify\":[{}]}}", entries.join(","))
}

/// Reads a project's attachments. Omits entries with a fault, and returns every fault in the order of the text.
///
/// ```
/// use portolan_core::dialect::verify::read;
/// use portolan_core::source::Source;
///
/// let text = "verify:\n  - workflow: feature-*\n    node: implement*\n    accept: [{check: tests}]\n";
/// let (attached, faults) = read(&Source::new(".portolan/verify.yaml", text));
/// assert!(faults.is_empty());
/// assert!(attached.entries[0].means_workflow("feature-development"));
/// assert_eq!(attached.entries[0].accept[0].id.as_str(), "tests");
/// ```
pub fn read(source: &Source) -> (Attachments, Vec<Diagnostic>) {
    let says_something = |line: &str| !matches!(line.trim().chars().next(), None | Some('#'));
    if !source.text.lines().any(says_something) {
        return (Attachments::default(), Vec::new());
    }
    let (tree, faults) = source::parse(source);
    let mut faults = FaultList(faults);
    let mut entries = Vec::new();
    if let Some(mut fields) = tree.as_ref().and_then(|tree| Fields::of(tree, "the file", &mut faults)) {
        if let Some(tree) = fields.required("verify", &mut faults) {
            entries = all(tree, &mut faults);
        }
        fields.finish(&mut faults);
    }
    let FaultList(mut faults) = faults;
    faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
    (Attachments { entries }, faults)
}

fn all(tree: &Tree, faults: &mut FaultList) -> Vec<Attachment> {
    let TreeKind::Array(items) = &tree.kind else {
        let message = format!("`verify` must be an array of entries, but is {}", tree.describe());
        let help = "write `- {node: \"implement*\", accept: [{check: tests}]}` below it";
        faults.push(Diagnostic::error("wrong-type", message).at(tree.span).help(help));
        return Vec::new();
    };
    if let Some(extra) = items.get(MAX_ENTRIES) {
        let message = format!("there are {} entries, more than the limit of {MAX_ENTRIES}", items.len());
        faults
            .push(Diagnostic::error("too-large", message).at(extra.head()).help("let one pattern match several nodes"));
    }
    items.iter().take(MAX_ENTRIES).filter_map(|item| one(item, faults)).collect()
}

fn one(tree: &Tree, faults: &mut FaultList) -> Option<Attachment> {
    let before = faults.0.len();
    let mut fields = Fields::of(tree, "the entry", faults)?;
    let workflow = pattern("workflow", &mut fields, faults);
    let node = pattern("node", &mut fields, faults);
    let accept = super::read(&mut fields, faults);
    let deny = super::patterns("deny", &mut fields, faults);
    if let Some(allow) = fields.has("allow").then(|| fields.optional("allow")).flatten() {
        let message = "an entry cannot have `allow`: what a workflow file allows stays allowed unless it is denied";
        let help = "list under `deny` what must not be used";
        faults.push(Diagnostic::error("unknown-field", message).at(allow.span).help(help));
    }
    fields.finish(faults);
    if faults.0.len() > before {
        return None;
    }
    if accept.is_empty() && deny.is_empty() {
        let message = "the entry adds neither checks nor tool rules";
        let help = "add `accept: [{check: tests}]`, or `deny: [edit]`";
        faults.push(Diagnostic::error("missing-field", message).at(tree.head()).help(help));
        return None;
    }
    Some(Attachment { span: tree.head(), workflow, node, accept, deny, text: tree.value().to_string() })
}

fn pattern(key: &'static str, fields: &mut Fields<'_>, faults: &mut FaultList) -> Option<Spanned<String>> {
    let pattern = fields.string(key, faults)?;
    if (1..=MAX_PATTERN_BYTES).contains(&pattern.value.len()) {
        return Some(pattern);
    }
    let message = format!("`{}` in `{key}` is not a name pattern", clip(&pattern.value));
    let help = "write a name such as `implement`, with `*` for any text, or remove the field to match all of them";
    faults.push(Diagnostic::error("bad-pattern", message).at(pattern.span).help(help));
    None
}
