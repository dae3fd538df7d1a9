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
    without_roots(base()).no_proxy().build()
}

fn base() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_max_idle_per_host(crate::call::IN_FLIGHT)
}

#[cfg(feature = "_tls")]
fn config()
-> Result<rustls::ConfigBuilder<rustls::ClientConfig, rustls::WantsVerifier>, rustls::Error> {
    #[cfg(feature = "rustls")]
    let provider = rustls::crypto::ring::default_provider();
    #[cfg(not(feature = "rustls"))]
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    rustls::ClientConfig::builder_with_provider(std::sync::Arc::new(provider))
        .with_safe_default_protocol_versions()
}

/// Keeps reqwest from reading the platform's certificates for a client that needs none.
#[cfg(feature = "_tls")]
fn without_roots(builder: reqwest::ClientBuilder) -> reqwest::ClientBuilder {
    match config() {
        Ok(config) => {
            let roots = rustls::RootCertStore::empty();
            builder.tls_backend_preconfigured(
                config.with_root_certificates(roots).with_no_client_auth(),
            )
        }
        Err(_) => builder,
    }
}

#[cfg(not(feature = "_tls"))]
fn without_roots(builder: reqwest::ClientBuilder) -> reqwest::ClientBuilder {
    builder
}

#[cfg(feature = "_tls")]
fn tls() -> Result<reqwest::Client, String> {
    use rustls_platform_verifier::BuilderVerifierExt;

    let missing = |error: &dyn std::fmt::Display| {
        format!(
            "TLS cannot be set up ({error}): install the system's CA certificates (often the package ca-certificates)"
        )
    };
    let config = config()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|error| missing(&error))?
        .with_no_client_auth();
    base()
        .tls_backend_preconfigured(config)
        .build()
        .map_err(|error| missing(&error))
}

#[cfg(not(feature = "_tls"))]
fn tls() -> Result<reqwest::Client, String> {
    Err("this build has no TLS: enable the feature `rustls`".to_owned())
}

fn classify(error: reqwest::Error) -> TransportError {
    if error.is_connect() || error.is_builder() {
        TransportError::not_sent(error.without_url())
    } else {
        TransportError::perhaps_sent(error.without_url())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_for_loopback_is_built_without_certificates() {
        plain().unwrap();
    }

    #[tokio::test]
    async fn a_closed_port_is_a_request_that_was_never_sent() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        drop(listener);
        let request = http::Request::get(url).body(Bytes::new()).unwrap();
        let error = ReqwestTransport::default().send(request).await.unwrap_err();
        assert!(!error.may_have_been_sent(), "{error:?}");
    }

    #[cfg(feature = "_tls")]
    #[tokio::test]
    async fn an_https_request_meets_tls_and_says_why_it_fails() {
        let request = http::Request::get("https://127.0.0.1:1/")
            .body(Bytes::new())
            .unwrap();
        let error = ReqwestTransport::default().send(request).await.unwrap_err();
        assert!(!error.may_have_been_sent(), "{error:?}");
    }
}
