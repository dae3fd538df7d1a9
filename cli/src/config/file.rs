//! The configuration file: `[profiles.NAME]` tables in TOML, comments kept when it is changed.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, value};

use crate::error::Failure;

/// What a profile can say.
pub(crate) const PROFILE_KEYS: [&str; 5] = [
    "base_url",
    "developer_base_url",
    "mcp_url",
    "first_party_owner",
    "webhook_secret_file",
];

/// The file, read; changes are in memory until it is saved.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    document: DocumentMut,
}

impl ConfigFile {
    /// Reads it. A file that is not there is an empty one.
    pub(crate) fn load(path: PathBuf) -> Result<Self, Failure> {
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(Failure::usage(format!(
                    "cannot read the configuration {}: {error}",
                    path.display()
                )));
            }
        };
        let document = text.parse().map_err(|error: toml_edit::TomlError| {
            Failure::usage(format!(
                "the configuration {} is no TOML: {}",
                path.display(),
                error.message()
            ))
            .hint(error.to_string().trim_end().to_owned())
        })?;
        let file = Self { path, document };
        file.has_profiles_that_are_tables()?;
        Ok(file)
    }

    /// What has another shape would be passed over, as if it were not there.
    fn has_profiles_that_are_tables(&self) -> Result<(), Failure> {
        let refuse = |part: &str| {
            Failure::usage(format!(
                "{part} in the configuration {} is no table",
                self.path.display()
            ))
        };
        let Some(profiles) = self.document.get("profiles") else {
            return Ok(());
        };
        let profiles = profiles.as_table_like().ok_or_else(|| refuse("profiles"))?;
        match profiles.iter().find(|(_, item)| !item.is_table_like()) {
            Some((name, _)) => Err(refuse(&format!("profiles.{name}"))),
            None => Ok(()),
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the profiles in it.
    pub(crate) fn profiles(&self) -> Vec<&str> {
        let profiles = self.document.get("profiles").and_then(Item::as_table_like);
        profiles
            .into_iter()
            .flat_map(|table| table.iter().map(|(name, _)| name))
            .collect()
    }

    /// A profile's value.
    pub(crate) fn get(&self, profile: &str, name: &str) -> Result<Option<String>, Failure> {
        let item = self
            .document
            .get("profiles")
            .and_then(|profiles| profiles.get(profile))
            .and_then(|profile| profile.get(name));
        match item {
            None => Ok(None),
            Some(item) => item
                .as_str()
                .map(|text| Some(text.to_owned()))
                .ok_or_else(|| {
                    Failure::usage(format!(
                        "profiles.{profile}.{name} in {} is no text",
                        self.path.display()
                    ))
                }),
        }
    }

    /// Changes a profile's value.
    pub(crate) fn set(&mut self, profile: &str, name: &str, text: &str) -> Result<(), Failure> {
        let refuse =
            |part: &str| Failure::usage(format!("{part} in the configuration is no table"));
        let profiles = self
            .document
            .entry("profiles")
            .or_insert_with(implicit_table);
        let profiles = profiles
            .as_table_like_mut()
            .ok_or_else(|| refuse("profiles"))?;
        let table = profiles.entry(profile).or_insert(Item::Table(Table::new()));
        let table = table
            .as_table_like_mut()
            .ok_or_else(|| refuse("the profile"))?;
        table.insert(name, value(text));
        Ok(())
    }

    /// Removes a profile's value; says whether there was one.
    pub(crate) fn unset(&mut self, profile: &str, name: &str) -> bool {
        self.document
            .get_mut("profiles")
            .and_then(|profiles| profiles.get_mut(profile))
            .and_then(Item::as_table_like_mut)
            .and_then(|table| table.remove(name))
            .is_some()
    }

    /// Writes it, whole or not at all.
    pub(crate) fn save(&self) -> Result<(), Failure> {
        write_private(&self.path, self.document.to_string().as_bytes())
            .map_err(|error| Failure::file("cannot write the configuration", &self.path, &error))
    }
}

fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

/// Writes a file that only its owner can read (0600), whole or not at all.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A file that is a link stays one: what it leads to is replaced.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder)?;
    // A temporary file of this crate has mode 0600 from its first byte.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Exit;

    #[test]
    fn a_change_keeps_what_else_is_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/config.toml");
        let mut file = ConfigFile::load(path.clone()).unwrap();
        file.set("default", "base_url", "https://a.example")
            .unwrap();
        file.save().unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "[profiles.default]\nbase_url = \"https://a.example\"\n"
        );

        fs::write(
            &path,
            "# mine\n[profiles.work]\nbase_url = \"https://b.example\" # the office\n",
        )
        .unwrap();
        let mut file = ConfigFile::load(path.clone()).unwrap();
        assert_eq!(
            file.get("work", "base_url").unwrap().as_deref(),
            Some("https://b.example")
        );
        assert_eq!(file.get("work", "mcp_url").unwrap(), None);
        assert_eq!(file.profiles(), ["work"]);
        file.set("work", "mcp_url", "https://m.example").unwrap();
        assert!(!file.unset("home", "base_url"));
        file.save().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("# mine\n")
                && text.contains("# the office")
                && text.contains("mcp_url")
        );
        assert!(file.unset("work", "base_url"));
    }

    #[test]
    fn a_broken_file_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "[profiles").unwrap();
        let failure = ConfigFile::load(path.clone()).unwrap_err();
        assert_eq!(failure.exit(), Exit::Usage);
        assert!(failure.headline().contains("config.toml"));
        for text in ["profiles = 5", "[profiles]\nbase_url = 'https://a.example'"] {
            fs::write(&path, text).unwrap();
            let failure = ConfigFile::load(path.clone()).unwrap_err();
            assert!(failure.headline().contains("is no table"));
        }
        fs::write(&path, "[profiles.a]\nbase_url = 5\n").unwrap();
        assert!(
            ConfigFile::load(path)
                .unwrap()
                .get("a", "base_url")
                .is_err()
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_private(&link, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        write_private(&path, b"x").unwrap();
        assert_eq!(
            fs::metadata(path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}
