//! When this process is asked to end.

/// Resolves when the person, or the system, asks this process to end. It is listened for from the call on.
pub(super) fn asked_to_end() -> impl Future<Output = ()> {
    #[cfg(unix)]
    let mut signals = {
        use tokio::signal::unix::{SignalKind, signal};
        // A terminal that is closed hangs up.
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        kinds.map(|kind| signal(kind).ok())
    };
    async move {
        #[cfg(unix)]
        if let [Some(interrupt), Some(terminate), Some(hangup)] = &mut signals {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            return;
        }
        if tokio::signal::ctrl_c().await.is_err() {
            // Nobody can be heard: then nobody stops it.
            std::future::pending::<()>().await;
        }
    }
}
