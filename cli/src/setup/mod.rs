//! Setting up access to the service: reading, verifying and storing API keys. Shared by `svc auth`,
//! `svc init` and `svc doctor`.

pub(crate) mod auth;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod plan;
pub(crate) mod profile;

use std::io;
use std::path::Path;
use std::time::Duration;

use console::Term;
use dialoguer::Password;
use http::HeaderMap;
use svc_sdk::types::Me;
use svc_sdk::{ApiKey, Call, Developer, Open};
#[cfg(feature = "mcp")]
use svc_sdk::{RetryPolicy, developer};

use crate::args::SurfaceChoice;
use crate::config::{ConfiguredKey, KeyOrigin, origin_of};
#[cfg(feature = "mcp")]
use crate::error::Exit;
use crate::error::{ClientCode, Failure, Result, SetupProblem};
use crate::input::read_file;
use crate::session::Session;

/// Returns the commands that work with one surface only.
pub(crate) const fn only_on(surface: SurfaceChoice) -> &'static str {
    match surface {
        SurfaceChoice::Open => "estimate, pricing, model, top-up",
        SurfaceChoice::Developer => "balance, usage, music, avatar, agent, format, action",
    }
}

/// Prompts for a key without showing it. Returns `None` for an empty answer.
pub(crate) fn prompt_for_key(prompt: &str) -> Result<Option<ConfiguredKey>> {
    let terminal = Term::stderr();
    let text = Password::new()
        .with_prompt(prompt)
        .allow_empty_password(true)
        .report(false)
        .interact_on(&terminal)
        .map_err(prompt_failure)?;
    let text = text.trim();
    // It shows that a key was read.
    let shown = if text.is_empty() { "" } else { " [hidden]" };
    let written = terminal.write_line(&format!("{prompt}:{shown}"));
    written.map_err(|error| prompt_failure(error.into()))?;
    match text {
        "" => Ok(None),
        text => parse_key(text.to_owned(), "the prompt".to_owned()).map(Some),
    }
}

pub(crate) fn key_from_file(flag: &str, path: &Path) -> Result<ConfiguredKey> {
    let text = key_text(read_file(flag, path)?)?;
    let name = match path == Path::new("-") {
        true => "standard input".to_owned(),
        false => format!("file {}", path.display()),
    };
    parse_key(text, name)
}

/// Reads a key from standard input. Returns `None` if it is empty.
pub(crate) fn key_from_stdin() -> Result<Option<ConfiguredKey>> {
    let text = key_text(read_file("standard input", Path::new("-"))?)?;
    match text.trim() {
        "" => Ok(None),
        _ => parse_key(text, "standard input".to_owned()).map(Some),
    }
}

pub(crate) fn prompt_failure(error: dialoguer::Error) -> Failure {
    let dialoguer::Error::IO(error) = error;
    match error.kind() {
        io::ErrorKind::Interrupted => Failure::interrupted(),
        _ => Failure::other(format!("cannot prompt: {error}")),
    }
}

fn parse_key(text: String, origin: String) -> Result<ConfiguredKey> {
    let key = ApiKey::new(text).map_err(|error| Failure::usage(error.to_string()))?;
    let origin = KeyOrigin::Input(origin);
    Ok(ConfiguredKey { key, origin })
}

fn key_text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| Failure::usage("invalid key: expected UTF-8 text"))
}

/// Sends a free request that needs a key. With a time limit, it is sent once.
pub(crate) async fn probe(
    session: &Session,
    surface: SurfaceChoice,
    url: &str,
    key: &ApiKey,
    limit: Option<Duration>,
) -> Result<Result<HeaderMap, svc_sdk::Error>> {
    let url = url.to_owned();
    Ok(match surface {
        SurfaceChoice::Open => {
            let client = session.access_with::<Open>(url, Some(key))?.client;
            let call = with_time_limit(client.pricing().list(), limit);
            call.with_response().await.map(|response| response.headers)
        }
        SurfaceChoice::Developer => {
            let me_url = format!("{}/v1/me", url.trim_end_matches('/'));
            let client = session.access_with::<Developer>(url, Some(key))?.client;
            let call = with_time_limit(client.account().me(), limit);
            match call.with_response().await {
                // All of its fields are optional.
                Ok(response) if response.value == Me::default() => {
                    let why = format!("{me_url}: the response does not describe an API key");
                    return Err(Failure::other(why)
                        .with_client_code(ClientCode::UNREADABLE_RESPONSE)
                        .with_setup_problem(Some(SetupProblem::WebPage)));
                }
                answered => answered.map(|response| response.headers),
            }
        }
    })
}

pub(crate) async fn verify(
    session: &Session,
    surface: SurfaceChoice,
    url: &str,
    key: &ConfiguredKey,
) -> Result {
    session.record_key(surface, key.clone());
    probe(session, surface, url, &key.key, None).await??;
    Ok(())
}

fn with_time_limit<T>(call: Call<T>, limit: Option<Duration>) -> Call<T> {
    match limit {
        Some(limit) => call.timeout(limit).max_retries(0),
        None => call,
    }
}

#[cfg(feature = "mcp")]
pub(crate) async fn count_tools(
    session: &Session,
    url: &str,
    key: &ConfiguredKey,
) -> Result<usize> {
    session.record_key(SurfaceChoice::Developer, key.clone());
    // A refused connection is said at once.
    let once =
        |builder: developer::ClientBuilder| builder.retry(RetryPolicy::default().max_retries(0));
    let access = session.access_to(url.to_owned(), Some(&key.key), once)?;
    let client = svc_mcp::McpClient::with_client(&access.client).await.map_err(mcp_failure)?;
    let tools = client.tools().await.map_err(mcp_failure)?;
    Ok(tools.len())
}

#[cfg(feature = "mcp")]
fn mcp_failure(error: svc_mcp::McpError) -> Failure {
    match error {
        svc_mcp::McpError::Request(error) => Failure::from(error),
        // Listing tools has no side effects: an unknown outcome is a connection that failed.
        error if error.is_ambiguous() => Failure::new(Exit::Unreachable, error.to_string()),
        error => Failure::other(error.to_string()),
    }
}

/// Returns where the key is stored, and why not in the keyring.
pub(crate) fn store_key(
    session: &Session,
    surface: SurfaceChoice,
    key: &ApiKey,
    url: &str,
) -> Result<(KeyOrigin, Option<String>)> {
    let profile = &session.settings()?.profile.value;
    session.key_store()?.write(profile, surface, key, &origin_of(url)?)
}

pub(crate) fn note_unused_keyring(session: &Session, why_not: Option<&str>) {
    if let Some(why_not) = why_not {
        session.printer.note(&format!("the keyring was not used: {why_not}"));
    }
}

pub(crate) fn warn_of_overrides(
    session: &Session,
    surface: SurfaceChoice,
    key: &ApiKey,
    url: &str,
) {
    let environment = session.environment();
    let warn = |variable: &str, what: &str| {
        session.printer.warn(&format!(
            "the environment variable {variable} overrides the stored {what}: unset it to use what was stored"
        ));
    };
    let variable = surface.names().key_variable;
    match environment.get(variable) {
        Some(text) if text.trim() == key.expose() => session
            .printer
            .note(&format!("{variable} is set to the same key, and overrides the stored one")),
        Some(_) => warn(variable, "key"),
        None => {}
    }
    let variable = surface.names().url_variable;
    if environment.get(variable).is_some_and(|text| text != url) {
        warn(variable, "URL");
    }
}
