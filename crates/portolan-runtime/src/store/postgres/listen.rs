//! Notifications of the server: whoever has stored something sends one, on the channel that is named like the schema.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deadpool_postgres::Object;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::SharedState;
use super::address::PostgresAddress;
use super::connect::tls;
use crate::store::jobs::Jobs;

/// The time after which readers look without a notification: a connection may break without a word.
#[cfg(not(test))]
const LOOK: Duration = Duration::from_secs(1);
/// Tests rely on the notifications.
#[cfg(test)]
const LOOK: Duration = Duration::from_secs(3_600);
/// The time before the next attempt to connect.
const PAUSE: Duration = Duration::from_secs(1);

/// The time in which a store sends one notification, whatever it stores: each takes the server as long as a small write.
/// Those who wait for a person's answer do not notice it.
const LEAST: Duration = Duration::from_millis(20);

/// What a store knows of the notifications that it sends.
#[derive(Default)]
pub(super) struct Announcements {
    /// Whether one is about to be sent.
    is_pending: AtomicBool,
    /// When the last one was.
    last: Mutex<Option<Instant>>,
}

/// Notifies the processes that wait for changes, of all that was stored before. The caller does not wait for it, but the
/// drop of the store does.
///
/// This is not part of the transaction that stores: the server commits those with a notification one after another.
pub(super) fn announce(shared: &Arc<SharedState>, jobs: &Jobs) {
    if !shared.announcements.is_pending.swap(true, Ordering::SeqCst) {
        let shared = Arc::clone(shared);
        jobs.run(async move || notify(&shared).await);
    }
}

async fn notify(shared: &SharedState) {
    let announcements = &shared.announcements;
    let last = *announcements.last.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(last) = last {
        sleep_until(last + LEAST).await;
    }
    *announcements.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    // What is stored from here on has a notification of its own.
    announcements.is_pending.store(false, Ordering::SeqCst);
    let notify = async |client: &mut Object, _| {
        let statement = client.prepare_cached("SELECT pg_notify(current_schema(), '')").await?;
        client.execute(&statement, &[]).await?;
        Ok(())
    };
    // What was stored is on disk. Without a notification the others see it when they look next.
    let _ = shared.database.once(&notify, 1).await;
}

/// Counts notifications until nobody waits for them. Without a connection it counts the seconds instead.
pub(super) async fn serve(shared: Arc<SharedState>, news: watch::Sender<u64>) {
    let address = shared.database.address();
    let listening = async {
        loop {
            // Whoever reads then learns why the server cannot be reached.
            let _broken = match address.config.get_ssl_mode() {
                SslMode::Disable => listen(address, NoTls, &news).await,
                _ => match tls(address) {
                    Ok(settings) => listen(address, MakeRustlsConnect::new(settings), &news).await,
                    Err(_) => Ok(()),
                },
            };
            count(&news);
            sleep(PAUSE).await;
        }
    };
    tokio::select! {
        () = listening => {}
        () = news.closed() => {}
    }
}

/// Counts the notifications of one connection until it breaks.
async fn listen<T>(address: &PostgresAddress, tls: T, news: &watch::Sender<u64>) -> Result<(), tokio_postgres::Error>
where
    T: MakeTlsConnect<Socket>,
{
    let (client, mut connection) = address.config.connect(tls).await?;
    let command = format!("LISTEN \"{}\"", address.schema);
    let mut listens = std::pin::pin!(client.batch_execute(&command));
    let mut is_listening = false;
    loop {
        tokio::select! {
            listens = &mut listens, if !is_listening => {
                listens?;
                is_listening = true;
                // What was stored before is not notified.
                count(news);
            }
            message = timeout(LOOK, poll_fn(|cx| connection.poll_message(cx))) => match message {
                Ok(Some(Ok(AsyncMessage::Notification(_)))) | Err(_) => count(news),
                Ok(Some(Ok(_))) => {}
                Ok(Some(Err(error))) => return Err(error),
                Ok(None) => return Ok(()),
            }
        }
    }
}

fn count(news: &watch::Sender<u64>) {
    news.send_modify(|count| *count += 1);
}
