//! The checks that the project attaches to nodes of its workflows by `.portolan/verify.yaml`, and their commands, which
//! a person allows.

use std::path::Path;

use portolan_core::dialect::verify::{Attachment, Attachments, read};
use portolan_core::graph::{CheckBy, Node, NodeCheck};
use portolan_core::present::looks_at;
use portolan_core::source::{Source, Spanned};
use serde::Serialize;

use crate::error::ServiceError;
use crate::project_folder;
use crate::trust::{self, Digest, TrustedCommand};

pub use portolan_core::dialect::verify::FILE;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 256 << 10;

/// Returns the text of the file, or `None` if the project has none.
///
/// # Errors
/// It cannot be read, or is too long.
pub fn source(project: &Path) -> Result<Option<Source>, ServiceError> {
    let text = project_folder::text(project, FILE, MAX_BYTES).map_err(|why| {
        let help = "make it a readable text file, or delete it";
        ServiceError::failed("verify_unreadable", format!("`{FILE}` cannot be read: {why}"), help)
    })?;
    Ok(text.map(|text| Source::new(FILE, text)))
}

/// Parses the attachments of a text.
///
/// # Errors
/// The text has faults. A faulty file must not count as an empty one.
pub fn sound(source: &Source) -> Result<Attachments, ServiceError> {
    let (attachments, faults) = read(source);
    let help = format!("fix it; `portolan check {FILE}` shows where each fault is");
    match project_folder::faulty(source, &faults, "verify_invalid", &help) {
        Some(error) => Err(error),
        None => Ok(attachments),
    }
}

/// Returns the attachments of the project. Empty if it has no such file.
///
/// # Errors
/// The file cannot be read, or has faults.
pub fn load(project: &Path) -> Result<Attachments, ServiceError> {
    source(project)?.map_or(Ok(Attachments::default()), |source| sound(&source))
}

/// Finds the line of the file on which an attachment begins.
#[derive(Default)]
pub struct Origins(Option<(Source, Attachments)>);

impl Origins {
    /// Reads the present file. If it cannot be read or has faults, there are no origins.
    pub fn of(project: &Path) -> Origins {
        let source = source(project).ok().flatten();
        Origins(source.and_then(|source| sound(&source).ok().map(|attachments| (source, attachments))))
    }

    /// Returns the checks of a node of the workflow called `workflow`, each with the position that attaches it.
    pub fn checks(&self, workflow: &str, node: &Node) -> Vec<ShownCheck> {
        let shown = node.checks().into_iter().map(|check| {
            let attached_by =
                check.attached.then(|| AttachedBy { file: FILE, line: self.line(workflow, node, &check) });
            ShownCheck { id: check.id.to_owned(), what: looks_at(&check), attached_by }
        });
        shown.collect()
    }

    /// Returns the line of the entry that attaches a check to a node of the workflow called `workflow`.
    pub fn line(&self, workflow: &str, node: &Node, check: &NodeCheck<'_>) -> Option<usize> {
        let (source, attachments) = self.0.as_ref()?;
        attachments.entry_of(workflow, node, check).map(|entry| source.location(entry.span.start).line)
    }
}

/// A check of a node, as it is shown beside the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownCheck {
    /// Its ID.
    pub id: String,
    /// A description of what it checks.
    pub what: String,
    /// The position that attaches it, or `None` if it is part of the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attached_by: Option<AttachedBy>,
}

/// The position of an attachment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttachedBy {
    /// The file, relative to the project's folder.
    pub file: &'static str,
    /// The line of the entry, or `None` if the file no longer contains it.
    pub line: Option<usize>,
}

/// Returns the commands of an entry, with the patterns of the workflows and nodes that it is attached to.
pub fn commands(entry: &Attachment) -> Vec<TrustedCommand> {
    let pattern = |pattern: &Option<Spanned<String>>| pattern.as_ref().map_or("*", |it| it.value.as_str()).to_owned();
    let (flow, node) = (format!("{FILE} {}", pattern(&entry.workflow)), pattern(&entry.node));
    let commands = entry.accept.iter().filter_map(|check| match &check.by {
        CheckBy::Run { argv, timeout_seconds } => Some(TrustedCommand {
            flow: flow.clone(),
            node: node.clone(),
            check: check.id.to_string(),
            argv: argv.clone(),
            timeout_seconds: *timeout_seconds,
        }),
        _ => None,
    });
    commands.collect()
}

/// Returns the digests of the commands, one for each entry that has some. A run uses the entries that it began with, so
/// changes of other entries must not affect it.
pub fn digests(attachments: &Attachments) -> Vec<Digest> {
    let commands = attachments.entries.iter().map(commands);
    commands.filter(|commands| !commands.is_empty()).map(|commands| trust::digest_of(&commands)).collect()
}
