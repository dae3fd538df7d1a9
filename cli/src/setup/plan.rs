//! The plan of `svc init`: the URLs and keys to store, from flags and the environment, verified.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::args::SurfaceChoice;
use crate::config::{ConfiguredKey, origin_of, with_scheme};
use crate::error::{Exit, Failure, Result};
use crate::session::Session;
use crate::setup;

#[derive(Args, Debug)]
pub(crate) struct Init {
    /// File with the API key of the open surface, or - for stdin [env: SVC_OPEN_API_KEY, with the
    /// key itself]
    #[arg(long, value_name = "FILE|-")]
    open_key_file: Option<PathBuf>,
    /// File with the API key of the developer surface, or - for stdin [env:
    /// SVC_DEVELOPER_API_KEY, with the key itself]
    #[arg(long, value_name = "FILE|-")]
    developer_key_file: Option<PathBuf>,
    /// URL of the service's MCP endpoint [env: SVC_MCP_URL]
    #[arg(long, value_name = "URL")]
    pub(super) mcp_url: Option<String>,
}

pub(super) struct SurfaceSetup {
    pub(super) surface: SurfaceChoice,
    pub(super) url: String,
    pub(super) key: ConfiguredKey,
}

pub(super) struct McpSetup {
    pub(super) url: String,
    pub(super) tools: Option<usize>,
}

#[derive(Default)]
pub(super) struct SetupPlan {
    pub(super) surfaces: Vec<SurfaceSetup>,
    pub(super) mcp: Option<McpSetup>,
}

impl Init {
    pub(super) fn key_file(&self, surface: SurfaceChoice) -> Option<&Path> {
        match surface {
            SurfaceChoice::Open => self.open_key_file.as_deref(),
            SurfaceChoice::Developer => self.developer_key_file.as_deref(),
        }
    }
}

/// Returns what flags, files and the environment give, verified.
pub(super) async fn given_plan(
    session: &Session,
    args: &Init,
    reads_stdin: bool,
) -> Result<SetupPlan> {
    let settings = session.settings()?;
    let mut found: Vec<(SurfaceChoice, String, Option<ConfiguredKey>)> = Vec::new();
    for surface in SurfaceChoice::ALL {
        let key_file = args.key_file(surface);
        let Some(url) = settings.url_of(surface) else {
            if key_file.is_some() {
                let (key_flag, url_flag) = (surface.names().key_flag, surface.names().url_flag);
                return Err(Failure::usage(format!("{key_flag} is given without a URL"))
                    .hint(format!("pass {url_flag} URL")));
            }
            continue;
        };
        let key = match key_file {
            Some(path) => Some(setup::key_from_file(surface.names().key_flag, path)?),
            None => configured_key(session, surface, &url.value)?,
        };
        found.push((surface, url.value.clone(), key));
    }
    let mcp_url = args.mcp_url.clone().map(with_scheme);
    let mcp_url = mcp_url.or_else(|| settings.get("mcp_url").map(|url| url.value.clone()));
    if found.is_empty() && mcp_url.is_none() {
        return Err(nothing_given());
    }
    read_missing_key(args, &mut found, reads_stdin)?;

    let mut surfaces: Vec<SurfaceSetup> = Vec::new();
    for (surface, url, key) in found {
        let Some(key) = key else { return Err(missing_key(surface)) };
        surfaces.push(verify_surface(session, surface, url, key).await?);
    }
    let developer_key = surfaces
        .iter()
        .find(|setup| setup.surface == SurfaceChoice::Developer)
        .map(|setup| &setup.key);
    let mcp = match mcp_url {
        Some(url) => Some(try_mcp(session, url, developer_key).await?),
        None => None,
    };
    Ok(SetupPlan { surfaces, mcp })
}

/// Returns the key of the environment or the profile. A stored key of another host is not used.
fn configured_key(
    session: &Session,
    surface: SurfaceChoice,
    url: &str,
) -> Result<Option<ConfiguredKey>> {
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
) -> Result {
    let is_stdin = |surface| args.key_file(surface) == Some(Path::new("-"));
    let is_free =
        reads_stdin && !io::stdin().is_terminal() && !SurfaceChoice::ALL.into_iter().any(is_stdin);
    let mut missing: Vec<_> = found.iter_mut().filter(|(_, _, key)| key.is_none()).collect();
    if let ([(_, _, key)], true) = (missing.as_mut_slice(), is_free) {
        *key = setup::key_from_stdin()?;
    }
    Ok(())
}

fn missing_key(surface: SurfaceChoice) -> Failure {
    let (name, flag) = (surface.as_str(), surface.names().key_flag);
    let variable = surface.names().key_variable;
    Failure::usage(format!("no API key for the {name} surface was given"))
        .hint(format!("pass {flag} FILE, or the key on stdin with {flag} -"))
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

pub(super) async fn verify_surface(
    session: &Session,
    surface: SurfaceChoice,
    url: String,
    key: ConfiguredKey,
) -> Result<SurfaceSetup> {
    setup::verify(session, surface, &url, &key).await.map_err(|failure| {
        failure.context(format!(
            "could not verify the key of the {} surface; nothing was stored",
            surface.as_str()
        ))
    })?;
    Ok(SurfaceSetup { surface, url, key })
}

/// Tries the MCP endpoint with the developer key, if there is one.
pub(super) async fn try_mcp(
    session: &Session,
    url: String,
    key: Option<&ConfiguredKey>,
) -> Result<McpSetup> {
    origin_of(&url)?;
    #[cfg(feature = "mcp")]
    let tools = match key {
        Some(key) => Some(setup::count_tools(session, &url, key).await.map_err(|failure| {
            failure.context("could not connect to the MCP endpoint; nothing was stored")
        })?),
        None => None,
    };
    #[cfg(not(feature = "mcp"))]
    let tools = {
        let _ = (session, key);
        None
    };
    Ok(McpSetup { url, tools })
}
