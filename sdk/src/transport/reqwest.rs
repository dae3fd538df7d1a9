//! The transport on reqwest: one pool of connections without TLS for loopback, one with TLS, each
//! made when it is first needed.

use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;

use super::{Sending, Transport, TransportError};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct ReqwestTransport {
    plain: OnceLock<Result<reqwest::Client, String>>,
    tls: OnceLock<Result<reqwest::Client, String>>,
}

impl Transport for ReqwestTransport {
    fn send(&self, request: http::Request<Bytes>) -> Sending {
        let client = match request.uri().scheme_str() {
            Some("http") => self
                .plain
                .get_or_init(|| plain().map_err(|error| error.to_string())),
            _ => self.tls.get_or_init(tls),
        };
        let prepared = match client {
            Ok(client) => reqwest::Request::try_from(request)
                .map(|request| (client.clone(), request))
                .map_err(TransportError::not_sent),
            Err(reason) => Err(TransportError::not_sent(reason.clone())),
        };
        Box::pin(async move {
            let (client, request) = prepared?;
            let response = client.execute(request).await.map_err(classify)?;
            Ok(http::Response::from(response)
                .map(|body| body.map_err(TransportError::perhaps_sent).boxed_unsync()))
        })
    }
}

/// For loopback only: no proxy, and none of the cost of TLS.
fn plain() -> reqwest::Result<reqwest::Client> {
    let builder = base();
    #[cfg(feature = "rustls")]
    let builder = builder.tls_backend_preconfigured(without_roots());
    builder.no_proxy().build()
}

fn base() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_max_idle_per_host(crate::call::IN_FLIGHT)
        .retry(reqwest::retry::never())
}

#[cfg(feature = "rustls")]
fn provider() -> std::sync::Arc<rustls::crypto::CryptoProvider> {
    std::sync::Arc::new(rustls::crypto::ring::default_provider())
}

#[cfg(feature = "rustls")]
fn without_roots() -> Option<rustls::ClientConfig> {
    let builder = rustls::ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .ok()?;
    Some(
        builder
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth(),
    )
}

#[cfg(feature = "rustls")]
fn tls() -> Result<reqwest::Client, String> {
    use rustls_platform_verifier::BuilderVerifierExt;

    let missing = |error: &dyn std::fmt::Display| {
        format!(
            "TLS cannot be set up ({error}): install the system's CA certificates (often the package ca-certificates)"
        )
    };
    let config = rustls::ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|error| missing(&error))?
        .with_no_client_auth();
    base()
        .tls_backend_preconfigured(config)
        .build()
        .map_err(|error| missing(&error))
}

#[cfg(not(feature = "rustls"))]
fn tls() -> Result<reqwest::Client, String> {
    if cfg!(feature = "native-tls") {
        base()
            .build()
            .map_err(|error| format!("TLS cannot be set up: {error}"))
    } else {
        Err("this build has no TLS: enable the feature `rustls` or `native-tls`".to_owned())
    }
}

fn classify(error: reqwest::Error) -> TransportError {
    if error.is_connect() || error.is_builder() {
        TransportError::not_sent(error.without_url())
    } else {
        TransportError::perhaps_sent(error.without_url())
    }
}
