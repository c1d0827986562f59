//! One client at standard input and output, until it leaves or the process is asked to end.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::service::ServerInitializeError;
use rmcp::{RoleServer, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::face::Face;
use super::long_calls::LongCalls;
use super::toolset::{Manners, Toolset};
use super::transport::Lines;

/// How long a client that reads no more can delay the process, once its calls have been dropped.
pub(super) const FAREWELL: Duration = Duration::from_millis(250);

/// Serves the client at standard input and output until it leaves or a signal arrives, and then runs `afterwards`.
pub(super) fn serve_stdio(
    runtime: Runtime,
    toolset: Arc<dyn Toolset>,
    long_calls: LongCalls,
    afterwards: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let done = runtime.block_on(async {
        let stop = stop_signal()?;
        let (reader, writer) = rmcp::transport::stdio_pipes();
        let served = serve(toolset, long_calls, (reader, writer), stop).await;
        afterwards.await;
        served
    });
    // If standard input is not a pipe, a read from it cannot be interrupted, and must not delay the end of the process.
    runtime.shutdown_background();
    done
}

/// Resolves when the process is asked to end.
#[cfg(unix)]
pub(super) fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}

#[cfg(not(unix))]
pub(super) fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async { tokio::signal::ctrl_c().await.unwrap_or(()) })
}

/// Serves until the other side closes, or until `stop` resolves. Pending calls are then dropped, and their work ends
/// with them.
async fn serve<R, W>(
    toolset: Arc<dyn Toolset>,
    long_calls: LongCalls,
    (reader, writer): (R, W),
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (end, ending) = watch::channel(false);
    let Manners { bounds, parting } = toolset.manners();
    let (lines, left) = Lines::new(reader, writer, bounds);
    let mut stop = pin!(stop);
    let served = tokio::select! {
        served = ServiceExt::<RoleServer>::serve(Face::new(toolset, long_calls, ending), lines) => served,
        () = &mut stop => return Ok(()),
    };
    let running = match served {
        Ok(running) => running,
        // A client that leaves before it initializes is no error.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let canceller = running.cancellation_token();
    let mut ended = pin!(running.waiting());
    let parted = async {
        let _closed = left.await;
        sleep(parting).await;
    };
    tokio::select! {
        ended = &mut ended => {
            ended?;
            return Ok(());
        }
        () = parted => {}
        () = &mut stop => canceller.cancel(),
    }
    end.send_replace(true);
    if let Ok(ended) = timeout(FAREWELL, ended).await {
        ended?;
    }
    Ok(())
}
