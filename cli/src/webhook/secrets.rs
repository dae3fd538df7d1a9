//! Signing secrets and where they are read from.
//!
//! A secret is never passed as an argument and never printed. It is read from a file
//! (`--secret-file`, or the profile's `webhook_secret_file`), from the variable
//! `SVC_WEBHOOK_SECRET`, or from the profile's `webhook_secret`. Each of them may have several
//! secrets, one per line and the newest first, for use during a rotation.
//!
//! A delivery contains the fingerprint of the newest secret. If it is unknown, the receiver loads the
//! secrets again, from the file or the service that they came from. Secrets from a variable or the
//! profile do not change.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http_body_util::Full;
use jiff::Timestamp;
use svc_sdk::{ApiKey, developer};
use svc_webhook_verify::{
    KeyError, KeySet, ReceiveError, Verifier, VerifyError, Webhook, WebhookReceiver, header,
    secret_lines,
};

use crate::clock;
use crate::config::{Origin, Setting};
use crate::error::{Failure, Result, Suggestion};
use crate::input::{read_file, write_private};
use crate::session::Session;
use crate::webhook::store;

const VARIABLE: &str = "SVC_WEBHOOK_SECRET";
const PROFILE_VALUE: &str = "webhook_secret";
const PROFILE_FILE: &str = "webhook_secret_file";

/// The currently valid secrets, newest first.
pub(crate) struct Secrets {
    keys: KeySet,
    texts: Vec<String>,
    source: SecretSource,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SecretSource {
    /// A file, which can be reloaded.
    File(PathBuf),
    /// A variable or a profile value, which do not change while the program runs.
    Fixed(String),
    /// The service, from which they can be fetched again.
    Service,
    /// The file of `svc webhook trigger`, which does not change.
    Trigger,
}

impl Secrets {
    /// Returns the configured secrets, or in the sandbox the secret of its mock.
    pub(crate) fn require(session: &Session, file: Option<&Path>) -> Result<Self> {
        match Self::find(session, file)? {
            Some(secrets) => Ok(secrets),
            None if session.is_sandbox() => {
                let secret = session.sandbox().webhook_secret();
                Self::from_text(&secret, SecretSource::Fixed("the sandbox".to_owned()))
            }
            None => Err(Self::missing()),
        }
    }

    /// The secret of `svc webhook trigger`, which is made once, and which `listen` accepts.
    pub(crate) fn of_trigger(session: &Session) -> Result<Self> {
        let path = Self::trigger_file(session)?;
        if !path.exists() {
            let secret = format!("whsec_{}\n", clock::random_hex(24)?);
            write_private(&path, secret.as_bytes())
                .map_err(|error| Failure::file("cannot write", &path, &error))?;
        }
        Self::made_by_trigger(session)?.ok_or_else(Self::missing)
    }

    /// Returns the same secret, if it was made before.
    pub(crate) fn made_by_trigger(session: &Session) -> Result<Option<Self>> {
        let path = Self::trigger_file(session)?;
        if session.is_sandbox() || !path.exists() {
            return Ok(None);
        }
        let secrets = Self { source: SecretSource::Trigger, ..Self::from_file(&path)? };
        Ok(Some(secrets))
    }

    pub(crate) fn trigger_file(session: &Session) -> Result<PathBuf> {
        Ok(store::folder(session)?.join("trigger-secret"))
    }

    /// Returns the configured secrets, if any: flag, then environment, then profile.
    pub(crate) fn find(session: &Session, file: Option<&Path>) -> Result<Option<Self>> {
        let found = match file {
            Some(path) => Some(Self::from_file(path)?),
            None if session.is_sandbox() => None,
            None => Self::configured(session)?,
        };
        if let Some(secrets) = &found {
            secrets.redact(session);
        }
        Ok(found)
    }

    /// Returns the origin of secrets that are configured as a value rather than a file.
    pub(crate) fn origin(session: &Session) -> Result<Option<Origin>> {
        Ok(Self::value(session)?.map(|value| value.origin))
    }

    pub(crate) fn missing() -> Failure {
        Failure::configuration("no signing secret is configured")
            .hint(format!("set {VARIABLE}, or pass --secret-file FILE"))
            .hint(
                Suggestion::from("or fetch it into a file (umask 077; ")
                    .svc(["webhook", "secret", "show", "--jq", ".secret"])
                    .then(" > FILE) and configure the file (")
                    .svc(["config", "set", "webhook_secret_file", "FILE"])
                    .then(")"),
            )
    }

    fn configured(session: &Session) -> Result<Option<Self>> {
        if let Some(value) = Self::value(session)? {
            let name = match &value.origin {
                Origin::Profile(profile) => format!("{PROFILE_VALUE} of profile {profile}"),
                _ => VARIABLE.to_owned(),
            };
            return Self::from_text(&value.value, SecretSource::Fixed(name)).map(Some);
        }
        let settings = session.settings()?;
        settings.check_profile()?;
        let file = settings.get(PROFILE_FILE);
        file.map(|path| Self::from_file(Path::new(&path.value))).transpose()
    }

    /// Returns the variable's value, or the profile's value unless a variable names a file.
    fn value(session: &Session) -> Result<Option<Setting>> {
        if let Some(text) = session.environment().get(VARIABLE) {
            return Ok(Some(Setting {
                value: text.to_owned(),
                origin: Origin::Variable(VARIABLE),
            }));
        }
        let settings = session.settings()?;
        let file = settings.get(PROFILE_FILE);
        if file.is_some_and(|file| !matches!(file.origin, Origin::Profile(_))) {
            return Ok(None);
        }
        let profile = &settings.profile.value;
        let value = settings.file.get(profile, PROFILE_VALUE)?;
        Ok(value
            .filter(|text| !text.is_empty())
            .map(|value| Setting { value, origin: Origin::Profile(profile.clone()) }))
    }

    pub(crate) fn from_file(path: &Path) -> Result<Self> {
        let text = String::from_utf8(read_file("--secret-file", path)?)
            .map_err(|_| Failure::usage(format!("{} is not valid UTF-8 text", path.display())))?;
        let source = match path == Path::new("-") {
            // Standard input cannot be read a second time.
            true => SecretSource::Fixed("standard input".to_owned()),
            false => SecretSource::File(path.to_owned()),
        };
        Self::from_text(&text, source)
    }

    /// Parses secrets, one per line. Whitespace around a secret is ignored.
    pub(crate) fn from_text(text: &str, source: SecretSource) -> Result<Self> {
        let keys = KeySet::from_lines(text).map_err(|error| unusable(&source, error))?;
        let texts = secret_lines(text).map(str::to_owned).collect();
        Ok(Self { keys, texts, source })
    }

    pub(crate) fn keys(&self) -> &KeySet {
        &self.keys
    }

    /// A tolerance of zero accepts timestamps of any age.
    pub(crate) fn verifier(&self, tolerance: Duration) -> Verifier {
        let verifier = Verifier::new(self.keys.clone());
        match tolerance {
            Duration::ZERO => verifier.ignoring_timestamp(),
            _ => verifier.tolerance(tolerance),
        }
    }

    pub(crate) fn newest(&self) -> &str {
        self.texts.first().map_or("", String::as_str)
    }

    pub(crate) fn source(&self) -> &SecretSource {
        &self.source
    }

    pub(crate) fn redact(&self, session: &Session) {
        let secrets = self.texts.iter().map(String::as_str);
        for secret in secrets.filter_map(|text| ApiKey::new(text).ok()) {
            session.printer.redact(&secret);
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets")
            .field("keys", &self.keys)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Fixed(name) => f.write_str(name),
            Self::Service => f.write_str("the service"),
            Self::Trigger => f.write_str("svc webhook trigger"),
        }
    }
}

fn unusable(source: &SecretSource, error: KeyError) -> Failure {
    let why = match error {
        KeyError::TooManySecrets => format!("{source}: {error}"),
        _ => format!("{source} has no valid signing secret"),
    };
    Failure::usage(why)
}

/// The minimum time between requests to the service, because anyone can send unknown fingerprints.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(2);
/// The service waits ten seconds for the response to a delivery.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of fingerprints that cause a warning.
const MAX_WARNED_FINGERPRINTS: usize = 16;

/// Signing secrets in use, with reloading during a rotation.
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
        let fetch = client.map(|client| {
            let (fetched_at, has_failed) = (Mutex::default(), AtomicBool::default());
            Arc::new(RateLimitedFetch { client, fetched_at, has_failed })
        });
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

    pub(crate) fn source(&self) -> &SecretSource {
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

    pub(crate) fn verifier(&self) -> Arc<Verifier> {
        self.receiver.verifier()
    }

    /// Returns the fingerprints of the secrets, newest first.
    pub(crate) fn fingerprints(&self) -> Vec<String> {
        let verifier = self.verifier();
        let keys = verifier.keys().iter();
        keys.map(|key| key.fingerprint().to_string()).collect()
    }

    pub(crate) fn check_headers(&self, headers: &HeaderMap) -> Result<(), VerifyError> {
        self.verifier().begin_with_headers(headers).map(drop)
    }

    pub(crate) async fn verify(
        &self,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Webhook, ReceiveError> {
        let trigger = self.trigger_receiver(headers, &body);
        trigger.as_ref().unwrap_or(&self.receiver).receive(headers, Full::new(body)).await
    }

    /// Returns a warning, once per fingerprint, if a delivery names an unknown newer secret.
    pub(crate) fn warning(&self, webhook: &Webhook) -> Option<String> {
        let fingerprint = webhook.unknown_fingerprint()?;
        let source = &self.source;
        let what = match &self.fetch {
            // It was fetched a moment ago, and is fetched again with a later delivery.
            Some(fetch) if !fetch.has_failed.load(Ordering::Relaxed) => return None,
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

struct RateLimitedFetch {
    client: developer::Client,
    fetched_at: Mutex<Option<Timestamp>>,
    has_failed: AtomicBool,
}

impl RateLimitedFetch {
    async fn keys(self: Arc<Self>) -> Option<KeySet> {
        if !self.is_due() {
            return None;
        }
        let fetched = tokio::time::timeout(FETCH_TIMEOUT, fetch_secrets(&self.client)).await;
        let fetched = fetched.ok().and_then(Result::ok);
        self.has_failed.store(fetched.is_none(), Ordering::Relaxed);
        Some(fetched?.keys().clone())
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
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_secrets() {
        let secrets = Secrets::from_text("canary_secret", SecretSource::Service).unwrap();
        let shown = format!("{secrets:?}");
        assert!(!shown.contains("canary"), "{shown}");
    }
}
