//! Where a person has moved the nodes of definitions to. It is kept beside the project, in one file, and never in the
//! definitions: how a picture looks is nobody's change of what is run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use portolan_core::present::{FARTHEST, NodeOffsets};
use serde::{Deserialize, Serialize};

use crate::disk;
use crate::error::{ServiceError, plain};
use crate::project_folder::{turn_in, unwritable};

/// The file, in `.portolan`.
const FILE: &str = "layout.json";
/// The form of the file.
const FORM: &str = "layout/1";
/// The largest file that is read, and written.
const MOST_BYTES: u64 = 1 << 20;
/// How many nodes of one definition can have been moved.
const MOST_NODES: usize = 2_000;
/// How long the name of a node may be.
const LONGEST_NAME: usize = 1_000;

/// What a person has moved by hand, in all definitions of a project.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Places {
    form: String,
    /// By the path of the definition's file, from the project's folder on, and by the flow that is drawn.
    definitions: BTreeMap<String, BTreeMap<String, NodeOffsets>>,
}

/// A definition of which something is moved: the file and the flow of it.
#[derive(Clone, Copy, Debug)]
pub struct Moving<'m> {
    /// The project.
    pub project: &'m Path,
    /// The file.
    pub file: &'m Path,
    /// The flow that is drawn.
    pub flow: &'m str,
}

impl Places {
    /// What is kept of a project; nothing where nothing is.
    ///
    /// # Errors
    /// The file cannot be read, or is none of ours. Nobody need fail for that: all stands where it is laid out.
    pub fn of(project: &Path) -> Result<Places, ServiceError> {
        let path = path_in(project);
        let bytes = match disk::bytes(&path, MOST_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Places::default()),
            Err(error) => return Err(broken(&path, plain(&error))),
        };
        let Some(bytes) = bytes else {
            return Err(broken(&path, format!("it is no file of at most {MOST_BYTES} bytes")));
        };
        let places: Places = serde_json::from_slice(&bytes).map_err(|error| broken(&path, error.to_string()))?;
        match places.form == FORM {
            true => Ok(places),
            false => Err(broken(&path, format!("its `form` is not `{FORM}`"))),
        }
    }

    /// Whether something was moved in a file.
    pub fn has(&self, project: &Path, file: &Path) -> bool {
        self.definitions.contains_key(&name_of(project, file))
    }

    /// What was moved in a flow of a file.
    pub fn moved(&self, of: Moving<'_>) -> NodeOffsets {
        let flows = self.definitions.get(&name_of(of.project, of.file));
        flows.and_then(|flows| flows.get(of.flow)).cloned().unwrap_or_default()
    }
}

/// Keeps how far nodes were moved, by the identifiers that they are drawn with; a node that was moved by nothing stands
/// where it is laid out again.
///
/// # Errors
/// A move is too far, or there are too many; what is kept cannot be read, or not be written.
pub async fn keep(of: Moving<'_>, moves: &NodeOffsets) -> Result<(), ServiceError> {
    may_be_kept(moves)?;
    change(of, |moved| {
        moved.extend(moves.iter().map(|(node, by)| (node.clone(), *by)));
        moved.retain(|_, by| *by != (0, 0));
        match moved.len() > MOST_NODES {
            true => Err(refused(format!("more than {MOST_NODES} nodes of one definition would be moved"))),
            false => Ok(()),
        }
    })
    .await
}

/// Forgets what was moved in a flow: all of it stands where it is laid out again.
///
/// # Errors
/// What is kept cannot be read, or not be written.
pub async fn forget(of: Moving<'_>) -> Result<(), ServiceError> {
    change(of, |moved| {
        moved.clear();
        Ok(())
    })
    .await
}

async fn change(
    of: Moving<'_>,
    act: impl FnOnce(&mut NodeOffsets) -> Result<(), ServiceError>,
) -> Result<(), ServiceError> {
    let _turn: File = turn_in(of.project).await?;
    let mut places = Places::of(of.project)?;
    let flows = places.definitions.entry(name_of(of.project, of.file)).or_default();
    act(flows.entry(of.flow.to_owned()).or_default())?;
    flows.retain(|_, moved| !moved.is_empty());
    places.definitions.retain(|_, flows| !flows.is_empty());
    FORM.clone_into(&mut places.form);
    let path = path_in(of.project);
    let mut text = serde_json::to_vec_pretty(&places).map_err(|error| unwritable(&path, &error.into()))?;
    text.push(b'\n');
    if text.len() as u64 > MOST_BYTES {
        return Err(refused(format!("`{}` would have more than {MOST_BYTES} bytes", path.display())));
    }
    disk::replace(&path, &text).map_err(|error| unwritable(&path, &error))
}

fn may_be_kept(moves: &NodeOffsets) -> Result<(), ServiceError> {
    if moves.keys().any(|node| node.len() > LONGEST_NAME) {
        return Err(refused(format!("the name of a node has more than {LONGEST_NAME} bytes")));
    }
    let near = -FARTHEST..=FARTHEST;
    match moves.values().all(|(right, down)| near.contains(right) && near.contains(down)) {
        true => Ok(()),
        false => Err(refused(format!("a node would be moved by more than {FARTHEST} pixels"))),
    }
}

fn refused(message: String) -> ServiceError {
    ServiceError::refused("not_kept", message, "have some of it laid out again first")
}

fn broken(path: &Path, why: impl std::fmt::Display) -> ServiceError {
    let message = format!("`{}` cannot be read, and all is drawn where it is laid out: {why}", path.display());
    ServiceError::failed("broken_layout", message, "mend the file, or delete it")
}

fn path_in(project: &Path) -> PathBuf {
    project.join(".portolan").join(FILE)
}

/// The name of a file, from the project's folder on where it lies in it, spelled alike on all systems.
fn name_of(project: &Path, file: &Path) -> String {
    let within = file.strip_prefix(project).unwrap_or(file);
    let parts = within.components().map(|part| part.as_os_str().to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}
