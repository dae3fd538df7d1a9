//! The HTTP transport: sends one request and returns one response with a streamed body.
//!
//! A [`Transport`] must not follow redirects, retry, decode bodies or apply a timeout to the whole
//! response: the client does all of this. Credentials are already in the request's headers.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
#[cfg(feature = "hyper")]
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;

use crate::call::clock::ClockReading;

/// The default of [`ClientBuilder::max_in_flight`](crate::ClientBuilder::max_in_flight).
pub(crate) const MAX_IN_FLIGHT: usize = 64;

#[cfg(any(feature = "hyper", feature = "reqwest-client"))]
mod failure;
#[cfg(feature = "hyper")]
mod hyper;
#[cfg(feature = "hyper")]
mod limited_body;
#[cfg(feature = "_tls")]
mod proxy;
#[cfg(feature = "reqwest-client")]
mod reqwest_client;
#[cfg(test)]
pub(crate) mod scripted;
#[cfg(test)]
#[cfg(any(feature = "hyper", feature = "reqwest-client"))]
mod test_server;

/// Returns the transport that clients use by default, which is based on hyper and rustls.
///
/// It does not follow redirects. Requests to `http` URLs, which are allowed for loopback addresses
/// and the hosts of [`ClientBuilder::allow_http`](crate::ClientBuilder::allow_http) only, bypass
/// proxies and do not initialize TLS. Requests to `https` URLs use the proxy that `HTTPS_PROXY`, `ALL_PROXY`
/// and `NO_PROXY` say.
#[cfg(feature = "hyper")]
#[must_use]
pub fn hyper() -> Arc<dyn Transport> {
    hyper_with(&ConnectionOptions::default(), MAX_IN_FLIGHT)
}

#[cfg(feature = "hyper")]
pub(crate) fn hyper_with(
    options: &ConnectionOptions,
    max_idle_connections: usize,
) -> Arc<dyn Transport> {
    let options = options.clone();
    Arc::new(hyper::HyperTransport::new(options, max_idle_connections))
}

#[cfg(feature = "reqwest-client")]
pub use self::reqwest_client::from_reqwest_client;

/// The settings of the default transport, where they differ from its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ConnectionOptions {
    #[cfg(feature = "hyper")]
    pub(crate) connect_timeout: Option<Duration>,
    #[cfg(feature = "hyper")]
    pub(crate) read_timeout: Option<Duration>,
}

/// Until when the first byte of a request may be sent, as an extension of the request.
///
/// A process that was stopped in the middle of a call does not notice it. When it goes on, another one may
/// have taken its submit over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendLimit {
    from: ClockReading,
    span: Duration,
}

impl SendLimit {
    pub(crate) fn new(from: ClockReading, span: Duration) -> Self {
        Self { from, span }
    }

    /// Returns whether it has passed on one of the clocks: one of them stands still while the computer
    /// sleeps, and the other one may be set back.
    pub(crate) fn has_passed(&self) -> bool {
        self.from.elapsed() >= self.span
    }
}

/// A streamed response body.
pub type Body = UnsyncBoxBody<Bytes, TransportError>;

/// The future that [`Transport::send`] returns.
pub type ResponseFuture =
    Pin<Box<dyn Future<Output = Result<http::Response<Body>, TransportError>> + Send + 'static>>;

/// Sends HTTP requests on behalf of a client.
///
/// Implement this trait to use another HTTP client, or to answer requests without a network in
/// tests.
///
/// # Examples
///
/// A transport that answers every request with an empty JSON object:
///
/// ```
/// use bytes::Bytes;
/// use http_body_util::{BodyExt, Full};
/// use svc_sdk::transport::{ResponseFuture, Transport, TransportError};
///
/// struct EmptyObject;
///
/// impl Transport for EmptyObject {
///     fn send(&self, _request: http::Request<Bytes>) -> ResponseFuture {
///         let body = Full::new(Bytes::from_static(b"{}")).map_err(TransportError::maybe_sent);
///         Box::pin(async move { Ok(http::Response::new(body.boxed_unsync())) })
///     }
/// }
/// ```
pub trait Transport: Send + Sync + 'static {
    /// Sends a request with an absolute URI and returns its response.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::setup`] if the transport cannot send any request,
    /// [`TransportError::not_sent`] if no part of this request can have reached the server, and
    /// [`TransportError::maybe_sent`] otherwise. The client decides by this whether it may retry.
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture;

    /// Discards the connections that are kept for reuse, so that later requests open new ones.
    /// Requests in flight are not interrupted.
    ///
    /// The client calls this after the computer slept and after a request that timed out, as a
    /// connection that is dead may still seem to be open. It does nothing unless it is implemented.
    fn reconnect(&self) {}
}

/// The error of a request that did not receive a complete response.
#[derive(Debug)]
pub struct TransportError {
    stage: Stage,
    has_timed_out: bool,
    source: Box<dyn StdError + Send + Sync>,
}

/// How far a request got before it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Setup,
    NotSent,
    MaybeSent,
}

impl TransportError {
    fn new(stage: Stage, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { stage, has_timed_out: false, source: source.into() }
    }

    /// Creates an error for a transport that cannot send requests as it is configured, for example
    /// because TLS cannot be initialized or the server's certificate is not trusted. The client reports it as a configuration error and does
    /// not retry.
    #[must_use]
    pub fn setup(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(Stage::Setup, source)
    }

    /// Creates an error for a request that was not sent, such as one whose connection was refused.
    #[must_use]
    pub fn not_sent(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(Stage::NotSent, source)
    }

    /// Creates an error for a request that may have reached the server, in whole or in part.
    #[must_use]
    pub fn maybe_sent(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(Stage::MaybeSent, source)
    }

    /// Creates the error of an attempt that was ended by its time limit.
    pub(crate) fn timed_out() -> Self {
        Self { has_timed_out: true, ..Self::maybe_sent("the attempt timed out") }
    }

    /// Returns `true` if the time limit of the attempt ended it.
    pub(crate) fn has_timed_out(&self) -> bool {
        self.has_timed_out
    }

    /// Returns `true` if the request may have reached the server.
    #[must_use]
    pub fn may_have_been_sent(&self) -> bool {
        self.stage == Stage::MaybeSent
    }

    /// Returns `true` if the transport cannot send requests as it is configured.
    pub(crate) fn is_setup(&self) -> bool {
        self.stage == Stage::Setup
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.stage {
            Stage::Setup => "the connection could not be set up",
            Stage::NotSent => "could not connect to the service",
            Stage::MaybeSent => "the connection failed before the complete response was received",
        })
    }
}

impl StdError for TransportError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(self.source.as_ref())
    }
}
