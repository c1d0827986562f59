//! What the benchmark of the store compares with: the smallest object that compares and appends.

#![expect(missing_docs, reason = "the macro makes a client that nobody calls")]

use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};

struct Peer;

#[derive(Serialize, Deserialize)]
struct Next {
    expected: u64,
    record: String,
    whole: String,
}

#[object(journal_retention = "0s", lazy_state)]
impl Peer {
    #[handler]
    async fn next(&self, ctx: ObjectContext<'_>, next: Json<Next>) -> Result<bool, HandlerError> {
        let Next { expected, record, whole } = next.into_inner();
        if ctx.get::<u64>("seq").await?.unwrap_or(0) != expected {
            return Ok(false);
        }
        ctx.set("seq", expected + 1);
        ctx.set(&format!("record.{}", expected + 1), record);
        ctx.set("whole", whole);
        Ok(true)
    }
}

#[tokio::main]
async fn main() {
    let listen = std::env::args().nth(1).expect("an address to listen on");
    HttpServer::new(Endpoint::builder().bind(Peer).build()).listen_and_serve(listen.parse().expect("an address")).await;
}
