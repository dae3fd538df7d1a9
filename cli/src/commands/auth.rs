//! `svc auth`: stored API keys. A key is read from a prompt, standard input or a file, never from
//! an argument, and is never printed.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use dialoguer::{Input, Password};
use serde::Serialize;
use svc_sdk::contract::Method;
use svc_sdk::{ApiKey, Developer, Open};

use crate::args::SurfaceChoice;
use crate::config::{ConfigFile, KeyLocation, KeyStore, Origin, origin_of};
use crate::error::{Exit, Failure};
use crate::input::read_file;
use crate::output::{Column, Table};
use crate::session::Session;

/// The subcommands of `svc auth`.
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

/// The flags of `svc auth login`.
#[derive(Args, Debug)]
pub(crate) struct Login {
    /// File with the key, or - for stdin
    #[arg(long, value_name = "FILE|-")]
    key_file: Option<PathBuf>,
    /// Surface that the key is for [default: open]
    #[arg(long, value_name = "SURFACE")]
    surface: Option<SurfaceChoice>,
}

#[derive(Serialize)]
struct Row {
    surface: &'static str,
    url: Option<String>,
    key: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(session: &Session, auth: Auth) -> Result<(), Failure> {
    if session.is_sandbox() {
        return Err(Failure::usage(
            "`svc auth` cannot be used with --sandbox: the sandbox has built-in keys",
        ));
    }
    match auth {
        Auth::Login(args) => login(session, args).await,
        Auth::Status => status(session),
        Auth::Logout { surface } => logout(session, surface),
    }
}

async fn login(session: &Session, args: Login) -> Result<(), Failure> {
    let surface = args.surface.unwrap_or(SurfaceChoice::Open);
    let settings = session.settings()?;
    let profile = settings.profile.value.clone();
    let (url, is_new_url) = url_for(session, surface)?;
    let origin = origin_of(&url)?;
    let key = read_key(session, surface, args.key_file.as_deref())?;
    verify(session, surface, &url, &key).await?;

    let store = KeyStore::next_to(settings.file.path());
    let (location, why_not) = store.write(&profile, surface, &key, &origin)?;
    if is_new_url {
        let mut file = ConfigFile::load(settings.file.path().to_owned())?;
        file.set(&profile, url_name(surface), &url)?;
        file.save()?;
    }
    let location = match location {
        KeyLocation::Keyring => "in the keyring".to_owned(),
        KeyLocation::File => format!("in {}", store.path().display()),
    };
    if let Some(why_not) = why_not {
        session
            .printer
            .note(&format!("the keyring was not used: {why_not}"));
    }
    session.printer.note(&format!(
        "the key is valid; stored {location} for {origin} (profile {profile})"
    ));
    Ok(())
}

/// Returns the URL to verify the key with, and whether to store it with the key.
fn url_for(session: &Session, surface: SurfaceChoice) -> Result<(String, bool), Failure> {
    let settings = session.settings()?;
    // `--base-url` on its own is the URL of the surface that the key is for.
    if let (SurfaceChoice::Developer, Some(url), None) = (
        surface,
        &session.global.base_url,
        &session.global.developer_base_url,
    ) {
        return Ok((url.clone(), true));
    }
    match settings.url_of(surface) {
        Some(url) => Ok((url.value.clone(), matches!(url.origin, Origin::Flag(_)))),
        None if session.printer.can_prompt() => {
            let prompt = format!("URL of the {} surface", surface.as_str());
            Ok((
                Input::new()
                    .with_prompt(prompt)
                    .interact_text()
                    .map_err(prompt_failure)?,
                true,
            ))
        }
        None => settings
            .require_url(surface)
            .map(|url| (url.value.clone(), false)),
    }
}

fn read_key(
    session: &Session,
    surface: SurfaceChoice,
    file: Option<&Path>,
) -> Result<ApiKey, Failure> {
    let text = match file {
        Some(path) => key_text(read_file("--key-file", path)?)?,
        None if session.printer.can_prompt() => {
            let prompt = format!("API key of the {} surface", surface.as_str());
            Password::new()
                .with_prompt(prompt)
                .interact()
                .map_err(prompt_failure)?
        }
        None if io::stdin().is_terminal() => {
            return Err(
                Failure::usage("cannot prompt for the key: stderr is not a terminal")
                    .hint("pass --key-file FILE, or the key on stdin"),
            );
        }
        None => key_text(read_file("standard input", Path::new("-"))?)?,
    };
    ApiKey::new(text).map_err(|error| Failure::usage(error.to_string()))
}

fn key_text(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| Failure::usage("invalid key: expected UTF-8 text"))
}

fn prompt_failure(error: dialoguer::Error) -> Failure {
    let dialoguer::Error::IO(error) = error;
    match error.kind() {
        io::ErrorKind::Interrupted => Failure::interrupted(),
        _ => Failure::other(format!("cannot prompt: {error}")),
    }
}

/// Verifies the key with a request that is free of charge.
async fn verify(
    session: &Session,
    surface: SurfaceChoice,
    url: &str,
    key: &ApiKey,
) -> Result<(), Failure> {
    let requested = match surface {
        SurfaceChoice::Open => {
            let client = session
                .access_with::<Open>(url.to_owned(), Some(key))?
                .client;
            client.pricing().list().await.map(drop)
        }
        SurfaceChoice::Developer => {
            let client = session
                .access_with::<Developer>(url.to_owned(), Some(key))?
                .client;
            client.raw_request(Method::Get, "/v1/me").await.map(drop)
        }
    };
    requested.map_err(|error| {
        Failure::from(error).context("could not verify the key; nothing was stored")
    })
}

fn status(session: &Session) -> Result<(), Failure> {
    let settings = session.settings()?;
    let mut rows = Vec::new();
    for surface in [SurfaceChoice::Open, SurfaceChoice::Developer] {
        rows.push(Row {
            surface: surface.as_str(),
            url: settings.url_of(surface).map(|url| url.value.clone()),
            key: session.key_origin(surface)?,
        });
    }
    session.printer.print_list(&rows, |rows| {
        let mut table = Table::new([
            Column::required("surface"),
            Column::whole("url"),
            Column::text("key"),
        ]);
        for row in rows {
            table.row([
                row.surface,
                row.url.as_deref().unwrap_or("-"),
                row.key.as_deref().unwrap_or("-"),
            ]);
        }
        table
    })?;
    if rows.iter().all(|row| row.key.is_none()) {
        return Err(Failure::new(Exit::NotAllowed, "no API key is configured")
            .hint("store one with: svc auth login"));
    }
    Ok(())
}

fn logout(session: &Session, requested: Option<SurfaceChoice>) -> Result<(), Failure> {
    let settings = session.settings()?;
    let store = KeyStore::next_to(settings.file.path());
    let profile = &settings.profile.value;
    let surfaces = requested.map_or(
        vec![SurfaceChoice::Open, SurfaceChoice::Developer],
        |surface| vec![surface],
    );
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

const fn url_name(surface: SurfaceChoice) -> &'static str {
    match surface {
        SurfaceChoice::Open => "base_url",
        SurfaceChoice::Developer => "developer_base_url",
    }
}
