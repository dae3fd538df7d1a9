//! Settings with their origins: flags, environment variables and the configuration file, which has
//! `[profiles.NAME]` tables in TOML, and whose comments are preserved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use etcetera::{AppStrategy, AppStrategyArgs};
use toml_edit::{DocumentMut, Item, Table, value};
use url::Url;

use crate::args::{Global, SurfaceChoice};
use crate::error::{Failure, Result, Suggestion};
use crate::input::{read_or_empty, write_private};
use crate::text::nearest;

/// The profile that is used if none is named, and the configuration file names none either.
pub(crate) const DEFAULT_PROFILE: &str = "default";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Flag(&'static str),
    Variable(&'static str),
    Profile(String),
    File,
    Default,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "flag {name}"),
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::Profile(name) => write!(f, "profile {name}"),
            Self::File => f.write_str("default_profile of the configuration"),
            Self::Default => f.write_str("default"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) value: String,
    pub(crate) origin: Origin,
}

#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) profile: Setting,
    pub(crate) file: ConfigFile,
    values: BTreeMap<&'static str, Setting>,
}

impl Settings {
    pub(crate) fn resolve(flags: &Global, environment: &Environment) -> Result<Self> {
        let file = ConfigFile::load(config_file(environment)?)?;
        let named =
            flag_or_variable(flags.profile.as_ref(), "--profile", environment, "SVC_PROFILE");
        let profile = match (named, file.default_profile()?) {
            (Some(named), _) => named,
            (None, Some(value)) => Setting { value, origin: Origin::File },
            (None, None) => Setting { value: DEFAULT_PROFILE.to_owned(), origin: Origin::Default },
        };
        let mut values = BTreeMap::new();
        for name in PROFILE_KEYS {
            let (variable, flag) = match name {
                "base_url" => ("SVC_BASE_URL", flags.base_url.as_ref()),
                "developer_base_url" => {
                    ("SVC_DEVELOPER_BASE_URL", flags.developer_base_url.as_ref())
                }
                "mcp_url" => ("SVC_MCP_URL", None),
                "first_party_owner" => ("SVC_FIRST_PARTY_OWNER", None),
                _ => ("SVC_WEBHOOK_SECRET_FILE", None),
            };
            let flag_name = if name == "base_url" { "--base-url" } else { "--developer-base-url" };
            let given = flag_or_variable(flag, flag_name, environment, variable);
            let stored = || {
                let value = file.get(&profile.value, name)?.filter(|value| !value.is_empty());
                let origin = Origin::Profile(profile.value.clone());
                Ok::<_, Failure>(value.map(|value| Setting { value, origin }))
            };
            let Some(mut setting) = given.map_or_else(stored, |given| Ok(Some(given)))? else {
                continue;
            };
            if name.ends_with("_url") {
                setting.value = with_scheme(setting.value);
            }
            values.insert(name, setting);
        }
        Ok(Self { profile, file, values })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Setting> {
        self.values.get(name)
    }

    pub(crate) fn url_of(&self, surface: SurfaceChoice) -> Option<&Setting> {
        self.get(surface.names().url)
    }

    pub(crate) fn origin_of_url(&self, url: &str) -> Option<&Origin> {
        let mut urls =
            ["base_url", "developer_base_url", "mcp_url"].iter().filter_map(|it| self.get(it));
        urls.find(|setting| setting.value == url).map(|setting| &setting.origin)
    }

    pub(crate) fn require_url(&self, surface: SurfaceChoice) -> Result<&Setting> {
        self.check_profile()?;
        self.url_of(surface).ok_or_else(|| {
            let (variable, flag) = (surface.names().url_variable, surface.names().url_flag);
            let name = surface.as_str();
            let profiles = self.other_profiles();
            let failure =
                Failure::configuration(format!("no URL of the {name} surface is configured"));
            let failure = match profiles.first() {
                Some(profile) => failure.hint(
                    Suggestion::from(format!("there are profiles ({}): ", profiles.join(", ")))
                        .svc(["profile", "use", profile]),
                ),
                None => failure,
            };
            // The first run asks for both surfaces.
            let setup = match self.url_of(surface.other()) {
                Some(_) => vec!["auth", "login", "--surface", name],
                None => vec!["init"],
            };
            failure
                .hint(Suggestion::from("set it up together with an API key: ").svc(setup))
                .hint(
                    Suggestion::from("or try it without the service: pass --sandbox, or run `")
                        .svc(["mock", "serve"])
                        .then("`"),
                )
                .hint(format!("or set {variable}, or pass {flag} URL"))
        })
    }

    pub(crate) fn other_profiles(&self) -> Vec<&str> {
        let profiles = self.file.profiles();
        match self.profile.origin == Origin::Default && !profiles.contains(&DEFAULT_PROFILE) {
            true => profiles,
            false => Vec::new(),
        }
    }

    pub(crate) fn check_profile(&self) -> Result {
        let name = &self.profile.value;
        if self.profile.origin == Origin::Default || self.file.profiles().contains(&name.as_str()) {
            return Ok(());
        }
        Err(self.file.no_profile(name))
    }
}

fn flag_or_variable(
    flag: Option<&String>,
    flag_name: &'static str,
    environment: &Environment,
    variable: &'static str,
) -> Option<Setting> {
    let from_flag =
        flag.map(|value| Setting { value: value.clone(), origin: Origin::Flag(flag_name) });
    from_flag.or_else(|| {
        let value = environment.get(variable)?.to_owned();
        Some(Setting { value, origin: Origin::Variable(variable) })
    })
}

/// Adds `http://` to a URL of this machine without a scheme, such as `localhost:4010`.
pub(crate) fn with_scheme(url: String) -> String {
    let host = url.split(['/', '?', '#']).next().unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    match name {
        "localhost" | "127.0.0.1" | "[::1]" => format!("http://{url}"),
        _ => url,
    }
}

pub(crate) fn origin_of(url: &str) -> Result<String> {
    let parsed = Url::parse(url).map_err(|_| {
        Failure::configuration(format!(
            "invalid URL `{url}`: expected https://HOST, or http:// for this machine"
        ))
    })?;
    if parsed.host_str().is_none() {
        return Err(Failure::configuration(format!("invalid URL `{url}`: it has no host")));
    }
    Ok(parsed.origin().ascii_serialization())
}

/// The environment variables of the process.
#[derive(Default)]
pub(crate) struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Reads the `SVC_` variables of the process. Empty variables are ignored.
    pub(crate) fn from_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(
            std::env::vars_os()
                .filter_map(text)
                .filter(|(name, value)| name.starts_with("SVC_") && !value.is_empty())
                .collect(),
        )
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

impl std::fmt::Debug for Environment {
    /// Shows only the names, because some values are API keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

pub(crate) fn config_file(environment: &Environment) -> Result<PathBuf> {
    match environment.get("SVC_CONFIG") {
        Some(path) => Ok(path.into()),
        None => Ok(directory_strategy("SVC_CONFIG")?.config_dir().join("config.toml")),
    }
}

pub(crate) fn state_dir(environment: &Environment) -> Result<PathBuf> {
    match environment.get("SVC_STATE_DIR") {
        Some(path) => Ok(path.into()),
        None => {
            let strategy = directory_strategy("SVC_STATE_DIR")?;
            Ok(strategy.state_dir().unwrap_or_else(|| strategy.data_dir()))
        }
    }
}

fn directory_strategy(variable: &str) -> Result<impl AppStrategy> {
    let app = AppStrategyArgs { app_name: "svc".to_owned(), ..AppStrategyArgs::default() };
    etcetera::app_strategy::choose_native_strategy(app).map_err(|error| {
        Failure::configuration(format!("cannot find the home directory: {error}"))
            .hint(format!("set {variable}"))
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_values_of_variables() {
        let variable = ("SVC_OPEN_API_KEY".to_owned(), "canary".to_owned());
        let shown = format!("{:?}", Environment([variable].into()));
        assert!(shown.contains("SVC_OPEN_API_KEY") && !shown.contains("canary"), "{shown}");
    }

    #[test]
    fn urls_of_this_machine_need_no_scheme() {
        for url in ["localhost:4010", "127.0.0.1:4010/v2", "localhost", "[::1]:80", "[::1]"] {
            assert_eq!(with_scheme(url.to_owned()), format!("http://{url}"));
        }
        for url in ["https://localhost", "api.example", "localhost.example:80", "", "127.0.0.10"] {
            assert_eq!(with_scheme(url.to_owned()), url);
        }
    }

    #[test]
    fn the_origin_is_scheme_host_and_port() {
        assert_eq!(origin_of("https://API.example/v2/").unwrap(), "https://api.example");
        assert_eq!(origin_of("http://127.0.0.1:4010").unwrap(), "http://127.0.0.1:4010");
        assert!(origin_of("api.example").is_err());
        assert!(origin_of("data:x").is_err());
    }
}
