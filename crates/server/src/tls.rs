//! TLS from a certificate and its key, as PEM files.

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use scumble_engine::{Error, Result};
use std::path::Path;
use std::sync::Arc;

/// What a server needs for TLS 1.2 and 1.3.
pub(crate) fn config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>> {
    let wrong = |path: &Path, what: &str, error: &dyn std::fmt::Display| {
        Error::input(format!("{} is not {what} as PEM ({error})", path.display()))
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(|all| all.collect())
        .map_err(|error| wrong(certificate, "a certificate", &error))?;
    if chain.is_empty() {
        return Err(wrong(certificate, "a certificate", &"there is none in it"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, "a private key", &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::machine(format!("TLS is not available ({error})")))?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| wrong(key, "the key of the certificate", &error))?;
    let mut config = config;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
