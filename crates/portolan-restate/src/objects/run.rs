//! A run: its journal and its lease.

use std::time::Duration;

use portolan_restate_api::{
    Append, Birth, Create, ENDED, FORMAT, Line, Note, Records, RecordsAfter, Renew, StoredTexts, Take, Taken, Texts,
    WAITING, Written, shard,
};
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};

use super::PortolanIndexClient;

pub(crate) struct PortolanRun;

/// What every write reads and replaces.
#[derive(Serialize, Deserialize)]
struct Head {
    /// The format of all that is stored of the run.
    #[serde(default = "first_format")]
    format: u32,
    opened_at: i64,
    definition: String,
    is_sealed: bool,
    /// The number of the record after which the snapshot was taken.
    whole_at: u64,
    line: Line,
    /// The line in the last message to the index.
    told: Option<Line>,
    /// Whether a message of the object to itself is under way, on which it tells the index.
    is_telling: bool,
}

/// The snapshot, with the number of its record.
#[derive(Serialize, Deserialize)]
struct Snapshot {
    seq: u64,
    text: String,
}

/// The last lease.
#[derive(Default, Serialize, Deserialize)]
struct Lease {
    fence: i64,
    /// Its holder. `None` if it is over.
    holder: Option<String>,
    /// The number of renewals.
    renewals: u64,
}

/// A message of the object to itself, which comes when the term of a lease is over.
#[derive(Serialize, Deserialize)]
struct Expiry {
    fence: i64,
    renewals: u64,
}

/// The time within which the index is told of a change that nobody waits for. A run that moves often moves several times in
/// it: one message tells of all.
const TOLD_WITHIN: Duration = Duration::from_secs(1);
const HEAD: &str = "head";
const OPENING: &str = "opening";
const SNAPSHOT: &str = "snapshot";
const LEASE: &str = "lease";
/// What lists show of the run and does not change.
const BIRTH: &str = "birth";
/// The number of bytes after which an answer has no further record.
const MOST_BYTES: usize = 4 << 20;

fn record_key(seq: u64) -> String {
    format!("record.{seq}")
}

#[object(
    journal_retention = "0s",
    lazy_state,
    client_visibility = "pub(crate)",
    invocation_retry_policy(initial_interval = "50ms", factor = 2.0, max_interval = "2s", max_attempts = 1000000)
)]
impl PortolanRun {
    /// Stores a new run.
    #[handler]
    async fn create(&self, ctx: ObjectContext<'_>, new: Json<Create>) -> Result<Json<Written>, HandlerError> {
        let Create { definition, opening, cover, opened_at, born, records, snapshot, line } = new.into_inner();
        if head(&ctx).await?.is_some() {
            let is_ours = match (&records[..], record(&ctx, 1).await?) {
                ([first, ..], Some(stored)) => first.stamp == stored.stamp,
                _ => false,
            };
            return Ok(Json(if is_ours { Written::Done } else { Written::Taken }));
        }
        let is_sealed = cover.is_some();
        let birth = Birth { opening: cover.unwrap_or_else(|| opening.clone()), is_sealed, born };
        ctx.set(OPENING, opening);
        ctx.set(BIRTH, Json(birth.clone()));
        ctx.set(SNAPSHOT, Json(Snapshot { seq: line.seq, text: snapshot }));
        for (texts, seq) in records.into_iter().zip(1..) {
            ctx.set(&record_key(seq), Json(texts));
        }
        let whole_at = line.seq;
        let mut head =
            Head { format: FORMAT, opened_at, definition, is_sealed, whole_at, line, told: None, is_telling: false };
        note(&ctx, &mut head, birth)?.send();
        ctx.set(HEAD, Json(head));
        Ok(Json(Written::Done))
    }

    /// Stores the next record.
    #[handler]
    async fn append(&self, ctx: ObjectContext<'_>, next: Json<Append>) -> Result<Json<Written>, HandlerError> {
        let Append { expected_seq, fence, is_sealed, texts, snapshot, line } = next.into_inner();
        let Some(mut head) = head(&ctx).await? else { return Ok(Json(Written::NoRun)) };
        if head.line.seq != expected_seq {
            let stored = if head.line.seq > expected_seq { record(&ctx, expected_seq + 1).await? } else { None };
            return Ok(Json(match stored {
                Some(stored) if stored.stamp == texts.stamp => Written::Done,
                _ => Written::Conflict { actual_seq: head.line.seq },
            }));
        }
        if let Some(fence) = fence
            && !is_held(&lease(&ctx).await?, fence)
        {
            return Ok(Json(Written::LeaseLost));
        }
        if is_sealed != head.is_sealed {
            return Ok(Json(Written::OtherSeal));
        }
        ctx.set(&record_key(line.seq), Json(texts));
        if let Some(text) = snapshot {
            head.whole_at = line.seq;
            ctx.set(SNAPSHOT, Json(Snapshot { seq: line.seq, text }));
        }
        let is_urgent = is_urgent(&head.line, &line);
        head.line = line;
        Ok(Json(changed(&ctx, head, is_urgent).await?))
    }

    /// Completes when the index knows of the last change.
    #[handler]
    async fn publish(&self, ctx: ObjectContext<'_>) -> Result<(), HandlerError> {
        let Some(mut head) = head(&ctx).await? else { return Ok(()) };
        let birth = birth(&ctx).await?;
        // Also if the index was told: that message may be under way, and this one comes after it.
        note(&ctx, &mut head, birth)?.call().await?;
        ctx.set(HEAD, Json(head));
        Ok(())
    }

    /// Tells the index of the last change, some time after the first that it was not told of.
    #[handler(ingress_private)]
    async fn tell(&self, ctx: ObjectContext<'_>) -> Result<(), HandlerError> {
        let Some(mut head) = head(&ctx).await? else { return Ok(()) };
        head.is_telling = false;
        if head.told.as_ref() != Some(&head.line) {
            let birth = birth(&ctx).await?;
            note(&ctx, &mut head, birth)?.send();
        }
        ctx.set(HEAD, Json(head));
        Ok(())
    }

    /// Sets the time from which workers may drive the run.
    #[handler]
    async fn defer(&self, ctx: ObjectContext<'_>, until: Json<Option<i64>>) -> Result<Json<Written>, HandlerError> {
        let Some(mut head) = head(&ctx).await? else { return Ok(Json(Written::NoRun)) };
        head.line.due = until.into_inner();
        Ok(Json(changed(&ctx, head, true).await?))
    }

    /// Removes a run that is over.
    #[handler]
    async fn remove(&self, ctx: ObjectContext<'_>, expected_seq: u64) -> Result<Json<Written>, HandlerError> {
        let Some(head) = head(&ctx).await? else { return Ok(Json(Written::NoRun)) };
        if head.line.seq != expected_seq {
            return Ok(Json(Written::Conflict { actual_seq: head.line.seq }));
        }
        if head.line.status != ENDED {
            return Ok(Json(Written::Open));
        }
        if let Some(holder) = lease(&ctx).await?.holder {
            return Ok(Json(Written::UnderWay { holder }));
        }
        // Removals are rare, so the index is waited for.
        let note =
            Note { handle: parts(&ctx)?.1.to_owned(), birth: birth(&ctx).await?, before: head.told, after: None };
        index(&ctx)?.note(Json(note)).call().await?;
        ctx.clear_all();
        Ok(Json(Written::Done))
    }

    /// Returns the run.
    #[handler]
    async fn load(&self, ctx: ObjectContext<'_>) -> Result<Json<Option<StoredTexts>>, HandlerError> {
        let Some(head) = head(&ctx).await? else { return Ok(Json(None)) };
        let opening = ctx.get::<String>(OPENING).await?.unwrap_or_default();
        let snapshot = ctx.get::<Json<Snapshot>>(SNAPSHOT).await?.map(Json::into_inner);
        let Snapshot { seq, text } = snapshot.unwrap_or(Snapshot { seq: head.whole_at, text: String::new() });
        let mut changes = Vec::new();
        for seq in seq + 1..=head.line.seq {
            // What is missing is found by whoever counts them.
            changes.extend(record(&ctx, seq).await?.map(|texts| (seq, texts.changes)));
        }
        Ok(Json(Some(StoredTexts {
            seq: head.line.seq,
            opened_at: head.opened_at,
            updated_at: head.line.updated_at,
            definition: head.definition,
            opening,
            is_sealed: head.is_sealed,
            whole_at: seq,
            snapshot: text,
            changes,
        })))
    }

    /// Returns records.
    #[handler]
    async fn records(
        &self,
        ctx: ObjectContext<'_>,
        wanted: Json<RecordsAfter>,
    ) -> Result<Json<Option<Records>>, HandlerError> {
        let Some(head) = head(&ctx).await? else { return Ok(Json(None)) };
        let RecordsAfter { after, limit } = wanted.into_inner();
        let last = head.line.seq.min(after.saturating_add(limit));
        let (mut found, mut bytes) = (Vec::new(), 0);
        for seq in after.saturating_add(1)..=last {
            if let Some(texts) = record(&ctx, seq).await? {
                bytes += texts.event.len() + texts.changes.len();
                found.push((seq, texts));
            }
            if bytes > MOST_BYTES && seq < last {
                return Ok(Json(Some(Records { found, is_all: false })));
            }
        }
        Ok(Json(Some(Records { found, is_all: true })))
    }

    /// Takes the lease.
    #[handler]
    async fn take(&self, ctx: ObjectContext<'_>, wanted: Json<Take>) -> Result<Json<Taken>, HandlerError> {
        let Take { holder, term, due_by } = wanted.into_inner();
        let Some(head) = head(&ctx).await? else { return Ok(Json(Taken::NoRun)) };
        let last = lease(&ctx).await?;
        match last.holder {
            // It asks again, because it did not get the answer.
            Some(held) if held == holder => return Ok(Json(Taken::Lease { fence: last.fence })),
            Some(holder) => return Ok(Json(Taken::UnderWay { holder })),
            None => {}
        }
        if due_by.is_some_and(|now| head.line.due.is_none_or(|due| due > now)) {
            return Ok(Json(Taken::NotDue));
        }
        let lease = Lease { fence: last.fence + 1, holder: Some(holder), renewals: 0 };
        let fence = lease.fence;
        expires(&ctx, &lease, term);
        ctx.set(LEASE, Json(lease));
        Ok(Json(Taken::Lease { fence }))
    }

    /// Renews the lease. Returns whether the caller still has it.
    #[handler]
    async fn renew(&self, ctx: ObjectContext<'_>, wanted: Json<Renew>) -> Result<bool, HandlerError> {
        let Renew { fence, term } = wanted.into_inner();
        let mut lease = lease(&ctx).await?;
        if !is_held(&lease, fence) {
            return Ok(false);
        }
        lease.renewals += 1;
        expires(&ctx, &lease, term);
        ctx.set(LEASE, Json(lease));
        Ok(true)
    }

    /// Ends the lease, unless it is another one by now.
    #[handler]
    async fn release(&self, ctx: ObjectContext<'_>, fence: i64) -> Result<(), HandlerError> {
        let lease = lease(&ctx).await?;
        if is_held(&lease, fence) {
            ctx.set(LEASE, Json(Lease { holder: None, ..lease }));
        }
        Ok(())
    }

    /// Ends a lease that was not renewed since this message was sent.
    #[handler(ingress_private)]
    async fn expire(&self, ctx: ObjectContext<'_>, message: Json<Expiry>) -> Result<(), HandlerError> {
        let Expiry { fence, renewals } = message.into_inner();
        let lease = lease(&ctx).await?;
        if is_held(&lease, fence) && lease.renewals == renewals {
            ctx.set(LEASE, Json(Lease { holder: None, ..lease }));
        }
        Ok(())
    }
}

async fn head(ctx: &ObjectContext<'_>) -> Result<Option<Head>, HandlerError> {
    /// What each format has.
    #[derive(Deserialize)]
    struct Format {
        #[serde(default = "first_format")]
        format: u32,
    }
    let Some(Json(stored)) = ctx.get::<Json<serde_json::Value>>(HEAD).await? else { return Ok(None) };
    let damaged = |error: serde_json::Error| TerminalError::new(format!("the head of the run cannot be read: {error}"));
    let Format { format } = serde_json::from_value(stored.clone()).map_err(damaged)?;
    if format > FORMAT {
        let why = format!("the run is stored in format {format}, and these objects know formats up to {FORMAT}");
        return Err(TerminalError::new_with_code(409, why).into());
    }
    Ok(Some(serde_json::from_value(stored).map_err(damaged)?))
}

/// The format of a state that names none.
fn first_format() -> u32 {
    1
}

async fn record(ctx: &ObjectContext<'_>, seq: u64) -> Result<Option<Texts>, HandlerError> {
    Ok(ctx.get::<Json<Texts>>(&record_key(seq)).await?.map(Json::into_inner))
}

async fn lease(ctx: &ObjectContext<'_>) -> Result<Lease, HandlerError> {
    Ok(ctx.get::<Json<Lease>>(LEASE).await?.map(Json::into_inner).unwrap_or_default())
}

fn is_held(lease: &Lease, fence: i64) -> bool {
    lease.holder.is_some() && lease.fence == fence
}

/// Ends the lease after its term, unless it is renewed. No clock is read but that of Restate.
fn expires(ctx: &ObjectContext<'_>, lease: &Lease, term: u64) {
    let message = Json(Expiry { fence: lease.fence, renewals: lease.renewals });
    ctx.object_client::<PortolanRunClient>(ctx.key()).expire(message).send_after(Duration::from_millis(term));
}

/// Stores the head after a change. The index is told at once if somebody may wait for it, or else soon.
async fn changed(ctx: &ObjectContext<'_>, mut head: Head, is_urgent: bool) -> Result<Written, HandlerError> {
    if is_urgent {
        let birth = birth(ctx).await?;
        note(ctx, &mut head, birth)?.send();
    } else if !head.is_telling {
        head.is_telling = true;
        ctx.object_client::<PortolanRunClient>(ctx.key()).tell().send_after(TOLD_WITHIN);
    }
    ctx.set(HEAD, Json(head));
    Ok(Written::Done)
}

/// Checks whether people or workers look for this change: a run waits for somebody or ends, or it is due before the index
/// would be told.
fn is_urgent(before: &Line, after: &Line) -> bool {
    let is_seen = |line: &Line| line.status == WAITING || line.status == ENDED;
    let soon = i64::try_from(TOLD_WITHIN.as_millis()).unwrap_or(i64::MAX);
    let is_soon = |due: i64| due < after.updated_at.saturating_add(soon);
    is_seen(before) || is_seen(after) || after.due.is_some_and(is_soon)
}

async fn birth(ctx: &ObjectContext<'_>) -> Result<Birth, HandlerError> {
    let birth = ctx.get::<Json<Birth>>(BIRTH).await?.map(Json::into_inner);
    Ok(birth.ok_or_else(|| TerminalError::new("the run has lost its opening: restore Restate's data from a backup"))?)
}

/// Returns the request that tells the index of the present line.
fn note<'c>(
    ctx: &'c ObjectContext<'_>,
    head: &mut Head,
    birth: Birth,
) -> Result<Request<'c, Json<Note>, ()>, HandlerError> {
    let handle = parts(ctx)?.1.to_owned();
    let before = head.told.replace(head.line.clone());
    Ok(index(ctx)?.note(Json(Note { handle, birth, before, after: head.told.clone() })))
}

fn index<'c>(ctx: &'c ObjectContext<'_>) -> Result<PortolanIndexClient<'c>, HandlerError> {
    let (space, handle) = parts(ctx)?;
    Ok(ctx.object_client(format!("{space}.{}", shard(handle))))
}

/// Returns the space and the handle of a run.
fn parts<'c>(ctx: &'c ObjectContext<'_>) -> Result<(&'c str, &'c str), HandlerError> {
    let wrong = || TerminalError::new_with_code(400, "the key of a run is `SPACE.HANDLE`");
    Ok(ctx.key().split_once('.').ok_or_else(wrong)?)
}
