//! Settings with their origins: flags, environment variables and the configuration file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use etcetera::{AppStrategy, AppStrategyArgs};
use url::Url;

use crate::args::{Global, SurfaceChoice};
use crate::config::file::ConfigFile;
use crate::error::{Failure, Suggestion};

/// The profile that is used if none is named.
const DEFAULT_PROFILE: &str = "default";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A command-line flag.
    Flag(&'static str),
    Variable(&'static str),
    Profile(String),
    Default,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "flag {name}"),
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::Profile(name) => write!(f, "profile {name}"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) value: String,
    pub(crate) origin: Origin,
}

#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) profile: Setting,
    pub(crate) file: ConfigFile,
    base_url: Option<Setting>,
    developer_base_url: Option<Setting>,
    mcp_url: Option<Setting>,
    first_party_owner: Option<Setting>,
    webhook_secret_file: Option<Setting>,
}

impl Settings {
    /// Loads the configuration file and resolves each setting.
    pub(crate) fn resolve(flags: &Global, environment: &Environment) -> Result<Self, Failure> {
        let file = ConfigFile::load(config_file(environment)?)?;
        let profile =
            flag_or_variable(flags.profile.as_ref(), "--profile", environment, "SVC_PROFILE")
                .unwrap_or_else(|| Setting {
                    value: DEFAULT_PROFILE.to_owned(),
                    origin: Origin::Default,
                });
        let resolve_value = |flag: Option<&String>,
                             flag_name,
                             variable,
                             name: &str|
         -> Result<Option<Setting>, Failure> {
            if let Some(setting) = flag_or_variable(flag, flag_name, environment, variable) {
                return Ok(Some(setting));
            }
            let value = file.get(&profile.value, name)?.filter(|value| !value.is_empty());
            Ok(value.map(|value| Setting { value, origin: Origin::Profile(profile.value.clone()) }))
        };
        Ok(Self {
            base_url: resolve_value(
                flags.base_url.as_ref(),
                "--base-url",
                "SVC_BASE_URL",
                "base_url",
            )?,
            developer_base_url: resolve_value(
                flags.developer_base_url.as_ref(),
                "--developer-base-url",
                "SVC_DEVELOPER_BASE_URL",
                "developer_base_url",
            )?,
            mcp_url: resolve_value(None, "", "SVC_MCP_URL", "mcp_url")?,
            first_party_owner: resolve_value(
                None,
                "",
                "SVC_FIRST_PARTY_OWNER",
                "first_party_owner",
            )?,
            webhook_secret_file: resolve_value(
                None,
                "",
                "SVC_WEBHOOK_SECRET_FILE",
                "webhook_secret_file",
            )?,
            profile,
            file,
        })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Setting> {
        match name {
            "base_url" => self.base_url.as_ref(),
            "developer_base_url" => self.developer_base_url.as_ref(),
            "mcp_url" => self.mcp_url.as_ref(),
            "first_party_owner" => self.first_party_owner.as_ref(),
            "webhook_secret_file" => self.webhook_secret_file.as_ref(),
            _ => None,
        }
    }

    pub(crate) fn url_of(&self, surface: SurfaceChoice) -> Option<&Setting> {
        match surface {
            SurfaceChoice::Open => self.base_url.as_ref(),
            SurfaceChoice::Developer => self.developer_base_url.as_ref(),
        }
    }

    /// Returns where a URL comes from, if it is one of the settings.
    pub(crate) fn origin_of_url(&self, url: &str) -> Option<&Origin> {
        let urls = [&self.base_url, &self.developer_base_url, &self.mcp_url];
        let mut urls = urls.into_iter().flatten();
        urls.find(|setting| setting.value == url).map(|setting| &setting.origin)
    }

    pub(crate) fn require_url(&self, surface: SurfaceChoice) -> Result<&Setting, Failure> {
        self.check_profile()?;
        self.url_of(surface).ok_or_else(|| {
            let (variable, flag) = (surface.names().url_variable, surface.names().url_flag);
            let name = surface.as_str();
            Failure::configuration(format!("no URL of the {name} surface is configured"))
                .hint(Suggestion::from("set it up together with an API key: ").svc(["init"]))
                .hint("or try it without the service: pass --sandbox, or run `svc mock serve`")
                .hint(format!("or set {variable}, or pass {flag} URL"))
        })
    }

    /// Checks that an explicitly named profile exists.
    pub(crate) fn check_profile(&self) -> Result<(), Failure> {
        let name = &self.profile.value;
        if self.profile.origin == Origin::Default || self.file.profiles().contains(&name.as_str()) {
            return Ok(());
        }
        let known = match self.file.profiles().as_slice() {
            [] => "it has no profiles".to_owned(),
            profiles => format!("existing profiles: {}", profiles.join(", ")),
        };
        let path = self.file.path().display();
        Err(Failure::configuration(format!("profile `{name}` not found in {path}: {known}")).hint(
            Suggestion::from("create it with ")
                .svc(["init", "--profile", name])
                .then(", or ")
                .svc(["config", "set", "--profile", name, "KEY", "VALUE"]),
        ))
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

/// Returns the origin of a URL: scheme, host and port. A stored key belongs to an origin.
pub(crate) fn origin_of(url: &str) -> Result<String, Failure> {
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

    /// Returns the value of a variable.
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

/// Returns the path of the configuration: `SVC_CONFIG`, or `config.toml` in the platform's folder.
pub(crate) fn config_file(environment: &Environment) -> Result<PathBuf, Failure> {
    match environment.get("SVC_CONFIG") {
        Some(path) => Ok(path.into()),
        None => Ok(directory_strategy("SVC_CONFIG")?.config_dir().join("config.toml")),
    }
}

/// Returns the folder of the journal: `SVC_STATE_DIR`, or the platform's folder.
pub(crate) fn state_dir(environment: &Environment) -> Result<PathBuf, Failure> {
    match environment.get("SVC_STATE_DIR") {
        Some(path) => Ok(path.into()),
        None => {
            let strategy = directory_strategy("SVC_STATE_DIR")?;
            Ok(strategy.state_dir().unwrap_or_else(|| strategy.data_dir()))
        }
    }
}

fn directory_strategy(variable: &str) -> Result<impl AppStrategy, Failure> {
    let app = AppStrategyArgs { app_name: "svc".to_owned(), ..AppStrategyArgs::default() };
    etcetera::app_strategy::choose_native_strategy(app).map_err(|error| {
        Failure::configuration(format!("cannot find the home directory: {error}"))
            .hint(format!("set {variable}"))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn settings(
        flags: &Global,
        mut variables: Environment,
        toml: &str,
    ) -> Result<Settings, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, toml).unwrap();
        variables.0.insert("SVC_CONFIG".into(), path.display().to_string());
        Settings::resolve(flags, &variables)
    }

    const TOML: &str = "[profiles.default]\nbase_url = \"https://profile\"\n[profiles.work]\ndeveloper_base_url = \"https://work\"\n";

    #[test]
    fn a_flag_overrides_the_environment_which_overrides_the_profile() {
        let flags = Global { base_url: Some("https://flag".into()), ..Global::default() };
        let variables = || Environment::from([("SVC_BASE_URL", "https://variable")]);
        let url = |settings: Settings| settings.base_url.unwrap();

        let from_flag = url(settings(&flags, variables(), TOML).unwrap());
        assert_eq!(
            (from_flag.value.as_str(), from_flag.origin),
            ("https://flag", Origin::Flag("--base-url"))
        );
        let from_variable = url(settings(&Global::default(), variables(), TOML).unwrap());
        assert_eq!(from_variable.origin, Origin::Variable("SVC_BASE_URL"));
        let from_profile = url(settings(&Global::default(), Environment::default(), TOML).unwrap());
        assert_eq!(from_profile.origin, Origin::Profile("default".into()));
    }

    #[test]
    fn debug_output_hides_the_values_of_variables() {
        let shown = format!("{:?}", Environment::from([("SVC_OPEN_API_KEY", "canary")]));
        assert!(shown.contains("SVC_OPEN_API_KEY") && !shown.contains("canary"), "{shown}");
    }

    #[test]
    fn the_origin_is_scheme_host_and_port() {
        assert_eq!(origin_of("https://API.example/v2/").unwrap(), "https://api.example");
        assert_eq!(origin_of("http://127.0.0.1:4010").unwrap(), "http://127.0.0.1:4010");
        assert!(origin_of("api.example").is_err());
        assert!(origin_of("data:x").is_err());
    }
}
