//! The default transport, based on reqwest.
//!
//! It keeps two connection pools, one without TLS for http and one with TLS, and creates each on its
//! first use.

use std::error::Error as StdError;
use std::fmt;
#[cfg(feature = "_tls")]
use std::sync::OnceLock;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};
use http_body_util::BodyExt;
use url::Url;

use super::{ConnectionOptions, ResponseFuture, Transport, TransportError};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct ReqwestTransport {
    options: ConnectionOptions,
    max_idle_connections: usize,
    http: Pool,
    https: Pool,
    /// The TLS configuration, which outlives the connections: loading certificates takes long.
    #[cfg(feature = "_tls")]
    tls: OnceLock<Result<rustls::ClientConfig, String>>,
}

/// A reqwest client, whose connections are discarded together with it.
#[derive(Default)]
struct Pool(Mutex<PoolState>);

#[derive(Default)]
struct PoolState {
    client: Option<Result<reqwest::Client, String>>,
    last_host: Option<Host>,
}

/// The host of the last request, as the next one is probably for the same.
struct Host {
    authority: Authority,
    /// A URL of it: parsing a host takes longer than parsing a path.
    url: Url,
    header: Option<HeaderValue>,
}

impl Pool {
    /// Returns the client, and the URL of a request with this pool's scheme, whose `Host` it sets.
    fn prepare(
        &self,
        request: &mut http::Request<Bytes>,
        build: impl FnOnce() -> Result<reqwest::Client, String>,
    ) -> Result<(reqwest::Client, Url), TransportError> {
        let mut state = self.state();
        let client = state.client.get_or_insert_with(build).clone();
        let client = client.map_err(TransportError::setup)?;
        let authority = request.uri().authority();
        let authority =
            authority.ok_or_else(|| TransportError::not_sent("a URL without a host"))?;
        let host = match state.last_host.take() {
            Some(host) if host.authority.as_str() == authority.as_str() => host,
            _ => {
                let url = parse_url(request.uri())?;
                let name = Some(url.authority()).filter(|name| !name.contains('@'));
                Host {
                    authority: authority.clone(),
                    header: name.and_then(|name| HeaderValue::from_str(name).ok()),
                    url,
                }
            }
        };
        let mut url = host.url.clone();
        url.set_path(request.uri().path());
        url.set_query(request.uri().query());
        // Otherwise the header would be formatted for each request.
        if let Some(name) = &host.header {
            let entry = request.headers_mut().entry(HOST);
            entry.or_insert_with(|| name.clone());
        }
        state.last_host = Some(host);
        Ok((client, url))
    }

    fn discard(&self) {
        self.state().client = None;
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn parse_url(uri: &Uri) -> Result<Url, TransportError> {
    Url::parse(&uri.to_string()).map_err(TransportError::not_sent)
}

impl ReqwestTransport {
    pub(crate) fn new(options: ConnectionOptions, max_idle_connections: usize) -> Self {
        Self {
            options,
            max_idle_connections,
            http: Pool::default(),
            https: Pool::default(),
            #[cfg(feature = "_tls")]
            tls: OnceLock::new(),
        }
    }

    fn client_builder(&self) -> reqwest::ClientBuilder {
        let builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(self.options.connect_timeout.unwrap_or(CONNECT_TIMEOUT))
            .pool_max_idle_per_host(self.max_idle_connections);
        match self.options.read_timeout {
            Some(timeout) => builder.read_timeout(timeout),
            None => builder,
        }
    }

    /// Builds the client for http, which uses neither a proxy nor TLS.
    fn http_client(&self) -> reqwest::Result<reqwest::Client> {
        with_empty_root_store(self.client_builder())
            .no_proxy()
            .build()
    }

    #[cfg(feature = "_tls")]
    fn https_client(&self) -> Result<reqwest::Client, String> {
        use rustls_platform_verifier::BuilderVerifierExt;

        let setup_failed = |error: &dyn std::fmt::Display| {
            format!(
                "TLS setup failed ({error}): install the system's CA certificates (usually the package ca-certificates)"
            )
        };
        super::proxy::check_environment(|name| std::env::var(name).ok())?;
        let config = self.tls.get_or_init(|| {
            let config = tls_config()
                .and_then(BuilderVerifierExt::with_platform_verifier)
                .map_err(|error| setup_failed(&error))?;
            Ok(config.with_no_client_auth())
        });
        self.client_builder()
            .tls_backend_preconfigured(config.clone()?)
            .build()
            .map_err(|error| setup_failed(&error))
    }

    #[cfg(not(feature = "_tls"))]
    #[expect(clippy::unused_self, reason = "a build with TLS uses its settings")]
    fn https_client(&self) -> Result<reqwest::Client, String> {
        Err("this build does not support TLS: enable the feature `rustls`".to_owned())
    }
}

impl Transport for ReqwestTransport {
    fn send(&self, mut request: http::Request<Bytes>) -> ResponseFuture {
        let is_http = request.uri().scheme() == Some(&Scheme::HTTP);
        let prepared = if is_http {
            let build = || self.http_client().map_err(|error| error.to_string());
            self.http.prepare(&mut request, build)
        } else {
            self.https.prepare(&mut request, || self.https_client())
        };
        match prepared {
            Ok((client, url)) => execute(&client, url, request, Redirects::Never),
            Err(error) => fail(error),
        }
    }

    fn reconnect(&self) {
        self.http.discard();
        self.https.discard();
    }
}

/// Whether a client may follow redirects although it should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Redirects {
    /// It was built here, without them.
    Never,
    /// The program built it.
    #[cfg(feature = "reqwest-client")]
    Unknown,
}

/// Returns a future that fails.
pub(super) fn fail(error: TransportError) -> ResponseFuture {
    Box::pin(std::future::ready(Err(error)))
}

/// Sends a request with a client that does not follow redirects. `url` is the request's.
///
/// A response to another URL is an error, as a client of the program's own may follow them.
pub(super) fn execute(
    client: &reqwest::Client,
    url: Url,
    request: http::Request<Bytes>,
    redirects: Redirects,
) -> ResponseFuture {
    let (head, body) = request.into_parts();
    let is_read = head.method == http::Method::GET;
    let expected_url = (redirects != Redirects::Never).then(|| url.clone());
    let mut request = reqwest::Request::new(head.method, url);
    *request.headers_mut() = head.headers;
    *request.body_mut() = Some(body.into());
    let sending = client.execute(request);
    Box::pin(async move {
        let response = sending.await.map_err(into_transport_error)?;
        if expected_url.is_some_and(|url| url != *response.url()) {
            return Err(redirected(is_read));
        }
        Ok(http::Response::from(response).map(|body| body.map_err(connection_lost).boxed_unsync()))
    })
}

fn redirected(is_read: bool) -> TransportError {
    let reason = "the reqwest client followed a redirect: build it with redirect::Policy::none()";
    match is_read {
        // It would be redirected again.
        true => TransportError::setup(reason),
        false => TransportError::maybe_sent(reason),
    }
}

#[cfg(feature = "_tls")]
fn tls_config()
-> Result<rustls::ConfigBuilder<rustls::ClientConfig, rustls::WantsVerifier>, rustls::Error> {
    #[cfg(feature = "rustls")]
    let provider = rustls::crypto::ring::default_provider();
    #[cfg(not(feature = "rustls"))]
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    rustls::ClientConfig::builder_with_provider(std::sync::Arc::new(provider))
        .with_safe_default_protocol_versions()
}

/// Configures TLS without root certificates, so that reqwest does not load those of the platform
/// for a client that never uses them.
#[cfg(feature = "_tls")]
pub(super) fn with_empty_root_store(builder: reqwest::ClientBuilder) -> reqwest::ClientBuilder {
    match tls_config() {
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
pub(super) fn with_empty_root_store(builder: reqwest::ClientBuilder) -> reqwest::ClientBuilder {
    builder
}

pub(super) fn into_transport_error(error: reqwest::Error) -> TransportError {
    if error.is_builder() {
        TransportError::setup(error.without_url())
    } else if let Some(reason) = tls_failure(&error).filter(|_| error.is_connect()) {
        TransportError::setup(reason)
    } else if error.is_connect() {
        TransportError::not_sent(ConnectionFailure::from(error))
    } else {
        connection_lost(error)
    }
}

fn connection_lost(error: reqwest::Error) -> TransportError {
    TransportError::maybe_sent(ConnectionFailure::from(error))
}

/// The failure of a connection, with its cause in plain words in front of the libraries' errors.
#[derive(Debug)]
struct ConnectionFailure {
    reason: String,
    source: reqwest::Error,
}

impl From<reqwest::Error> for ConnectionFailure {
    fn from(error: reqwest::Error) -> Self {
        let source = error.without_url();
        Self {
            reason: reason_of(&source),
            source,
        }
    }
}

impl fmt::Display for ConnectionFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl StdError for ConnectionFailure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.source)
    }
}

/// Returns the innermost cause, such as `connection refused`.
fn reason_of(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "timed out".to_owned();
    }
    let mut cause: &dyn StdError = error;
    let mut is_dns = false;
    while let Some(source) = cause.source() {
        cause = source;
        is_dns |= cause.to_string() == "dns error";
    }
    if is_dns {
        return "the host name could not be resolved".to_owned();
    }
    let text = cause.to_string();
    let text = text.split(" (os error ").next().unwrap_or_default();
    // These name the part of a library that failed, and no cause.
    if text.is_empty() || text.starts_with("client error") || text.starts_with("error ") {
        return "the connection was closed".to_owned();
    }
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Describes a TLS handshake that failed by what either side said or showed, such as a certificate
/// that is not trusted. The next one would fail too.
#[cfg(feature = "_tls")]
fn tls_failure(error: &(dyn StdError + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        // An `io::Error` names the source of what it wraps in place of what it wraps.
        let wrapped = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        let tls = wrapped.map_or_else(
            || error.downcast_ref::<rustls::Error>(),
            |wrapped| wrapped.downcast_ref::<rustls::Error>(),
        );
        if let Some(tls) = tls {
            return Some(match tls {
                rustls::Error::InvalidCertificate(_) => {
                    format!("TLS failed ({tls}): the system must trust the server's certificate")
                }
                rustls::Error::InvalidMessage(_) => {
                    format!("TLS failed ({tls}): the server does not use TLS at this port")
                }
                _ => format!("TLS failed ({tls})"),
            });
        }
        next = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    None
}

#[cfg(not(feature = "_tls"))]
fn tls_failure(_: &(dyn StdError + 'static)) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::call::clock;
    use crate::transport::Body;

    fn transport() -> ReqwestTransport {
        ReqwestTransport::new(ConnectionOptions::default(), 1)
    }

    #[test]
    fn http_client_is_built_without_certificates() {
        transport().http_client().unwrap();
    }

    #[test]
    fn the_host_of_an_earlier_request_gives_the_same_url() {
        let pool = Pool::default();
        for (url, host) in [
            ("http://a.localhost:80/x/../y?q=1", Some("a.localhost")),
            ("http://a.localhost:80/a%20b%2Fc", Some("a.localhost")),
            ("http://[::1]:4010/?", Some("[::1]:4010")),
            ("http://A.localhost:80/", Some("a.localhost")),
            ("http://user@a.localhost/", None),
        ] {
            for _ in 0..2 {
                let mut request = http::Request::get(url).body(Bytes::new()).unwrap();
                let build = || transport().http_client().map_err(|error| error.to_string());
                let (_, prepared) = pool.prepare(&mut request, build).unwrap();
                assert_eq!(prepared, Url::parse(url).unwrap());
                let header = request.headers().get(HOST);
                assert_eq!(header.map(|value| value.to_str().unwrap()), host);
            }
        }
    }

    #[tokio::test]
    async fn request_to_closed_port_is_not_sent() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        drop(listener);
        let request = http::Request::get(url).body(Bytes::new()).unwrap();
        let error = transport().send(request).await.unwrap_err();
        assert!(!error.may_have_been_sent(), "{error:?}");
        assert_eq!(error.source().unwrap().to_string(), "connection refused");
    }

    #[tokio::test]
    async fn the_cause_of_a_failed_connection_is_in_plain_words() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let closed = format!("http://{}/", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let _ = stream.unwrap().read(&mut [0; 4096]);
            }
        });
        for (url, reason) in [
            (
                closed.as_str(),
                "connection closed before message completed",
            ),
            (
                "http://no-such-host.invalid/",
                "the host name could not be resolved",
            ),
        ] {
            let request = http::Request::get(url).body(Bytes::new()).unwrap();
            let error = transport().send(request).await.unwrap_err();
            assert_eq!(error.source().unwrap().to_string(), reason);
        }
    }

    /// Answers requests on connections that are kept open, and counts those that were opened.
    fn start_server() -> (String, Arc<AtomicUsize>) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let opened = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&opened);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                count.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    let (mut stream, mut request) = (stream.unwrap(), [0; 4096]);
                    while stream.read(&mut request).is_ok_and(|length| length > 0) {
                        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                        stream.write_all(head).unwrap();
                    }
                });
            }
        });
        (url, opened)
    }

    #[tokio::test]
    async fn requests_after_a_reconnect_use_a_new_connection() {
        let (url, opened) = start_server();
        let transport = transport();
        let send = async || {
            let request = http::Request::get(&url).body(Bytes::new()).unwrap();
            transport.send(request).await.unwrap().into_body()
        };
        let read = async |body: Body| body.collect().await.unwrap().to_bytes();
        assert_eq!(read(send().await).await, "ok");
        // The connection is put back into the pool meanwhile.
        clock::sleep(Duration::from_millis(50)).await;
        let in_flight = send().await;
        let before = opened.load(Ordering::SeqCst);

        transport.reconnect();
        assert_eq!(read(in_flight).await, "ok");
        assert_eq!(read(send().await).await, "ok");
        assert!(opened.load(Ordering::SeqCst) > before);
    }

    #[cfg(feature = "_tls")]
    #[tokio::test]
    async fn failed_tls_handshake_is_a_setup_error() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            use tokio::io::AsyncWriteExt;

            let (mut connection, _) = listener.accept().await.unwrap();
            connection
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .await
                .unwrap();
            connection.readable().await.unwrap();
        });
        let request = http::Request::get(url).body(Bytes::new()).unwrap();
        let error = transport().send(request).await.unwrap_err();
        assert!(error.is_setup() && !error.may_have_been_sent(), "{error:?}");
    }

    #[cfg(feature = "_tls")]
    #[tokio::test]
    async fn failed_https_connection_is_not_sent() {
        let request = http::Request::get("https://127.0.0.1:1/")
            .body(Bytes::new())
            .unwrap();
        let error = transport().send(request).await.unwrap_err();
        assert!(!error.may_have_been_sent(), "{error:?}");
    }
}
