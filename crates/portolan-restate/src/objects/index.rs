//! A shard of the lists: the lines of some runs.

use portolan_restate_api::{Birth, Counts, ENDED, Line, Listed, Marks, Note, Query, select};
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};

pub(crate) struct PortolanIndex;

/// The line of a run, under [`line_key`].
#[derive(Serialize, Deserialize)]
struct Position {
    mark: u64,
    line: Line,
}

/// The number of notes so far.
const VERSION: &str = "version";

fn line_key(handle: &str) -> String {
    format!("line.{handle}")
}

fn birth_key(handle: &str) -> String {
    format!("birth.{handle}")
}

#[object(journal_retention = "0s", client_visibility = "pub(crate)")]
impl PortolanIndex {
    /// Takes note of a change of a run.
    #[handler(ingress_private, lazy_state)]
    async fn note(&self, ctx: ObjectContext<'_>, note: Json<Note>) -> Result<(), HandlerError> {
        let Note { handle, mark, line, birth } = note.into_inner();
        let version = ctx.get::<u64>(VERSION).await?.unwrap_or(0);
        ctx.set(VERSION, version + 1);
        if let Some(birth) = birth {
            ctx.set(&birth_key(&handle), Json(birth));
        }
        match line {
            Some(line) => ctx.set(&line_key(&handle), Json(Position { mark, line })),
            None => {
                ctx.clear(&line_key(&handle));
                ctx.clear(&birth_key(&handle));
            }
        }
        Ok(())
    }

    /// Returns lines.
    #[handler]
    async fn lines(&self, ctx: SharedObjectContext<'_>, query: Json<Query>) -> Result<Json<Vec<Listed>>, HandlerError> {
        let mut lines = Vec::new();
        for (handle, Position { line, .. }) in positions(&ctx).await? {
            // A note of another change may come first only for a run that is being created again.
            if let Some(Json(birth)) = ctx.get::<Json<Birth>>(&birth_key(&handle)).await? {
                lines.push(Listed { handle, birth, line });
            }
        }
        Ok(Json(select(lines, &query.into_inner())))
    }

    /// Returns the marks of runs that are there.
    #[handler(lazy_state)]
    async fn marks(
        &self,
        ctx: SharedObjectContext<'_>,
        handles: Json<Vec<String>>,
    ) -> Result<Json<Marks>, HandlerError> {
        let mut marks = Marks::new();
        for handle in handles.into_inner() {
            if let Some(Json(Position { mark, .. })) = ctx.get::<Json<Position>>(&line_key(&handle)).await? {
                marks.insert(handle, mark);
            }
        }
        Ok(Json(marks))
    }

    /// Returns a number that each note changes.
    #[handler(lazy_state)]
    async fn version(&self, ctx: SharedObjectContext<'_>) -> Result<u64, HandlerError> {
        Ok(ctx.get::<u64>(VERSION).await?.unwrap_or(0))
    }

    /// Returns the numbers of runs and records.
    #[handler]
    async fn counts(&self, ctx: SharedObjectContext<'_>) -> Result<Json<Counts>, HandlerError> {
        let mut counts = Counts::default();
        for (_, Position { line, .. }) in positions(&ctx).await? {
            counts.records += line.seq;
            *(if line.status == ENDED { &mut counts.ended } else { &mut counts.open }) += 1;
        }
        Ok(Json(counts))
    }
}

async fn positions(ctx: &SharedObjectContext<'_>) -> Result<Vec<(String, Position)>, HandlerError> {
    let mut positions = Vec::new();
    for key in ctx.get_keys().await? {
        let Some(handle) = key.strip_prefix(&line_key("")) else { continue };
        if let Some(Json(position)) = ctx.get::<Json<Position>>(&key).await? {
            positions.push((handle.to_owned(), position));
        }
    }
    Ok(positions)
}
