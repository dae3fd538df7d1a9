//! The configuration file: `[profiles.NAME]` tables in TOML. Changes preserve comments.

use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, value};

use crate::error::{Failure, Result, Suggestion};
use crate::input::{read_or_empty, write_private};
use crate::text::nearest;

pub(crate) const PROFILE_KEYS: [&str; 5] =
    ["base_url", "developer_base_url", "mcp_url", "first_party_owner", "webhook_secret_file"];

const DEFAULT: &str = "default_profile";

/// A loaded configuration file. Changes are in memory until [`save`](Self::save).
#[derive(Debug)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    document: DocumentMut,
}

impl ConfigFile {
    pub(crate) fn load(path: PathBuf) -> Result<Self> {
        let shown = path.display();
        let text = read_or_empty(&path).map_err(|error| {
            Failure::configuration(format!("cannot read the configuration {shown}: {error}"))
        })?;
        let document = text.parse().map_err(|error: toml_edit::TomlError| {
            let line = line_of(&text, &error);
            let why = error.message().replace('\n', ", ");
            Failure::configuration(format!(
                "the configuration {shown} is not valid TOML in line {line}: {why}"
            ))
        })?;
        let file = Self { path, document };
        file.check_profiles()?;
        Ok(file)
    }

    /// Checks that all profiles are tables. Other values would be ignored silently.
    fn check_profiles(&self) -> Result {
        let invalid = |part: &str| self.not_a(part, "table");
        let Some(profiles) = self.document.get("profiles") else { return Ok(()) };
        let profiles = profiles.as_table_like().ok_or_else(|| invalid("profiles"))?;
        match profiles.iter().find(|(_, item)| !item.is_table_like()) {
            Some((name, _)) => Err(invalid(&format!("profiles.{name}"))),
            None => Ok(()),
        }
    }

    fn not_a(&self, part: &str, kind: &str) -> Failure {
        let path = self.path.display();
        Failure::configuration(format!("{part} in the configuration {path} is not a {kind}"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn profiles(&self) -> Vec<&str> {
        let profiles = self.document.get("profiles").and_then(Item::as_table_like);
        profiles.into_iter().flat_map(|table| table.iter().map(|(name, _)| name)).collect()
    }

    pub(crate) fn default_profile(&self) -> Result<Option<String>> {
        let Some(item) = self.document.get(DEFAULT) else { return Ok(None) };
        let name = item.as_str().ok_or_else(|| self.not_a(DEFAULT, "string"))?;
        Ok(Some(name.to_owned()))
    }

    pub(crate) fn set_default_profile(&mut self, name: Option<&str>) {
        match name {
            Some(name) => drop(self.document.insert(DEFAULT, value(name))),
            None => drop(self.document.remove(DEFAULT)),
        }
    }

    pub(crate) fn remove_profile(&mut self, name: &str) {
        if let Some(profiles) = self.document.get_mut("profiles")
            && let Some(profiles) = profiles.as_table_like_mut()
        {
            profiles.remove(name);
        }
    }

    pub(crate) fn no_profile(&self, name: &str) -> Failure {
        let known = match self.profiles().as_slice() {
            [] => "it has no profiles".to_owned(),
            profiles => format!("existing profiles: {}", profiles.join(", ")),
        };
        let guess = nearest(name, self.profiles());
        let guess = guess.map(|it| format!("; did you mean `{it}`?")).unwrap_or_default();
        let path = self.path.display();
        let why = format!("profile `{name}` not found in {path}: {known}{guess}");
        Failure::configuration(why).hint(
            Suggestion::from("create it with ")
                .svc(["init", "--profile", name])
                .then(", or ")
                .svc(["config", "set", "--profile", name, "KEY", "VALUE"]),
        )
    }

    pub(crate) fn get(&self, profile: &str, name: &str) -> Result<Option<String>> {
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
                .ok_or_else(|| self.not_a(&format!("profiles.{profile}.{name}"), "string")),
        }
    }

    pub(crate) fn set(&mut self, profile: &str, name: &str, text: &str) -> Result {
        let profiles = self.document.entry("profiles").or_insert_with(implicit_table);
        let table = profiles
            .as_table_like_mut()
            .map(|profiles| profiles.entry(profile).or_insert(Item::Table(Table::new())))
            .and_then(Item::as_table_like_mut);
        let Some(table) = table else {
            return Err(self.not_a(&format!("profiles.{profile}"), "table"));
        };
        table.insert(name, value(text));
        Ok(())
    }

    pub(crate) fn unset(&mut self, profile: &str, name: &str) -> bool {
        self.document
            .get_mut("profiles")
            .and_then(|profiles| profiles.get_mut(profile))
            .and_then(Item::as_table_like_mut)
            .and_then(|table| table.remove(name))
            .is_some()
    }

    pub(crate) fn save(&self) -> Result {
        write_private(&self.path, self.document.to_string().as_bytes())
            .map_err(|error| Failure::file("cannot write the configuration", &self.path, &error))
    }
}

fn line_of(text: &str, error: &toml_edit::TomlError) -> usize {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.as_bytes().get(..start).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Creates a table that is written only if it has values of its own.
pub(super) fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}
