//! The default transport, based on hyper and rustls.
//!
//! It keeps two connection pools, one without TLS for http and one with TLS, and creates each on its
//! first use. It does not use reqwest: a TLS feature of reqwest that this crate enables would change
//! the reqwest clients of the whole program.

use std::io;
use std::pin::Pin;
use std::sync::Mutex;
#[cfg(feature = "_tls")]
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::ACCEPT;
use http::uri::Scheme;
use http::{HeaderValue, Uri};
use http_body_util::{BodyExt, StreamBody};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
#[cfg(feature = "_tls")]
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
#[cfg(feature = "_tls")]
use rustls::crypto::CryptoProvider;
use tower_service::Service;

use super::failure::{BoxError, connection_lost, failed_to_send};
use super::limited_body::{LimitedBody, SendLimitPassed};
#[cfg(feature = "_tls")]
use super::proxy::{ProxyConnector, check_environment};
use super::{Body, ConnectionOptions, ResponseFuture, Transport, TransportError};
use crate::lock::lock;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// The interval of keep-alive probes, and the number of unanswered ones after which a connection is dead.
const KEEP_ALIVE: (Duration, u32) = (Duration::from_secs(15), 3);
/// The time without an acknowledgement of sent data after which a connection is dead.
#[cfg(target_os = "linux")]
const UNCONFIRMED_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct HyperTransport {
    options: ConnectionOptions,
    max_idle_connections: usize,
    http: Pool<HttpConnector>,
    #[cfg(feature = "_tls")]
    https: Pool<HttpsConnector>,
    /// The TLS configuration, which outlives the connections: loading certificates takes long.
    #[cfg(feature = "_tls")]
    tls: OnceLock<Result<Arc<rustls::ClientConfig>, String>>,
}

#[cfg(feature = "_tls")]
type HttpsConnector = hyper_rustls::HttpsConnector<ProxyConnector>;

type PooledClient<C> = Client<WithTimeout<C>, LimitedBody>;

/// A client, whose connections are discarded together with it.
struct Pool<C>(Mutex<Option<Result<PooledClient<C>, String>>>);

impl<C> Default for Pool<C> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<C> Pool<C>
where
    WithTimeout<C>: Clone,
{
    fn client(
        &self,
        build: impl FnOnce() -> Result<PooledClient<C>, String>,
    ) -> Result<PooledClient<C>, TransportError> {
        let mut client = lock(&self.0);
        let client = client.get_or_insert_with(build).clone();
        client.map_err(TransportError::setup)
    }

    fn discard(&self) {
        *lock(&self.0) = None;
    }
}

impl HyperTransport {
    pub(crate) fn new(options: ConnectionOptions, max_idle_connections: usize) -> Self {
        Self {
            options,
            max_idle_connections,
            http: Pool::default(),
            #[cfg(feature = "_tls")]
            https: Pool::default(),
            #[cfg(feature = "_tls")]
            tls: OnceLock::new(),
        }
    }

    fn client<C>(&self, connector: C) -> PooledClient<C>
    where
        WithTimeout<C>: Connect + Clone,
    {
        Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(self.max_idle_connections)
            .build(WithTimeout {
                connector,
                limit: self.options.connect_timeout.unwrap_or(CONNECT_TIMEOUT),
            })
    }

    /// Builds the client for https. Unlike that for http, it uses the proxies of the environment.
    #[cfg(feature = "_tls")]
    fn https_client(&self) -> Result<PooledClient<HttpsConnector>, String> {
        check_environment(|name| std::env::var(name).ok())?;
        let tls = self.tls.get_or_init(tls_config).clone()?;
        let connector = ProxyConnector::new(Matcher::from_env(), tcp_connector(), Arc::clone(&tls));
        Ok(self.client(HttpsConnector::from((connector, tls))))
    }
}

impl Transport for HyperTransport {
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        let read_timeout = self.options.read_timeout;
        if request.uri().scheme() == Some(&Scheme::HTTP) {
            let client = self.http.client(|| Ok(self.client(tcp_connector())));
            return execute(client, request, read_timeout);
        }
        #[cfg(feature = "_tls")]
        return execute(self.https.client(|| self.https_client()), request, read_timeout);
        #[cfg(not(feature = "_tls"))]
        Box::pin(std::future::ready(Err(TransportError::setup(
            "this build does not support TLS: enable the feature `rustls`",
        ))))
    }

    fn reconnect(&self) {
        self.http.discard();
        #[cfg(feature = "_tls")]
        self.https.discard();
    }
}

fn execute<C>(
    client: Result<PooledClient<C>, TransportError>,
    request: http::Request<Bytes>,
    read_timeout: Option<Duration>,
) -> ResponseFuture
where
    WithTimeout<C>: Connect + Clone + Send + Sync + 'static,
{
    let sending = client.and_then(|client| {
        if request.uri().authority().is_none() {
            return Err(TransportError::not_sent("a URL without a host"));
        }
        let mut request = LimitedBody::of(request);
        let accept = request.headers_mut().entry(ACCEPT);
        accept.or_insert(HeaderValue::from_static("*/*"));
        Ok(client.request(request))
    });
    Box::pin(async move {
        let response = within(read_timeout, sending?).await?;
        let response = response.map_err(|error| {
            let unsent = SendLimitPassed::find(&error);
            unsent.unwrap_or_else(|| failed_to_send(error.is_connect(), error))
        })?;
        Ok(response.map(|body| {
            let body = body.map_err(connection_lost);
            match read_timeout {
                Some(limit) => with_read_timeout(body, limit),
                None => body.boxed_unsync(),
            }
        }))
    })
}

/// Fails if a future takes longer than the limit.
async fn within<T>(
    limit: Option<Duration>,
    future: impl Future<Output = T>,
) -> Result<T, TransportError> {
    match limit {
        Some(limit) => {
            tokio::time::timeout(limit, future).await.map_err(|_| connection_lost(timeout_error()))
        }
        None => Ok(future.await),
    }
}

/// Limits the time from one part of a body to the next.
fn with_read_timeout(
    body: impl http_body::Body<Data = Bytes, Error = TransportError> + Send + Unpin + 'static,
    limit: Duration,
) -> Body {
    let frames = futures_util::stream::unfold(Some(body), move |body| async move {
        let mut body = body?;
        match within(Some(limit), body.frame()).await {
            Ok(frame) => Some((frame?, Some(body))),
            Err(error) => Some((Err(error), None)),
        }
    });
    StreamBody::new(frames).boxed_unsync()
}

fn timeout_error() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "timed out")
}

fn tcp_connector() -> HttpConnector {
    let (keep_alive, retries) = KEEP_ALIVE;
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_keepalive(Some(keep_alive));
    connector.set_keepalive_interval(Some(keep_alive));
    connector.set_keepalive_retries(Some(retries));
    #[cfg(target_os = "linux")]
    connector.set_tcp_user_timeout(Some(UNCONFIRMED_TIMEOUT));
    connector
}

/// A connector with a limit for all that it does: resolving the host, TCP, the proxy and TLS.
#[derive(Clone)]
pub(super) struct WithTimeout<C> {
    connector: C,
    limit: Duration,
}

impl<C> Service<Uri> for WithTimeout<C>
where
    C: Service<Uri>,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<C::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = tokio::time::timeout(self.limit, self.connector.call(uri));
        Box::pin(async move {
            match connecting.await {
                Ok(connected) => connected.map_err(Into::into),
                Err(_) => Err(timeout_error().into()),
            }
        })
    }
}

/// Loads the platform's certificates.
#[cfg(feature = "_tls")]
fn tls_config() -> Result<Arc<rustls::ClientConfig>, String> {
    use rustls_platform_verifier::BuilderVerifierExt;

    rustls::ClientConfig::builder_with_provider(crypto_provider())
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map(|config| Arc::new(config.with_no_client_auth()))
        .map_err(|error| {
            format!(
                "TLS setup failed ({error}): install the system's CA certificates (usually the package ca-certificates)"
            )
        })
}

/// Returns the provider that the program installed, or else that of this crate's features.
#[cfg(feature = "_tls")]
pub(super) fn crypto_provider() -> Arc<CryptoProvider> {
    #[cfg(not(feature = "rustls"))]
    use rustls::crypto::aws_lc_rs::default_provider;
    #[cfg(feature = "rustls")]
    use rustls::crypto::ring::default_provider;

    let installed = CryptoProvider::get_default().cloned();
    installed.unwrap_or_else(|| Arc::new(default_provider()))
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::call::clock::{self, ClockReading};
    use crate::transport::test_server::{OK, start_server};
    use crate::transport::{Body, SendLimit};

    fn transport() -> HyperTransport {
        HyperTransport::new(ConnectionOptions::default(), 1)
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
        let request = http::Request::get(start_server(|_, _| None)).body(Bytes::new()).unwrap();
        let error = transport().send(request).await.unwrap_err();
        let reason = error.source().unwrap().to_string();
        assert_eq!(reason, "connection closed before message completed");
    }

    /// On a new connection, and on one that was used before.
    #[tokio::test]
    async fn nothing_is_sent_after_the_limit_of_the_first_byte() {
        let (received, requests) = std::sync::mpsc::channel();
        let url = start_server(move |_, request| {
            received.send(request.to_owned()).unwrap();
            Some(OK)
        });
        let transport = transport();
        let send = async |path: &str, span| {
            let request = http::Request::post(format!("{url}{path}"));
            let mut request = request.body(Bytes::from_static(b"{}")).unwrap();
            request.extensions_mut().insert(SendLimit::new(ClockReading::now(), span));
            transport.send(request).await
        };
        for _ in 0..2 {
            let error = send("late", Duration::ZERO).await.unwrap_err();
            assert!(!error.may_have_been_sent(), "{error:?}");
            let response = send("in-time", Duration::from_secs(3600)).await.unwrap();
            assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "ok");
            tokio::task::yield_now().await;
        }
        drop(transport);
        let requests: Vec<_> = requests.try_iter().collect();
        assert_eq!(requests.len(), 2, "{requests:?}");
        assert!(requests.iter().all(|request| request.starts_with("POST /in-time")));
    }

    #[tokio::test]
    async fn requests_after_a_reconnect_use_a_new_connection() {
        let newest = Arc::new(AtomicUsize::new(0));
        let opened = Arc::clone(&newest);
        let url = start_server(move |connection, _| {
            opened.fetch_max(connection, Ordering::SeqCst);
            Some(OK)
        });
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
        let before = newest.load(Ordering::SeqCst);

        transport.reconnect();
        assert_eq!(read(in_flight).await, "ok");
        assert_eq!(read(send().await).await, "ok");
        assert!(newest.load(Ordering::SeqCst) > before);
    }

    #[cfg(feature = "_tls")]
    #[tokio::test]
    async fn failed_tls_handshake_is_a_setup_error() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            use tokio::io::AsyncWriteExt;

            let (mut connection, _) = listener.accept().await.unwrap();
            connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            connection.readable().await.unwrap();
        });
        let request = http::Request::get(url).body(Bytes::new()).unwrap();
        let error = transport().send(request).await.unwrap_err();
        assert!(error.is_setup() && !error.may_have_been_sent(), "{error:?}");
    }

    #[cfg(feature = "_tls")]
    #[tokio::test]
    async fn failed_https_connection_is_not_sent() {
        let request = http::Request::get("https://127.0.0.1:1/").body(Bytes::new()).unwrap();
        let error = transport().send(request).await.unwrap_err();
        assert!(!error.may_have_been_sent(), "{error:?}");
    }
}
