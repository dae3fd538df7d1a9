//! `svc init`: URLs and API keys of a first run, verified and stored.

mod ask;
mod given;
mod report;

use std::path::{Path, PathBuf};

use clap::Args;

use self::report::Report;
use crate::args::SurfaceChoice;
use crate::config::{ConfigFile, ConfiguredKey, KeyOrigin, origin_of};
use crate::error::Failure;
use crate::input::check_single_stdin_reader;
use crate::session::Session;
use crate::setup;

/// The flags of `svc init`.
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
    mcp_url: Option<String>,
}

/// A surface with its URL and its verified key.
struct SurfaceSetup {
    surface: SurfaceChoice,
    url: String,
    key: ConfiguredKey,
}

/// The URL of the MCP endpoint.
struct McpSetup {
    url: String,
    /// The number of tools, if the endpoint was tried.
    tools: Option<usize>,
}

/// What is to be stored. Everything in it is verified.
#[derive(Default)]
struct Plan {
    surfaces: Vec<SurfaceSetup>,
    mcp: Option<McpSetup>,
}

impl Init {
    fn key_file(&self, surface: SurfaceChoice) -> Option<&Path> {
        match surface {
            SurfaceChoice::Open => self.open_key_file.as_deref(),
            SurfaceChoice::Developer => self.developer_key_file.as_deref(),
        }
    }
}

/// Runs the command.
pub(crate) async fn run(session: &Session, args: Init) -> Result<(), Failure> {
    if session.is_sandbox() {
        return Err(Failure::usage(
            "`svc init` cannot be used with --sandbox: the sandbox needs no configuration",
        ));
    }
    check_single_stdin_reader(&SURFACES.map(|surface| {
        (
            key_flag(surface),
            args.key_file(surface).and_then(Path::to_str),
        )
    }))?;
    let plan = match session.printer.can_prompt() {
        true => ask::plan(session, &args).await?,
        false => given::plan(session, &args).await?,
    };
    let report = store(session, plan)?;
    report.print(session)
}

/// Stores the URLs in the profile, and the keys that are not stored yet.
fn store(session: &Session, plan: Plan) -> Result<Report, Failure> {
    let settings = session.settings()?;
    let profile = settings.profile.value.clone();
    let mut file = ConfigFile::load(settings.file.path().to_owned())?;
    let mut report = Report::new(&profile, file.path());
    let mut changed = false;
    for setup in &plan.surfaces {
        changed |= set_url(
            &mut file,
            &profile,
            setup::url_setting(setup.surface),
            &setup.url,
        )?;
    }
    if let Some(mcp) = &plan.mcp {
        changed |= set_url(&mut file, &profile, "mcp_url", &mcp.url)?;
    }
    // The keys are stored first: without its URL a key is unused, but a URL without its key would
    // make commands fail.
    let mut why_no_keyring = None;
    for SurfaceSetup { surface, url, key } in &plan.surfaces {
        let stored = match &key.origin {
            stored @ KeyOrigin::Stored { .. } => stored.clone(),
            _ => {
                let (origin, why_not) = setup::store_key(session, *surface, &key.key, url)?;
                why_no_keyring = why_no_keyring.or(why_not);
                origin
            }
        };
        report.add_surface(*surface, url, key, &stored);
    }
    setup::note_unused_keyring(session, why_no_keyring.as_deref());
    if changed {
        file.save()?;
    }
    if let Some(mcp) = &plan.mcp {
        report.add_mcp(mcp);
    }
    for SurfaceSetup { surface, url, key } in &plan.surfaces {
        setup::warn_of_overrides(session, *surface, &key.key, url);
    }
    Ok(report)
}

/// Sets a URL of the profile. Returns whether it was different before.
fn set_url(file: &mut ConfigFile, profile: &str, name: &str, url: &str) -> Result<bool, Failure> {
    if file.get(profile, name)?.as_deref() == Some(url) {
        return Ok(false);
    }
    file.set(profile, name, url)?;
    Ok(true)
}

/// Verifies the key of a surface with the service.
async fn verified(
    session: &Session,
    surface: SurfaceChoice,
    url: String,
    key: ConfiguredKey,
) -> Result<SurfaceSetup, Failure> {
    setup::verify(session, surface, &url, &key)
        .await
        .map_err(|failure| {
            failure.context(format!(
                "could not verify the key of the {} surface; nothing was stored",
                surface.as_str()
            ))
        })?;
    Ok(SurfaceSetup { surface, url, key })
}

/// Tries the MCP endpoint with the developer key, if there is one.
async fn try_mcp(
    session: &Session,
    url: String,
    key: Option<&ConfiguredKey>,
) -> Result<McpSetup, Failure> {
    origin_of(&url)?;
    #[cfg(feature = "mcp")]
    let tools = match key {
        Some(key) => Some(
            setup::count_tools(session, &url, key)
                .await
                .map_err(|failure| {
                    failure.context("could not connect to the MCP endpoint; nothing was stored")
                })?,
        ),
        None => None,
    };
    #[cfg(not(feature = "mcp"))]
    let tools = {
        let _ = (session, key);
        None
    };
    Ok(McpSetup { url, tools })
}

/// Both surfaces, in the order in which they are set up.
const SURFACES: [SurfaceChoice; 2] = [SurfaceChoice::Open, SurfaceChoice::Developer];

/// Returns the flag of a surface's URL.
const fn url_flag(surface: SurfaceChoice) -> &'static str {
    match surface {
        SurfaceChoice::Open => "--base-url",
        SurfaceChoice::Developer => "--developer-base-url",
    }
}

/// Returns the flag of the file with a surface's key.
const fn key_flag(surface: SurfaceChoice) -> &'static str {
    match surface {
        SurfaceChoice::Open => "--open-key-file",
        SurfaceChoice::Developer => "--developer-key-file",
    }
}
