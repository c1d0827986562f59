//! Access tokens of an authorization server, for a server of this program as the protected resource of OAuth 2.1.
//!
//! A token is a JWT in the profile of RFC 9068, signed with a key that the authorization server publishes. It counts if
//! it was issued by that server, for this resource (RFC 8707), and has not expired. Clients learn which authorization
//! server it is from the metadata of the resource (RFC 9728). A token is never passed on.

mod keys;
mod signatures;

use std::sync::Arc;

use axum::http::HeaderMap;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use portolan_runtime::service::ServiceError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::principal::{Principal, Scope, Scopes};
use super::project_path::{PROJECTS, split};
use keys::IssuerKeys;

/// The path of the metadata of the resource. The path of the resource itself can follow.
pub(crate) const METADATA: &str = "/.well-known/oauth-protected-resource";

/// The signatures that are accepted. All have a public key: the server has no secret of the issuer.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];
/// The scopes that a client asks for if nobody tells it others: what an agent at work needs. Clients ask for all that the
/// metadata names, so that it does not name those of authors and of persons.
const ASKED: [Scope; 2] = [Scope::Navigate, Scope::Run];
/// The seconds by which the clocks of the two servers may differ.
const LEEWAY: u64 = 30;
/// The most bytes of a token.
const MAX_TOKEN: usize = 16 << 10;
/// The most characters of a holder's name.
const MAX_NAME: usize = 128;

/// An authorization server, and this server as its resource.
pub(crate) struct OAuth {
    /// The address of this server, without a path.
    resource: String,
    keys: IssuerKeys,
}

/// The claims of a token that are used here. The library checks the others.
#[derive(Deserialize)]
struct Claims {
    sub: String,
    /// A text: some libraries also accept lists.
    #[serde(rename = "iss")]
    _issuer: String,
    /// The key to which the token is bound: only its holder may use it, and nobody proves that here.
    #[serde(default)]
    cnf: Option<Value>,
    #[serde(default)]
    scope: Option<Value>,
    /// The name of `scope` at some authorization servers.
    #[serde(default)]
    scp: Option<Value>,
}

impl OAuth {
    /// Finds the keys of an authorization server by its metadata. `resource` is the address of this server, without a
    /// path.
    ///
    /// # Errors
    /// `no_issuer` if the metadata or the keys cannot be read, or are of another issuer.
    pub(crate) async fn discover(issuer: String, resource: String) -> Result<OAuth, ServiceError> {
        signatures::install();
        Ok(OAuth { resource, keys: IssuerKeys::discover(issuer).await? })
    }

    /// Reads the issuer's keys again, if the token of a request is signed with one that is not known.
    pub(crate) async fn learn(&self, headers: &HeaderMap) {
        let header = super::access::bearer(headers).filter(|token| token.len() <= MAX_TOKEN).map(decode_header);
        if let Some(Ok(header)) = header {
            self.keys.learn(header.kid.as_deref()).await;
        }
    }

    /// Returns the holder of a token, if it is valid at a path of this server.
    pub(super) fn holder(&self, token: &[u8], path: &str) -> Option<Principal> {
        if token.len() > MAX_TOKEN {
            return None;
        }
        let header = decode_header(token).ok()?;
        // An ID token of the same issuer is for the client, not for a resource.
        let kind = header.typ.as_deref().unwrap_or("JWT").to_ascii_lowercase();
        if !matches!(kind.as_str(), "jwt" | "at+jwt" | "application/at+jwt") || !ALGORITHMS.contains(&header.alg) {
            return None;
        }
        let key = self.keys.key(header.kid.as_deref(), header.alg)?;
        let mut validation = Validation::new(header.alg);
        validation.leeway = LEEWAY;
        validation.validate_nbf = true;
        validation.set_issuer(&[self.keys.issuer()]);
        validation.set_audience(&self.audiences(path));
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        let claims = decode::<Claims>(token, &key, &validation).ok()?.claims;
        // It stands in journals beside the name that the client gives itself.
        let is_plain = claims.sub.bytes().all(|byte| byte.is_ascii_graphic());
        if claims.sub.is_empty() || claims.sub.len() > MAX_NAME || !is_plain || claims.cnf.is_some() {
            return None;
        }
        let scopes = [claims.scope, claims.scp].iter().flatten().flat_map(named).collect();
        Some(Principal { name: Some(Arc::from(claims.sub)), scopes, projects: None })
    }

    /// Returns the resources whose tokens are valid at a path: the server, and each part of the path.
    fn audiences(&self, path: &str) -> Vec<String> {
        let ends = path.char_indices().skip(1).filter(|(_, c)| *c == '/').map(|(at, _)| at);
        let parts = ends.chain([path.len()]).map(|end| format!("{}{}", self.resource, &path[..end]));
        [self.resource.clone(), format!("{}/", self.resource)].into_iter().chain(parts).collect()
    }

    /// Returns the metadata of the resource at a path.
    pub(crate) fn metadata(&self, path: &str) -> Value {
        json!({
            "resource": format!("{}{path}", self.resource),
            "resource_name": "Portolan",
            "authorization_servers": [self.keys.issuer()],
            "scopes_supported": ASKED.map(Scope::name),
            "bearer_methods_supported": ["header"],
        })
    }

    /// Returns the `WWW-Authenticate` header for a request to a path, by which clients find the metadata.
    pub(super) fn challenge(&self, path: &str, has_token: bool) -> String {
        let error = if has_token { "error=\"invalid_token\", " } else { "" };
        format!("Bearer {error}resource_metadata=\"{}\"", self.metadata_address(path))
    }

    /// Returns the `WWW-Authenticate` header for a request whose token has too few scopes. It names those that the token has
    /// as well: clients ask for what it names, and would lose the others.
    pub(crate) fn insufficient_scope(&self, path: &str, scopes: Scopes, needed: Scope) -> String {
        let scopes = scopes.with(needed).names().join(" ");
        let address = self.metadata_address(path);
        format!("Bearer error=\"insufficient_scope\", scope=\"{scopes}\", resource_metadata=\"{address}\"")
    }

    /// Returns where the metadata of the resource at a path is.
    fn metadata_address(&self, path: &str) -> String {
        // What a client sent is no part of a header.
        let mcp = crate::mcp::HTTP_PATH;
        let path = match split(path) {
            Some((name, rest)) if rest.starts_with(mcp) => format!("{PROJECTS}/{name}{mcp}"),
            None if path.starts_with(mcp) => mcp.to_owned(),
            _ => String::new(),
        };
        format!("{}{METADATA}{path}", self.resource)
    }
}

/// Returns the scopes of a claim: a text with blanks, or a list. Those of other resources are not ours.
fn named(claim: &Value) -> Vec<Scope> {
    let words: Vec<&str> = match claim {
        Value::String(text) => text.split(' ').collect(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    words.into_iter().filter_map(Scope::named).collect()
}
