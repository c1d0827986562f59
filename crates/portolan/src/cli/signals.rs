//! Signals that ask this process to end.

/// Resolves when the person or the system asks this process to end. Signals are caught from the call on.
pub(super) fn asked_to_end() -> impl Future<Output = ()> {
    #[cfg(unix)]
    let mut signals = {
        use tokio::signal::unix::{SignalKind, signal};
        // A closed terminal sends SIGHUP.
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
            // Signals cannot be received, so this never resolves.
            std::future::pending::<()>().await;
        }
    }
}
