//! Interactive setup.

use dialoguer::Input;

use crate::args::SurfaceChoice;
use crate::config::{ConfiguredKey, origin_of, with_scheme};
use crate::error::{Exit, Result, SetupProblem};
use crate::session::Session;
use crate::setup::plan::{self, Init, McpSetup, SetupPlan, SurfaceSetup, try_mcp, verify_surface};
use crate::setup::{self, only_on, prompt_failure};

const MAX_ATTEMPTS: usize = 3;
const INTRODUCTION: [&str; 3] = [
    "The service has two APIs; its provider gives you a URL and an API key for each.",
    "Images, videos and jobs work with either; commands listed below need that one.",
    "Without an account: svc --sandbox video generate \"a fox\", or svc mock serve",
];
/// The answer that skips a URL that has a default.
const SKIP: &str = "-";

pub(super) async fn plan(session: &Session, args: &Init) -> Result<SetupPlan> {
    let settings = session.settings()?;
    session.printer.note(&format!(
        "Setting up profile {} in {}",
        settings.profile.value,
        settings.file.path().display()
    ));
    if offers_mock(session)? {
        return plan::given_plan(session, args, false).await;
    }
    for line in INTRODUCTION {
        session.printer.note(line);
    }
    let mut surfaces = Vec::new();
    for surface in SurfaceChoice::ALL {
        surfaces.extend(ask_for_surface(session, args, surface).await?);
    }
    let developer_key = surfaces
        .iter()
        .find(|setup: &&SurfaceSetup| setup.surface == SurfaceChoice::Developer)
        .map(|setup| &setup.key);
    let mcp = ask_for_mcp(session, args, developer_key).await?;
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
        match check_url(session, &url) {
            Ok(()) => return Ok(Some(url)),
            Err(failure) => session.printer.warn(&failure.headline()),
        }
    }
}

/// Checks that a client accepts the URL, which excludes plain http to other hosts.
fn check_url(session: &Session, url: &str) -> Result {
    origin_of(url)?;
    session.access_with::<svc_sdk::Open>(url.to_owned(), None)?;
    Ok(())
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
