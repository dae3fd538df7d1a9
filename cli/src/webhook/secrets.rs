//! Signing secrets and where they are read from.
//!
//! A secret is never passed as an argument and never printed. It is read from a file
//! (`--secret-file`, or the profile's `webhook_secret_file`), from the variable
//! `SVC_WEBHOOK_SECRET`, or from the profile's `webhook_secret`. Each of them may have several
//! secrets, one per line and the newest first, for use during a rotation.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use svc_sdk::ApiKey;
use svc_webhook_verify::{KeyError, KeySet, Verifier, secret_lines};

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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Secrets> {
        Secrets::from_text(text, SecretSource::Fixed("a test".into()))
    }

    #[test]
    fn debug_output_hides_the_secrets() {
        let shown = format!("{:?}", of("canary_secret").unwrap());
        assert!(!shown.contains("canary"), "{shown}");
    }
}
