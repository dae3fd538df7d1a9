//! Stored keys: in the platform's keyring, or in a file of mode 0600 beside the configuration.
//!
//! `credentials.toml` says for each profile and surface where the key is, and which origin it was
//! verified with: a stored key is never sent to another host. A keyring that is not asked for is
//! not touched.

use std::fs;
use std::io;
use std::path::PathBuf;

use svc_sdk::Secret;
use toml_edit::{DocumentMut, Item, Table, value};

use super::file::write_private;
use super::keyring;
use crate::args::SurfaceChoice;
use crate::error::{Exit, Failure};

/// Where a key is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyLocation {
    /// The platform's keyring.
    Keyring,
    /// The file.
    File,
}

/// What is stored, without the key itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredKey {
    /// Scheme, host and port that it was verified with.
    pub(crate) origin: String,
    /// Where it is.
    pub(crate) location: KeyLocation,
}

/// The stored keys of one configuration.
#[derive(Debug)]
pub(crate) struct KeyStore {
    path: PathBuf,
}

impl KeyStore {
    /// The store beside that configuration file.
    pub(crate) fn next_to(config: &std::path::Path) -> Self {
        Self {
            path: config.with_file_name("credentials.toml"),
        }
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// What is stored for that profile and surface.
    pub(crate) fn find(
        &self,
        profile: &str,
        surface: SurfaceChoice,
    ) -> Result<Option<StoredKey>, Failure> {
        let document = self.load()?;
        let Some(entry) = entry(&document, profile, surface) else {
            return Ok(None);
        };
        let text = |name: &str| entry.get(name).and_then(Item::as_str).map(str::to_owned);
        let location = if text("key").is_some() {
            KeyLocation::File
        } else {
            KeyLocation::Keyring
        };
        Ok(Some(StoredKey {
            origin: text("origin").unwrap_or_default(),
            location,
        }))
    }

    /// The key that is stored for that profile and surface.
    pub(crate) fn read(
        &self,
        profile: &str,
        surface: SurfaceChoice,
    ) -> Result<Option<Secret>, Failure> {
        let document = self.load()?;
        let Some(entry) = entry(&document, profile, surface) else {
            return Ok(None);
        };
        let text = match entry.get("key").and_then(Item::as_str) {
            Some(key) => key.to_owned(),
            None => keyring::read(&account(profile, surface)).map_err(|why| {
                Failure::new(
                    Exit::NotAllowed,
                    format!("the key is in the keyring, which cannot be read: {why}"),
                )
                .hint("unlock the keyring, or log in again with `svc auth login`")
            })?,
        };
        let key = Secret::new(text).map_err(|error| {
            Failure::new(
                Exit::NotAllowed,
                format!("the stored key cannot be used: {error}"),
            )
        })?;
        Ok(Some(key))
    }

    /// Stores a key: in the keyring if it takes it and gives it back, else in the file. Says why
    /// the keyring was not used.
    pub(crate) fn write(
        &self,
        profile: &str,
        surface: SurfaceChoice,
        key: &Secret,
        origin: &str,
    ) -> Result<(KeyLocation, Option<String>), Failure> {
        let account = account(profile, surface);
        let refused = keyring::write(&account, key.expose()).err();
        let mut document = self.load()?;
        let table = document.entry("profiles").or_insert_with(implicit_table);
        let table = subtable(table, profile)?;
        let mut entry = Table::new();
        entry.insert("origin", value(origin));
        if refused.is_some() {
            entry.insert("key", value(key.expose()));
        }
        table.insert(surface.as_str(), Item::Table(entry));
        self.save(&document)?;
        let location = if refused.is_some() {
            KeyLocation::File
        } else {
            KeyLocation::Keyring
        };
        Ok((location, refused))
    }

    /// Removes the key of that profile and surface; says whether there was one.
    pub(crate) fn remove(&self, profile: &str, surface: SurfaceChoice) -> Result<bool, Failure> {
        let Some(stored) = self.find(profile, surface)? else {
            return Ok(false);
        };
        if stored.location == KeyLocation::Keyring {
            keyring::remove(&account(profile, surface)).map_err(|why| {
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

    /// What is wrong with who can read the file, if anything is.
    pub(crate) fn permission_warning(&self) -> Option<String> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;

            let mode = fs::metadata(&self.path).ok()?.permissions().mode();
            if mode & 0o077 != 0 {
                let path = self.path.display();
                return Some(format!(
                    "others can read the keys in {path}: run chmod 600 {path}"
                ));
            }
        }
        None
    }

    fn load(&self) -> Result<DocumentMut, Failure> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(Failure::usage(format!(
                    "cannot read {}: {error}",
                    self.path.display()
                )));
            }
        };
        // The parser's message would quote the file, and so a key.
        text.parse().map_err(|_| {
            Failure::usage(format!("{} is no TOML", self.path.display()))
                .hint("remove it, and log in again")
        })
    }

    fn save(&self, document: &DocumentMut) -> Result<(), Failure> {
        write_private(&self.path, document.to_string().as_bytes())
            .map_err(|error| Failure::file("cannot write", &self.path, &error))
    }
}

fn entry<'a>(document: &'a DocumentMut, profile: &str, surface: SurfaceChoice) -> Option<&'a Item> {
    document
        .get("profiles")?
        .get(profile)?
        .get(surface.as_str())
}

fn subtable<'a>(
    item: &'a mut Item,
    name: &str,
) -> Result<&'a mut dyn toml_edit::TableLike, Failure> {
    item.as_table_like_mut()
        .map(|table| table.entry(name).or_insert_with(implicit_table))
        .and_then(Item::as_table_like_mut)
        .ok_or_else(|| {
            Failure::usage(
                "the file of the stored keys has another shape; remove it, and log in again",
            )
        })
}

fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

fn account(profile: &str, surface: SurfaceChoice) -> String {
    format!("{profile}/{}", surface.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_file_of_keys_is_not_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let store = KeyStore::next_to(&folder.path().join("config.toml"));
        fs::write(store.path(), "[profiles.default.open]\nkey = \"canary\n").unwrap();
        let failure = store.read("default", SurfaceChoice::Open).unwrap_err();
        assert!(!format!("{failure:?}").contains("canary"));
    }

    #[test]
    fn a_key_of_the_file_comes_back_and_goes_away() {
        let folder = tempfile::tempdir().unwrap();
        let store = KeyStore::next_to(&folder.path().join("config.toml"));
        assert_eq!(store.find("default", SurfaceChoice::Open).unwrap(), None);
        let toml =
            "[profiles.default.open]\norigin = \"https://a.example\"\nkey = \"svc_open_x\"\n";
        fs::write(store.path(), toml).unwrap();
        let stored = store.find("default", SurfaceChoice::Open).unwrap().unwrap();
        assert_eq!(
            stored,
            StoredKey {
                origin: "https://a.example".into(),
                location: KeyLocation::File
            }
        );
        assert_eq!(
            store
                .read("default", SurfaceChoice::Open)
                .unwrap()
                .unwrap()
                .expose(),
            "svc_open_x"
        );
        assert!(store.remove("default", SurfaceChoice::Open).unwrap());
        assert!(!store.remove("default", SurfaceChoice::Open).unwrap());
        assert!(
            !fs::read_to_string(store.path())
                .unwrap()
                .contains("svc_open_x")
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_found_out() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let store = KeyStore::next_to(&folder.path().join("config.toml"));
        write_private(store.path(), b"").unwrap();
        assert_eq!(store.permission_warning(), None);
        fs::set_permissions(store.path(), fs::Permissions::from_mode(0o644)).unwrap();
        assert!(store.permission_warning().is_some());
    }
}
