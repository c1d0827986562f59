//! The positions to which a person has moved the nodes of definitions. They are stored beside the project, in one file,
//! and never in the definitions, because the layout of a picture does not change what is run.

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
/// The maximum size of the file for reading and writing.
const MOST_BYTES: u64 = 1 << 20;
/// The maximum number of moved nodes of one definition.
const MOST_NODES: usize = 2_000;
/// The maximum length of a node's name.
const LONGEST_NAME: usize = 1_000;

/// The nodes that were moved by hand, in all definitions of a project.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Places {
    form: String,
    /// The offsets by the path of the definition's file, relative to the project, and by the drawn flow.
    definitions: BTreeMap<String, BTreeMap<String, NodeOffsets>>,
}

/// The file and the flow whose nodes are moved.
#[derive(Clone, Copy, Debug)]
pub struct MoveTarget<'m> {
    /// The project.
    pub project: &'m Path,
    /// The file.
    pub file: &'m Path,
    /// The drawn flow.
    pub flow: &'m str,
}

impl Places {
    /// Returns the stored offsets of a project. Empty if none are stored.
    ///
    /// # Errors
    /// The file cannot be read, or has another form. A caller may ignore this: the nodes then keep their automatic
    /// layout.
    pub fn of(project: &Path) -> Result<Places, ServiceError> {
        let path = path_in(project);
        let bytes = match disk::bytes(&path, MOST_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Places::default()),
            Err(error) => return Err(broken(&path, plain(&error))),
        };
        let Some(bytes) = bytes else {
            return Err(broken(&path, format!("it is not a file of at most {MOST_BYTES} bytes")));
        };
        let places: Places = serde_json::from_slice(&bytes).map_err(|error| broken(&path, error.to_string()))?;
        match places.form == FORM {
            true => Ok(places),
            false => Err(broken(&path, format!("its `form` is not `{FORM}`"))),
        }
    }

    /// Checks whether nodes of a file were moved.
    pub fn has(&self, project: &Path, file: &Path) -> bool {
        self.definitions.contains_key(&name_of(project, file))
    }

    /// Returns the offsets in a flow of a file.
    pub fn moved(&self, of: MoveTarget<'_>) -> NodeOffsets {
        let flows = self.definitions.get(&name_of(of.project, of.file));
        flows.and_then(|flows| flows.get(of.flow)).cloned().unwrap_or_default()
    }
}

/// Stores the offsets of nodes, by the ids with which they are drawn. An offset of zero returns a node to its automatic
/// position.
///
/// An offset is too large, a name is too long, or there are too many nodes. The stored offsets cannot be read or
/// written.
/// An offset is too large, or there are too many. The stored offsets cannot be read or written.
pub async fn keep(of: MoveTarget<'_>, moves: &NodeOffsets) -> Result<(), ServiceError> {
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

/// Removes the offsets in a flow, which returns all its nodes to their automatic positions.
///
/// # Errors
/// The stored offsets cannot be read or written.
pub async fn forget(of: MoveTarget<'_>) -> Result<(), ServiceError> {
    change(of, |moved| {
        moved.clear();
        Ok(())
    })
    .await
}

async fn change(
    of: MoveTarget<'_>,
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
    ServiceError::refused("not_kept", message, "reset some of it to the automatic layout first")
}

fn broken(path: &Path, why: impl std::fmt::Display) -> ServiceError {
    let message = format!("`{}` cannot be read, so everything is drawn in the automatic layout: {why}", path.display());
    ServiceError::failed("broken_layout", message, "fix the file, or delete it")
}

fn path_in(project: &Path) -> PathBuf {
    project.join(".portolan").join(FILE)
}

/// Returns the name of a file, relative to the project if the file is in it, with the same separators on all systems.
fn name_of(project: &Path, file: &Path) -> String {
    let within = file.strip_prefix(project).unwrap_or(file);
    let parts = within.components().map(|part| part.as_os_str().to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}
