//! `portolan-restate`: serves the objects of Portolan's runs to Restate's servers.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Parser;
use restate_sdk::prelude::{Endpoint, HttpServer};
use tokio::net::TcpListener;

/// Serve the objects in which Restate keeps Portolan's runs
///
/// Restate's servers call this address; register it once with them: `restate deployments register http://HOST:9080`, or
/// a POST to their admin port. Any number of these processes may run behind one address: they keep nothing themselves.
#[derive(Parser)]
#[command(name = "portolan-restate", version)]
struct Args {
    /// Where Restate's servers find the objects
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9080")]
    listen: SocketAddr,
    /// Answer only a server that signs its requests with this key (`publickeyv1_…`); may be given several times
    #[arg(long, value_name = "KEY")]
    identity_key: Vec<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match serve(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Nobody reads where standard error is closed.
            let _ = writeln!(io::stderr(), "error: {why}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(args: Args) -> Result<(), String> {
    let mut builder = Endpoint::builder();
    for key in &args.identity_key {
        builder = builder.identity_key(key).map_err(|error| {
            format!("`--identity-key {key}` is no key ({error}); use the one that `restate` shows for the server")
        })?;
    }
    let listener = TcpListener::bind(args.listen)
        .await
        .map_err(|error| format!("`--listen {}` cannot be used ({error}); use another port", args.listen))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let _ = writeln!(io::stderr(), "listening on http://{address}");
    let server = HttpServer::new(portolan_restate::bind(builder));
    server.serve_with_cancel(listener, stopped()).await;
    Ok(())
}

/// Completes when the process is asked to end.
async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminated.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
