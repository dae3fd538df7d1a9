//! Storing API keys, and warnings of what overrides them.

use svc_sdk::ApiKey;

use crate::args::SurfaceChoice;
use crate::config::{KeyLocation, KeyOrigin, origin_of};
use crate::error::Failure;
use crate::session::{Session, key_variable};

/// Stores a key in the keyring, or else in a file. Returns where it is stored, and why not in the
/// keyring.
///
/// # Errors
///
/// Returns an error if the key cannot be stored.
pub(crate) fn store_key(
    session: &Session,
    surface: SurfaceChoice,
    key: &ApiKey,
    url: &str,
) -> Result<(KeyOrigin, Option<String>), Failure> {
    let profile = session.settings()?.profile.value.clone();
    let store = session.key_store()?;
    let host = origin_of(url)?;
    let (location, why_not) = store.write(&profile, surface, key, &host)?;
    let origin = KeyOrigin::Stored {
        profile,
        location,
        path: store.path().to_owned(),
        host,
    };
    Ok((origin, why_not))
}

/// Notes why the keyring was not used, if it was not.
pub(crate) fn note_unused_keyring(session: &Session, why_not: Option<&str>) {
    if let Some(why_not) = why_not {
        session
            .printer
            .note(&format!("the keyring was not used: {why_not}"));
    }
}

impl KeyOrigin {
    /// Returns where a stored key is, such as `in the keyring`.
    pub(crate) fn stored_location(&self) -> String {
        match self {
            Self::Stored {
                location: KeyLocation::File,
                path,
                ..
            } => format!("in {}", path.display()),
            Self::Stored { .. } => "in the keyring".to_owned(),
            other => format!("in {other}"),
        }
    }
}

/// Warns of environment variables that override a stored key or URL.
pub(crate) fn warn_of_overrides(
    session: &Session,
    surface: SurfaceChoice,
    key: &ApiKey,
    url: &str,
) {
    let environment = session.environment();
    let warn = |variable: &str, what: &str| {
        session.printer.warn(&format!(
            "the environment variable {variable} overrides the stored {what}: unset it to use what was stored"
        ));
    };
    let variable = key_variable(surface);
    match environment.get(variable) {
        Some(text) if text.trim() == key.expose() => session.printer.note(&format!(
            "{variable} is set to the same key, and overrides the stored one"
        )),
        Some(_) => warn(variable, "key"),
        None => {}
    }
    let variable = match surface {
        SurfaceChoice::Open => "SVC_BASE_URL",
        SurfaceChoice::Developer => "SVC_DEVELOPER_BASE_URL",
    };
    if environment.get(variable).is_some_and(|text| text != url) {
        warn(variable, "URL");
    }
}

/// Returns the name of the setting of a surface's URL.
pub(crate) const fn url_setting(surface: SurfaceChoice) -> &'static str {
    match surface {
        SurfaceChoice::Open => "base_url",
        SurfaceChoice::Developer => "developer_base_url",
    }
}
