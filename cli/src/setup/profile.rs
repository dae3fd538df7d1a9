//! `svc profile`: the profiles of the configuration file.

use std::collections::BTreeMap;

use clap::Subcommand;
use serde::Serialize;

use crate::args::SurfaceChoice;
use crate::config::{ConfigFile, DEFAULT_PROFILE, PROFILE_KEYS};
use crate::error::{Failure, Result};
use crate::output::Table;
use crate::output::layout::required;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Profile {
    /// List the profiles
    List,
    /// Make a profile the default
    Use {
        /// Name of the profile
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Show a profile; keys are not shown
    Show {
        /// Name of the profile [default: the one in use]
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Delete a profile and its stored keys
    Delete {
        /// Name of the profile
        #[arg(value_name = "NAME")]
        name: String,
        /// Skip the confirmation prompt
        #[arg(short, long)]
        yes: bool,
    },
}

pub(crate) async fn profile(session: &Session, profile: Profile) -> Result {
    session.check_is_configurable("profile")?;
    match profile {
        Profile::List => list(session),
        Profile::Use { name } => make_default(session, &name),
        Profile::Show { name } => show(session, name),
        Profile::Delete { name, yes } => delete(session, &name, yes).await,
    }
}

/// A profile as it is printed: its values, and the surfaces that it has a stored key of.
#[derive(Serialize)]
struct ShownProfile {
    name: String,
    is_default: bool,
    #[serde(flatten)]
    values: BTreeMap<&'static str, Option<String>>,
    stored_keys: Vec<&'static str>,
}

impl ShownProfile {
    fn read(session: &Session, file: &ConfigFile, name: &str) -> Result<Self> {
        let keys = session.key_store()?;
        let mut stored_keys = Vec::new();
        for surface in SurfaceChoice::ALL {
            if keys.find(name, surface)?.is_some() {
                stored_keys.push(surface.as_str());
            }
        }
        let value = |key| Ok((key, file.get(name, key)?));
        Ok(Self {
            name: name.to_owned(),
            is_default: file.default_profile()?.as_deref().unwrap_or(DEFAULT_PROFILE) == name,
            values: PROFILE_KEYS.into_iter().map(value).collect::<Result<_>>()?,
            stored_keys,
        })
    }

    fn value(&self, key: &str) -> &str {
        self.values.get(key).and_then(Option::as_deref).unwrap_or("-")
    }
}

fn list(session: &Session) -> Result {
    let file = &session.settings()?.file;
    let shown = |name: &str| ShownProfile::read(session, file, name);
    let profiles: Vec<_> = file.profiles().into_iter().map(shown).collect::<Result<_, _>>()?;
    session.printer.print_list(&profiles, |profiles| {
        let columns = ["name", "default", "base_url", "developer_base_url", "stored_keys"];
        let mut table = Table::new(columns.map(required));
        for profile in profiles {
            table.row([
                &profile.name,
                if profile.is_default { "yes" } else { "" },
                profile.value("base_url"),
                profile.value("developer_base_url"),
                &profile.stored_keys.join(", "),
            ]);
        }
        table
    })?;
    if profiles.is_empty() {
        let init = session.command(&["init"]);
        session.printer.note(&format!("there are no profiles: create one with {init}"));
    }
    Ok(())
}

fn make_default(session: &Session, name: &str) -> Result {
    let mut file = ConfigFile::load(session.settings()?.file.path().to_owned())?;
    check_exists(&file, name)?;
    file.set_default_profile(Some(name));
    file.save()?;
    session.printer.note(&format!("{name} is the default profile"));
    if let Some(other) = session.environment().get("SVC_PROFILE").filter(|it| *it != name) {
        session.printer.warn(&format!("SVC_PROFILE={other} takes precedence: unset it"));
    }
    Ok(())
}

fn show(session: &Session, name: Option<String>) -> Result {
    let settings = session.settings()?;
    let name = name.unwrap_or_else(|| settings.profile.value.clone());
    check_exists(&settings.file, &name)?;
    let shown = ShownProfile::read(session, &settings.file, &name)?;
    session.printer.print_item(&shown, |profile| {
        let mut table = Table::key_value();
        table.field("name", Some(&profile.name));
        table.field("default", Some(if profile.is_default { "yes" } else { "no" }));
        for (key, value) in &profile.values {
            table.field(key, value.as_ref());
        }
        table.field("stored_keys", Some(profile.stored_keys.join(", ")));
        table
    })
}

async fn delete(session: &Session, name: &str, yes: bool) -> Result {
    let settings = session.settings()?;
    let mut file = ConfigFile::load(settings.file.path().to_owned())?;
    check_exists(&file, name)?;
    if !yes {
        if !session.printer.can_prompt() {
            let why = format!("deleting profile {name} and its stored keys needs a confirmation");
            return Err(Failure::usage(why).hint("pass --yes"));
        }
        let question = format!("Delete profile {name} and its stored keys?");
        session.confirm(&question, "nothing was deleted").await?;
    }
    // A key without a profile would be used by a later profile of the same name.
    let keys = session.key_store()?;
    for surface in SurfaceChoice::ALL {
        keys.remove(name, surface)?;
    }
    file.remove_profile(name);
    if file.default_profile()?.as_deref() == Some(name) {
        file.set_default_profile(None);
    }
    file.save()?;
    session.printer.note(&format!("deleted profile {name}"));
    Ok(())
}

fn check_exists(file: &ConfigFile, name: &str) -> Result {
    if file.profiles().contains(&name) { Ok(()) } else { Err(file.no_profile(name)) }
}
