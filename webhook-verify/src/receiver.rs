//! Receiving of deliveries over HTTP.

use core::fmt;
use core::pin::pin;
use std::boxed::Box;
use std::error::Error;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::Body;
use http_body_util::BodyExt;

use crate::clock;
use crate::event::{Event, EventError};
use crate::key::KeySet;
use crate::receive_error::ReceiveError;
use crate::verify::{VerifiedSignature, Verifier};

/// Reads and verifies deliveries of an HTTP server, with a [`Verifier`] and a clock.
///
/// A `WebhookReceiver` is cheap to clone. The axum extractor takes it from the state of the
/// router, and the tower layer is created from it. Other servers call
/// [`receive`](WebhookReceiver::receive). Clones share their keys, which can be
/// [replaced](WebhookReceiver::set_keys) while the server runs.
#[derive(Clone)]
pub struct WebhookReceiver {
    verifier: Arc<RwLock<Arc<Verifier>>>,
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl WebhookReceiver {
    /// Creates a receiver that uses the system clock.
    #[must_use]
    pub fn new(verifier: Verifier) -> Self {
        Self {
            verifier: Arc::new(RwLock::new(Arc::new(verifier))),
            clock: Arc::new(clock::unix_seconds),
        }
    }

    /// Sets the function that returns the current time in Unix seconds, for tests.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Returns the current verifier.
    #[must_use]
    pub fn verifier(&self) -> Arc<Verifier> {
        let verifier = self.verifier.read();
        Arc::clone(&verifier.unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the keys of this receiver and of all its clones, such as after a rotation of
    /// the secret. Deliveries that are being received are verified with the keys that they
    /// began with.
    pub fn set_keys(&self, keys: KeySet) {
        let mut verifier = self
            .verifier
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *verifier = Arc::new(verifier.with_keys(keys));
    }

    /// Reads the body of a request and verifies the delivery.
    ///
    /// ```
    /// use http::HeaderMap;
    /// use http_body_util::{Full, Limited};
    /// use svc_webhook_verify::{KeySet, Signer, Verifier, WebhookReceiver};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let keys = KeySet::new(["whsec_newest"])?;
    /// let headers: HeaderMap = Signer::new(keys.clone()).sign(1_700_000_000, "{}").into();
    /// let receiver = WebhookReceiver::new(Verifier::new(keys)).clock(|| 1_700_000_007);
    ///
    /// let body = Limited::new(Full::from("{}"), 2 * 1024 * 1024);
    /// let webhook = receiver.receive(&headers, body).await?;
    /// assert_eq!(webhook.body(), "{}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).map_err(|error| error.to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A delivery with invalid headers is rejected before its body is read. The body is
    /// collected in memory, so limit its size with `http_body_util::Limited` or with the
    /// limit of a framework.
    ///
    /// # Errors
    ///
    /// Returns an error if the headers are invalid, if the timestamp is stale, if the body
    /// is too large or incomplete, or if no signature matches.
    /// [`ReceiveError::status`] is the status to answer with.
    pub async fn receive<B>(&self, headers: &HeaderMap, body: B) -> Result<Webhook, ReceiveError>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let received_at = (self.clock)();
        let mut stream = self.verifier().begin_with_headers(headers)?;
        stream.check_timestamp(received_at)?;
        let mut body = pin!(body);
        let mut buffer = BodyBuffer::default();
        while let Some(frame) = body.frame().await {
            let frame =
                frame.map_err(|error| ReceiveError::from_body_error(error.into().as_ref()))?;
            if let Ok(chunk) = frame.into_data() {
                stream.update(&chunk);
                buffer.push(chunk);
            }
        }
        Ok(Webhook {
            signature: stream.finish(received_at)?,
            received_at,
            body: buffer.into_bytes(),
        })
    }
}

impl fmt::Debug for WebhookReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookReceiver")
            .field("verifier", &self.verifier())
            .finish_non_exhaustive()
    }
}

/// A verified delivery with its raw body.
#[derive(Clone)]
pub struct Webhook {
    signature: VerifiedSignature,
    received_at: u64,
    body: Bytes,
}

impl Webhook {
    /// Returns the signature that matched.
    #[must_use]
    pub fn signature(&self) -> VerifiedSignature {
        self.signature
    }

    /// Returns the time at which the headers arrived, in Unix seconds.
    #[must_use]
    pub fn received_at(&self) -> u64 {
        self.received_at
    }

    /// Returns the raw body.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Consumes the delivery and returns the raw body.
    #[must_use]
    pub fn into_body(self) -> Bytes {
        self.body
    }

    /// Parses the body as an event.
    ///
    /// # Errors
    ///
    /// Returns an error if the body is not an event, although its signature is valid. As a
    /// [`ReceiveError`] that is a `400`.
    pub fn event(&self) -> Result<Event, EventError> {
        Event::parse(&self.body)
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook")
            .field("signature", &self.signature)
            .field("received_at", &self.received_at)
            .field("body_len", &self.body.len())
            .finish()
    }
}

/// Collects the chunks of a body. A body of a single chunk is not copied.
#[derive(Default)]
struct BodyBuffer {
    first_chunk: Bytes,
    joined: BytesMut,
}

impl BodyBuffer {
    fn push(&mut self, chunk: Bytes) {
        if self.joined.is_empty() && self.first_chunk.is_empty() {
            self.first_chunk = chunk;
        } else {
            if self.joined.is_empty() {
                self.joined.extend_from_slice(&self.first_chunk);
            }
            self.joined.extend_from_slice(&chunk);
        }
    }

    fn into_bytes(self) -> Bytes {
        if self.joined.is_empty() {
            self.first_chunk
        } else {
            self.joined.freeze()
        }
    }
}
