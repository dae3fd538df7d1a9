//! Signing secrets in use, with reloading during a rotation.
//!
//! A delivery contains the fingerprint of the newest secret. If it is unknown, the secrets are
//! reloaded from the file or the service that they came from. Secrets from a variable or the
//! profile do not change.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use jiff::Timestamp;
use svc_sdk::developer;
use svc_webhook_verify::{Fingerprint, VerifiedSignature, Verifier, VerifyError, header};

use crate::clock;
use crate::error::Failure;
use crate::webhook::{Secrets, Source};

/// The minimum time between requests to the service, because anyone can send unknown fingerprints.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(2);
/// The timeout of such a request. The service waits ten seconds for the response to a delivery.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of fingerprints that cause a warning.
const MAX_WARNED_FINGERPRINTS: usize = 16;

/// The secrets in use.
pub(crate) struct Keys {
    verifier: Mutex<Arc<Verifier>>,
    source: Source,
    tolerance: Duration,
    /// The client for fetching the secrets, if they come from the service.
    client: Option<developer::Client>,
    fetched_at: Mutex<Option<Timestamp>>,
    warned: Mutex<HashSet<String>>,
}

/// The result of verifying a delivery.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) outcome: Result<VerifiedSignature, VerifyError>,
    /// The fingerprint of the secret that it was signed with.
    pub(super) fingerprint: Option<Fingerprint>,
    /// A warning about an unknown newer secret, given once per fingerprint.
    pub(super) warning: Option<String>,
}

impl Keys {
    /// Creates the keys from secrets.
    pub(crate) fn new(
        secrets: &Secrets,
        tolerance: Duration,
        client: Option<developer::Client>,
    ) -> Self {
        let verifier = Verifier::new(secrets.keys().clone()).tolerance(tolerance);
        Self {
            verifier: Mutex::new(Arc::new(verifier)),
            source: secrets.source().clone(),
            tolerance,
            client,
            fetched_at: Mutex::default(),
            warned: Mutex::default(),
        }
    }

    /// Returns the current verifier.
    pub(super) fn verifier(&self) -> Arc<Verifier> {
        Arc::clone(&lock(&self.verifier))
    }

    /// Returns the fingerprints of the secrets, newest first.
    pub(super) fn fingerprints(&self) -> Vec<String> {
        let verifier = self.verifier();
        let keys = verifier.keys().iter();
        keys.map(|key| key.fingerprint().to_string()).collect()
    }

    /// Checks the headers alone, before the body is read.
    pub(super) fn check_headers(&self, headers: &HeaderMap) -> Result<(), VerifyError> {
        self.verifier().begin_with_headers(headers).map(drop)
    }

    /// Verifies a delivery. Reloads the secrets if it names an unknown one.
    pub(super) async fn check(&self, headers: &HeaderMap, body: &[u8], now: u64) -> Checked {
        let mut verifier = self.verifier();
        let mut outcome = verifier.verify_with_headers(headers, body, now);
        let mut warning = None;
        // Malformed and stale deliveries do not cause a reload.
        let may_be_newer_key = matches!(outcome, Ok(_) | Err(VerifyError::SignatureMismatch));
        if let Some(fingerprint) =
            unknown_fingerprint(&verifier, headers).filter(|_| may_be_newer_key)
        {
            if self.reload().await {
                verifier = self.verifier();
                outcome = verifier.verify_with_headers(headers, body, now);
            }
            let is_still_unknown =
                unknown_fingerprint(&verifier, headers).is_some() && outcome.is_ok();
            warning = is_still_unknown
                .then(|| self.warn_once(&fingerprint))
                .flatten();
        }
        let index = outcome.as_ref().ok().map(VerifiedSignature::key_index);
        let key = index.and_then(|index| verifier.keys().iter().nth(index));
        Checked {
            fingerprint: key.map(svc_webhook_verify::Key::fingerprint),
            outcome,
            warning,
        }
    }

    /// Reloads the secrets. Returns whether they have changed.
    async fn reload(&self) -> bool {
        let secrets = match &self.source {
            Source::Fixed(_) => return false,
            // A file that cannot be read now leaves the secrets unchanged.
            Source::File(path) => Secrets::from_file(path).ok(),
            Source::Service => match &self.client {
                Some(client) if self.may_fetch() => {
                    let fetched = tokio::time::timeout(FETCH_TIMEOUT, fetch_secrets(client)).await;
                    fetched.ok().and_then(Result::ok)
                }
                _ => None,
            },
        };
        let Some(secrets) = secrets else { return false };
        let fingerprints_of = |verifier: &Verifier| -> Vec<Fingerprint> {
            verifier
                .keys()
                .iter()
                .map(svc_webhook_verify::Key::fingerprint)
                .collect()
        };
        let reloaded = Verifier::new(secrets.keys().clone()).tolerance(self.tolerance);
        let mut current = lock(&self.verifier);
        let differs = fingerprints_of(&current) != fingerprints_of(&reloaded);
        if differs {
            *current = Arc::new(reloaded);
        }
        differs
    }

    fn may_fetch(&self) -> bool {
        let now = clock::now();
        let mut fetched_at = lock(&self.fetched_at);
        let is_due = fetched_at.is_none_or(|at| clock::elapsed(now, at) >= MIN_FETCH_INTERVAL);
        if is_due {
            *fetched_at = Some(now);
        }
        is_due
    }

    /// Returns a warning for a valid delivery that names an unknown newer secret.
    fn warn_once(&self, fingerprint: &str) -> Option<String> {
        let mut warned = lock(&self.warned);
        let is_new =
            warned.len() < MAX_WARNED_FINGERPRINTS && warned.insert(fingerprint.to_owned());
        is_new.then(|| {
            format!(
                "the service uses a newer signing secret ({fingerprint}) that is missing in {}: add it before the old one is retired",
                self.source
            )
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

/// Fetches the signing secret from the service.
///
/// # Errors
///
/// Returns an error if the request fails, or if the service does not return the secret.
pub(crate) async fn fetch_secrets(client: &developer::Client) -> Result<Secrets, Failure> {
    let response = client.webhooks().signing_secret().await?;
    let text = response.secret.ok_or_else(|| {
        Failure::other("the service did not return the signing secret")
            .hint("pass --secret-file FILE")
    })?;
    Secrets::from_text(text.expose(), Source::Service)
}

/// Returns the fingerprint in the headers, unless a secret has it.
fn unknown_fingerprint(verifier: &Verifier, headers: &HeaderMap) -> Option<String> {
    let fingerprint = headers.get(header::FINGERPRINT)?.to_str().ok()?;
    let is_fingerprint =
        fingerprint.len() <= 64 && fingerprint.bytes().all(|b| b.is_ascii_alphanumeric());
    let is_ours = verifier
        .keys()
        .iter()
        .any(|key| key.fingerprint().as_str().eq_ignore_ascii_case(fingerprint));
    (is_fingerprint && !is_ours).then(|| fingerprint.to_owned())
}

/// Locks a mutex. A panic of another thread leaves no partial change, so poisoning is ignored.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use svc_webhook_verify::{KeySet, Signer};

    use super::*;

    const NOW: u64 = 1_700_000_000;

    fn signed(secrets: &[&str]) -> HeaderMap {
        Signer::new(KeySet::new(secrets).unwrap())
            .sign(NOW, "{}")
            .into()
    }

    async fn outcome(keys: &Keys, secrets: &[&str]) -> Result<(), &'static str> {
        let checked = keys.check(&signed(secrets), b"{}", NOW).await;
        checked.outcome.map(drop).map_err(|reject| reject.code())
    }

    fn from_file(path: &std::path::Path) -> Keys {
        Keys::new(
            &Secrets::from_file(path).unwrap(),
            Duration::from_secs(300),
            None,
        )
    }

    #[tokio::test]
    async fn secrets_of_a_file_follow_a_rotation_and_retired_ones_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, "first").unwrap();
        let keys = from_file(&path);
        outcome(&keys, &["first"]).await.unwrap();
        // After a rotation: first before the file is updated, then after, then without the old
        // secret.
        let during = keys.check(&signed(&["second", "first"]), b"{}", NOW).await;
        assert!(during.outcome.is_ok() && during.warning.is_some());
        let again = keys.check(&signed(&["second", "first"]), b"{}", NOW).await;
        assert!(again.warning.is_none());
        fs::write(&path, "second\nfirst\n").unwrap();
        outcome(&keys, &["second", "first"]).await.unwrap();
        outcome(&keys, &["first"]).await.unwrap();
        outcome(&keys, &["second"]).await.unwrap();
        fs::write(&path, "third\nsecond\n").unwrap();
        outcome(&keys, &["third"]).await.unwrap();
        assert_eq!(outcome(&keys, &["first"]).await, Err("signature_mismatch"));
        assert_eq!(keys.fingerprints().len(), 2);
    }

    #[tokio::test]
    async fn a_missing_file_and_a_fixed_secret_leave_the_secrets_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, "first").unwrap();
        let keys = from_file(&path);
        fs::remove_file(&path).unwrap();
        assert_eq!(outcome(&keys, &["other"]).await, Err("signature_mismatch"));
        outcome(&keys, &["first"]).await.unwrap();
        let fixed = Secrets::from_text("first", Source::Fixed("a test".into())).unwrap();
        let keys = Keys::new(&fixed, Duration::from_secs(300), None);
        assert_eq!(outcome(&keys, &["other"]).await, Err("signature_mismatch"));
        outcome(&keys, &["other", "first"]).await.unwrap();
    }
}
