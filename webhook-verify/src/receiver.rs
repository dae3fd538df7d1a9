//! Receiving of deliveries over HTTP.

use core::fmt;
use core::pin::{Pin, pin};
use std::boxed::Box;
use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::Body;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;

use crate::clock;
use crate::event::{Event, EventError};
use crate::key::{Fingerprint, Key, KeySet};
use crate::receive_error::ReceiveError;
use crate::verify::{VerifiedSignature, Verifier};

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Reads and verifies deliveries of an HTTP server, with a [`Verifier`] and a clock.
///
/// A `WebhookReceiver` is cheap to clone. The axum extractor takes it from the state of the
/// router, and the tower layer is created from it. Other servers call
/// [`receive`](WebhookReceiver::receive).
///
/// # Secret rotation
///
/// Clones share their keys, which can be [replaced](WebhookReceiver::set_keys) while the server
/// runs. A receiver with a [secret file](WebhookReceiver::from_secret_file), or with another
/// [key loader](WebhookReceiver::key_loader), loads the keys again when a delivery names a
/// secret that it does not have, and then verifies that delivery with the new keys.
#[derive(Clone)]
pub struct WebhookReceiver {
    verifier: Arc<RwLock<Arc<Verifier>>>,
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    load_keys: Option<Arc<dyn Fn() -> BoxFuture<Option<KeySet>> + Send + Sync>>,
}

impl WebhookReceiver {
    /// Creates a receiver that uses the system clock.
    #[must_use]
    pub fn new(verifier: Verifier) -> Self {
        Self {
            verifier: Arc::new(RwLock::new(Arc::new(verifier))),
            clock: Arc::new(clock::unix_seconds),
            load_keys: None,
        }
    }

    /// Creates a receiver with the keys in a file, which is read again after a rotation.
    ///
    /// The file has one secret per line, newest first. While it cannot be read, the keys stay
    /// as they are.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`KeySet::from_file`].
    pub fn from_secret_file(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let verifier = Verifier::new(KeySet::from_file(&path)?);
        let load = move || core::future::ready(KeySet::from_file(&path).ok());
        Ok(Self::new(verifier).key_loader(load))
    }

    /// Sets the function that loads the keys again, or returns `None` if it cannot.
    ///
    /// It is called for each delivery with a recent timestamp that names a secret that the receiver
    /// does not have, also if its signature is valid, before the delivery is answered. Anyone can send
    /// such a delivery, so a function that makes requests has to limit their rate, and it has to
    /// return well within the ten seconds that the service waits for a response.
    ///
    /// ```
    /// use svc_webhook_verify::{KeySet, Verifier, WebhookReceiver};
    ///
    /// # async fn request_secrets() -> Option<String> { None }
    /// let receiver = WebhookReceiver::new(Verifier::new(KeySet::new(["whsec_newest"])?))
    ///     .key_loader(|| async { KeySet::from_lines(&request_secrets().await?).ok() });
    /// # Ok::<(), svc_webhook_verify::KeyError>(())
    /// ```
    #[must_use]
    pub fn key_loader<F, R>(mut self, load: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Option<KeySet>> + Send + 'static,
    {
        self.load_keys = Some(Arc::new(move || Box::pin(load())));
        self
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
    /// the secret.
    pub fn set_keys(&self, keys: KeySet) {
        let mut verifier = self.verifier.write().unwrap_or_else(PoisonError::into_inner);
        *verifier = Arc::new(verifier.with_keys(keys));
    }

    /// Loads the keys now, such as when a process is told to reload its configuration. Returns
    /// whether they have changed: not if they could not be loaded, or if there is no
    /// [key loader](WebhookReceiver::key_loader).
    pub async fn reload_keys(&self) -> bool {
        let Some(load) = &self.load_keys else { return false };
        let Some(keys) = load().await else { return false };
        let fingerprints = keys.iter().map(Key::fingerprint);
        let is_unchanged = fingerprints.eq(self.verifier().keys().iter().map(Key::fingerprint));
        if !is_unchanged {
            self.set_keys(keys);
        }
        !is_unchanged
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
        let mut verifier = self.verifier();
        let mut stream = verifier.begin_with_headers(headers)?;
        stream.check_timestamp(received_at)?;
        let (mut body, mut received) = (pin!(body), BytesMut::new());
        while let Some(frame) = body.frame().await {
            let frame =
                frame.map_err(|error| ReceiveError::from_body_error(error.into().as_ref()))?;
            if let Ok(chunk) = frame.into_data() {
                stream.update(&chunk);
                received.extend_from_slice(&chunk);
            }
        }
        let body = received.freeze();
        let mut result = stream.finish(received_at);
        // The timestamp was checked before, so that a stale delivery cannot cause a reload.
        if verifier.unknown_fingerprint(headers).is_some() {
            self.reload_keys().await;
            // Another delivery may have reloaded them, so the result of this reload is not enough.
            let current = self.verifier();
            if !Arc::ptr_eq(&verifier, &current) {
                result = current.verify_with_headers(headers, &body, received_at);
                verifier = current;
            }
        }
        let signature = result?;
        let key = verifier.keys().iter().nth(signature.key_index());
        Ok(Webhook {
            fingerprint: key.unwrap_or(verifier.keys().newest()).fingerprint(),
            unknown_fingerprint: verifier.unknown_fingerprint(headers).map(Into::into),
            signature,
            received_at,
            body,
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
    fingerprint: Fingerprint,
    unknown_fingerprint: Option<Box<str>>,
    received_at: u64,
    body: Bytes,
}

impl Webhook {
    /// Returns the signature that matched.
    #[must_use]
    pub fn signature(&self) -> VerifiedSignature {
        self.signature
    }

    /// Returns the fingerprint of the secret that the delivery was verified with.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Returns the fingerprint of the newest secret of the service, if the receiver does not have
    /// that secret.
    ///
    /// The delivery was also signed with an older secret, which is revoked within a day. Add the
    /// newer one to the receiver before.
    #[must_use]
    pub fn unknown_fingerprint(&self) -> Option<&str> {
        self.unknown_fingerprint.as_deref()
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

    /// Parses the body as another type, such as the `WebhookEvent` of the `svc-sdk` crate.
    ///
    /// # Errors
    ///
    /// Returns an error if the body is not a `T`, although its signature is valid.
    pub fn event_as<T: DeserializeOwned>(&self) -> Result<T, EventError> {
        Event::parse_as(&self.body)
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
