//! The API keys of a session: where they come from, and which host they are sent to.

use svc_sdk::ApiKey;

use crate::args::SurfaceChoice;
use crate::config::{ConfiguredKey, KeyOrigin, KeyStore, origin_of};
use crate::error::{Exit, Failure, Result, Suggestion};
use crate::session::Session;
use crate::session::transports::Sandbox;

impl Session {
    /// Returns the API key for requests to a URL, if there is one, and remembers that it was used.
    pub(super) fn key(&self, surface: SurfaceChoice, base_url: &str) -> Result<Option<ApiKey>> {
        let Some(found) = self.find_key(surface, base_url)? else { return Ok(None) };
        if matches!(found.origin, KeyOrigin::Stored { .. })
            && let Some(warning) = self.key_store()?.permission_warning()
        {
            self.printer.warn(&warning);
        }
        let key = found.key.clone();
        self.record_key(surface, found);
        Ok(Some(key))
    }

    /// Returns the API key for requests to a URL and its origin, if there is one.
    pub(crate) fn find_key(
        &self,
        surface: SurfaceChoice,
        base_url: &str,
    ) -> Result<Option<ConfiguredKey>> {
        let Some(origin) = self.key_origin(surface)? else { return Ok(None) };
        if let KeyOrigin::Stored { host, .. } = &origin {
            let requested = origin_of(base_url)?;
            if *host != requested {
                let name = surface.as_str();
                return Err(Failure::new(
                    Exit::NotAllowed,
                    format!("the stored key belongs to {host} and is not sent to {requested}"),
                )
                .hint(Suggestion::from("store a key for that host: ").svc([
                    "auth",
                    "login",
                    "--surface",
                    name,
                    surface.names().url_flag,
                    base_url,
                ]))
                .hint(format!("or set {}", surface.names().key_variable)));
            }
        }
        self.read_key(surface, origin)
    }

    /// Returns the configured API key of a surface and its origin, whichever host it belongs to.
    pub(crate) fn configured_key(&self, surface: SurfaceChoice) -> Result<Option<ConfiguredKey>> {
        match self.key_origin(surface)? {
            Some(origin) => self.read_key(surface, origin),
            None => Ok(None),
        }
    }

    /// Returns the origin of a surface's API key, if there is one, without reading the keyring.
    pub(crate) fn key_origin(&self, surface: SurfaceChoice) -> Result<Option<KeyOrigin>> {
        if self.is_sandbox() {
            return Ok(Some(KeyOrigin::Sandbox));
        }
        let variable = surface.names().key_variable;
        if self.environment().get(variable).is_some() {
            return Ok(Some(KeyOrigin::Variable(variable)));
        }
        let profile = self.settings()?.profile.value.clone();
        self.key_store()?.find(&profile, surface)
    }

    /// Keys of different origins may belong to different accounts, each with its own charges.
    pub(crate) fn mixed_keys(&self) -> Option<String> {
        let [open, developer] =
            SurfaceChoice::ALL.map(|surface| self.key_origin(surface).ok().flatten());
        let (variable, profile, surface) = match (open?, developer?) {
            (KeyOrigin::Variable(variable), KeyOrigin::Stored { profile, .. }) => {
                (variable, profile, SurfaceChoice::Developer)
            }
            (KeyOrigin::Stored { profile, .. }, KeyOrigin::Variable(variable)) => {
                (variable, profile, SurfaceChoice::Open)
            }
            _ => return None,
        };
        let (stored, missing) = (surface.as_str(), surface.names().key_variable);
        Some(format!(
            "{variable} overrides one key of profile {profile}, which still gives that of the \
             {stored} surface: if they belong to different accounts, set {missing} too"
        ))
    }

    fn read_key(&self, surface: SurfaceChoice, origin: KeyOrigin) -> Result<Option<ConfiguredKey>> {
        let key = match &origin {
            KeyOrigin::Sandbox => Some(Sandbox::key(surface)?),
            KeyOrigin::Variable(name) => {
                let text = self.environment().get(name).unwrap_or_default();
                let key = ApiKey::new(text)
                    .map_err(|error| Failure::new(Exit::NotAllowed, format!("{name}: {error}")))?;
                Some(key)
            }
            KeyOrigin::Stored { profile, .. } => self.key_store()?.read(profile, surface)?,
            KeyOrigin::Input(_) => None,
        };
        Ok(key.map(|key| ConfiguredKey { key, origin }))
    }

    pub(crate) fn key_store(&self) -> Result<KeyStore> {
        Ok(KeyStore::next_to(self.settings()?.file.path()))
    }

    pub(crate) fn record_key(&self, surface: SurfaceChoice, used: ConfiguredKey) {
        let mut used_keys = self.used_keys.borrow_mut();
        if used_keys.iter().all(|(_, it)| it.origin != used.origin) {
            used_keys.push((surface, used));
        }
    }
}
