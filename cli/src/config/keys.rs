//! Stored API keys: in the platform's keyring, or in a file of mode 0600 next to the configuration.
//!
//! For each profile and surface, `credentials.toml` contains the location of the key and the origin
//! that it was verified with: a stored key is never sent to another host.

use std::fmt;
use std::path::{Path, PathBuf};

use svc_sdk::ApiKey;
use toml_edit::{DocumentMut, Item, Table, value};

use crate::args::SurfaceChoice;
use crate::config::file::implicit_table;
use crate::config::keyring;
use crate::error::{Exit, Failure, Result, Suggestion};
use crate::input::{read_or_empty, write_private};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyLocation {
    Keyring,
    File,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredKey {
    /// The scheme, host and port that it was verified with.
    pub(crate) origin: String,
    pub(crate) location: KeyLocation,
}

#[derive(Debug)]
pub(crate) struct KeyStore {
    path: PathBuf,
}

impl KeyStore {
    pub(crate) fn next_to(config: &Path) -> Self {
        Self { path: config.with_file_name("credentials.toml") }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn find(&self, profile: &str, surface: SurfaceChoice) -> Result<Option<StoredKey>> {
        let document = self.load()?;
        let Some(entry) = entry(&document, profile, surface) else { return Ok(None) };
        let text = |name: &str| entry.get(name).and_then(Item::as_str).map(str::to_owned);
        let location = if text("key").is_some() { KeyLocation::File } else { KeyLocation::Keyring };
        Ok(Some(StoredKey { origin: text("origin").unwrap_or_default(), location }))
    }

    pub(crate) fn read(&self, profile: &str, surface: SurfaceChoice) -> Result<Option<ApiKey>> {
        let document = self.load()?;
        let Some(entry) = entry(&document, profile, surface) else { return Ok(None) };
        let text = match entry.get("key").and_then(Item::as_str) {
            Some(key) => key.to_owned(),
            None => keyring::read(&keyring_account(profile, surface)).map_err(|why| {
                Failure::new(
                    Exit::NotAllowed,
                    format!("cannot read the key from the keyring: {why}"),
                )
                .hint(
                    Suggestion::from("unlock the keyring, or log in again with `")
                        .svc(["auth", "login"])
                        .then("`"),
                )
            })?,
        };
        let key = ApiKey::new(text).map_err(|error| {
            Failure::new(Exit::NotAllowed, format!("invalid stored key: {error}"))
        })?;
        Ok(Some(key))
    }

    /// Returns the location, and why the keyring was not used.
    pub(crate) fn write(
        &self,
        profile: &str,
        surface: SurfaceChoice,
        key: &ApiKey,
        origin: &str,
    ) -> Result<(KeyLocation, Option<String>)> {
        let account = keyring_account(profile, surface);
        let keyring_error = keyring::write(&account, key.expose()).err();
        let mut document = self.load()?;
        let table = document.entry("profiles").or_insert_with(implicit_table);
        let table = subtable(table, profile)?;
        let mut entry = Table::new();
        entry.insert("origin", value(origin));
        if keyring_error.is_some() {
            entry.insert("key", value(key.expose()));
        }
        table.insert(surface.as_str(), Item::Table(entry));
        self.save(&document)?;
        let location = match keyring_error {
            Some(_) => KeyLocation::File,
            None => KeyLocation::Keyring,
        };
        Ok((location, keyring_error))
    }

    pub(crate) fn remove(&self, profile: &str, surface: SurfaceChoice) -> Result<bool> {
        let Some(stored) = self.find(profile, surface)? else { return Ok(false) };
        if stored.location == KeyLocation::Keyring {
            keyring::remove(&keyring_account(profile, surface)).map_err(|why| {
                Failure::other(format!("cannot remove the key from the keyring: {why}"))
            })?;
        }
        let mut document = self.load()?;
        if let Some(table) = document
            .get_mut("profiles")
            .and_then(|profiles| profiles.get_mut(profile))
            .and_then(Item::as_table_like_mut)
        {
            table.remove(surface.as_str());
        }
        self.save(&document)?;
        Ok(true)
    }

    pub(crate) fn permission_warning(&self) -> Option<String> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;

            let mode = std::fs::metadata(&self.path).ok()?.permissions().mode();
            if mode & 0o077 != 0 {
                let path = self.path.display();
                return Some(format!(
                    "other users can read the keys in {path}: run chmod 600 {path}"
                ));
            }
        }
        None
    }

    fn load(&self) -> Result<DocumentMut> {
        let path = self.path.display();
        let text = read_or_empty(&self.path)
            .map_err(|error| Failure::configuration(format!("cannot read {path}: {error}")))?;
        // The parser's message is left out, because it quotes the file and so possibly a key.
        text.parse().map_err(|_| {
            Failure::configuration(format!("{path} is not valid TOML"))
                .hint("remove the file, and log in again")
        })
    }

    fn save(&self, document: &DocumentMut) -> Result {
        write_private(&self.path, document.to_string().as_bytes())
            .map_err(|error| Failure::file("cannot write", &self.path, &error))
    }
}

fn entry<'a>(document: &'a DocumentMut, profile: &str, surface: SurfaceChoice) -> Option<&'a Item> {
    document.get("profiles")?.get(profile)?.get(surface.as_str())
}

fn subtable<'a>(item: &'a mut Item, name: &str) -> Result<&'a mut dyn toml_edit::TableLike> {
    item.as_table_like_mut()
        .map(|table| table.entry(name).or_insert_with(implicit_table))
        .and_then(Item::as_table_like_mut)
        .ok_or_else(|| {
            Failure::configuration(format!("{name} in the file of stored keys is not a table"))
                .hint("remove the file, and log in again")
        })
}

fn keyring_account(profile: &str, surface: SurfaceChoice) -> String {
    format!("{profile}/{}", surface.as_str())
}

/// The minimum length of a key whose last characters are shown in its redacted form.
const MIN_LENGTH_WITH_TAIL: usize = 24;
const MAX_PREFIX: usize = 12;

#[derive(Clone, Debug)]
pub(crate) struct ConfiguredKey {
    pub(crate) key: ApiKey,
    pub(crate) origin: KeyOrigin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyOrigin {
    Variable(&'static str),
    /// The stored keys of a profile.
    Stored {
        profile: String,
        location: KeyLocation,
        path: PathBuf,
        host: String,
    },
    Input(String),
    Sandbox,
}

impl ConfiguredKey {
    /// Such as `svc_open_…k3f9`: the prefix, and the last four characters of a long key.
    pub(crate) fn redacted(&self) -> String {
        redacted(self.key.expose())
    }
}

fn redacted(key: &str) -> String {
    let end = key
        .match_indices('_')
        .map(|(index, _)| index + 1)
        .filter(|end| *end <= MAX_PREFIX.min(key.len().saturating_sub(4)))
        .take(2)
        .last();
    let prefix = end.and_then(|end| key.get(..end)).unwrap_or_default();
    let tail = match key.len() >= MIN_LENGTH_WITH_TAIL {
        true => key.get(key.len() - 4..).unwrap_or_default(),
        false => "",
    };
    format!("{prefix}…{tail}")
}

impl fmt::Display for KeyOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::Stored { profile, location, path, host } => match location {
                KeyLocation::Keyring => write!(f, "profile {profile} (keyring, for {host})"),
                KeyLocation::File => {
                    write!(f, "profile {profile} (file {}, for {host})", path.display())
                }
            },
            Self::Input(name) => f.write_str(name),
            Self::Sandbox => f.write_str("the sandbox"),
        }
    }
}
