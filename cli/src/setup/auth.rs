//! `svc auth`: stored API keys. A key is read from a prompt, standard input or a file, never from
//! an argument, and is never printed.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use dialoguer::Input;
use serde::Serialize;

use crate::args::SurfaceChoice;
use crate::config::{ConfigFile, ConfiguredKey, Origin, origin_of};
use crate::error::{Exit, Failure, Result, Suggestion};
use crate::output::Table;
use crate::output::layout::{cut, required, whole};
use crate::session::Session;
use crate::setup::{self, prompt_failure};

#[derive(Debug, Subcommand)]
pub(crate) enum Auth {
    /// Verify an API key with the service, and store it
    ///
    /// Prompts for the key on a terminal, and reads it from stdin otherwise. The key is stored in
    /// the platform's keyring, or in a file with mode 0600 if there is no keyring.
    Login(Login),
    /// Show which API keys are configured, and where they are stored
    Status,
    /// Remove stored API keys
    Logout {
        /// Surface to remove the key of [default: both]
        #[arg(long, value_name = "SURFACE")]
        surface: Option<SurfaceChoice>,
    },
}

#[derive(Args, Debug)]
pub(crate) struct Login {
    /// File with the key, or - for stdin
    #[arg(long, value_name = "FILE|-")]
    key_file: Option<PathBuf>,
    /// Surface that the key is for, and --base-url without --developer-base-url [default: open]
    #[arg(long, value_name = "SURFACE")]
    surface: Option<SurfaceChoice>,
}

#[derive(Serialize)]
struct KeyRow {
    surface: &'static str,
    url: Option<String>,
    key: Option<String>,
    /// The redacted form of the key, unless the keyring does not return it.
    redacted: Option<String>,
}

pub(crate) async fn auth(session: &Session, auth: Auth) -> Result {
    session.check_is_configurable("auth")?;
    match auth {
        Auth::Login(args) => login(session, args).await,
        Auth::Status => status(session),
        Auth::Logout { surface } => logout(session, surface),
    }
}

async fn login(session: &Session, args: Login) -> Result {
    let surface = args.surface.unwrap_or(SurfaceChoice::Open);
    let (url, is_new_url) = url_for(session, surface)?;
    let host = origin_of(&url)?;
    let key = read_key(session, surface, args.key_file.as_deref())?;
    setup::verify(session, surface, &url, &key)
        .await
        .map_err(|failure| failure.context("could not verify the key; nothing was stored"))?;

    let (stored, why_no_keyring) = setup::store_key(session, surface, &key.key, &url)?;
    setup::note_unused_keyring(session, why_no_keyring.as_deref());
    let settings = session.settings()?;
    let profile = &settings.profile.value;
    if is_new_url {
        let mut file = ConfigFile::load(settings.file.path().to_owned())?;
        file.set(profile, surface.names().url, &url)?;
        file.save()?;
    }
    session.printer.note(&format!(
        "the key is valid; stored {} for {host} (profile {profile})",
        stored.stored_location()
    ));
    setup::warn_of_overrides(session, surface, &key.key, &url);
    Ok(())
}

fn url_for(session: &Session, surface: SurfaceChoice) -> Result<(String, bool)> {
    let settings = session.settings()?;
    // `--base-url` on its own is the URL of the surface that the key is for.
    if let (SurfaceChoice::Developer, Some(url), None) =
        (surface, &session.global.base_url, &session.global.developer_base_url)
    {
        return Ok((url.clone(), true));
    }
    match settings.url_of(surface) {
        Some(url) => Ok((url.value.clone(), matches!(url.origin, Origin::Flag(_)))),
        None if session.printer.can_prompt() => {
            let prompt = format!("URL of the {} surface", surface.as_str());
            Ok((Input::new().with_prompt(prompt).interact_text().map_err(prompt_failure)?, true))
        }
        None => settings.require_url(surface).map(|url| (url.value.clone(), false)),
    }
}

fn read_key(
    session: &Session,
    surface: SurfaceChoice,
    file: Option<&Path>,
) -> Result<ConfiguredKey> {
    let empty = || Failure::usage("no API key was given: expected it at the prompt or on stdin");
    match file {
        Some(path) => setup::key_from_file("--key-file", path),
        None if session.printer.can_prompt() => {
            let prompt = format!("API key of the {} surface", surface.as_str());
            setup::prompt_for_key(&prompt)?.ok_or_else(empty)
        }
        None if io::stdin().is_terminal() => {
            Err(Failure::usage("cannot prompt for the key: stderr is not a terminal")
                .hint("pass --key-file FILE, or the key on stdin"))
        }
        None => setup::key_from_stdin()?
            .ok_or_else(|| empty().hint("pass --key-file FILE, or the key on stdin")),
    }
}

fn status(session: &Session) -> Result {
    let settings = session.settings()?;
    let mut rows = Vec::new();
    for surface in SurfaceChoice::ALL {
        let key = session.configured_key(surface).ok().flatten();
        rows.push(KeyRow {
            surface: surface.as_str(),
            url: settings.url_of(surface).map(|url| url.value.clone()),
            key: session.key_origin(surface)?.map(|origin| origin.to_string()),
            redacted: key.map(|key| key.redacted()),
        });
    }
    session.printer.print_list(&rows, |rows| {
        let mut table =
            Table::new([required("surface"), whole("url"), cut("key"), required("origin")]);
        for row in rows {
            table.row([
                row.surface,
                row.url.as_deref().unwrap_or("-"),
                row.redacted.as_deref().unwrap_or("-"),
                row.key.as_deref().unwrap_or("-"),
            ]);
        }
        table
    })?;
    if let Some(why) = session.mixed_keys() {
        session.printer.warn(&why);
    }
    if rows.iter().all(|row| row.key.is_none()) {
        return Err(Failure::new(Exit::NotAllowed, "no API key is configured").hint(
            Suggestion::from("set up URLs and keys with ")
                .svc(["init"])
                .then(", or store one key with ")
                .svc(["auth", "login"]),
        ));
    }
    Ok(())
}

fn logout(session: &Session, requested: Option<SurfaceChoice>) -> Result {
    let settings = session.settings()?;
    let store = session.key_store()?;
    let profile = &settings.profile.value;
    let surfaces = requested.map_or(SurfaceChoice::ALL.to_vec(), |surface| vec![surface]);
    let mut removed = Vec::new();
    for surface in surfaces {
        if store.remove(profile, surface)? {
            removed.push(surface.as_str());
        }
    }
    session.printer.note(&match removed.as_slice() {
        [] => format!("profile {profile} has no stored key"),
        names => format!(
            "removed the key of the {} surface from profile {profile}",
            names.join(" and the ")
        ),
    });
    Ok(())
}
