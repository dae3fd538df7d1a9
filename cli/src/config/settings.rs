//! The values of one run, each with where it came from.

use url::Url;

use super::environment::Environment;
use super::file::ConfigFile;
use super::paths;
use crate::args::{Global, SurfaceChoice};
use crate::error::{Exit, Failure};

/// The profile that is used where none is named.
const DEFAULT_PROFILE: &str = "default";

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A flag.
    Flag(&'static str),
    /// A variable.
    Variable(&'static str),
    /// The profile.
    Profile(String),
    /// Nothing named it.
    Default,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "flag {name}"),
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::Profile(name) => write!(f, "profile {name}"),
            Self::Default => f.write_str("nothing names another"),
        }
    }
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The value.
    pub(crate) value: String,
    /// Where it comes from.
    pub(crate) origin: Origin,
}

/// The values of one run.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Which profile.
    pub(crate) profile: Setting,
    /// The file that it is in.
    pub(crate) file: ConfigFile,
    base_url: Option<Setting>,
    developer_base_url: Option<Setting>,
    mcp_url: Option<Setting>,
    first_party_owner: Option<Setting>,
    webhook_secret_file: Option<Setting>,
}

impl Settings {
    /// Reads the file and weighs flag, environment and profile.
    pub(crate) fn resolve(flags: &Global, environment: &Environment) -> Result<Self, Failure> {
        let file = ConfigFile::load(paths::config_file(environment)?)?;
        let profile = flag_or_variable(
            flags.profile.as_ref(),
            "--profile",
            environment,
            "SVC_PROFILE",
        )
        .unwrap_or_else(|| Setting {
            value: DEFAULT_PROFILE.to_owned(),
            origin: Origin::Default,
        });
        let resolve_value = |flag: Option<&String>,
                             flag_name,
                             variable,
                             name: &str|
         -> Result<Option<Setting>, Failure> {
            if let Some(sourced) = flag_or_variable(flag, flag_name, environment, variable) {
                return Ok(Some(sourced));
            }
            let value = file
                .get(&profile.value, name)?
                .filter(|value| !value.is_empty());
            Ok(value.map(|value| Setting {
                value,
                origin: Origin::Profile(profile.value.clone()),
            }))
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

    /// The value of that name, where there is one.
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

    /// A surface's URL, where there is one.
    pub(crate) fn url_of(&self, surface: SurfaceChoice) -> Option<&Setting> {
        match surface {
            SurfaceChoice::Open => self.base_url.as_ref(),
            SurfaceChoice::Developer => self.developer_base_url.as_ref(),
        }
    }

    /// A surface's URL, or what to set.
    pub(crate) fn require_url(&self, surface: SurfaceChoice) -> Result<&Setting, Failure> {
        self.check_profile()?;
        self.url_of(surface).ok_or_else(|| {
            let (variable, flag) = match surface {
                SurfaceChoice::Open => ("SVC_BASE_URL", "--base-url"),
                SurfaceChoice::Developer => ("SVC_DEVELOPER_BASE_URL", "--developer-base-url"),
            };
            let name = surface.as_str();
            Failure::usage(format!("no URL of the {name} surface is configured"))
                .hint(format!("set {variable}, or pass {flag} URL"))
                .hint(format!(
                    "or store it with a key: svc auth login --surface {name} --base-url URL"
                ))
                .hint("or try it out without any service: add --sandbox, or start `svc mock serve`")
        })
    }

    /// A profile that someone named has to exist.
    pub(crate) fn check_profile(&self) -> Result<(), Failure> {
        let name = &self.profile.value;
        if self.profile.origin == Origin::Default || self.file.profiles().contains(&name.as_str()) {
            return Ok(());
        }
        let known = self.file.profiles().join(", ");
        let known = if known.is_empty() {
            "there is none".to_owned()
        } else {
            format!("there is {known}")
        };
        Err(Failure::usage(format!(
            "no profile {name:?} in {}: {known}",
            self.file.path().display()
        ))
        .hint(format!(
            "make it: svc auth login --profile {name}, or svc config set --profile {name} KEY VALUE"
        )))
    }
}

fn flag_or_variable(
    flag: Option<&String>,
    flag_name: &'static str,
    environment: &Environment,
    variable: &'static str,
) -> Option<Setting> {
    let from_flag = flag.map(|value| Setting {
        value: value.clone(),
        origin: Origin::Flag(flag_name),
    });
    from_flag.or_else(|| {
        let value = environment.get(variable)?.to_owned();
        Some(Setting {
            value,
            origin: Origin::Variable(variable),
        })
    })
}

/// Scheme, host and port of a URL: what a key belongs to.
pub(crate) fn origin_of(url: &str) -> Result<String, Failure> {
    let parsed =
        Url::parse(url).map_err(|error| Failure::usage(format!("{url:?} is no URL: {error}")))?;
    if parsed.host_str().is_none() {
        return Err(Failure::new(Exit::Usage, format!("{url:?} has no host")));
    }
    Ok(parsed.origin().ascii_serialization())
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
        variables
            .0
            .insert("SVC_CONFIG".into(), path.display().to_string());
        Settings::resolve(flags, &variables)
    }

    const TOML: &str = "[profiles.default]\nbase_url = \"https://profile\"\n[profiles.work]\ndeveloper_base_url = \"https://work\"\n";

    #[test]
    fn the_flag_wins_over_the_environment_and_that_over_the_profile() {
        let flags = Global {
            base_url: Some("https://flag".into()),
            ..Global::default()
        };
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
    fn without_any_configuration_the_error_says_what_to_set() {
        let settings = settings(&Global::default(), Environment::default(), "").unwrap();
        let failure = settings.require_url(SurfaceChoice::Open).unwrap_err();
        assert_eq!(failure.exit(), Exit::Usage);
        let said = failure.detail_lines().join("\n");
        for word in [
            "SVC_BASE_URL",
            "--base-url",
            "auth login",
            "--sandbox",
            "svc mock serve",
        ] {
            assert!(said.contains(word), "{word}");
        }
    }

    #[test]
    fn a_variable_that_is_a_key_is_not_shown() {
        let shown = format!("{:?}", Environment::from([("SVC_OPEN_API_KEY", "canary")]));
        assert!(
            shown.contains("SVC_OPEN_API_KEY") && !shown.contains("canary"),
            "{shown}"
        );
    }

    #[test]
    fn a_named_profile_has_to_exist() {
        let flags = Global {
            profile: Some("home".into()),
            ..Global::default()
        };
        let settings = settings(&flags, Environment::default(), TOML).unwrap();
        let failure = settings.require_url(SurfaceChoice::Open).unwrap_err();
        assert!(failure.headline().contains("there is default, work"));
    }

    #[test]
    fn a_key_belongs_to_scheme_host_and_port() {
        assert_eq!(
            origin_of("https://API.example/v2/").unwrap(),
            "https://api.example"
        );
        assert_eq!(
            origin_of("http://127.0.0.1:4010").unwrap(),
            "http://127.0.0.1:4010"
        );
        assert!(origin_of("api.example").is_err());
        assert!(origin_of("data:x").is_err());
    }
}
