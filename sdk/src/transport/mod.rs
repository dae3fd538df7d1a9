//! The seam to the network: one request out, one response with a streamed body back.
//!
//! What a transport must not do: follow redirects, retry, decode, or time out a slow body; the
//! layers above do these. Credentials are already on the request.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;

#[cfg(feature = "reqwest")]
mod reqwest;
#[cfg(test)]
pub(crate) mod script;

/// The transport on reqwest that a client uses where it is given none.
///
/// Redirects are off. Plain http, which is for loopback only, goes past every proxy and costs no
/// set-up of TLS.
#[cfg(feature = "reqwest")]
#[must_use]
pub fn reqwest() -> std::sync::Arc<dyn Transport> {
    std::sync::Arc::new(reqwest::ReqwestTransport::default())
}

/// A streamed response body.
pub type Body = UnsyncBoxBody<Bytes, TransportError>;

/// A response on its way.
pub type Sending =
    Pin<Box<dyn Future<Output = Result<http::Response<Body>, TransportError>> + Send + 'static>>;

/// Sends one request and gives back one response.
///
/// The SDK brings one on reqwest; a test brings its own, or the mock server's in-process face.
/// The request's URI is absolute.
pub trait Transport: Send + Sync + 'static {
    /// Sends the request.
    fn send(&self, request: http::Request<Bytes>) -> Sending;
}

/// Why no whole response came.
#[derive(Debug)]
pub struct TransportError {
    sent: Sent,
    source: Box<dyn StdError + Send + Sync>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    No,
    Perhaps,
}

impl TransportError {
    /// The request never left: no connection came about.
    #[must_use]
    pub fn not_sent(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            sent: Sent::No,
            source: source.into(),
        }
    }

    /// The request, or a part of it, may have arrived.
    #[must_use]
    pub fn perhaps_sent(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            sent: Sent::Perhaps,
            source: source.into(),
        }
    }

    /// Whether the request may have arrived.
    #[must_use]
    pub fn may_have_been_sent(&self) -> bool {
        self.sent == Sent::Perhaps
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.sent {
            Sent::No => "no connection to the service",
            Sent::Perhaps => "the connection broke before the whole answer came",
        })
    }
}

impl StdError for TransportError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(self.source.as_ref())
    }
}
