//! `portolan serve --http`: its address, its token, and what it prints.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use portolan_runtime::project_folder;
use portolan_runtime::service::{Service, ServiceError};
use serde_json::json;

use crate::cli::Output;
use crate::http::{Access, Listeners, random_token, write_private};
use crate::mcp::{self, NamedTools};

/// The file in `.portolan` with the token. It is kept, so that clients need to be configured once.
const TOKEN_FILE: &str = "serve.token";
/// The length of a token, in hexadecimal digits.
const TOKEN_DIGITS: usize = 64;

#[derive(Args)]
pub(in crate::cli) struct HttpArgs {
    /// Serve over HTTP at this port of this machine, such as `127.0.0.1:7420`, for many clients at once.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
    /// Let every program of this machine use the server: clients send no token.
    #[arg(long, requires = "http")]
    no_auth: bool,
}

impl HttpArgs {
    /// Returns the port to listen on, 0 for any free one. `None` if clients do not connect over HTTP.
    pub(in crate::cli) fn port(&self) -> Result<Option<u16>, ServiceError> {
        let Some(given) = &self.http else { return Ok(None) };
        let refused = |message, help| Err(ServiceError::refused("usage", message, help));
        let named = given.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
        let Ok(address) = named.as_deref().unwrap_or(given).parse::<SocketAddr>() else {
            let message = format!("`--http {given}` is not an address with a port");
            return refused(message, "write it as in `--http 127.0.0.1:7420`");
        };
        if !address.ip().is_loopback() {
            let message = format!("`--http {given}` can be reached from other machines, which is not supported");
            let help = "name a port of `127.0.0.1`; a proxy in front of it can check who calls, and forward the token";
            return refused(message, help);
        }
        // Exactly these two are listened on.
        if address.ip() != Ipv4Addr::LOCALHOST && address.ip() != Ipv6Addr::LOCALHOST {
            let message = format!("`--http {given}` is another address than `127.0.0.1` and `[::1]`");
            return refused(message, "name a port of `127.0.0.1`");
        }
        Ok(Some(address.port()))
    }
}

/// Serves over HTTP until a signal arrives.
pub(in crate::cli) fn serve(
    service: Arc<Service>,
    sets: Vec<NamedTools>,
    port: u16,
    args: &HttpArgs,
    output: &Output,
) -> anyhow::Result<()> {
    let token = if args.no_auth { None } else { Some(token_in(&service.project().join(".portolan"))?) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listeners = Listeners::on_loopback(Some(port).filter(|port| *port != 0)).await?;
        let access = Access::new(listeners.port(), token.as_ref().map(|(token, _)| token.clone()));
        print_address(output, listeners.port(), token.as_ref().map(|(_, file)| file.as_path()), &sets)?;
        mcp::serve_http(service, sets, listeners, access).await
    })?;
    // Work that does not end must not delay the process.
    runtime.shutdown_background();
    Ok(())
}

/// Prints the address, and how clients get in.
fn print_address(output: &Output, port: u16, token: Option<&Path>, sets: &[NamedTools]) -> anyhow::Result<()> {
    let base = format!("http://127.0.0.1:{port}{}", mcp::HTTP_PATH);
    if output.is_json() {
        let paths: Vec<String> = sets.iter().map(|set| format!("{base}/{}", set.name)).collect();
        output.json(&json!({ "address": base, "toolsets": paths, "tokenFile": token }))?;
    } else {
        output.line(&base)?;
    }
    std::io::stdout().flush()?;
    match token {
        Some(file) => {
            output.remark(format!("clients send `Authorization: Bearer` with the token in `{}`", file.display()))
        }
        None => output.remark("every program of this machine can use it, because of `--no-auth`"),
    }
    Ok(())
}

/// Returns the project's token and its file. Creates it if there is none that only this user can read.
fn token_in(folder: &Path) -> Result<(String, PathBuf), ServiceError> {
    let path = folder.join(TOKEN_FILE);
    if let Some(token) = stored_token(&path) {
        return Ok((token, path));
    }
    let token = random_token()?;
    project_folder::make(folder).and_then(|()| write_private(&path, &token)).map_err(|error| {
        let message = format!("`{}` cannot be written: {error}", path.display());
        ServiceError::failed("not_written", message, "make the folder writable, or use `--no-auth`")
    })?;
    Ok((token, path))
}

/// Returns the token of an earlier start. Others may have read or written a file that is not this user's alone.
fn stored_token(path: &Path) -> Option<String> {
    let metadata = fs::symlink_metadata(path).ok()?;
    if !metadata.is_file() || !is_private(&metadata) || metadata.len() > 2 * TOKEN_DIGITS as u64 {
        return None;
    }
    let token = fs::read_to_string(path).ok()?.trim().to_owned();
    (token.len() == TOKEN_DIGITS && token.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(token)
}

#[cfg(unix)]
fn is_private(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.mode() & 0o077 == 0
}

#[cfg(not(unix))]
fn is_private(_metadata: &fs::Metadata) -> bool {
    true
}
