//! What deliveries are verified with, and how it keeps up with a rotation.
//!
//! A delivery names the newest secret by its fingerprint. Where none of ours has it, the file is
//! read again, or the service asked again, whichever the secrets came from. A secret that was given
//! by a variable or the profile stays the only one.

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

/// Anyone can send a fingerprint that nobody knows: the service is asked no more often.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(2);
/// And waited for no longer: the service itself waits ten seconds for the answer to a delivery.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// So many fingerprints are told of.
const MAX_WARNED_FINGERPRINTS: usize = 16;

/// The secrets in use.
pub(crate) struct Keys {
    verifier: Mutex<Arc<Verifier>>,
    source: Source,
    tolerance: Duration,
    /// To ask the service with.
    client: Option<developer::Client>,
    fetched_at: Mutex<Option<Timestamp>>,
    warned: Mutex<HashSet<String>>,
}

/// A delivery that was checked.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) outcome: Result<VerifiedSignature, VerifyError>,
    /// Which of our secrets it was signed with.
    pub(super) fingerprint: Option<Fingerprint>,
    /// What there is to say of a secret that is not ours, said once.
    pub(super) warning: Option<String>,
}

impl Keys {
    /// Verifies with those secrets.
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

    /// The verifier of this moment.
    pub(super) fn verifier(&self) -> Arc<Verifier> {
        Arc::clone(&lock(&self.verifier))
    }

    /// Which secrets they are, the newest first.
    pub(super) fn fingerprints(&self) -> Vec<String> {
        let verifier = self.verifier();
        let keys = verifier.keys().iter();
        keys.map(|key| key.fingerprint().to_string()).collect()
    }

    /// Refuses what is no delivery by its headers alone, before its body is there.
    pub(super) fn check_headers(&self, headers: &HeaderMap) -> Result<(), VerifyError> {
        self.verifier().begin_with_headers(headers).map(drop)
    }

    /// Verifies a delivery; looks for a newer secret where it names one.
    pub(super) async fn check(&self, headers: &HeaderMap, body: &[u8], now: u64) -> Checked {
        let mut verifier = self.verifier();
        let mut outcome = verifier.verify_with_headers(headers, body, now);
        let mut warning = None;
        // Nobody goes looking for the sake of what is malformed or stale.
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

    /// Reads the secrets again; says whether they are others now.
    async fn reload(&self) -> bool {
        let secrets = match &self.source {
            Source::Fixed(_) => return false,
            // What cannot be read for the moment changes nothing.
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

    /// A delivery is genuine, and names a newer secret that we do not have.
    fn warn_once(&self, fingerprint: &str) -> Option<String> {
        let mut warned = lock(&self.warned);
        let is_new =
            warned.len() < MAX_WARNED_FINGERPRINTS && warned.insert(fingerprint.to_owned());
        is_new.then(|| {
            format!(
                "a newer signing secret ({fingerprint}) is in use and is not in {}: put it there before the old one is retired",
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

/// The signing secret of the service.
pub(crate) async fn fetch_secrets(client: &developer::Client) -> Result<Secrets, Failure> {
    let answer = client.webhooks().signing_secret().await?;
    let text = answer.secret.ok_or_else(|| {
        Failure::other("the service does not tell the signing secret")
            .hint("pass --secret-file FILE")
    })?;
    Secrets::from_text(text.expose(), Source::Service)
}

/// The fingerprint that a delivery names, where none of our secrets has it.
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

/// Nothing is left half done by a panic: each change is one assignment.
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
    async fn a_rotation_loses_nothing_and_a_retired_secret_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, "first").unwrap();
        let keys = from_file(&path);
        outcome(&keys, &["first"]).await.unwrap();
        // Rotated; the file is not there yet, then it is, and in the end the old secret is gone.
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
    async fn a_file_that_is_gone_changes_nothing_and_a_variable_stays_what_it_is() {
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
