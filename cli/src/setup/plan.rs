//! The plan of `svc init`: the URLs and keys to store, verified. At a terminal they are asked for, elsewhere they
//! come from flags and the environment.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use dialoguer::Input;
use svc_sdk::Open;

use crate::args::SurfaceChoice;
use crate::config::{ConfiguredKey, origin_of, with_scheme};
use crate::error::{Exit, Failure, Result, SetupProblem};
use crate::session::Session;
use crate::setup::{self, only_on, prompt_failure};

const MAX_ATTEMPTS: usize = 3;
const INTRODUCTION: [&str; 3] = [
    "The service has two APIs; its provider gives you a URL and an API key for each.",
    "Images, videos and jobs work with either; commands listed below need that one.",
    "Without an account: svc --sandbox video generate \"a fox\", or svc mock serve",
];
/// The answer that skips a URL that has a default.
const SKIP: &str = "-";

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

pub(super) struct SetupPlan {
    pub(super) surfaces: Vec<SurfaceSetup>,
    pub(super) mcp: Option<McpSetup>,
}

fn developer_key(surfaces: &[SurfaceSetup]) -> Option<&ConfiguredKey> {
    let developer = surfaces.iter().find(|setup| setup.surface == SurfaceChoice::Developer);
    developer.map(|setup| &setup.key)
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
    let mcp = match mcp_url {
        Some(url) => Some(try_mcp(session, url, developer_key(&surfaces)).await?),
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

async fn verify_surface(
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
async fn try_mcp(session: &Session, url: String, key: Option<&ConfiguredKey>) -> Result<McpSetup> {
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

pub(super) async fn asked_plan(session: &Session, args: &Init) -> Result<SetupPlan> {
    let settings = session.settings()?;
    session.printer.note(&format!(
        "Setting up profile {} in {}",
        settings.profile.value,
        settings.file.path().display()
    ));
    if offers_mock(session)? {
        return given_plan(session, args, false).await;
    }
    for line in INTRODUCTION {
        session.printer.note(line);
    }
    let mut surfaces = Vec::new();
    for surface in SurfaceChoice::ALL {
        surfaces.extend(ask_for_surface(session, args, surface).await?);
    }
    let mcp = ask_for_mcp(session, args, developer_key(&surfaces)).await?;
    Ok(SetupPlan { surfaces, mcp })
}

/// Offers the environment of a mock server, which is the only one with a control API.
fn offers_mock(session: &Session) -> Result<bool> {
    let environment = session.environment();
    if environment.get("SVC_CONTROL_URL").is_none() {
        return Ok(false);
    }
    let url = environment.get("SVC_BASE_URL").or_else(|| environment.get("SVC_DEVELOPER_BASE_URL"));
    let Some(url) = url else { return Ok(false) };
    // A prompt that is longer than the terminal is wide would be shown twice.
    session.printer.note(&format!("The environment is that of a mock server: {url}"));
    // Unlike a `Confirm`, an `Input` does not hide the cursor, which Ctrl-C would leave hidden.
    let answer = Input::<String>::new()
        .with_prompt("Use its URLs and keys? [Y/n]")
        .allow_empty(true)
        .validate_with(|answer: &String| parse_yes_no(answer).map(|_| ()).ok_or("expected y or n"))
        .interact_text()
        .map_err(prompt_failure)?;
    Ok(parse_yes_no(&answer).unwrap_or_default())
}

/// Parses an answer: yes, which is the default, or no. Returns `None` for anything else.
fn parse_yes_no(answer: &str) -> Option<bool> {
    match answer.trim().to_lowercase().as_str() {
        "" | "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    }
}

/// Asks for the URL and the key of a surface until they work. Returns `None` if it is skipped.
async fn ask_for_surface(
    session: &Session,
    args: &Init,
    surface: SurfaceChoice,
) -> Result<Option<SurfaceSetup>> {
    let name = surface.as_str();
    session.printer.note(&format!("The {name} surface: {}", only_on(surface)));
    let configured = session.settings()?.url_of(surface);
    let mut default = configured.map(|url| url.value.clone());
    let mut accepted_url: Option<String> = None;
    for attempt in 1.. {
        let what = format!("URL of the {name} surface");
        let url = match accepted_url.take() {
            Some(url) => Some(url),
            None => ask_for_url(session, &what, default.as_deref())?,
        };
        let Some(url) = url else { return Ok(None) };
        let Some(key) = ask_for_key(session, args, surface, &url)? else {
            let note = match configured.is_some_and(|configured| configured.value == url) {
                true => format!("skipped: the {name} surface has no key"),
                false => format!("skipped: {url} is not stored without a key"),
            };
            session.printer.note(&note);
            return Ok(None);
        };
        default = Some(url.clone());
        let confused = confused_surface(surface, &key);
        match verify_surface(session, surface, url.clone(), key).await {
            Ok(setup) => {
                let redacted = setup.key.redacted();
                let note = format!("The key {redacted} works on the {name} surface.");
                session.printer.note(&note);
                return Ok(Some(setup));
            }
            Err(failure) if attempt == MAX_ATTEMPTS || failure.exit() == Exit::Interrupted => {
                return Err(failure);
            }
            Err(failure) => {
                // The question comes again, so that no other command has to be named.
                session.printer.warn(&failure.headline());
                if let Some(other) = confused {
                    let other = other.as_str();
                    session.printer.note(&format!(
                        "The key begins like one of the {other} surface; each has its own."
                    ));
                }
                // A URL would be shown while it is typed: a key is not pasted there by mistake.
                let is_rejected = failure.setup_problem() == Some(SetupProblem::KeyRejected);
                accepted_url = (is_rejected && args.key_file(surface).is_none()).then_some(url);
            }
        }
    }
    Ok(None)
}

/// Returns the other surface if the beginning of a key names that one.
fn confused_surface(surface: SurfaceChoice, key: &ConfiguredKey) -> Option<SurfaceChoice> {
    let redacted = key.redacted();
    let mut words = redacted.split(['_', '-', '…']);
    let other = surface.other();
    let names: &[&str] = match other {
        SurfaceChoice::Open => &["open"],
        SurfaceChoice::Developer => &["dev", "developer"],
    };
    words.any(|word| names.contains(&word)).then_some(other)
}

/// Asks for a URL until it is valid. Returns `None` if it is skipped.
fn ask_for_url(session: &Session, what: &str, default: Option<&str>) -> Result<Option<String>> {
    loop {
        let input = Input::<String>::new().allow_empty(true);
        let input = match default {
            Some(url) => {
                session.printer.note(&format!("Enter takes {url}, and {SKIP} skips it"));
                let input = input.with_prompt(what).default(url.to_owned());
                input.show_default(false)
            }
            None => input.with_prompt(format!("{what}, Enter to skip")),
        };
        let answer = input.interact_text().map_err(prompt_failure)?;
        let url = answer.trim();
        if url.is_empty() || url == SKIP {
            return Ok(None);
        }
        let url = with_scheme(url.to_owned());
        // A client does not accept plain http to other hosts.
        match origin_of(&url).and_then(|_| session.access_with::<Open>(url.clone(), None)) {
            Ok(_) => return Ok(Some(url)),
            Err(failure) => session.printer.warn(&failure.headline()),
        }
    }
}

/// Asks for the key of a surface. An empty answer takes the configured key, or skips the surface.
fn ask_for_key(
    session: &Session,
    args: &Init,
    surface: SurfaceChoice,
    url: &str,
) -> Result<Option<ConfiguredKey>> {
    if let Some(path) = args.key_file(surface) {
        return setup::key_from_file(surface.names().key_flag, path).map(Some);
    }
    let configured = session.find_key(surface, url).ok().flatten();
    let name = surface.as_str();
    let prompt = match &configured {
        Some(key) => {
            let (redacted, origin) = (key.redacted(), &key.origin);
            session.printer.note(&format!("Enter takes the key {redacted} from {origin}"));
            format!("API key of the {name} surface")
        }
        None => format!("API key of the {name} surface, Enter to skip"),
    };
    Ok(setup::prompt_for_key(&prompt)?.or(configured))
}

async fn ask_for_mcp(
    session: &Session,
    args: &Init,
    key: Option<&ConfiguredKey>,
) -> Result<Option<McpSetup>> {
    let configured = match &args.mcp_url {
        Some(url) => return try_mcp(session, with_scheme(url.clone()), key).await.map(Some),
        None => session.settings()?.get("mcp_url").map(|url| url.value.as_str()),
    };
    session.printer.note("The MCP endpoint: tools for agents");
    for attempt in 1.. {
        let Some(url) = ask_for_url(session, "URL of the MCP endpoint", configured)? else {
            return Ok(None);
        };
        match try_mcp(session, url, key).await {
            Err(failure) if attempt < MAX_ATTEMPTS && failure.exit() != Exit::Interrupted => {
                session.printer.warn(&failure.headline());
            }
            tried => return tried.map(Some),
        }
    }
    Ok(None)
}
