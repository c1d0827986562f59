//! `portolan serve --http`: its address, who is admitted, and what it prints.

use std::fmt;
use std::fs;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Args;
use portolan_runtime::project_folder;
use portolan_runtime::service::ServiceError;
use reqwest::Url;
use serde_json::{Value, json};

use crate::cli::Output;
use crate::http::oauth::OAuth;
use crate::http::project_path::PROJECTS;
use crate::http::tokens::TokenFile;
use crate::http::{Access, Holders, Listeners, MOST_CONNECTIONS, random_token, tls, write_private};
use crate::mcp::{self, Content, Metrics};
use crate::web::{self, StudioSettings};

/// The file in `.portolan` with the token. It is kept, so that clients need to be configured once.
const TOKEN_FILE: &str = "serve.token";
/// The length of a token, in hexadecimal digits.
const TOKEN_DIGITS: usize = 64;

#[derive(Args)]
pub(in crate::cli) struct HttpArgs {
    /// Serve over HTTP at this address, such as `127.0.0.1:7420`, for many clients at once.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
    /// Let every program of this machine use the server: clients send no token.
    #[arg(long, requires = "http", conflicts_with = "tokens")]
    no_auth: bool,
    /// Admit the clients whose tokens `portolan token new` has added to this file, also from other machines.
    #[arg(long, requires = "http", value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Admit the clients that have a token of this authorization server (OAuth 2.1) for the first address of `--url`.
    #[arg(long, requires = "url", conflicts_with_all = ["no_auth", "tokens"], value_name = "ISSUER")]
    oauth: Option<String>,
    /// The address by which clients reach the server, such as `https://agents.example.org`. May be given several times.
    #[arg(long, requires = "http", value_name = "URL", value_parser = origin)]
    url: Vec<Origin>,
    /// Encrypt connections with this certificate and its key, two PEM files.
    #[arg(long, requires = "http", num_args = 2, value_names = ["CERTIFICATE", "KEY"])]
    tls: Vec<PathBuf>,
    /// Keep at most this number of connections open, and answer others with the status 503.
    #[arg(long, requires = "http", value_name = "NUMBER", default_value_t = MOST_CONNECTIONS, value_parser = connections)]
    max_connections: usize,
}

impl HttpArgs {
    /// Returns the address to listen on; port 0 is any free one. `None` if clients do not connect over HTTP.
    pub(in crate::cli) fn address(&self) -> Result<Option<SocketAddr>, ServiceError> {
        let Some(given) = &self.http else { return Ok(None) };
        let refused = |message, help| Err(ServiceError::refused("usage", message, help));
        let named = given.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
        let Ok(address) = named.as_deref().unwrap_or(given).parse::<SocketAddr>() else {
            let message = format!("`--http {given}` is not an address with a port");
            return refused(message, "write it as in `--http 127.0.0.1:7420`");
        };
        if is_own(address.ip()) {
            return Ok(Some(address));
        }
        if self.tokens.is_none() && self.oauth.is_none() {
            let message = format!("`--http {given}` can be reached from other machines, whose clients need tokens");
            return refused(message, "add `--tokens FILE` with a file of `portolan token new`, or `--oauth ISSUER`");
        }
        if address.ip().is_unspecified() && self.url.is_empty() {
            let message = format!("`--http {given}` does not say by which address clients reach the server");
            return refused(message, "add `--url`, as in `--url https://agents.example.org`");
        }
        Ok(Some(address))
    }

    /// Refuses an address that other machines can reach. The studio admits whoever has the address that is printed.
    pub(super) fn must_be_own(address: Option<SocketAddr>) -> Result<(), ServiceError> {
        let Some(address) = address.filter(|address| !is_own(address.ip())) else { return Ok(()) };
        let message = format!("`--studio` shows the studio on this machine only, but others can reach `{address}`");
        let help =
            "leave `--studio` out, and start `portolan studio` on this machine; `ssh -L` reaches it from another one";
        Err(ServiceError::refused("usage", message, help))
    }

    /// Returns whether clients connect over HTTP.
    pub(in crate::cli) fn is_given(&self) -> bool {
        self.http.is_some()
    }

    /// Returns the addresses of the server besides those of this machine's own names. `bound` is what is listened on.
    fn addresses(&self, bound: SocketAddr) -> Vec<String> {
        let literal = !is_own(bound.ip()) && !bound.ip().is_unspecified();
        let literal = literal.then(|| format!("{}://{bound}", self.scheme()));
        self.url.iter().map(Origin::to_string).chain(literal).collect()
    }

    fn scheme(&self) -> &'static str {
        if self.tls.is_empty() { "http" } else { "https" }
    }

    /// Returns the address that clients are told.
    fn base(&self, bound: SocketAddr) -> String {
        let scheme = self.scheme();
        match self.url.first() {
            Some(url) => url.to_string(),
            None if is_own(bound.ip()) => format!("{scheme}://127.0.0.1:{}", bound.port()),
            None => format!("{scheme}://{bound}"),
        }
    }
}

/// Parses a number of connections.
fn connections(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=1_000_000) => Ok(number),
        _ => Err("write a number from 1 to 1000000".to_owned()),
    }
}

/// An address without a path.
#[derive(Clone, Debug)]
struct Origin {
    scheme: &'static str,
    /// The name, with the port unless it is that of the scheme.
    host: String,
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}://{}", self.scheme, self.host)
    }
}

/// Parses an address without a path.
fn origin(text: &str) -> Result<Origin, String> {
    let shape = "write a scheme and a name, without a path, as in `https://agents.example.org`";
    let url = Url::parse(text).map_err(|error| format!("{error}: {shape}"))?;
    let scheme = match url.scheme() {
        "https" => "https",
        "http" => "http",
        _ => return Err("the scheme must be `https` or `http`".to_owned()),
    };
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let is_anonymous = url.username().is_empty() && url.password().is_none();
    let name = url.host_str().filter(|name| is_bare && is_anonymous && !name.contains('*') && url.port() != Some(0));
    let name = name.ok_or(shape)?;
    Ok(Origin { scheme, host: url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}")) })
}

/// Checks whether an address is one of the two that both are listened on for programs of this machine.
fn is_own(ip: IpAddr) -> bool {
    ip == Ipv4Addr::LOCALHOST || ip == Ipv6Addr::LOCALHOST
}

/// How clients are admitted, with the file that they are told of.
struct Admission {
    holders: Holders,
    file: Option<PathBuf>,
}

impl Admission {
    /// `folder` is where the server's own token is kept.
    async fn of(args: &HttpArgs, folder: &Path) -> Result<Admission, ServiceError> {
        if let (Some(issuer), Some(url)) = (&args.oauth, args.url.first()) {
            let oauth = OAuth::discover(issuer.clone(), url.to_string()).await?;
            return Ok(Admission { holders: Holders::Issued(oauth), file: None });
        }
        if args.no_auth {
            return Ok(Admission { holders: Holders::Everyone, file: None });
        }
        if let Some(file) = &args.tokens {
            return Ok(Admission { holders: Holders::Named(TokenFile::open(file.clone())?), file: Some(file.clone()) });
        }
        let (token, file) = token_in(folder)?;
        Ok(Admission { holders: Holders::Shared(token), file: Some(file) })
    }

    /// Returns what a client needs to be admitted.
    fn described(&self) -> String {
        let file = self.file.as_deref().unwrap_or(Path::new("")).display();
        match &self.holders {
            Holders::Everyone => "every program of this machine can use it, because of `--no-auth`".to_owned(),
            Holders::Shared(_) => format!("clients send `Authorization: Bearer` with the token in `{file}`"),
            Holders::Issued(_) => "clients send a token of the authorization server".to_owned(),
            Holders::Named(tokens) if tokens.is_empty() => {
                format!("no client is admitted: no token is issued in `{file}` yet")
            }
            Holders::Named(_) => {
                format!("clients send `Authorization: Bearer` with a token that is issued in `{file}`")
            }
        }
    }
}

/// Serves over HTTP until a signal arrives, with the studio's page beside if one is given.
pub(in crate::cli) fn serve(
    content: Content,
    address: SocketAddr,
    args: &HttpArgs,
    page: Option<StudioSettings>,
    metrics: Metrics,
    output: &Output,
) -> anyhow::Result<()> {
    let tls = match args.tls.as_slice() {
        [certificate, key] => Some(tls::config(certificate, key)?),
        _ => None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let folder = match &content {
            Content::Project(service, _) => service.project().join(".portolan"),
            // With `.portolan` in it, commands in the projects would take this folder for theirs.
            Content::Folder(folder) => folder.path.join(".portolan-serve"),
        };
        let admission = Admission::of(args, &folder).await?;
        let mut listeners = match is_own(address.ip()) {
            true => Listeners::on_loopback(Some(address.port()).filter(|port| *port != 0)).await?,
            false => Listeners::at(address).await?,
        };
        listeners = listeners.bounded(args.max_connections);
        let bound = SocketAddr::new(address.ip(), listeners.port());
        let (beside, page) = page.map(|page| web::beside(page, args.scheme(), bound.port())).transpose()?.unzip();
        print_address(output, &args.base(bound), bound, &admission, &content, page.as_deref())?;
        if tls.is_none() && !is_own(address.ip()) {
            output.remark("connections are not encrypted here: use `--tls`, or a proxy that encrypts them");
        }
        if let Some(config) = tls {
            listeners = listeners.encrypted(config);
        }
        let access = Access::new(args.scheme(), bound.port(), admission.holders).at(args.addresses(bound));
        mcp::serve_http(content, listeners, access, beside, metrics).await
    })?;
    // Work that does not end must not delay the process.
    runtime.shutdown_background();
    Ok(())
}

/// Prints the address, and how clients get in.
fn print_address(
    output: &Output,
    base: &str,
    bound: SocketAddr,
    admission: &Admission,
    content: &Content,
    page: Option<&str>,
) -> anyhow::Result<()> {
    let (path, names) = match content {
        Content::Project(_, sets) => (mcp::HTTP_PATH.to_owned(), sets.iter().map(|set| set.name).collect()),
        Content::Folder(folder) => (format!("{PROJECTS}/NAME{}", mcp::HTTP_PATH), folder.toolsets.clone()),
    };
    let address = format!("{base}{path}");
    if output.is_json() {
        let paths: Vec<String> = names.iter().map(|name| format!("{address}/{name}")).collect();
        let file = if matches!(admission.holders, Holders::Named(_)) { "tokensFile" } else { "tokenFile" };
        let object = json!({ "address": address, "listening": bound, "toolsets": paths, file: admission.file });
        output.json(&with_page(object, page))?;
    } else {
        output.line(&address)?;
        page.map_or(Ok(()), |page| output.line(page))?;
    }
    std::io::stdout().flush()?;
    if let Content::Folder(folder) = content {
        output.remark(format!("NAME is the name of a folder in `{}`", folder.path.display()));
    }
    if !address.contains(&format!(":{}/", bound.port())) {
        output.remark(format!("it listens on `{bound}`"));
    }
    output.remark(admission.described());
    Ok(())
}

fn with_page(mut object: Value, page: Option<&str>) -> Value {
    if let (Some(page), Some(fields)) = (page, object.as_object_mut()) {
        fields.insert("studio".to_owned(), page.into());
    }
    object
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
