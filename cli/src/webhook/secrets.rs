//! Signing secrets: where they come from, and the keys that they are.
//!
//! A secret is never an argument and never printed. It is a file (`--secret-file`, or the profile's
//! `webhook_secret_file`), the variable `SVC_WEBHOOK_SECRET`, or the profile's `webhook_secret`.
//! Each may hold several, one a line and the newest first, as they are good in a rotation.

use std::fmt;
use std::path::{Path, PathBuf};

use svc_sdk::Secret;
use svc_webhook_verify::{KeyError, KeySet};

use crate::config::{Origin, Setting};
use crate::error::Failure;
use crate::input::read_file;
use crate::session::Session;

const VARIABLE: &str = "SVC_WEBHOOK_SECRET";
const PROFILE_VALUE: &str = "webhook_secret";
const PROFILE_FILE: &str = "webhook_secret_file";

/// The secrets that are good at present, newest first.
pub(crate) struct Secrets {
    keys: KeySet,
    texts: Vec<String>,
    source: Source,
}

/// Where secrets come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file, which can be read again.
    File(PathBuf),
    /// A variable or a value of the profile, which stay what they are.
    Fixed(String),
    /// The service, which can be asked again.
    Service,
}

impl Secrets {
    /// The secrets of this run, or what to set.
    pub(crate) fn require(session: &Session, file: Option<&Path>) -> Result<Self, Failure> {
        Self::find(session, file)?.ok_or_else(Self::missing)
    }

    /// The secrets of this run, where any are configured: flag, then environment, then profile.
    pub(crate) fn find(session: &Session, file: Option<&Path>) -> Result<Option<Self>, Failure> {
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

    /// Where the secrets come from that are given in words, where there are any.
    pub(crate) fn origin(session: &Session) -> Result<Option<Origin>, Failure> {
        Ok(Self::value(session)?.map(|value| value.origin))
    }

    /// No secret is configured.
    pub(crate) fn missing() -> Failure {
        Failure::usage("no signing secret is configured")
            .hint(format!("set {VARIABLE}, or pass --secret-file FILE"))
            .hint("or fetch it into a file: svc webhook secret show --jq .secret > FILE, and keep its name: svc config set webhook_secret_file FILE")
    }

    fn configured(session: &Session) -> Result<Option<Self>, Failure> {
        if let Some(value) = Self::value(session)? {
            let name = match &value.origin {
                Origin::Profile(profile) => format!("{PROFILE_VALUE} of profile {profile}"),
                _ => VARIABLE.to_owned(),
            };
            return Self::from_text(&value.value, Source::Fixed(name)).map(Some);
        }
        let settings = session.settings()?;
        settings.check_profile()?;
        let file = settings.get(PROFILE_FILE);
        file.map(|path| Self::from_file(Path::new(&path.value)))
            .transpose()
    }

    /// The variable, or the profile's own value unless a variable names a file.
    fn value(session: &Session) -> Result<Option<Setting>, Failure> {
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
        Ok(value.filter(|text| !text.is_empty()).map(|value| Setting {
            value,
            origin: Origin::Profile(profile.clone()),
        }))
    }

    /// The secrets of a file.
    pub(crate) fn from_file(path: &Path) -> Result<Self, Failure> {
        let text = String::from_utf8(read_file("--secret-file", path)?)
            .map_err(|_| Failure::usage(format!("{} is no text", path.display())))?;
        Self::from_text(&text, Source::File(path.to_owned()))
    }

    /// The secrets in a text, one a line. Blanks around one are the editor's.
    pub(crate) fn from_text(text: &str, source: Source) -> Result<Self, Failure> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let texts: Vec<String> = lines.map(str::to_owned).collect();
        let keys = KeySet::new(&texts).map_err(|error| unusable(&source, error))?;
        Ok(Self {
            keys,
            texts,
            source,
        })
    }

    /// The keys, for verifying and signing.
    pub(crate) fn keys(&self) -> &KeySet {
        &self.keys
    }

    /// The newest secret itself, for a person who asked for it.
    pub(crate) fn newest(&self) -> &str {
        self.texts.first().map_or("", String::as_str)
    }

    /// Where they come from.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Keeps them out of everything that is said.
    pub(crate) fn redact(&self, session: &Session) {
        let secrets = self.texts.iter().map(String::as_str);
        for secret in secrets.filter_map(|text| Secret::new(text).ok()) {
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

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Fixed(name) => f.write_str(name),
            Self::Service => f.write_str("the service"),
        }
    }
}

fn unusable(source: &Source, error: KeyError) -> Failure {
    let why = match error {
        KeyError::TooManySecrets => format!("{source}: {error}"),
        _ => format!("there is no signing secret in {source}"),
    };
    Failure::usage(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Secrets, Failure> {
        Secrets::from_text(text, Source::Fixed("a test".into()))
    }

    #[test]
    fn secrets_are_lines_the_newest_first() {
        let secrets = of("whsec_newest\r\n\n  whsec_previous  \n").unwrap();
        assert_eq!(secrets.newest(), "whsec_newest");
        let prints: Vec<_> = secrets
            .keys()
            .iter()
            .map(|key| key.fingerprint().to_string())
            .collect();
        assert_eq!(prints.len(), 2);
        assert_eq!(prints[0], "7ab95101ed6218b1");
    }

    #[test]
    fn nothing_too_many_and_no_file_are_bad_configuration() {
        for text in ["", " \n\t\n", &"whsec_x\n".repeat(9)] {
            assert_eq!(of(text).unwrap_err().exit(), crate::error::Exit::Usage);
        }
        let failure = Secrets::from_file(Path::new("no/such/file")).unwrap_err();
        assert!(failure.headline().contains("no/such/file"));
    }

    #[test]
    fn a_secret_is_not_shown() {
        let shown = format!("{:?}", of("canary_secret").unwrap());
        assert!(!shown.contains("canary"), "{shown}");
    }
}
