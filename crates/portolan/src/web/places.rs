//! The positions of nodes that a person has moved in a drawing. They are stored in `.portolan/layout.json`, not in a
//! definition.

use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use portolan_core::present::NodeOffsets;
use portolan_runtime::author::{self, MoveTarget, Places};
use portolan_runtime::definition::Definition;
use portolan_runtime::library::{Library, Origin, Sketch};
use portolan_runtime::service::ServiceError;
use serde::{Deserialize, Serialize};

use super::Studio;
use super::answer::{Answer, Body, InPath};
use super::definitions::broken;
use crate::http::Refusal;

/// Returns the moved nodes in the drawing of a root, and the error if they cannot be read.
pub(super) fn moved(library: &Library, sketch: &Sketch, root: Option<&str>) -> (NodeOffsets, Option<ServiceError>) {
    let Some(flow) = root.filter(|_| sketch.origin == Origin::Project) else { return (NodeOffsets::new(), None) };
    match Places::of(library.project()) {
        Ok(places) => (places.moved(moving(library, &sketch.source.name, flow)), None),
        Err(error) => (NodeOffsets::new(), Some(error)),
    }
}

/// Returns the moved nodes in the current file of a run's definition.
pub(super) fn moved_in_run(library: &Library, definition: &Definition) -> NodeOffsets {
    // The definition's page reports a read error.
    let Ok(places) = Places::of(library.project()) else { return NodeOffsets::new() };
    let name = definition.workflow.id().as_str();
    for (id, _) in library.ids().into_iter().filter(|(_, origin)| *origin == Origin::Project) {
        let Some(file) = library.path(&id).filter(|file| places.has(library.project(), file)) else { continue };
        let file = file.to_string_lossy();
        if id == name {
            return places.moved(moving(library, &file, name));
        }
        // A function's name may differ from that of its file.
        let Ok(sketch) = library.sketch(&id, None) else { continue };
        let is_it = |root: &&String| {
            let graph = sketch.graphs.get(*root);
            graph.is_some_and(|graph| graph.interface.is_some() && (*root == name || graph.name == name))
        };
        if let Some(root) = sketch.roots.iter().find(is_it) {
            return places.moved(moving(library, &file, root));
        }
    }
    NodeOffsets::new()
}

fn moving<'m>(library: &'m Library, file: &'m str, flow: &'m str) -> MoveTarget<'m> {
    MoveTarget { project: library.project(), file: Path::new(file), flow }
}

/// The positions to store.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlacesRequest {
    #[serde(default)]
    root: Option<String>,
    /// The offset of each node from its layout, right and down. Without it, all nodes return to the layout.
    moves: Option<NodeOffsets>,
}

/// All moved nodes of a drawing.
#[derive(Serialize)]
pub(super) struct KeptPlaces {
    moved: NodeOffsets,
}

/// Stores the nodes that a person has moved.
pub(super) async fn keep(
    State(studio): State<Arc<Studio>>,
    InPath(id): InPath<String>,
    Body(wanted): Body<PlacesRequest>,
) -> Answer<KeptPlaces> {
    let beside = Arc::clone(&studio);
    let sketch = tokio::task::spawn_blocking(move || beside.service.library().sketch(&id, None));
    let sketch = sketch.await.map_err(broken)??;
    let library = studio.service.library();
    let (root, file) = (wanted.root.or(sketch.roots.first().cloned()).unwrap_or_default(), &sketch.source.name);
    if sketch.origin != Origin::Project {
        let message = "the definition does not belong to the project, so its places are not stored";
        return Err(Refusal::from(ServiceError::refused("not_yours", message, "copy it into the project first")));
    }
    if !sketch.roots.contains(&root) {
        let message = format!("the definition has no workflow `{}`", portolan_core::diagnostic::clip(&root));
        let help = format!("it has {}", sketch.roots.join(", "));
        return Err(Refusal::from(ServiceError::refused("unknown_root", message, help)));
    }
    let of = moving(library, file, &root);
    match wanted.moves {
        Some(moves) => author::keep(of, &moves).await?,
        None => author::forget(of).await?,
    }
    Ok(Json(KeptPlaces { moved: Places::of(library.project())?.moved(of) }))
}
