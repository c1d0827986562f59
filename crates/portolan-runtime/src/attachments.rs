//! What the project attaches to nodes of its workflows by `.portolan/verify.yaml`, and the commands in it that a person
//! allows.

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

/// The longest file, in bytes.
const MAX_BYTES: u64 = 256 << 10;

/// The text of the file; nothing where the project has none.
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

/// What a text says is attached.
///
/// # Errors
/// It has faults: what nobody understands is not nothing.
pub fn sound(source: &Source) -> Result<Attachments, ServiceError> {
    let (attachments, faults) = read(source);
    let help = format!("correct it; `portolan check {FILE}` shows each fault in its place");
    match project_folder::faulty(source, &faults, "verify_invalid", &help) {
        Some(error) => Err(error),
        None => Ok(attachments),
    }
}

/// What the project attaches; nothing where it has no such file.
///
/// # Errors
/// The file cannot be read, or has faults.
pub fn load(project: &Path) -> Result<Attachments, ServiceError> {
    source(project)?.map_or(Ok(Attachments::default()), |source| sound(&source))
}

/// Where what a project attaches is written: in which line an entry of the file begins.
#[derive(Default)]
pub struct Origins(Option<(Source, Attachments)>);

impl Origins {
    /// What stands in the file now. Where it cannot be read or has faults, nothing is attached by it.
    pub fn of(project: &Path) -> Origins {
        let source = source(project).ok().flatten();
        Origins(source.and_then(|source| sound(&source).ok().map(|attachments| (source, attachments))))
    }

    /// The checks of a node of the workflow called `workflow`, each with the place from which it is attached.
    pub fn checks(&self, workflow: &str, node: &Node) -> Vec<ShownCheck> {
        let shown = node.checks().into_iter().map(|check| {
            let attached_by =
                check.attached.then(|| AttachedBy { file: FILE, line: self.line(workflow, node, &check) });
            ShownCheck { id: check.id.to_owned(), what: looks_at(&check), attached_by }
        });
        shown.collect()
    }

    /// The line of the entry that has attached a check to a node of the workflow called `workflow`.
    pub fn line(&self, workflow: &str, node: &Node, check: &NodeCheck<'_>) -> Option<usize> {
        let (source, attachments) = self.0.as_ref()?;
        attachments.entry_of(workflow, node, check).map(|entry| source.location(entry.span.start).line)
    }
}

/// A check of a node, as it is shown beside the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownCheck {
    /// What it is called.
    pub id: String,
    /// What it looks at.
    pub what: String,
    /// From where the project attaches it; nothing where the definition has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attached_by: Option<AttachedBy>,
}

/// From where a check is attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttachedBy {
    /// The file, relative to the project's folder.
    pub file: &'static str,
    /// The line of the entry; nothing where the file does not say it any more.
    pub line: Option<usize>,
}

/// The commands of an entry, each under the patterns of what it is attached to.
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

/// The digests of the commands, one for each entry that has some: a run is held to the entries that it began with, and what
/// becomes of others does not concern it.
pub fn digests(attachments: &Attachments) -> Vec<Digest> {
    let commands = attachments.entries.iter().map(commands);
    commands.filter(|commands| !commands.is_empty()).map(|commands| trust::digest_of(&commands)).collect()
}
