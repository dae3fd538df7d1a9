//! The setup without prompts: from flags, the environment, the profile and standard input.

use std::io::{self, IsTerminal};
use std::path::Path;

use super::{Init, Plan, SURFACES, SurfaceSetup, key_flag, try_mcp, url_flag, verified};
use crate::args::SurfaceChoice;
use crate::config::ConfiguredKey;
use crate::error::{Exit, Failure};
use crate::session::{Session, key_variable};
use crate::setup;

/// Returns what is to be stored, verified.
pub(super) async fn plan(session: &Session, args: &Init) -> Result<Plan, Failure> {
    plan_with(session, args, true).await
}

/// Returns the values of the environment, verified.
pub(super) async fn from_environment(session: &Session, args: &Init) -> Result<Plan, Failure> {
    plan_with(session, args, false).await
}

async fn plan_with(session: &Session, args: &Init, reads_stdin: bool) -> Result<Plan, Failure> {
    let settings = session.settings()?;
    let mut found: Vec<(SurfaceChoice, String, Option<ConfiguredKey>)> = Vec::new();
    for surface in SURFACES {
        let key_file = args.key_file(surface);
        let Some(url) = settings.url_of(surface) else {
            if key_file.is_some() {
                let (flag, url_flag) = (key_flag(surface), url_flag(surface));
                return Err(Failure::usage(format!("{flag} is given without a URL"))
                    .hint(format!("pass {url_flag} URL")));
            }
            continue;
        };
        let key = match key_file {
            Some(path) => Some(setup::key_from_file(key_flag(surface), path)?),
            None => configured_key(session, surface, &url.value)?,
        };
        found.push((surface, url.value.clone(), key));
    }
    let mcp_url = args.mcp_url.clone();
    let mcp_url = mcp_url.or_else(|| settings.get("mcp_url").map(|url| url.value.clone()));
    if found.is_empty() && mcp_url.is_none() {
        return Err(nothing_given());
    }
    read_missing_key(args, &mut found, reads_stdin)?;

    let mut surfaces: Vec<SurfaceSetup> = Vec::new();
    for (surface, url, key) in found {
        let Some(key) = key else {
            return Err(missing_key(surface));
        };
        surfaces.push(verified(session, surface, url, key).await?);
    }
    let developer_key = surfaces
        .iter()
        .find(|setup| setup.surface == SurfaceChoice::Developer)
        .map(|setup| &setup.key);
    let mcp = match mcp_url {
        Some(url) => Some(try_mcp(session, url, developer_key).await?),
        None => None,
    };
    Ok(Plan { surfaces, mcp })
}

/// Returns the key of the environment or the profile. A stored key of another host is not used.
fn configured_key(
    session: &Session,
    surface: SurfaceChoice,
    url: &str,
) -> Result<Option<ConfiguredKey>, Failure> {
    match session.find_key(surface, url) {
        Err(failure) if failure.exit() == Exit::NotAllowed => Ok(None),
        found => found,
    }
}

/// Reads the only missing key from standard input, as `svc auth login` does.
fn read_missing_key(
    args: &Init,
    found: &mut [(SurfaceChoice, String, Option<ConfiguredKey>)],
    reads_stdin: bool,
) -> Result<(), Failure> {
    let is_stdin = |surface| args.key_file(surface) == Some(Path::new("-"));
    let is_free = reads_stdin && !io::stdin().is_terminal() && !SURFACES.into_iter().any(is_stdin);
    let mut missing: Vec<_> = found
        .iter_mut()
        .filter(|(_, _, key)| key.is_none())
        .collect();
    if let ([(_, _, key)], true) = (missing.as_mut_slice(), is_free) {
        *key = setup::key_from_stdin()?;
    }
    Ok(())
}

fn missing_key(surface: SurfaceChoice) -> Failure {
    let (name, flag) = (surface.as_str(), key_flag(surface));
    let variable = key_variable(surface);
    Failure::usage(format!("no API key for the {name} surface was given"))
        .hint(format!(
            "pass {flag} FILE, or the key on stdin with {flag} -"
        ))
        .hint(format!("or set {variable}"))
}

fn nothing_given() -> Failure {
    Failure::usage("cannot prompt: not on a terminal, and no URL was given")
        .hint("pass --base-url URL and --open-key-file FILE|-, or set SVC_BASE_URL and SVC_OPEN_API_KEY")
        .hint(
            "and for the developer surface --developer-base-url URL and --developer-key-file FILE|-, \
            or SVC_DEVELOPER_BASE_URL and SVC_DEVELOPER_API_KEY",
        )
        .hint("or try it without the service: pass --sandbox to any command, or run svc mock serve --env")
}
