//! Signing secrets in use, with reloading during a rotation.
//!
//! A delivery contains the fingerprint of the newest secret. If it is unknown, the receiver loads the
//! secrets again, from the file or the service that they came from. Secrets from a variable or the
//! profile do not change.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http_body_util::Full;
use jiff::Timestamp;
use svc_sdk::developer;
use svc_webhook_verify::{
    KeySet, ReceiveError, Verifier, VerifyError, Webhook, WebhookReceiver, header,
};

use crate::clock;
use crate::error::{Failure, Result};
use crate::webhook::{SecretSource, Secrets};

/// The minimum time between requests to the service, because anyone can send unknown fingerprints.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(2);
/// The service waits ten seconds for the response to a delivery.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of fingerprints that cause a warning.
const MAX_WARNED_FINGERPRINTS: usize = 16;

pub(crate) struct Keys {
    receiver: WebhookReceiver,
    source: SecretSource,
    /// What fetches the secrets of the service again.
    fetch: Option<Arc<RateLimitedFetch>>,
    /// The file with the secret of `svc webhook trigger`, which may be made later.
    trigger_file: Option<PathBuf>,
    warned: Mutex<HashSet<String>>,
}

impl Keys {
    pub(crate) fn new(
        secrets: &Secrets,
        tolerance: Duration,
        client: Option<developer::Client>,
    ) -> Self {
        let receiver = WebhookReceiver::new(secrets.verifier(tolerance)).clock(clock::unix_seconds);
        let fetch = client.map(|client| Arc::new(RateLimitedFetch::new(client)));
        let receiver = match (secrets.source(), fetch.clone()) {
            (SecretSource::File(path), _) => {
                let path = path.clone();
                receiver.key_loader(move || std::future::ready(KeySet::from_file(&path).ok()))
            }
            (SecretSource::Service, Some(fetch)) => {
                receiver.key_loader(move || Arc::clone(&fetch).keys())
            }
            (SecretSource::Service | SecretSource::Fixed(_) | SecretSource::Trigger, _) => receiver,
        };
        let source = secrets.source().clone();
        Self { receiver, source, fetch, trigger_file: None, warned: Mutex::default() }
    }

    pub(crate) fn with_trigger_file(mut self, file: PathBuf) -> Self {
        self.trigger_file = Some(file);
        self
    }

    pub(super) fn source(&self) -> &SecretSource {
        &self.source
    }

    /// For a delivery that names the secret of `svc webhook trigger`, or that names none and is signed with
    /// it. Only the latter is verified here.
    fn trigger_receiver(&self, headers: &HeaderMap, body: &[u8]) -> Option<WebhookReceiver> {
        let keys = KeySet::from_file(self.trigger_file.as_ref()?).ok()?;
        let fingerprint = keys.newest().fingerprint().to_string();
        let verifier = self.verifier().with_keys(keys);
        let is_signed = match headers.get(header::FINGERPRINT) {
            Some(named) => named.as_bytes() == fingerprint.as_bytes(),
            None => verifier.verify_with_headers(headers, body, clock::unix_seconds()).is_ok(),
        };
        is_signed.then(|| WebhookReceiver::new(verifier).clock(clock::unix_seconds))
    }

    pub(super) fn verifier(&self) -> Arc<Verifier> {
        self.receiver.verifier()
    }

    /// Returns the fingerprints of the secrets, newest first.
    pub(super) fn fingerprints(&self) -> Vec<String> {
        let verifier = self.verifier();
        let keys = verifier.keys().iter();
        keys.map(|key| key.fingerprint().to_string()).collect()
    }

    pub(super) fn check_headers(&self, headers: &HeaderMap) -> Result<(), VerifyError> {
        self.verifier().begin_with_headers(headers).map(drop)
    }

    pub(super) async fn verify(
        &self,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Webhook, ReceiveError> {
        let trigger = self.trigger_receiver(headers, &body);
        trigger.as_ref().unwrap_or(&self.receiver).receive(headers, Full::new(body)).await
    }

    /// Returns a warning, once per fingerprint, if a delivery names an unknown newer secret.
    pub(super) fn warning(&self, webhook: &Webhook) -> Option<String> {
        let fingerprint = webhook.unknown_fingerprint()?;
        let source = &self.source;
        let what = match &self.fetch {
            // It was fetched a moment ago, and is fetched again with a later delivery.
            Some(fetch) if !fetch.has_failed() => return None,
            Some(_) => "which could not be fetched: a later event fetches it again".to_owned(),
            None => {
                let restart = match source {
                    SecretSource::File(_) => "",
                    _ => ", then start this command again",
                };
                format!("which is missing in {source}: add it before the old one expires{restart}")
            }
        };
        let mut warned = lock(&self.warned);
        let is_new =
            warned.len() < MAX_WARNED_FINGERPRINTS && warned.insert(fingerprint.to_owned());
        is_new.then(|| {
            format!("the service signs with a newer secret (fingerprint {fingerprint}), {what}")
        })
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("fingerprints", &self.fingerprints())
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

struct RateLimitedFetch {
    client: developer::Client,
    fetched_at: Mutex<Option<Timestamp>>,
    has_failed: AtomicBool,
}

impl RateLimitedFetch {
    fn new(client: developer::Client) -> Self {
        Self { client, fetched_at: Mutex::default(), has_failed: AtomicBool::default() }
    }

    async fn keys(self: Arc<Self>) -> Option<KeySet> {
        if !self.is_due() {
            return None;
        }
        let fetched = tokio::time::timeout(FETCH_TIMEOUT, fetch_secrets(&self.client)).await;
        let fetched = fetched.ok().and_then(Result::ok);
        self.has_failed.store(fetched.is_none(), Ordering::Relaxed);
        Some(fetched?.keys().clone())
    }

    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    fn is_due(&self) -> bool {
        let now = clock::now();
        let mut fetched_at = lock(&self.fetched_at);
        let is_due = fetched_at.is_none_or(|at| clock::elapsed(now, at) >= MIN_FETCH_INTERVAL);
        if is_due {
            *fetched_at = Some(now);
        }
        is_due
    }
}

pub(crate) async fn fetch_secrets(client: &developer::Client) -> Result<Secrets> {
    let response = client.webhooks().signing_secret().await?;
    let text = response.secret.ok_or_else(|| {
        Failure::other("the service did not return the signing secret")
            .hint("pass --secret-file FILE")
    })?;
    Secrets::from_text(text.expose(), SecretSource::Service)
}

/// Locks a mutex. A panic of another thread leaves no partial change, so poisoning is ignored.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
