//! Copies files of the catalogue into a project. An edited file is replaced only on request, and nothing is written
//! outside the project's folder.

use std::path::{Component, Path, PathBuf};

use crate::catalog::{self, CatalogEntry};
use crate::disk::Fresh;
use crate::error::{ServiceError, plain};

/// The result of copying.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyResult {
    /// The target folder.
    pub path: PathBuf,
    /// The entries that were written.
    pub copied: Vec<String>,
    /// The entries that were there already with the same text.
    pub unchanged: Vec<String>,
    /// The entries that were not written, each with its reason.
    pub errors: Vec<(String, String)>,
}

/// Copies workflows to `.flow/workflows/<id>/workflow.json`, or over an existing `.flow/workflows/<id>.json`. Phases
/// and states have the extension `.yaml`. No IDs means all.
///
/// # Errors
/// The folder cannot be created, or is outside the project.
pub fn workflows(project: &Path, ids: &[String], force: bool) -> Result<CopyResult, ServiceError> {
    let target = inside(project, Path::new(".flow/workflows"))?;
    let place = |entry: &CatalogEntry| {
        let flat = target.join(format!("{}.{}", entry.id, entry.ending));
        if flat.exists() { flat } else { target.join(entry.id).join(format!("workflow.{}", entry.ending)) }
    };
    let entries: Vec<CatalogEntry> = catalog::all().collect();
    copy(&target, &entries, ids, force, place)
}

/// Copies agent templates to `<folder>/<id>.md`, by default to `.claude/agents`. No IDs means all.
///
/// # Errors
/// The folder cannot be created, or is outside the project.
pub fn agents(project: &Path, folder: Option<&str>, ids: &[String], force: bool) -> Result<CopyResult, ServiceError> {
    let target = inside(project, Path::new(folder.unwrap_or(".claude/agents")))?;
    copy(&target, catalog::AGENTS, ids, force, |entry| target.join(format!("{}.md", entry.id)))
}

fn copy(
    target: &Path,
    entries: &[CatalogEntry],
    ids: &[String],
    force: bool,
    place: impl Fn(&CatalogEntry) -> PathBuf,
) -> Result<CopyResult, ServiceError> {
    let mut report = CopyResult { path: target.to_owned(), ..CopyResult::default() };
    let all: Vec<String> = entries.iter().map(|entry| entry.id.to_owned()).collect();
    for id in if ids.is_empty() { &all } else { ids } {
        let Some(entry) = entries.iter().find(|entry| entry.id == id) else {
            let near = portolan_core::diagnostic::closest(id, entries.iter().map(|entry| entry.id));
            let hint = near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
            report.errors.push((portolan_core::diagnostic::clip(id), format!("not found in catalog{hint}")));
            continue;
        };
        let file = place(entry);
        match std::fs::read(&file) {
            Ok(present) if present == entry.text.as_bytes() => report.unchanged.push(id.clone()),
            Ok(_) if !force => report.errors.push((
                id.clone(),
                format!("`{}` was edited: copy it again with `force` to replace it", file.display()),
            )),
            _ => match write(&file, entry.text) {
                Ok(()) => report.copied.push(id.clone()),
                Err(error) => report
                    .errors
                    .push((id.clone(), format!("`{}` cannot be written: {}", file.display(), plain(&error)))),
            },
        }
    }
    Ok(report)
}

/// Returns the folder `path` of the project, and creates it if needed. Symlinks are resolved before the check.
///
/// # Errors
/// It is outside the project, or cannot be created.
pub fn inside(project: &Path, path: &Path) -> Result<PathBuf, ServiceError> {
    let outside = || {
        ServiceError::refused(
            "outside_project",
            format!("`{}` is outside the project", path.display()),
            "name a folder inside the project, without `..`",
        )
    };
    let failed = |error: std::io::Error| {
        ServiceError::failed(
            "unwritable",
            format!("`{}` cannot be created: {}", path.display(), plain(&error)),
            "check the folder and its permissions",
        )
    };
    let root = project.canonicalize().map_err(failed)?;
    let relative = if path.is_absolute() { path.strip_prefix(&root).map_err(|_| outside())? } else { path };
    let mut at = root.clone();
    for part in relative.components() {
        match part {
            Component::CurDir => continue,
            Component::Normal(name) => at.push(name),
            _ => return Err(outside()),
        }
        // A symlink in the middle of the path is resolved before anything is created behind it.
        if at.symlink_metadata().is_ok() {
            at = at.canonicalize().map_err(failed)?;
            if !at.starts_with(&root) {
                return Err(outside());
            }
        }
    }
    std::fs::create_dir_all(&at).map_err(failed)?;
    Ok(at)
}

/// Writes a file atomically.
///
/// # Errors
/// The error of the operating system.
pub fn write(file: &Path, text: &str) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let fresh = Fresh::beside(file, text.as_bytes())?;
    #[cfg(unix)]
    let fresh = fresh.with(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    fresh.replace(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    #[test]
    fn no_ids_means_all_and_a_second_time_changes_nothing() {
        let project = project();
        assert_eq!(workflows(project.path(), &[], false).expect("copied").copied.len(), 19);
        let again = workflows(project.path(), &[], false).expect("copied");
        assert_eq!((again.copied.len(), again.unchanged.len()), (0, 19));
    }

    #[test]
    fn an_edited_file_is_replaced_only_by_force() {
        let project = project();
        let one = ["execute".to_owned()];
        let path = workflows(project.path(), &one, false).expect("copied").path.join("execute/workflow.json");
        std::fs::write(&path, "mine").expect("edited");
        let kept = workflows(project.path(), &one, false).expect("a report");
        assert_eq!(kept.errors.len(), 1);
        assert_eq!(std::fs::read_to_string(&path).expect("text"), "mine");
        assert_eq!(workflows(project.path(), &one, true).expect("a report").copied, ["execute"]);
    }

    #[test]
    fn no_path_leaves_the_project() {
        let project = project();
        let id = ["../../catalog/workflows/execute".to_owned()];
        assert_eq!(workflows(project.path(), &id, true).expect("a report").errors.len(), 1);
        for folder in ["../elsewhere", "/etc/agents", "a/../../b"] {
            assert_eq!(agents(project.path(), Some(folder), &[], true).expect_err("outside").code, "outside_project");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_does_not_lead_out_either() {
        let (project, other) = (project(), project());
        std::os::unix::fs::symlink(other.path(), project.path().join(".flow")).expect("a link");
        assert_eq!(workflows(project.path(), &[], true).expect_err("outside").code, "outside_project");
        assert_eq!(std::fs::read_dir(other.path()).expect("a folder").count(), 0);
    }
}
