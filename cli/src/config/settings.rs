//! Settings with their origins: flags, environment variables and the configuration file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use etcetera::{AppStrategy, AppStrategyArgs};
use url::Url;

use crate::args::{Global, SurfaceChoice};
use crate::config::file::{ConfigFile, PROFILE_KEYS};
use crate::error::{Failure, Result, Suggestion};

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

/// The environment variables of the process or of a test.
#[derive(Default)]
pub(crate) struct Environment(pub(super) BTreeMap<String, String>);

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

impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(variables: [(&str, &str); N]) -> Self {
        Self(variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_values_of_variables() {
        let shown = format!("{:?}", Environment::from([("SVC_OPEN_API_KEY", "canary")]));
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
