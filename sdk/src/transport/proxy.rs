//! The proxies that the environment names, for https.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use http::uri::Scheme;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::failure::BoxError;

/// The variables that name the proxy for https, the more specific first.
const VARIABLES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Checks the proxy that the environment names. [`Matcher`] ignores one that it cannot use, and
/// connecting without it is not what was asked for.
pub(super) fn check_environment(variable: impl Fn(&str) -> Option<String>) -> Result<(), String> {
    let set = VARIABLES
        .into_iter()
        .find_map(|name| Some((name, variable(name).filter(|value| !value.is_empty())?)));
    match set {
        Some((name, value)) if !is_proxy_url(&value) => Err(format!(
            "invalid proxy URL in {name}: expected a URL such as http://proxy.example:3128"
        )),
        _ => Ok(()),
    }
}

fn is_proxy_url(value: &str) -> bool {
    let proxy = Matcher::builder()
        .https(value.to_owned())
        .build()
        .intercept(&Uri::from_static("https://any.example"));
    proxy.is_some_and(|proxy| {
        let uri = proxy.uri();
        let has_valid_port = uri.authority().is_some_and(|authority| {
            // A host that ends with a colon has an empty port.
            authority.port_u16().is_some() || authority.as_str().ends_with(authority.host())
        });
        matches!(uri.scheme_str(), Some("http" | "https")) && has_valid_port
    })
}

/// Connects to hosts over TCP: through a tunnel of the proxy that is set for them, or directly.
#[derive(Clone)]
pub(super) struct ProxyConnector {
    proxies: Arc<Matcher>,
    /// With TLS for proxies that are reached by https.
    connector: HttpsConnector<HttpConnector>,
}

impl ProxyConnector {
    pub(super) fn new(
        proxies: Matcher,
        connector: HttpConnector,
        tls: Arc<rustls::ClientConfig>,
    ) -> Self {
        Self { proxies: Arc::new(proxies), connector: HttpsConnector::from((connector, tls)) }
    }
}

impl Service<Uri> for ProxyConnector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let Some(proxy) = self.proxies.intercept(&uri) else {
            return match without_tls(&uri) {
                Ok(uri) => self.connector.call(uri),
                Err(error) => Box::pin(std::future::ready(Err(error.into()))),
            };
        };
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.connector.clone());
        if let Some(auth) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(auth.clone());
        }
        Box::pin(async move { Ok(tunnel.call(uri).await?) })
    }
}

/// Returns the URL by which the host of an https URL is reached without TLS at the same port: TLS with the
/// host comes on top of the connection.
fn without_tls(uri: &Uri) -> Result<Uri, http::Error> {
    let host = uri.host().unwrap_or_default();
    let port = uri.port_u16().unwrap_or(443);
    Uri::builder()
        .scheme(Scheme::HTTP)
        .authority(format!("{host}:{port}"))
        .path_and_query("/")
        .build()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn check(variables: &[(&str, &str)]) -> Result<(), String> {
        check_environment(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn an_invalid_proxy_is_named_without_its_password() {
        for value in [
            "http://[",
            "http://user:canary@[::",
            "://",
            "socks5://user:canary@127.0.0.1:1080",
            "proxy.example:x",
            "http://user:canary@proxy.example:99999",
        ] {
            let error = check(&[("HTTPS_PROXY", value)]).unwrap_err();
            assert!(error.contains("HTTPS_PROXY") && !error.contains("canary"), "{error}");
        }
        let shadowed = [("HTTPS_PROXY", "http://127.0.0.1:1"), ("ALL_PROXY", "http://[")];
        assert_eq!(check(&shadowed), Ok(()));
        for value in ["", "http://127.0.0.1:3128", "proxy.example:3128", "http://user:pass@[::1]"] {
            assert_eq!(check(&[("all_proxy", value)]), Ok(()), "{value}");
        }
    }

    /// Connects to a URL. A server on this machine plays the proxy or the host; what it received before it
    /// answered is returned.
    async fn connect(proxies: impl Fn(u16) -> Matcher, url: impl Fn(u16) -> String) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let provider = crate::transport::hyper::crypto_provider();
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        let mut connector = ProxyConnector::new(proxies(port), tcp, Arc::new(tls));
        let connecting = tokio::spawn(connector.call(url(port).parse().unwrap()));
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut received = Vec::new();
        while !connecting.is_finished() {
            let mut part = [0; 1024];
            tokio::select! {
                length = connection.read(&mut part) => received.extend_from_slice(&part[..length.unwrap()]),
                () = tokio::task::yield_now() => {}
            }
            if received.ends_with(b"\r\n\r\n") {
                connection.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            }
        }
        connecting.await.unwrap().unwrap();
        String::from_utf8(received).unwrap()
    }

    #[tokio::test]
    async fn a_host_is_reached_by_its_proxy_or_directly() {
        let proxy = |port| format!("http://user:password@127.0.0.1:{port}");
        let host = |_| "https://api.example".to_owned();
        let received = connect(|port| Matcher::builder().all(proxy(port)).build(), host).await;
        assert_eq!(
            received,
            "CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\
             Proxy-Authorization: Basic dXNlcjpwYXNzd29yZA==\r\n\r\n"
        );
        let address = |port| format!("https://127.0.0.1:{port}");
        let excluded = |_| Matcher::builder().all(proxy(1)).no("127.0.0.1").build();
        assert_eq!(connect(excluded, address).await, "");
    }
}
