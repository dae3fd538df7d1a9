//! `svc config`: the configuration file.

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use svc_sdk::Open;

use crate::args::SurfaceChoice;
use crate::config::{
    ConfigFile, Origin, PROFILE_KEYS, config_file, origin_of, state_dir, with_scheme,
};
use crate::error::{Failure, Result, Suggestion};
use crate::output::Table;
use crate::output::layout::required;
use crate::session::Session;
use crate::webhook::Secrets;

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Show the configuration; secrets are not shown
    Show {
        /// Show where each value comes from
        #[arg(long)]
        origin: bool,
    },
    /// Print the path of the configuration file
    Path,
    /// Print a value
    Get {
        /// Name of the setting
        #[arg(value_name = "KEY", value_parser = PossibleValuesParser::new(PROFILE_KEYS))]
        key: String,
    },
    /// Set a value in the profile
    Set {
        /// Name of the setting
        #[arg(value_name = "KEY", value_parser = PossibleValuesParser::new(PROFILE_KEYS))]
        key: String,
        /// New value
        #[arg(value_name = "VALUE")]
        value: String,
    },
    /// Remove a value from the profile
    Unset {
        /// Name of the setting
        #[arg(value_name = "KEY", value_parser = PossibleValuesParser::new(PROFILE_KEYS))]
        key: String,
    },
}

#[derive(Serialize)]
struct SettingRow {
    name: String,
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
}

pub(crate) fn config(session: &Session, config: &Config) -> Result {
    session.check_is_configurable("config")?;
    match config {
        Config::Show { origin } => show(session, *origin),
        Config::Path => {
            session.printer.print_text(&config_file(session.environment())?.display().to_string())
        }
        Config::Get { key } => match session.settings()?.get(key) {
            Some(sourced) => session.printer.print_text(&sourced.value),
            None => Err(Failure::configuration(format!("{key} is not configured")).hint(
                Suggestion::from("set it with ")
                    .svc(["config", "set", key, "VALUE"])
                    .then(", or set up URLs and keys with ")
                    .svc(["init"]),
            )),
        },
        Config::Set { key, value } => {
            let mut value = value.clone();
            if key == "webhook_secret_file" {
                // The command may run in another folder later.
                let path = std::path::absolute(&value);
                let path =
                    path.map_err(|error| Failure::file("cannot use", value.as_ref(), &error))?;
                value = path.display().to_string();
            }
            if key.ends_with("_url") {
                value = with_scheme(value);
                origin_of(&value)?;
                // Reject URLs that a client would not accept, such as one with a password, before
                // they are written to disk.
                session.access_with::<Open>(value.clone(), None)?;
            }
            let (mut file, profile) = profile_of(session)?;
            file.set(&profile, key, &value)?;
            file.save()?;
            session
                .printer
                .note(&format!("set {key} of profile {profile} in {}", file.path().display()));
            Ok(())
        }
        Config::Unset { key } => {
            let (mut file, profile) = profile_of(session)?;
            if file.unset(&profile, key) {
                file.save()?;
            } else {
                session.printer.note(&format!("profile {profile} has no {key}"));
            }
            Ok(())
        }
    }
}

fn profile_of(session: &Session) -> Result<(ConfigFile, String)> {
    let settings = session.settings()?;
    let file = ConfigFile::load(settings.file.path().to_owned())?;
    Ok((file, settings.profile.value.clone()))
}

fn show(session: &Session, with_origin: bool) -> Result {
    let settings = session.settings()?;
    settings.check_profile()?;
    let mut rows = Vec::new();
    let mut add = |name: &str, value: Option<String>, origin: Option<String>| {
        let origin = origin.filter(|_| with_origin);
        rows.push(SettingRow { name: name.to_owned(), value, origin });
    };
    let profile = &settings.profile;
    add("profile", Some(profile.value.clone()), Some(profile.origin.to_string()));
    for name in PROFILE_KEYS {
        let setting = settings.get(name);
        let origin = setting.map(|it| it.origin.to_string());
        add(name, setting.map(|it| it.value.clone()), origin);
    }
    let hidden = |_: &String| "(set, not shown)".to_owned();
    for surface in SurfaceChoice::ALL {
        let origin = session.key_origin(surface)?.map(|origin| origin.to_string());
        add(&format!("{}_api_key", surface.as_str()), origin.as_ref().map(hidden), origin);
    }
    let origin = Secrets::origin(session)?.map(|origin| origin.to_string());
    add("webhook_secret", origin.as_ref().map(hidden), origin);
    let environment = session.environment();
    for (name, path, variable) in [
        ("config_file", settings.file.path().to_owned(), "SVC_CONFIG"),
        ("state_dir", state_dir(environment)?, "SVC_STATE_DIR"),
    ] {
        let variable = environment.get(variable).map(|_| Origin::Variable(variable).to_string());
        let origin = variable.unwrap_or_else(|| "the platform".to_owned());
        add(name, Some(path.display().to_string()), Some(origin));
    }
    if ["base_url", "developer_base_url"].iter().all(|name| settings.get(name).is_none()) {
        let init = session.command(&["init"]);
        session.printer.note(&format!("no URL is configured: set up URLs and keys with {init}"));
    }
    session.printer.print_list(&rows, |rows| {
        let mut table = match with_origin {
            true => Table::new(["name", "value", "origin"].map(required)),
            false => Table::new(["name", "value"].map(required)),
        };
        for row in rows {
            let (name, value) = (row.name.as_str(), row.value.as_deref().unwrap_or("-"));
            match with_origin {
                true => table.row([name, value, row.origin.as_deref().unwrap_or("-")]),
                false => table.row([name, value]),
            }
        }
        table
    })
}
