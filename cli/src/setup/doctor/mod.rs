//! `svc doctor`: checks of the configuration, the service and this machine.

mod surfaces;

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use tokio::runtime::Handle;

use crate::args::SurfaceChoice;
use crate::config::{Setting, Settings, config_file, probe_keyring, state_dir};
use crate::error::{Exit, Failure, Result, is_disk_full};
use crate::journal::entries;
use crate::output::Table;
use crate::session::Session;
use crate::text::counted;
use crate::webhook::Secrets;

/// Runs the command. The exit code is 1 if a check failed.
pub(crate) async fn doctor(session: &Session) -> Result {
    let configured = check_configuration(session);
    let is_valid = session.is_sandbox() || session.settings().is_ok();
    // The checks run at the same time, and each has a time limit of its own.
    let (open, developer, mcp, tls, keyring, journal) = tokio::join!(
        surfaces::check(session, SurfaceChoice::Open, is_valid),
        surfaces::check(session, SurfaceChoice::Developer, is_valid),
        surfaces::check_mcp(session, is_valid),
        tls_roots(session),
        keyring(session),
        journal(session),
    );
    let clock = surfaces::clock(&[&open, &developer]);
    let of_surfaces = open.checks.into_iter().chain(developer.checks);
    let of_machine = [mcp, clock, tls, keyring].into_iter().chain(journal);
    let checks: Vec<_> = configured.into_iter().chain(of_surfaces).chain(of_machine).collect();
    session.printer.print_list(&checks, table)?;
    if session.printer.is_table() {
        session.printer.note(&summary(&checks));
    }
    match checks.iter().any(|check| check.status == CheckStatus::Failed) {
        true => Err(Failure::already_reported(Exit::Failure)),
        false => Ok(()),
    }
}

/// Returns what the checks say together, such as `1 problem, 2 warnings`.
fn summary(checks: &[Check]) -> String {
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let counts = [(CheckStatus::Failed, "problem"), (CheckStatus::Warning, "warning")];
    let counts = counts.into_iter().map(|(status, noun)| (count(status), noun));
    let words = counts.filter(|(count, _)| *count > 0).map(|(count, noun)| counted(count, noun));
    let words: Vec<String> = words.collect();
    match (words.join(", "), count(CheckStatus::Failed)) {
        (words, 0) if words.is_empty() => "everything works".to_owned(),
        (words, 0) => format!("everything works, with {words}"),
        (words, _) => words,
    }
}

/// What is not configured is one line.
fn table(checks: &[Check]) -> Table {
    let mut table = Table::key_value();
    let (missing, others): (Vec<_>, Vec<_>) = checks.iter().partition(|check| check.is_missing);
    for check in others {
        let label = format!("{} {}", check.status.mark(), check.name);
        table.row([label.as_str(), check.message.as_str()]);
        if let Some(next) = &check.next {
            table.row(["", &format!("next: {next}")]);
        }
    }
    if !missing.is_empty() {
        let names: Vec<_> = missing.iter().map(|check| check.name).collect();
        table.row(["- not configured", &names.join(", ")]);
    }
    table
}

/// The time limit of a check, below the five seconds that a user waits at most.
const CHECK_TIMEOUT: Duration = Duration::from_millis(4500);

#[derive(Debug, Serialize)]
struct Check {
    #[serde(rename = "check")]
    name: &'static str,
    status: CheckStatus,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Whether it is skipped because nothing is configured, which other commands may not need.
    #[serde(skip)]
    is_missing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum CheckStatus {
    Ok,
    /// Something to know about, which does not prevent the use of the service.
    Warning,
    Failed,
    /// The check does not apply, or something that it needs is missing.
    Skipped,
}

impl CheckStatus {
    const fn mark(self) -> &'static str {
        match self {
            Self::Ok => "✓",
            Self::Warning => "!",
            Self::Failed => "✗",
            Self::Skipped => "-",
        }
    }
}

impl Check {
    fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Ok, message)
    }

    fn warning(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Warning, message)
    }

    fn failed(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Failed, message)
    }

    fn skipped(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Skipped, message)
    }

    fn missing(name: &'static str, message: impl Into<String>) -> Self {
        Self { is_missing: true, ..Self::skipped(name, message) }
    }

    fn new(name: &'static str, status: CheckStatus, message: impl Into<String>) -> Self {
        Self { name, status, message: message.into(), next: None, is_missing: false }
    }

    fn next(mut self, next: impl ToString) -> Self {
        self.next = Some(next.to_string());
        self
    }
}

/// Runs blocking work on another thread. Returns `None` if it takes too long for a check.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let work = tokio::task::spawn_blocking(work);
    match tokio::time::timeout(CHECK_TIMEOUT, work).await {
        Ok(Ok(done)) => Some(done),
        _ => None,
    }
}

const SETTINGS: [&str; 4] = ["base_url", "developer_base_url", "mcp_url", "first_party_owner"];

fn check_configuration(session: &Session) -> Vec<Check> {
    if session.is_sandbox() {
        let message = "the sandbox needs no configuration";
        return vec![Check::skipped("configuration", message)];
    }
    let settings = match session.settings() {
        Ok(settings) => settings,
        Err(failure) => return vec![invalid(session, &failure)],
    };
    let mut checks = vec![file(session, settings)];
    let open_url = settings.get("base_url").map(|url| &url.value);
    for name in SETTINGS {
        checks.push(match settings.get(name) {
            Some(setting) if name == "developer_base_url" && open_url == Some(&setting.value) => {
                let message = format!("{}, the same as base_url", with_origin(setting));
                Check::warning(name, message).next(format!(
                    "each surface has a URL of its own: {}",
                    session.command(&["init"])
                ))
            }
            Some(setting) => Check::ok(name, with_origin(setting)),
            None => Check::missing(name, "not configured"),
        });
    }
    checks.push(webhook_secret(session, settings));
    checks.extend(session.mixed_keys().map(|why| Check::warning("keys", why)));
    checks
}

fn invalid(session: &Session, failure: &Failure) -> Check {
    let path = config_file(session.environment()).ok();
    let check = Check::failed("configuration", failure.headline());
    match path {
        Some(path) => check.next(format!("correct or remove {}", path.display())),
        None => check.next("set SVC_CONFIG to the path of a configuration file"),
    }
}

fn file(session: &Session, settings: &Settings) -> Check {
    if let Err(failure) = settings.check_profile() {
        return Check::failed("configuration", failure.headline()).next(session.command(&["init"]));
    }
    let path = settings.file.path();
    let exists = if path.exists() { "" } else { ", which does not exist" };
    let profile = &settings.profile;
    let message =
        format!("profile {} ({}) in {}{exists}", profile.value, profile.origin, path.display());
    let surfaces = SurfaceChoice::ALL;
    if surfaces.into_iter().all(|it| settings.url_of(it).is_none()) {
        let message = format!("{message}: no URL of either surface is configured");
        let profiles = settings.other_profiles();
        if let Some(profile) = profiles.first() {
            let message = format!("{message}; existing profiles: {}", profiles.join(", "));
            return Check::failed("configuration", message)
                .next(session.command(&["profile", "use", profile]));
        }
        return Check::failed("configuration", message).next(format!(
            "{}, or try it without the service: svc --sandbox doctor",
            session.command(&["init"])
        ));
    }
    Check::ok("configuration", message)
}

fn with_origin(setting: &Setting) -> String {
    format!("{} ({})", setting.value, setting.origin)
}

fn webhook_secret(session: &Session, settings: &Settings) -> Check {
    const NAME: &str = "webhook_secret";
    if let Ok(Some(origin)) = Secrets::origin(session) {
        return Check::ok(NAME, format!("set, not shown ({origin})"));
    }
    let Some(file) = settings.get("webhook_secret_file") else {
        return Check::missing(NAME, "not configured");
    };
    match Secrets::from_file(Path::new(&file.value)) {
        Ok(_) => Check::ok(NAME, format!("file {} ({})", file.value, file.origin)),
        Err(failure) => {
            Check { status: CheckStatus::Warning, ..Check::failed(NAME, failure.headline()) }.next(
                format!(
                    "umask 077; {} > FILE",
                    session.command(&["webhook", "secret", "show", "--jq", ".secret"])
                ),
            )
        }
    }
}

async fn tls_roots(session: &Session) -> Check {
    const NAME: &str = "tls_roots";
    if session.is_sandbox() {
        return Check::skipped(NAME, "the sandbox needs no certificates");
    }
    let Some(roots) = run_blocking(count_roots).await else {
        return Check::failed(NAME, "the system's certificates could not be read in time");
    };
    match roots {
        Ok(message) => Check::ok(NAME, message),
        Err(why) => {
            let next = "install the system's CA certificates (usually the package ca-certificates)";
            match needs_tls(session) {
                true => Check::failed(NAME, why).next(next),
                false => {
                    Check::warning(NAME, format!("{why}, which only https URLs need")).next(next)
                }
            }
        }
    }
}

#[cfg(all(unix, not(target_os = "macos")))]
fn count_roots() -> Result<String, String> {
    let found = rustls_native_certs::load_native_certs();
    match found.certs.len() {
        0 => Err(match found.errors.first() {
            Some(error) => format!("no trusted certificates: {error}"),
            None => "no trusted certificates".to_owned(),
        }),
        count => Ok(format!("{count} trusted certificates")),
    }
}

#[cfg(not(all(unix, not(target_os = "macos"))))]
fn count_roots() -> Result<String, String> {
    Ok("certificates are verified by the operating system".to_owned())
}

fn needs_tls(session: &Session) -> bool {
    let Ok(settings) = session.settings() else { return false };
    let surfaces = SurfaceChoice::ALL;
    let urls = surfaces.into_iter().filter_map(|it| settings.url_of(it));
    urls.chain(settings.get("mcp_url")).any(|url| url.value.starts_with("https:"))
}

async fn keyring(session: &Session) -> Check {
    const NAME: &str = "keyring";
    if session.is_sandbox() {
        return Check::skipped(NAME, "the sandbox stores no keys");
    }
    let next = "keys are stored in a file with mode 0600 instead; on Linux install libsecret-tools for the keyring";
    match run_blocking(probe_keyring).await {
        Some(Ok(())) => Check::ok(NAME, "available"),
        Some(Err(why)) => Check::warning(NAME, format!("not available: {why}")).next(next),
        None => Check::warning(NAME, "not available: no response in time").next(next),
    }
}

/// Checks that the journal can be read and written, and looks for requests without an outcome.
async fn journal(session: &Session) -> Vec<Check> {
    const NAMES: [&str; 2] = ["journal", "open_intents"];
    if session.is_sandbox() {
        let skipped = |name| Check::skipped(name, "the sandbox has no journal");
        return NAMES.map(skipped).into();
    }
    let dir = match state_dir(session.environment()) {
        Ok(dir) => dir,
        Err(failure) => {
            return unusable(failure.headline(), "set SVC_STATE_DIR", "the journal has no folder");
        }
    };
    let why = format!("{} could not be read in time", dir.display());
    let next = "choose another directory with SVC_STATE_DIR";
    let late = || unusable(why, next, "the journal could not be read");
    let unfinished = session.command(&["history", "--unfinished"]);
    run_blocking(move || journal_in(&dir, &unfinished.to_string())).await.unwrap_or_else(late)
}

fn journal_in(dir: &Path, unfinished: &str) -> Vec<Check> {
    let shown = dir.display();
    let other_dir = "choose another directory with SVC_STATE_DIR";
    if let Err(error) = check_writable(dir) {
        let space = if is_disk_full(&error) { "free disk space, or " } else { "" };
        let (why, next) =
            (format!("cannot write to {shown}: {error}"), format!("{space}{other_dir}"));
        return unusable(why, &next, "the journal cannot be written");
    }
    let entries = match Handle::current().block_on(entries(dir)) {
        Ok(entries) => entries,
        Err(failure) => {
            return unusable(failure.headline(), other_dir, "the journal cannot be read");
        }
    };
    let open = entries.iter().filter(|entry| entry.outcome.is_none()).count();
    let journal = Check::ok("journal", format!("{} in {shown}", counted(entries.len(), "request")));
    let what = match open {
        0 => return vec![journal, Check::ok("open_intents", "none")],
        1 => "1 request has no known outcome, or is in progress".to_owned(),
        _ => format!("{open} requests have no known outcome, or are in progress"),
    };
    let next = format!(
        "list them with: {unfinished}; then repeat each command: it resumes, or says why it cannot"
    );
    vec![journal, Check::warning("open_intents", what).next(next)]
}

/// Returns the checks of a journal that cannot be used.
fn unusable(failed: String, next: &str, skipped: &str) -> Vec<Check> {
    vec![Check::failed("journal", failed).next(next), Check::skipped("open_intents", skipped)]
}

fn check_writable(dir: &Path) -> std::io::Result<()> {
    let existing = dir.ancestors().find(|dir| !dir.as_os_str().is_empty() && dir.exists());
    let existing = existing.unwrap_or(Path::new("."));
    if !fs::metadata(existing)?.is_dir() {
        return Err(std::io::Error::other(format!("{} is not a directory", existing.display())));
    }
    tempfile::Builder::new().prefix(".doctor-").tempfile_in(existing).map(drop)
}
