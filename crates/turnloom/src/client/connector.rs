//! How a daemon is connected to. One that is reached through a proxy is trusted if this machine trusts its certificate.

use std::io;
use std::sync::Arc;

use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::{ClientConfig, RootCertStore};

pub(super) type Connector = HttpsConnector<HttpConnector>;

/// For this address. Certificates are read only where they are needed.
pub(super) fn to(url: &str) -> io::Result<Connector> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let config = if url.starts_with("https://") {
        config.with_native_roots()?
    } else {
        config.with_root_certificates(RootCertStore::empty())
    };
    let config = config.with_no_client_auth();
    Ok(HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1().build())
}
