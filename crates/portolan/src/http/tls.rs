//! The certificate with which a server encrypts its connections.

use std::path::Path;
use std::sync::Arc;

use portolan_runtime::service::ServiceError;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{Error, ServerConfig, version};

/// Reads a certificate with its chain, and its key, both as PEM.
///
/// # Errors
/// `bad_certificate` if a file cannot be read, or they do not belong together.
pub(crate) fn config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, ServiceError> {
    let refused = |what: &str, path: &Path, why: String| {
        let message = format!("the {what} `{}` cannot be used: {why}", path.display());
        ServiceError::refused("bad_certificate", message, "name a PEM file with the chain, then one with its key")
    };
    let unread = |what: &str, path: &Path, error: pem::Error| {
        let why = match error {
            pem::Error::NoItemsFound => "it has none; keys with a passphrase are not supported".to_owned(),
            error => error.to_string(),
        };
        refused(what, path, why)
    };
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|error| unread("certificate", certificate, error))?;
    if chain.is_empty() {
        return Err(refused("certificate", certificate, "it has none".to_owned()));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unread("key", key, error))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_protocol_versions(&[&version::TLS13, &version::TLS12]);
    let builder = builder.map_err(|error| refused("certificate", certificate, error.to_string()))?;
    let config = builder.with_no_client_auth().with_single_cert(chain, private);
    let mut config = config.map_err(|error| match error {
        Error::InconsistentKeys(_) => refused("key", key, "it is not the key of the certificate".to_owned()),
        Error::General(_) => {
            refused("key", key, "it is none of RSA from 2048 bits, P-256, P-384 or Ed25519".to_owned())
        }
        error => refused("certificate", certificate, error.to_string()),
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
